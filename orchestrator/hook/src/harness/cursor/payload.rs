//! Cursor's payload: its events, and its keys where they differ from Claude Code's.

use super::super::event::EventKind;
use super::super::fields::{self, Fields, Object};

/// One shell call fires four of them: `preToolUse`, `beforeShellExecution`, `afterShellExecution`, `postToolUse`.
pub(super) const EVENTS: &[(&str, EventKind)] = &[
    ("sessionStart", EventKind::SessionOpen),
    ("beforeSubmitPrompt", EventKind::Prompt),
    ("preToolUse", EventKind::BeforeTool),
    ("beforeShellExecution", EventKind::BeforeTool),
    ("beforeMCPExecution", EventKind::BeforeTool),
    ("beforeReadFile", EventKind::BeforeTool),
    ("postToolUse", EventKind::AfterTool),
    ("postToolUseFailure", EventKind::AfterTool),
    ("afterShellExecution", EventKind::AfterTool),
    ("afterMCPExecution", EventKind::AfterTool),
    ("afterFileEdit", EventKind::AfterTool),
    ("afterAgentResponse", EventKind::Reply),
    ("preCompact", EventKind::BeforeCompact),
    ("stop", EventKind::Stop),
    ("sessionEnd", EventKind::End),
];

/// Every payload of Cursor names its version, and nobody else's does.
pub(super) fn claims(object: &Object) -> bool {
    fields::text(object, "cursor_version").is_some()
}

pub(super) fn fields(object: &Object) -> Fields {
    let flat = Fields::flat(object);
    Fields {
        // The same id under both keys; on some events only one is there.
        session_id: flat.session_id.or_else(|| fields::session_id(object, "conversation_id")),
        roots: fields::paths(object, "workspace_roots"),
        // How a stop says why.
        reason: flat.reason.or_else(|| fields::word(object, "status")),
        version: fields::word(object, "cursor_version"),
        ..flat
    }
}
