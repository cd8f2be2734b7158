//! What Codex does, rule by rule, with where it was seen.

use super::super::Rule;

const SEEN: &str = "2026-11-30, in the running program";
const SOURCE: &str = "source, an earlier version";

const fn rule(text: &'static str, seen: &'static str) -> Rule {
    Rule { text, version: "0.171.0", seen }
}

pub(super) const RULES: &[Rule] = &[
    rule(
        "hooks stand in hooks.json and config.toml of ~/.codex and of the project's .codex; all of them add up",
        SEEN,
    ),
    rule(
        "one mistake in hooks.json rejects the whole file: no strict JSON, a byte-order mark, an empty file, another key than `description` and `hooks` at the root, an entry without command, an unknown type, a timeout that is no whole number",
        SEEN,
    ),
    rule(
        "with a config.toml that it cannot read, the user's or a trusted project's, or that has a hook of an unknown type, Codex says where and does not start",
        SEEN,
    ),
    rule(
        "a project's hooks run when the project is trusted and each hook's hash is; untrusted ones, and those that the person has switched off, are skipped silently",
        SEEN,
    ),
    rule(
        "a matcher of letters, digits, _ and | is a list of whole names; anything else is a regular expression that may match anywhere; an invalid one drops its hooks",
        SOURCE,
    ),
    rule("the hooks of one event run beside each other; nothing is de-duplicated", SOURCE),
    rule("a hook is $SHELL -c COMMAND, not a login shell, and leads its process group", SEEN),
    rule("timeouts are in whole seconds: 600; at SessionEnd 1, at most 3; at Interrupt at most 3", SEEN),
    rule(
        "a hook is finished when its output is at its end: a grandchild that holds stdout keeps the session waiting until the timeout, and then the output is lost",
        SEEN,
    ),
    rule(
        "at a timeout the process group is killed without TERM; a child in a session of its own survives",
        SEEN,
    ),
    rule(
        "exit 0 and plain text: context at SessionStart and UserPromptSubmit, an error at Stop, nothing elsewhere",
        SEEN,
    ),
    rule(
        "text that begins with { or [ and does not fit the event's schema fails the hook; unknown fields do not fit",
        SEEN,
    ),
    rule(
        "PreToolUse: deny with a reason; ask, a bare allow, continue:false, stopReason and suppressOutput fail the hook, and the tool runs",
        SEEN,
    ),
    rule("PostToolUse: block replaces the tool's output by the reason", SEEN),
    rule("Stop: decision block with a reason, without any limit", SEEN),
    rule("exit 2 with a text on stderr denies, blocks, refuses; without one the hook failed", SOURCE),
    rule("exit 2 and JSON together are reported to fail open", "reported"),
    rule(
        "10,000 bytes of one hook reach the model whole, or what additionalContextLimit says in tokens; past it the first and last 5,000 and a file",
        SEEN,
    ),
    rule(
        "after a compaction SessionStart with the source compact: after an automatic one in the same turn, after a manual one at the next prompt",
        SEEN,
    ),
    rule("the terminal program's daemon has several sessions in one process", SEEN),
];
