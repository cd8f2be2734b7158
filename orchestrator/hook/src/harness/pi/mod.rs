//! Pi, and its signed build. Seen with 1.6.0 (some with 0.73.1); its recordings lie in `harness-sim/recordings/pi`.
//!
//! It has no command hooks: an extension of ours calls dogwatch, sends the payload that `payload.rs` describes, and takes
//! plain text.

mod payload;
mod registration;

use super::event::EventKind;
use super::reply;
use super::{Budget, Harness, Tier, Timeout};

pub(super) static HARNESS: Harness = Harness {
    id: "pi",
    name: "Pi",
    aliases: &["pi-signed"],
    tier: Tier::Run,
    budget: Budget::Unlimited,
    timeout: Timeout::None,
    shared_process: false,
    shows_capabilities: false,
    root_variables: &[],
    // A compaction keeps the instructions that the session began with.
    stale_carries: &[("pi", "compact"), ("pi-signed", "compact")],
    programs: &["pi", "pi-signed"],
    packages: &["@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"],
    versioned: None,
    server: None,
    registration: &registration::REGISTRATION,
    events: payload::EVENTS,
    claims: |_| false,
    fields: payload::fields,
    carries_context: |_, kind| matches!(kind, EventKind::SessionOpen | EventKind::Prompt),
    context: reply::plain,
    neutral: reply::silence,
};
