//! A session opens: once, with what the binary printed, where the next request finds it.

use rstest::rstest;
use serde_json::json;

use super::{NUDGE, NUDGES, SERVE, Setup, all, requests, sent, texts};

/// The bounds that a test would have to wait for.
const SHORT_WAITS: &[(&str, &str)] = &[
    ("const OPEN_WAIT_MS = 2_000;", "const OPEN_WAIT_MS = 1;"),
    ("const PROMPT_WAIT_MS = 1_000;", "const PROMPT_WAIT_MS = 1;"),
];

#[test]
fn a_session_is_opened_once_however_often_it_is_told() {
    let setup = Setup { script: NUDGES, changes: SHORT_WAITS, ..SERVE };
    let Some(mut open_code) = setup.start() else { return };
    open_code.session("ses_1");
    let first = open_code.host.until("message");
    assert_eq!(sent(&first), [NUDGE]);
    for id in ["evt_a", "evt_a", "evt_b"] {
        open_code.event(id, "session.created", "ses_1");
    }
    let rest = open_code.settle();
    assert!(sent(&rest).is_empty(), "{rest:?}");
    assert_eq!(open_code.desk.calls(), ["hook opencode session-open --limit 60s"]);
    open_code.session("ses_2");
    open_code.host.until("message");
    assert_eq!(open_code.count("session-open"), 2);
}

#[rstest]
#[case::nothing("")]
#[case::blanks(r"printf ' \n\n'")]
#[case::failed(r"printf text; exit 3")]
#[case::killed(r"printf text; kill -KILL $$")]
fn nothing_is_sent_when_the_binary_printed_nothing_or_failed(#[case] script: &str) {
    let Some(mut open_code) = (Setup { script, changes: SHORT_WAITS, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let mut lines = open_code.settle();
    lines.extend(open_code.prompt("ses_1", "hello"));
    lines.extend(open_code.settle());
    assert_eq!(open_code.count("session-open"), 1);
    assert!(sent(&lines).is_empty(), "{lines:?}");
    assert_eq!(texts(requests(&lines)[0]), ["hello"]);
}

#[test]
fn the_nudge_is_in_the_first_request_behind_the_prompt_and_makes_no_title() {
    let Some(mut open_code) = (Setup { script: NUDGES, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let lines = open_code.prompt("ses_1", "hello");
    assert_eq!(texts(requests(&lines)[0]), ["hello", NUDGE]);
    // OpenCode makes one of the only message that is not synthetic.
    let titles: Vec<_> =
        all(&lines, "provider_call").into_iter().filter(|call| call["for"] == "title").collect();
    assert_eq!(titles.len(), 1, "{lines:?}");
    assert_eq!(texts(titles[0]), ["hello"]);
}

#[test]
fn in_a_headless_run_the_nudge_is_in_the_first_request_too() {
    let Some(mut open_code) = (Setup { script: NUDGES, mode: "run", ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let lines = open_code.prompt("ses_1", "hello");
    assert_eq!(texts(requests(&lines)[0]), ["hello", NUDGE]);
    assert!(all(&lines, "dangling").is_empty(), "{lines:?}");
}

#[test]
fn a_session_without_a_prompt_gets_the_nudge_and_no_request() {
    let setup = Setup { script: NUDGES, changes: SHORT_WAITS, ..SERVE };
    let Some(mut open_code) = setup.start() else { return };
    open_code.session("ses_1");
    open_code.host.until("message");
    let lines = open_code.settle();
    assert!(all(&lines, "provider_call").is_empty(), "{lines:?}");
    let lines = open_code.prompt("ses_1", "hello");
    assert_eq!(texts(requests(&lines)[0]), [NUDGE, "hello"]);
}

#[test]
fn the_nudge_leaves_the_chosen_agent() {
    let Some(mut open_code) = (Setup { script: NUDGES, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let lines =
        open_code.order(&json!({ "do": "prompt", "session": "ses_1", "text": "hello", "agent": "plan" }));
    assert_eq!(texts(requests(&lines)[0]), ["hello", NUDGE]);
    assert_eq!(requests(&lines)[0]["agent"], "plan");
    let model = json!({ "providerID": "fake", "modelID": "fake-model" });
    assert_eq!(all(&lines, "prompt_async")[0]["body"]["model"], model);
}

#[test]
fn the_nudge_waits_for_the_prompt_that_tells_which_agent_is_chosen() {
    let Some(mut open_code) = (Setup { script: NUDGES, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let before = open_code.settle();
    assert!(sent(&before).is_empty(), "{before:?}");
    let lines =
        open_code.order(&json!({ "do": "prompt", "session": "ses_1", "text": "hello", "agent": "plan" }));
    assert_eq!(all(&lines, "prompt_async")[0]["body"]["agent"], "plan");
}

#[test]
fn a_nudge_that_was_sent_before_the_agent_was_chosen_takes_it_over() {
    // Holds the messages up on their way, so that the prompt's comes while the nudge's is still under way.
    let before = r#"
        let first = true;
        export const Slow = async () => ({
            "chat.message": async () => {
                if (first) { first = false; await new Promise((go) => (globalThis.go = go)); } else globalThis.go();
            },
        });"#;
    let setup = Setup { script: NUDGES, changes: SHORT_WAITS, before, ..SERVE };
    let Some(mut open_code) = setup.start() else { return };
    open_code.session("ses_1");
    open_code.host.until("prompt_async");
    let lines =
        open_code.order(&json!({ "do": "prompt", "session": "ses_1", "text": "hello", "agent": "plan" }));
    let agents: Vec<_> = all(&lines, "message").iter().map(|message| &message["agent"]).collect();
    assert_eq!(agents, ["plan", "plan"], "{lines:?}");
}

#[test]
fn of_a_session_that_was_there_before_the_agent_is_known_by_what_is_told_of_it() {
    let script = r#"case $in in *'"compact"'*) printf NUDGE;; esac"#;
    let Some(mut open_code) = (Setup { script, changes: SHORT_WAITS, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    let model = json!({ "id": "fake-model", "providerID": "fake", "variant": "high" });
    let info = json!({ "id": "ses_1", "agent": "plan", "model": model });
    let properties = json!({ "sessionID": "ses_1", "info": info });
    let event = json!({ "id": "evt_a", "type": "session.updated", "properties": properties });
    open_code.order(&json!({ "do": "event", "event": event }));
    let mut lines = open_code.order(&json!({ "do": "compact", "session": "ses_1" }));
    lines.extend(open_code.settle());
    let body = &all(&lines, "prompt_async")[0]["body"];
    let model = json!({ "providerID": "fake", "modelID": "fake-model" });
    assert_eq!([&body["agent"], &body["model"], &body["variant"]], [&json!("plan"), &model, &json!("high")]);
}

#[test]
fn an_opening_that_takes_long_joins_the_turn_that_runs() {
    let script = r#"if [ $3 = session-open ]; then read _ < "$desk/gate"; printf '\342\201\243NUDGE'; fi"#;
    let desk = crate::support::Desk::new();
    let mut gate = desk.gate("gate");
    let setup =
        Setup { script, changes: &[("const OPEN_WAIT_MS = 2_000;", "const OPEN_WAIT_MS = 20;")], ..SERVE };
    let Some(mut open_code) = setup.start_at(desk) else { return };
    open_code.session("ses_1");
    open_code.host.order(&json!({ "do": "prompt", "session": "ses_1", "text": "hello", "waits": true }));
    let before = open_code.host.until("provider_call");
    let before = [before, open_code.host.until("provider_call")].concat();
    assert_eq!(texts(requests(&before)[0]), ["hello"]);
    gate.open();
    open_code.host.until("message");
    open_code.host.order(&json!({ "do": "answer", "session": "ses_1" }));
    let after = [open_code.host.until("done"), open_code.host.until("done")].concat();
    assert_eq!(texts(requests(&after)[0]), ["hello", NUDGE, "FINAL-TEXT"], "{after:?}");
}

#[rstest]
#[case::ends_at_term(r#"if [ $3 = session-open ]; then read _ < "$desk/gate"; fi"#)]
#[case::ignores_term(
    r#"if [ $3 = session-open ]; then trap '' TERM; read _ < "$desk/gate"; printf NUDGE; fi"#
)]
fn a_binary_that_hangs_is_ended_at_its_bound(#[case] script: &str) {
    let desk = crate::support::Desk::new();
    let _gate = desk.gate("gate");
    let changes = &[
        ("\"session-open\": 65_000,", "\"session-open\": 300,"),
        ("const GRACE_MS = 1_000;", "const GRACE_MS = 100;"),
    ];
    let Some(mut open_code) = (Setup { script, changes, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    let lines = open_code.settle();
    assert_eq!(open_code.count("session-open"), 1);
    assert!(sent(&lines).is_empty(), "{lines:?}");
    assert_eq!(texts(requests(&open_code.prompt("ses_1", "hello"))[0]), ["hello"]);
}

#[test]
fn an_opening_that_hangs_holds_up_one_prompt_and_not_the_next() {
    let desk = crate::support::Desk::new();
    let _gate = desk.gate("gate");
    let script = r#"if [ $3 = session-open ]; then read _ < "$desk/gate"; fi"#;
    let changes = &[("const OPEN_WAIT_MS = 2_000;", "const OPEN_WAIT_MS = 600;")];
    let Some(mut open_code) = (Setup { script, changes, ..SERVE }).start_at(desk) else { return };
    open_code.session("ses_1");
    let waited = |lines: &[serde_json::Value]| lines.last().unwrap()["milliseconds"].as_u64().unwrap();
    let first = waited(&open_code.prompt("ses_1", "one"));
    assert!(first >= 590, "{first} ms");
    // The fastest of several: any of them may meet a busy machine.
    let next = (0..5).map(|_| waited(&open_code.prompt("ses_1", "two"))).min().unwrap();
    assert!(next < 590, "{next} ms");
}

#[test]
fn a_sub_agents_session_gets_nothing() {
    let setup = Setup { script: "printf TEXT", changes: SHORT_WAITS, ..SERVE };
    let Some(mut open_code) = setup.start() else { return };
    let mut lines = open_code.order(&json!({ "do": "session", "session": "ses_2", "parent": "ses_1" }));
    lines.extend(open_code.order(&json!({ "do": "compact", "session": "ses_2" })));
    lines.extend(open_code.settle());
    assert!(sent(&lines).is_empty(), "{lines:?}");
    assert_eq!(open_code.moments(), ["before-compact"]);
    assert_eq!(open_code.payloads()[0]["agent_id"], "ses_2");
}

#[test]
fn a_compaction_opens_the_session_again_once() {
    let Some(mut open_code) = (Setup { script: NUDGES, ..SERVE }).start() else { return };
    open_code.session("ses_1");
    open_code.prompt("ses_1", "hello");
    let lines = open_code.order(&json!({ "do": "compact", "session": "ses_1" }));
    let id = lines.iter().find(|line| line["event"] == "session.compacted").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut lines = [lines, open_code.settle()].concat();
    // The event of one compaction, once more.
    lines.extend(open_code.event(&id, "session.compacted", "ses_1"));
    lines.extend(open_code.settle());
    assert_eq!(sent(&lines), [NUDGE], "{lines:?}");
    let opens: Vec<_> =
        open_code.payloads().into_iter().filter(|payload| payload.get("source").is_some()).collect();
    let sources: Vec<_> = opens.iter().map(|payload| payload["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["startup", "compact"]);
    // It waits for the next prompt.
    let next = open_code.prompt("ses_1", "go on");
    assert_eq!(texts(requests(&next)[0]), ["SUMMARY", "SUMMARY", NUDGE, "go on"]);
}
