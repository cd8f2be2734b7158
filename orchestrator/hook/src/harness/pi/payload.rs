//! What comes from Pi, in one of two forms.
//!
//! *Flat*, what our extension sends. Only `hook_event_name`, one of [`EVENTS`], has to be there; paths are absolute:
//!
//! ```json
//! {"hook_event_name": "session_start", "session_id": "01a2…", "source": "clear", "cwd": "/home/dev/project",
//!  "transcript_path": "/home/dev/.pi/…/x.jsonl", "reason": "quit", "version": "1.6.0", "timestamp": "…"}
//! ```
//!
//! *As Pi hands it to an extension*: the event's object under `event`, what its context says under `ctx`. A recording
//! has that, with `ctx_observed` for the latter.

use super::super::event::EventKind;
use super::super::fields::{self, Fields, Object};

pub(super) const EVENTS: &[(&str, EventKind)] = &[
    ("session_start", EventKind::SessionOpen),
    // The context is new, the session is not, and no `session_start` follows.
    ("session_compact", EventKind::SessionOpen),
    ("before_agent_start", EventKind::Prompt),
    ("tool_call", EventKind::BeforeTool),
    ("tool_result", EventKind::AfterTool),
    ("session_before_compact", EventKind::BeforeCompact),
    ("agent_settled", EventKind::Stop),
    // Where there is no `agent_settled` (0.73.1).
    ("agent_end", EventKind::Stop),
    ("session_shutdown", EventKind::End),
];

pub(super) fn fields(object: &Object) -> Fields {
    let Some(event) = fields::below(object, "event") else { return flat(object) };
    let nothing = Object::new();
    let context =
        ["ctx", "ctx_observed"].iter().find_map(|key| fields::below(object, key)).unwrap_or(&nothing);
    let name = fields::name(event, "type");
    let reason = fields::word(event, "reason");
    Fields {
        session_id: fields::session_id(context, "sessionId"),
        source: source(name.as_deref(), reason.as_deref()),
        cwd: fields::path(context, "cwd"),
        transcript: fields::path(context, "sessionFile"),
        reason: reason.filter(|_| name.as_deref() == Some("session_shutdown")),
        name,
        ..Fields::default()
    }
}

fn flat(object: &Object) -> Fields {
    let flat = Fields::flat(object);
    Fields {
        source: source(flat.name.as_deref(), flat.source.as_deref()),
        version: fields::word(object, "version"),
        ..flat
    }
}

/// In dogwatch's own words: `/new` leaves the process and takes the context, which is a clear.
fn source(name: Option<&str>, said: Option<&str>) -> Option<String> {
    match (name, said) {
        (Some("session_compact"), _) => Some("compact"),
        (Some("session_start"), Some("new")) => Some("clear"),
        (Some("session_start") | None, said) => said,
        _ => None,
    }
    .map(str::to_owned)
}
