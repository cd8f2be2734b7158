//! Nothing is left, and nothing is held up, when a session or its process ends.

use serde_json::json;

use super::{Extension, KEEP, Pi, count, payloads, wait_for_file};
use crate::support::{Desk, is_alive};

/// Ignores TERM and waits for what never comes.
const HANGS: &str =
    "trap '' TERM; echo $$ > \"$desk/pid\"; mv \"$desk/pid\" \"$desk/running\"; read _ < \"$desk/gate\"";

#[test]
fn an_end_is_told() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", KEEP)) else { return };
    pi.starts_with(&json!({"id": "s"}));
    pi.quits();
    let said = payloads(&desk, "end").remove(0);
    assert_eq!(
        (&said["hook_event_name"], &said["session_id"], &said["reason"]),
        (&json!("session_shutdown"), &json!("s"), &json!("quit"))
    );
}

#[test]
fn a_start_that_is_under_way_is_ended_at_a_quit() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let Some(mut pi) = Pi::as_installed(
        &desk,
        &desk.script("dogwatch", &format!("[ $3 = session-open ] || exit 0\n{HANGS}")),
    ) else {
        return;
    };
    pi.starts();
    let pid = wait_for_file(&desk, "running").trim().parse().unwrap();
    let milliseconds = pi.quits();
    assert!(!is_alive(pid));
    assert!((1_000..8_000).contains(&milliseconds), "{milliseconds} ms");
    assert_eq!(count(&desk, "end"), 1, "and the end is told");
    desk.assert_nothing_left();
}

#[test]
fn a_dogwatch_that_ignores_everything_holds_a_quit_up_for_less_than_4_seconds() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let Some(mut pi) = Pi::as_installed(&desk, &desk.script("dogwatch", HANGS)) else { return };
    pi.starts();
    wait_for_file(&desk, "running");
    let milliseconds = pi.quits();
    // With what a loaded machine may add.
    assert!((2_000..8_000).contains(&milliseconds), "{milliseconds} ms");
    desk.assert_nothing_left();
}

#[test]
fn an_end_that_ignores_everything_is_over_when_a_replacement_goes_on() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script = desk.script("dogwatch", &format!("[ $3 = end ] || exit 0\n{HANGS}"));
    let Some(mut pi) = Pi::as_installed(&desk, &script) else { return };
    pi.starts();
    pi.is_replaced("new");
    assert!(!is_alive(wait_for_file(&desk, "running").trim().parse().unwrap()));
}

#[test]
fn a_call_that_is_under_way_is_ended_at_a_replacement() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script = desk.script("dogwatch", &format!("[ $3 = before-tool ] || exit 0\n{HANGS}"));
    let Some(mut pi) = Pi::of_version(&desk, "0.73.1", &script) else { return };
    pi.starts();
    pi.begins(&json!({"do": "tool", "name": "bash", "input": {}}));
    let pid = wait_for_file(&desk, "running").trim().parse().unwrap();
    pi.is_replaced("new");
    assert!(!is_alive(pid));
}

#[test]
fn a_process_that_exits_without_a_word_leaves_nothing() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", HANGS)) else { return };
    pi.starts();
    wait_for_file(&desk, "running");
    pi.begins(&json!({"do": "exit"}));
    assert_eq!(pi.host.end().code(), Some(0));
    desk.assert_nothing_left();
}

#[test]
fn nothing_holds_a_process_that_has_nothing_else_to_do() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", HANGS)) else { return };
    pi.starts();
    wait_for_file(&desk, "running");
    // Its input ends, and with it all that holds the host itself.
    assert_eq!(pi.host.end().code(), Some(0));
    desk.assert_nothing_left();
}

#[test]
fn a_session_that_ends_in_another_way_ends_for_one_copy_only() {
    let desk = Desk::new();
    let extension = Extension::calling(desk.script("dogwatch", KEEP).to_str().unwrap());
    let copies = vec![extension.write(&desk, "project.js"), extension.write(&desk, "user.js")];
    let Some(mut pi) = Pi::with(&desk, "1.6.0", &[], copies) else { return };
    pi.starts();
    pi.quits();
    assert_eq!(count(&desk, "end"), 1);
}
