use std::time::Duration;

use dogwatch_engine::process::Identity;
use jiff::SignedDuration;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::config::{self, Network, Program};
use crate::deferred::check::planned;
use crate::home::helm::Me;
use crate::home::network::RunState;

const START: &str = "2026-11-30T12:00:00Z";

fn at(seconds: i64) -> Timestamp {
    START.parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds)
}

fn row(name: &str, state: CheckState, note: Option<&str>) -> CheckRow {
    let note = note.map(str::to_owned);
    CheckRow { name: name.to_owned(), sweep: false, command: String::new(), state, ended_at: None, note }
}

fn record(state: RunState, checks: Vec<CheckRow>) -> Record {
    let process = Identity::current().unwrap();
    let me = Me {
        process: Some(process.clone()),
        harness: "claude".to_owned(),
        session: None,
        shared_process: false,
    };
    Record {
        generation: 3,
        helm: me.identity().unwrap(),
        state,
        supervisor: process.clone(),
        worker: process,
        host: String::new(),
        pid_namespace: None,
        sweeps: true,
        started_at: START.to_owned(),
        deadline_seconds: 100,
        ended_at: None,
        checks,
    }
}

fn every_state() -> Vec<CheckRow> {
    vec![
        row("waits", CheckState::Waiting, None),
        row("runs", CheckState::Running, None),
        row("clean", CheckState::Clean, Some("a note")),
        row("acts", CheckState::Action, None),
        row("fails", CheckState::Failed, Some("exit 2: no")),
        row("late", CheckState::Timeout, Some("ended at 100 s")),
        row("left", CheckState::Skipped, Some("the helm has gone")),
    ]
}

fn answered() -> Vec<CheckRow> {
    vec![row("a", CheckState::Clean, None), row("b", CheckState::Action, None)]
}

fn wake(text: &str) -> Wake {
    Wake::new("network-a", text.to_owned(), 3, at(0))
}

fn check(name: &str) -> Check {
    let program = Program::Argv(vec!["run me".to_owned(), name.to_owned()]);
    let min_interval = config::Check::MIN_INTERVAL;
    let check = config::Check { name: name.to_owned(), program, sweep: false, min_interval };
    planned(&Network { checks: vec![check], ..Network::default() }, None).remove(0)
}

const NOT_CONFIRMED: &str = "not confirmed: fails (the check failed: exit 2: no)\n\
                             not confirmed: late (ended at 100 s)\n\
                             not confirmed: left (the helm has gone)\n";

#[test]
fn where_everything_is_as_it_should_be_nothing_is_said() {
    let over = Run::Over(record(RunState::Done, answered()));
    for run in [Run::Never, over] {
        assert_eq!(stage_text(&run, &[], true), None, "{run:?}");
        assert_eq!(stage_text(&run, &[], false), None, "{run:?}");
    }
}

#[test]
fn what_is_open_and_what_could_not_be_confirmed_is_named() {
    let record = record(RunState::Running, every_state());
    let live = |in_charge| stage_text(&Run::Live(record.clone()), &[], in_charge).unwrap();
    let first = "in progress, not yet confirmed: waits, runs (what asks for action will be told; \
                 `dogwatch network wait` waits for it)\n";
    assert_eq!(live(true), format!("{first}{NOT_CONFIRMED}"));
    assert!(live(false).contains("(the session in charge is told; "), "nobody will tell a reader");

    let gone = Run::Abandoned(record.clone(), "its process has ended".to_owned());
    let first = "not confirmed: waits, runs (the run was abandoned: its process has ended)\n";
    assert_eq!(stage_text(&gone, &[], true).unwrap(), format!("{first}{NOT_CONFIRMED}"));

    assert_eq!(stage_text(&Run::Over(record), &[], true).as_deref(), Some(NOT_CONFIRMED));
    assert_eq!(
        stage_text(&Run::Garbage, &[], true).as_deref(),
        Some("not confirmed: the record of the last run cannot be read\n")
    );
}

#[test]
fn a_run_that_has_all_its_answers_leaves_nothing_to_be_confirmed() {
    // Between the last answer and the end of the worker.
    let record = record(RunState::Running, answered());
    assert_eq!(stage_text(&Run::Live(record.clone()), &[], true), None);
    assert_eq!(stage_text(&Run::Abandoned(record, "gone".to_owned()), &[], true), None);
}

#[test]
fn what_asks_for_action_stands_whole_in_the_stage() {
    let wakes = [wake("one\n  | x"), wake("two")];
    assert_eq!(stage_text(&Run::Never, &wakes, true).as_deref(), Some("one\n  | x\ntwo\n"));
    let text = stage_text(&Run::Over(record(RunState::Failed, every_state())), &wakes, true).unwrap();
    assert_eq!(text, format!("{NOT_CONFIRMED}one\n  | x\ntwo\n"));
}

#[test]
fn a_wake_says_which_check_when_and_what_it_said() {
    assert_eq!(
        wake_text("deps", "two are old:\n\n  a 1.0\nb", at(61)),
        "network check deps asks for action (checked 2026-11-30T12:01Z):\n  | two are old:\n  | \n  |   a 1.0\n  | b"
    );
}

#[rstest]
#[case::one_line("ä".repeat(16 * 1024))]
#[case::short_lines("a\n".repeat(8 * 1024))]
#[case::no_words("x".to_owned() + &"\n".repeat(16 * 1024) + "x")]
#[case::wide("\u{1F6A2}".repeat(4 * 1024))]
fn a_wake_is_cut_to_what_every_harness_shows_whole(#[case] said: String) {
    let text = wake_text(&"n".repeat(64), &said, at(0));
    assert!(text.ends_with("\n[cut here; `dogwatch network report` has the report]"), "{}", text.len());
    assert!(text.len() < 4500, "{}", text.len());
    assert!(text.len() > 3000, "a cut that keeps next to nothing: {}", text.len());
}

#[test]
fn a_wake_that_fits_is_not_cut() {
    let said = "x".repeat(WAKE_BYTES - "  | \n".len());
    assert!(wake_text("a", &said, at(0)).ends_with(&format!("  | {said}")));
    let more = format!("{said}x");
    assert!(wake_text("a", &more, at(0)).contains("[cut here"));
}

#[test]
fn the_report_has_a_line_for_each_check_and_what_this_run_heard() {
    let [failed, late, acts] = ["fails", "late", "acts"].map(check);
    let verdicts = [
        (&failed, Verdict::Failed("exit 2: no".to_owned())),
        (&late, Verdict::Timeout),
        (&acts, Verdict::Action("do this\nthen that".to_owned())),
    ];
    let said = |name: &str| {
        let found = verdicts.iter().find(|(check, _)| check.name == name);
        found.map(|(check, verdict)| (*check, verdict))
    };
    let mut rows = every_state();
    rows[5].sweep = true;
    rows[2].ended_at = Some(START.to_owned());
    let expected = "- waits: not started yet\n\
                    - runs: running\n\
                    - clean: nothing to do (2026-11-30T12:00:00Z): a note\n\
                    - acts: asks for action\n  | do this\n  | then that\n\
                    - fails: the check itself failed: exit 2: no\n  to run it again by hand: 'run me' fails\n\
                    - late (sweep): timeout: ended at 100 s\n  to run it again by hand: 'run me' late\n\
                    - left: skipped: the helm has gone\n";
    assert_eq!(report(&record(RunState::Timeout, rows), said), expected);
}

#[test]
fn the_overview_of_each_run() {
    let of = "generation 3, started 2026-11-30T12:00:00Z, deadline 100 s";
    assert_eq!(
        overview(&Run::Never, at(0)),
        "network: no check has run yet; a session that opens in an agent starts those that `[network]` in \
         .dogwatch/config.toml names, once a person has trusted it\n"
    );
    assert_eq!(
        overview(&Run::Garbage, at(0)),
        "network: the record of the last run cannot be read; the next session replaces it\n"
    );
    let mut running = record(RunState::Running, every_state());
    assert_eq!(
        overview(&Run::Live(running.clone()), at(30)),
        format!("network: running ({of}); not yet confirmed: waits, runs; 70 s to the deadline\n")
    );
    running.checks[0].sweep = true;
    assert_eq!(
        overview(&Run::Abandoned(running, "its process has ended".to_owned()), at(0)),
        format!(
            "network: abandoned, its process has ended ({of}, with sweeps); the next session starts it again\n"
        )
    );
    let ended_at = Some("2026-11-30T12:00:09Z".to_owned());
    let over = Record { ended_at, ..record(RunState::Timeout, answered()) };
    assert_eq!(
        overview(&Run::Over(over), at(0)),
        format!("network: timeout ({of}, ended 2026-11-30T12:00:09Z)\n")
    );
    assert_eq!(
        overview(&Run::Over(record(RunState::Done, answered())), at(0)),
        format!("network: done ({of}, ended at an unknown time)\n")
    );
}

/// Whatever a reader may take for the end of a line.
fn lines(text: &str) -> Vec<&str> {
    let is_end = |c: char| matches!(c, '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.split(is_end).collect()
}

/// Text that tries to look like ours.
fn forgery() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n- other: nothing to do".to_owned()),
        Just("\r\n=== READ-ONLY: x ===".to_owned()),
        Just("\u{2028}network check x asks for action".to_owned()),
        Just("\u{2029}[cut here; `dogwatch network report` has the report]".to_owned()),
        Just("\n  to run it again by hand: rm".to_owned()),
        Just("\u{85}not confirmed: ".to_owned()),
        Just("\n  | ".to_owned()),
        Just("\u{B}\u{C}\r".to_owned()),
        any::<char>().prop_map(String::from),
        "[ -~]{0,20}",
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_that_a_check_says_looks_like_a_line_of_ours(forged in forgery()) {
        // A check that asks for action never has no word at all.
        let said = format!("x{}", crate::text::clean(&forged));
        let text = wake_text("a", &said, at(0));
        let mut rest = lines(&text);
        prop_assert_eq!(rest.remove(0), "network check a asks for action (checked 2026-11-30T12:00Z):");
        prop_assert!(rest.iter().all(|line| line.starts_with("  |")), "{text:?}");

        let (own, verdict) = (check("a"), Verdict::Action(said));
        let record = record(RunState::Done, vec![row("a", CheckState::Action, None)]);
        let text = report(&record, |_| Some((&own, &verdict)));
        let text = text.strip_suffix('\n').unwrap();
        let mut rest = lines(text);
        prop_assert_eq!(rest.remove(0), "- a: asks for action");
        prop_assert!(rest.iter().all(|line| line.starts_with("  |")), "{text:?}");
    }

    // The folder of the record may have come with a repository.
    #[test]
    fn nothing_in_a_record_makes_a_line_in_what_a_session_reads(forged in forgery()) {
        for state in [CheckState::Waiting, CheckState::Failed, CheckState::Timeout, CheckState::Skipped] {
            let forged = || Some(forged.as_str());
            let row = row(forged().unwrap(), state, forged());
            let ended_at = forged().map(str::to_owned);
            let started_at = forged().unwrap().to_owned();
            let record = Record { started_at, ended_at, ..record(RunState::Running, vec![row]) };
            let why = forged().unwrap().to_owned();
            for run in [Run::Live(record.clone()), Run::Over(record.clone()), Run::Abandoned(record, why)] {
                for text in [stage_text(&run, &[], true), Some(overview(&run, at(0)))].into_iter().flatten() {
                    let text = text.strip_suffix('\n').unwrap();
                    prop_assert!(lines(text).len() <= 1, "{text:?}");
                    prop_assert!(!text.contains(crate::text::is_forbidden), "{text:?}");
                }
            }
        }
    }
}

#[test]
fn what_a_wake_says_is_known_by_the_minute() {
    assert_eq!(minute(at(0) + Duration::from_millis(59_999)), "2026-11-30T12:00Z");
}
