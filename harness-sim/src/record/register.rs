//! Where the recorder stands: the person's own file of each harness, in a copy of the home.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::harness::Harness;
use crate::recording;

/// Events of Claude Code beside those that there are recordings of; from its own list (2.1.332).
const MORE_OF_CLAUDE: &[&str] = &[
    "ConfigChange",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "PermissionDenied",
    "PostModelSwitch",
    "PreModelSwitch",
    "Setup",
    "StopFailure",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "WorktreeRemove",
];

/// What runs inside Pi and OpenCode.
const PI: &str = include_str!("../../hosts/pi-recorder.js");
const OPENCODE: &str = include_str!("../../hosts/opencode-recorder.js");

pub(super) fn register(harness: Harness, home: &Path, raw: &Path, program: &Path) -> io::Result<()> {
    let command = |event: &str| {
        let words = [program.display().to_string(), raw.display().to_string()].map(|word| quoted(&word));
        format!("{} record-take {event} {}", words[0], words[1])
    };
    let entry =
        |event: &str| json!({ "hooks": [{ "type": "command", "command": command(event), "timeout": 30 }] });
    match harness {
        Harness::Claude => {
            hooks(&home.join(".claude/settings.json"), &events(harness, MORE_OF_CLAUDE), entry)
        }
        Harness::Codex => hooks(&home.join(".codex/hooks.json"), &events(harness, &[]), entry),
        Harness::Grok => {
            hooks(&home.join(".grok/hooks/harness-sim-record.json"), &events(harness, &[]), entry)
        }
        Harness::Cursor => {
            let file = home.join(".cursor/hooks.json");
            let mut settings = read(&file)?;
            settings.entry("version").or_insert(json!(1));
            // An empty answer blocks a tool there.
            let entry =
                |event: &str| json!({ "command": format!("{} --cursor", command(event)), "timeout": 30 });
            add(&mut settings, &events(harness, &[]), entry, &file)?;
            write(&file, &settings)
        }
        Harness::Pi => module(&home.join(".pi/agent/extensions/harness-sim-record.js"), PI, raw),
        Harness::OpenCode => {
            module(&home.join(".config/opencode/plugins/harness-sim-record.js"), OPENCODE, raw)
        }
    }
}

/// The events that there are recordings of, and more.
fn events(harness: Harness, more: &[&'static str]) -> BTreeSet<&'static str> {
    let recorded = recording::all()
        .iter()
        .filter(|recording| recording.harness == harness && !recording.is_foreign())
        .map(|recording| recording.event.as_str());
    recorded.chain(more.iter().copied()).collect()
}

fn hooks(file: &Path, events: &BTreeSet<&str>, entry: impl Fn(&str) -> Value) -> io::Result<()> {
    let mut settings = read(file)?;
    add(&mut settings, events, entry, file)?;
    write(file, &settings)
}

fn add(
    settings: &mut Map<String, Value>,
    events: &BTreeSet<&str>,
    entry: impl Fn(&str) -> Value,
    file: &Path,
) -> io::Result<()> {
    let wrong = |what: &str| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{}: {what} has another form than hooks have", file.display()),
        )
    };
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or_else(|| wrong("\"hooks\""))?;
    for event in events {
        let list = hooks.entry(*event).or_insert_with(|| json!([]));
        list.as_array_mut().ok_or_else(|| wrong(event))?.push(entry(event));
    }
    Ok(())
}

fn read(file: &Path) -> io::Result<Map<String, Value>> {
    match fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", file.display()))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Map::new()),
        Err(error) => Err(error),
    }
}

fn write(file: &Path, settings: &Map<String, Value>) -> io::Result<()> {
    put(file, &serde_json::to_vec_pretty(settings).map_err(io::Error::other)?)
}

/// The recorder as a module, which is told where to put things.
fn module(file: &Path, text: &str, raw: &Path) -> io::Result<()> {
    let raw = serde_json::to_string(&raw.display().to_string()).map_err(io::Error::other)?;
    put(file, text.replace("\"<RAW>\"", &raw).as_bytes())
}

fn put(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, bytes)
}

/// One word for a POSIX shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
