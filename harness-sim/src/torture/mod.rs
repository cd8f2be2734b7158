//! The torture set: every way to treat a hook badly that a harness or a machine has, tried at one command, and judged.

mod cases;
mod judge;
mod place;
mod subject;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::harness::Harness;
use crate::launch::{LaunchError, Shared};
use crate::recording;
use crate::report::{Survivor, as_milliseconds};
use crate::simulator::FireError;
use cases::{CASES, Case};
use subject::Subject;

/// A torture.
#[derive(Debug, Clone, Default)]
pub struct Torture {
    /// What is tortured; `{harness}` and `{event}` in it are replaced.
    pub command: String,
    /// The harnesses; none means all that have command hooks.
    pub harnesses: Vec<Harness>,
    /// The project. It is carried over to the scratch folder of each case that spoils its disk. Without one an empty one.
    pub project: Option<PathBuf>,
    /// The home; likewise.
    pub home: Option<PathBuf>,
    /// How long a hook may take (10 s).
    pub bound: Option<Duration>,
    /// Identity files of declared survivors.
    pub survivors: Vec<String>,
    /// How long the end of a session waits for them (as long as a hook may take).
    pub patience: Option<Duration>,
    /// The program that plays the harness's process, as [`Simulator::host_program`](crate::Simulator::host_program).
    pub host_program: Option<PathBuf>,
}

/// How a hook took one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome")]
pub enum Outcome {
    /// As expected.
    #[serde(rename = "ok")]
    Ok,
    /// Not as expected.
    #[serde(rename = "wrong")]
    Wrong {
        /// What was wrong, each with its event.
        wrong: Vec<String>,
    },
    /// It could not be tried. That is never a pass.
    #[serde(rename = "not run")]
    NotRun {
        /// Why not.
        why: String,
    },
}

/// One case at one harness.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The case.
    pub case: &'static str,
    /// The harness.
    pub harness: Harness,
    /// Its version.
    pub version: &'static str,
    /// What was expected.
    pub expectation: &'static str,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// How it was tried, where there is a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What outlived the hook.
    pub survivors: Vec<Survivor>,
    /// How long it took.
    #[serde(rename = "ms", serialize_with = "as_milliseconds")]
    pub elapsed: Duration,
}

impl Torture {
    /// Tries every case at every harness; harnesses run beside each other, as many as there are processors. In the order
    /// of harnesses and cases.
    ///
    /// # Errors
    /// [`FireError`] where hooks cannot be started at all.
    pub fn run(&self) -> Result<Vec<Verdict>, FireError> {
        let shared = Arc::new(Shared::new(self.host_program.as_deref())?);
        let harnesses: Vec<Harness> = Harness::ALL
            .into_iter()
            .filter(|harness| self.harnesses.is_empty() || self.harnesses.contains(harness))
            .collect();
        let lanes = std::thread::available_parallelism().map_or(1, usize::from);
        let next = Mutex::new(harnesses.iter().copied().enumerate());
        let results = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..lanes.min(harnesses.len()) {
                scope.spawn(|| {
                    loop {
                        let one = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some((at, harness)) = one else { return };
                        let verdicts = self.one(harness, &shared);
                        results.lock().unwrap_or_else(PoisonError::into_inner).push((at, verdicts));
                    }
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(at, _)| *at);
        let lists: Result<Vec<Vec<Verdict>>, FireError> =
            results.into_iter().map(|(_, verdicts)| verdicts).collect();
        Ok(lists?.into_iter().flatten().collect())
    }

    fn one(&self, harness: Harness, shared: &Arc<Shared>) -> Result<Vec<Verdict>, FireError> {
        let (Some(account), Some(version)) = (harness.account(), recording::newest(harness)) else {
            // There is no command to torture: nothing to say of it, unless it was asked for by name.
            let asked = self.harnesses.contains(&harness);
            let why = || "it has no command hooks".to_owned();
            return Ok(recording::newest(harness)
                .filter(|_| asked)
                .map(|version| {
                    let not = |case: &Case| verdict(case, harness, version, Outcome::NotRun { why: why() });
                    CASES.iter().map(not).collect()
                })
                .unwrap_or_default());
        };
        let scratch = tempfile::Builder::new()
            .prefix("torture-")
            .tempdir_in(shared.scratch())
            .map_err(LaunchError::Scratch)?;
        let mut subject = Subject::new(self, harness, version, Arc::clone(shared), scratch.path())
            .map_err(LaunchError::Host)?;
        let mut verdicts = Vec::new();
        for case in CASES {
            let started = Instant::now();
            let tried = subject.torture(case)?;
            let mut verdict = verdict(case, harness, version, Outcome::Ok);
            verdict.note = tried.note;
            verdict.outcome = match tried.fired {
                Err(why) => Outcome::NotRun { why },
                Ok(firings) if firings.is_empty() => Outcome::NotRun {
                    why: "there is no recording of such an event at this version".to_owned(),
                },
                Ok(firings) => {
                    let mut wrong: Vec<String> = firings
                        .iter()
                        .flat_map(|firing| judge::wrong(case, firing, account.gates_a_tool(&firing.event)))
                        .chain(tried.wrong)
                        .collect();
                    let mut seen = std::collections::HashSet::new();
                    wrong.retain(|why| seen.insert(why.clone()));
                    verdict.survivors = firings.into_iter().flat_map(|firing| firing.survivors).collect();
                    if wrong.is_empty() { Outcome::Ok } else { Outcome::Wrong { wrong } }
                }
            };
            verdict.elapsed = started.elapsed();
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }
}

fn verdict(case: &Case, harness: Harness, version: &'static str, outcome: Outcome) -> Verdict {
    Verdict {
        case: case.name,
        harness,
        version,
        expectation: case.expectation,
        outcome,
        note: None,
        survivors: Vec::new(),
        elapsed: Duration::ZERO,
    }
}
