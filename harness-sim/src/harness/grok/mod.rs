//! Grok's account: what 1.0.41 does with command hooks. Much of it is from the guide that the program carries.

mod answer;
mod flow;
mod rules;
mod vocabulary;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::discovery::{Mistake, Source};
use super::vocabulary::Vocabulary;
use super::{
    Account, Conduct, Discovery, Event, Finish, Flow, Harness, Hook, Kill, Leads, Place, Registration, Rule,
    Scope, matcher,
};
use crate::report::{Effect, Kind};

pub(super) struct Grok;

const EVENTS: &[&str] = &[
    "Notification",
    "PermissionDenied",
    "PostCompact",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PreToolUse",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "StopCancelled",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
];

/// Its reading of Cursor's event names.
const FROM_CURSOR: &[(&str, &str)] = &[
    ("afterAgentResponse", "PostToolUse"),
    ("afterAgentThought", "PostToolUse"),
    ("afterFileEdit", "PostToolUse"),
    ("afterMCPExecution", "PostToolUse"),
    ("afterShellExecution", "PostToolUse"),
    ("beforeMCPExecution", "PreToolUse"),
    ("beforeReadFile", "PreToolUse"),
    ("beforeShellExecution", "PreToolUse"),
    ("beforeSubmitPrompt", "UserPromptSubmit"),
    ("postToolUse", "PostToolUse"),
    ("postToolUseFailure", "PostToolUseFailure"),
    ("preCompact", "PreCompact"),
    ("preToolUse", "PreToolUse"),
    ("sessionEnd", "SessionEnd"),
    ("sessionStart", "SessionStart"),
    ("stop", "Stop"),
    ("subagentStart", "SubagentStart"),
    ("subagentStop", "SubagentStop"),
];

/// Names that a matcher may have for Grok's tools.
const ALIASES: &[(&str, &str)] = &[
    ("Bash", "run_terminal_command"),
    ("Edit", "search_replace"),
    ("Glob", "list_dir"),
    ("Grep", "grep"),
    ("ListDir", "list_dir"),
    ("MultiEdit", "search_replace"),
    ("Read", "read_file"),
    ("Task", "spawn_subagent"),
    ("WebSearch", "web_search"),
    ("Write", "search_replace"),
];

const IF_BROKEN: &str = "Grok uses nothing of the file";

impl Account for Grok {
    fn rules(&self) -> &'static [Rule] {
        rules::RULES
    }

    fn flow(&self) -> &'static Flow {
        &flow::FLOW
    }

    fn argv0(&self, _version: &str) -> &'static str {
        "grok"
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
        let folders = [
            (place.home.map(|home| home.join(".grok/hooks")), Scope::User),
            (Some(place.project.join(".grok/hooks")), Scope::Project),
        ];
        for (folder, scope) in folders {
            let Some(folder) = folder else { continue };
            let mut files: Vec<_> = std::fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
                .collect();
            files.sort();
            if files.is_empty() {
                found.looked_at.push(folder.join("*.json"));
            }
            for file in files {
                hooks_of(
                    &mut found,
                    Source {
                        file: &file,
                        scope,
                        from: None,
                        costs: Mistake::FileByShape,
                        if_broken: IF_BROKEN,
                    },
                    &own_name,
                );
            }
        }
        if let Some(home) = place.home {
            config_toml(&mut found, &home.join(".grok/config.toml"));
        }
        super::claude::settings(
            &mut found,
            place,
            (Some(Harness::Claude), Mistake::FileByShape),
            IF_BROKEN,
            &own_name,
        );
        let cursor = |event: &str| {
            let known =
                FROM_CURSOR.iter().find(|(cursor, _)| *cursor == event).map(|(_, grok)| (*grok).to_owned());
            known.or_else(|| own_name(event))
        };
        let files = [
            (place.home.map(|home| home.join(".cursor/hooks.json")), Scope::User),
            (Some(place.project.join(".cursor/hooks.json")), Scope::Project),
        ];
        for (file, scope) in files {
            if let Some(file) = file {
                let source = Source {
                    file: &file,
                    scope,
                    from: Some(Harness::Cursor),
                    costs: Mistake::FileByShape,
                    if_broken: IF_BROKEN,
                };
                hooks_of(&mut found, source, &cursor);
            }
        }
        let then = "Grok says so and drops the hook; whether more of the file goes with it is not known";
        found.drop_invalid_matchers(0, &["Stop", "UserPromptSubmit"], then);
        for registration in &mut found.registrations {
            from_its_file(registration);
        }
        if !place.trusted {
            let before = found.registrations.len();
            found.registrations.retain(|registration| registration.scope == Scope::User);
            found.rejected.retain(|rejected| rejected.scope == Scope::User);
            if found.registrations.len() < before {
                found
                    .warnings
                    .push("the project is not trusted: Grok skips its hooks and says nothing".to_owned());
            }
        }
        found
    }

    fn matched(&self, event: Event<'_>) -> Option<Vec<String>> {
        let keys: &[&str] = match event.name() {
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionDenied" => {
                &["toolName", "tool_name"]
            }
            "Notification" => &["notificationType", "notification_type"],
            "SessionStart" => &["source"],
            "SessionEnd" | "StopCancelled" => &["reason"],
            "PreCompact" | "PostCompact" => &["trigger"],
            "SubagentStart" | "SubagentStop" => &["subagentType", "agent_type"],
            "StopFailure" => &["error"],
            _ => return None,
        };
        let value = keys.iter().find_map(|key| event.text(key)).unwrap_or_default().to_owned();
        let aliases = ALIASES.iter().filter(|(_, tool)| *tool == value).map(|(alias, _)| (*alias).to_owned());
        Some(aliases.chain([value.clone()]).collect())
    }

    fn matches(&self, text: &str, values: &[String]) -> bool {
        matcher::takes_all(text) || matcher::pattern(text, values)
    }

    fn possible(&self, event: &str) -> Option<&'static [&'static str]> {
        match event {
            // Its guide speaks of startup and resume; the program says new and load.
            "SessionStart" => Some(&["new", "load"]),
            "PreCompact" | "PostCompact" => Some(&["manual", "auto"]),
            _ => None,
        }
    }

    fn timeout(&self, event: &str, registered: Option<f64>) -> Duration {
        let default = match event {
            "Stop" | "SubagentStop" | "PostToolUse" | "PostToolUseFailure" => 600.0,
            "UserPromptSubmit" => 30.0,
            "SessionEnd" => 1.5,
            _ => 5.0,
        };
        Duration::from_secs_f64(registered.filter(|seconds| *seconds > 0.0).unwrap_or(default).min(86_400.0))
    }

    fn argv(&self, command: &str) -> Vec<String> {
        ["/bin/sh", "-c", command].map(str::to_owned).to_vec()
    }

    fn variables(&self, place: Place<'_>, event: Event<'_>) -> Vec<(String, String)> {
        let project = place.project.to_string_lossy().into_owned();
        vec![
            ("GROK_HOOK_EVENT".to_owned(), event.text("hookEventName").unwrap_or_default().to_owned()),
            ("GROK_HOOK_NAME".to_owned(), "simulated".to_owned()),
            ("GROK_SESSION_ID".to_owned(), event.text("sessionId").unwrap_or_default().to_owned()),
            ("GROK_WORKSPACE_ROOT".to_owned(), project.clone()),
            ("CLAUDE_PROJECT_DIR".to_owned(), project),
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

    fn ends_the_chain(&self, effects: &[Effect]) -> bool {
        effects.iter().any(|effect| effect.kind == Kind::Denied)
    }

    fn gates_a_tool(&self, event: &str) -> bool {
        event == "PreToolUse"
    }

    fn stop_limit(&self, event: &str) -> Option<u32> {
        matches!(event, "Stop" | "SubagentStop").then_some(8)
    }
}

fn own_name(event: &str) -> Option<String> {
    match event {
        "SubagentEnd" => Some("SubagentStop".to_owned()),
        _ => EVENTS.contains(&event).then(|| event.to_owned()),
    }
}

fn hooks_of(found: &mut Discovery, source: Source<'_>, event_name: &dyn Fn(&str) -> Option<String>) {
    let Some(value) = found.json(source) else { return };
    match value.get("hooks") {
        Some(hooks) => found.nested(source, hooks, event_name),
        None if value == Value::Null => {}
        None => found.broken(source, "there is no `hooks`"),
    }
}

fn config_toml(found: &mut Discovery, file: &Path) {
    let source =
        Source { file, scope: Scope::User, from: None, costs: Mistake::FileByShape, if_broken: IF_BROKEN };
    let Some(text) = found.text(source) else { return };
    match text.parse::<toml_edit::DocumentMut>() {
        Ok(document) => {
            if let Some(hooks) = document.get("hooks") {
                found.nested(source, &super::discovery::json_of(hooks), &own_name);
            }
        }
        Err(error) => found.broken(source, &super::discovery::toml_mistake(&error)),
    }
}

/// A relative program is looked for beside the file that registers it.
fn from_its_file(registration: &mut Registration) {
    let program = registration.command.split_whitespace().next().unwrap_or_default();
    let beside = registration.file.parent().map(|folder| folder.join(program));
    if program.contains('/')
        && !program.starts_with('/')
        && let Some(beside) = beside.filter(|path| path.is_file())
    {
        let rest = registration.command.trim_start()[program.len()..].to_owned();
        registration.command = format!("'{}'{rest}", beside.to_string_lossy().replace('\'', "'\\''"));
    }
}

#[cfg(test)]
mod tests;
