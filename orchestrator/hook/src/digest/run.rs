//! Running a digest: the stages of a plan, or a project's own program, to one text in parts.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dogwatch_engine::process::Engine;
use dogwatch_engine::stages::{Digest, External, Progress, StageEnd, Truncation};
use tempfile::NamedTempFile;

use super::document;
use super::ground::Ground;
use super::plan::{self, Facts};
use crate::config::{self, Seconds};
use crate::text::{Cleaner, Part, line};

/// The name of the one part of a project's own digest.
const EXTERNAL: &str = "digest";

/// Everything that is known before the stages start.
#[derive(Debug)]
pub struct Opening {
    /// What the stages stand on.
    pub ground: Arc<Ground>,
    /// The config that counts: the defaults where the project's is not trusted.
    pub config: config::Digest,
    /// What is known of the session.
    pub facts: Facts,
    /// Lines about the digest itself, for its top.
    pub notes: Vec<String>,
    /// The bound of the whole.
    pub deadline: Seconds,
    /// Whether the person has been welcomed.
    pub welcomed: bool,
}

/// What happens meanwhile.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// These stages are at work.
    Running(&'a [String]),
    /// The next piece of the text, behind its head.
    Text(&'a str),
}

/// A stage, for machines.
#[derive(Debug, Clone, serde::Serialize)]
pub struct StageSummary {
    /// Its name.
    pub name: String,
    /// How it ended: `done`, `over_bound`, `failed`, `unfinished`, `never_started`.
    pub end: &'static str,
    /// How long it took.
    pub elapsed_ms: u64,
    /// What it said.
    pub text: String,
    /// Bytes of it that fell to the cap of the whole.
    pub missing_bytes: u64,
}

/// A digest.
#[derive(Debug)]
pub struct Told {
    /// Its first lines.
    pub head: String,
    /// Its sections, in order of worth, each with its heading.
    pub parts: Vec<Part>,
    /// Its last lines; empty if it is whole.
    pub tail: String,
    /// The stages.
    pub stages: Vec<StageSummary>,
    /// Why it is not whole, if it is not.
    pub truncation: Option<Truncation>,
    /// Bytes that fell to the cap.
    pub missing_bytes: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// Whether the welcome was in it.
    pub welcomed_now: bool,
}

impl Told {
    /// The whole text.
    pub fn text(&self) -> String {
        let parts = self.parts.iter().map(|part| part.text.as_str());
        std::iter::once(self.head.as_str()).chain(parts).chain([self.tail.as_str()]).collect()
    }

    /// Whether every stage came to its turn: nothing was cut off by the deadline or a signal, and a project's own digest
    /// did start.
    pub fn is_complete(&self) -> bool {
        let has_started = |stage: &StageSummary| stage.name != EXTERNAL || stage.end != "failed";
        self.truncation.is_none() && self.stages.iter().all(has_started)
    }
}

/// A digest could not be made at all.
#[derive(Debug, thiserror::Error)]
#[error("no scratch file for the digest's stages: {0}")]
pub struct OpeningError(std::io::Error);

impl Opening {
    /// The first lines of the text.
    pub fn head(&self) -> String {
        let mut head = self.facts.banner();
        head.push_str(&document::title(&self.ground, self.facts.kind));
        self.notes.iter().for_each(|note| head.extend(["note: ", note, "\n"]));
        head
    }

    /// Makes the digest. Ends by its deadline and a moment for ending what has to be killed. `interrupt` resolves to
    /// the signal that asks for an early end; what is there then is kept.
    ///
    /// # Errors
    /// [`OpeningError`] where a project's own digest cannot even be started.
    pub async fn run(
        &self,
        engine: Engine,
        interrupt: impl Future<Output = i32>,
        step: impl FnMut(Step<'_>),
    ) -> Result<Told, OpeningError> {
        let digest = Digest::new(engine, plan::deadline(self.deadline));
        match &self.config.external {
            Some(external) => self.external(&digest, external, interrupt, step).await,
            None => Ok(self.stages(&digest, interrupt, step).await),
        }
    }

    async fn stages(
        &self,
        digest: &Digest,
        interrupt: impl Future<Output = i32>,
        mut step: impl FnMut(Step<'_>),
    ) -> Told {
        let plan = plan::plan(&self.ground, &self.config, &self.facts, self.welcomed);
        let mut parts = Vec::new();
        let mut running = Vec::new();
        let report = digest
            .run(plan.stages, interrupt, |progress| match progress {
                Progress::Started(name) => {
                    running.push(name.to_owned());
                    step(Step::Running(&running));
                }
                Progress::Ended(name) => {
                    running.retain(|known| known != name);
                    step(Step::Running(&running));
                }
                Progress::Turn(stage) => {
                    if let Some(text) = document::section(stage) {
                        step(Step::Text(&text));
                        parts.push(Part { name: stage.name.clone(), text });
                    }
                }
            })
            .await;
        let missing = (report.missing_bytes > 0).then_some((report.missing_bytes, digest.cap_bytes));
        let unfinished = report.names(&StageEnd::Unfinished);
        let never_started = report.names(&StageEnd::NeverStarted);
        let tail = document::ending(report.truncation, &unfinished, &never_started, missing);
        step(Step::Text(&tail));
        let summary = |stage: &dogwatch_engine::stages::StageReport| StageSummary {
            name: stage.name.clone(),
            end: document::end_word(&stage.end),
            elapsed_ms: milliseconds(stage.elapsed),
            text: document::said(stage).into_owned(),
            missing_bytes: stage.missing_bytes,
        };
        Told {
            head: self.head(),
            parts,
            tail,
            stages: report.stages.iter().map(summary).collect(),
            truncation: report.truncation,
            missing_bytes: report.missing_bytes,
            elapsed: report.elapsed,
            welcomed_now: plan.welcomed_now.load(Ordering::Relaxed),
        }
    }

    async fn external(
        &self,
        digest: &Digest,
        external: &config::External,
        interrupt: impl Future<Output = i32>,
        mut step: impl FnMut(Step<'_>),
    ) -> Result<Told, OpeningError> {
        let started = Instant::now();
        let stage_file = NamedTempFile::with_prefix("dogwatch-stage").map_err(OpeningError)?;
        let command = plan::project_command(&self.ground.root, &external.command);
        let own = External { command, stages: &external.stages, stage_file: stage_file.path() };
        step(Step::Running(&["the project's digest".to_owned()]));
        let mut cleaner = Cleaner::default();
        let mut body = String::new();
        let mut add = |text: &str| {
            step(Step::Text(text));
            body.push_str(text);
        };
        add("\n");
        let report = own.run(digest, interrupt, |bytes| add(&cleaner.push(bytes))).await;
        // At a cut or a kill the last word may be half a credential.
        let is_whole =
            report.as_ref().is_ok_and(|report| report.missing_bytes == 0 && plan::has_ended(&report.outcome));
        add(&cleaner.finish(!is_whole));
        let (end, tail, truncation, missing_bytes) = match report {
            Err(error) => {
                add(&format!("[digest: {}]\n", line(&error.to_string())));
                ("failed", String::new(), None, 0)
            }
            Ok(report) => {
                if report.truncation.is_none() && !report.outcome.success() {
                    let why = plan::last_line(&report.stderr, &report.outcome);
                    let why = why.map(|line| format!(": {line}")).unwrap_or_default();
                    add(&format!(
                        "[digest: {}{why}]\n",
                        plan::how_it_failed(&report.outcome).unwrap_or_default()
                    ));
                }
                let unfinished: Vec<&str> = report.unfinished.iter().map(String::as_str).collect();
                let never_started: Vec<&str> = report.never_started.iter().map(String::as_str).collect();
                let missing = (report.missing_bytes > 0).then_some((report.missing_bytes, digest.cap_bytes));
                let tail = document::ending(report.truncation, &unfinished, &never_started, missing);
                let end = if report.truncation.is_some() { "unfinished" } else { "done" };
                (end, tail, report.truncation, report.missing_bytes)
            }
        };
        step(Step::Text(&tail));
        let elapsed = started.elapsed();
        let text = body.trim().to_owned();
        let name = EXTERNAL.to_owned();
        let summary = StageSummary { name, end, elapsed_ms: milliseconds(elapsed), text, missing_bytes };
        Ok(Told {
            head: self.head(),
            parts: vec![Part { name: EXTERNAL.to_owned(), text: body }],
            tail,
            stages: vec![summary],
            truncation,
            missing_bytes,
            elapsed,
            welcomed_now: false,
        })
    }
}

/// Whole milliseconds, for machines.
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
