//! What Pi does, rule by rule, with where it was seen.

use super::super::Rule;

const SEEN: &str = "2026-11-30, in the running program";
const SOURCE: &str = "2026-11-30, in the program's text";
const NOT_PLAYED: &str = "not played";

const fn rule(text: &'static str, seen: &'static str) -> Rule {
    Rule { text, version: "1.6.0", seen }
}

pub(super) const RULES: &[Rule] = &[
    rule(
        "no command hooks: extensions run in its own process; .ts and .js directly in .pi/extensions of the project's folder and of ~/.pi/agent (PI_CODING_AGENT_DIR moves that), and folders there with an index or a package.json that names them; no .mjs",
        SEEN,
    ),
    rule(
        "an extensions folder that has an index or such a package.json itself is one extension, and the files beside are not seen",
        SOURCE,
    ),
    rule(
        "a project's extensions load when it is trusted, and are skipped silently in print mode otherwise",
        SEEN,
    ),
    rule(
        "handlers run one after the other, each awaited, without a limit; the project's before the user's",
        SEEN,
    ),
    rule("a handler that throws is reported on stderr and the run goes on", SEEN),
    rule(
        "tool_call: `block` denies with its reason; a handler that throws denies with its message; no tool_result follows",
        SEEN,
    ),
    rule(
        "before_agent_start: every handler's message goes with the request, as a user's, after the prompt",
        SEEN,
    ),
    rule("a message that is sent in session_start is a part of the session before the first prompt", SEEN),
    rule(
        "new, resume and fork run the factories of the same modules again; what the old ones were given throws from then on; /reload loads the modules anew",
        SEEN,
    ),
    rule("session_shutdown is awaited at quit", SEEN),
    rule("in print mode the process ends when nothing references it, also in the middle of a handler", SEEN),
    rule(
        "settings that add or switch off extensions, packages, ignore files, flags; input, context and provider events; tools and commands of extensions; packages that an extension imports",
        NOT_PLAYED,
    ),
    rule(
        "an extension that cannot be loaded ends Pi with exit code 1, which names it",
        "2026-12-01, in the running program",
    ),
    rule(
        "tool_call: a `block` that is a text denies as well; before_agent_start: a `message` that is a text gives the model nothing; an unknown event or field is passed over, all without a word",
        "2026-12-01, in the running program",
    ),
    rule(
        "ui.notify is not shown in print mode; what an extension prints is",
        "2026-12-01, in the running program",
    ),
];
