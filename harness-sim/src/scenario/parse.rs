//! A scenario's file: which keys there are, and what they mean.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};
use toml_edit::Document;

use super::expect::Expect;
use super::read::{Field, Fields, Reader, ScenarioError};
use super::{Action, File, Fire, Folder, Scenario, Step};
use crate::harness::{Harness, json_of};
use crate::launch::{Feed, Reader as OutputReader};
use crate::placeholder;
use crate::recording::{self, Recording};
use crate::simulator::Options;

/// How many refusals of a stop are played, unless a step says otherwise: more than any cap that is known.
const MOST_REFUSALS: u32 = 20;
/// The session of a step that names none.
const SESSION: &str = "first";

const FEEDS: &[(&str, Feed)] =
    &[("whole", Feed::Whole), ("no end", Feed::NoEnd), ("closed at once", Feed::ClosedAtOnce)];
const READERS: &[(&str, OutputReader)] = &[("prompt", OutputReader::Prompt), ("slow", OutputReader::Slow)];

pub(super) fn parse(text: &str, file: &str) -> Result<Scenario, ScenarioError> {
    let reader = Reader::new(file, text);
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            reader.problem(error.span(), error.message().to_owned());
            reader.finish()?;
            return Err(ScenarioError::Problems(Vec::new()));
        }
    };
    let scenario = Fields::of(&reader, document.as_item(), "").and_then(|fields| scenario(&fields, file));
    reader.finish()?;
    // Without a problem there is a scenario; this is for a reader who has to believe it.
    scenario.ok_or_else(|| ScenarioError::Problems(Vec::new()))
}

fn scenario(fields: &Fields<'_>, file: &str) -> Option<Scenario> {
    let of = harness(fields);
    let trusted = fields.flag("trusted");
    let steps = fields.tables("steps").unwrap_or_default();
    let steps: Vec<Option<Step>> = steps.iter().map(|fields| step(fields, of)).collect();
    if steps.is_empty() {
        fields.reader.problem(None, "there is no step: give at least one `[[steps]]` with an `event`");
    }
    let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = fields.get("name").and_then(|field| {
        let name = field.text()?;
        if name.trim().is_empty() {
            field.problem("name is empty; leave it out for the file's own");
        }
        Some(name)
    });
    let needs = needs(fields);
    let notes = unknown_placeholders(fields, &needs);
    let scenario = Scenario {
        name: name.unwrap_or(stem),
        about: fields.text("about"),
        file: file.to_owned(),
        harness: of.map_or(Harness::Claude, |(harness, _)| harness),
        version: of.map_or("", |(_, version)| version),
        needs,
        defined: BTreeMap::new(),
        project: folder(fields, "project", file),
        home: folder(fields, "home", file),
        setup: fields.texts("setup").unwrap_or_default(),
        env: environment(fields),
        command: fields.text("command"),
        trusted,
        time_scale: fields.get("time_scale").and_then(|field| field.number()),
        survivors: fields.texts("survivors").unwrap_or_default(),
        patience: fields.get("patience").and_then(|field| field.patience()),
        shares_process: fields.flag("shared_process").unwrap_or(false),
        steps: steps.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default(),
        notes,
    };
    fields.done();
    of.map(|_| scenario)
}

fn harness(fields: &Fields<'_>) -> Option<(Harness, &'static str)> {
    let Some(field) = fields.get("harness") else {
        fields
            .reader
            .problem(None, "there is no `harness`: which one is played? For example harness = \"claude\"");
        fields.get("version");
        return None;
    };
    let harness: Option<Harness> =
        field.text().and_then(|name| name.parse().map_err(|error| field.problem(format!("{error}"))).ok());
    let version = fields.get("version");
    let harness = harness?;
    let known = recording::versions(harness);
    let Some(field) = version else { return known.last().map(|newest| (harness, *newest)) };
    let text = field.text()?;
    let found = known.iter().find(|version| **version == text);
    if found.is_none() {
        field.problem(format!(
            "{} {text} has no recordings; there are: {}",
            harness.name(),
            known.join(", ")
        ));
    }
    found.map(|version| (harness, *version))
}

fn needs(fields: &Fields<'_>) -> Vec<String> {
    let Some(field) = fields.get("needs") else { return Vec::new() };
    let names = field.texts().unwrap_or_default();
    for name in &names {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        if !plain || ["project", "home", "harness", "event"].contains(&name.as_str()) {
            field.problem(format!(
                "{name:?} cannot be a name here: letters, digits, _ and -, and none of project, home, harness, event"
            ));
        }
    }
    names
}

/// Names in braces that stand for nothing, where nobody sees it when it is played: in the set-up and in variables.
fn unknown_placeholders(fields: &Fields<'_>, needs: &[String]) -> Vec<String> {
    let mut known = vec!["project", "home"];
    known.extend(needs.iter().map(String::as_str));
    let texts = |field: Field<'_>| {
        field
            .item
            .as_str()
            .map(str::to_owned)
            .into_iter()
            .chain(
                field
                    .item
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|value| Some(value.as_str()?.to_owned())),
            )
            .collect::<Vec<_>>()
    };
    let mut notes = Vec::new();
    let mut note = |field: Field<'_>| {
        let line = fields.reader.position(field.span.clone().map_or(0, |span| span.start)).0;
        let place = field.name.clone();
        for text in texts(field) {
            notes.extend(placeholder::unknown(&text, &known).iter().map(|name| format!(
                "line {line}: {{{name}}} in `{place}` stands for nothing and is passed as it is; there are {}",
                known.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ")
            )));
        }
    };
    fields.get("setup").into_iter().for_each(&mut note);
    let env = fields.get("env").and_then(|field| Fields::of(field.reader, field.item, &field.name));
    env.iter().flat_map(Fields::pairs).for_each(|(_, field)| note(field));
    notes
}

fn environment(fields: &Fields<'_>) -> Vec<(String, String)> {
    let Some(table) = fields.table("env") else { return Vec::new() };
    table.pairs().into_iter().filter_map(|(name, field)| Some((name, field.text()?))).collect()
}

/// A path, or a table with `files`.
fn folder(fields: &Fields<'_>, key: &'static str, file: &str) -> Folder {
    let Some(field) = fields.get(key) else { return Folder::Given };
    if let Some(path) = field.item.as_str() {
        let beside = Path::new(file).parent().unwrap_or(Path::new(""));
        let path = beside.join(path);
        if !path.is_dir() {
            field.problem(format!("{key}: {} is not a folder", path.display()));
        }
        return Folder::At(path);
    }
    let Some(table) = Fields::of(field.reader, field.item, &field.name) else {
        field.wrong("a folder's path, or a table with `files`");
        return Folder::Given;
    };
    let files = table.table("files").map(|files| files.pairs()).unwrap_or_default();
    let files = files.iter().filter_map(|(path, field)| file_of(path, field)).collect();
    table.done();
    Folder::Made(files)
}

/// A text, or a table of `text` and `mode`.
fn file_of(path: &str, field: &Field<'_>) -> Option<File> {
    let inside = Path::new(path)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
    if !inside || path.is_empty() {
        field.problem(format!("{path:?} is no path within the folder"));
        return None;
    }
    if let Some(text) = field.item.as_str() {
        return Some(File { path: path.to_owned(), text: text.to_owned(), mode: None });
    }
    let Some(table) = Fields::of(field.reader, field.item, &field.name) else {
        field.wrong("a text, or a table of `text` and `mode`");
        return None;
    };
    let text = table.text("text");
    if !table.has("text") {
        field.problem(format!("{} has no `text`", field.name));
    }
    let mode = table.get("mode").and_then(|field| {
        let mode = field.text().and_then(|text| u32::from_str_radix(&text, 8).ok());
        let mode = mode.filter(|mode| *mode <= 0o7777);
        if mode.is_none() {
            field.problem(format!("{} is no mode, as \"755\"", field.name));
        }
        mode
    });
    table.done();
    Some(File { path: path.to_owned(), text: text?, mode })
}

fn step(fields: &Fields<'_>, of: Option<(Harness, &'static str)>) -> Option<Step> {
    let line = fields.reader.position(fields.span.clone().map_or(0, |span| span.start)).0;
    let session = fields.text("session").unwrap_or_else(|| SESSION.to_owned());
    if fields.flag("quit") == Some(true) {
        if let Some(event) = fields.get("event") {
            event.problem("the step has both `quit` and `event`: it is the one or the other; the quit gets a step of its own");
            return None;
        }
        fields.done();
        return Some(Step { line, session, action: Action::Quit });
    }
    let recording = event(fields, of);
    let set = fields.get("set").and_then(|field| fields_of_payload(&field)).unwrap_or_default();
    let unset = fields.texts("unset").unwrap_or_default();
    let (options, stdin) = options(fields, unset, of);
    let max = fields.get("max").and_then(|field| {
        let most = field.count().and_then(|most| u32::try_from(most).ok());
        if most == Some(0) {
            field.problem("max is 0: at least one refusal has to be played");
        }
        most
    });
    let command = fields.text("command");
    let expect = fields.table("expect").map(|fields| Expect::of(&fields));
    let fire = recording.map(|recording| Fire {
        recording,
        command,
        set,
        options,
        stdin,
        most_refusals: max.unwrap_or(MOST_REFUSALS).max(1),
        expect,
    });
    fields.done();
    Some(Step { line, session, action: Action::Fire(Box::new(fire?)) })
}

/// A recording's name, in one or in two parts.
fn event(fields: &Fields<'_>, of: Option<(Harness, &'static str)>) -> Option<&'static Recording> {
    let (event, variant) = (fields.get("event"), fields.get("variant"));
    let Some(event) = event else {
        fields.reader.problem(
            fields.span.clone(),
            "the step has no `event`: a recording's name, as `harness-sim list` shows it (or `quit = true`)",
        );
        return None;
    };
    let name = match variant {
        Some(variant) => format!("{}-{}", event.text()?, variant.text()?),
        None => event.text()?,
    };
    let (harness, version) = of?;
    recording::find(harness, version, &name).map_err(|unknown| event.problem(unknown.to_string())).ok()
}

fn fields_of_payload(field: &Field<'_>) -> Option<Map<String, Value>> {
    let Value::Object(map) = json_of(field.item) else {
        field.wrong("a table of the payload's fields");
        return None;
    };
    Some(map)
}

fn options(
    fields: &Fields<'_>,
    unset: Vec<String>,
    of: Option<(Harness, &'static str)>,
) -> (Options, Option<String>) {
    let mut options = Options { unset, ..Options::default() };
    let Some(table) = fields.table("options") else { return (options, None) };
    options.timeout = table.duration("timeout");
    if let Some((harness, _)) = of.filter(|(harness, _)| harness.hosted().is_some()) {
        for field in ["stdin", "feed", "reader"].into_iter().filter_map(|key| table.get(key)) {
            let name = harness.name();
            field.problem(format!("{}: {name} starts no commands, so nothing is fed or read", field.name));
        }
    }
    options.feed = table.get("feed").and_then(|field| field.word(FEEDS)).unwrap_or_default();
    options.reader = table
        .get("reader")
        .and_then(|field| {
            let Some(table) = Fields::of(field.reader, field.item, &field.name) else {
                return field.word(READERS);
            };
            let bytes = table.count("closes_after");
            table.done();
            bytes.map(OutputReader::ClosesAfter)
        })
        .unwrap_or_default();
    let stdin = table.text("stdin");
    table.done();
    (options, stdin)
}
