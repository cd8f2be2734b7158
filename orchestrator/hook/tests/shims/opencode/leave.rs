//! OpenCode ends: what runs is ended, each session's end is told, nothing is left and nothing holds it up.

use rstest::rstest;
use serde_json::json;

use super::{NUDGES, SERVE, Setup, all, sent};
use crate::support::{Desk, PROGRAM, wait_until};

/// Waits at the gate once its session opens.
const HANGS: &str =
    r#"if [ $3 = session-open ]; then : > "$desk/waits"; read _ < "$desk/gate"; printf NUDGE; fi"#;

#[test]
fn a_dispose_ends_what_runs_and_tells_the_end_of_each_session() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let Some(mut open_code) = (Setup { script: HANGS, ..SERVE }).start_at(desk) else { return };
    for id in ["ses_1", "ses_2"] {
        open_code.session(id);
    }
    open_code.order(&json!({ "do": "session", "session": "ses_3", "parent": "ses_1" }));
    open_code.tool("ses_3");
    open_code.wait_for("waits");
    open_code.order(&json!({ "do": "dispose" }));
    assert!(!super::has_children(open_code.host.pid()));
    let mut ended: Vec<_> =
        open_code.payloads().into_iter().filter(|payload| payload["reason"] == "dispose").collect();
    ended.sort_by_key(|payload| payload["session_id"].to_string());
    let ids: Vec<_> = ended.iter().map(|payload| payload["session_id"].as_str().unwrap()).collect();
    assert_eq!((ids, open_code.count("end")), (vec!["ses_1", "ses_2"], 2));
    // Its payload has no name: the binary knows none of OpenCode's for it.
    assert_eq!(ended[0].get("hook_event_name"), None);
}

#[test]
fn what_was_being_asked_when_it_was_disposed_of_is_not_sent() {
    let desk = Desk::new();
    let mut gate = desk.gate("gate");
    // It answers when it is told to end.
    let script = r#"if [ $3 = session-open ]; then trap 'printf NUDGE; exit 0' TERM; : > "$desk/waits"; read _ < "$desk/gate"; fi"#;
    let changes = &[("const PROMPT_WAIT_MS = 1_000;", "const PROMPT_WAIT_MS = 1;")];
    let Some(mut open_code) = (Setup { script, changes, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    open_code.wait_for("waits");
    let mut lines = open_code.order(&json!({ "do": "dispose" }));
    gate.open();
    lines.extend(open_code.settle());
    assert!(sent(&lines).is_empty(), "{lines:?}");
}

#[test]
fn a_dispose_leaves_nothing_of_a_tree_that_ignores_term() {
    let desk = Desk::new();
    let stubborn =
        desk.script("stubborn", r#"trap '' TERM HUP INT; : > "$desk/waits"; while :; do sleep 1; done"#);
    // The binary itself ends its tree when it is told to; the shim does not know of it.
    let run = format!("exec '{PROGRAM}' run --deadline 600s -- '{}'", stubborn.display());
    let script = format!("if [ $3 = session-open ]; then {run}; fi");
    let Some(mut open_code) = (Setup { script: &script, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    open_code.wait_for("waits");
    open_code.order(&json!({ "do": "dispose" }));
    let pid = open_code.host.pid();
    assert!(wait_until(|| open_code.desk.left() == [pid]), "{:?}", open_code.desk.left());
}

#[test]
fn a_dispose_does_not_wait_for_a_binary_that_ignores_term() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script = r#"trap '' TERM; : > "$desk/waits-$3"; read _ < "$desk/gate""#;
    let changes = &[
        ("const GRACE_MS = 1_000;", "const GRACE_MS = 600_000;"),
        ("const DISPOSE_MS = 2_000;", "const DISPOSE_MS = 300;"),
    ];
    let Some(mut open_code) = (Setup { script, changes, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    open_code.wait_for("waits-session-open");
    open_code.order(&json!({ "do": "dispose" }));
    assert!(super::has_children(open_code.host.pid()), "it has waited for its end");
    // What is still there goes with OpenCode.
    open_code.host.order(&json!({ "do": "exit" }));
    while open_code.host.next().is_some() {}
    open_code.desk.assert_nothing_left();
}

#[test]
fn a_hanging_end_is_bounded() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script = r#"if [ $3 = end ]; then read _ < "$desk/gate"; fi"#;
    let changes = &[("const DISPOSE_MS = 2_000;", "const DISPOSE_MS = 300;")];
    let Some(mut open_code) = (Setup { script, changes, ..SERVE }).start_at(desk) else { return };
    for id in ["ses_1", "ses_2"] {
        open_code.session(id);
    }
    open_code.settle();
    open_code.order(&json!({ "do": "dispose" }));
    assert_eq!(open_code.count("end"), 2);
    open_code.settle();
}

/// A plugin that takes its time to be disposed of: until a session is deleted.
const SLOW: &str = r#"
    let go;
    const gone = new Promise((resolve) => (go = resolve));
    export const Slow = async () => ({
        dispose: () => gone,
        event: ({ event }) => event.type === "session.deleted" && go(),
    });"#;

#[test]
fn after_a_dispose_nothing_starts_anything() {
    let Some(mut open_code) = (Setup { behind: SLOW, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    open_code.settle();
    open_code.host.order(&json!({ "do": "dispose" }));
    open_code.session("ses_2");
    open_code.tool("ses_2");
    open_code.order(&json!({ "do": "delete", "session": "ses_2" }));
    open_code.host.until("done");
    open_code.settle();
    assert_eq!(open_code.moments(), ["session-open", "end"]);
}

#[test]
fn what_happens_while_a_copy_is_disposed_of_is_left_to_the_one_that_is_still_there() {
    let script = r#": > "$desk/$3""#;
    let Some(mut open_code) = (Setup { script, copies: 2, behind: SLOW, ..SERVE }).start() else { return };
    open_code.host.order(&json!({ "do": "dispose" }));
    open_code.session("ses_2");
    open_code.wait_for("session-open");
    open_code.event("evt_a", "session.deleted", "ses_other");
    open_code.host.until("done");
    open_code.wait_for("end");
}

#[test]
fn a_deleted_session_is_ended_once() {
    let Some(mut open_code) = (Setup { script: "", ..SERVE }).start() else { return };
    for id in ["ses_1", "ses_2"] {
        open_code.session(id);
    }
    open_code.settle();
    open_code.order(&json!({ "do": "delete", "session": "ses_1" }));
    open_code.settle();
    open_code.order(&json!({ "do": "dispose" }));
    let payloads = open_code.payloads();
    let ends: Vec<_> = payloads
        .iter()
        .filter_map(|payload| Some((&payload["session_id"], payload.get("reason")?)))
        .collect();
    assert_eq!(ends, [(&json!("ses_1"), &json!("deleted")), (&json!("ses_2"), &json!("dispose"))]);
}

#[test]
fn a_run_that_nobody_waits_for_does_not_keep_open_code_alive_nor_survive_it() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script = r#"trap '' TERM; : > "$desk/waits-$3"; read _ < "$desk/gate""#;
    // No bound of ours ends them in time.
    let changes =
        &[("\"session-open\": 65_000,", "\"session-open\": 600_000,"), ("stop: 10_000,", "stop: 600_000,")];
    let Some(mut open_code) = (Setup { script, changes, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    open_code.event("evt_a", "session.idle", "ses_2");
    open_code.wait_for("waits-session-open");
    open_code.wait_for("waits-stop");
    let super::OpenCode { host, desk } = open_code;
    assert!(host.end().success());
    desk.assert_nothing_left();
}

#[test]
fn a_process_that_holds_the_pipe_of_an_answer_does_not_hold_open_code() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script = r#"if [ $3 = prompt ]; then (read _ < "$desk/gate") & fi"#;
    let Some(mut open_code) = (Setup { script, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    open_code.prompt("ses_1", "hello");
    let super::OpenCode { host, desk: _desk } = open_code;
    assert!(host.end().success());
}

#[test]
fn what_open_code_waits_for_holds_it() {
    let desk = Desk::new();
    let mut gate = desk.gate("gate");
    // Of `run` nothing else is there to hold it in this host.
    let script = r#"if [ $3 = before-tool ]; then : > "$desk/waits"; read _ < "$desk/gate"; fi"#;
    let Some(mut open_code) = (Setup { script, mode: "run", ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    open_code.settle();
    open_code.host.order(&json!({ "do": "tool", "session": "ses_1", "name": "bash", "input": {} }));
    open_code.wait_for("waits");
    gate.open();
    assert_eq!(all(&open_code.host.until("done"), "ran").len(), 1);
    open_code.order(&json!({ "do": "dispose" }));
    assert_eq!(open_code.count("end"), 1);
}

#[rstest]
fn a_process_is_listened_to_once_however_often_the_plugin_is_loaded(#[values(1, 20)] copies: usize) {
    let Some(mut open_code) = (Setup { copies, script: NUDGES, ..SERVE }).start() else { return };
    let lines = open_code.order(&json!({ "do": "listeners" }));
    assert_eq!(all(&lines, "listeners")[0]["exit"], 1, "{lines:?}");
}
