//! What a project and a home have registered: the form that Claude Code began and others took over, and Cursor's flat
//! one.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Harness;

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
    /// As it stands in the file, in the harness's unit.
    pub(crate) timeout: Option<f64>,
    pub(crate) fail_closed: bool,
    pub(crate) context_limit: Option<u64>,
    pub(crate) file: PathBuf,
    pub(crate) scope: Scope,
    /// Set where it stands in another harness's file.
    pub(crate) from: Option<Harness>,
}

/// What was found, and what a person should know about it.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    pub(crate) registrations: Vec<Registration>,
    pub(crate) warnings: Vec<String>,
    /// The files that were looked at, whether they exist or not.
    pub(crate) looked_at: Vec<PathBuf>,
}

/// A file of registrations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) file: &'a Path,
    pub(crate) scope: Scope,
    pub(crate) from: Option<Harness>,
    /// What the harness does with a file that it cannot use.
    pub(crate) if_broken: &'static str,
}

impl Discovery {
    /// Reads a file as JSON; notes why it cannot be used. `None` also where there is no file.
    pub(crate) fn json(&mut self, source: Source<'_>) -> Option<Value> {
        let text = self.text(source)?;
        match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(value) => Some(value),
            Err(error) => {
                self.broken(source, &error.to_string());
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
        self.warnings.push(format!("{}: {why}; {}", source.file.display(), source.if_broken));
    }

    /// Reads `hooks: { Event: [ { matcher, hooks: [ { type, command, … } ] } ] }`. The event's name goes through
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
        for (event, groups) in events {
            let Some(name) = event_name(event) else {
                self.warnings
                    .push(format!("{}: hooks.{event} is no event of this harness", source.file.display()));
                continue;
            };
            let Some(groups) = groups.as_array() else {
                self.broken(source, &format!("hooks.{event} is not a list"));
                continue;
            };
            for (at, group) in groups.iter().enumerate() {
                let matcher = group.get("matcher").and_then(Value::as_str).map(str::to_owned);
                let Some(handlers) = group.get("hooks").and_then(Value::as_array) else {
                    self.broken(source, &format!("hooks.{event}[{at}] has no list `hooks`"));
                    continue;
                };
                for handler in handlers {
                    self.handler(source, &name, matcher.as_deref(), handler, &format!("hooks.{event}[{at}]"));
                }
            }
        }
    }

    /// One handler with its command; other types are noted.
    pub(crate) fn handler(
        &mut self,
        source: Source<'_>,
        event: &str,
        matcher: Option<&str>,
        handler: &Value,
        place: &str,
    ) {
        let kind = handler.get("type").and_then(Value::as_str).unwrap_or("command");
        if kind != "command" {
            self.warnings.push(format!(
                "{}: {place} is of type {kind:?}; the simulator plays commands only",
                source.file.display()
            ));
            return;
        }
        let Some(command) =
            handler.get("command").and_then(Value::as_str).filter(|text| !text.trim().is_empty())
        else {
            self.broken(source, &format!("{place} has no command"));
            return;
        };
        let timeout = handler.get("timeout").and_then(Value::as_f64);
        if let Some(seconds) = timeout.filter(|seconds| *seconds >= SURELY_MILLISECONDS) {
            self.warnings.push(format!(
                "{}: {place} has timeout {seconds}, which is read as seconds ({}); was it meant in milliseconds?",
                source.file.display(),
                crate::report::duration(std::time::Duration::from_secs_f64(seconds.min(1e9)))
            ));
        }
        let args = handler.get("args").and_then(Value::as_array).map(|args| {
            args.iter().map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned)).collect()
        });
        self.registrations.push(Registration {
            event: event.to_owned(),
            matcher: matcher.map(str::to_owned),
            command: command.to_owned(),
            args,
            timeout,
            fail_closed: handler.get("failClosed").and_then(Value::as_bool).unwrap_or(false),
            context_limit: handler.get("additionalContextLimit").and_then(Value::as_u64),
            file: source.file.to_owned(),
            scope: source.scope,
            from: source.from,
        });
    }
}

impl Registration {
    /// What makes two registrations the same command.
    pub(crate) fn same_command(&self, other: &Self) -> bool {
        self.command == other.command && self.args == other.args
    }
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
