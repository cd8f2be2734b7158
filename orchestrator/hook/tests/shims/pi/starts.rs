//! Which starts there are, and which generation owns a session.

use rstest::rstest;
use serde_json::json;

use super::{Extension, KEEP, LONG_AGO, PROVENANCE, Pi, count, payloads, wait_for, wait_for_file};
use crate::support::{Desk, wait_until};

const NEW: Option<&str> = None;
const OLD: Option<&str> = Some(LONG_AGO);

#[rstest]
#[case(&[], NEW, "startup")]
#[case(&[], OLD, "startup")]
#[case(&["-c"], OLD, "resume")]
#[case(&["-c"], NEW, "startup")]
#[case(&["--continue"], OLD, "resume")]
#[case(&["-r"], OLD, "resume")]
#[case(&["--resume"], OLD, "resume")]
#[case(&["--session", "x"], OLD, "resume")]
#[case(&["--session", "x"], NEW, "startup")]
#[case(&["--session=x"], OLD, "resume")]
#[case(&["--session-id", "x"], OLD, "resume")]
#[case(&["--session-id", "x"], NEW, "startup")]
#[case(&["--fork", "x"], NEW, "fork")]
#[case(&["--fork", "x"], OLD, "fork")]
#[case(&["--fork=x"], NEW, "fork")]
#[case(&["-c", "--fork", "x"], OLD, "fork")]
#[case(&["--name", "n"], OLD, "startup")]
#[case(&["--session-dir", "d", "--no-session"], OLD, "startup")]
// Values.
#[case(&["--name", "-c"], OLD, "startup")]
#[case(&["-n", "--fork"], OLD, "startup")]
#[case(&["--append-system-prompt", "--continue"], OLD, "startup")]
#[case(&["--system-prompt=--fork"], NEW, "startup")]
#[case(&["--model", "--fork", "--continue"], OLD, "resume")]
// What takes no value, or none that looks like a flag.
#[case(&["--verbose", "-c"], OLD, "resume")]
#[case(&["-p", "-c", "hello"], OLD, "resume")]
#[case(&["-p", "hello", "-c"], OLD, "resume")]
// Words.
#[case(&["--", "-c"], OLD, "startup")]
#[case(&["--", "--fork", "x"], NEW, "startup")]
#[case(&["continue", "fork"], OLD, "startup")]
fn a_start_is_told_by_flags_and_the_age_of_the_header(
    #[case] flags: &[&str],
    #[case] created: Option<&str>,
    #[case] source: &str,
) {
    let desk = Desk::new();
    let extension = Extension::calling(desk.script("dogwatch", KEEP).to_str().unwrap());
    let extension = extension.write(&desk, "dogwatch.js");
    let Some(mut pi) = Pi::with(&desk, "1.6.0", flags, vec![extension]) else { return };
    pi.starts_with(&created.map_or(json!({}), |created| json!({"created": created})));
    let said = wait_for(&desk, "session-open", 1);
    assert_eq!(said[0]["source"], source);
}

#[test]
fn what_is_told_of_a_start() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", KEEP)) else { return };
    pi.starts_with(&json!({"id": "fixed-id-1"}));
    let said = wait_for(&desk, "session-open", 1).remove(0);
    assert_eq!(desk.calls(), ["hook pi session-open --prerequisite --limit 180s"]);
    assert_eq!(said["hook_event_name"], "session_start");
    assert_eq!(said["session_id"], "fixed-id-1");
    assert_eq!(said["cwd"], desk.project.to_str().unwrap());
    assert!(said["transcript_path"].as_str().unwrap().ends_with("_fixed-id-1.jsonl"));
    assert_eq!(said["version"], "1.6.0");
}

#[rstest]
#[case("new")]
#[case("resume")]
#[case("fork")]
fn a_replacement_is_told_as_pi_calls_it(#[case] reason: &str) {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", KEEP)) else { return };
    pi.starts();
    wait_for(&desk, "session-open", 1);
    pi.is_replaced(reason);
    let said = wait_for(&desk, "session-open", 2);
    assert_eq!(said[1]["source"], reason);
    assert_ne!(said[0]["session_id"], said[1]["session_id"]);
    assert_eq!(payloads(&desk, "end")[0]["reason"], reason);
}

#[test]
fn a_reload_starts_nothing_and_ends_nothing() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", "[ $3 = session-open ] && echo digest"))
    else {
        return;
    };
    pi.starts();
    assert_eq!(pi.is_asked("one").messages().len(), 1);
    pi.does(&json!({"do": "reload"}));
    assert_eq!(pi.is_asked("two").messages(), [] as [&str; 0]);
    assert_eq!((count(&desk, "session-open"), count(&desk, "end")), (1, 0));
    assert_eq!(count(&desk, "prompt"), 2, "it acts on");
}

#[test]
fn a_start_that_a_reload_finds_under_way_is_delivered_after_it() {
    let desk = Desk::new();
    let mut gate = desk.gate("gate");
    let script =
        desk.script("dogwatch", "case $3 in session-open) read _ < \"$desk/gate\"; echo digest ;; esac");
    let Some(mut pi) = Pi::new(&desk, &script) else { return };
    pi.starts();
    assert!(wait_until(|| count(&desk, "session-open") == 1));
    pi.does(&json!({"do": "reload"}));
    gate.open();
    assert_eq!(pi.is_asked("one").messages(), [format!("{PROVENANCE}digest")]);
    assert_eq!(pi.is_asked("two").messages().len(), 0);
    assert_eq!(count(&desk, "session-open"), 1);
}

/// Ignores TERM and waits for what never comes.
const TERM_PROOF: &str = "trap '' TERM; [ -e \"$desk/first\" ] || { echo $$ > \"$desk/pid\"; mv \"$desk/pid\" \"$desk/first\"; read _ < \"$desk/gate\"; }\n";

#[rstest]
fn of_two_rapid_replacements_the_middle_one_never_starts(#[values(false, true)] silent: bool) {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let script =
        desk.script("dogwatch", &format!("{KEEP}[ $3 = session-open ] || exit 0\n{TERM_PROOF}echo digest"));
    let Some(mut pi) = Pi::new(&desk, &script) else { return };
    pi.starts();
    wait_for_file(&desk, "first");
    // It waits for the start before it to end, which takes a while, and is replaced before that.
    pi.does(&json!({"do": "replace", "reason": "resume", "silent": true}));
    pi.does(&json!({"do": "replace", "reason": "new", "silent": silent}));
    assert_eq!(pi.is_asked("hello").messages().len(), 1);
    let sources: Vec<_> = payloads(&desk, "session-open").iter().map(|said| said["source"].clone()).collect();
    assert_eq!(sources, ["startup", "new"]);
}

#[test]
fn the_start_before_has_ended_when_the_next_one_starts() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    // The second writes down whether the first is still there.
    let script = desk.script(
        "dogwatch",
        &format!(
            "[ $3 = session-open ] || exit 0\nif [ -e \"$desk/first\" ]; then kill -0 $(cat \"$desk/first\") 2> \
             \"$desk/none\" && echo alive || echo digest; exit; fi\n{TERM_PROOF}"
        ),
    );
    let Some(mut pi) = Pi::new(&desk, &script) else { return };
    pi.starts();
    wait_for_file(&desk, "first");
    // No session_shutdown ends it.
    pi.does(&json!({"do": "replace", "reason": "new", "silent": true}));
    let seen = pi.is_asked("hello");
    assert_eq!(seen.messages().len(), 1);
    assert!(seen.messages()[0].ends_with(": digest"), "{seen:?}");
}

#[test]
fn of_two_copies_one_acts() {
    let desk = Desk::new();
    let script = desk.script("dogwatch", "case $3 in session-open) echo digest ;; esac");
    let extension = Extension::calling(script.to_str().unwrap());
    let copies = vec![extension.write(&desk, "project.js"), extension.write(&desk, "user.js")];
    let Some(mut pi) = Pi::with(&desk, "1.6.0", &[], copies) else { return };
    pi.starts();
    assert_eq!(pi.is_asked("one").messages().len(), 1);
    pi.does(&json!({"do": "tool", "name": "bash", "input": {}}));
    pi.compacts("idle");
    pi.does(&json!({"do": "reload"}));
    pi.is_replaced("new");
    assert_eq!(pi.is_asked("two").messages().len(), 1);
    assert_eq!(pi.quits() / 10_000, 0);
    let counts = ["session-open", "prompt", "before-tool", "after-tool", "before-compact", "stop", "end"]
        .map(|moment| count(&desk, moment));
    assert_eq!(counts, [3, 2, 1, 1, 1, 2, 2]);
}

#[test]
fn twenty_replacements_leave_as_many_listeners_as_one() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", "[ $3 = session-open ] && echo digest"))
    else {
        return;
    };
    pi.starts();
    let mut listeners = Vec::new();
    for replacement in 1..=20 {
        pi.is_replaced("new");
        if replacement % 5 == 0 {
            pi.does(&json!({"do": "reload"}));
        }
        listeners.push(pi.does(&json!({"do": "listeners"})).all("listeners")[0].clone());
    }
    assert_eq!(listeners[0]["exit"], 1);
    assert_eq!(listeners[0], listeners[19]);
}
