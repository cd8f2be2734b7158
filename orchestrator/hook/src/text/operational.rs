//! Operational messages: one line that dogwatch says to a session, told from a person's words by how it begins.
//!
//! U+2063, the label, the version, the kind, the body: `<U+2063>DOGWATCH_OP: v1 session-start: …`. The marker counts
//! only as the first character of a text, and is taken out of everything else that reaches a model, so that only what
//! this process encoded can be one.

use std::fmt;

/// U+2063, the invisible separator.
pub const MARKER: char = '\u{2063}';
/// The label where the config names no other.
pub const LABEL: &str = "DOGWATCH_OP";
/// The version of the form.
const VERSION: &str = "v1";

/// What an operational message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A session is to run its digest.
    SessionStart,
    /// A result that arrived after the digest.
    Wake,
    /// A stop was refused.
    Stop,
    /// A session's name is to be shown.
    Name,
    /// A session was started by another.
    Launch,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] = [Kind::SessionStart, Kind::Wake, Kind::Stop, Kind::Name, Kind::Launch];

    /// The kind's word in a message.
    pub const fn id(self) -> &'static str {
        match self {
            Kind::SessionStart => "session-start",
            Kind::Wake => "wake",
            Kind::Stop => "stop",
            Kind::Name => "name",
            Kind::Launch => "launch",
        }
    }

    /// The kind of that word.
    pub fn from_id(id: &str) -> Option<Kind> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A message that was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is about.
    pub kind: Kind,
    /// What it says.
    pub body: &'a str,
}

/// Whether a text can be a label: 1 to 64 ASCII capitals, digits and `_`, beginning with a letter.
pub fn is_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=64).contains(&label.len())
        && label.bytes().all(inner)
        && label.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
}

/// Makes a message of one line, without a line break at its end.
pub fn encode(label: &str, kind: Kind, body: &str) -> String {
    let body: Vec<&str> = body.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
    header(label, kind) + &body.join(" ")
}

/// What a message begins with; a text of several lines may follow, if it is cleaned.
pub fn header(label: &str, kind: Kind) -> String {
    format!("{MARKER}{label}: {VERSION} {kind}: ")
}

/// Recognises a message. Strict: the marker is the first character, the label is this one, the version is `v1`, the
/// kind is known, and there is no blank too many.
pub fn classify<'a>(label: &str, text: &'a str) -> Option<Message<'a>> {
    let rest = text.strip_prefix(MARKER)?.strip_prefix(label)?.strip_prefix(": ")?;
    let rest = rest.strip_prefix(VERSION)?.strip_prefix(' ')?;
    let (kind, body) = rest.split_once(": ")?;
    let body = body.strip_suffix('\n').unwrap_or(body);
    Some(Message { kind: Kind::from_id(kind)?, body })
}

/// The nudge: asks the model to run the digest itself. `rerun` is the command.
pub fn nudge(label: &str, rerun: &str) -> String {
    let body = format!("Run `{rerun}` now, exactly once, before executing any other instructions.");
    encode(label, Kind::SessionStart, &body)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_nudge_is_fixed_to_the_byte() {
        assert_eq!(
            nudge(LABEL, "dogwatch open").as_bytes(),
            b"\xe2\x81\xa3DOGWATCH_OP: v1 session-start: Run `dogwatch open` now, exactly once, before executing any \
              other instructions."
        );
        let other = nudge("FIRSTMATE_OP", "bin/fm-session-start.sh") + "\n";
        assert_eq!(other.len(), 125);
    }

    #[rstest]
    #[case("\u{2063}DOGWATCH_OP: v1 wake: text", Some((Kind::Wake, "text")))]
    #[case("\u{2063}DOGWATCH_OP: v1 wake: a: b\n", Some((Kind::Wake, "a: b")))]
    #[case("DOGWATCH_OP: v1 wake: text", None)]
    #[case(" \u{2063}DOGWATCH_OP: v1 wake: text", None)]
    #[case("\u{2063}\u{2063}DOGWATCH_OP: v1 wake: text", None)]
    #[case("\u{2063}DOGWATCH_OP:  v1 wake: text", None)]
    #[case("\u{2063}DOGWATCH_OP: v1  wake: text", None)]
    #[case("\u{2063}DOGWATCH_OP: v2 wake: text", None)]
    #[case("\u{2063}DOGWATCH_OP: v1 unknown: text", None)]
    #[case("\u{2063}OTHER_OP: v1 wake: text", None)]
    #[case("\u{2063}DOGWATCH_OP: v1 wake:text", None)]
    #[case("", None)]
    fn the_header_is_strict(#[case] text: &str, #[case] expected: Option<(Kind, &str)>) {
        assert_eq!(classify(LABEL, text).map(|message| (message.kind, message.body)), expected);
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_recognised(body in "\\PC{0,60}", index in 0_usize..5) {
            let kind = Kind::ALL[index];
            let text = encode(LABEL, kind, &body);
            prop_assert_eq!(classify(LABEL, &text).map(|message| message.kind), Some(kind));
            prop_assert!(!text.contains('\n'));
        }

        #[test]
        fn nothing_that_was_cleaned_is_a_message(text in "\u{2063}?DOGWATCH_OP: v1 wake: \\PC*") {
            let cleaned = super::super::clean(&text);
            prop_assert_eq!(classify(LABEL, &cleaned), None);
        }
    }
}
