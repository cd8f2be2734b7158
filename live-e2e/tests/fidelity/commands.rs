//! The scenarios of those who start commands: Claude Code, Codex, Grok. Most are the same three times.

use live_e2e::Agent;
use serde_json::json;

use crate::known;
use crate::scenario::{Command, Hooks, Program, Scenario, says};
use crate::texts;

/// What a hook wants to say in most of them.
const TEXT: &str = "FIDELITY-amber-lighthouse-speaks";
const OTHER: &str = "WINTER-GARDEN-replied";

/// Prints nothing before the tool has run, or a while has passed; from a process that outlives the hook and holds stdout.
const HELD_UNTIL_THE_TOOL: &str = "(i=0; while [ $i -lt 60 ] && ! grep -q tool '{log}'; do sleep 0.1; i=$((i+1)); done; echo held >>'{log}') &";
/// Waits for a hook beside it, or a while.
const BEHIND_THE_OTHER: &str = "i=0; while [ $i -lt 30 ] && ! grep -q fast '{log}'; do sleep 0.1; i=$((i+1)); done\n\
    sleep 0.2; echo slow >>'{log}'";
/// Has a child in a session of its own, which tells whether it was asked to end or saw the tool run.
const AWAY: &str = "setsid sh -c 'trap \"echo term >>\\\"$0\\\"; exit 1\" TERM; i=0\n\
    while [ $i -lt 80 ] && ! grep -q tool \"$0\"; do sleep 0.1; i=$((i+1)); done; echo outlived >>\"$0\"' '{log}' \\\n\
    </dev/null >/dev/null 2>&1 &";
/// Says when it is asked to end.
const LOOPS: &str = "trap \"echo term >>'{log}'; exit 1\" TERM\n\
    (i=0; while [ $i -lt 80 ]; do sleep 0.1; i=$((i+1)); done) \n echo end >>'{log}'";
/// What a stop's hook is told: whether it has refused before, whether the session ends.
const TELLS_AGAIN: &str = "case \"$payload\" in *'\"stop_hook_active\":true'*|*'\"stopHookActive\":true'*) echo again >>'{log}';; esac\n\
    case \"$payload\" in *'\"reason\":\"shutdown\"'*) echo shutdown >>'{log}';; esac";

/// All of an agent's.
pub(crate) fn of(agent: Agent) -> Vec<Scenario> {
    let mut rows = at_open(agent);
    rows.extend(answers(agent));
    rows.extend(processes(agent));
    rows.extend(prompts(agent));
    rows.extend(stops(agent));
    rows
}

fn row(
    agent: Agent,
    name: &'static str,
    event: &'static str,
    hooks: Vec<Command>,
    texts: &[&str],
) -> Scenario {
    Scenario {
        agent,
        name,
        hooks: Hooks::Commands(event, hooks),
        is_repository: true,
        calls_tool: event != "Stop",
        texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        user: None,
        beside: false,
        known: known::difference(agent, name),
    }
}

fn context(event: &str, text: &str) -> String {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}).to_string()
}

fn decision(word: &str, reason: Option<&str>) -> String {
    let mut answer = json!({"hookEventName": "PreToolUse", "permissionDecision": word});
    if let Some(reason) = reason {
        answer["permissionDecisionReason"] = reason.into();
    }
    json!({"hookSpecificOutput": answer}).to_string()
}

/// Texts of every size, and what stands around an answer, at the first event that takes them.
fn at_open(agent: Agent) -> Vec<Scenario> {
    let (event, answer): (&'static str, fn(&str, &str) -> String) = if agent == Agent::Grok {
        ("PostToolUse", context)
    } else {
        ("SessionStart", |_, text| text.to_owned())
    };
    let wide = if agent == Agent::Codex { texts::wide_bytes } else { texts::wide_units };
    let sized = |name, text: String| {
        let hooks = vec![says(answer(event, &text))];
        Scenario { texts: vec![text], ..row(agent, name, event, hooks, &[]) }
    };
    let json_text = texts::plain(10_001);
    let slow = Command { before: BEHIND_THE_OTHER.to_owned(), word: "", ..says(answer(event, TEXT)) };
    let fast = Command { word: "fast", ..says(answer(event, OTHER)) };
    vec![
        sized("10000_characters", texts::plain(10_000)),
        sized("10001_characters", texts::plain(10_001)),
        sized("20000_characters", texts::plain(20_000)),
        sized("10000_wide", wide(10_000)),
        sized("10001_wide", wide(10_001)),
        Scenario {
            texts: vec![json_text.clone()],
            ..row(agent, "10001_characters_in_json", event, vec![says(context(event, &json_text))], &[])
        },
        row(agent, "session_start_plain_text", "SessionStart", vec![says(TEXT)], &[TEXT]),
        row(agent, "session_start_json", "SessionStart", vec![says(context("SessionStart", TEXT))], &[TEXT]),
        row(
            agent,
            "invalid_json",
            event,
            vec![says(format!("{{\"hookSpecificOutput\": \"{TEXT}\""))],
            &[TEXT],
        ),
        // An object by its looks, from brace to brace.
        row(
            agent,
            "invalid_json_in_braces",
            event,
            vec![says(format!("{{\"hookSpecificOutput\": {TEXT}}}"))],
            &[TEXT],
        ),
        row(
            agent,
            "unknown_field",
            event,
            vec![says(context(event, TEXT).replacen('{', "{\"unknown\": 1, ", 1))],
            &[TEXT],
        ),
        row(
            agent,
            "unknown_inner_field",
            event,
            vec![says(
                context(event, TEXT).replace("\"hookEventName\"", "\"unknown\": 1, \"hookEventName\""),
            )],
            &[TEXT],
        ),
        row(agent, "wrong_event_name", event, vec![says(context("SubagentStart", TEXT))], &[TEXT]),
        row(agent, "event_name_that_does_not_exist", event, vec![says(context("Nonsense", TEXT))], &[TEXT]),
        row(agent, "event_name_of_a_tool", event, vec![says(context("PreToolUse", TEXT))], &[TEXT]),
        row(
            agent,
            "text_before_json",
            event,
            vec![says(format!("{OTHER}\n{}", context(event, TEXT)))],
            &[TEXT, OTHER],
        ),
        row(
            agent,
            "text_behind_json",
            event,
            vec![says(format!("{}\n{OTHER}", context(event, TEXT)))],
            &[TEXT, OTHER],
        ),
        row(
            agent,
            "two_documents",
            event,
            vec![says(format!("{}\n{}", context(event, TEXT), context(event, OTHER)))],
            &[TEXT, OTHER],
        ),
        row(
            agent,
            "two_documents_on_one_line",
            event,
            vec![says(context(event, TEXT) + &context(event, OTHER))],
            &[TEXT, OTHER],
        ),
        row(
            agent,
            "exit_1_with_text",
            event,
            vec![Command { exit: 1, ..says(answer(event, TEXT)) }],
            &[TEXT],
        ),
        row(
            agent,
            "exit_2_with_text",
            event,
            vec![Command { exit: 2, stderr: OTHER.to_owned(), ..says(answer(event, TEXT)) }],
            &[TEXT, OTHER],
        ),
        row(agent, "two_hooks", event, vec![slow, fast], &[TEXT, OTHER]),
        row(
            agent,
            "the_same_command_twice",
            event,
            vec![says(answer(event, TEXT)), Command { same_as: Some(0), ..says("") }],
            &[TEXT],
        ),
        Scenario {
            is_repository: false,
            ..row(agent, "no_repository", "PreToolUse", vec![says(decision("deny", Some(TEXT)))], &[TEXT])
        },
        row(
            agent,
            "matcher_that_never_matches",
            "PreToolUse",
            vec![Command { matcher: Some("NoSuchTool"), ..says(decision("deny", Some(TEXT))) }],
            &[TEXT],
        ),
    ]
}

/// What a hook answers before and after a tool.
fn answers(agent: Agent) -> Vec<Scenario> {
    let before = |name, answer: String| row(agent, name, "PreToolUse", vec![says(answer)], &[TEXT]);
    let block = json!({"decision": "block", "reason": TEXT}).to_string();
    let old_deny = json!({"decision": "deny", "reason": TEXT}).to_string();
    let exits = |code| vec![Command { exit: code, stderr: TEXT.to_owned(), ..says("") }];
    vec![
        before("deny", decision("deny", Some(TEXT))),
        before("deny_for_another_event", decision("deny", Some(TEXT)).replace("PreToolUse", "SessionStart")),
        before("deny_without_a_reason", decision("deny", None)),
        before("ask", decision("ask", Some(TEXT))),
        before("bare_allow", decision("allow", None)),
        before("old_block", block.clone()),
        before("old_deny", old_deny),
        before("tool_invalid_json", decision("deny", Some(TEXT)).trim_end_matches('}').to_owned()),
        before("tool_invalid_json_in_braces", decision("deny", Some(TEXT)).replace("\"deny\"", "deny")),
        before("tool_text_before_json", format!("a note\n{}", decision("deny", Some(TEXT)))),
        before("tool_plain_text", TEXT.to_owned()),
        before("continue_false", json!({"continue": false, "stopReason": TEXT}).to_string()),
        before("tool_context", context("PreToolUse", TEXT)),
        row(agent, "tool_exit_1", "PreToolUse", exits(1), &[TEXT]),
        row(agent, "tool_exit_2", "PreToolUse", exits(2), &[TEXT]),
        row(agent, "tool_exit_2_without_a_reason", "PreToolUse", vec![Command { exit: 2, ..says("") }], &[]),
        row(
            agent,
            "tool_exit_2_and_deny",
            "PreToolUse",
            vec![Command { exit: 2, stderr: OTHER.to_owned(), ..says(decision("deny", Some(TEXT))) }],
            &[TEXT, OTHER],
        ),
        row(
            agent,
            "one_denies_one_allows",
            "PreToolUse",
            vec![
                Command { word: "fast", ..says(decision("deny", Some(TEXT))) },
                Command { word: "", before: BEHIND_THE_OTHER.to_owned(), ..says("") },
            ],
            &[TEXT],
        ),
        row(agent, "after_tool_context", "PostToolUse", vec![says(context("PostToolUse", TEXT))], &[TEXT]),
        row(agent, "after_tool_plain_text", "PostToolUse", vec![says(TEXT)], &[TEXT]),
        row(agent, "after_tool_block", "PostToolUse", vec![says(block)], &[TEXT]),
        row(agent, "after_tool_exit_1", "PostToolUse", exits(1), &[TEXT]),
        row(agent, "after_tool_exit_2", "PostToolUse", exits(2), &[TEXT]),
    ]
}

/// What a hook does as a process.
fn processes(agent: Agent) -> Vec<Scenario> {
    let deny = || says(decision("deny", Some(TEXT)));
    let program = |program| vec![Command { program, ..deny() }];
    let slow = Command { timeout: Some(1), after: LOOPS, ..deny() };
    let held = Command { timeout: Some(30), before: HELD_UNTIL_THE_TOOL.to_owned(), ..says("") };
    let away = Command { timeout: Some(1), before: AWAY.to_owned(), after: "sleep 8", ..says("") };
    let held_too_long = Command { timeout: Some(2), before: "sleep 4 &".to_owned(), ..deny() };
    vec![
        row(agent, "missing_program", "PreToolUse", program(Program::Missing), &[TEXT]),
        row(agent, "not_executable", "PreToolUse", program(Program::NotExecutable), &[TEXT]),
        Scenario { beside: true, ..row(agent, "timeout", "PreToolUse", vec![slow], &[TEXT]) },
        Scenario {
            beside: true,
            ..row(agent, "timeout_with_a_child_in_its_own_session", "PreToolUse", vec![away], &[])
        },
        row(agent, "held_stdout", "PreToolUse", vec![held], &[]),
        row(agent, "stdout_held_past_the_timeout", "PreToolUse", vec![held_too_long], &[TEXT]),
    ]
}

/// What a hook does with the person's prompt.
fn prompts(agent: Agent) -> Vec<Scenario> {
    const EVENT: &str = "UserPromptSubmit";
    let prompt =
        |name, hook| Scenario { user: Some(TEXT.to_owned()), ..row(agent, name, EVENT, vec![hook], &[TEXT]) };
    let silent = |name, hook| row(agent, name, EVENT, vec![hook], &[TEXT]);
    vec![
        silent("prompt_plain_text", says(TEXT)),
        silent("prompt_json", says(context(EVENT, TEXT))),
        prompt("prompt_block", says(json!({"decision": "block", "reason": TEXT}).to_string())),
        prompt("prompt_exit_2", Command { exit: 2, stderr: TEXT.to_owned(), ..says("") }),
        silent("prompt_exit_1", Command { exit: 1, stderr: TEXT.to_owned(), ..says(TEXT) }),
    ]
}

/// What a hook does with the model's stop.
fn stops(agent: Agent) -> Vec<Scenario> {
    let block = json!({"decision": "block", "reason": TEXT}).to_string();
    let told = || Command { before: TELLS_AGAIN.to_owned(), ..says("") };
    // Where nobody gives up, the hook does.
    let always = Command {
        before: format!("{TELLS_AGAIN}\n[ \"$(grep -c hook '{{log}}')\" -le 12 ] || exit 0"),
        ..says(block.clone())
    };
    let once = Command {
        before: format!("{TELLS_AGAIN}\ncase \"$(cat '{{log}}')\" in *again*) exit 0;; esac"),
        ..says(block)
    };
    vec![
        row(agent, "stop_always_blocks", "Stop", vec![always], &[TEXT]),
        row(agent, "stop_blocks_once", "Stop", vec![once.clone()], &[TEXT]),
        row(
            agent,
            "stop_exit_2_once",
            "Stop",
            vec![Command { exit: 2, stdout: String::new(), stderr: TEXT.to_owned(), ..once.clone() }],
            &[TEXT],
        ),
        row(agent, "stop_plain_text", "Stop", vec![Command { stdout: TEXT.to_owned(), ..told() }], &[TEXT]),
        row(
            agent,
            "stop_exit_1",
            "Stop",
            vec![Command { exit: 1, stderr: TEXT.to_owned(), ..told() }],
            &[TEXT],
        ),
    ]
}
