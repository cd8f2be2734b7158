//! Tool calls, prompts and stops.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};

use super::{Extension, KEEP, Pi, Seen, count, payloads, wait_for, wait_for_file};
use crate::support::Desk;

const TOOL: &str = r#"{"do": "tool", "name": "bash", "input": {"command": "ls"}, "id": "call_6"}"#;

fn tool() -> Value {
    serde_json::from_str(TOOL).unwrap()
}

#[test]
fn what_is_told_of_a_tool_call() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", KEEP)) else { return };
    pi.starts_with(&json!({"id": "s"}));
    assert_eq!(pi.does(&tool()).all("ran").len(), 1);
    for (moment, name) in [("before-tool", "tool_call"), ("after-tool", "tool_result")] {
        let said = payloads(&desk, moment).remove(0);
        assert_eq!(said["hook_event_name"], name);
        assert_eq!(said["session_id"], "s");
        assert_eq!(said["tool_name"], "bash");
        assert_eq!(said["tool_input"], json!({"command": "ls"}));
        assert_eq!(said["tool_use_id"], "call_6");
    }
    assert_eq!(payloads(&desk, "after-tool")[0]["is_error"], false);
}

#[test]
fn a_refusal_blocks_the_tool() {
    let desk = Desk::new();
    let text = r#"[ $3 = before-tool ] && printf '%s' '{"block":true,"reason":"no\nreally"}'"#;
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", text)) else { return };
    pi.starts();
    let seen = pi.does(&tool());
    assert_eq!(seen.all("blocked"), [&json!({"reason": "no\nreally"})]);
    assert_eq!(count(&desk, "after-tool"), 0);
}

#[rstest]
#[case("")]
#[case("echo '{\"block\":false}'")]
fn an_answer_that_does_not_refuse_lets_the_tool_run(
    #[case] text: &str,
    #[values(false, true)] guarded: bool,
) {
    let desk = Desk::new();
    let Some(mut pi) = guard(&desk, desk.script("dogwatch", text).to_str().unwrap(), guarded, false) else {
        return;
    };
    pi.starts();
    assert_eq!(pi.does(&tool()).all("ran").len(), 1);
}

/// A Pi whose guard is built, or not yet. `is_hasty`: it waits for hardly anything.
fn guard(desk: &Desk, binary: &str, guarded: bool, is_hasty: bool) -> Option<Pi> {
    let bound_ms = if is_hasty { 300 } else { 50_000 };
    let mut extension = Extension::calling(binary)
        .with("const CALL_BOUND_MS = 10_000;", &format!("const CALL_BOUND_MS = {bound_ms};"))
        .with("const GRACE_MS = 1_000;", "const GRACE_MS = 100;");
    if guarded {
        extension = extension.with("const GUARDED = false;", "const GUARDED = true;");
    }
    Pi::with(desk, "1.6.0", &[], vec![extension.write(desk, "dogwatch.js")])
}

#[rstest]
#[case("exit 1", "exit 1")]
#[case("echo '{\"block\":false}'; exit 1", "exit 1")]
#[case("kill -9 $$", "ended by SIGKILL")]
#[case("echo '{\"block\"'", "its answer cannot be read")]
#[case("echo '[]'", "its answer cannot be read")]
#[case("echo 'allow'", "its answer cannot be read")]
#[case("read _ < \"$desk/gate\"", "ended by SIGTERM")]
fn a_guard_that_does_not_answer_denies_once_there_is_one(
    #[case] text: &str,
    #[case] why: &str,
    #[values(false, true)] guarded: bool,
) {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script = desk.script("dogwatch", &format!("[ $3 = before-tool ] || exit 0\n{text}"));
    let Some(mut pi) = guard(&desk, script.to_str().unwrap(), guarded, text.starts_with("read")) else {
        return;
    };
    pi.starts();
    let seen = pi.does(&tool());
    if guarded {
        let reason = seen.all("blocked")[0]["reason"].as_str().unwrap();
        assert!(reason.contains(&format!("did not answer ({why})")), "{reason}");
    } else {
        assert_eq!(seen.all("ran").len(), 1);
    }
}

#[rstest]
fn a_guard_that_does_not_start_denies_once_there_is_one(#[values(false, true)] guarded: bool) {
    let desk = Desk::new();
    let Some(mut pi) = guard(&desk, "/nowhere/dogwatch", guarded, false) else { return };
    pi.starts();
    let seen = pi.does(&tool());
    assert_eq!((seen.all("ran").len(), seen.all("blocked").len()), if guarded { (0, 1) } else { (1, 0) });
    assert_eq!(seen.all("error"), [&json!(null); 0]);
}

#[test]
fn a_program_that_reads_nothing_of_a_large_payload_is_no_crash() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", "exit 0")) else { return };
    pi.starts();
    let input = json!({"content": "x".repeat(4 * 1024 * 1024)});
    let seen = pi.does(&json!({"do": "tool", "name": "write", "input": input}));
    assert_eq!(seen.all("ran").len(), 1);
    pi.quits();
}

#[test]
fn a_large_payload_arrives_whole() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", "cat > \"$desk/$3\"")) else { return };
    pi.starts();
    let input = json!({"content": "é".repeat(512 * 1024)});
    pi.does(&json!({"do": "tool", "name": "write", "input": input}));
    let said: Value = serde_json::from_slice(&fs::read(desk.path("before-tool")).unwrap()).unwrap();
    assert_eq!(said["tool_input"], input);
}

#[test]
fn a_prompt_goes_on_without_a_dogwatch_that_does_not_answer() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script =
        desk.script("dogwatch", "[ $3 = prompt ] && trap '' TERM && echo text && read _ < \"$desk/gate\"");
    let Some(mut pi) = guard(&desk, script.to_str().unwrap(), false, true) else { return };
    pi.starts_with(&json!({}));
    pi.is_replaced("resume");
    assert!(!pi.is_asked("hello").messages().contains(&"text"));
    drop(pi);
    desk.assert_nothing_left();
}

/// Has something to say at every stop.
const STOPS: &str = "[ $3 = stop ] && echo go on";

#[rstest]
#[case("1.6.0", "agent_settled")]
#[case("0.80.4", "agent_settled")]
#[case("0.80.3", "agent_end")]
#[case("0.73.1", "agent_end")]
fn a_stop_is_asked_about_once_and_followed_up_once(#[case] version: &str, #[case] event: &str) {
    let desk = Desk::new();
    let script = desk.script("dogwatch", &format!("{KEEP}{STOPS}"));
    let Some(mut pi) = Pi::of_version(&desk, version, &script) else { return };
    pi.starts();
    for prompts in 1..=2 {
        let mut lines = pi.is_asked("hello").0;
        // Where there is no `agent_settled` nobody waits for the run that follows.
        wait_for(&desk, "stop", 2 * prompts);
        lines.extend(pi.lets_time_pass().0);
        let seen = Seen(lines);
        let followed_up = seen.messages().iter().filter(|message| **message == "go on").count();
        let requests: Vec<&Value> = seen.all("provider_call").iter().map(|call| &call["for"]).collect();
        assert_eq!((followed_up, requests), (1, vec![&json!("prompt"), &json!("message")]));
    }
    let said = payloads(&desk, "stop");
    assert!(said.iter().all(|said| said["hook_event_name"] == event), "{said:?}");
    let active: Vec<&Value> = said.iter().map(|said| &said["stop_hook_active"]).collect();
    assert_eq!(active, [false, true, false, true], "each run is told of, its own as such");
    assert_eq!(count(&desk, "prompt"), 2, "the follow-up is no prompt of a person");
}

#[rstest]
#[case("1.6.0")]
#[case("0.73.1")]
fn whom_a_person_has_stopped_is_not_sent_on(#[case] version: &str) {
    let desk = Desk::new();
    let script = desk.script("dogwatch", STOPS);
    let Some(mut pi) = Pi::of_version(&desk, version, &script) else { return };
    pi.starts();
    pi.does(&json!({"do": "prompt", "text": "hello", "outcomes": ["aborted"]}));
    assert_eq!(count(&desk, "stop"), 0);
}

#[test]
fn a_follow_up_that_a_person_has_stopped_leaves_the_next_stop_as_it_is() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", &format!("{KEEP}{STOPS}"))) else { return };
    pi.starts();
    let followed = pi.does(&json!({"do": "prompt", "text": "one", "outcomes": ["stop", "aborted"]}));
    assert_eq!((followed.all("provider_call").len(), count(&desk, "stop")), (2, 1));
    assert_eq!(pi.is_asked("two").all("provider_call").len(), 2, "followed up again");
    assert_eq!(payloads(&desk, "stop")[1]["stop_hook_active"], false);
}

#[test]
fn a_stop_of_a_session_that_is_replaced_meanwhile_is_not_followed_up() {
    let desk = Desk::new();
    let mut gate = desk.gate("gate");
    let script = desk.script(
        "dogwatch",
        "[ $3 = stop ] && : > \"$desk/stopping\" && read _ < \"$desk/gate\" && echo go on",
    );
    let Some(mut pi) = Pi::new(&desk, &script) else { return };
    pi.starts();
    pi.begins(&json!({"do": "prompt", "text": "hello"}));
    wait_for_file(&desk, "stopping");
    // What the old session was given throws from now on, and nothing has told it so.
    pi.does(&json!({"do": "replace", "reason": "new", "silent": true}));
    gate.open();
    let seen = pi.finishes("prompt");
    assert!(!seen.messages().contains(&"go on"));
    assert_eq!((seen.all("error").len(), seen.all("stale").len()), (0, 0));
}

#[test]
fn a_stop_that_is_asked_about_when_the_session_ends_is_still_answered() {
    let desk = Desk::new();
    let mut gate = desk.gate("gate");
    let text = "[ $3 = stop ] && : > \"$desk/stopping\" && read _ < \"$desk/gate\" && : > \"$desk/answered\"";
    let extension = Extension::calling(desk.script("dogwatch", text).to_str().unwrap());
    let extension = extension.with("const GRACE_MS = 1_000;", "const GRACE_MS = 30_000;");
    let extension = extension.with("const SHUTDOWN_MS = 3_800;", "const SHUTDOWN_MS = 60_000;");
    let Some(mut pi) = Pi::with(&desk, "0.73.1", &[], vec![extension.write(&desk, "dogwatch.js")]) else {
        return;
    };
    pi.starts();
    pi.is_asked("hello");
    wait_for_file(&desk, "stopping");
    pi.begins(&json!({"do": "replace", "reason": "new"}));
    pi.lets_time_pass();
    gate.open();
    pi.finishes("replace");
    assert!(desk.path("answered").exists());
    assert_eq!(count(&desk, "end"), 1);
}
