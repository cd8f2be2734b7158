//! What the binary is told, and what it may say to the model and to the person.

use serde_json::{Value, json};

use super::{NUDGES, SERVE, Setup, all, requests, sent, texts};
use crate::support::Desk;

/// Each call's moment, event and what else stands in its payload.
fn told(payloads: &[Value]) -> Vec<Value> {
    let common = ["session_id", "cwd", "worktree", "version", "event_id"];
    let rest = |payload: &Value| {
        let object = payload.as_object().unwrap().iter();
        object
            .filter(|(key, _)| !common.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    payloads.iter().map(rest).map(Value::Object).collect()
}

#[test]
fn the_binary_is_told_in_the_words_that_it_reads() {
    let Some(mut open_code) = (Setup { ..SERVE }).start() else { return };
    open_code.session("ses_1");
    open_code.settle();
    open_code.prompt("ses_1", "hello");
    open_code.settle();
    open_code.tool("ses_1");
    open_code.order(&json!({ "do": "compact", "session": "ses_1" }));
    open_code.settle();
    let tool = json!({ "tool_name": "bash", "tool_input": { "command": "true" }, "tool_use_id": "call_1" });
    let of_tool = |name: &str| {
        let mut payload = json!({ "hook_event_name": name });
        payload.as_object_mut().unwrap().extend(tool.as_object().unwrap().clone());
        payload
    };
    let payloads = open_code.payloads();
    let mut said = told(&payloads);
    // Of the last two, which nobody waits for, either may come first.
    said[5..].sort_by_key(|payload| payload["hook_event_name"].to_string());
    let expected = [
        json!({ "hook_event_name": "session.created", "source": "startup" }),
        json!({ "hook_event_name": "chat.message", "prompt": "hello" }),
        json!({ "hook_event_name": "session.idle" }),
        of_tool("tool.execute.before"),
        of_tool("tool.execute.after"),
        json!({ "hook_event_name": "experimental.session.compacting" }),
        json!({ "hook_event_name": "session.compacted", "source": "compact" }),
        json!({ "hook_event_name": "session.idle" }),
    ];
    assert_eq!(said, expected);
    let folder = open_code.desk.project.display().to_string();
    for payload in &payloads {
        let common = json!([payload["session_id"], payload["cwd"], payload["worktree"], payload["version"]]);
        assert_eq!(common, json!(["ses_1", folder, folder, "1.18.33"]));
    }
    // Two that are alike in all else are two events, and the binary has to see that.
    let idles: Vec<_> =
        payloads.iter().filter(|payload| payload["hook_event_name"] == "session.idle").collect();
    assert_ne!(idles[0]["event_id"], idles[1]["event_id"]);
}

#[test]
fn two_copies_of_the_plugin_act_as_one() {
    let Some(mut open_code) = (Setup { script: NUDGES, copies: 2, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let mut lines = open_code.prompt("ses_1", "hello");
    lines.extend(open_code.settle());
    open_code.tool("ses_1");
    open_code.order(&json!({ "do": "compact", "session": "ses_1" }));
    open_code.settle();
    open_code.order(&json!({ "do": "dispose" }));
    let mut moments = open_code.moments();
    moments.sort_unstable();
    let twice = ["session-open", "session-open", "stop", "stop"];
    let mut expected = ["prompt", "before-tool", "after-tool", "before-compact", "end"].to_vec();
    expected.extend(twice);
    expected.sort_unstable();
    assert_eq!(moments, expected);
    assert_eq!(sent(&lines).len(), 1);
}

#[test]
fn a_prompts_answer_stands_behind_the_prompt() {
    let script = r"if [ $3 = prompt ]; then printf '\342\201\243WAKE'; fi";
    let Some(mut open_code) = (Setup { script, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let lines = open_code.prompt("ses_1", "hello");
    let message = all(&lines, "message")[0];
    assert_eq!(message["texts"], json!(["hello", "\u{2063}WAKE"]));
    assert_eq!(message["synthetic"], json!([false, true]));
    assert_eq!(texts(requests(&lines)[0]), ["hello", "\u{2063}WAKE"]);
}

#[test]
fn an_answer_does_not_wait_for_a_process_that_holds_the_pipe() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script = r#"if [ $3 = prompt ]; then (read _ < "$desk/gate") & printf WAKE; fi"#;
    let Some(mut open_code) = (Setup { script, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    let lines = open_code.prompt("ses_1", "hello");
    assert_eq!(texts(requests(&lines)[0]), ["hello", "WAKE"]);
}

#[test]
fn what_nobody_has_typed_is_no_prompt() {
    let Some(mut open_code) = (Setup { script: NUDGES, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let lines = open_code.prompt("ses_1", "hello");
    assert_eq!(sent(&lines).len(), 1);
    let prompts: Vec<_> =
        open_code.payloads().into_iter().filter_map(|payload| payload.get("prompt").cloned()).collect();
    assert_eq!(prompts, ["hello"]);
}

#[test]
fn arguments_that_are_no_object_are_passed_on_as_they_are() {
    let Some(mut open_code) = (Setup { ..SERVE }).start() else { return };
    open_code.session("ses_1");
    open_code.settle();
    // OpenCode calls the hook before it looks at what the model has made of them.
    open_code.order(&json!({ "do": "tool", "session": "ses_1", "name": "bash", "input": "{oops" }));
    assert_eq!(open_code.payloads()[1]["tool_input"], "{oops");
}

#[test]
fn a_missing_binary_costs_one_line_in_the_log_and_nothing_on_the_screen() {
    let desk = Desk::new();
    let binary = desk.path("nowhere");
    let setup = Setup { binary: Some(&binary), copies: 2, ..SERVE };
    let Some(mut open_code) = setup.start_at(desk) else { return };
    open_code.session("ses_1");
    let mut lines = open_code.settle();
    lines.extend(open_code.prompt("ses_1", "hello"));
    lines.extend(open_code.tool("ses_1"));
    lines.extend(open_code.settle());
    lines.extend(open_code.order(&json!({ "do": "dispose" })));
    assert_eq!(all(&lines, "log").len(), 1, "{lines:?}");
    assert_eq!((sent(&lines).len(), all(&lines, "ran").len()), (0, 1));
    // A line on stdout that is none of the host's would not have been read.
    assert_eq!(open_code.host.stderr(), "");
}

#[test]
fn what_the_binary_says_on_stderr_does_not_reach_the_screen() {
    let Some(mut open_code) = (Setup { script: "echo noise >&2", ..SERVE }).start() else { return };
    open_code.session("ses_1");
    open_code.prompt("ses_1", "hello");
    open_code.settle();
    assert_eq!(open_code.host.stderr(), "");
}
