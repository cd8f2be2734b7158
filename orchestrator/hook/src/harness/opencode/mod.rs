//! OpenCode. Seen with 1.18.33; its recordings lie in `harness-sim/recordings/opencode`.
//!
//! It has no command hooks: a plugin of ours calls dogwatch, sends the payload that `payload.rs` describes, and takes
//! plain text.

mod payload;
mod registration;

use super::event::EventKind;
use super::reply;
use super::{Budget, Harness, Tier, Timeout};

pub(super) static HARNESS: Harness = Harness {
    id: "opencode",
    name: "OpenCode",
    aliases: &[],
    tier: Tier::Nudge,
    budget: Budget::Unlimited,
    timeout: Timeout::None,
    // `opencode serve`.
    shared_process: true,
    shows_capabilities: false,
    root_variables: &[],
    stale_carries: &[],
    programs: &["opencode", ".opencode"],
    packages: &["opencode-ai"],
    versioned: None,
    server: None,
    registration: &registration::REGISTRATION,
    events: payload::EVENTS,
    claims: |_| false,
    fields: payload::fields,
    // At an idle session the plugin asks once, and sends what it gets as a prompt.
    carries_context: |_, kind| matches!(kind, EventKind::SessionOpen | EventKind::Prompt | EventKind::Stop),
    context: reply::plain,
    neutral: reply::silence,
};
