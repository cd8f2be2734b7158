//! What Grok 1.0.41 makes of an answer.

use serde_json::Value;

use super::super::answer::{Fields, Wrong, diagnose, first_line, with_stderr};
use super::super::budget::first_characters;
use super::super::vocabulary::Review;
use super::super::{Event, Hook};
use super::vocabulary::VOCABULARY;
use crate::launch::Exit;
use crate::report::{Delivered, Effect, Kind};

/// More of a hook's text is clipped.
const VISIBLE_CHARACTERS: usize = 10_000;

/// Events whose stdout is looked at.
const READ_AT: &[&str] =
    &["PostToolUse", "PostToolUseFailure", "PreToolUse", "Stop", "SubagentStop", "UserPromptSubmit"];

pub(super) fn read(event: Event<'_>, hook: Hook<'_>) -> Vec<Effect> {
    if let Some(why) = hook.failed_to_run() {
        return vec![Effect::because(Kind::Failed, why)];
    }
    let run = hook.run;
    let code = if let Exit::Code { code } = run.exit { code } else { -1 };
    let stdout = String::from_utf8_lossy(&run.stdout);
    let trimmed = stdout.trim();
    let stderr = String::from_utf8_lossy(&run.stderr);
    let failed = || Effect::because(Kind::Failed, with_stderr(format!("exit {code}"), &run.stderr));

    if !READ_AT.contains(&event.name()) {
        let mut effects = if code == 0 { Vec::new() } else { vec![failed()] };
        if !trimmed.is_empty() {
            effects.push(Effect::ignored(
                format!("what a hook prints at {} is thrown away", event.name()),
                stdout.len(),
            ));
        }
        return effects;
    }
    // Text is no answer; what begins like one and cannot be read has failed.
    let document = serde_json::from_str::<Value>(trimmed).ok();
    if document.is_none() && trimmed.starts_with('{') && code != 2 {
        return vec![
            Effect::because(Kind::Failed, format!("the answer cannot be read: {}", diagnose(trimmed))),
            Effect::ignored("an answer that cannot be read", stdout.len()),
        ];
    }
    let review = document.as_ref().map(|value| review(event.name(), value, code)).unwrap_or_default();
    let answer = match document.filter(Value::is_object).map(|value| Answer::of(event.name(), &value)) {
        Some(Ok(answer)) => answer,
        Some(Err(wrong)) if code != 2 => {
            return vec![
                Effect::because(Kind::Failed, format!("the answer is refused: {wrong}")),
                Effect::ignored("an answer of the wrong shape", stdout.len()),
            ];
        }
        // The denial of exit 2 stands and carries the mistake.
        Some(Err(wrong)) => Answer { reason: Some(wrong), ..Answer::default() },
        None => Answer::default(),
    };
    let mut effects = match event.name() {
        "PreToolUse" => before_tool(code, answer, &stderr),
        "UserPromptSubmit" => prompt(code, answer, &stderr),
        "Stop" | "SubagentStop" => stop(event, code, answer, &stderr),
        name => after_tool(name, code, answer, &stderr),
    };
    if code != 0 && code != 2 {
        effects.insert(0, failed());
    }
    effects.extend(review.lost.into_iter().map(|why| Effect::because(Kind::Ignored, why)));
    if !trimmed.is_empty() && !trimmed.starts_with('{') {
        let why = if trimmed.contains('{') { diagnose(trimmed) } else { "plain text is not read".to_owned() };
        effects.push(Effect::ignored(
            format!("{why}; only hookSpecificOutput.additionalContext reaches the model"),
            stdout.len(),
        ));
    }
    effects
}

/// What of an answer is not read; of a prompt's context `prompt` speaks itself.
fn review(event: &str, value: &Value, code: i32) -> Review {
    let handled: &[&str] =
        if event == "UserPromptSubmit" { &["hookSpecificOutput.additionalContext"] } else { &[] };
    VOCABULARY.review(event, value, handled, code == 2)
}

pub(super) fn remarks(event: Event<'_>, hook: Hook<'_>) -> Vec<String> {
    let Exit::Code { code } = hook.run.exit else { return Vec::new() };
    if hook.failed_to_run().is_some() || !READ_AT.contains(&event.name()) {
        return Vec::new();
    }
    let value = serde_json::from_slice::<Value>(&hook.run.stdout).ok();
    value.map(|value| review(event.name(), &value, code).notes).unwrap_or_default()
}

#[derive(Default)]
struct Answer {
    decision: Option<String>,
    reason: Option<String>,
    context: Option<String>,
    ends: Option<String>,
}

impl Answer {
    fn of(event: &str, value: &Value) -> Result<Self, Wrong> {
        const WORDS: &[&str] = &["allow", "deny", "ask", "defer", "approve", "block"];
        let fields = Fields::of(value)?;
        if event == "PreToolUse" {
            VOCABULARY.wrong(event, value)?;
        }
        let specific = fields.object("hookSpecificOutput", "hookSpecificOutput")?;
        let inner = |key: &str| specific.map_or(Ok(None), |specific| specific.text(key));
        let permission = match specific {
            Some(specific) if event == "PreToolUse" => specific.word("permissionDecision", WORDS)?,
            _ => None,
        };
        let words = if event == "PreToolUse" { WORDS } else { &["block", "approve", "allow"] };
        let decision = permission.or(fields.word("decision", words)?);
        let reason = inner("permissionDecisionReason")?.or(fields.text("reason")?);
        let ends = (fields.flag("continue")? == Some(false))
            .then(|| fields.text("stopReason").map(|reason| reason.unwrap_or("continue is false").to_owned()))
            .transpose()?;
        Ok(Self {
            decision: decision.map(str::to_owned),
            reason: reason.map(str::to_owned),
            context: inner("additionalContext")?.filter(|text| !text.is_empty()).map(str::to_owned),
            ends,
        })
    }

    fn is(&self, words: &[&str]) -> bool {
        self.decision.as_deref().is_some_and(|decision| words.contains(&decision))
    }
}

fn before_tool(code: i32, answer: Answer, stderr: &str) -> Vec<Effect> {
    if code == 2 || answer.is(&["deny", "block"]) {
        let reason = answer.reason.filter(|reason| !reason.trim().is_empty());
        let reason = reason.unwrap_or_else(|| first_line(stderr.as_bytes()));
        let mut effects = vec![Effect::because(
            Kind::Denied,
            if reason.is_empty() { "denied by a hook".to_owned() } else { reason },
        )];
        effects.extend(
            answer.context.map(|text| Effect::ignored("a denied call carries no context", text.len())),
        );
        return effects;
    }
    if answer.is(&["defer"]) {
        return answer
            .context
            .map(|text| Effect::ignored("a defer carries no context", text.len()))
            .into_iter()
            .collect();
    }
    let mut effects = Vec::new();
    if answer.is(&["ask"]) {
        effects.push(Effect { why: answer.reason, ..Effect::new(Kind::Asked) });
    }
    if let Some(text) = answer.context {
        effects.push(if code == 0 {
            visible(&text, Some("after the call"))
        } else {
            Effect::ignored("a hook that exits with a failure loses its context", text.len())
        });
    }
    effects
}

fn after_tool(event: &str, code: i32, answer: Answer, stderr: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    if event == "PostToolUse" {
        let reason = answer.reason.filter(|_| answer.decision.as_deref() == Some("block"));
        let reason = reason.or_else(|| (code == 2).then(|| stderr.trim().to_owned()));
        effects.extend(
            reason.filter(|text| !text.is_empty()).map(|text| visible(&text, Some("with the tool's result"))),
        );
    } else if code == 2 {
        effects.push(Effect::because(Kind::Failed, with_stderr("exit 2".to_owned(), stderr.as_bytes())));
    }
    if let Some(text) = answer.context {
        effects.push(if code == 0 {
            visible(&text, Some("with the tool's result"))
        } else {
            Effect::ignored("a hook that exits with a failure loses its context", text.len())
        });
    }
    effects
}

fn prompt(code: i32, answer: Answer, stderr: &str) -> Vec<Effect> {
    if code == 2 || answer.is(&["block"]) {
        let reason = answer.reason.unwrap_or_else(|| stderr.trim().to_owned());
        return vec![Effect::because(Kind::Denied, reason.clone()), Effect::message(reason)];
    }
    answer
        .context
        .map(|text| Effect::ignored("what a prompt's hook says is thrown away, unless it blocks", text.len()))
        .into_iter()
        .collect()
}

fn stop(event: Event<'_>, code: i32, answer: Answer, stderr: &str) -> Vec<Effect> {
    let refusal = if answer.decision.is_some() {
        answer.reason.clone().filter(|_| answer.is(&["block"]))
    } else if code == 2 {
        Some(stderr.trim().to_owned())
    } else {
        None
    };
    let refusal = refusal.or(answer.context).filter(|text| !text.is_empty());
    let Some(text) = refusal else { return Vec::new() };
    if let Some(why) = answer.ends {
        return vec![Effect::message(format!("the turn is ended: {why}"))];
    }
    if event.name() == "Stop" && event.text("reason") != Some("end_turn") {
        let why = "the session ends: there is no turn to go on with (act on reason end_turn only)";
        return vec![Effect::ignored(why, text.len())];
    }
    vec![Effect::because(Kind::StopRefused, first_characters(&text, VISIBLE_CHARACTERS).text)]
}

fn visible(text: &str, where_to: Option<&str>) -> Effect {
    let shown = first_characters(text, VISIBLE_CHARACTERS);
    let why = where_to.map(str::to_owned);
    if shown.cut {
        let cut = format!("clipped at {VISIBLE_CHARACTERS} characters");
        let why = Some(why.map_or(cut.clone(), |why| format!("{why}; {cut}")));
        return Effect {
            bytes: Some(text.len()),
            delivered: Some(Delivered::Cut),
            why,
            ..Effect::context(shown.text)
        };
    }
    Effect { why, ..Effect::context(text) }
}
