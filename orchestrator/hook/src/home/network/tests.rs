use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Instant;

use jiff::SignedDuration;
use nix::unistd::getppid;
use rstest::rstest;
use tempfile::TempDir;

use super::super::helm::Me;
use super::*;

const LONG: Duration = Duration::from_secs(30);
const START: &str = "2026-11-30T12:00:00Z";

fn home() -> (TempDir, Folder) {
    let home = tempfile::tempdir().unwrap();
    let state = Folder::state_of(home.path()).unwrap();
    (home, state)
}

/// So many seconds after the start of the run.
fn at(seconds: i64) -> Timestamp {
    START.parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds)
}

fn this_process() -> Identity {
    Identity::current().unwrap()
}

fn dead_process() -> Identity {
    let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
    let identity = Identity::of(i32::try_from(child.id()).unwrap()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    identity
}

fn row(name: &str, state: CheckState) -> CheckRow {
    CheckRow {
        name: name.to_owned(),
        sweep: false,
        command: "hash".to_owned(),
        state,
        ended_at: None,
        note: None,
    }
}

/// A run of this process, with a deadline of 100 s.
fn record() -> Record {
    let me = Me {
        process: Some(this_process()),
        harness: "claude".to_owned(),
        session: None,
        shared_process: false,
    };
    let (host, pid_namespace) = vantage();
    Record {
        generation: 1,
        helm: me.identity().unwrap(),
        state: RunState::Running,
        supervisor: Identity::of(getppid().as_raw()).unwrap(),
        worker: this_process(),
        host,
        pid_namespace,
        sweeps: false,
        started_at: START.to_owned(),
        deadline_seconds: 100,
        ended_at: None,
        checks: vec![
            row("a", CheckState::Running),
            row("b", CheckState::Waiting),
            row("c", CheckState::Clean),
        ],
    }
}

fn put(state: &Folder, record: &Record) {
    turn(state, LONG).unwrap().unwrap().write(record).unwrap();
}

fn look_at(record: &Record, seconds: i64) -> Run {
    let (_home, state) = home();
    put(&state, record);
    look(&state, at(seconds)).unwrap()
}

#[track_caller]
fn abandoned(run: Run) -> String {
    match run {
        Run::Abandoned(_, why) => why,
        other => panic!("expected an abandoned run: {other:?}"),
    }
}

#[test]
fn without_a_record_there_was_none_and_a_look_makes_nothing() {
    let (_home, state) = home();
    assert_eq!(look(&state, at(0)).unwrap(), Run::Never);
    assert_eq!(report(&state).unwrap(), None);
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}

#[rstest]
#[case::empty(b"")]
#[case::cut(br#"{"version":1,"generation":1,"helm":{"#)]
#[case::binary(b"\xff\xfe\0")]
#[case::other_json(b"[1,2,3]")]
#[case::an_empty_object(b"{}")]
#[case::a_number_for_a_name(br#"{"version":1,"generation":"1","state":"running"}"#)]
fn a_record_that_is_none_is_garbage(#[case] content: &[u8]) {
    let (_home, state) = home();
    fs::write(state.path().join(FILE_NAME), content).unwrap();
    assert_eq!(look(&state, at(0)).unwrap(), Run::Garbage);
    assert_eq!(turn(&state, LONG).unwrap().unwrap().own(&this_process()).unwrap(), None);
}

#[test]
fn an_unknown_state_a_link_and_a_huge_record_are_garbage() {
    let (_home, state) = home();
    put(&state, &record());
    let path = state.path().join(FILE_NAME);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, whole.replace("\"running\"", "\"resting\"")).unwrap();
    assert_eq!(look(&state, at(0)).unwrap(), Run::Garbage);
    fs::write(&path, whole + &" ".repeat(usize::try_from(LIMIT_BYTES).unwrap())).unwrap();
    assert_eq!(look(&state, at(0)).unwrap(), Run::Garbage);
    fs::rename(&path, state.path().join("aside")).unwrap();
    symlink("aside", &path).unwrap();
    assert_eq!(look(&state, at(0)).unwrap(), Run::Garbage);
}

#[test]
fn a_run_whose_processes_live_is_live_until_its_deadline_and_what_it_has_beyond() {
    for seconds in [-30, 0, 100, 130] {
        assert_eq!(look_at(&record(), seconds), Run::Live(record()), "{seconds}");
    }
    assert_eq!(abandoned(look_at(&record(), 131)), "it is older than its deadline allows");
}

#[test]
fn a_run_that_starts_in_the_future_or_at_no_time_is_no_live_one() {
    assert!(abandoned(look_at(&record(), -31)).contains("clock"));
    let never = Record { started_at: "yesterday".to_owned(), ..record() };
    assert!(abandoned(look_at(&never, 0)).contains("clock"));
}

#[rstest]
#[case(RunState::Done)]
#[case(RunState::Timeout)]
#[case(RunState::Failed)]
fn a_run_that_has_said_so_is_over_whatever_became_of_its_processes(#[case] state: RunState) {
    let over = Record { state, worker: dead_process(), ..record() };
    assert_eq!(look_at(&over, 10_000), Run::Over(over.clone()));
    assert_eq!(state.id(), serde_json::to_value(state).unwrap());
}

#[test]
fn a_run_whose_worker_or_supervisor_is_gone_is_abandoned_and_says_why() {
    let recycled = Identity { start_time: this_process().start_time + 1, ..this_process() };
    let other_boot = Identity { boot_id: "another".to_owned(), ..this_process() };
    for (gone, why) in [
        (dead_process(), "its process has ended"),
        (recycled, "its process has ended and another has its id"),
        (other_boot, "the machine was booted since"),
    ] {
        assert_eq!(abandoned(look_at(&Record { worker: gone.clone(), ..record() }, 0)), why);
        assert_eq!(abandoned(look_at(&Record { supervisor: gone, ..record() }, 0)), why);
    }
}

#[test]
fn a_run_that_cannot_be_seen_from_here_counts_as_live_until_it_is_too_old() {
    let recycled = Identity { start_time: 1, ..this_process() };
    for elsewhere in [
        Record { host: "elsewhere".to_owned(), worker: recycled.clone(), ..record() },
        Record { pid_namespace: Some(1), worker: recycled, ..record() },
    ] {
        assert_eq!(look_at(&elsewhere, 130), Run::Live(elsewhere.clone()));
        abandoned(look_at(&elsewhere, 131));
    }
}

#[test]
fn what_has_no_answer_is_told_in_order() {
    assert_eq!(record().unconfirmed(), ["a", "b"]);
    let states =
        [CheckState::Clean, CheckState::Action, CheckState::Failed, CheckState::Timeout, CheckState::Skipped];
    let checks = states.map(|state| row("x", state)).to_vec();
    assert!(Record { checks, ..record() }.unconfirmed().is_empty());
}

#[test]
fn what_is_left_counts_down_and_is_never_more_than_the_whole() {
    for (seconds, left) in [(0, 130), (29, 101), (130, 0), (131, 0), (1_000_000, 0), (-5, 130), (-9999, 130)]
    {
        assert_eq!(record().left(at(seconds)), Duration::from_secs(left), "{seconds}");
    }
    let never = Record { started_at: String::new(), ..record() };
    assert_eq!(never.left(at(0)), Duration::ZERO);
    let longest = Record { deadline_seconds: u32::MAX, ..record() };
    assert_eq!(longest.left(at(0)).as_secs(), u64::from(u32::MAX) + 30);
}

#[test]
fn the_record_is_only_the_workers_that_it_names_while_it_runs() {
    let (_home, state) = home();
    let own = |worker: &Identity| turn(&state, LONG).unwrap().unwrap().own(worker).unwrap();
    assert_eq!(own(&this_process()), None, "there is none");
    put(&state, &record());
    assert_eq!(own(&this_process()), Some(record()));
    assert_eq!(own(&record().supervisor), None);
    assert_eq!(own(&Identity { start_time: 1, ..this_process() }), None);
    assert_eq!(own(&Identity { boot_id: "another".to_owned(), ..this_process() }), None);
    for over in [RunState::Done, RunState::Timeout, RunState::Failed] {
        put(&state, &Record { state: over, ..record() });
        assert_eq!(own(&this_process()), None, "{over:?}");
    }
}

#[test]
fn one_at_a_time_has_the_turn_and_the_wait_is_bounded() {
    let (home, state) = home();
    let first = turn(&state, LONG).unwrap().unwrap();
    let begin = Instant::now();
    let again = Folder::state_of(home.path()).unwrap();
    assert!(turn(&again, Duration::from_millis(20)).unwrap().is_none());
    assert!(begin.elapsed() < Duration::from_secs(10));
    // A look waits for nobody.
    assert_eq!(look(&state, at(0)).unwrap(), Run::Never);
    drop(first);
    assert!(turn(&again, Duration::ZERO).unwrap().is_some());
}

#[test]
fn the_report_lies_beside_the_record_and_is_read_back() {
    let (_home, state) = home();
    turn(&state, LONG).unwrap().unwrap().write_report("- a: fine\n").unwrap();
    assert_eq!(report(&state).unwrap().as_deref(), Some("- a: fine\n"));
    fs::write(state.path().join(REPORT), b"\xff").unwrap();
    assert_eq!(report(&state).unwrap().as_deref(), Some("\u{FFFD}"));
}

#[test]
fn in_a_home_that_is_gone_there_is_no_turn_and_no_run() {
    let (home, state) = home();
    put(&state, &record());
    let held = turn(&state, LONG).unwrap().unwrap();
    fs::remove_dir_all(home.path()).unwrap();
    assert_eq!(look(&state, at(0)).unwrap(), Run::Never);
    assert_eq!(held.own(&this_process()).unwrap(), None);
    assert!(held.write(&record()).is_err() && held.write_report("").is_err());
    drop(held);
    assert!(turn(&state, LONG).is_err());
    assert!(!home.path().exists());
}
