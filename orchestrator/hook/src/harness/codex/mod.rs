//! Codex. Seen with 0.171.0; its recordings lie in `harness-sim/recordings/codex`.
//!
//! Its payload is Claude Code's, with `turn_id`, `model` and `permission_mode`. Its schemas refuse an answer with a key
//! that they do not know, so an answer has no more than it needs.

mod registration;

use std::time::Duration;

use super::event::EventKind;
use super::fields::Fields;
use super::reply;
use super::{Budget, Harness, Tier, Timeout};

pub(super) static HARNESS: Harness = Harness {
    id: "codex",
    name: "Codex",
    aliases: &[],
    tier: Tier::Run,
    budget: Budget::Bytes(10_000),
    timeout: Timeout::Seconds {
        default: Duration::from_secs(600),
        exceptions: &[(EventKind::End, Duration::from_secs(1))],
    },
    // The daemon behind its terminal program.
    shared_process: true,
    shows_capabilities: false,
    root_variables: &[],
    stale_carries: &[],
    programs: &["codex"],
    packages: &["@openai/codex"],
    versioned: None,
    server: None,
    registration: &registration::REGISTRATION,
    events: &[
        ("SessionStart", EventKind::SessionOpen),
        ("UserPromptSubmit", EventKind::Prompt),
        ("PreToolUse", EventKind::BeforeTool),
        ("PostToolUse", EventKind::AfterTool),
        ("PreCompact", EventKind::BeforeCompact),
        ("Stop", EventKind::Stop),
        ("SessionEnd", EventKind::End),
    ],
    claims: |_| false,
    fields: Fields::flat,
    carries_context: |_, kind| {
        matches!(kind, EventKind::SessionOpen | EventKind::Prompt | EventKind::AfterTool)
    },
    context: reply::hook_specific,
    neutral: reply::silence,
};
