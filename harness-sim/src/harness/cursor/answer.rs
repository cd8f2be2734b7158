//! What Cursor makes of an answer, as documented and reported.

use serde_json::Value;

use super::super::answer::{Fields, Wrong, diagnose, first_line, with_stderr};
use super::super::vocabulary::Review;
use super::super::{Event, Hook};
use super::is_editor;
use super::vocabulary::VOCABULARY;
use crate::launch::Exit;
use crate::report::{Effect, Kind};

/// Events that decide whether something may happen.
pub(super) const PERMISSION: &[&str] =
    &["beforeMCPExecution", "beforeReadFile", "beforeShellExecution", "preToolUse", "subagentStart"];

/// The first editor in which the context of a session start was reported to arrive.
const EDITOR_WITH_CONTEXT: (u32, u32) = (3, 20);

pub(super) fn read(event: Event<'_>, hook: Hook<'_>) -> Vec<Effect> {
    let name = event.name();
    let gate = PERMISSION.contains(&name);
    let closed = hook.registration.is_some_and(|registration| registration.fail_closed);
    let failed = |why: String| {
        let mut effects = vec![Effect::because(Kind::Failed, why.clone())];
        if closed && gate {
            effects.push(Effect::because(Kind::Denied, format!("failClosed, and the hook failed: {why}")));
        }
        effects
    };
    if let Some(why) = hook.failed_to_run() {
        return failed(why);
    }
    let run = hook.run;
    match run.exit {
        Exit::Code { code: 0 } => {}
        Exit::Code { code } if name == "stop" => {
            return vec![Effect::because(
                Kind::Ignored,
                format!("exit {code}: exit codes mean nothing at stop"),
            )];
        }
        Exit::Code { code: 2 } if gate || name == "beforeSubmitPrompt" => {
            let reason = first_line(&run.stderr);
            return vec![Effect::because(
                Kind::Denied,
                if reason.is_empty() { "exit 2".to_owned() } else { reason },
            )];
        }
        _ => {
            let code = if let Exit::Code { code } = run.exit { code } else { -1 };
            return failed(with_stderr(format!("exit {code}"), &run.stderr));
        }
    }
    let stdout = String::from_utf8_lossy(&run.stdout);
    let trimmed = stdout.trim();
    if trimmed.is_empty() {
        return match (gate, is_editor(event.recording.version)) {
            (false, _) => Vec::new(),
            (true, false) => vec![Effect::because(
                Kind::Denied,
                "empty stdout from a permission event blocks the tool; print {\"permission\":\"allow\"}",
            )],
            (true, true) => vec![
                Effect::because(Kind::Ignored, "empty stdout: what the editor does then is not known")
                    .with_unknown_outcome(),
            ],
        };
    }
    let wrong = |why: String| {
        let effect = Effect::because(Kind::Failed, why);
        vec![
            if gate { effect.with_unknown_outcome() } else { effect },
            Effect::ignored("an answer that cannot be read", stdout.len()),
        ]
    };
    let Ok(value) = serde_json::from_str::<Value>(trimmed) else {
        let why = format!("stdout is always read as JSON, and this is {}", diagnose(trimmed));
        return wrong(if gate { format!("{why}; what becomes of the tool is not known") } else { why });
    };
    json(event, &value).unwrap_or_else(wrong)
}

fn json(event: Event<'_>, value: &Value) -> Result<Vec<Effect>, Wrong> {
    let name = event.name();
    let editor = is_editor(event.recording.version);
    let fields = Fields::of(value)?;
    let user = fields.text("user_message")?;
    let agent = fields.text("agent_message")?;
    let context = fields.text("additional_context")?.filter(|text| !text.is_empty());
    let mut effects = Vec::new();
    match name {
        _ if PERMISSION.contains(&name) => match fields.word("permission", &["allow", "deny", "ask"])? {
            Some("deny") => {
                effects.push(Effect::because(Kind::Denied, user.or(agent).unwrap_or("denied by a hook")));
                if user.is_none() && agent.is_some() {
                    effects.push(Effect::because(
                        Kind::Ignored,
                        "the model sees user_message; an agent_message alone was reported not to arrive",
                    ));
                }
            }
            Some("ask") => effects.push(Effect::because(Kind::Ignored, "permission ask is not enforced")),
            _ => {}
        },
        "beforeSubmitPrompt" => {
            if fields.flag("continue")? == Some(false) {
                effects.push(Effect::because(Kind::Denied, user.unwrap_or("continue is false")));
            }
            effects.extend(user.map(Effect::message));
        }
        "stop" | "subagentStop" => {
            let follow_up = fields.text("followup_message")?.filter(|text| !text.trim().is_empty());
            effects.extend(follow_up.map(|text| Effect::because(Kind::StopRefused, text)));
        }
        _ => effects.extend(user.map(Effect::message)),
    }
    effects.extend(review(name, value).lost.into_iter().map(|why| Effect::because(Kind::Ignored, why)));
    if let Some(context) = context {
        effects.push(match name {
            "sessionStart" if editor && version(event.recording.version) < EDITOR_WITH_CONTEXT => {
                Effect::ignored(
                    "this editor was reported not to hand the context of a session start on",
                    context.len(),
                )
            }
            "sessionStart" | "postToolUse" => Effect::context(context),
            "beforeSubmitPrompt" if editor => {
                Effect { why: Some("undocumented".to_owned()), ..Effect::context(context) }
            }
            _ => Effect::ignored(format!("additional_context is not read at {name}"), context.len()),
        });
    }
    Ok(effects)
}

/// What of an answer is not read; of context `json` speaks itself.
fn review(event: &str, value: &Value) -> Review {
    VOCABULARY.review(event, value, &["additional_context"], false)
}

pub(super) fn remarks(event: Event<'_>, hook: Hook<'_>) -> Vec<String> {
    let is_read = hook.failed_to_run().is_none() && matches!(hook.run.exit, Exit::Code { code: 0 });
    let value = serde_json::from_slice::<Value>(&hook.run.stdout).ok().filter(|_| is_read);
    value.map(|value| review(event.name(), &value).notes).unwrap_or_default()
}

fn version(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}
