//! Recording a real CLI: a recorder is registered for every event that the harness is known to have, the CLI runs, and
//! what it handed over is kept, without what belongs to the person or the machine.
//!
//! The recorder stands in a copy of the home, beside what is registered there; it answers nothing that changes anything.

mod register;
mod sanitise;
mod shape;
mod take;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::harness::Harness;
use crate::recording::{How, Provenance};

pub use sanitise::Mask;
pub use shape::{Change, Drift};
pub(crate) use take::take;

/// A recorder, registered in a home.
#[derive(Debug)]
pub struct Recorder {
    harness: Harness,
    raw: PathBuf,
}

/// One payload as it was handed over, and cleaned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Taken {
    /// The name of its recording: the event and what tells this one from others of it.
    pub name: String,
    /// The event, as the harness has it in a registration.
    pub event: String,
    /// The names of the variables that the hook had.
    pub env: Vec<String>,
    /// What it was given.
    pub payload: Value,
}

impl Recorder {
    /// Registers a recorder in this home, which must be a copy: files in it are changed. What it takes is put into `raw`.
    /// `program` is an installed `harness-sim`.
    ///
    /// # Errors
    /// Where a file cannot be read or written, or what stands in it is no JSON.
    pub fn register(harness: Harness, home: &Path, raw: &Path, program: &Path) -> io::Result<Self> {
        fs::create_dir_all(raw)?;
        register::register(harness, home, raw, program)?;
        Ok(Self { harness, raw: raw.to_owned() })
    }

    /// What was taken so far, in the order in which it came: cleaned, and one of each name and shape.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn taken(&self, mask: &Mask, mode: &str) -> io::Result<Vec<Taken>> {
        let mut files: Vec<PathBuf> = fs::read_dir(&self.raw)?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| is_whole(path))
            .collect();
        files.sort();
        let mut all: Vec<Taken> = Vec::new();
        for file in files {
            let Ok(raw) = serde_json::from_slice::<take::Raw>(&fs::read(&file)?) else { continue };
            let taken = self.clean(raw, mask, mode);
            let shape = shape::of(&taken.payload);
            let twin = |other: &&Taken| {
                other.event == taken.event
                    && stem(&other.name) == taken.name
                    && shape::of(&other.payload) == shape
            };
            if all.iter().any(|other| twin(&other)) {
                continue;
            }
            let number = all.iter().filter(|other| stem(&other.name) == taken.name).count();
            let name =
                if number == 0 { taken.name.clone() } else { format!("{}~{}", taken.name, number + 1) };
            all.push(Taken { name, ..taken });
        }
        Ok(all)
    }

    fn clean(&self, raw: take::Raw, mask: &Mask, mode: &str) -> Taken {
        let payload = mask.clean(raw.payload);
        let env: Vec<String> = raw.env.into_iter().filter(|name| is_name(name)).collect();
        let name = name(self.harness, &raw.event, &payload, mode);
        Taken { name, event: raw.event, env, payload }
    }
}

/// What tells a second shape of a name from the first.
fn stem(name: &str) -> &str {
    name.split_once('~').map_or(name, |(stem, _)| stem)
}

/// Written whole; the recorder writes aside and renames.
fn is_whole(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The event, then what a payload says to tell it from others of that event.
fn name(harness: Harness, event: &str, payload: &Value, mode: &str) -> String {
    let inner = payload.get("event").filter(|event| event.is_object()).unwrap_or(payload);
    let word = |key: &str| inner.get(key).and_then(Value::as_str).filter(|word| is_word(word));
    let keys = ["source", "tool_name", "toolName", "trigger", "notification_type", "reason", "agent_type"];
    let mut parts = vec![event.to_owned()];
    parts.extend(keys.iter().find_map(|key| word(key)).map(str::to_owned));
    match inner.get("stop_hook_active").and_then(Value::as_bool) {
        Some(true) => parts.push("active".to_owned()),
        Some(false) => parts.push("first".to_owned()),
        None => {}
    }
    parts.extend(word("permission_mode").filter(|mode| *mode != "default").map(str::to_owned));
    match harness {
        Harness::Claude | Harness::Codex => parts.push(mode.to_owned()),
        _ if parts.len() == 1 => parts.push("default".to_owned()),
        _ => {}
    }
    parts.join("-")
}

fn is_word(word: &str) -> bool {
    (1..=60).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:".contains(&byte))
}

/// Writes recordings as the folder of the recordings has them: `<out>/<harness>/<version>/<name>.json`. The files.
///
/// # Errors
/// Where one cannot be written.
pub fn write(
    out: &Path,
    harness: Harness,
    taken: &[Taken],
    provenance: &Provenance,
) -> io::Result<Vec<PathBuf>> {
    let folder = out.join(harness.id()).join(&provenance.version);
    fs::create_dir_all(&folder)?;
    taken
        .iter()
        .map(|taken| {
            let recording = json!({ "provenance": provenance, "env": taken.env, "payload": taken.payload });
            let file = folder.join(format!("{}.json", taken.name.replace('/', "_")));
            let mut text = serde_json::to_string_pretty(&recording).map_err(io::Error::other)?;
            text.push('\n');
            fs::write(&file, text)?;
            Ok(file)
        })
        .collect()
}

/// Where recordings of today come from.
pub fn provenance(harness: Harness, version: &str, mode: &str) -> Provenance {
    Provenance {
        cli: harness.name().to_owned(),
        version: version.to_owned(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        mode: mode.to_owned(),
        how: How::Recorded,
    }
}

/// How the shape of what was taken differs from that of the recordings that are compiled in, of the newest version or of
/// this one.
pub fn drift(harness: Harness, version: Option<&str>, taken: &[Taken]) -> Drift {
    let version = version.or_else(|| crate::recording::newest(harness)).unwrap_or_default();
    let known = crate::recording::all().iter().filter(|recording| {
        recording.harness == harness && recording.version == version && !recording.is_foreign()
    });
    let known: Vec<(&str, &Value)> =
        known.map(|recording| (recording.event.as_str(), recording.payload())).collect();
    let new: Vec<(&str, &Value)> = taken.iter().map(|taken| (taken.event.as_str(), &taken.payload)).collect();
    shape::compare(version, &known, &new)
}

#[cfg(test)]
mod tests;
