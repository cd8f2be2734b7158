//! The recordings: what a harness handed to a hook, with where it was seen. They are compiled in.

mod find;
mod place;

use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::harness::Harness;

pub use find::{Unknown, find, newest, versions};
pub(crate) use place::{Ids, Placed, Placing, fresh_uuid};

/// Every file of `recordings/`, by its path from there.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/recordings.rs"));

static ALL: LazyLock<Vec<Recording>> = LazyLock::new(|| FILES.iter().filter_map(parse).collect());

/// One payload, as a harness handed it to a hook.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Whose it is.
    pub harness: Harness,
    /// The version of the harness.
    pub version: &'static str,
    /// Its name, as `SessionStart-compact-headless`.
    pub name: &'static str,
    /// The event's name, as the harness has it in a registration.
    pub event: String,
    /// Where it came from.
    pub provenance: Provenance,
    /// The names of the variables that the hook had in its environment.
    pub env: Vec<String>,
    /// As it stands in the file: taken apart when it is asked for, because most never are.
    text: &'static str,
    payload: OnceLock<Value>,
}

/// Where a recording came from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct Provenance {
    /// The program, as it calls itself.
    pub cli: String,
    /// Its version.
    pub version: String,
    /// The day, as `2026-11-30`.
    pub date: String,
    /// How the program ran: `headless`, `tui`, `not noted`, …
    pub mode: String,
    /// Whether it was seen, or written from documentation.
    pub how: How,
}

/// How a recording was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Seen from the real program.
    Recorded,
    /// Written from the documented keys; never seen.
    Documented,
}

impl Recording {
    /// The payload as it was recorded, not yet placed in a run.
    pub fn payload(&self) -> &Value {
        self.payload.get_or_init(|| serde_json::from_str(self.text).unwrap_or_default())
    }

    /// Whether it came through a registration in another harness's file.
    pub fn is_foreign(&self) -> bool {
        self.name.ends_with("-from-claude-settings")
    }

    /// Whether the program ran without a terminal.
    pub fn is_headless(&self) -> bool {
        self.provenance.mode.contains("headless") || self.name.contains("headless")
    }
}

/// Every recording, in the order of harness, version and name.
pub fn all() -> &'static [Recording] {
    &ALL
}

/// A file beside the recordings, such as a transcript.
pub(crate) fn file(harness: Harness, version: &str, name: &str) -> Option<&'static str> {
    let path = format!("{}/{version}/{name}", harness.id());
    FILES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}

#[derive(Deserialize)]
struct File<'a> {
    provenance: Provenance,
    env: Vec<String>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

fn parse((path, text): &(&'static str, &'static str)) -> Option<Recording> {
    let mut parts = path.split('/');
    let (harness, version, file) = (parts.next()?, parts.next()?, parts.next()?);
    let name = file.strip_suffix(".json")?;
    let File { provenance, env, payload } = serde_json::from_str(text).ok()?;
    Some(Recording {
        harness: harness.parse().ok()?,
        version,
        name,
        // A recording's name begins with its event.
        event: name.split('-').next().unwrap_or(name).to_owned(),
        provenance,
        env,
        text: payload.get(),
        payload: OnceLock::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recording_is_compiled_in() {
        let json = FILES.iter().filter(|(path, _)| path.rsplit('.').next() == Some("json")).count();
        assert_eq!(all().len(), json);
        assert!(json > 200);
    }

    #[test]
    fn a_recording_is_named_after_its_event() {
        for recording in all() {
            if let Some(event) = recording.payload().get("hook_event_name").and_then(Value::as_str) {
                assert_eq!(recording.event, event, "{}", recording.name);
            }
        }
    }

    #[test]
    fn all_of_cursor_is_documented_and_nothing_else_is() {
        for recording in all() {
            let documented = recording.provenance.how == How::Documented;
            assert_eq!(documented, recording.harness == Harness::Cursor, "{}", recording.name);
        }
    }
}
