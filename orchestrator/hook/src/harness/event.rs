//! A payload, read: the event that it tells of, whose it is, and what it says of the session.

use std::path::PathBuf;

use super::fields::Fields;
use super::json::{self, Unreadable};
use super::{Harness, TABLE};

/// One canonical lifecycle event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// A session opens: a new one, or an old one with a context that came back, was cleared or was compacted.
    SessionOpen,
    /// The person sends a prompt.
    Prompt,
    /// A tool is about to run.
    BeforeTool,
    /// A tool has run, or has failed.
    AfterTool,
    /// The model has said something.
    Reply,
    /// The context is about to be compacted.
    BeforeCompact,
    /// The model wants to end its turn.
    Stop,
    /// The session ends.
    End,
}

impl EventKind {
    /// Every event, in the order in which a session meets them.
    pub const ALL: [EventKind; 8] = [
        EventKind::SessionOpen,
        EventKind::Prompt,
        EventKind::BeforeTool,
        EventKind::AfterTool,
        EventKind::Reply,
        EventKind::BeforeCompact,
        EventKind::Stop,
        EventKind::End,
    ];

    /// Its id on the command line and in files.
    pub const fn id(self) -> &'static str {
        match self {
            EventKind::SessionOpen => "session-open",
            EventKind::Prompt => "prompt",
            EventKind::BeforeTool => "before-tool",
            EventKind::AfterTool => "after-tool",
            EventKind::Reply => "reply",
            EventKind::BeforeCompact => "before-compact",
            EventKind::Stop => "stop",
            EventKind::End => "end",
        }
    }

    /// The event of that id.
    ///
    /// ```
    /// use dogwatch::harness::EventKind;
    ///
    /// assert_eq!(EventKind::from_id("before-tool"), Some(EventKind::BeforeTool));
    /// assert_eq!(EventKind::from_id("PreToolUse"), None);
    /// ```
    pub fn from_id(id: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

/// A payload that could be read. Every text in it is bounded, but comes from outside: it is data, and no path in it has
/// been looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Which event; `None` for one that dogwatch does not act on.
    pub kind: Option<EventKind>,
    /// The payload's own name of the event.
    pub name: Option<String>,
    /// The session, as the harness numbers it. Fit for a file name: ASCII letters, digits, `.`, `_`, `-`, with no `.` in
    /// front, and short enough to leave room for the harness's id and a suffix.
    pub session_id: Option<String>,
    /// Why the session opened, where the payload says so in a short text.
    pub source: Option<String>,
    /// The working folder, absolute.
    pub cwd: Option<PathBuf>,
    /// Folders of the project that the payload names, absolute, best first.
    pub roots: Vec<PathBuf>,
    /// The session's transcript, absolute. It need not be there.
    pub transcript: Option<PathBuf>,
    /// The sub-agent that the event comes from; `None` for the session itself.
    pub agent_id: Option<String>,
    /// Why the turn or the session ended.
    pub reason: Option<String>,
    /// The harness's version, where the payload tells it.
    pub version: Option<String>,
    /// Whose payload it is. Another harness than the registration's where one runs the other's registrations.
    pub owner: &'static Harness,
    /// SHA-256 of the payload in canonical form (keys sorted, no blanks), without its `timestamp`: what is equal in two
    /// firings of one event.
    pub hash: [u8; 32],
}

/// What reading a payload gave.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is one in a process")]
pub enum Payload {
    /// It is a JSON object.
    Whole(Event),
    /// It is not, or is not all there.
    Unreadable {
        /// What is wrong with it, as a fragment: `empty`, `cut off`. Nothing of the payload stands in it.
        why: String,
    },
}

/// Reads a payload that came through a registration of `harness`.
///
/// The event on the command line counts where the payload names none; a payload's own name wins, also where it is one
/// that dogwatch does not act on. A key of a wrong type counts as missing, and any number of byte-order marks in
/// front, and whatever stands behind the first document, is passed over. Whose payload it is is told from the payload
/// alone: variables leak into children.
///
/// ```
/// use dogwatch::harness::{EventKind, Harness, Payload, read};
///
/// let (claude, _) = Harness::by_name("claude").unwrap();
/// let bytes = br#"{"session_id": "1f", "hook_event_name": "SessionStart", "source": "startup"}"#;
/// let Payload::Whole(event) = read(claude, None, bytes) else { panic!() };
/// assert_eq!(event.kind, Some(EventKind::SessionOpen));
/// assert_eq!(event.source.as_deref(), Some("startup"));
/// ```
pub fn read(harness: &'static Harness, canonical: Option<EventKind>, bytes: &[u8]) -> Payload {
    let json::Document { object, hash } = match json::document(bytes) {
        Ok(document) => document,
        Err(Unreadable(why)) => return Payload::Unreadable { why: why.to_owned() },
    };
    let owner = TABLE.into_iter().find(|harness| (harness.claims)(&object)).unwrap_or(harness);
    let fields: Fields = (owner.fields)(&object);
    let kind = match &fields.name {
        Some(name) => owner.event(name),
        None => canonical,
    };
    Payload::Whole(Event {
        kind,
        name: fields.name,
        session_id: fields.session_id,
        source: fields.source,
        cwd: fields.cwd,
        roots: fields.roots,
        transcript: fields.transcript,
        agent_id: fields.agent_id,
        reason: fields.reason,
        version: fields.version,
        owner,
        hash,
    })
}

#[cfg(test)]
mod tests;
