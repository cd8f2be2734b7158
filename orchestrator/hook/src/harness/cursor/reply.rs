//! Cursor's answers. It always parses stdout as JSON, and an empty one to a permission event blocks the tool.

use serde_json::json;

use super::super::event::EventKind;

/// Events that ask whether something may be done.
const PERMISSION: [&str; 6] = [
    "preToolUse",
    "beforeShellExecution",
    "beforeMCPExecution",
    "beforeReadFile",
    "beforeTabFileRead",
    "subagentStart",
];

/// A session open and a tool's result. A prompt's answer reaches the model in the editor only, and nothing says so in a
/// payload; of the events around one tool call `postToolUse` alone takes it.
pub(super) fn carries_context(event_name: &str, kind: EventKind) -> bool {
    kind == EventKind::SessionOpen || event_name == "postToolUse"
}

pub(super) fn context(_event_name: &str, text: &str) -> Vec<u8> {
    json!({ "additional_context": text }).to_string().into_bytes()
}

pub(super) fn neutral(event_name: Option<&str>, kind: Option<EventKind>) -> &'static [u8] {
    let asks = match event_name {
        // Through a Claude Code registration it may yet come in that one's spelling.
        Some(name) => PERMISSION.iter().any(|known| known.eq_ignore_ascii_case(name)),
        None => kind == Some(EventKind::BeforeTool),
    };
    if asks { br#"{"permission":"allow"}"# } else { b"{}" }
}
