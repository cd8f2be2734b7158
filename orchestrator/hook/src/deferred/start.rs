//! Starting a run, or finding that one serves.

use std::io;
use std::path::Path;
use std::time::Duration;

use dogwatch_engine::process::{Command, Deadline, Detached, DetachedRun, Engine, Grace};
use jiff::Timestamp;

use super::check::{Check, planned};
use crate::config::{Network, Seconds};
use crate::digest::plan;
use crate::home::helm::HelmIdentity;
use crate::home::network::{self, CheckRow, CheckState, Record, Run, RunState, Turn};
use crate::home::root::GitPlace;
use crate::home::state::Folder;

/// How long a start waits for others that are about to start one.
const TURN_BOUND: Duration = Duration::from_millis(500);
/// How long a run that is replaced may take to be gone.
const END_BOUND: Duration = Duration::from_millis(1500);
/// What the worker has beyond the deadline of the stage for ending checks and writing down what became of them.
const BACKSTOP: Duration = Duration::from_secs(10);

/// What a session wants to have checked.
#[derive(Debug)]
pub struct Request<'a> {
    /// The project.
    pub root: &'a Path,
    /// Its checkout, if it is one.
    pub git: Option<&'a GitPlace>,
    /// The state folder of its home.
    pub state: &'a Folder,
    /// The session in charge.
    pub helm: HelmIdentity,
    /// What is configured, and trusted.
    pub network: &'a Network,
    /// Whether what changes something is to run, too.
    pub sweeps: bool,
    /// The deadline of the stage.
    pub deadline: Seconds,
    /// The moment of the start.
    pub now: Timestamp,
}

/// What became of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// There is nothing to check, or everything was checked a moment ago.
    Nothing,
    /// A run that works serves.
    Reused,
    /// A new one works.
    Fresh,
}

/// Sees to it that what is asked is being checked, and returns at once.
///
/// # Errors
/// Why it cannot be, as a clause.
pub async fn start(engine: &Engine, request: &Request<'_>) -> Result<Started, String> {
    let planned = planned(request.network, request.git).into_iter();
    let (checks, left_out): (Vec<Check>, Vec<Check>) =
        planned.partition(|check| request.sweeps || !check.sweep);
    if checks.is_empty() {
        return Ok(Started::Nothing);
    }
    let turn = network::turn(request.state, TURN_BOUND).map_err(|error| error.to_string())?;
    // Somebody else is about to start one.
    let Some(turn) = turn else { return Ok(Started::Reused) };
    let run = network::look(request.state, request.now).map_err(|error| error.to_string())?;
    let decision = decide(&run, &checks, request);
    if let Some(record) = decision.ends_first(&run) {
        end(record);
    }
    match decision {
        Decision::Nothing => Ok(Started::Nothing),
        Decision::Reused => Ok(Started::Reused),
        Decision::Fresh(due) => {
            let kept = kept(run.record(), &left_out);
            fresh(engine, request, &turn, run.record(), rows(run.record(), &checks, &due), kept).await?;
            Ok(Started::Fresh)
        }
    }
}

/// What is to be done about what is asked.
#[derive(Debug, PartialEq)]
enum Decision<'a> {
    /// Every answer is there.
    Nothing,
    /// The run that works serves.
    Reused,
    /// A new run has to answer these.
    Fresh(Vec<&'a Check>),
}

impl Decision<'_> {
    /// The run that is ended before anything else: one in the way of a new one, or what is left of one that was abandoned.
    /// One of another session that nothing was left to ask of comes to its own end.
    fn ends_first<'r>(&self, run: &'r Run) -> Option<&'r Record> {
        match (run, self) {
            (Run::Abandoned(record, _), _) | (Run::Live(record), Decision::Fresh(_)) => Some(record),
            _ => None,
        }
    }
}

fn decide<'a>(run: &Run, checks: &'a [Check], request: &Request<'_>) -> Decision<'a> {
    let is_due = |check: &&Check| run.record().is_none_or(|record| is_due(check, record, request));
    let due: Vec<&Check> = checks.iter().filter(is_due).collect();
    match run {
        Run::Live(record) if serves(record, &due, request) => Decision::Reused,
        // Nobody breaks off what is changing something.
        Run::Live(record) if record.helm == request.helm && is_sweeping(record) => Decision::Reused,
        _ if due.is_empty() => Decision::Nothing,
        _ => Decision::Fresh(due),
    }
}

async fn fresh(
    engine: &Engine,
    request: &Request<'_>,
    turn: &Turn<'_>,
    before: Option<&Record>,
    rows: Vec<CheckRow>,
    kept: Vec<CheckRow>,
) -> Result<(), String> {
    let (host, pid_namespace) = network::vantage();
    let record = |run: &DetachedRun| Record {
        generation: generation(before, &request.helm),
        helm: request.helm.clone(),
        state: RunState::Running,
        supervisor: run.supervisor.clone(),
        worker: run.leader.clone(),
        host,
        pid_namespace,
        sweeps: request.sweeps,
        started_at: network::stamp(request.now),
        deadline_seconds: request.deadline.get(),
        ended_at: None,
        checks: [rows, kept].concat(),
    };
    // Of an earlier run: what is in it then is of this one.
    let _ = request.state.remove(network::LOG);
    let program = std::env::current_exe().map_err(|error| format!("this program is not found: {error}"))?;
    let command = Command::new(program).args(["network", "worker", "--root"]).arg(request.root);
    let command = plan::without_secrets(command).current_dir(request.root);
    let most = Deadline::new(request.deadline.duration() + BACKSTOP).unwrap_or(Deadline::MAX);
    let detached =
        Detached::new(command, most, request.state.path().join(network::LOG)).grace(Grace::DEFAULT);
    let started = detached.start_with(engine, |run| turn.write(&record(run)).map_err(io::Error::other)).await;
    started.map(drop).map_err(|error| error.to_string())
}

/// Every session in charge has its own.
fn generation(before: Option<&Record>, helm: &HelmIdentity) -> u64 {
    match before {
        Some(before) if before.helm == *helm => before.generation,
        Some(before) => before.generation.saturating_add(1),
        None => 1,
    }
}

/// The checks of a new run: those that are due wait, of the others it is known what they came to.
fn rows(before: Option<&Record>, checks: &[Check], due: &[&Check]) -> Vec<CheckRow> {
    let row = |check: &Check| {
        let waiting = CheckRow {
            name: check.name.clone(),
            sweep: check.sweep,
            command: check.fingerprint(),
            state: CheckState::Waiting,
            ended_at: None,
            note: None,
        };
        let is_due = due.iter().any(|due| due.name == check.name);
        let known = || before?.checks.iter().find(|row| row.name == check.name).cloned();
        if is_due { waiting } else { known().unwrap_or(waiting) }
    };
    checks.iter().map(row).collect()
}

/// What a run leaves out has answered before. It stays, or the next start would ask again too soon.
fn kept(before: Option<&Record>, left_out: &[Check]) -> Vec<CheckRow> {
    let answer = |check: &Check| {
        let is_its = |row: &&CheckRow| {
            row.name == check.name && row.command == check.fingerprint() && row.state == CheckState::Clean
        };
        before?.checks.iter().find(is_its).cloned()
    };
    left_out.iter().filter_map(answer).collect()
}

/// Whether it has to be asked again. What asked for action is, because the session that heard of it may be gone.
fn is_due(check: &Check, record: &Record, request: &Request<'_>) -> bool {
    let row = record.checks.iter().find(|row| row.name == check.name && row.command == check.fingerprint());
    let ended_at = row.filter(|row| row.state == CheckState::Clean).and_then(|row| row.ended_at.as_deref());
    let Some(ended_at) = ended_at.and_then(|at| at.parse::<Timestamp>().ok()) else { return true };
    let age = request.now.as_second() - ended_at.as_second();
    // What is from the future was written before a clock was set back.
    age < 0 || age.unsigned_abs() >= check.min_interval.as_secs()
}

/// Whether a live run does all that is asked.
fn serves(record: &Record, due: &[&Check], request: &Request<'_>) -> bool {
    let has = |check: &&Check| {
        record.checks.iter().any(|row| row.name == check.name && row.command == check.fingerprint())
    };
    record.helm == request.helm && (record.sweeps || !request.sweeps) && due.iter().all(has)
}

fn is_sweeping(record: &Record) -> bool {
    record.checks.iter().any(|row| row.sweep && row.state == CheckState::Running)
}

/// Ends a run: its worker, at whose end its supervisor ends the rest and itself. Waits for that, not for long.
fn end(record: &Record) {
    // A record is a file, and could name anybody.
    if is_worker(record.worker.pid) {
        record.worker.kill();
    }
    record.supervisor.wait_for_end(END_BOUND);
}

/// Whether that process runs checks, by its arguments.
fn is_worker(pid: i32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).skip(1);
    words.next() == Some(b"network") && words.next() == Some(b"worker")
}

#[cfg(test)]
mod tests;
