//! `state/trace.jsonl`: one line per firing of a hook. Without a home, `$XDG_STATE_HOME/dogwatch/trace.jsonl`.
//!
//! A line is written at once, so that lines of several hooks do not mix. It holds names, numbers and hashes; no tool
//! input, no environment value.

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::{Folder, StateError};
use crate::text::{cut_bytes, line, shorten};

/// The name of the file.
pub const FILE_NAME: &str = "trace.jsonl";
/// The most bytes that are read of a trace.
const LARGEST_READ_BYTES: u64 = 64 * 1024 * 1024;
/// The most bytes of a line, its line break included.
pub const LONGEST_LINE_BYTES: usize = 4096;
/// The most characters of a field that names something.
const NAME_CHARS: usize = 80;
/// The most characters of a field that says something.
const TEXT_CHARS: usize = 200;

/// One firing. Fields that are not known stay empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Firing {
    /// The format of the line; set when it is written.
    pub version: u32,
    /// When the hook was started, RFC 3339 with milliseconds; see [`time()`].
    pub time: String,
    /// `linux`, or `wsl`.
    pub os: String,
    /// The harness's id.
    pub harness: String,
    /// The harness's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness_version: Option<String>,
    /// The session's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The canonical event.
    pub event: String,
    /// Why a session opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What handled it.
    pub moment: String,
    /// What was decided.
    pub decision: String,
    /// By which rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The tool's name, for tool events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A hash of the tool's input, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_hash: Option<String>,
    /// How long the hook took.
    pub milliseconds: u64,
    /// How many bytes it answered.
    pub bytes: u64,
    /// Whether something was cut.
    pub truncated: bool,
    /// How the processes of a run were held together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containment: Option<String>,
    /// The hook's process.
    pub pid: u32,
}

/// A time as the trace writes it.
pub fn time(now: Timestamp) -> String {
    format!("{now:.3}")
}

/// Adds a line to the trace of a home, or to that of a private folder where there is no home.
pub fn append(folder: &Folder, firing: &Firing) -> Result<(), StateError> {
    folder.append(FILE_NAME, &encode(firing))
}

/// Adds a line to the trace that is kept outside of homes, in `$XDG_STATE_HOME/dogwatch`, made if it is missing.
pub fn append_without_home(state_folder: &Path, firing: &Firing) -> Result<(), StateError> {
    append(&Folder::private(state_folder)?, firing)
}

/// The newest firing of each harness in the trace of a home. What cannot be read tells nothing.
pub fn newest(folder: &Folder) -> Vec<Firing> {
    let bytes = folder.read(FILE_NAME, LARGEST_READ_BYTES).ok().flatten().unwrap_or_default();
    let mut newest: Vec<Firing> = Vec::new();
    for line in bytes.rsplit(|byte| *byte == b'\n') {
        // A line that another version wrote, or that was cut, is passed over.
        let Ok(firing) = serde_json::from_slice::<Firing>(line) else { continue };
        if !newest.iter().any(|known| known.harness == firing.harness) {
            newest.push(firing);
        }
    }
    newest
}

/// The line, with its line break.
fn encode(firing: &Firing) -> Vec<u8> {
    let mut bytes = to_json(&bounded(firing, NAME_CHARS, TEXT_CHARS));
    if bytes.len() >= LONGEST_LINE_BYTES {
        // Characters that take several bytes, or an escape, throughout.
        bytes = to_json(&bounded(firing, NAME_CHARS / 4, TEXT_CHARS / 4));
    }
    bytes.push(b'\n');
    bytes
}

fn to_json(firing: &Firing) -> Vec<u8> {
    serde_json::to_vec(firing).expect("a line holds strings and numbers, which JSON can express")
}

fn bounded(firing: &Firing, name_chars: usize, text_chars: usize) -> Firing {
    // A field of a payload can have a megabyte; what is far behind the cut is not even looked at.
    let cut =
        |text: &str, chars: usize| shorten(&line(cut_bytes(text, LONGEST_LINE_BYTES)), chars).into_owned();
    let name = |text: &str| cut(text, name_chars);
    let optional = |text: &Option<String>| text.as_deref().map(name);
    Firing {
        version: 1,
        time: name(&firing.time),
        os: name(&firing.os),
        harness: name(&firing.harness),
        harness_version: optional(&firing.harness_version),
        session: optional(&firing.session),
        event: name(&firing.event),
        source: optional(&firing.source),
        moment: name(&firing.moment),
        decision: name(&firing.decision),
        rule: firing.rule.as_deref().map(|rule| cut(rule, text_chars)),
        tool: optional(&firing.tool),
        input_hash: optional(&firing.input_hash),
        containment: optional(&firing.containment),
        milliseconds: firing.milliseconds,
        bytes: firing.bytes,
        truncated: firing.truncated,
        pid: firing.pid,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    fn firing() -> Firing {
        Firing {
            time: time("2026-11-30T12:00:00.12345Z".parse().unwrap()),
            os: "linux".to_owned(),
            harness: "claude".to_owned(),
            harness_version: Some("2.1.332".to_owned()),
            session: Some("s".to_owned()),
            event: "before-tool".to_owned(),
            moment: "guard".to_owned(),
            decision: "allow".to_owned(),
            milliseconds: 3,
            bytes: 17,
            pid: 42,
            ..Firing::default()
        }
    }

    #[test]
    fn a_line_says_what_fired_and_what_was_decided() {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        append(&state, &firing()).unwrap();
        append(&state, &Firing { decision: "deny".to_owned(), ..firing() }).unwrap();
        insta::assert_snapshot!(fs::read_to_string(state.path().join(FILE_NAME)).unwrap(), @r#"
        {"version":1,"time":"2026-11-30T12:00:00.123Z","os":"linux","harness":"claude","harness_version":"2.1.332","session":"s","event":"before-tool","moment":"guard","decision":"allow","milliseconds":3,"bytes":17,"truncated":false,"pid":42}
        {"version":1,"time":"2026-11-30T12:00:00.123Z","os":"linux","harness":"claude","harness_version":"2.1.332","session":"s","event":"before-tool","moment":"guard","decision":"deny","milliseconds":3,"bytes":17,"truncated":false,"pid":42}
        "#);
    }

    #[test]
    fn without_a_home_it_goes_to_the_private_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("state/dogwatch");
        append_without_home(&folder, &firing()).unwrap();
        assert_eq!(fs::read_to_string(folder.join(FILE_NAME)).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_trace_that_is_a_link_is_not_written_through() {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        symlink(home.path().join("target"), state.path().join(FILE_NAME)).unwrap();
        assert!(append(&state, &firing()).is_err());
        assert!(!home.path().join("target").exists());
    }

    #[test]
    fn lines_of_many_hooks_stay_whole() {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        thread::scope(|scope| {
            for writer in 0..8 {
                let state = &state;
                scope.spawn(move || {
                    let firing = Firing { pid: writer, rule: Some("x".repeat(500)), ..firing() };
                    for _ in 0..25 {
                        append(state, &firing).unwrap();
                    }
                });
            }
        });
        let text = fs::read_to_string(state.path().join(FILE_NAME)).unwrap();
        assert_eq!(text.lines().count(), 200);
        assert!(text.lines().all(|line| serde_json::from_str::<Firing>(line).is_ok()));
    }

    proptest! {
        #[test]
        fn a_line_is_one_line_of_bounded_length(text in ".{0,300}", repeat in 1..40_usize) {
            let text = text.repeat(repeat);
            let some = Some(text.clone());
            let firing = Firing {
                time: text.clone(), os: text.clone(), harness: text.clone(), event: text.clone(),
                moment: text.clone(), decision: text,
                harness_version: some.clone(), session: some.clone(), source: some.clone(),
                rule: some.clone(), tool: some.clone(), input_hash: some.clone(), containment: some,
                milliseconds: u64::MAX, bytes: u64::MAX, truncated: true, pid: u32::MAX, version: 0,
            };
            let bytes = encode(&firing);
            prop_assert!(bytes.len() <= LONGEST_LINE_BYTES);
            prop_assert_eq!(bytes.iter().position(|byte| *byte == b'\n'), Some(bytes.len() - 1));
            prop_assert!(serde_json::from_slice::<Firing>(&bytes).is_ok());
        }
    }
}
