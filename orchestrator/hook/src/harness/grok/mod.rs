//! Grok. Seen with 1.0.41; its recordings lie in `harness-sim/recordings/grok`.
//!
//! It also runs the hooks in `.claude/settings.json` and in Cursor's user-wide file, with its own payload. It throws away
//! what a session open and a prompt answer; only a tool event brings text to the model.

mod payload;
mod registration;

use std::time::Duration;

use super::event::EventKind;
use super::reply;
use super::{Budget, Harness, Tier, Timeout};

pub(super) static HARNESS: Harness = Harness {
    id: "grok",
    name: "Grok",
    aliases: &[],
    tier: Tier::Nudge,
    budget: Budget::Discarded,
    timeout: Timeout::Seconds {
        default: Duration::from_secs(5),
        // Documented.
        exceptions: &[
            (EventKind::Prompt, Duration::from_secs(30)),
            (EventKind::AfterTool, Duration::from_secs(600)),
            (EventKind::Stop, Duration::from_secs(600)),
        ],
    },
    shared_process: false,
    shows_capabilities: false,
    root_variables: &["GROK_WORKSPACE_ROOT"],
    stale_carries: &[],
    programs: &["grok"],
    packages: &[],
    versioned: None,
    server: None,
    registration: &registration::REGISTRATION,
    events: payload::EVENTS,
    claims: payload::claims,
    fields: payload::fields,
    carries_context: |_, kind| matches!(kind, EventKind::BeforeTool | EventKind::AfterTool),
    context: reply::hook_specific,
    neutral: reply::silence,
};
