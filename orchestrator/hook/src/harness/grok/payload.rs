//! Grok's payload: Claude Code's keys, and the same once more in its own spelling (`hookEventName`, `sessionId`, …).

use super::super::event::EventKind;
use super::super::fields::{self, Fields, Object};

/// Under `hook_event_name` the names of Claude Code, under `hookEventName` its own.
pub(super) const EVENTS: &[(&str, EventKind)] = &[
    ("SessionStart", EventKind::SessionOpen),
    ("UserPromptSubmit", EventKind::Prompt),
    ("PreToolUse", EventKind::BeforeTool),
    ("PostToolUse", EventKind::AfterTool),
    ("PreCompact", EventKind::BeforeCompact),
    ("Stop", EventKind::Stop),
    ("SessionEnd", EventKind::End),
    ("session_start", EventKind::SessionOpen),
    ("user_prompt_submit", EventKind::Prompt),
    ("pre_tool_use", EventKind::BeforeTool),
    ("post_tool_use", EventKind::AfterTool),
    ("pre_compact", EventKind::BeforeCompact),
    ("stop", EventKind::Stop),
    ("session_end", EventKind::End),
];

/// Nobody else writes the event's name twice.
pub(super) fn claims(object: &Object) -> bool {
    ["hookEventName", "hook_event_name"].iter().all(|key| fields::text(object, key).is_some())
}

pub(super) fn fields(object: &Object) -> Fields {
    let flat = Fields::flat(object);
    Fields {
        name: flat.name.or_else(|| fields::name(object, "hookEventName")),
        session_id: flat.session_id.or_else(|| fields::session_id(object, "sessionId")),
        roots: fields::path(object, "workspaceRoot").into_iter().collect(),
        transcript: flat.transcript.or_else(|| fields::path(object, "transcriptPath")),
        ..flat
    }
}
