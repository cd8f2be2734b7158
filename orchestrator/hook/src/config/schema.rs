//! The keys of `config.toml`. A new key is one line here and a field in `mod.rs`.

use std::path::PathBuf;

use toml_edit::Value;

use super::problem::printable;
use super::reader::{Parsed, Table, Wrong, suggestion};
use crate::text::operational;

use super::{BuiltIn, BuiltInCheck, Check, Config, Digest, External, Network, On, Program, Seconds, Stage};

/// The most `[[digest.stage]]` tables, and ids in `digest.stages`.
const MOST_STAGES: usize = 64;
/// The most `[[network.check]]` tables.
const MOST_CHECKS: usize = 32;
/// The most characters of the name of a stage or a check.
const LONGEST_NAME: usize = 64;

/// Reads the whole document.
pub(super) fn config(top: &mut Table<'_, '_>) -> Config {
    let mut config = Config::default();
    top.table("digest", |table| digest(table, &mut config.digest));
    top.table("network", |table| network(table, &mut config.network));
    top.table("scope", |table| {
        let scope = &mut config.scope;
        set(
            &mut scope.gate_variables,
            table.value("gate_variables", |value| each(value, "variable names", variable)),
        );
        set(
            &mut scope.gate_common_dirs,
            table.value("gate_common_dirs", |value| each(value, "patterns", text)),
        );
        set(&mut scope.require, table.value("require", |value| each(value, "paths", path)));
    });
    top.table("operational", |table| {
        set(&mut config.operational.label, table.value("label", label));
        config.operational.rerun = table.value("rerun", rerun);
    });
    config
}

fn digest(table: &mut Table<'_, '_>, digest: &mut Digest) {
    set(&mut digest.deadline, table.value("deadline", seconds));
    set(&mut digest.drop, table.value("drop", |value| each(value, "built-in stages", built_in)));
    let command = table.value("command", argv);
    // One letter more, and another key.
    let is_mistyped = table.has_tables("stages");
    let ids = if is_mistyped {
        table.pass_over("stages");
        table.refuse("stages", "expected stage ids, found tables; did you mean [[digest.stage]]?".to_owned());
        None
    } else {
        table.value("stages", |value| each(value, "stage ids", name))
    };
    let mut names = Vec::new();
    digest.stages = table.tables("stage", "name", MOST_STAGES, |table| stage(table, &mut names));

    if !is_mistyped && table.has("stages") && !table.has("command") {
        table.refuse("stages", "only beside digest.command, which is missing".to_owned());
    }
    if table.has("stage") && table.has("command") {
        let message = "either one external digest or [[digest.stage]], not both".to_owned();
        table.refuse("command", message);
    }
    if let Some(ids) = &ids {
        if ids.len() > MOST_STAGES {
            table.refuse("stages", format!("expected at most {MOST_STAGES} of them, found {}", ids.len()));
        }
        if let Some(twice) = first_repeated(ids) {
            table.refuse("stages", format!("\"{twice}\" is there twice"));
        }
    }
    digest.external = command.map(|command| External { command, stages: ids.unwrap_or_default() });
}

fn stage(table: &mut Table<'_, '_>, names: &mut Vec<String>) -> Option<Stage> {
    let name = table.required("name", name);
    let program = table.required("command", program);
    let deadline = table.value("deadline", seconds).unwrap_or(Stage::DEADLINE);
    let on = table.value("on", on).unwrap_or_default();
    if let Some(name) = &name {
        if BuiltIn::from_id(name).is_some() {
            table.refuse("name", format!("\"{name}\" is a built-in stage; expected a name of its own"));
        }
        if names.contains(name) {
            table.refuse("name", format!("another stage is named \"{name}\""));
        }
        names.push(name.clone());
    }
    Some(Stage { name: name?, program: program?, deadline, on })
}

fn network(table: &mut Table<'_, '_>, network: &mut Network) {
    set(&mut network.deadline, table.value("deadline", seconds));
    let chosen = table.value("built_in", |value| each(value, "built-in checks", built_in_check));
    if let Some(twice) = chosen.as_deref().and_then(first_repeated) {
        table.refuse("built_in", format!("\"{twice}\" is there twice"));
    }
    set(&mut network.built_in, chosen);
    let mut names = Vec::new();
    network.checks = table.tables("check", "name", MOST_CHECKS, |table| check(table, &mut names));
}

fn check(table: &mut Table<'_, '_>, names: &mut Vec<String>) -> Option<Check> {
    let name = table.required("name", name);
    let program = table.required("command", program);
    let sweep = table.value("sweep", truth).unwrap_or_default();
    let min_interval = table.value("min_interval", seconds).unwrap_or(Check::MIN_INTERVAL);
    if let Some(name) = &name {
        if BuiltInCheck::from_id(name).is_some() {
            table.refuse("name", format!("\"{name}\" is a built-in check; expected a name of its own"));
        }
        if names.contains(name) {
            table.refuse("name", format!("another check is named \"{name}\""));
        }
        names.push(name.clone());
    }
    Some(Check { name: name?, program: program?, sweep, min_interval })
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn first_repeated<T: PartialEq>(ids: &[T]) -> Option<&T> {
    ids.iter().enumerate().find(|(at, id)| ids[..*at].contains(id)).map(|(_, id)| id)
}

fn seconds(value: &Value) -> Parsed<Seconds> {
    let seconds = value.as_integer().and_then(|number| u32::try_from(number).ok()).and_then(Seconds::new);
    seconds.ok_or_else(|| vec![Wrong::value(value, "whole seconds from 1 to 86400")])
}

fn truth(value: &Value) -> Parsed<bool> {
    value.as_bool().ok_or_else(|| vec![Wrong::value(value, "true or false")])
}

fn on(value: &Value) -> Parsed<On> {
    match value.as_str() {
        Some("full") => Ok(On::Full),
        Some("reemit") => Ok(On::Reemit),
        Some("both") => Ok(On::Both),
        _ => Err(vec![Wrong::value(value, "\"full\", \"reemit\" or \"both\"")]),
    }
}

fn built_in(value: &Value) -> Parsed<BuiltIn> {
    one_of(value, "built-in stage", &BuiltIn::ALL.map(BuiltIn::id), BuiltIn::from_id)
}

fn built_in_check(value: &Value) -> Parsed<BuiltInCheck> {
    one_of(value, "built-in check", &BuiltInCheck::ALL.map(BuiltInCheck::id), BuiltInCheck::from_id)
}

/// One of the things that dogwatch brings along, by its id.
fn one_of<T>(
    value: &Value,
    what: &str,
    known: &[&str],
    from_id: impl FnOnce(&str) -> Option<T>,
) -> Parsed<T> {
    let Some(id) = value.as_str() else { return Err(vec![Wrong::value(value, &format!("a {what}"))]) };
    from_id(id).ok_or_else(|| {
        let message = format!("\"{}\" is no {what}; {}", printable(id, 40), suggestion(id, known));
        vec![Wrong { index: None, span: value.span(), message }]
    })
}

/// Text that is not empty and of one line.
fn text(value: &Value) -> Parsed<String> {
    let fits = |text: &&str| !text.is_empty() && !text.contains(char::is_control);
    let text = value.as_str().filter(fits);
    text.map(str::to_owned).ok_or_else(|| vec![Wrong::value(value, "text of one line")])
}

fn path(value: &Value) -> Parsed<PathBuf> {
    text(value).map(PathBuf::from)
}

fn variable(value: &Value) -> Parsed<String> {
    let fits = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let name = value.as_str().filter(fits);
    name.map(str::to_owned).ok_or_else(|| vec![Wrong::value(value, "the name of a variable")])
}

fn label(value: &Value) -> Parsed<String> {
    let label = value.as_str().filter(|label| operational::is_label(label));
    let expected = "at most 64 ASCII capitals, digits and \"_\", beginning with a letter";
    label.map(str::to_owned).ok_or_else(|| vec![Wrong::value(value, expected)])
}

/// A command of one line that can stand between backticks.
fn rerun(value: &Value) -> Parsed<String> {
    let fits = |line: &&str| {
        (1..=200).contains(&line.chars().count())
            && !line.contains(|c: char| c == '`' || crate::text::is_forbidden(c))
    };
    let line = value.as_str().filter(fits).filter(|line| !line.contains(['\n', '\t']));
    line.map(str::to_owned)
        .ok_or_else(|| vec![Wrong::value(value, "a command of one line without backticks")])
}

fn name(value: &Value) -> Parsed<String> {
    let is_name = |name: &&str| {
        (1..=LONGEST_NAME).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    value.as_str().filter(is_name).map(str::to_owned).ok_or_else(|| {
        vec![Wrong::value(value, "a name of at most 64 ASCII letters, digits, \".\", \"_\", \"-\"")]
    })
}

/// A program and its arguments, or one line for the shell.
fn program(value: &Value) -> Parsed<Program> {
    match value {
        Value::String(line) => {
            let line = line.value();
            if line.trim().is_empty() || line.contains('\0') {
                return Err(vec![Wrong::value(value, "a command")]);
            }
            Ok(Program::Shell(line.clone()))
        }
        Value::Array(_) => argv(value).map(Program::Argv),
        _ => {
            Err(vec![Wrong::value(value, "an array of a program and its arguments, or one line for /bin/sh")])
        }
    }
}

fn argv(value: &Value) -> Parsed<Vec<String>> {
    let argv = each(value, "a program and its arguments", |argument| match argument.as_str() {
        Some(text) if !text.contains('\0') => Ok(text.to_owned()),
        Some(_) => Err(vec![Wrong::value(argument, "text without a NUL character")]),
        None => Err(vec![Wrong::value(argument, "text")]),
    })?;
    match argv.first() {
        Some(program) if !program.trim().is_empty() => Ok(argv),
        Some(_) => Err(vec![Wrong::value(value, "a program in first place")]),
        None => Err(vec![Wrong::value(value, "a program and its arguments")]),
    }
}

/// An array whose every element fits.
fn each<T>(value: &Value, of: &str, parse: impl Fn(&Value) -> Parsed<T>) -> Parsed<Vec<T>> {
    let Some(array) = value.as_array() else {
        return Err(vec![Wrong::value(value, &format!("an array of {of}"))]);
    };
    let mut values = Vec::new();
    let mut wrong = Vec::new();
    for (index, element) in array.iter().enumerate() {
        match parse(element) {
            Ok(element) => values.push(element),
            Err(in_element) => {
                wrong.extend(in_element.into_iter().map(|wrong| Wrong { index: Some(index), ..wrong }));
            }
        }
    }
    if wrong.is_empty() { Ok(values) } else { Err(wrong) }
}
