//! Writing a reply as the harness's own answer: exactly one JSON document, plain text, or what changes nothing.

use serde_json::json;

use super::{Budget, EventKind, Harness};

/// What a moment decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Nothing: the neutral answer.
    Nothing,
    /// Text for the model, composed for the harness's budget.
    Context(String),
}

/// An answer, ready to go out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The bytes of stdout.
    pub stdout: Vec<u8>,
    /// The exit code.
    pub exit_code: u8,
}

/// Writes a reply to an event, told by the payload's own name of it and by its kind.
///
/// Text past the harness's budget is cut here only so that the harness's own cut, which may keep less, never works;
/// whoever composes a text keeps within the budget. Where the answer cannot bring text to the model
/// ([`carries_context`]) it is the neutral one.
///
/// ```
/// use dogwatch::harness::{EventKind, Harness, Reply, write};
///
/// let (cursor, _) = Harness::by_name("cursor").unwrap();
/// let written = write(cursor, None, Some(EventKind::SessionOpen), &Reply::Context("hello".to_owned()));
/// assert_eq!((written.stdout.as_slice(), written.exit_code), (&br#"{"additional_context":"hello"}"#[..], 0));
/// ```
pub fn write(harness: &Harness, event_name: Option<&str>, kind: Option<EventKind>, reply: &Reply) -> Written {
    let stdout = match (reply, context_name(harness, event_name, kind)) {
        (Reply::Context(text), Some(name)) if !text.is_empty() => {
            let text = match harness.budget {
                // Of a session open, which never comes here.
                Budget::Discarded => text,
                budget => budget.cut(text),
            };
            (harness.context)(name, text)
        }
        (Reply::Context(_) | Reply::Nothing, _) => neutral(harness, event_name, kind).to_vec(),
    };
    Written { stdout, exit_code: 0 }
}

/// The answer that changes nothing, from the harness whose payload it is: mostly no byte at all. `kind` is the event on
/// the command line where the payload names none or cannot be read.
pub fn neutral(owner: &Harness, event_name: Option<&str>, kind: Option<EventKind>) -> &'static [u8] {
    (owner.neutral)(event_name, kind)
}

/// Whether the answer to an event can bring text to the model.
pub fn carries_context(harness: &Harness, event_name: Option<&str>, kind: Option<EventKind>) -> bool {
    context_name(harness, event_name, kind).is_some()
}

/// The harness's name of the event, if the answer to it can bring text to the model.
fn context_name<'a>(
    harness: &Harness,
    event_name: Option<&'a str>,
    kind: Option<EventKind>,
) -> Option<&'a str> {
    let kind = kind?;
    let name =
        event_name.filter(|name| harness.event(name) == Some(kind)).or_else(|| harness.event_name(kind))?;
    (harness.carries_context)(name, kind).then_some(name)
}

/// The answer of Claude Code and of those that took it over.
pub(super) fn hook_specific(event_name: &str, text: &str) -> Vec<u8> {
    json!({"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": text}})
        .to_string()
        .into_bytes()
}

/// As they are: for an extension or a plugin of ours, which knows what to do with them.
pub(super) fn plain(_event_name: &str, text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// No byte at all.
pub(super) fn silence(_event_name: Option<&str>, _kind: Option<EventKind>) -> &'static [u8] {
    b""
}

#[cfg(test)]
mod tests;
