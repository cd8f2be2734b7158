//! The scenarios of those who load files into their own process: extensions of Pi, plugins of OpenCode.

use live_e2e::Agent;

use crate::known;
use crate::scenario::{Hooks, Scenario};
use crate::texts;

const TEXT: &str = "FIDELITY-amber-lighthouse-speaks";
const OTHER: &str = "WINTER-GARDEN-replied";

/// What every file has: `log(WORD)` and `later(MILLISECONDS)`.
const HEAD: &str = "import { appendFileSync } from \"node:fs\";\n\
    const log = (word) => appendFileSync(\"{log}\", word + \"\\n\");\n\
    const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));\n";

fn row(agent: Agent, name: &'static str, files: &[(&'static str, &str)], texts: &[&str]) -> Scenario {
    let files = files.iter().map(|(file, text)| (*file, format!("{HEAD}{text}\n"))).collect();
    Scenario {
        agent,
        name,
        hooks: Hooks::Modules(files),
        is_repository: true,
        calls_tool: true,
        texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        user: None,
        beside: false,
        known: known::difference(agent, name),
    }
}

/// Pi's.
pub(crate) fn pi() -> Vec<Scenario> {
    let one = |name, body: &str, texts: &[&str]| {
        row(Agent::Pi, name, &[("one.js", &format!("export default function (pi) {{ {body} }}"))], texts)
    };
    let two = |name, first: &str, second: &str, texts: &[&str]| {
        let file = |body: &str| format!("export default function (pi) {{ {body} }}");
        row(Agent::Pi, name, &[("a.js", &file(first)), ("b.js", &file(second))], texts)
    };
    let on = |event: &str, body: &str| format!("pi.on(\"{event}\", async (event, ctx) => {{ {body} }});");
    let message = |text: &str| {
        on(
            "before_agent_start",
            &format!("return {{ message: {{ customType: \"f\", content: \"{text}\", display: true }} }};"),
        )
    };
    let throws = |event: &str| on(event, &format!("log(\"hook\"); throw new Error(\"{TEXT}\");"));
    let seen = |scenario: Scenario| Scenario { user: Some(TEXT.to_owned()), ..scenario };
    let long = texts::plain(50_000);
    let good = on("session_start", "log(\"good\");");
    vec![
        one(
            "deny",
            &on("tool_call", &format!("log(\"hook\"); return {{ block: true, reason: \"{TEXT}\" }};")),
            &[TEXT],
        ),
        one("deny_without_a_reason", &on("tool_call", "log(\"hook\"); return { block: true };"), &[]),
        one(
            "block_that_is_not_true",
            &on("tool_call", &format!("return {{ block: \"yes\", reason: \"{TEXT}\" }};")),
            &[TEXT],
        ),
        one("tool_call_throws", &throws("tool_call"), &[TEXT]),
        one("message_before_the_agent_starts", &message(TEXT), &[TEXT]),
        Scenario { texts: vec![long.clone()], ..one("50000_characters", &message(&long), &[]) },
        one(
            "message_that_is_not_displayed",
            &message(TEXT).replace("display: true", "display: false"),
            &[TEXT],
        ),
        one(
            "message_at_session_start",
            &on(
                "session_start",
                &format!("pi.sendMessage({{ customType: \"f\", content: \"{TEXT}\", display: true }});"),
            ),
            &[TEXT],
        ),
        seen(one("session_start_throws", &throws("session_start"), &[])),
        seen(one("before_agent_start_throws", &throws("before_agent_start"), &[])),
        // The tool's word is the player's own on the simulator, and comes behind.
        Scenario { beside: true, ..seen(one("tool_result_throws", &throws("tool_result"), &[])) },
        seen(one("session_shutdown_throws", &throws("session_shutdown"), &[])),
        two("two_extensions", &message(TEXT), &message(OTHER), &[TEXT, OTHER]),
        two(
            "two_extensions_one_denies",
            &on("tool_call", &format!("log(\"one\"); return {{ block: true, reason: \"{TEXT}\" }};")),
            &on("tool_call", "log(\"two\");"),
            &[TEXT],
        ),
        two("two_extensions_one_throws", &throws("tool_call"), &on("tool_call", "log(\"two\");"), &[TEXT]),
        two(
            "two_extensions_one_factory_throws",
            &format!("log(\"bad\"); throw new Error(\"{TEXT}\");"),
            &good,
            &[],
        ),
        row(
            Agent::Pi,
            "export_that_is_no_function",
            &[("a.js", "export default 3;"), ("b.js", &format!("export default function (pi) {{ {good} }}"))],
            &[],
        ),
        row(
            Agent::Pi,
            "syntax_error",
            &[
                ("a.js", "export default function (pi) {{"),
                ("b.js", &format!("export default function (pi) {{ {good} }}")),
            ],
            &[],
        ),
        row(
            Agent::Pi,
            "mjs_is_not_loaded",
            &[("one.mjs", &format!("export default function (pi) {{ {good} }}"))],
            &[],
        ),
        row(
            Agent::Pi,
            "async_factory",
            &[("one.js", &format!("export default async function (pi) {{ await later(300); {good} }}"))],
            &[],
        ),
        one(
            "slow_handlers_are_awaited",
            &(on("session_start", "await later(300); log(\"open\");")
                + &on("before_agent_start", "log(\"asked\"); await later(300); log(\"ready\");")
                + &on("tool_call", "await later(300); log(\"call\");")
                + &on("session_shutdown", "await later(300); log(\"down\");")),
            &[],
        ),
    ]
}

/// OpenCode's.
pub(crate) fn opencode() -> Vec<Scenario> {
    const AGENT: Agent = Agent::OpenCode;
    let plugin = |hooks: &str| format!("export const Plugin = async () => ({{ {hooks} }});");
    let one = |name, hooks: &str, texts: &[&str]| row(AGENT, name, &[("one.js", &plugin(hooks))], texts);
    let two = |name, first: &str, second: &str, texts: &[&str]| {
        row(AGENT, name, &[("a.js", &plugin(first)), ("b.js", &plugin(second))], texts)
    };
    let on = |hook: &str, body: &str| format!("\"{hook}\": async (input, output) => {{ {body} }},");
    let part = |text: &str| {
        on(
            "chat.message",
            &format!(
                "output.parts.push({{ id: \"prt_00zz\", sessionID: input.sessionID, messageID: output.message.id, \
                 type: \"text\", text: \"{text}\" }});"
            ),
        )
    };
    let system =
        |text: &str| on("experimental.chat.system.transform", &format!("output.system.push(\"{text}\");"));
    let throws = |hook: &str| on(hook, &format!("log(\"hook\"); throw new Error(\"{TEXT}\");"));
    let after = on("tool.execute.after", "log(\"after\");");
    let good = plugin("config: async () => { log(\"good\"); }");
    let long = texts::plain(50_000);
    let beside = |name, bad: &str| row(AGENT, name, &[("a.js", bad), ("b.js", &good)], &[]);
    vec![
        one("deny", &(throws("tool.execute.before") + &after), &[TEXT]),
        one("chat_message_part", &part(TEXT), &[TEXT]),
        Scenario { texts: vec![long.clone()], ..one("50000_characters", &part(&long), &[]) },
        one("system_message", &system(TEXT), &[TEXT]),
        // In which order files are loaded is not fixed.
        Scenario { beside: true, ..two("two_plugins", &system(TEXT), &system(OTHER), &[TEXT, OTHER]) },
        two("two_plugins_that_deny", &throws("tool.execute.before"), &throws("tool.execute.before"), &[TEXT]),
        beside(
            "export_that_is_no_function",
            "export const Plugin = async () => { log(\"bad\"); return {}; }; export const x = 3;",
        ),
        beside("default_export_that_is_no_function", "export default 3;"),
        beside(
            "plugin_that_throws",
            "export const Plugin = async () => { log(\"bad\"); throw new Error(\"made up\"); };",
        ),
        row(
            AGENT,
            "plugin_that_returns_nothing",
            &[("one.js", "export const Plugin = async () => { log(\"bad\"); };")],
            &[],
        ),
        beside("module_that_throws", "throw new Error(\"made up\");"),
        beside("syntax_error", "export const Plugin = async () => {{"),
        row(
            AGENT,
            "the_same_function_twice",
            &[(
                "one.js",
                "const Plugin = async () => { log(\"called\"); return {}; }; export { Plugin }; export default Plugin;",
            )],
            &[],
        ),
        row(
            AGENT,
            "id_and_server",
            &[(
                "one.js",
                "export const x = async () => { log(\"x\"); return {}; }; export default { id: \"a.b\", server: async () => { log(\"server\"); return {}; } };",
            )],
            &[],
        ),
        row(AGENT, "mjs_is_not_loaded", &[("one.mjs", good.as_str())], &[]),
        one(
            "event_handler_throws",
            "event: async ({ event }) => { if (event.type === \"session.created\") { log(\"hook\"); throw new Error(\"made up\"); } },",
            &[],
        ),
        one("chat_message_throws", &throws("chat.message"), &[]),
        one("config_throws", "config: async () => { log(\"hook\"); throw new Error(\"made up\"); },", &[]),
        Scenario { beside: true, ..one("tool_after_throws", &throws("tool.execute.after"), &[TEXT]) },
        one(
            "dispose_is_awaited",
            "dispose: async () => { log(\"begins\"); await later(300); log(\"done\"); },",
            &[],
        ),
        one(
            "slow_handlers_are_awaited",
            &(on("chat.message", "await later(300); log(\"asked\");")
                + &on("tool.execute.before", "await later(300); log(\"call\");")),
            &[],
        ),
    ]
}
