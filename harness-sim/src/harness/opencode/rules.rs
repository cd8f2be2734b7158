//! What OpenCode does, rule by rule, with where it was seen.

use super::super::Rule;

const SEEN: &str = "2026-11-30, in the running program";
const SOURCE: &str = "2026-11-30, in the program's text";
const NOT_PLAYED: &str = "not played";

const fn rule(text: &'static str, seen: &'static str) -> Rule {
    Rule { text, version: "1.18.33", seen }
}

pub(super) const RULES: &[Rule] = &[
    rule(
        "no command hooks: plugins run in its own process; .ts and .js directly in plugin/ and plugins/ of ~/.config/opencode (XDG_CONFIG_HOME), of every .opencode up to the top of the repository, of ~/.opencode and of OPENCODE_CONFIG_DIR; no .mjs; no trust is asked",
        SEEN,
    ),
    rule("the order of files within a folder is not fixed; the simulator takes them by name", SEEN),
    rule(
        "every function that a module exports is called as a plugin, one after the other; another export makes the whole module fail",
        SEEN,
    ),
    rule("event handlers are not awaited", SEEN),
    rule("chat.message is awaited; a part that is pushed there reaches every later request", SEEN),
    rule(
        "experimental.chat.system.transform may push a system message on every request, that for the title included",
        SEEN,
    ),
    rule(
        "an event or config handler that throws, and a module that throws or does not parse, are passed over; a tool.execute.after that throws gives the model its words in the place of the tool's result",
        "2026-12-01, in the running program",
    ),
    rule(
        "tool.execute.before: a plugin that throws blocks the call, with its message; no tool.execute.after follows",
        SEEN,
    ),
    rule(
        "promptAsync at session.created joins the first request; at session.idle it starts a turn, in `run` it only leaves a message",
        SEEN,
    ),
    rule(
        "dispose is awaited, one plugin after the other, at the end of `run` and at Ctrl+C in the TUI; not at signals",
        SEEN,
    ),
    rule(
        "a module in the form { id, server } has only its server called; npm plugins; permissions, auth, tools and parameters of plugins; files with types in them",
        NOT_PLAYED,
    ),
    rule(
        "where a recording does not say how OpenCode ran, the simulator plays the TUI, whose plugins do not see the command line",
        SOURCE,
    ),
];
