//! What Grok does, rule by rule, with where it was seen.

use super::super::Rule;

const SEEN: &str = "2026-11-30, in the running program";
const TEXT: &str = "2026-11-30, in the program's text";
const GUIDE: &str = "documented in the guide that the program carries";

const fn rule(text: &'static str, seen: &'static str) -> Rule {
    Rule { text, version: "1.0.41", seen }
}

pub(super) const RULES: &[Rule] = &[
    rule(
        "hooks stand in .grok/hooks/*.json of the project and of the home, and in ~/.grok/config.toml",
        SEEN,
    ),
    rule(
        "it runs the hooks of .claude/settings.json, too, with its own payload and environment; two registrations are two firings",
        SEEN,
    ),
    rule(
        "a file that is no strict JSON, has a byte-order mark, is empty, or has an event or a timeout of the wrong shape is rejected, without a word in print mode; another bad entry costs only itself",
        SEEN,
    ),
    rule("a relative program stands beside the file that registers it; an entry may set variables", GUIDE),
    rule(
        "`[compat]` switches, disabled-hooks, enforced hooks, and Grok's own $VAR expansion in commands",
        "not played",
    ),
    rule("it runs the hooks of .cursor/hooks.json where they have the nested form", SEEN),
    rule("a project's hooks run when the folder is trusted, and are skipped silently otherwise", SEEN),
    rule(
        "a matcher is a regular expression that may match anywhere; Claude Code's names of tools are known, too",
        GUIDE,
    ),
    rule(
        "an invalid regular expression as matcher drops its hook; whether more of the file goes with it is not known",
        TEXT,
    ),
    rule(
        "SessionStart has the source new or load, whatever the guide says: a matcher `startup` never matches",
        SEEN,
    ),
    rule("a matcher at Stop and UserPromptSubmit is not looked at", GUIDE),
    rule("handlers run one after the other until one denies; identical ones run once", GUIDE),
    rule(
        "timeouts are in seconds: 5; 600 at Stop, SubagentStop, PostToolUse and PostToolUseFailure; 30 at UserPromptSubmit; 1.5 at SessionEnd; a hook that times out fails open",
        GUIDE,
    ),
    rule("what is killed at a timeout, and whether it waits for the end of stdout", "not known"),
    rule("SessionStart is not waited for and its stdout is ignored", SEEN),
    rule(
        "UserPromptSubmit: exit 2 or decision block, on any exit code, blocks the prompt; anything else is thrown away",
        SEEN,
    ),
    rule(
        "PreToolUse: deny on any exit code, or exit 2; ask, defer and additionalContext, which arrives after the call",
        GUIDE,
    ),
    rule(
        "PreToolUse: updatedInput has to be an object, or the hook fails; parts of an answer that are not read there are ignored",
        GUIDE,
    ),
    rule("PostToolUse: a block reason and additionalContext reach the model; exit 2 hands it stderr", GUIDE),
    rule(
        "Stop: block or additionalContext, at most 8 times; only where reason is end_turn: another Stop with reason shutdown fires at exit",
        SEEN,
    ),
    rule("text for the model is clipped at 10,000 characters", GUIDE),
    rule("a prompt does not wait for the hooks of SessionStart: they run beside each other", SEEN),
    rule("a compaction fires PreCompact and no SessionStart", SEEN),
];
