//! Putting a recording into this run: its paths, its session, and new ids for what is new with every event.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::{Recording, file};
use crate::harness::Harness;

const RECORDED_PROJECT: &str = "/home/dev/project";
const RECORDED_HOME: &str = "/home/dev";

/// Stands for the project while the home is put in. No path has it.
const MARK: &str = "\0project\0";

/// Keys whose value is new with every turn.
const TURN: &[&str] = &["generation_id", "promptId", "prompt_id", "turnId", "turn_id"];
/// Keys whose value is new with every call of a tool.
const TOOL: &[&str] = &["toolUseId", "tool_use_id"];
/// Keys that hold the session's id.
const SESSION: &[&str] = &["conversation_id", "sessionId", "session_id"];
const TRANSCRIPT: &[&str] = &["transcriptPath", "transcript_path"];

/// Where a run takes place.
#[derive(Debug, Clone)]
pub(crate) struct Placing {
    pub(crate) project: PathBuf,
    pub(crate) home: PathBuf,
    /// Where transcripts are put, as if it were the home: never the home of a person.
    pub(crate) transcripts: PathBuf,
    pub(crate) session_id: String,
    pub(crate) ids: Ids,
}

/// Ids that several events of a session have in common; what is not set is new with every event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ids {
    pub(crate) turn: Option<String>,
    pub(crate) tool: Option<String>,
}

impl Ids {
    /// Makes the ids that this recording has and that are not set.
    pub(crate) fn fill(&mut self, recording: &Recording) {
        for (keys, id) in [(TURN, &mut self.turn), (TOOL, &mut self.tool)] {
            if id.is_none() {
                *id = recorded_id(recording, keys).map(fresh_like);
            }
        }
    }

    fn of(&self, key: &str) -> Option<&String> {
        if TURN.contains(&key) { self.turn.as_ref() } else { self.tool.as_ref() }
    }
}

fn recorded_id<'a>(recording: &'a Recording, keys: &[&str]) -> Option<&'a str> {
    keys.iter().filter_map(|key| recording.payload().get(*key)?.as_str()).find(|id| !id.is_empty())
}

/// A payload of this run.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) payload: Value,
    /// The transcript that the payload names.
    pub(crate) transcript: Option<PathBuf>,
}

impl Placing {
    /// The recording as it would have been here.
    pub(crate) fn place(&self, recording: &Recording) -> Placed {
        let mut payload = recording.payload().clone();
        let recorded_session = SESSION
            .iter()
            .find_map(|key| payload.get(*key)?.as_str().map(str::to_owned))
            .filter(|id| !id.is_empty());
        let fresh: Vec<(String, String)> = TURN
            .iter()
            .chain(TOOL)
            .filter_map(|key| Some((key, payload.get(*key)?.as_str()?)))
            .filter(|(_, id)| !id.is_empty())
            .map(|(key, id)| (id.to_owned(), self.ids.of(key).cloned().unwrap_or_else(|| fresh_like(id))))
            .collect();
        let mut transcript = None;
        self.walk(&mut payload, None, &mut |place, key, text| {
            let is_transcript = key.is_some_and(|key| TRANSCRIPT.contains(&key));
            let home = if is_transcript { &place.transcripts } else { &place.home };
            let mut new = put_paths(text, &place.project, home);
            if let Some(recorded) = &recorded_session {
                new = new.replace(recorded.as_str(), &place.session_id);
            }
            for (old, id) in &fresh {
                if new == *old {
                    new.clone_from(id);
                }
            }
            if key == Some("timestamp") {
                new = jiff::Timestamp::now().to_string();
            }
            if is_transcript {
                transcript = Some(PathBuf::from(&new));
            }
            new
        });
        Placed { payload, transcript }
    }

    fn walk(
        &self,
        value: &mut Value,
        key: Option<&str>,
        change: &mut impl FnMut(&Self, Option<&str>, &str) -> String,
    ) {
        match value {
            Value::String(text) => *text = change(self, key, text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item, key, change)),
            Value::Object(map) => map.iter_mut().for_each(|(key, value)| self.walk(value, Some(key), change)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl Placed {
    /// Puts a transcript where the payload says, if the real harness had one at that event. `None` where it had none.
    pub(crate) fn write_transcript(&self, recording: &Recording) -> std::io::Result<Option<&Path>> {
        let Some(path) = &self.transcript else { return Ok(None) };
        if !has_transcript(recording) {
            return Ok(None);
        }
        if path.exists() {
            return Ok(Some(path));
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let name = match recording.harness {
            Harness::Claude => "transcript-headless-one-tool.jsonl",
            Harness::Codex => "rollout-headless-one-tool.jsonl",
            _ => "",
        };
        std::fs::write(path, file(recording.harness, recording.version, name).unwrap_or_default())?;
        Ok(Some(path))
    }
}

/// Claude Code 2.1.332: there is no file yet at startup, clear and fork. Codex 0.171.0: it is there at session open.
/// The others name one only when they have it.
fn has_transcript(recording: &Recording) -> bool {
    let source = recording.payload().get("source").and_then(Value::as_str);
    recording.harness != Harness::Claude
        || recording.event != "SessionStart"
        || !matches!(source, Some("startup" | "clear" | "fork"))
}

/// Puts this run's folders in the place of the recorded ones, also where a harness has encoded them into a name.
fn put_paths(text: &str, project: &Path, home: &Path) -> String {
    let project = project.to_string_lossy();
    let home = home.to_string_lossy();
    if !text.contains("home") && !text.contains('<') {
        return text.to_owned();
    }
    // A mark in between: the project of this run may itself lie in a folder that is called as the recorded home.
    let text = replace_path(text, RECORDED_PROJECT, MARK)
        .replace(&dashed(RECORDED_PROJECT), &dashed(&project))
        .replace(&percent(RECORDED_PROJECT), &percent(&project))
        .replace("<PROJECT>", MARK);
    replace_path(&text, RECORDED_HOME, &home).replace("<HOME>", &home).replace(MARK, &project)
}

/// Replaces a path where it stands as one: not as the beginning of a longer name.
fn replace_path(text: &str, old: &str, new: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let after = &rest[at + old.len()..];
        let ends = !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        out.push_str(&rest[..at]);
        out.push_str(if ends { new } else { old });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// As Claude Code makes a folder's name of a path.
fn dashed(path: &str) -> String {
    path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// As Grok makes a folder's name of a path.
fn percent(path: &str) -> String {
    path.replace('%', "%25").replace('/', "%2F")
}

/// Another id of the same form: what comes after the last underscore is new, digit by digit.
pub(crate) fn fresh_like(id: &str) -> String {
    let start = id.rfind('_').map_or(0, |at| at + 1);
    let mut bits = random();
    let tail: String = id[start..]
        .chars()
        .map(|c| {
            let digit = match c {
                '0'..='9' if id.len() - start < 6 => {
                    char::from_digit(u32::try_from(bits % 10).unwrap_or(0), 10)
                }
                '0'..='9' | 'a'..='f' => char::from_digit(u32::try_from(bits & 15).unwrap_or(0), 16),
                _ => None,
            };
            bits = mix(bits);
            digit.unwrap_or(c)
        })
        .collect();
    format!("{}{tail}", &id[..start])
}

/// A new id, as most harnesses write one.
pub(crate) fn fresh_uuid() -> String {
    let mut id = fresh_like("aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa");
    id.replace_range(14..15, "4");
    id.replace_range(19..20, "8");
    id
}

/// Not for secrets: ids only have to differ.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u64(COUNT.fetch_add(1, Ordering::Relaxed));
    hasher.finish()
}

/// One step of splitmix64.
fn mix(bits: u64) -> u64 {
    let mut z = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{all, find};

    fn placing() -> Placing {
        Placing {
            project: "/w/my project".into(),
            home: "/w/home".into(),
            transcripts: "/scratch/home".into(),
            session_id: "11111111-2222-4333-8444-555555555555".to_owned(),
            ids: Ids::default(),
        }
    }

    #[test]
    fn nothing_of_the_recorded_places_and_sessions_is_left() {
        for recording in all() {
            let placed = placing().place(recording).payload.to_string();
            assert!(!placed.contains("/home/dev"), "{}: {placed}", recording.name);
            assert!(!placed.contains("-home-dev") && !placed.contains("%2Fhome%2Fdev"), "{}", recording.name);
            for key in SESSION {
                if let Some(id) = recording.payload().get(*key).and_then(Value::as_str) {
                    assert!(id.is_empty() || !placed.contains(id), "{}", recording.name);
                }
            }
        }
    }

    #[test]
    fn what_is_new_with_every_event_is_new() {
        let recording = find(Harness::Claude, "2.1.332", "PreToolUse-Bash-headless").unwrap();
        let (one, two) = (placing().place(recording).payload, placing().place(recording).payload);
        for key in ["prompt_id", "tool_use_id"] {
            assert_ne!(one[key], two[key], "{key}");
            assert_ne!(one[key], recording.payload()[key], "{key}");
        }
        assert!(one["tool_use_id"].as_str().unwrap().starts_with("toolu_"));
        assert_eq!(one["session_id"], two["session_id"]);
        assert_eq!(one["cwd"], "/w/my project");
    }

    #[test]
    fn what_events_have_in_common_stays() {
        let find = |name| find(Harness::Claude, "2.1.332", name).unwrap();
        let (before, after) = (find("PreToolUse-Bash-headless"), find("PostToolUse-Bash-headless"));
        let mut placing = placing();
        placing.ids.fill(before);
        let (one, two) = (placing.place(before).payload, placing.place(after).payload);
        for key in ["prompt_id", "tool_use_id"] {
            assert_eq!(one[key], two[key], "{key}");
            assert_ne!(one[key], before.payload()[key], "{key}");
        }
    }

    #[test]
    fn the_transcript_is_there_when_the_real_one_was() {
        let recording = find(Harness::Claude, "2.1.332", "SessionStart-startup-headless").unwrap();
        assert!(!has_transcript(recording));
        let recording = find(Harness::Claude, "2.1.332", "SessionStart-compact-tui").unwrap();
        assert!(has_transcript(recording));
        let placed = placing().place(recording);
        assert_eq!(
            placed.transcript.unwrap(),
            Path::new(
                "/scratch/home/.claude/projects/-w-my-project/11111111-2222-4333-8444-555555555555.jsonl"
            )
        );
    }

    #[test]
    fn a_fresh_id_keeps_its_form() {
        assert!(fresh_like("call_2").strip_prefix("call_").unwrap().chars().all(|c| c.is_ascii_digit()));
        assert_eq!(fresh_uuid().len(), 36);
        assert_ne!(fresh_uuid(), fresh_uuid());
    }

    #[test]
    fn a_longer_name_is_another_path() {
        assert_eq!(replace_path("/home/devin /home/dev/x", "/home/dev", "/h"), "/home/devin /h/x");
    }
}
