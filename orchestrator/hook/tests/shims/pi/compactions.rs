//! What reaches the model when its context was compacted.

use rstest::rstest;
use serde_json::json;

use super::{KEEP, PROVENANCE, Pi, Seen, count, payloads, wait_for_file};
use crate::support::{Desk, wait_until};

const DIGEST: &str = "[ $3 = session-open ] && echo digest";

#[test]
fn a_compaction_is_told_at_once_and_not_again_at_the_next_prompt() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", &format!("{KEEP}{DIGEST}"))) else {
        return;
    };
    let digest = format!("{PROVENANCE}digest");
    pi.does(&json!({"do": "start", "extensions": pi.extensions, "mode": "tui"}));
    pi.is_asked("one");
    let seen = pi.compacts("idle");
    assert_eq!(seen.messages(), [&digest]);
    assert_eq!(seen.all("provider_call").len(), 1, "the summary, and no request of its own");
    assert_eq!(pi.is_asked("two").request(), ["SUMMARY", &digest, "two"]);
    let said = payloads(&desk, "session-open");
    assert_eq!(
        (&said[1]["hook_event_name"], &said[1]["source"]),
        (&json!("session_compact"), &json!("compact"))
    );
    let said = payloads(&desk, "before-compact");
    assert_eq!(
        (&said[0]["hook_event_name"], &said[0]["reason"]),
        (&json!("session_before_compact"), &json!("manual"))
    );
}

#[rstest]
#[case(json!({"do": "compact", "when": "middle"}), "continuation")]
#[case(json!({"do": "compact", "when": "after", "willRetry": true}), "retry")]
fn the_next_request_of_a_run_has_it(#[case] compaction: serde_json::Value, #[case] request: &str) {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", DIGEST)) else { return };
    pi.starts();
    pi.is_asked("one");
    let seen = pi.does(&compaction);
    let calls = seen.all("provider_call");
    assert_eq!((calls.len(), &calls[1]["for"]), (2, &json!(request)));
    assert_eq!(calls[1]["messages"][2]["content"], format!("{PROVENANCE}digest"));
}

#[rstest]
#[case("print", json!("FINAL-TEXT"))]
#[case("tui", json!(null))]
fn after_the_last_answer_it_starts_no_request_and_takes_no_answer_from_print_mode(
    #[case] mode: &str,
    #[case] printed: serde_json::Value,
) {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", DIGEST)) else { return };
    pi.does(&json!({"do": "start", "extensions": pi.extensions, "mode": mode}));
    pi.is_asked("one");
    let seen = pi.does(&json!({"do": "compact", "when": "after"}));
    assert_eq!(seen.all("provider_call").len(), 1, "the summary");
    assert_eq!(pi.does(&json!({"do": "printed"})).all("printed"), [&printed]);
    // Wherever it was kept, the next request has it.
    assert!(pi.is_asked("two").request().contains(&&*format!("{PROVENANCE}digest")));
}

#[test]
fn where_pi_tells_no_reason_it_is_told_at_once_even_in_print_mode() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::of_version(&desk, "0.73.1", &desk.script("dogwatch", DIGEST)) else { return };
    pi.starts();
    pi.is_asked("one");
    assert_eq!(pi.compacts("after").messages(), [format!("{PROVENANCE}digest")]);
}

#[rstest]
#[case(json!({"do": "compact", "cancel": true}))]
#[case(json!({"do": "compact", "fail": true}))]
fn a_compaction_that_did_not_come_about_is_not_told(#[case] compaction: serde_json::Value) {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", DIGEST)) else { return };
    pi.starts();
    pi.is_asked("one");
    assert_eq!(pi.does(&compaction).messages(), [] as [&str; 0]);
    assert_eq!(pi.is_asked("two").messages(), [] as [&str; 0]);
    assert_eq!(count(&desk, "session-open"), 1);
}

#[test]
fn no_summary_is_asked_for_before_the_digest_has_settled() {
    let desk = Desk::new();
    let mut gate = desk.gate("gate");
    let text = "[ $3 = session-open ] && read _ < \"$desk/gate\" && : > \"$desk/settled\"";
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", text)) else { return };
    pi.starts();
    pi.begins(&json!({"do": "compact"}));
    assert_eq!(pi.lets_time_pass().all("provider_call"), [&json!(null); 0]);
    assert_eq!(count(&desk, "before-compact"), 0);
    gate.open();
    pi.host.until("provider_call");
    assert!(desk.path("settled").exists());
    gate.open();
    pi.finishes("compact");
}

#[test]
fn a_compaction_of_a_session_that_is_replaced_meanwhile_is_not_told() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let text = "[ $3 = session-open ] || exit 0\ncase $(cat) in *compact*) ;; *) echo digest; exit ;; esac\n\
                trap 'echo stale; exit 0' TERM; : > \"$desk/compacting\"; read _ < \"$desk/gate\"";
    let Some(mut pi) = Pi::of_version(&desk, "0.73.1", &desk.script("dogwatch", text)) else { return };
    pi.starts();
    pi.is_asked("one");
    pi.begins(&json!({"do": "compact"}));
    wait_for_file(&desk, "compacting");
    let mut lines = pi.is_replaced("new").0;
    lines.extend(pi.is_asked("two").0);
    lines.extend(pi.lets_time_pass().0);
    assert_eq!(Seen(lines).messages(), [format!("{PROVENANCE}digest")]);
    assert!(wait_until(|| count(&desk, "session-open") == 3));
}

#[test]
fn a_compaction_that_is_given_up_waits_for_no_digest() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let Some(mut pi) =
        Pi::new(&desk, &desk.script("dogwatch", "[ $3 = session-open ] && read _ < \"$desk/gate\""))
    else {
        return;
    };
    pi.starts();
    pi.begins(&json!({"do": "compact"}));
    pi.host.until("event");
    pi.does(&json!({"do": "abort"}));
    assert_eq!(pi.finishes("compact").all("provider_call"), [&json!(null); 0]);
    assert_eq!(count(&desk, "before-compact"), 0);
}
