//! The record of the deferred stage, `state/network.json`, and its report beside it.
//!
//! The record changes only under `state/network.lock`, and is put there whole. It names the processes of the run, so that
//! a run that was killed is told from one that works, and a worker that was replaced finds that the record is no longer
//! its own.

use std::time::Duration;

use dogwatch_engine::process::Identity;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::helm::{HelmIdentity, Why};
use super::presence::{self, Liveness, Vantage};
use super::state::{Folder, Lock, StateError};
use super::stored::{self, Stored};

/// The record.
pub const FILE_NAME: &str = "network.json";
/// What each check said, for a person.
pub const REPORT: &str = "network.txt";
/// What the worker itself had to say: nothing, unless something is wrong with it.
pub const LOG: &str = "network.log";
const LOCK_NAME: &str = "network.lock";
const LIMIT_BYTES: u64 = 1024 * 1024;
const REPORT_LIMIT_BYTES: u64 = 4 * 1024 * 1024;
/// A run that is so much older than its deadline is over, whatever its record says.
const OVERDUE_SECONDS: i64 = 30;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It works, or its worker was killed.
    Running,
    /// Every check has answered.
    Done,
    /// At least one check did not come to its end in time.
    Timeout,
    /// At least one check failed itself.
    Failed,
}

impl RunState {
    /// Its word in files and messages.
    pub const fn id(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Done => "done",
            RunState::Timeout => "timeout",
            RunState::Failed => "failed",
        }
    }
}

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// It was not started yet.
    Waiting,
    /// It runs.
    Running,
    /// Nothing to do.
    Clean,
    /// It asks for action.
    Action,
    /// It failed itself.
    Failed,
    /// It was ended at the deadline of the stage.
    Timeout,
    /// It was left out: it is a sweep, and the helm had gone.
    Skipped,
}

/// One check of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRow {
    /// Its name.
    pub name: String,
    /// Whether it changes something.
    pub sweep: bool,
    /// The hash of what it runs: another command is another check.
    pub command: String,
    /// How far it is.
    pub state: CheckState,
    /// When it ended, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// One line about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A run of the deferred stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// New with every helm.
    pub generation: u64,
    /// The session in charge that it was started for.
    pub helm: HelmIdentity,
    /// How far it is.
    pub state: RunState,
    /// The process that ends it, and everything below it, at its deadline.
    pub supervisor: Identity,
    /// The process that runs the checks.
    pub worker: Identity,
    /// The name of their host.
    pub host: String,
    /// The inode of their PID namespace.
    #[serde(default)]
    pub pid_namespace: Option<u64>,
    /// Whether it runs sweeps.
    pub sweeps: bool,
    /// RFC 3339.
    pub started_at: String,
    /// Its own deadline.
    pub deadline_seconds: u32,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Its checks.
    pub checks: Vec<CheckRow>,
}

/// What is known of the newest run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// There was none.
    Never,
    /// The record is none that dogwatch wrote.
    Garbage,
    /// It works.
    Live(Record),
    /// It has ended by itself.
    Over(Record),
    /// Its record says that it works, and it does not: why, as a clause.
    Abandoned(Record, String),
}

impl Run {
    /// Its record.
    pub fn record(&self) -> Option<&Record> {
        match self {
            Run::Never | Run::Garbage => None,
            Run::Live(record) | Run::Over(record) | Run::Abandoned(record, _) => Some(record),
        }
    }
}

impl Record {
    /// The names of the checks that have no answer yet.
    pub fn unconfirmed(&self) -> Vec<&str> {
        let is_open = |row: &&CheckRow| matches!(row.state, CheckState::Waiting | CheckState::Running);
        self.checks.iter().filter(is_open).map(|row| row.name.as_str()).collect()
    }

    /// How long it may still take, the end of everything below it included.
    pub fn left(&self, now: Timestamp) -> Duration {
        let ends =
            self.started().map(|at| at.as_second() + i64::from(self.deadline_seconds) + OVERDUE_SECONDS);
        let left = ends.map_or(0, |ends| ends - now.as_second());
        // A clock that was set back makes it no longer than it ever was.
        let most = i64::from(self.deadline_seconds) + OVERDUE_SECONDS;
        Duration::from_secs(left.clamp(0, most).unsigned_abs())
    }

    /// How long its checks may still take; what is not at its end then is ended.
    pub fn to_deadline(&self, now: Timestamp) -> Duration {
        self.left(now).saturating_sub(Duration::from_secs(OVERDUE_SECONDS.unsigned_abs()))
    }

    fn started(&self) -> Option<Timestamp> {
        self.started_at.parse().ok()
    }

    /// Why it no longer works, as a clause; `None` if it does, as far as that can be told from here.
    fn abandoned(&self, now: Timestamp) -> Option<String> {
        let there = Vantage { host: self.host.clone(), pid_namespace: self.pid_namespace };
        let here = Vantage::here();
        let stale = |process| match presence::look(process, &there, &here) {
            Liveness::Stale(why) => Some(why),
            Liveness::Alive | Liveness::Invisible(_) => None,
        };
        // While its supervisor lives what is below it is not yet gone, but nobody writes down what becomes of it.
        let gone: Option<Why> = stale(&self.worker).or_else(|| stale(&self.supervisor));
        if let Some(why) = gone {
            return Some(why.to_string());
        }
        let age = self.started().map(|started| now.as_second() - started.as_second());
        let most = i64::from(self.deadline_seconds) + OVERDUE_SECONDS;
        match age {
            Some(age) if (-OVERDUE_SECONDS..=most).contains(&age) => None,
            Some(1..) => Some("it is older than its deadline allows".to_owned()),
            Some(_) | None => Some("no clock of this machine told when it was started".to_owned()),
        }
    }
}

/// The newest run.
///
/// # Errors
/// Where the operating system says no.
pub fn look(state: &Folder, now: Timestamp) -> Result<Run, StateError> {
    Ok(match stored::read::<Record>(state, FILE_NAME, LIMIT_BYTES)? {
        Stored::Missing => Run::Never,
        Stored::Garbage => Run::Garbage,
        Stored::Row(record) if record.state != RunState::Running => Run::Over(record),
        Stored::Row(record) => match record.abandoned(now) {
            Some(why) => Run::Abandoned(record, why),
            None => Run::Live(record),
        },
    })
}

/// The one place where the record is changed from.
#[derive(Debug)]
pub struct Turn<'a> {
    state: &'a Folder,
    _lock: Lock,
}

/// Waits for the turn to change the record; `None` if others had it for all of that time.
///
/// # Errors
/// Where the lock cannot be had at all.
pub fn turn(state: &Folder, bound: Duration) -> Result<Option<Turn<'_>>, StateError> {
    Ok(state.lock(LOCK_NAME, bound)?.map(|lock| Turn { state, _lock: lock }))
}

impl Turn<'_> {
    /// Puts the record there whole.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, record: &Record) -> Result<(), StateError> {
        stored::write(self.state, FILE_NAME, record)
    }

    /// The record, if it is the one that names this worker.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn own(&self, worker: &Identity) -> Result<Option<Record>, StateError> {
        let record = stored::read::<Record>(self.state, FILE_NAME, LIMIT_BYTES)?.row();
        Ok(record.filter(|record| record.worker == *worker && record.state == RunState::Running))
    }

    /// Puts the report there whole.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_report(&self, text: &str) -> Result<(), StateError> {
        self.state.write_atomic(REPORT, text.as_bytes())
    }
}

/// The report of the newest run, as it stands.
///
/// # Errors
/// Where it cannot be read.
pub fn report(state: &Folder) -> Result<Option<String>, StateError> {
    let bytes = state.read(REPORT, REPORT_LIMIT_BYTES)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Where this process sees from, for a record: its host and its PID namespace.
pub fn vantage() -> (String, Option<u64>) {
    let here = Vantage::here();
    (here.host, here.pid_namespace)
}

/// A time as records keep it.
pub fn stamp(now: Timestamp) -> String {
    presence::stamp(now)
}

#[cfg(test)]
mod tests;
