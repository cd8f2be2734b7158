//! Reading single keys of a payload. A value of a wrong type, or that is longer than it can reasonably be, counts as
//! missing.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A JSON object.
pub(super) type Object = serde_json::Map<String, Value>;

/// Leaves room in a file name of 200 bytes for a harness's id and a suffix.
const LONGEST_SESSION_ID: usize = 160;
/// Names, sources, reasons, versions: words, not texts.
const LONGEST_WORD_CHARS: usize = 64;
/// `PATH_MAX` of Linux.
const LONGEST_PATH_BYTES: usize = 4096;
/// The most folders of a project that are looked at.
const MOST_ROOTS: usize = 32;

/// What a payload says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) name: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) source: Option<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) roots: Vec<PathBuf>,
    pub(super) transcript: Option<PathBuf>,
    pub(super) agent_id: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) version: Option<String>,
}

impl Fields {
    /// The keys that Claude Code uses, and with it most command hooks.
    pub(super) fn flat(object: &Object) -> Fields {
        Fields {
            name: name(object, "hook_event_name"),
            session_id: session_id(object, "session_id"),
            source: word(object, "source"),
            cwd: path(object, "cwd"),
            roots: Vec::new(),
            transcript: path(object, "transcript_path"),
            agent_id: agent_id(object, "agent_id"),
            reason: word(object, "reason"),
            version: None,
        }
    }
}

/// A text that is not empty.
pub(super) fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// An object below a key.
pub(super) fn below<'a>(object: &'a Object, key: &str) -> Option<&'a Object> {
    object.get(key)?.as_object()
}

/// A short text on one line.
pub(super) fn word(object: &Object, key: &str) -> Option<String> {
    text(object, key).filter(|text| is_word(text)).map(str::to_owned)
}

/// An event's name. One that cannot be a name is kept as a name that nobody knows: it is there, so the event is another
/// one than the command line says.
pub(super) fn name(object: &Object, key: &str) -> Option<String> {
    text(object, key).map(|text| if is_word(text) { text.to_owned() } else { "?".to_owned() })
}

/// A session's id that is fit for a file name.
pub(super) fn session_id(object: &Object, key: &str) -> Option<String> {
    let id = text(object, key)?;
    let fits = id.len() <= LONGEST_SESSION_ID
        && !id.starts_with('.')
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    fits.then(|| id.to_owned())
}

/// A sub-agent's id. What matters is that there is one, so an odd one is kept as far as it goes.
pub(super) fn agent_id(object: &Object, key: &str) -> Option<String> {
    text(object, key).map(|id| id.chars().take(LONGEST_WORD_CHARS).map(shown).collect())
}

/// An absolute path, without `.` parts and a slash at its end.
pub(super) fn path(object: &Object, key: &str) -> Option<PathBuf> {
    absolute(object.get(key)?)
}

/// The absolute paths in a list.
pub(super) fn paths(object: &Object, key: &str) -> Vec<PathBuf> {
    let list = object.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(absolute).take(MOST_ROOTS).collect()
}

fn absolute(value: &Value) -> Option<PathBuf> {
    let text = value.as_str().filter(|text| text.len() < LONGEST_PATH_BYTES && !text.contains('\0'))?;
    let path = Path::new(text);
    path.is_absolute().then(|| path.components().collect())
}

fn is_word(text: &str) -> bool {
    text.chars().nth(LONGEST_WORD_CHARS).is_none() && text.chars().all(|c| shown(c) == c)
}

fn shown(c: char) -> char {
    if c.is_control() || crate::text::is_forbidden(c) { '?' } else { c }
}
