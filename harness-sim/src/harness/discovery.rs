//! What a project and a home have registered: the form that Claude Code began and others took over, and Cursor's flat
//! one.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::matcher::Unreadable;
use super::{Harness, matcher};

/// A timeout of so many seconds or more was surely meant in milliseconds.
const SURELY_MILLISECONDS: f64 = 1000.0;

/// Whose file a registration stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    User,
    Project,
}

/// One registered hook.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    /// The event, as the harness calls it.
    pub(crate) event: String,
    pub(crate) matcher: Option<String>,
    pub(crate) command: String,
    /// Arguments: then no shell is between.
    pub(crate) args: Option<Vec<String>>,
    /// Variables that the entry itself sets.
    pub(crate) environment: Vec<(String, String)>,
    /// As it stands in the file, in the harness's unit.
    pub(crate) timeout: Option<f64>,
    pub(crate) fail_closed: bool,
    pub(crate) context_limit: Option<u64>,
    pub(crate) file: PathBuf,
    pub(crate) scope: Scope,
    /// Set where it stands in another harness's file.
    pub(crate) from: Option<Harness>,
    /// Where in the file, as `hooks.Stop[0].hooks[1]`.
    pub(crate) place: String,
}

/// A file that the harness cannot use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rejected {
    /// Whose it is.
    pub(crate) scope: Scope,
    /// What is wrong with it, and what the harness does then.
    pub(crate) warning: String,
}

/// What was found, and what a person should know about it.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    pub(crate) registrations: Vec<Registration>,
    pub(crate) warnings: Vec<String>,
    /// The files that the harness cannot use, of which the warnings tell.
    pub(crate) rejected: Vec<Rejected>,
    /// The files that were looked at, whether they exist or not.
    pub(crate) looked_at: Vec<PathBuf>,
}

/// What a mistake in a file costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// The entry that has it. A byte-order mark and an empty file are none.
    Entry,
    /// The whole file, where it is no JSON or an event or a timeout has the wrong shape; else the entry.
    FileByShape,
    /// The whole file, whatever it is.
    File,
}

/// A file of registrations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a Path,
    pub(crate) scope: Scope,
    pub(crate) from: Option<Harness>,
    pub(crate) costs: Mistake,
    /// What the harness does with a file that it cannot use.
    pub(crate) if_broken: &'static str,
}

/// What is wrong with an entry, and whether its file goes with it.
struct Fault {
    why: String,
    file: bool,
}

impl Discovery {
    /// Reads a file as JSON; notes why it cannot be used. `None` also where there is no file.
    pub(crate) fn json(&mut self, source: Source<'_>) -> Option<Value> {
        let text = self.text(source)?;
        let text = match source.costs {
            Mistake::Entry if text.trim_start_matches('\u{feff}').trim().is_empty() => return None,
            Mistake::Entry => text.trim_start_matches('\u{feff}'),
            Mistake::FileByShape | Mistake::File => &text,
        };
        match serde_json::from_str(text) {
            Ok(value) => Some(value),
            Err(error) => {
                let mark =
                    if text.starts_with('\u{feff}') { " (it begins with a byte-order mark)" } else { "" };
                self.broken(source, &format!("{error}{mark}"));
                None
            }
        }
    }

    /// Reads a file; notes why it cannot be read.
    pub(crate) fn text(&mut self, source: Source<'_>) -> Option<String> {
        self.looked_at.push(source.file.to_owned());
        match std::fs::read_to_string(source.file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                self.broken(source, &error.to_string());
                None
            }
        }
    }

    /// Notes what is wrong with a file, and what the harness does then.
    pub(crate) fn broken(&mut self, source: Source<'_>, why: &str) {
        let warning = format!("{}: {why}; {}", source.file.display(), source.if_broken);
        self.warnings.push(warning.clone());
        self.rejected.push(Rejected { scope: source.scope, warning });
    }

    /// Notes something about a file that is used all the same.
    pub(crate) fn note(&mut self, source: Source<'_>, what: &str) {
        self.warnings.push(format!("{}: {what}", source.file.display()));
    }

    /// Reads `{ Event: [ { matcher, hooks: [ { type, command, … } ] } ] }`. The event's name goes through
    /// `event_name`; `None` drops it.
    pub(crate) fn nested(
        &mut self,
        source: Source<'_>,
        hooks: &Value,
        event_name: &dyn Fn(&str) -> Option<String>,
    ) {
        let Some(events) = hooks.as_object() else {
            self.broken(source, "`hooks` is not an object");
            return;
        };
        let before = self.registrations.len();
        for (event, groups) in events {
            let Some(name) = event_name(event) else {
                self.note(source, &format!("hooks.{event} is no event of this harness; it is not read"));
                continue;
            };
            let Some(groups) = groups.as_array() else {
                let why = format!("hooks.{event} is not a list");
                if self.takes_the_file(source, &Fault { why, file: source.costs != Mistake::Entry }, before) {
                    return;
                }
                continue;
            };
            for (at, group) in groups.iter().enumerate() {
                let matcher = group.get("matcher").and_then(Value::as_str);
                let handlers = group.get("hooks").and_then(Value::as_array);
                let Some(handlers) = handlers else {
                    self.note(source, &format!("hooks.{event}[{at}] has no list `hooks`; it is not read"));
                    continue;
                };
                for (inner, handler) in handlers.iter().enumerate() {
                    let place = format!("hooks.{event}[{at}].hooks[{inner}]");
                    if let Err(fault) = self.handler(source, &name, matcher, handler, &place)
                        && self.takes_the_file(source, &fault, before)
                    {
                        return;
                    }
                }
            }
        }
    }

    /// Notes a fault; if it costs the file, takes back what was read from it.
    fn takes_the_file(&mut self, source: Source<'_>, fault: &Fault, before: usize) -> bool {
        if fault.file {
            self.registrations.truncate(before);
            self.broken(source, &fault.why);
        } else {
            self.note(source, &format!("{}; it is skipped", fault.why));
        }
        fault.file
    }

    /// Drops the registrations, from this one on, whose matcher is no regular expression. `then` says what the harness
    /// does. Events that have no matchers are passed over.
    pub(crate) fn drop_invalid_matchers(&mut self, from: usize, without: &[&str], then: &str) {
        let mut at = 0;
        let warnings = &mut self.warnings;
        self.registrations.retain(|registration| {
            at += 1;
            let Some(text) = registration.matcher.as_deref().filter(|_| at > from) else { return true };
            if matcher::takes_all(text) || without.contains(&registration.event.as_str()) {
                return true;
            }
            let Some(Unreadable::Invalid(why) | Unreadable::NotPlayed(why)) = matcher::unreadable(text)
            else {
                return true;
            };
            warnings.push(format!(
                "{}: {}: invalid matcher {text:?} ({why}): {then}",
                registration.file.display(),
                registration.place
            ));
            false
        });
    }

    /// One entry of a flat list, as Cursor has it.
    pub(crate) fn flat(&mut self, source: Source<'_>, event: &str, entry: &Value, place: &str) {
        let matcher = entry.get("matcher").and_then(Value::as_str);
        if let Err(fault) = self.handler(source, event, matcher, entry, place) {
            self.note(source, &format!("{}; it is skipped", fault.why));
        }
    }

    /// One handler with its command.
    fn handler(
        &mut self,
        source: Source<'_>,
        event: &str,
        matcher: Option<&str>,
        handler: &Value,
        place: &str,
    ) -> Result<(), Fault> {
        let any = source.costs == Mistake::File;
        let kind = handler.get("type").and_then(Value::as_str).unwrap_or("command");
        if kind != "command" {
            if ["agent", "http", "mcp_tool", "prompt"].contains(&kind) {
                self.note(source, &format!("{place} is of type {kind:?}; the simulator plays commands only"));
                return Ok(());
            }
            return Err(Fault { why: format!("{place} has the unknown type {kind:?}"), file: any });
        }
        let command = handler.get("command").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let Some(command) = command else {
            return Err(Fault { why: format!("{place} has no command"), file: any });
        };
        let timeout = self.timeout(source, handler.get("timeout"), place)?;
        let args = handler.get("args").and_then(Value::as_array).map(|args| {
            args.iter().map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned)).collect()
        });
        let environment = handler.get("env").and_then(Value::as_object).map(|env| {
            env.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
        });
        self.registrations.push(Registration {
            event: event.to_owned(),
            matcher: matcher.map(str::to_owned),
            command: command.to_owned(),
            args,
            environment: environment.unwrap_or_default(),
            timeout,
            fail_closed: handler.get("failClosed").and_then(Value::as_bool).unwrap_or(false),
            context_limit: handler.get("additionalContextLimit").and_then(Value::as_u64),
            file: source.file.to_owned(),
            scope: source.scope,
            from: source.from,
            place: place.to_owned(),
        });
        Ok(())
    }

    fn timeout(
        &mut self,
        source: Source<'_>,
        value: Option<&Value>,
        place: &str,
    ) -> Result<Option<f64>, Fault> {
        let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
        let is_valid = match source.costs {
            Mistake::Entry => value.as_f64().is_some_and(|seconds| seconds > 0.0),
            Mistake::FileByShape | Mistake::File => value.as_u64().is_some(),
        };
        let Some(seconds) = value.as_f64().filter(|_| is_valid) else {
            let kind =
                if source.costs == Mistake::Entry { "number of seconds" } else { "whole number of seconds" };
            let why = format!("{place} has the timeout {value}, which is no {kind}");
            return Err(Fault { why, file: source.costs != Mistake::Entry });
        };
        if seconds >= SURELY_MILLISECONDS {
            let reads = crate::report::duration(std::time::Duration::from_secs_f64(seconds.min(1e9)));
            let what = format!(
                "{place} has the timeout {value}, which is read as seconds ({reads}); was it meant in milliseconds?"
            );
            self.note(source, &what);
        }
        Ok(Some(seconds))
    }
}

impl Registration {
    /// What makes two registrations the same command.
    pub(crate) fn same_command(&self, other: &Self) -> bool {
        self.command == other.command && self.args == other.args
    }
}

/// What is wrong with a TOML file, and where, in one line.
pub(crate) fn toml_mistake(error: &toml_edit::TomlError) -> String {
    let text = error.to_string();
    let place = text.lines().next().unwrap_or("not valid TOML").trim_end_matches(':');
    let what = error.message().trim().replace('\n', ", ");
    if what.is_empty() || place.contains(&what) { place.to_owned() } else { format!("{place}: {what}") }
}

/// A part of a TOML file as JSON: registrations are the same in both.
pub(crate) fn json_of(item: &toml_edit::Item) -> Value {
    match item {
        toml_edit::Item::None => Value::Null,
        toml_edit::Item::Value(value) => json_of_value(value),
        toml_edit::Item::Table(table) => table
            .iter()
            .map(|(key, item)| (key.to_owned(), json_of(item)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        toml_edit::Item::ArrayOfTables(tables) => tables
            .iter()
            .map(|table| json_of(&toml_edit::Item::Table(table.clone())))
            .collect::<Vec<_>>()
            .into(),
    }
}

fn json_of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().clone().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Datetime(date) => date.value().to_string().into(),
        toml_edit::Value::Array(items) => items.iter().map(json_of_value).collect::<Vec<_>>().into(),
        toml_edit::Value::InlineTable(table) => table
            .iter()
            .map(|(key, value)| (key.to_owned(), json_of_value(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}
