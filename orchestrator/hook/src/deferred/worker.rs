//! The worker: runs the checks of one run, writes down what becomes of each, posts what asks for action.
//!
//! It is the leader of a detached run. Nothing waits for it, and it ends by itself: at the deadline of the stage every
//! check is ended, and where its record is no longer its own, or cannot be written, the whole of it.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use dogwatch_engine::process::{Bounds, Cap, Containment, Deadline, Engine, Grace, Identity, Leftover};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;

use super::check::{Check, TEXT_BYTES, Verdict, planned};
use super::report;
use crate::config;
use crate::home::helm;
use crate::home::network::{self, CheckState, Record, RunState, Turn};
use crate::home::root::find_root;
use crate::home::state::Folder;
use crate::home::wakes::{self, Wake};

/// How long a word of the worker waits for its turn. Whoever starts a run has it for the time of that start.
const TURN_BOUND: Duration = Duration::from_secs(8);
/// How many checks run at once.
const AT_ONCE: usize = 8;
type Results<'a> = Vec<(&'a Check, Verdict)>;

/// Why a worker ends before its checks have.
#[derive(Debug, thiserror::Error)]
enum Gone {
    #[error("the record is of another run")]
    Replaced,
    #[error("the home is gone: {0}")]
    Home(String),
}

/// Runs the checks of the run that this process was started for. `own_folder` is where trust is kept.
///
/// # Errors
/// Why nothing was run, or not all of it, in one line.
pub async fn work(root: &Path, own_folder: Option<&Path>, home_folder: Option<&Path>) -> Result<(), String> {
    let started = Instant::now();
    let worker = Identity::current().map_err(|error| error.to_string())?;
    let root = find_root(root, home_folder);
    let home = root.home().ok_or("there is no home any more")?;
    let state = Folder::state_of(&home).map_err(|error| error.to_string())?;
    // Whoever started us holds the turn until the record names us.
    let record = match own_record(&state, &worker) {
        Ok(record) => record,
        Err(Gone::Replaced) => return Ok(()),
        Err(gone) => return Err(gone.to_string()),
    };
    let counted = config::of_project(&root.path, &home, own_folder);
    let checks = planned(&counted.config.network, root.git.as_ref());
    // What is in the record was asked for by a session. What is not as it was then is not run.
    let due: Vec<&Check> = checks.iter().filter(|check| is_waiting(&record, check)).collect();
    let engine = Engine::new().adopt_orphans().map_err(|error| error.to_string())?;
    let until = started + Duration::from_secs(record.deadline_seconds.into());
    let run = Work { root: &root.path, state: &state, worker, engine, until };
    match run.all(&record, &due).await {
        // One that was replaced has nothing to say.
        Ok(()) | Err(Gone::Replaced) => Ok(()),
        Err(gone) => Err(gone.to_string()),
    }
}

fn own_record(state: &Folder, worker: &Identity) -> Result<Record, Gone> {
    let turn = turn(state)?;
    turn.own(worker).map_err(|error| Gone::Home(error.to_string()))?.ok_or(Gone::Replaced)
}

fn turn(state: &Folder) -> Result<Turn<'_>, Gone> {
    match network::turn(state, TURN_BOUND) {
        Ok(Some(turn)) => Ok(turn),
        Ok(None) => Err(Gone::Home("others have its lock all the time".to_owned())),
        Err(error) => Err(Gone::Home(error.to_string())),
    }
}

fn is_waiting(record: &Record, check: &Check) -> bool {
    record.checks.iter().any(|row| {
        row.name == check.name && row.command == check.fingerprint() && row.state == CheckState::Waiting
    })
}

struct Work<'a> {
    root: &'a Path,
    state: &'a Folder,
    worker: Identity,
    engine: Engine,
    until: Instant,
}

impl Work<'_> {
    async fn all(&self, record: &Record, due: &[&Check]) -> Result<(), Gone> {
        let mut results: Results<'_> = Vec::new();
        let (sweeps, plain): (Vec<&Check>, Vec<&Check>) = due.iter().copied().partition(|check| check.sweep);
        let mut waiting: VecDeque<&Check> = plain.into();
        let mut running = FuturesUnordered::new();
        while !(waiting.is_empty() && running.is_empty()) {
            while running.len() < AT_ONCE
                && let Some(check) = waiting.pop_front()
            {
                self.begin(check)?;
                running.push(async move { (check, self.run(check).await) });
            }
            if let Some((check, verdict)) = running.next().await {
                self.enter(check, verdict, &mut results)?;
            }
        }
        // One after the other: each changes something, and they may change the same.
        for check in sweeps {
            match helm::hold_for_sweep(self.state, &record.helm) {
                Ok(_hold) => {
                    self.begin(check)?;
                    let verdict = self.run(check).await;
                    self.enter(check, verdict, &mut results)?;
                }
                Err(why) => self.change(|row| {
                    if row.name == check.name {
                        row.state = CheckState::Skipped;
                        row.note = Some(why.clone());
                    }
                })?,
            }
        }
        self.close(&results)
    }

    async fn run(&self, check: &Check) -> Verdict {
        if Instant::now() >= self.until {
            return Verdict::Timeout;
        }
        let bounds = Bounds {
            deadline: Deadline::MAX.until(self.until),
            grace: Grace::DEFAULT,
            cap: Cap::Bytes(4 * TEXT_BYTES as u64),
            containment: Containment::Subtree,
            leftover: Leftover::Kill,
        };
        match self.engine.start(&check.command(self.root), &bounds).await {
            Ok(run) => check.verdict(Ok(&run.capture().await)),
            Err(error) => check.verdict(Err(&error)),
        }
    }

    fn begin(&self, check: &Check) -> Result<(), Gone> {
        self.change(|row| {
            if row.name == check.name {
                row.state = CheckState::Running;
            }
        })
    }

    /// Changes the rows of the record, as long as it is ours.
    fn change(&self, mut change: impl FnMut(&mut network::CheckRow)) -> Result<(), Gone> {
        let turn = turn(self.state)?;
        let mut record = self.own(&turn)?;
        record.checks.iter_mut().for_each(&mut change);
        turn.write(&record).map_err(|error| Gone::Home(error.to_string()))
    }

    fn own(&self, turn: &Turn<'_>) -> Result<Record, Gone> {
        turn.own(&self.worker).map_err(|error| Gone::Home(error.to_string()))?.ok_or(Gone::Replaced)
    }

    /// Writes down what became of a check. Its wake is posted in the same turn, so that no run that was replaced posts one.
    fn enter<'c>(&self, check: &'c Check, verdict: Verdict, results: &mut Results<'c>) -> Result<(), Gone> {
        let home = |error: crate::home::state::StateError| Gone::Home(error.to_string());
        let now = Timestamp::now();
        let turn = turn(self.state)?;
        let mut record = self.own(&turn)?;
        let seconds = record.deadline_seconds;
        let (state, note) = match &verdict {
            Verdict::Clean(note) => (CheckState::Clean, note.clone()),
            Verdict::Action(_) => (CheckState::Action, None),
            Verdict::Failed(why) => (CheckState::Failed, Some(why.clone())),
            Verdict::Timeout => (
                CheckState::Timeout,
                Some(format!("not at its end by the deadline of {seconds} s, and ended")),
            ),
        };
        for row in record.checks.iter_mut().filter(|row| row.name == check.name) {
            row.state = state;
            row.ended_at = Some(network::stamp(now));
            row.note.clone_from(&note);
        }
        match &verdict {
            Verdict::Action(said) => {
                let text = report::wake_text(&check.name, said, now);
                let wake = Wake::new(&wake_name(check), text, record.generation, now);
                if !wakes::post(self.state, &wake, TURN_BOUND).map_err(home)? {
                    return Err(Gone::Home("its wakes are locked all the time".to_owned()));
                }
            }
            Verdict::Clean(_) => wakes::retract(self.state, &wake_name(check), TURN_BOUND).map_err(home)?,
            Verdict::Failed(_) | Verdict::Timeout => {}
        }
        results.push((check, verdict));
        turn.write(&record).map_err(home)?;
        write_report(&turn, &record, results)
    }

    fn close(&self, results: &Results<'_>) -> Result<(), Gone> {
        let turn = turn(self.state)?;
        let mut record = self.own(&turn)?;
        for row in record.checks.iter_mut().filter(|row| row.state == CheckState::Waiting) {
            row.state = CheckState::Skipped;
            row.note = Some("the config was changed since".to_owned());
        }
        let any = |state| record.checks.iter().any(|row| row.state == state);
        record.state = match (any(CheckState::Timeout), any(CheckState::Failed)) {
            (true, _) => RunState::Timeout,
            (false, true) => RunState::Failed,
            (false, false) => RunState::Done,
        };
        record.ended_at = Some(network::stamp(Timestamp::now()));
        write_report(&turn, &record, results)?;
        turn.write(&record).map_err(|error| Gone::Home(error.to_string()))
    }
}

fn write_report(turn: &Turn<'_>, record: &Record, results: &Results<'_>) -> Result<(), Gone> {
    let said = |name: &str| {
        results.iter().find(|(check, _)| check.name == name).map(|(check, verdict)| (*check, verdict))
    };
    turn.write_report(&report::report(record, said)).map_err(|error| Gone::Home(error.to_string()))
}

/// The name of a check's wake: other things wake, too.
fn wake_name(check: &Check) -> String {
    format!("network-{}", check.name)
}
