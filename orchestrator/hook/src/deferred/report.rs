//! What is said of a run: to a session in its digest and in wakes, to a person in the report.
//!
//! What a check says stands behind a bar, line by line, so that nothing in it can look like a line of ours.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::check::{Check, Verdict};
use crate::home::network::{CheckRow, CheckState, Record, Run};
use crate::home::wakes::Wake;
use crate::text::{cut_bytes, line};

/// How much of a check's words a wake has, bars included; the report has more. Every harness shows at least twice that.
const WAKE_BYTES: usize = 4 * 1024;
/// Where more is to be read.
const READ_ON: &str = "`dogwatch network report` has the report";

/// The stage `network`: what is not confirmed yet, what could not be, and what asks for action (`wakes`). Nothing where
/// everything is as it should be. `in_charge`: this session is told later what is not there yet.
pub fn stage_text(run: &Run, wakes: &[Wake], in_charge: bool) -> Option<String> {
    let mut text = String::new();
    match run {
        Run::Live(record) => {
            let open = unconfirmed(record);
            let later =
                if in_charge { "what asks for action will be told" } else { "the session in charge is told" };
            if !open.is_empty() {
                let _ = writeln!(
                    text,
                    "in progress, not yet confirmed: {open} ({later}; `dogwatch network wait` waits for it)"
                );
            }
        }
        Run::Abandoned(record, why) => {
            let open = unconfirmed(record);
            if !open.is_empty() {
                let _ = writeln!(text, "not confirmed: {open} (the run was abandoned: {})", line(why));
            }
        }
        Run::Garbage => text.push_str("not confirmed: the record of the last run cannot be read\n"),
        Run::Never | Run::Over(_) => {}
    }
    for row in run.record().iter().flat_map(|record| &record.checks) {
        // The record may have come with a repository: it is data like any other.
        let (name, why) = (line(&row.name), line(row.note.as_deref().unwrap_or_default()));
        let _ = match row.state {
            CheckState::Failed => writeln!(text, "not confirmed: {name} (the check failed: {why})"),
            CheckState::Timeout | CheckState::Skipped => writeln!(text, "not confirmed: {name} ({why})"),
            _ => Ok(()),
        };
    }
    for wake in wakes {
        text.push_str(&wake.text);
        text.push('\n');
    }
    (!text.is_empty()).then_some(text)
}

/// What a session is told of a check that asks for action.
pub fn wake_text(name: &str, said: &str, at: Timestamp) -> String {
    let barred = barred(said);
    let kept = cut_bytes(&barred, WAKE_BYTES);
    let cut = if kept.len() < barred.len() { format!("\n[cut here; {READ_ON}]") } else { String::new() };
    format!("network check {name} asks for action (checked {}):\n{}{cut}", minute(at), kept.trim_end())
}

/// The first lines of what a person reads of a run.
pub fn overview(run: &Run, now: Timestamp) -> String {
    let of = |record: &Record| {
        format!(
            "generation {}, started {}, deadline {} s{}",
            record.generation,
            line(&record.started_at),
            record.deadline_seconds,
            if record.sweeps && record.checks.iter().any(|row| row.sweep) { ", with sweeps" } else { "" }
        )
    };
    match run {
        Run::Never => "network: no check has run yet; a session that opens in an agent starts those that `[network]` in \
                       .dogwatch/config.toml names, once a person has trusted it\n"
            .to_owned(),
        Run::Garbage => {
            "network: the record of the last run cannot be read; the next session replaces it\n".to_owned()
        }
        Run::Live(record) => {
            let left = record.to_deadline(now).as_secs();
            let open = unconfirmed(record);
            format!("network: running ({}); not yet confirmed: {open}; {left} s to the deadline\n", of(record))
        }
        Run::Over(record) => {
            let ended = record.ended_at.as_deref().unwrap_or("at an unknown time");
            format!("network: {} ({}, ended {})\n", record.state.id(), of(record), line(ended))
        }
        Run::Abandoned(record, why) => {
            format!("network: abandoned, {} ({}); the next session starts it again\n", line(why), of(record))
        }
    }
}

/// The report: a line for each check, and behind a bar what it said. `said` has what came of those that have ended in
/// this run.
pub(super) fn report<'a>(record: &Record, said: impl Fn(&str) -> Option<(&'a Check, &'a Verdict)>) -> String {
    let mut text = String::new();
    for row in &record.checks {
        let sweep = if row.sweep { " (sweep)" } else { "" };
        let _ = writeln!(text, "- {}{sweep}: {}", row.name, state(row));
        if let Some((check, verdict)) = said(&row.name) {
            if let Verdict::Action(said) = verdict {
                text.push_str(&barred(said));
            }
            if matches!(verdict, Verdict::Timeout | Verdict::Failed(_)) {
                let _ = writeln!(text, "  to run it again by hand: {}", check.shown());
            }
        }
    }
    text
}

fn state(row: &CheckRow) -> String {
    let note = row.note.as_deref().map(|note| format!(": {note}")).unwrap_or_default();
    let at = row.ended_at.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
    match row.state {
        CheckState::Waiting => "not started yet".to_owned(),
        CheckState::Running => "running".to_owned(),
        CheckState::Clean => format!("nothing to do{at}{note}"),
        CheckState::Action => format!("asks for action{at}"),
        CheckState::Failed => format!("the check itself failed{at}{note}"),
        CheckState::Timeout => format!("timeout{at}{note}"),
        CheckState::Skipped => format!("skipped{at}{note}"),
    }
}

/// Text that is somebody else's, each line behind a bar.
fn barred(text: &str) -> String {
    // Some readers take the separators of Unicode for ends of lines, too.
    let lines = text.lines().flat_map(|line| line.split(['\u{2028}', '\u{2029}']));
    lines.fold(String::new(), |mut out, line| {
        let _ = writeln!(out, "  | {line}");
        out
    })
}

fn unconfirmed(record: &Record) -> String {
    record.unconfirmed().into_iter().map(line).collect::<Vec<_>>().join(", ")
}

fn minute(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%MZ").to_string()
}

#[cfg(test)]
mod tests;
