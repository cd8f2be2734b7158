//! Claude Code. Seen with 2.1.332; its recordings lie in `harness-sim/recordings/claude`.
//!
//! Its payload is the flat form that most command hooks took over: `session_id`, `transcript_path`, `cwd`,
//! `hook_event_name`, `source` at session open, `reason` at session end, `agent_id` where a sub-agent is at work.

mod registration;

use std::time::Duration;

use super::event::EventKind;
use super::fields::Fields;
use super::reply;
use super::{Budget, Harness, Tier, Timeout};

pub(super) static HARNESS: Harness = Harness {
    id: "claude",
    name: "Claude Code",
    aliases: &[],
    tier: Tier::Run,
    budget: Budget::Utf16(10_000),
    timeout: Timeout::Seconds {
        default: Duration::from_secs(600),
        exceptions: &[
            (EventKind::Prompt, Duration::from_secs(30)),
            // For all hooks of the event together.
            (EventKind::End, Duration::from_millis(1500)),
        ],
    },
    shared_process: false,
    shows_capabilities: true,
    root_variables: &["CLAUDE_PROJECT_DIR"],
    stale_carries: &[],
    programs: &["claude"],
    packages: &["@anthropic-ai/claude-code", "@anthropic-ai/claude-agent-sdk"],
    versioned: Some("claude"),
    server: None,
    registration: &registration::REGISTRATION,
    events: &[
        ("SessionStart", EventKind::SessionOpen),
        ("UserPromptSubmit", EventKind::Prompt),
        ("PreToolUse", EventKind::BeforeTool),
        ("PostToolUse", EventKind::AfterTool),
        ("PostToolUseFailure", EventKind::AfterTool),
        ("PreCompact", EventKind::BeforeCompact),
        ("Stop", EventKind::Stop),
        ("SessionEnd", EventKind::End),
    ],
    claims: |_| false,
    fields: Fields::flat,
    // Not the stop, where text prompts the model again, as a refusal does.
    carries_context: |_, kind| {
        matches!(kind, EventKind::SessionOpen | EventKind::Prompt | EventKind::AfterTool)
    },
    // Always as JSON: plain text that begins with `{` would be taken for it.
    context: reply::hook_specific,
    neutral: reply::silence,
};
