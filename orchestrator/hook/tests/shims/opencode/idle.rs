//! A turn ends: one question for each idle event, at most one prompt on its way, none where nobody would see it through.

use rstest::rstest;
use serde_json::json;

use super::{SERVE, Setup, all, requests, sent, texts};

/// Answers the first stop and no further one.
const STOPS_ONCE: &str =
    r#"if [ $3 = stop ] && mkdir "$desk/stopped" 2>/dev/null; then printf '\342\201\243CLOSE'; fi"#;
const CLOSE: &str = "\u{2063}CLOSE";

#[test]
fn an_idle_event_has_one_owner() {
    let Some(mut open_code) = (Setup { copies: 2, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    open_code.settle();
    for id in ["evt_a", "evt_a"] {
        open_code.event(id, "session.idle", "ses_1");
        open_code.settle();
    }
    assert_eq!(open_code.count("stop"), 1);
    open_code.event("evt_b", "session.idle", "ses_1");
    open_code.settle();
    assert_eq!(open_code.count("stop"), 2);
}

#[test]
fn a_reply_becomes_one_prompt_and_its_own_end_is_asked_about_again() {
    let Some(mut open_code) = (Setup { script: STOPS_ONCE, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let mut lines =
        open_code.order(&json!({ "do": "prompt", "session": "ses_1", "text": "hello", "agent": "plan" }));
    lines.extend(open_code.settle());
    assert_eq!(sent(&lines), [CLOSE]);
    let requests = requests(&lines);
    assert_eq!(texts(requests[1]), ["hello", "FINAL-TEXT", CLOSE]);
    // A turn of our own in another mode than the person's would be allowed more.
    assert_eq!([&requests[0]["agent"], &requests[1]["agent"]], ["plan", "plan"]);
    assert_eq!((requests.len(), open_code.count("stop")), (2, 2));
}

#[test]
fn idle_events_that_come_while_the_binary_thinks_are_not_asked_about() {
    let desk = crate::support::Desk::new();
    let mut gate = desk.gate("gate");
    let script = r#"if [ $3 = stop ]; then read _ < "$desk/gate"; printf CLOSE; fi"#;
    // The turn that follows does not end.
    let before = r#"export const Slow = async () => ({ "chat.message": () => new Promise(() => {}) });"#;
    let Some(mut open_code) = (Setup { script, before, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    open_code.event("evt_a", "session.idle", "ses_1");
    open_code.event("evt_b", "session.idle", "ses_1");
    gate.open();
    let first = open_code.host.until("prompt_async");
    // Nor while the prompt has not begun its turn.
    let mut lines = open_code.event("evt_c", "session.idle", "ses_1");
    gate.open();
    lines.extend(open_code.settle());
    assert_eq!((sent(&first).len(), sent(&lines).len()), (1, 0), "{lines:?}");
    assert_eq!(open_code.count("stop"), 1);
}

#[test]
fn a_follow_up_that_is_not_taken_is_not_waited_for() {
    let Some(mut open_code) = (Setup { script: "if [ $3 = stop ]; then printf CLOSE; fi", ..SERVE }).start()
    else {
        return;
    };
    // A session that OpenCode does not know.
    for id in ["evt_a", "evt_b"] {
        open_code.event(id, "session.idle", "ses_gone");
        open_code.settle();
    }
    assert_eq!(open_code.count("stop"), 2);
}

#[rstest]
#[case::run("run", &[], false)]
#[case::run_behind_options("run", &["bun", "/$bunfs/root/src/index.js", "--print-logs", "--log-level", "DEBUG", "run", "x"], false)]
#[case::serve("serve", &["bun", "/$bunfs/root/src/index.js", "serve", "--hostname", "run"], true)]
#[case::level_called_run("serve", &["bun", "/$bunfs/root/src/index.js", "--log-level", "run", "serve"], true)]
#[case::tui("tui", &[], true)]
fn a_headless_run_is_not_asked_about(#[case] mode: &str, #[case] argv: &[&str], #[case] is_asked: bool) {
    let Some(mut open_code) = (Setup { script: STOPS_ONCE, mode, argv, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let mut lines = open_code.prompt("ses_1", "hello");
    lines.extend(open_code.settle());
    assert_eq!(open_code.count("stop") > 0, is_asked);
    assert_eq!(sent(&lines).len(), usize::from(is_asked), "{lines:?}");
    assert!(all(&lines, "dangling").is_empty(), "{lines:?}");
}

#[rstest]
fn a_turn_that_was_interrupted_or_failed_is_not_followed(#[values("aborted", "error")] outcome: &str) {
    let Some(mut open_code) = (Setup { script: STOPS_ONCE, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let order = json!({ "do": "prompt", "session": "ses_1", "text": "hello", "outcome": outcome });
    let mut lines = open_code.order(&order);
    lines.extend(open_code.settle());
    let idles = lines.iter().filter(|line| line["event"] == "session.idle").count();
    assert_eq!((idles, open_code.count("stop")), (2, 0), "{lines:?}");
    open_code.prompt("ses_1", "again");
    open_code.settle();
    assert_ne!(open_code.count("stop"), 0);
}

#[test]
fn a_sub_agents_session_is_not_asked_about() {
    let Some(mut open_code) = (Setup { script: STOPS_ONCE, ..SERVE }).start() else { return };
    open_code.order(&json!({ "do": "session", "session": "ses_2", "parent": "ses_1" }));
    let mut lines = open_code.prompt("ses_2", "task");
    lines.extend(open_code.settle());
    assert_eq!(open_code.moments(), ["prompt"]);
    assert!(sent(&lines).is_empty(), "{lines:?}");
}

#[test]
fn a_sub_agents_session_that_was_there_before_is_known_by_what_is_told_of_it() {
    let Some(mut open_code) = (Setup { script: STOPS_ONCE, ..SERVE }).start() else { return };
    let info = json!({ "id": "ses_2", "parentID": "ses_1" });
    let properties = json!({ "sessionID": "ses_2", "info": info });
    let event = json!({ "id": "evt_a", "type": "session.updated", "properties": properties });
    open_code.order(&json!({ "do": "event", "event": event }));
    open_code.event("evt_b", "session.idle", "ses_2");
    open_code.settle();
    assert_eq!(open_code.count("stop"), 0);
}

#[test]
fn of_a_long_answer_half_a_mebibyte_is_kept_and_no_half_character() {
    // A byte in front, so that the cap falls into the middle of a character.
    let text = r#"printf x; yes "$(printf '\303\251')" | head -c 1100000 | tr -d '\n'"#;
    let script = format!(r#"if [ $3 = stop ] && mkdir "$desk/stopped" 2>/dev/null; then {text}; fi"#);
    let Some(mut open_code) = (Setup { script: &script, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let mut lines = open_code.prompt("ses_1", "hello");
    lines.extend(open_code.settle());
    let sent = sent(&lines);
    assert_eq!((sent.len(), sent[0].len()), (1, 512 * 1024 - 1));
    assert!(sent[0][1..].chars().all(|c| c == 'é'));
}
