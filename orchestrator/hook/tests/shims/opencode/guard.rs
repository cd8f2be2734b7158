//! Before a tool: the binary's word counts, and what happens without one.

use rstest::rstest;
use serde_json::Value;

use super::{SERVE, Setup, all, plugin_path};
use crate::support::Desk;

const GUARDED: (&str, &str) = ("const GUARDED = false;", "const GUARDED = true;");
const SHORT: (&str, &str) = ("\"before-tool\": 10_000,", "\"before-tool\": 300,");

fn reason(lines: &[Value]) -> Option<&str> {
    let blocked = all(lines, "blocked");
    let ran = all(lines, "ran");
    assert_eq!(blocked.len() + ran.len(), 1, "{lines:?}");
    blocked.first().map(|blocked| blocked["reason"].as_str().unwrap())
}

#[rstest]
#[case::with_a_reason(r#"printf '{"block":true,"reason":"one\\ntwo\\nthree"}'"#, "one\ntwo\nthree")]
#[case::without(r#"printf '{"block":true}'"#, "dogwatch blocks this")]
fn a_block_keeps_the_tool_from_running_and_tells_the_model_why(#[case] script: &str, #[case] why: &str) {
    let script = format!("if [ $3 = before-tool ]; then {script}; fi");
    let Some(mut open_code) = (Setup { script: &script, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    assert_eq!(reason(&open_code.tool("ses_1")), Some(why));
    open_code.settle();
    assert_eq!(open_code.count("after-tool"), 0);
}

#[rstest]
fn an_empty_answer_lets_the_tool_run(#[values(false, true)] guarded: bool) {
    let changes: &[_] = if guarded { &[GUARDED] } else { &[] };
    let Some(mut open_code) = (Setup { changes, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    assert_eq!(reason(&open_code.tool("ses_1")), None);
    assert_eq!(open_code.count("after-tool"), 1);
}

#[rstest]
#[case::failed("exit 1", "exit code 1")]
#[case::killed("kill -KILL $$", "ended by SIGKILL")]
#[case::foreign("echo done", "unreadable answer")]
#[case::other_json(r#"printf '{"block":"yes"}'"#, "unreadable answer")]
#[case::null("printf null", "unreadable answer")]
#[case::hangs(r#"read _ < "$desk/gate""#, "no answer after 300 ms")]
#[case::blocks_and_fails(r#"printf '{"block":true}'; exit 1"#, "exit code 1")]
fn without_a_readable_answer_a_tool_runs_only_as_long_as_there_is_no_guard(
    #[case] script: &str,
    #[case] why: &str,
    #[values(false, true)] guarded: bool,
) {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script = format!("if [ $3 = before-tool ]; then {script}; fi");
    let changes = [SHORT, GUARDED];
    let changes = &changes[..if guarded { 2 } else { 1 }];
    let Some(mut open_code) = (Setup { script: &script, changes, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    let lines = open_code.tool("ses_1");
    if !guarded {
        assert_eq!(reason(&lines), None);
        return;
    }
    let said = reason(&lines).unwrap();
    let plugin = plugin_path(&open_code).display().to_string();
    assert!(said.contains(why) && said.contains("not a policy decision") && said.contains(&plugin), "{said}");
}

#[rstest]
fn a_missing_binary_blocks_only_where_there_is_a_guard(#[values(false, true)] guarded: bool) {
    let desk = Desk::new();
    let binary = desk.path("nowhere");
    let changes: &[_] = if guarded { &[GUARDED] } else { &[] };
    let setup = Setup { binary: Some(&binary), changes, ..SERVE };
    let Some(mut open_code) = setup.start_at(desk) else { return };
    open_code.session("ses_1");
    let lines = open_code.tool("ses_1");
    assert_eq!(reason(&lines).is_some(), guarded, "{lines:?}");
}

#[test]
fn a_tool_waits_no_longer_than_the_bound_for_a_binary_that_ignores_term() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script =
        r#"if [ $3 = before-tool ]; then trap '' TERM; : > "$desk/waits"; read _ < "$desk/gate"; fi"#;
    // It is never killed, so the tool has not waited for its end.
    let changes = &[SHORT, ("const GRACE_MS = 1_000;", "const GRACE_MS = 600_000;")];
    let Some(mut open_code) = (Setup { script, changes, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    assert_eq!(reason(&open_code.tool("ses_1")), None);
    assert!(super::has_children(open_code.host.pid()));
}

#[test]
fn each_copy_of_a_call_is_judged_and_two_copies_of_the_plugin_judge_it_once() {
    let Some(mut open_code) = (Setup { copies: 2, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    open_code.settle();
    // Ids of calls come from the model and need not be unique.
    open_code.tool("ses_1");
    open_code.tool("ses_1");
    assert_eq!((open_code.count("before-tool"), open_code.count("after-tool")), (2, 2));
}
