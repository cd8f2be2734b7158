//! What a scenario came to: its steps, and what was not as expected.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use super::text::write_marked;
use super::{Firing, Style, duration, paint, write_firing};
use crate::harness::Harness;
use crate::recording::How;
use crate::sequence::{Ends, Played};

/// More refusals of one stop than this are told by their number.
const MOST_ALIKE: usize = 3;

/// What came of a scenario.
#[derive(Debug, Clone)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// Its file, as it was given.
    pub file: String,
    /// What it is about.
    pub about: Option<String>,
    /// The harness that was played.
    pub harness: Harness,
    /// Its version.
    pub version: String,
    /// `documented` where one of its recordings was never seen.
    pub how: How,
    /// Its steps, as far as it came.
    pub steps: Vec<StepReport>,
    /// Why it could not be played to its end.
    pub error: Option<String>,
    /// Why it could not be played at all: then it has not passed.
    pub not_run: Option<String>,
    /// How long it took.
    pub elapsed: Duration,
}

/// What came of one step.
#[derive(Debug, Clone)]
pub struct StepReport {
    /// The line of the scenario's file where it stands.
    pub line: usize,
    /// Its session.
    pub session: String,
    /// The recording that it names.
    pub event: String,
    /// What was fired, in order: the event, and what the harness made of it.
    pub played: Vec<Played>,
    /// What a person should know about the order of things.
    pub notes: Vec<String>,
    /// How many refusals of a stop were obeyed.
    pub refused: u32,
    /// How a stop came to its end.
    pub ends: Option<Ends>,
    /// What is not as expected.
    pub unmet: Vec<Unmet>,
    /// Notes of what was fired, and of the file, that no expectation names.
    pub warnings: Vec<String>,
    /// Nothing was expected of it but that hooks do their work.
    pub is_snapshot: bool,
}

/// Something that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmet {
    /// The scenario's file.
    pub file: String,
    /// The line of the expectation.
    pub line: usize,
    /// What was expected.
    pub expected: String,
    /// What there is.
    pub found: String,
}

impl Report {
    /// Whether it was played and everything was as expected.
    pub fn passed(&self) -> bool {
        self.error.is_none() && self.not_run.is_none() && self.unmet().next().is_none()
    }

    /// Everything that is not as expected.
    pub fn unmet(&self) -> impl Iterator<Item = &Unmet> {
        self.steps.iter().flat_map(|step| &step.unmet)
    }

    /// Everything that was fired.
    pub fn firings(&self) -> impl Iterator<Item = &Firing> {
        self.steps.iter().flat_map(|step| &step.played).map(|played| &played.firing)
    }

    /// Takes every note that no expectation names for one that is not as expected.
    pub(crate) fn be_strict(&mut self) {
        for step in self.steps.iter_mut().filter(|_| self.not_run.is_none()) {
            let unmet = step.warnings.iter().map(|warning| Unmet {
                file: self.file.clone(),
                line: step.line,
                expected: "no note but those that are expected, as --strict has it".to_owned(),
                found: warning.clone(),
            });
            step.unmet.extend(unmet);
        }
    }

    /// # Panics
    /// Unless it has passed.
    #[track_caller]
    pub fn assert_passed(&self) -> &Self {
        assert!(self.passed(), "{self}");
        self
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        write_report(&mut text, self, false);
        f.write_str(&anstream::adapter::strip_str(&text).to_string())
    }
}

/// Writes a report down, with terminal colours: a line for each firing, and all of it where something is not as expected
/// or nothing was expected. `in_full` writes all of it in any case.
pub fn write_report(out: &mut String, report: &Report, in_full: bool) {
    let mark = match (&report.not_run, report.passed()) {
        (Some(_), _) => paint(Style::Dim, "–"),
        (None, true) => paint(Style::Good, "✓"),
        (None, false) => paint(Style::Bad, "✗"),
    };
    let documented = match report.how {
        How::Recorded => String::new(),
        How::Documented => format!("  {}", paint(Style::Warn, "documented, never seen")),
    };
    let _ = writeln!(
        out,
        "{mark} {}  {} {}  {}{documented}",
        paint(Style::Strong, &report.scenario),
        report.harness.name(),
        report.version,
        paint(Style::Dim, &duration(report.elapsed)),
    );
    if let Some(about) = &report.about {
        for line in about.lines() {
            let _ = writeln!(out, "  {}", paint(Style::Dim, line));
        }
    }
    if let Some(why) = &report.not_run {
        let _ = writeln!(out, "  not run: {why}");
        return;
    }
    for step in &report.steps {
        write_step(out, step, in_full);
    }
    if let Some(error) = &report.error {
        let _ = writeln!(out, "  {} {error}", paint(Style::Bad, "failed:"));
    }
}

fn write_step(out: &mut String, step: &StepReport, in_full: bool) {
    let is_met = step.unmet.is_empty();
    let mark = if is_met { paint(Style::Good, "✓") } else { paint(Style::Bad, "✗") };
    let shows_all = in_full || step.is_snapshot || !is_met;
    let mut hidden = 0;
    for (at, played) in step.played.iter().enumerate() {
        let is_between = at > 0 && at + 1 < step.played.len();
        if step.refused > 0 && step.played.len() > MOST_ALIKE && is_between {
            hidden += 1;
            continue;
        }
        if hidden > 0 {
            let _ = writeln!(out, "    {}", paint(Style::Dim, &format!("… and {hidden} times more …")));
            hidden = 0;
        }
        let mut text = String::new();
        if step.is_snapshot && is_met {
            write_firing(&mut text, &played.firing);
        } else {
            write_marked(&mut text, &played.firing, &mark);
        }
        let because = played.because.as_ref().map(|why| paint(Style::Dim, &format!("  ({why})")));
        for (number, line) in text.lines().take(if shows_all { usize::MAX } else { 1 }).enumerate() {
            let because = because.as_deref().filter(|_| number == 0).unwrap_or_default();
            let _ = writeln!(out, "  {line}{because}");
        }
    }
    for note in &step.notes {
        let _ = writeln!(out, "    {} {note}", paint(Style::Dim, "note:"));
    }
    for unmet in &step.unmet {
        let place = paint(Style::Dim, &format!("{}:{}", unmet.file, unmet.line));
        let _ = writeln!(out, "    {} {}  {place}", paint(Style::Bad, "expected:"), unmet.expected);
        let _ = writeln!(out, "    {} {}", paint(Style::Bad, "   found:"), unmet.found);
    }
}
