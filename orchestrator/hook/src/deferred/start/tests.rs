use std::process::{Child, Command as StdCommand, Stdio};
use std::time::Instant;

use dogwatch_engine::process::Identity;
use jiff::SignedDuration;
use rstest::rstest;
use tempfile::TempDir;

use super::*;
use crate::config::{self, Program};
use crate::home::helm::Me;

const START: &str = "2026-11-30T12:00:00Z";
const INTERVAL: i64 = 900;

fn at(seconds: i64) -> Timestamp {
    START.parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds)
}

fn helm(session: &str) -> HelmIdentity {
    let me = Me {
        process: Some(Identity::current().unwrap()),
        harness: "codex".to_owned(),
        session: Some(session.to_owned()),
        shared_process: true,
    };
    me.identity().unwrap()
}

fn config_check(name: &str, command: &str, sweep: bool) -> config::Check {
    config::Check {
        name: name.to_owned(),
        program: Program::Shell(command.to_owned()),
        sweep,
        min_interval: Seconds::new(u32::try_from(INTERVAL).unwrap()).unwrap(),
    }
}

/// A project with the checks `a` and `b`, and the sweep `s`.
struct Project {
    _home: TempDir,
    state: Folder,
    network: Network,
}

impl Project {
    fn new() -> Project {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        let checks = vec![
            config_check("a", "true", false),
            config_check("b", "true", false),
            config_check("s", "true", true),
        ];
        Project { _home: home, state, network: Network { checks, ..Network::default() } }
    }

    fn request(&self, sweeps: bool, seconds: i64) -> Request<'_> {
        Request {
            root: Path::new("/"),
            git: None,
            state: &self.state,
            helm: helm("me"),
            network: &self.network,
            sweeps,
            deadline: Network::DEADLINE,
            now: at(seconds),
        }
    }

    /// What a start decides, with the names of what a new run has to answer.
    fn decides(&self, run: &Run, request: &Request<'_>) -> (Started, Vec<String>) {
        let checks = self.asked(request.sweeps);
        match decide(run, &checks, request) {
            Decision::Nothing => (Started::Nothing, Vec::new()),
            Decision::Reused => (Started::Reused, Vec::new()),
            Decision::Fresh(due) => (Started::Fresh, due.iter().map(|check| check.name.clone()).collect()),
        }
    }

    fn asked(&self, sweeps: bool) -> Vec<Check> {
        let mut checks = planned(&self.network, None);
        checks.retain(|check| sweeps || !check.sweep);
        checks
    }

    /// A run of ours of all that is configured, that was started at 0.
    fn record(&self, sweeps: bool, states: &[CheckState]) -> Record {
        let process = Identity::current().unwrap();
        let (host, pid_namespace) = network::vantage();
        let row = |(check, state): (&Check, &CheckState)| CheckRow {
            name: check.name.clone(),
            sweep: check.sweep,
            command: check.fingerprint(),
            state: *state,
            ended_at: (!matches!(state, CheckState::Waiting | CheckState::Running)).then(|| START.to_owned()),
            note: None,
        };
        Record {
            generation: 7,
            helm: helm("me"),
            state: RunState::Running,
            supervisor: process.clone(),
            worker: process,
            host,
            pid_namespace,
            sweeps,
            started_at: START.to_owned(),
            deadline_seconds: 120,
            ended_at: None,
            checks: self.asked(sweeps).iter().zip(states).map(row).collect(),
        }
    }
}

fn fresh_of(names: &[&str]) -> (Started, Vec<String>) {
    (Started::Fresh, names.iter().map(|name| (*name).to_owned()).collect())
}

fn left(started: Started) -> (Started, Vec<String>) {
    (started, Vec::new())
}

use CheckState::{Action, Clean, Failed, Running, Skipped, Timeout, Waiting};

#[test]
fn where_nothing_is_known_everything_is_asked() {
    let project = Project::new();
    for run in [Run::Never, Run::Garbage] {
        assert_eq!(project.decides(&run, &project.request(true, 0)), fresh_of(&["a", "b", "s"]));
        assert_eq!(project.decides(&run, &project.request(false, 0)), fresh_of(&["a", "b"]));
    }
}

#[rstest]
#[case::at_once(0, false)]
#[case::young(INTERVAL - 1, false)]
#[case::old(INTERVAL, true)]
#[case::much_older(1_000_000, true)]
#[case::from_the_future(-1, true)]
fn a_clean_answer_holds_for_its_interval(#[case] seconds: i64, #[case] is_due: bool) {
    let project = Project::new();
    let over = Run::Over(project.record(true, &[Clean, Clean, Clean]));
    let expected = if is_due { fresh_of(&["a", "b", "s"]) } else { left(Started::Nothing) };
    assert_eq!(project.decides(&over, &project.request(true, seconds)), expected);
}

#[test]
fn a_clean_answer_without_a_time_is_none() {
    let project = Project::new();
    for ended_at in [None, Some("yesterday".to_owned()), Some(String::new())] {
        let mut record = project.record(true, &[Clean, Clean, Clean]);
        record.checks[1].ended_at = ended_at;
        assert_eq!(project.decides(&Run::Over(record), &project.request(true, 1)), fresh_of(&["b"]));
    }
}

#[rstest]
#[case(Action)]
#[case(Failed)]
#[case(Timeout)]
#[case(Skipped)]
#[case(Waiting)]
#[case(Running)]
fn whatever_is_not_clean_is_asked_again(#[case] state: CheckState) {
    let project = Project::new();
    let record = project.record(true, &[Clean, state, Clean]);
    for run in [Run::Over(record.clone()), Run::Abandoned(record, "gone".to_owned())] {
        assert_eq!(project.decides(&run, &project.request(true, 1)), fresh_of(&["b"]));
    }
}

#[test]
fn another_command_or_another_name_is_asked_again() {
    let mut project = Project::new();
    let over = Run::Over(project.record(true, &[Clean, Clean, Clean]));
    project.network.checks[0] = config_check("a", "false", false);
    assert_eq!(project.decides(&over, &project.request(true, 1)), fresh_of(&["a"]));
    project.network.checks[0] = config_check("renamed", "true", false);
    assert_eq!(project.decides(&over, &project.request(true, 1)), fresh_of(&["renamed"]));
    project.network.checks.remove(0);
    assert_eq!(project.decides(&over, &project.request(true, 1)), left(Started::Nothing));
}

#[test]
fn a_live_run_that_does_all_that_is_asked_serves() {
    let project = Project::new();
    let with_sweeps = Run::Live(project.record(true, &[Running, Clean, Waiting]));
    assert_eq!(project.decides(&with_sweeps, &project.request(true, 1)), left(Started::Reused));
    assert_eq!(project.decides(&with_sweeps, &project.request(false, 1)), left(Started::Reused));
    let without = Run::Live(project.record(false, &[Running, Waiting]));
    assert_eq!(project.decides(&without, &project.request(false, 1)), left(Started::Reused));
}

#[test]
fn a_run_without_sweeps_never_satisfies_a_start_that_needs_them() {
    let project = Project::new();
    let live = Run::Live(project.record(false, &[Clean, Running]));
    assert_eq!(project.decides(&live, &project.request(true, 1)), fresh_of(&["b", "s"]));
    // Not even one that by its rows would have it.
    let mut record = project.record(true, &[Clean, Running, Waiting]);
    record.sweeps = false;
    assert_eq!(project.decides(&Run::Live(record), &project.request(true, 1)), fresh_of(&["b", "s"]));
}

#[test]
fn a_live_run_of_another_command_does_not_serve() {
    let mut project = Project::new();
    let live = Run::Live(project.record(true, &[Running, Waiting, Waiting]));
    project.network.checks[1] = config_check("b", "false", false);
    assert_eq!(project.decides(&live, &project.request(true, 1)), fresh_of(&["a", "b", "s"]));
}

#[test]
fn a_live_run_of_another_session_serves_nobody_else() {
    let project = Project::new();
    for states in [[Running, Waiting, Waiting], [Running, Clean, Running]] {
        let record = Record { helm: helm("before"), ..project.record(true, &states) };
        let (started, due) = project.decides(&Run::Live(record), &project.request(true, 1));
        assert!(started == Started::Fresh && due.contains(&"a".to_owned()));
    }
}

#[test]
fn nobody_breaks_off_a_sweep_of_the_same_session() {
    let mut project = Project::new();
    let live = Run::Live(project.record(true, &[Clean, Clean, Running]));
    project.network.checks[0] = config_check("a", "false", false);
    assert_eq!(project.decides(&live, &project.request(true, 1)), left(Started::Reused));
    // One that only waits for its turn changes nothing yet.
    let mut record = project.record(true, &[Clean, Clean, Waiting]);
    record.checks[0].command = "old".to_owned();
    assert_eq!(project.decides(&Run::Live(record), &project.request(true, 1)), fresh_of(&["a", "s"]));
}

#[test]
fn what_is_ended_first() {
    let project = Project::new();
    let record = project.record(true, &[Running, Waiting, Waiting]);
    let (live, gone) = (Run::Live(record.clone()), Run::Abandoned(record.clone(), "gone".to_owned()));
    let fresh = Decision::Fresh(Vec::new());
    assert_eq!(fresh.ends_first(&live), Some(&record), "one in the way");
    for decision in [&fresh, &Decision::Nothing] {
        assert_eq!(decision.ends_first(&gone), Some(&record), "what is left of it");
    }
    for (decision, run) in [
        (&Decision::Reused, &live),
        (&Decision::Nothing, &live),
        (&fresh, &Run::Over(record.clone())),
        (&fresh, &Run::Never),
        (&fresh, &Run::Garbage),
    ] {
        assert_eq!(decision.ends_first(run), None, "{decision:?} {run:?}");
    }
}

#[test]
fn every_session_in_charge_has_its_own_generation() {
    let project = Project::new();
    let record = project.record(true, &[Clean, Clean, Clean]);
    assert_eq!(generation(None, &helm("me")), 1);
    assert_eq!(generation(Some(&record), &helm("me")), 7);
    assert_eq!(generation(Some(&record), &helm("next")), 8);
    let last = Record { generation: u64::MAX, ..record };
    assert_eq!(generation(Some(&last), &helm("next")), u64::MAX);
}

#[test]
fn of_what_is_not_due_a_new_run_knows_the_answer() {
    let project = Project::new();
    let mut before = project.record(true, &[Clean, Action, Clean]);
    before.checks[0].note = Some("kept".to_owned());
    let checks = project.asked(true);
    let due = [&checks[1]];
    let rows = rows(Some(&before), &checks, &due);
    assert_eq!(rows.iter().map(|row| row.state).collect::<Vec<_>>(), [Clean, Waiting, Clean]);
    assert_eq!(rows[0], before.checks[0]);
    assert_eq!((rows[1].ended_at.as_ref(), rows[1].note.as_ref()), (None, None));
    assert!(rows[2].sweep);
    let all: Vec<&Check> = checks.iter().collect();
    for rows in [super::rows(None, &checks, &all), super::rows(None, &checks, &[])] {
        assert!(rows.iter().all(|row| row.state == Waiting));
        assert_eq!(rows[0].command, checks[0].fingerprint());
    }
}

fn start_now(request: &Request<'_>) -> Result<Started, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(start(&Engine::new(), request))
}

#[test]
fn with_nothing_to_ask_nothing_is_touched() {
    let mut project = Project::new();
    project.network.checks.remove(0);
    project.network.checks.remove(0);
    let _turn = network::turn(&project.state, Duration::ZERO).unwrap().unwrap();
    assert_eq!(start_now(&project.request(false, 0)), Ok(Started::Nothing), "only a sweep");
}

#[test]
fn while_somebody_else_is_at_it_a_start_waits_and_not_for_long() {
    let project = Project::new();
    let _turn = network::turn(&project.state, Duration::ZERO).unwrap().unwrap();
    let begin = Instant::now();
    assert_eq!(start_now(&project.request(true, 0)), Ok(Started::Reused));
    assert!(begin.elapsed() >= TURN_BOUND && begin.elapsed() < TURN_BOUND * 20);
}

#[test]
fn a_live_run_that_serves_is_not_touched() {
    let project = Project::new();
    let ((_one, worker), (_other, supervisor)) = (Cat::start(), Cat::start());
    let record = Record { supervisor, worker, ..project.record(true, &[Running, Clean, Waiting]) };
    network::turn(&project.state, Duration::ZERO).unwrap().unwrap().write(&record).unwrap();
    assert_eq!(start_now(&project.request(true, 1)), Ok(Started::Reused));
    assert_eq!(network::look(&project.state, at(1)).unwrap(), Run::Live(record), "and it still works");
}

#[test]
fn a_start_that_fails_says_why_and_leaves_no_record_of_a_run() {
    // Under `cargo test` this program cannot be its own supervisor.
    let project = Project::new();
    let why = start_now(&project.request(true, 0)).unwrap_err();
    assert!(why.contains("supervisor"), "{why}");
    assert_eq!(network::look(&project.state, at(0)).unwrap(), Run::Never);
    assert!(network::turn(&project.state, Duration::ZERO).unwrap().is_some(), "nor a lock");
}

/// A process that ends when it is killed, at the latest with this test.
struct Cat(Child);

impl Cat {
    fn start() -> (Cat, Identity) {
        let child = StdCommand::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let identity = Identity::of(child.id().cast_signed()).unwrap();
        (Cat(child), identity)
    }
}

impl Cat {
    /// One that has a worker's arguments.
    fn worker(folder: &Path) -> (Cat, Identity) {
        std::fs::write(folder.join("network"), "read _\n").unwrap();
        let mut command = StdCommand::new("/bin/sh");
        let child =
            command.args(["network", "worker"]).current_dir(folder).stdin(Stdio::piped()).spawn().unwrap();
        let identity = Identity::of(child.id().cast_signed()).unwrap();
        // Until then it has those of this program.
        let until = Instant::now() + Duration::from_secs(30);
        while !is_worker(identity.pid) && Instant::now() < until {
            std::thread::yield_now();
        }
        (Cat(child), identity)
    }
}

impl Drop for Cat {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn to_end_a_run_kills_its_worker_and_waits_for_its_supervisor_not_for_long() {
    let project = Project::new();
    let folder = tempfile::tempdir().unwrap();
    let ((_one, worker), (_other, supervisor)) = (Cat::worker(folder.path()), Cat::start());
    let record = Record {
        worker: worker.clone(),
        supervisor: supervisor.clone(),
        ..project.record(true, &[Running, Waiting, Waiting])
    };
    let begin = Instant::now();
    end(&record);
    assert!(begin.elapsed() >= END_BOUND && begin.elapsed() < END_BOUND * 10, "{:?}", begin.elapsed());
    assert!(worker.wait_for_end(Duration::from_secs(30)));
    assert!(supervisor.is_alive(), "it ends the rest, and then itself");
    assert!(supervisor.kill());
    end(&record);
}

#[test]
fn to_end_a_run_hits_nobody_who_has_the_id_of_its_worker_now() {
    let project = Project::new();
    let (_cat, living) = Cat::start();
    let stranger = Identity { start_time: living.start_time + 1, ..living.clone() };
    let other_boot = Identity { boot_id: "another".to_owned(), ..living.clone() };
    // What a record calls a worker, and is none, is nobody's to end.
    let gone = Identity { boot_id: "another".to_owned(), ..living.clone() };
    let record = Record {
        worker: living.clone(),
        supervisor: gone,
        ..project.record(true, &[Running, Waiting, Waiting])
    };
    end(&record);
    assert!(living.is_alive());
    for gone in [stranger, other_boot] {
        let worker = gone.clone();
        let record =
            Record { worker, supervisor: gone, ..project.record(true, &[Running, Waiting, Waiting]) };
        let begin = Instant::now();
        end(&record);
        assert!(begin.elapsed() < END_BOUND, "there is nothing to wait for");
    }
    assert!(living.is_alive());
}
