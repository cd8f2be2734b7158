//! Cursor's account. Cursor was never run here: every rule is documented by its makers or reported by others, for its
//! 2026.07 to 2026.10 command line programs and 3.9 to 3.23 editors, and every report says so.

mod answer;
mod flow;
mod rules;
mod vocabulary;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::discovery::{Mistake, Source};
use super::vocabulary::Vocabulary;
use super::{
    Account, Conduct, Discovery, Event, Finish, Flow, Harness, Hook, Kill, Leads, Place, Registration, Rule,
    Scope, matcher,
};
use crate::report::Effect;

pub(super) struct Cursor;

const EVENTS: &[&str] = &[
    "afterAgentResponse",
    "afterAgentThought",
    "afterFileEdit",
    "afterMCPExecution",
    "afterShellExecution",
    "beforeMCPExecution",
    "beforeReadFile",
    "beforeShellExecution",
    "beforeSubmitPrompt",
    "postToolUse",
    "postToolUseFailure",
    "preCompact",
    "preToolUse",
    "sessionEnd",
    "sessionStart",
    "stop",
    "subagentStart",
    "subagentStop",
    "workspaceOpen",
];

/// Its names for Claude Code's events.
const FROM_CLAUDE: &[(&str, &str)] = &[
    ("PostToolUse", "postToolUse"),
    ("PostToolUseFailure", "postToolUseFailure"),
    ("PreCompact", "preCompact"),
    ("PreToolUse", "preToolUse"),
    ("SessionEnd", "sessionEnd"),
    ("SessionStart", "sessionStart"),
    ("Stop", "stop"),
    ("SubagentStart", "subagentStart"),
    ("SubagentStop", "subagentStop"),
    ("UserPromptSubmit", "beforeSubmitPrompt"),
];

const IF_BROKEN: &str = "Cursor uses nothing of the file";

impl Account for Cursor {
    fn rules(&self) -> &'static [Rule] {
        rules::RULES
    }

    fn flow(&self) -> &'static Flow {
        &flow::FLOW
    }

    fn argv0(&self, version: &str) -> &'static str {
        if is_editor(version) { "cursor" } else { "cursor-agent" }
    }

    fn conduct(&self) -> Conduct {
        // Session, kill and end of output: not known.
        Conduct {
            leads: Leads::Group,
            kill: Kill::Group,
            finish: Finish::Exit,
            concurrent: false,
            once: true,
        }
    }

    fn discover(&self, place: Place<'_>) -> Discovery {
        let mut found = Discovery::default();
        if !place.trusted {
            found.warnings.push(
                "the folder is not trusted: in print mode Cursor refuses to start, with exit 0".to_owned(),
            );
            return found;
        }
        let files = [
            (place.home.map(|home| home.join(".cursor/hooks.json")), Scope::User),
            (Some(place.project.join(".cursor/hooks.json")), Scope::Project),
        ];
        for (file, scope) in files {
            if let Some(file) = file {
                hooks_json(&mut found, &file, scope);
            }
        }
        let name = |event: &str| {
            FROM_CLAUDE.iter().find(|(claude, _)| *claude == event).map(|(_, cursor)| (*cursor).to_owned())
        };
        super::claude::settings(&mut found, place, (Some(Harness::Claude), Mistake::Entry), IF_BROKEN, &name);
        for registration in found.registrations.iter_mut().filter(|registration| registration.from.is_some())
        {
            // It drops `args` there.
            if registration.args.take().is_some() {
                found.warnings.push(format!(
                    "{}: Cursor drops the args of {:?}",
                    registration.file.display(),
                    registration.command
                ));
            }
        }
        found
    }

    fn matched(&self, event: Event<'_>) -> Option<Vec<String>> {
        let key = match event.name() {
            "preToolUse" | "postToolUse" | "postToolUseFailure" => "tool_name",
            "beforeShellExecution" | "afterShellExecution" => "command",
            _ => return None,
        };
        Some(vec![event.text(key).unwrap_or_default().to_owned()])
    }

    fn matches(&self, text: &str, values: &[String]) -> bool {
        matcher::takes_all(text) || matcher::pattern(text, values)
    }

    fn unreadable(&self, text: &str) -> Option<String> {
        let then = "what Cursor does with it is not known, and it is taken as matching nothing";
        if matcher::takes_all(text) { None } else { matcher::unreadable_in_javascript(text, then) }
    }

    fn possible(&self, event: &str) -> Option<&'static [&'static str]> {
        let _ = event;
        None
    }

    fn timeout(&self, _event: &str, registered: Option<f64>) -> Duration {
        Duration::from_secs_f64(registered.filter(|seconds| *seconds > 0.0).unwrap_or(60.0).min(86_400.0))
    }

    fn argv(&self, command: &str) -> Vec<String> {
        ["/bin/sh", "-c", command].map(str::to_owned).to_vec()
    }

    fn folder(&self, place: Place<'_>, registration: Option<&Registration>) -> PathBuf {
        match (registration, place.home) {
            (Some(Registration { scope: Scope::User, from: None, .. }), Some(home)) => home.join(".cursor"),
            _ => place.project.to_owned(),
        }
    }

    fn variables(&self, place: Place<'_>, event: Event<'_>) -> Vec<(String, String)> {
        let project = place.project.to_string_lossy();
        vec![
            ("CURSOR_PROJECT_DIR".to_owned(), project.clone().into_owned()),
            ("CURSOR_VERSION".to_owned(), event.recording.version.to_owned()),
            ("CLAUDE_PROJECT_DIR".to_owned(), project.into_owned()),
        ]
    }

    fn vocabulary(&self) -> &'static Vocabulary {
        &vocabulary::VOCABULARY
    }

    fn read(&self, event: Event<'_>, hook: Hook<'_>) -> Vec<Effect> {
        answer::read(event, hook)
    }

    fn remarks(&self, event: Event<'_>, hook: Hook<'_>) -> Vec<String> {
        answer::remarks(event, hook)
    }

    fn gates_a_tool(&self, event: &str) -> bool {
        answer::PERMISSION.contains(&event)
    }

    fn stop_limit(&self, event: &str) -> Option<u32> {
        // `loop_limit` 5 gives four follow-ups.
        matches!(event, "stop" | "subagentStop").then_some(4)
    }
}

/// The editors count 3.x; the command line program carries a date.
pub(super) fn is_editor(version: &str) -> bool {
    version.starts_with("3.")
}

fn hooks_json(found: &mut Discovery, file: &Path, scope: Scope) {
    let source = Source { file, scope, from: None, costs: Mistake::Entry, if_broken: IF_BROKEN };
    let Some(value) = found.json(source) else { return };
    if value.get("version").and_then(Value::as_u64) != Some(1) {
        found.broken(source, "`version` is not 1");
        return;
    }
    let Some(events) = value.get("hooks").and_then(Value::as_object) else {
        found.broken(source, "there is no object `hooks`");
        return;
    };
    let before = found.registrations.len();
    for (event, entries) in events {
        if !EVENTS.contains(&event.as_str()) {
            found.warnings.push(format!("{}: hooks.{event} is no event of Cursor", file.display()));
            continue;
        }
        let Some(entries) = entries.as_array() else {
            found.broken(source, &format!("hooks.{event} is not a list"));
            continue;
        };
        for (at, entry) in entries.iter().enumerate() {
            let place = format!("hooks.{event}[{at}]");
            if entry.get("hooks").is_some() {
                found.broken(
                    source,
                    &format!("{place} has Claude Code's nested form; Cursor's entries are flat"),
                );
                continue;
            }
            found.flat(source, event, entry, &place);
        }
    }
    let new = &found.registrations[before..];
    if let Some(bad) = new.iter().find(|registration| registration.command.contains("://")) {
        let why = format!("the command {:?} contains scheme://", bad.command);
        found.registrations.truncate(before);
        found
            .warnings
            .push(format!("{}: {why}; Cursor's command line program drops the whole file", file.display()));
        return;
    }
    for registration in new {
        let first = registration.command.split_whitespace().next().unwrap_or_default();
        if first.contains('/') && !first.starts_with(['/', '"', '\'']) {
            found.warnings.push(format!(
                "{}: {first:?} is a relative path; such hooks were reported not to run",
                file.display()
            ));
        }
    }
}

#[cfg(test)]
mod tests;
