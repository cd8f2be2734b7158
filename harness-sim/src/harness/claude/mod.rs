//! Claude Code's account: what 2.1.332 does with command hooks.

mod answer;
mod flow;
mod rules;
mod vocabulary;

use std::time::Duration;

use super::discovery::{Mistake, Source};
use super::vocabulary::Vocabulary;
use super::{
    Account, Conduct, Discovery, Event, Finish, Flow, Harness, Hook, Kill, Leads, Place, Rule, Scope, matcher,
};
use crate::report::Effect;

pub(super) struct Claude;

/// Claude Code's events, as its settings name them.
pub(super) const EVENTS: &[&str] = &[
    "ConfigChange",
    "CwdChanged",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PermissionDenied",
    "PermissionRequest",
    "PostCompact",
    "PostModelSwitch",
    "PostToolBatch",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PreModelSwitch",
    "PreToolUse",
    "SessionEnd",
    "SessionStart",
    "Setup",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "UserPromptSubmit",
    "WorktreeCreate",
    "WorktreeRemove",
];

/// What Claude Code does with a settings file that it cannot use.
const IF_BROKEN: &str = "Claude Code uses nothing of the file, says so on stderr, and goes on";

impl Account for Claude {
    fn rules(&self) -> &'static [Rule] {
        rules::RULES
    }

    fn flow(&self) -> &'static Flow {
        &flow::FLOW
    }

    fn argv0(&self, _version: &str) -> &'static str {
        "claude"
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            leads: Leads::Session,
            kill: Kill::TreeThenKill(Duration::from_millis(1500)),
            finish: Finish::Exit,
            concurrent: true,
            once: true,
        }
    }

    fn discover(&self, place: Place<'_>) -> Discovery {
        let mut found = Discovery::default();
        settings(&mut found, place, (None, Mistake::Entry), IF_BROKEN, &|event| {
            EVENTS.contains(&event).then(|| event.to_owned())
        });
        found
    }

    fn matched(&self, event: Event<'_>) -> Option<Vec<String>> {
        let key = match event.name() {
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PermissionRequest"
            | "PermissionDenied" => "tool_name",
            "SessionStart" => "source",
            "SessionEnd" => "reason",
            "PreCompact" | "PostCompact" => "trigger",
            "Notification" => "notification_type",
            "SubagentStart" | "SubagentStop" => "agent_type",
            _ => return None,
        };
        Some(vec![event.text(key).unwrap_or_default().to_owned()])
    }

    fn matches(&self, text: &str, values: &[String]) -> bool {
        matcher::takes_all(text)
            || if is_list(text) {
                matcher::one_of(text, &['|', ','], values)
            } else {
                matcher::pattern(text, values)
            }
    }

    fn unreadable(&self, text: &str) -> Option<String> {
        let then = "Claude Code says so in its debug log only, and the hook never runs";
        let is_read = matcher::takes_all(text) || is_list(text);
        if is_read { None } else { matcher::unreadable_in_javascript(text, then) }
    }

    fn possible(&self, event: &str) -> Option<&'static [&'static str]> {
        match event {
            "SessionStart" => Some(&["startup", "resume", "clear", "compact", "fork"]),
            "PreCompact" | "PostCompact" => Some(&["manual", "auto"]),
            _ => None,
        }
    }

    fn timeout(&self, event: &str, registered: Option<f64>) -> Duration {
        let default = match event {
            "UserPromptSubmit" => 30.0,
            "SessionEnd" => 1.5,
            _ => 600.0,
        };
        let seconds = registered.filter(|seconds| *seconds > 0.0).unwrap_or(default);
        let seconds = if event == "SessionEnd" { seconds.clamp(1.5, 60.0) } else { seconds };
        Duration::from_secs_f64(seconds.min(86_400.0))
    }

    fn shares_its_timeout(&self, event: &str) -> bool {
        event == "SessionEnd"
    }

    fn argv(&self, command: &str) -> Vec<String> {
        ["/bin/sh", "-c", command].map(str::to_owned).to_vec()
    }

    fn variables(&self, place: Place<'_>, event: Event<'_>) -> Vec<(String, String)> {
        let mut set = vec![("CLAUDE_PROJECT_DIR".to_owned(), place.project.to_string_lossy().into_owned())];
        if let Some(session) = event.text("session_id") {
            set.push(("CLAUDE_CODE_SESSION_ID".to_owned(), session.to_owned()));
        }
        set.push(("CLAUDECODE".to_owned(), "1".to_owned()));
        set
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
        event == "PreToolUse"
    }

    fn stop_limit(&self, event: &str) -> Option<u32> {
        matches!(event, "Stop" | "SubagentStop").then_some(8)
    }
}

/// Whether a matcher is a list of names.
fn is_list(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '|' | ',' | ' ' | '-'))
}

/// The settings files of Claude Code; Cursor and Grok read them, too.
pub(super) fn settings(
    found: &mut Discovery,
    place: Place<'_>,
    (from, costs): (Option<Harness>, Mistake),
    if_broken: &'static str,
    event_name: &dyn Fn(&str) -> Option<String>,
) {
    let mut files = Vec::new();
    if let Some(home) = place.home {
        files.push((home.join(".claude/settings.json"), Scope::User));
    }
    for name in ["settings.json", "settings.local.json"] {
        files.push((place.project.join(".claude").join(name), Scope::Project));
    }
    let mut off = false;
    for (file, scope) in files {
        let source = Source { file: &file, scope, from, costs, if_broken };
        let Some(settings) = found.json(source) else { continue };
        if !settings.is_object() {
            found.broken(source, "the file is not an object");
            continue;
        }
        if settings.get("disableAllHooks").and_then(serde_json::Value::as_bool) == Some(true) {
            found.note(source, "disableAllHooks is on: no hook runs, the user's neither");
            off = true;
        }
        if let Some(hooks) = settings.get("hooks") {
            found.nested(source, hooks, event_name);
        }
    }
    if off {
        found.registrations.clear();
    }
}

#[cfg(test)]
mod tests;
