//! What Claude Code 2.1.332 makes of an answer.

use serde_json::Value;

use super::super::answer::{Fields, Wrong, diagnose, first_line, with_stderr};
use super::super::budget::first_units;
use super::super::vocabulary::Review;
use super::super::{Event, Hook};
use super::vocabulary::{CONTEXT, VOCABULARY};
use crate::launch::Exit;
use crate::report::{Delivered, Effect, Kind};

/// More than this of one hook does not reach the model whole. UTF-16 units, because the program is JavaScript.
const VISIBLE_UNITS: usize = 10_000;
/// What of it does.
const PREVIEW_UNITS: usize = 2_000;

/// Events whose plain stdout the model reads.
const PLAIN_TEXT: &[&str] = &["SessionStart", "UserPromptSubmit"];
pub(super) fn read(event: Event<'_>, hook: Hook<'_>) -> Vec<Effect> {
    if let Some(why) = hook.failed_to_run() {
        return vec![Effect::because(Kind::Failed, why)];
    }
    let run = hook.run;
    match run.exit {
        Exit::Code { code: 0 } => stdout(event, &String::from_utf8_lossy(&run.stdout)),
        Exit::Code { code: 2 } => exit_2(event.name(), &String::from_utf8_lossy(&run.stderr)),
        _ => {
            let code = match run.exit {
                Exit::Code { code } => code,
                _ => -1,
            };
            let hint = match code {
                127 => " (not found)",
                126 => " (not executable)",
                _ => "",
            };
            let mut effects =
                vec![Effect::because(Kind::Failed, with_stderr(format!("exit {code}{hint}"), &run.stderr))];
            if !run.stdout.is_empty() {
                effects.push(Effect::ignored("stdout of a hook that failed", run.stdout.len()));
            }
            effects
        }
    }
}

fn exit_2(event: &str, stderr: &str) -> Vec<Effect> {
    let reason = stderr.trim();
    let reason = if reason.is_empty() { "Blocked by hook" } else { reason };
    match event {
        "PreToolUse" | "PermissionRequest" | "PreCompact" | "UserPromptExpansion" | "PreModelSwitch" => {
            vec![Effect::because(Kind::Denied, reason)]
        }
        // The prompt is erased, and the reason is for the user.
        "UserPromptSubmit" => vec![Effect::because(Kind::Denied, reason), Effect::message(reason)],
        "Stop" | "SubagentStop" => vec![Effect::because(Kind::StopRefused, reason)],
        "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" => vec![visible(reason)],
        _ => vec![
            Effect::because(Kind::Ignored, format!("exit 2 blocks nothing at {event}")),
            Effect::message(reason),
        ],
    }
}

fn stdout(event: Event<'_>, stdout: &str) -> Vec<Effect> {
    let trimmed = stdout.trim();
    if trimmed.is_empty() {
        return Vec::new();
    }
    if !trimmed.starts_with('{') {
        return plain(event.name(), trimmed, None);
    }
    match serde_json::from_str::<Value>(trimmed) {
        Ok(value) => match json(event, &value) {
            Ok(effects) => effects,
            Err(wrong) => vec![
                Effect::because(Kind::Failed, format!("the answer is refused: {wrong}")),
                Effect::ignored("an answer of the wrong shape", stdout.len()),
            ],
        },
        Err(_) => plain(event.name(), trimmed, Some(diagnose(trimmed))),
    }
}

/// Text as it is. `doubt` says what is wrong with it where it was perhaps meant to be JSON.
fn plain(event: &str, text: &str, doubt: Option<String>) -> Vec<Effect> {
    // A JSON document behind other text was surely meant.
    let doubt = doubt.or_else(|| Some(diagnose(text)).filter(|why| why.contains("before the JSON")));
    let note = doubt.map(|why| format!("read as plain text: {why}"));
    if PLAIN_TEXT.contains(&event) {
        let context = visible(text);
        return vec![Effect { why: note.or(context.why.clone()), ..context }];
    }
    if event == "PreCompact" {
        let first = first_units(text, VISIBLE_UNITS);
        let delivered = if first.len() < text.len() { Delivered::Cut } else { Delivered::Whole };
        return vec![Effect {
            why: Some("among the summariser's instructions".to_owned()),
            bytes: Some(text.len()),
            delivered: Some(delivered),
            ..Effect::context(first)
        }];
    }
    let why = note.unwrap_or_else(|| {
        format!("plain text reaches the model at SessionStart and UserPromptSubmit only, not at {event}")
    });
    vec![Effect::ignored(why, text.len())]
}

/// Text for the model, within what it gets to see.
fn visible(text: &str) -> Effect {
    let units: usize = text.chars().map(char::len_utf16).sum();
    if units <= VISIBLE_UNITS {
        return Effect::context(text);
    }
    let preview = first_units(text, PREVIEW_UNITS);
    // The harness's own words; the path is made up.
    let shown = format!(
        "<persisted-output>\nOutput too large ({}.{}KB). Full output saved to: <a file of this session>\n\nPreview (first 2KB):\n{preview}\n...\n</persisted-output>",
        text.len() / 1024,
        text.len() % 1024 * 10 / 1024
    );
    Effect {
        bytes: Some(text.len()),
        delivered: Some(Delivered::Preview),
        why: Some(format!(
            "{units} characters, where {VISIBLE_UNITS} are the most: the first {PREVIEW_UNITS} and the name of a file"
        )),
        ..Effect::context(shown)
    }
}

fn json(event: Event<'_>, value: &Value) -> Result<Vec<Effect>, Wrong> {
    let name = event.name();
    let fields = Fields::of(value)?;
    let goes_on = fields.flag("continue")?.unwrap_or(true);
    let stop_reason = fields.text("stopReason")?;
    fields.flag("suppressOutput")?;
    let message = fields.text("systemMessage")?;
    let decision = fields.word("decision", &["approve", "block"])?;
    let reason = fields.text("reason")?;
    let specific = fields.object("hookSpecificOutput", "hookSpecificOutput")?;

    let mut effects = Vec::new();
    if fields.flag("async")? == Some(true) {
        effects.push(Effect::because(
            Kind::Ignored,
            "async: the hook goes on in the background, and decides nothing",
        ));
        return Ok(effects);
    }
    VOCABULARY.wrong(name, value)?;
    let lost = review(name, value).lost;
    effects.extend(lost.into_iter().map(|why| Effect::because(Kind::Ignored, why)));
    if let Some(message) = message {
        effects.push(Effect::message(message));
    }
    if !goes_on {
        let why = stop_reason.unwrap_or("continue is false");
        effects.push(match name {
            "PreToolUse" | "UserPromptSubmit" | "PermissionRequest" => Effect::because(Kind::Denied, why),
            _ => Effect::message(format!("the turn is ended: {why}")),
        });
    }
    if decision == Some("block") {
        effects.extend(block(name, reason.unwrap_or("Blocked by hook")));
    }
    if let Some(specific) = specific {
        let named = specific.text("hookEventName")?;
        match named {
            None => return Err("hookSpecificOutput.hookEventName is missing".to_owned()),
            Some(named) if named != name => {
                let why = format!("hookSpecificOutput is for {named}, and this is {name}");
                // The block stands; without one the hook has failed.
                let kind = if decision == Some("block") { Kind::Ignored } else { Kind::Failed };
                effects.push(Effect::because(kind, why));
            }
            Some(_) => specific_to(event, &specific, reason, &mut effects)?,
        }
    }
    Ok(effects)
}

/// What of an answer is not read.
fn review(event: &str, value: &Value) -> Review {
    let named = value.pointer("/hookSpecificOutput/hookEventName").and_then(Value::as_str);
    // Of another event's output, and of context where none is read, `json` speaks itself.
    let handled: &[&str] = match named {
        Some(named) if named != event => &["hookSpecificOutput"],
        _ => &["hookSpecificOutput.additionalContext"],
    };
    VOCABULARY.review(event, value, handled, false)
}

pub(super) fn remarks(event: Event<'_>, hook: Hook<'_>) -> Vec<String> {
    let is_read = hook.failed_to_run().is_none() && matches!(hook.run.exit, Exit::Code { code: 0 });
    let value = serde_json::from_slice::<Value>(&hook.run.stdout).ok().filter(|_| is_read);
    value.map(|value| review(event.name(), &value).notes).unwrap_or_default()
}

fn block(event: &str, reason: &str) -> Vec<Effect> {
    match event {
        "PreToolUse" | "PermissionRequest" | "PreCompact" | "UserPromptExpansion" => {
            vec![Effect::because(Kind::Denied, reason)]
        }
        "UserPromptSubmit" => vec![Effect::because(Kind::Denied, reason), Effect::message(reason)],
        "Stop" | "SubagentStop" => vec![Effect::because(Kind::StopRefused, reason)],
        "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" => vec![visible(reason)],
        _ => vec![Effect::because(Kind::Ignored, format!("decision block means nothing at {event}"))],
    }
}

fn specific_to(
    event: Event<'_>,
    specific: &Fields<'_>,
    reason: Option<&str>,
    effects: &mut Vec<Effect>,
) -> Result<(), Wrong> {
    let name = event.name();
    if name == "PreToolUse" {
        let why = specific.text("permissionDecisionReason")?.or(reason);
        match specific.word("permissionDecision", &["allow", "deny", "ask", "defer"])? {
            Some("deny") => effects.push(Effect::because(Kind::Denied, why.unwrap_or("Blocked by hook"))),
            Some("ask") if event.recording.is_headless() => effects.push(Effect::because(
                Kind::Denied,
                with_stderr(
                    "asked, and in print mode nobody can be asked".to_owned(),
                    why.unwrap_or("").as_bytes(),
                ),
            )),
            Some("ask") => effects.push(Effect { why: why.map(str::to_owned), ..Effect::new(Kind::Asked) }),
            _ => {}
        }
    }
    if name == "PermissionRequest"
        && let Some(decision) = specific.object("decision", "hookSpecificOutput.decision")?
        && decision.word("behavior", &["allow", "deny"])? == Some("deny")
    {
        let why = decision.text("message")?.unwrap_or("Blocked by hook");
        effects.push(Effect::because(Kind::Denied, why));
    }
    let Some(context) = specific.text("additionalContext")?.filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    if !CONTEXT.contains(&name) {
        effects.push(Effect::ignored(format!("additionalContext is not read at {name}"), context.len()));
        return Ok(());
    }
    effects.push(visible(context));
    if matches!(name, "Stop" | "SubagentStop") {
        effects.push(Effect::because(
            Kind::StopRefused,
            format!("additionalContext prompts the model again: {}", first_line(context.as_bytes())),
        ));
    }
    Ok(())
}
