//! What Claude Code does, rule by rule, with where it was seen.

use super::super::Rule;

const SEEN: &str = "2026-11-30, in the running program";
const SOURCE: &str = "2026-11-30, in the program's text";

const fn rule(text: &'static str, seen: &'static str) -> Rule {
    Rule { text, version: "2.1.332", seen }
}

pub(super) const RULES: &[Rule] = &[
    rule(
        "hooks stand in .claude/settings.json and settings.local.json of the folder it was started in, and in ~/.claude/settings.json; a subdirectory does not load the repository root's",
        SEEN,
    ),
    rule(
        "a settings file that is no strict JSON has no effect as a whole, which stderr says; a byte-order mark and an empty file do no harm; any other mistake costs only its entry",
        SEEN,
    ),
    rule("disableAllHooks in any of the files silences every hook", SEEN),
    rule("in the terminal program the project's trust is asked for; in print mode it is not", SEEN),
    rule(
        "a matcher that is absent, empty or * takes everything; letters, digits, _, -, spaces, commas and | are a list of whole names; anything else is a regular expression that may match anywhere",
        SOURCE,
    ),
    rule("an invalid regular expression as matcher takes nothing; only the debug log says so", SOURCE),
    rule(
        "a matcher is compared with tool_name, source, reason, trigger, notification_type or agent_type, by event; UserPromptSubmit and Stop have none",
        SOURCE,
    ),
    rule("the hooks of one event run beside each other; identical commands run once", SEEN),
    rule(
        "a hook is /bin/sh -c COMMAND, or the program itself where args are given; it leads a session of its own, without a terminal",
        SEEN,
    ),
    rule(
        "timeouts are in seconds: 600, 30 at UserPromptSubmit; at SessionEnd all hooks together have the largest of their own timeouts, at least 1.5 and at most 60",
        SEEN,
    ),
    rule(
        "at a timeout TERM goes to the whole tree, also into other sessions; what is left 1.5 s later is killed; the output is dropped",
        SEEN,
    ),
    rule("a hook is finished at its exit: a grandchild that holds stdout delays nothing", SEEN),
    rule(
        "exit 0 and plain text: context at SessionStart and UserPromptSubmit, instructions of the summariser at PreCompact, nothing elsewhere",
        SEEN,
    ),
    rule("text that begins with { and is no valid JSON is plain text", SEEN),
    rule("JSON with a field of the wrong type is refused, and the hook counts as failed", SOURCE),
    rule("unknown fields, and those that are another event's, are ignored", SOURCE),
    rule(
        "hookSpecificOutput.hookEventName has to be the event's; with another one the hook fails, but a decision of block stands",
        SOURCE,
    ),
    rule("PreToolUse: permissionDecision allow, deny, ask or defer; ask is a denial in print mode", SEEN),
    rule(
        "exit 2: denies a tool, refuses a stop, erases a prompt, blocks a compaction; after a tool its stderr goes to the model",
        SEEN,
    ),
    rule(
        "any other exit, a missing program, a timeout: the hook failed, its output is dropped, the tool runs",
        SEEN,
    ),
    rule(
        "Stop: decision block with a reason, or additionalContext, prompts the model again, at most 8 times",
        SEEN,
    ),
    rule("more than 10,000 UTF-16 units of one hook reach the model as a preview of 2,000 and a file", SEEN),
    rule(
        "a refused stop comes again with stop_hook_active; the ninth refusal in a row is not obeyed (reported: a tool that runs in between starts the count anew)",
        SEEN,
    ),
    rule(
        "a compaction fires PreCompact, a SubagentStop without an agent_type, SessionStart with the source compact and the same session_id, and PostCompact",
        SEEN,
    ),
    rule("which of the last two comes first", "not known"),
    rule("a compaction that is blocked is asked for again", SEEN),
    rule(
        "clear and fork begin a session with another id in the same process; a prompt waits for the session's open",
        SEEN,
    ),
];
