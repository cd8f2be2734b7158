//! What Cursor does, rule by rule. None of it was seen here.

use super::super::Rule;

const DOCUMENTED: &str = "documented";
const REPORTED: &str = "reported";

const fn rule(text: &'static str, seen: &'static str) -> Rule {
    Rule { text, version: "2026.07–2026.10, 3.9–3.23", seen }
}

pub(super) const RULES: &[Rule] = &[
    rule(
        "hooks stand in .cursor/hooks.json of the project and of the home, version 1, flat entries, absolute commands",
        DOCUMENTED,
    ),
    rule("a command that contains scheme:// makes the command line program drop the whole file", REPORTED),
    rule(
        "it runs the hooks of .claude/settings.json, too, with its own payload and without their args",
        REPORTED,
    ),
    rule("a user's hooks run in ~/.cursor, the others in the project", REPORTED),
    rule("a matcher is a JavaScript regular expression that may match anywhere", DOCUMENTED),
    rule(
        "what becomes of a matcher that is no regular expression: it is taken as matching nothing",
        "not known",
    ),
    rule("identical commands run once", REPORTED),
    rule(
        "the order of hooks, their session, what is killed at a timeout and whether it waits for the end of stdout",
        "not known",
    ),
    rule(
        "timeouts are in seconds, 60 by default; a hook that fails lets the tool through unless failClosed",
        DOCUMENTED,
    ),
    rule("stdout is always read as JSON", REPORTED),
    rule(
        "empty stdout from a permission event blocks the tool in the command line program, also through a Claude Code registration",
        REPORTED,
    ),
    rule(
        "what the editor does with empty stdout, and either with invalid JSON from a permission event",
        "not known",
    ),
    rule(
        "what becomes of a field that is not documented, not of this event, or of another type: nothing is taken to come of it",
        "not known",
    ),
    rule("permission deny: the model sees user_message; ask is not enforced", REPORTED),
    rule("exit 2 denies; at stop exit codes mean nothing", DOCUMENTED),
    rule(
        "sessionStart: additional_context reaches the model in the command line program and in 3.20.17, not in 3.12.17",
        REPORTED,
    ),
    rule(
        "beforeSubmitPrompt: continue and user_message; an undocumented additional_context works in the editor",
        REPORTED,
    ),
    rule(
        "stop: followup_message, at most 4 times with the default loop_limit of 5; no limit for hooks in Claude Code's form",
        REPORTED,
    ),
    rule("preCompact can only tell the user something", DOCUMENTED),
    rule(
        "a Write first fires preToolUse for Read with the same tool_use_id; denying that denies the write",
        REPORTED,
    ),
    rule("in the editor sessionStart and beforeSubmitPrompt run beside each other", REPORTED),
    rule("loop_count of a stop counts the follow-ups; subagentStop has the same limit", DOCUMENTED),
];
