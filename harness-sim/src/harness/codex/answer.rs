//! What Codex 0.171.0 makes of an answer.

use serde_json::Value;

use super::super::answer::{Fields, Wrong, before_json, diagnose, with_stderr};
use super::super::budget::{first_bytes, last_bytes};
use super::super::{Event, Hook};
use super::vocabulary::VOCABULARY;
use crate::launch::Exit;
use crate::report::{Delivered, Effect, Kind};

/// More than this of one hook does not reach the model whole.
const VISIBLE_BYTES: usize = 10_000;
/// A token is taken for so many bytes.
const BYTES_OF_A_TOKEN: u64 = 4;

const PLAIN_TEXT: &[&str] = &["SessionStart", "UserPromptSubmit"];

pub(super) fn read(event: Event<'_>, hook: Hook<'_>) -> Vec<Effect> {
    if let Some(why) = hook.failed_to_run() {
        let mut effects = vec![Effect::because(Kind::Failed, why)];
        if hook.run.timed_out && !hook.run.holders.is_empty() {
            let names: Vec<String> = hook
                .run
                .holders
                .iter()
                .map(|holder| format!("{} (pid {})", holder.name, holder.pid))
                .collect();
            effects.push(Effect::because(
                Kind::Failed,
                format!(
                    "the hook had ended, and Codex waited for its stdout, which {} held",
                    names.join(", ")
                ),
            ));
        }
        return effects;
    }
    let run = hook.run;
    let limit = limit(hook.registration.and_then(|registration| registration.context_limit));
    match run.exit {
        Exit::Code { code: 0 } => stdout(event, &String::from_utf8_lossy(&run.stdout), limit),
        Exit::Code { code: 2 } => {
            let mut effects = exit_2(event.name(), &String::from_utf8_lossy(&run.stderr), limit);
            if run.stdout.starts_with(b"{") {
                effects.push(Effect::because(
                    Kind::Ignored,
                    "exit 2 and JSON together: reported to fail open; use one of the two",
                ));
            }
            effects
        }
        Exit::Code { code } => {
            vec![Effect::because(Kind::Failed, with_stderr(format!("exit {code}"), &run.stderr))]
        }
        Exit::Signal { .. } | Exit::NotStarted { .. } => {
            vec![Effect::because(Kind::Failed, "it did not end by itself")]
        }
    }
}

/// The visible bytes of a registration; `None` without a limit.
fn limit(tokens: Option<u64>) -> Option<usize> {
    match tokens {
        None => Some(VISIBLE_BYTES),
        Some(0) => None,
        Some(tokens) => usize::try_from(tokens * BYTES_OF_A_TOKEN).ok(),
    }
}

fn exit_2(event: &str, stderr: &str, limit: Option<usize>) -> Vec<Effect> {
    let reason = stderr.trim();
    if reason.is_empty() {
        return vec![Effect::because(Kind::Failed, "exit 2 without a reason on stderr")];
    }
    match event {
        "PreToolUse" | "UserPromptSubmit" | "PermissionRequest" => {
            vec![Effect::because(Kind::Denied, reason)]
        }
        "Stop" | "SubagentStop" => vec![Effect::because(Kind::StopRefused, reason)],
        "PostToolUse" => vec![visible(reason, limit, Some("in the place of the tool's output"))],
        _ => vec![Effect::because(Kind::Failed, format!("exit 2: {reason}"))],
    }
}

fn stdout(event: Event<'_>, stdout: &str, limit: Option<usize>) -> Vec<Effect> {
    let name = event.name();
    let trimmed = stdout.trim();
    if trimmed.is_empty() {
        return Vec::new();
    }
    let refused = |why: String| {
        vec![
            Effect::because(Kind::Failed, format!("the answer is refused: {why}")),
            Effect::ignored("an answer that does not fit the schema", stdout.len()),
        ]
    };
    if trimmed.starts_with(['{', '[']) {
        return match serde_json::from_str::<Value>(trimmed) {
            Ok(value) => json(name, &value, limit).unwrap_or_else(refused),
            Err(_) if before_json(trimmed).is_some() => refused(format!(
                "text before the JSON document, and it begins with {}: Codex takes the whole for JSON, and it is none",
                &trimmed[..1]
            )),
            Err(_) => refused(diagnose(trimmed)),
        };
    }
    let doubt = before_json(trimmed)
        .map(|_| "text before the JSON document: Codex takes the whole as plain text".to_owned());
    if PLAIN_TEXT.contains(&name) {
        let context = visible(trimmed, limit, None);
        return vec![Effect { why: doubt.or(context.why.clone()), ..context }];
    }
    if matches!(name, "Stop" | "SubagentStop") {
        let what = doubt.unwrap_or_else(|| "plain text".to_owned());
        return refused(format!("{what}, where JSON or nothing is read"));
    }
    let why = match doubt {
        Some(doubt) => format!("{doubt}, which is not read at {name}"),
        None => format!("plain text is not read at {name}"),
    };
    vec![Effect::ignored(why, trimmed.len())]
}

/// Text for the model, within what it gets to see.
fn visible(text: &str, limit: Option<usize>, where_to: Option<&str>) -> Effect {
    let why = where_to.map(str::to_owned);
    let Some(limit) = limit.filter(|limit| text.len() > *limit) else {
        return Effect { why, ..Effect::context(text) };
    };
    let (first, last) = (first_bytes(text, limit / 2), last_bytes(text, limit / 2));
    let gone = text.len() - first.len() - last.len();
    // The words between are the simulator's.
    let shown = format!(
        "{first}\n[… {gone} bytes are not here; all of it is in a file that everybody can read …]\n{last}"
    );
    Effect {
        bytes: Some(text.len()),
        delivered: Some(Delivered::Cut),
        why: Some(format!(
            "{} bytes, where {limit} are the most: the first and last {}",
            text.len(),
            limit / 2
        )),
        ..Effect::context(shown)
    }
}

fn refuse_unknown(event: &str, fields: &Fields<'_>) -> Result<(), Wrong> {
    let (all, place) = fields.all();
    VOCABULARY.stranger(event, all, place).map_or(Ok(()), |field| Err(format!("unknown field {field}")))
}

fn json(event: &str, value: &Value, limit: Option<usize>) -> Result<Vec<Effect>, Wrong> {
    let fields = Fields::of(value)?;
    refuse_unknown(event, &fields)?;
    let goes_on = fields.flag("continue")?.unwrap_or(true);
    let stop_reason = fields.text("stopReason")?;
    let suppress = fields.flag("suppressOutput")?.unwrap_or(false);
    let message = fields.text("systemMessage")?;
    let words: &[&str] = if event == "PreToolUse" { &["approve", "block"] } else { &["block"] };
    let decision = fields.word("decision", words)?;
    let reason = fields.text("reason")?.map(str::trim).filter(|reason| !reason.is_empty());
    let specific = fields.object("hookSpecificOutput", "hookSpecificOutput")?;
    if let Some(specific) = &specific {
        refuse_unknown(event, specific)?;
        match specific.text("hookEventName")? {
            Some(named) if named == event => {}
            Some(named) => {
                return Err(format!("hookSpecificOutput.hookEventName is {named:?}, not {event:?}"));
            }
            None => return Err("hookSpecificOutput.hookEventName is missing".to_owned()),
        }
    }
    if matches!(event, "PreToolUse" | "PermissionRequest") {
        if !goes_on {
            return Err("continue:false is not supported here".to_owned());
        }
        if stop_reason.is_some() {
            return Err("stopReason is not supported here".to_owned());
        }
    }
    if suppress && matches!(event, "PreToolUse" | "PermissionRequest" | "PostToolUse") {
        return Err("suppressOutput is not supported here".to_owned());
    }
    if decision == Some("block") && reason.is_none() {
        return Err("decision:block without a reason".to_owned());
    }

    let mut effects: Vec<Effect> = message.map(Effect::message).into_iter().collect();
    if !goes_on {
        let why = stop_reason.unwrap_or("continue is false");
        effects.push(Effect::message(format!("the turn is ended: {why}")));
    }
    match event {
        "PreToolUse" => pre_tool_use(decision, reason, specific.as_ref(), &mut effects)?,
        "PermissionRequest" => permission_request(specific.as_ref(), &mut effects)?,
        "UserPromptSubmit" if decision.is_some() => {
            effects.push(Effect::because(Kind::Denied, reason.unwrap_or_default()));
        }
        "Stop" | "SubagentStop" if decision.is_some() => {
            effects.push(Effect::because(Kind::StopRefused, reason.unwrap_or_default()));
        }
        "PostToolUse" => {
            if decision.is_some() {
                let reason = reason.unwrap_or_default();
                effects.push(visible(reason, limit, Some("in the place of the tool's output")));
            } else if reason.is_some() && goes_on {
                return Err("reason without decision".to_owned());
            }
        }
        _ => {}
    }
    let context = match &specific {
        Some(specific) if event != "PermissionRequest" => specific.text("additionalContext")?,
        _ => None,
    };
    if let Some(context) = context.filter(|text| !text.trim().is_empty()) {
        effects.push(visible(context, limit, None));
    }
    Ok(effects)
}

fn pre_tool_use(
    decision: Option<&str>,
    reason: Option<&str>,
    specific: Option<&Fields<'_>>,
    effects: &mut Vec<Effect>,
) -> Result<(), Wrong> {
    let of_specific = |key: &str| specific.map_or(Ok(None), |specific| specific.text(key));
    let permission = match specific {
        Some(specific) => specific.word("permissionDecision", &["allow", "deny", "ask"])?,
        None => None,
    };
    let why = of_specific("permissionDecisionReason")?.map(str::trim).filter(|reason| !reason.is_empty());
    let updates = specific.is_some_and(|specific| specific.has("updatedInput"));
    if permission.is_none() && why.is_none() && !updates {
        return match decision {
            Some("approve") => Err("decision:approve is not supported".to_owned()),
            Some(_) => {
                effects.push(Effect::because(Kind::Denied, reason.unwrap_or_default()));
                Ok(())
            }
            None if reason.is_some() => Err("reason without decision".to_owned()),
            None => Ok(()),
        };
    }
    match permission {
        Some("ask") => Err("permissionDecision:ask is not supported; the tool runs".to_owned()),
        Some("allow") if updates => Ok(()),
        Some("allow") => Err("permissionDecision:allow is not supported; an empty answer allows".to_owned()),
        _ if updates => Err("updatedInput without permissionDecision:allow".to_owned()),
        Some(_) => {
            let why = why.ok_or("permissionDecision:deny without a permissionDecisionReason")?;
            effects.push(Effect::because(Kind::Denied, why));
            Ok(())
        }
        None => Err("permissionDecisionReason without permissionDecision".to_owned()),
    }
}

fn permission_request(specific: Option<&Fields<'_>>, effects: &mut Vec<Effect>) -> Result<(), Wrong> {
    const PLACE: &str = "hookSpecificOutput.decision";
    let Some(decision) = specific.map_or(Ok(None), |specific| specific.object("decision", PLACE))? else {
        return Ok(());
    };
    refuse_unknown("PermissionRequest", &decision)?;
    for field in ["updatedInput", "updatedPermissions"] {
        if decision.has(field) {
            return Err(format!("{PLACE}.{field} is not supported"));
        }
    }
    if decision.flag("interrupt")? == Some(true) {
        return Err(format!("{PLACE}.interrupt is not supported"));
    }
    match decision.word("behavior", &["allow", "deny"])? {
        Some("deny") => {
            let why = decision.text("message")?.unwrap_or("PermissionRequest hook denied approval");
            effects.push(Effect::because(Kind::Denied, why));
        }
        Some(_) => {}
        None => return Err(format!("{PLACE}.behavior is missing")),
    }
    Ok(())
}
