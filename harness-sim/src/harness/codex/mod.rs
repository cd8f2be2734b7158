//! Codex's account: what 0.171.0 does with command hooks.

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
    Account, Conduct, Discovery, Event, Finish, Flow, Hook, Kill, Leads, Place, Registration, Rule, Scope,
    matcher,
};
use crate::env;
use crate::report::{Effect, GRANTED};

pub(super) struct Codex;

const EVENTS: &[&str] = &[
    "Interrupt",
    "PermissionRequest",
    "PostCompact",
    "PostToolUse",
    "PreCompact",
    "PreToolUse",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
];

const IF_BROKEN: &str = "Codex warns and uses nothing of the file";

impl Account for Codex {
    fn rules(&self) -> &'static [Rule] {
        rules::RULES
    }

    fn flow(&self) -> &'static Flow {
        &flow::FLOW
    }

    fn argv0(&self, _version: &str) -> &'static str {
        "codex"
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            leads: Leads::Group,
            kill: Kill::Group,
            finish: Finish::EndOfOutput,
            concurrent: true,
            once: false,
        }
    }

    fn discover(&self, place: Place<'_>) -> Discovery {
        let mut found = Discovery::default();
        let mut starts = true;
        let folders = [
            (place.home.map(|home| home.join(".codex")), Scope::User),
            (Some(place.project.join(".codex")), Scope::Project),
        ];
        for (folder, scope) in folders {
            let Some(folder) = folder else { continue };
            if scope == Scope::Project && !place.trusted {
                if folder.join("hooks.json").exists() {
                    found.warnings.push(
                        "the project is not trusted: Codex skips its hooks and says nothing".to_owned(),
                    );
                }
                continue;
            }
            hooks_json(&mut found, &folder.join("hooks.json"), scope);
            let before = found.rejected.len();
            config_toml(&mut found, &folder.join("config.toml"), scope);
            starts &= found.rejected.len() == before;
        }
        if let Some(home) = place.home {
            switched_off(&mut found, &home.join(".codex/config.toml"));
        }
        if !starts {
            found.registrations.clear();
        }
        if !found.registrations.is_empty() {
            found.warnings.push(format!(
                "{GRANTED}Codex runs a hook only when a person has trusted its very command, matcher and timeout, and \
                 skips it silently otherwise"
            ));
        }
        found
    }

    fn matched(&self, event: Event<'_>) -> Option<Vec<String>> {
        let key = match event.name() {
            "PreToolUse" | "PostToolUse" | "PermissionRequest" => "tool_name",
            "SessionStart" => "source",
            "SubagentStart" | "SubagentStop" => "agent_type",
            _ => return None,
        };
        Some(vec![event.text(key).unwrap_or_default().to_owned()])
    }

    fn matches(&self, text: &str, values: &[String]) -> bool {
        let is_exact = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '|'));
        matcher::takes_all(text)
            || if is_exact { matcher::one_of(text, &['|'], values) } else { matcher::pattern(text, values) }
    }

    fn possible(&self, event: &str) -> Option<&'static [&'static str]> {
        (event == "SessionStart").then_some(&["startup", "resume", "clear", "compact", "fork"])
    }

    fn timeout(&self, event: &str, registered: Option<f64>) -> Duration {
        let seconds = match event {
            "SessionEnd" => registered.unwrap_or(1.0).min(3.0),
            "Interrupt" => registered.unwrap_or(3.0).min(3.0),
            _ => registered.unwrap_or(600.0),
        };
        // A timeout of 0 was seen to let the hook run.
        Duration::from_secs_f64(seconds.clamp(1.0, 86_400.0))
    }

    fn argv(&self, command: &str) -> Vec<String> {
        let shell =
            env::shell().map_or_else(|| "/bin/sh".to_owned(), |shell| shell.to_string_lossy().into_owned());
        vec![shell, "-c".to_owned(), command.to_owned()]
    }

    fn variables(&self, _place: Place<'_>, _event: Event<'_>) -> Vec<(String, String)> {
        Vec::new()
    }

    fn vocabulary(&self) -> &'static Vocabulary {
        &vocabulary::VOCABULARY
    }

    fn read(&self, event: Event<'_>, hook: Hook<'_>) -> Vec<Effect> {
        answer::read(event, hook)
    }

    fn gates_a_tool(&self, event: &str) -> bool {
        event == "PreToolUse"
    }

    fn stop_limit(&self, _event: &str) -> Option<u32> {
        None
    }
}

/// Takes away what the person has switched off in Codex's list of hooks: `enabled = false` under the key of the hook.
fn switched_off(found: &mut Discovery, config: &Path) {
    let Ok(text) = std::fs::read_to_string(config) else { return };
    let Ok(document) = text.parse::<toml_edit::DocumentMut>() else { return };
    let state = document.get("hooks").and_then(|hooks| hooks.get("state"));
    let off: Vec<String> = state
        .and_then(toml_edit::Item::as_table_like)
        .into_iter()
        .flat_map(toml_edit::TableLike::iter)
        .filter(|(_, item)| item.get("enabled").and_then(toml_edit::Item::as_bool) == Some(false))
        .map(|(key, _)| key.to_owned())
        .collect();
    found.registrations.retain(|registration| {
        let is_off = off.contains(&key(registration));
        if is_off {
            found.warnings.push(format!(
                "{:?} is switched off in {}",
                registration.command,
                config.display()
            ));
        }
        !is_off
    });
}

/// Codex's name of a hook: `<file>:<event>:<group>:<handler>`.
fn key(registration: &Registration) -> String {
    let mut event = String::new();
    for c in registration.event.chars() {
        if c.is_ascii_uppercase() && !event.is_empty() {
            event.push('_');
        }
        event.push(c.to_ascii_lowercase());
    }
    let numbers: Vec<&str> =
        registration.place.split('[').skip(1).filter_map(|part| part.split(']').next()).collect();
    format!("{}:{event}:{}", registration.file.display(), numbers.join(":"))
}

fn event_name(event: &str) -> Option<String> {
    EVENTS.contains(&event).then(|| event.to_owned())
}

fn hooks_json(found: &mut Discovery, file: &Path, scope: Scope) {
    let source = Source { file, scope, from: None, costs: Mistake::File, if_broken: IF_BROKEN };
    let Some(value) = found.json(source) else { return };
    let Some(map) = value.as_object() else {
        found.broken(source, "the file is not an object");
        return;
    };
    // The root takes these two keys and refuses any other.
    if let Some(key) = map.keys().find(|key| !["description", "hooks"].contains(&key.as_str())) {
        found.broken(source, &format!("unknown field `{key}`, expected `description` or `hooks`"));
        return;
    }
    if let Some(hooks) = map.get("hooks") {
        nested(found, source, hooks);
    }
}

fn config_toml(found: &mut Discovery, file: &Path, scope: Scope) {
    let source = Source {
        file,
        scope,
        from: None,
        costs: Mistake::File,
        if_broken: "Codex does not start with a config.toml that it cannot read",
    };
    let Some(text) = found.text(source) else { return };
    match text.parse::<toml_edit::DocumentMut>() {
        Ok(document) => {
            if let Some(hooks) = document.get("hooks") {
                let mut hooks = super::discovery::json_of(hooks);
                // What stands there beside the events: which hooks are trusted.
                if let Value::Object(map) = &mut hooks {
                    map.remove("state");
                }
                nested(found, source, &hooks);
            }
        }
        Err(error) => found.broken(source, &super::discovery::toml_mistake(&error)),
    }
}

/// The common form; an invalid regular expression drops its group.
fn nested(found: &mut Discovery, source: Source<'_>, hooks: &Value) {
    let before = found.registrations.len();
    found.nested(source, hooks, &event_name);
    found.drop_invalid_matchers(before, &[], "Codex drops these hooks");
}

#[cfg(test)]
mod tests;
