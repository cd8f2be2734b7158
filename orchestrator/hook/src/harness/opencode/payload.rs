//! What comes from OpenCode, in one of three forms.
//!
//! *Flat*, what our plugin sends. Only `hook_event_name`, one of [`EVENTS`], has to be there; paths are absolute:
//!
//! ```json
//! {"hook_event_name": "session.created", "session_id": "ses_…", "source": "startup", "cwd": "/home/dev/project",
//!  "worktree": "/home/dev/project", "agent_id": "ses_…", "reason": "…", "version": "1.18.33", "timestamp": "…"}
//! ```
//!
//! *An event as a plugin gets it*: under `event`, with `type` and `properties`. *A hook's input as a plugin gets it*: under
//! `input`; the hook's name is not in it, so the event on the command line counts. Recordings have these.

use super::super::event::EventKind;
use super::super::fields::{self, Fields, Object};

pub(super) const EVENTS: &[(&str, EventKind)] = &[
    ("session.created", EventKind::SessionOpen),
    // The context is new, the session is not.
    ("session.compacted", EventKind::SessionOpen),
    ("chat.message", EventKind::Prompt),
    ("tool.execute.before", EventKind::BeforeTool),
    ("tool.execute.after", EventKind::AfterTool),
    ("experimental.session.compacting", EventKind::BeforeCompact),
    ("session.idle", EventKind::Stop),
];

pub(super) fn fields(object: &Object) -> Fields {
    if let Some(event) = fields::below(object, "event") {
        of_event(event)
    } else if let Some(input) = fields::below(object, "input") {
        Fields {
            session_id: fields::session_id(input, "sessionID"),
            cwd: fields::path(input, "cwd"),
            ..Fields::default()
        }
    } else {
        flat(object)
    }
}

fn of_event(event: &Object) -> Fields {
    let nothing = Object::new();
    let properties = fields::below(event, "properties").unwrap_or(&nothing);
    let info = fields::below(properties, "info").unwrap_or(&nothing);
    let name = fields::name(event, "type");
    let id = fields::session_id(properties, "sessionID");
    let about_a_session = name.as_ref().is_some_and(|name| name.starts_with("session."));
    Fields {
        source: source(name.as_deref(), None),
        cwd: fields::path(info, "directory"),
        // A sub-agent works in a session of its own, whose parent is the session that asked for it.
        // A message has a parent, too, which is a message.
        agent_id: fields::text(info, "parentID").and(id.clone()).filter(|_| about_a_session),
        session_id: id,
        version: fields::word(info, "version"),
        name,
        ..Fields::default()
    }
}

fn flat(object: &Object) -> Fields {
    let flat = Fields::flat(object);
    Fields {
        source: source(flat.name.as_deref(), flat.source.as_deref()),
        // Outside of a repository its work tree is `/`, which says nothing.
        roots: fields::path(object, "worktree").filter(|path| path.parent().is_some()).into_iter().collect(),
        version: fields::word(object, "version"),
        ..flat
    }
}

fn source(name: Option<&str>, said: Option<&str>) -> Option<String> {
    if name == Some("session.compacted") { Some("compact") } else { said }.map(str::to_owned)
}
