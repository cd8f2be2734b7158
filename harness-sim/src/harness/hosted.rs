//! What is common to the harnesses whose hooks are JavaScript in their own process: which files they load, what an event
//! is in the language of their Node host, what came of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Discovery, Harness, Place, Rule};
use crate::recording::Recording;
use crate::report::Effect;

/// The files that a harness would load, in its order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Modules {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) warnings: Vec<String>,
    pub(crate) looked_at: Vec<PathBuf>,
}

impl Modules {
    /// As people are told who expected a hook.
    pub(crate) fn discovery(self) -> Discovery {
        Discovery { warnings: self.warnings, looked_at: self.looked_at, ..Discovery::default() }
    }

    /// Direct files of a folder with one of these endings, by name.
    pub(crate) fn files_of(&mut self, folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
        self.looked_at.push(folder.to_owned());
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in &paths {
            let ending = path.extension().and_then(|ending| ending.to_str());
            if ending.is_some_and(|ending| ["mjs", "cjs", "mts"].contains(&ending)) && path.is_file() {
                self.warnings.push(format!(
                    "{}: not loaded, only {} are",
                    path.display(),
                    endings.join(" and ")
                ));
            }
        }
        paths.retain(|path| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            path.is_file() && ending.is_some_and(|ending| endings.contains(&ending))
        });
        paths
    }

    pub(crate) fn add(&mut self, path: PathBuf) {
        if !self.files.contains(&path) {
            self.files.push(path);
        }
    }
}

/// What an event is to the host.
#[derive(Debug, Clone)]
pub(crate) struct Play {
    /// What has to have been before it, where it has not.
    pub(crate) before: Vec<Value>,
    /// The event itself.
    pub(crate) order: Value,
    /// Whether the harness ends over it.
    pub(crate) ends: bool,
}

/// What has been in this session.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Begun {
    /// Whether the harness has started.
    pub(crate) process: bool,
    /// Whether there is a session in it.
    pub(crate) session: bool,
}

/// An event that is about to be played.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) recording: &'a Recording,
    /// The recording's payload in this run.
    pub(crate) payload: &'a Value,
    pub(crate) files: &'a [PathBuf],
    pub(crate) project: &'a Path,
    pub(crate) session: &'a str,
    pub(crate) begun: Begun,
}

/// A harness's account of the JavaScript in its process.
pub(crate) trait Hosted: Sync {
    /// Every rule, for people.
    fn rules(&self) -> &'static [Rule];

    /// The files that it loads. `variable` looks a variable of this run up.
    fn modules(&self, place: Place<'_>, variable: &dyn Fn(&str) -> Option<OsString>) -> Modules;

    /// The host: its files, by where they stand, the script first.
    fn program(&self, version: &str) -> Vec<(String, String)>;

    /// What its command line has behind the script.
    fn arguments(&self, scene: Scene<'_>) -> Vec<String>;

    /// What the event is to the host; `Err`: it is none that the host plays.
    fn play(&self, scene: Scene<'_>) -> Result<Play, String>;

    /// What came of it.
    fn read(&self, scene: Scene<'_>, lines: &[Value]) -> Vec<Effect>;
}

/// What stands beside both hosts.
pub(super) const SHARED: &str = include_str!("../../hosts/shared.mjs");

/// What both tell alike: what went wrong, what the person sees, what nobody reads.
pub(super) fn common(harness: Harness, line: &Value) -> Option<Effect> {
    failures(line).or_else(|| shown(line)).or_else(|| unread(harness, line))
}

/// What the person sees of it.
fn shown(line: &Value) -> Option<Effect> {
    if let Some(notify) = line.get("notify") {
        let text = notify["text"].as_str().unwrap_or_default();
        return Some(if notify["shown"] == true {
            Effect::message(text)
        } else {
            Effect::ignored(format!("a notification, which is not shown in this mode: {text}"), text.len())
        });
    }
    let printed = line.get("console")?;
    let text = printed["text"].as_str().unwrap_or_default().trim_end();
    (!text.is_empty()).then(|| Effect::message(text))
}

/// A name or a result that the harness does not read.
fn unread(harness: Harness, line: &Value) -> Option<Effect> {
    let odd = line.get("odd").filter(|odd| odd.get("is").is_none())?;
    let place = odd["where"].as_str().unwrap_or_default();
    let known: Vec<&str> = odd["known"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(name) = odd["name"].as_str() else {
        let why = if known.is_empty() {
            format!("{place}: what a hook returns is not read; it changes its second argument")
        } else {
            format!(
                "{place}: the result is {}, not an object with {}",
                word(&odd["result"]),
                known.join(", ")
            )
        };
        return Some(Effect::ignored(why, 0));
    };
    let what = match place {
        "on" => format!("on({name:?}): {} has no such event", harness.name()),
        "plugin" => format!("{name:?}: {} has no such hook", harness.name()),
        _ => {
            let whole = odd["of"].as_str().unwrap_or("a result");
            format!("{place}: {} does not read {name:?} of {whole}", harness.name())
        }
    };
    let advice = match nearest(name, &known) {
        Some(near) => format!("did you mean {near}?"),
        None if known.len() > 8 => "the event is never given to it".to_owned(),
        None => format!("it reads {}", known.join(", ")),
    };
    Some(Effect::ignored(format!("{what}; {advice}"), 0))
}

/// Fields whose type is another than the harness's own; what it makes of them is its own affair.
pub(crate) fn doubts(harness: Harness, lines: &[Value]) -> Vec<String> {
    let mut doubts = Vec::new();
    for odd in lines.iter().filter_map(|line| line.get("odd")).filter(|odd| odd.get("is").is_some()) {
        let wants: Vec<&str> =
            odd["wants"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let doubt = format!(
            "{}: {:?} is {}, and {} documents {}",
            word(&odd["where"]),
            word(&odd["name"]),
            word(&odd["is"]),
            harness.name(),
            wants.join(" or ")
        );
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    doubts
}

/// What could not be loaded here, and might be by the harness.
pub(crate) fn not_here(lines: &[Value]) -> Option<String> {
    let one = lines.iter().find_map(|line| line.get("not_run"))?;
    Some(format!("{}: {}", word(&one["path"]), word(&one["why"])))
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|known| (strsim::normalized_damerau_levenshtein(known, name), *known))
        .filter(|(likeness, _)| *likeness > 0.6)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known)
}

/// What goes wrong alike in both.
fn failures(line: &Value) -> Option<Effect> {
    use crate::report::Kind::Failed;
    if let Some(error) = line.get("error") {
        let at = error["event"].as_str().or_else(|| error["hook"].as_str()).unwrap_or_default();
        let what = error["message"].as_str().unwrap_or_default();
        return Some(Effect::because(Failed, format!("{at}: a handler threw: {what}")));
    }
    if let Some(crash) = line.get("crash").and_then(Value::as_str) {
        let first = crash.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        return Some(Effect::because(Failed, format!("the harness's process would have ended: {first}")));
    }
    line.get("abandoned").map(|what| {
        let why = format!(
            "nothing held the process while it waited for its handlers: it ended in the middle of {what}"
        );
        Effect::because(Failed, why)
    })
}

/// Text of a message's content: a text, or parts of which some are text.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
