//! `harness-sim torture`: everything that a harness or a machine may do to a hook, as a table.

use std::fmt::Write as _;

use super::aim::Aim;
use super::{FAULT, FINE, NO_HOOKS, Problem, complain, print, print_json};
use crate::harness::Harness;
use crate::placeholder::unknown_in_command;
use crate::report::{Style, duration, paint};
use crate::torture::{Outcome, Torture, Verdict};

/// The width of a case's name, and of a harness's column.
const CASE: usize = 34;
const COLUMN: usize = 13;
/// The most lines about one case at one harness.
const MOST_LINES: usize = 4;

#[derive(clap::Args)]
#[command(mut_arg("project", |arg| arg.help(
    "The project that the hook runs in; cases that spoil a disk use a copy [default: an empty one]"
)))]
#[command(mut_arg("home", |arg| arg.help(
    "The home that hooks get as HOME; cases that spoil a disk use a copy [default: an empty one]"
)))]
#[command(mut_arg("timeout", |arg| arg.help(
    "How long the hook may take in any case (seconds, or with ms, s, m) [default: 10s]"
)))]
#[command(mut_arg("patience", |arg| arg.help(
    "How long the end of a session waits for such processes before it ends them; 0 waits for none [default: the timeout]"
)))]
#[command(mut_arg("json", |arg| arg.help("Print JSON: an array of verdicts")))]
#[command(mut_arg("command", |arg| arg.required(true).help(
    "The command to torture; {harness} and {event} in it are replaced, and a relative path of its program is one from \
     the current folder"
)))]
pub(super) struct Arguments {
    /// Only this harness; may be given more than once [default: all that have command hooks]
    #[arg(long)]
    harness: Vec<Harness>,
    #[command(flatten)]
    aim: Aim,
}

pub(super) fn run(arguments: Arguments) -> Result<u8, Problem> {
    let command = arguments.aim.command()?.unwrap_or_default();
    let Aim { project, home, timeout, survivors, patience, json, .. } = arguments.aim;
    let harnesses = arguments.harness;
    for warning in unknown_in_command(&command) {
        complain(&warning);
    }
    let bound = timeout;
    let torture =
        Torture { command, harnesses, project, home, bound, survivors, patience, host_program: None };
    let verdicts = torture.run()?;
    if json {
        print_json(&verdicts)?;
    } else {
        print(&table(&verdicts));
    }
    Ok(if verdicts.iter().any(|verdict| matches!(verdict.outcome, Outcome::Wrong { .. })) {
        FAULT
    } else if verdicts.iter().any(|verdict| verdict.outcome == Outcome::Ok) {
        FINE
    } else {
        NO_HOOKS
    })
}

fn table(verdicts: &[Verdict]) -> String {
    let mut text = format!("{:<CASE$}", "");
    let mut harnesses: Vec<Harness> = verdicts.iter().map(|verdict| verdict.harness).collect();
    harnesses.dedup();
    for harness in &harnesses {
        let _ = write!(text, "{}", paint(Style::Strong, &format!("{:<COLUMN$}", harness.name())));
    }
    text.push('\n');
    let first = harnesses.first().copied();
    let cases: Vec<&Verdict> = verdicts.iter().filter(|verdict| Some(verdict.harness) == first).collect();
    for case in &cases {
        let _ = write!(text, "{:<CASE$}", case.case);
        let row: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.case == case.case).collect();
        for verdict in &row {
            let (style, word) = match &verdict.outcome {
                Outcome::Ok => (Style::Good, format!("ok {}", duration(verdict.elapsed))),
                Outcome::Wrong { .. } => (Style::Bad, "wrong".to_owned()),
                Outcome::NotRun { .. } => (Style::Warn, "not run".to_owned()),
            };
            let _ = write!(text, "{}", paint(style, &format!("{word:<COLUMN$}")));
        }
        text.push('\n');
        details(&mut text, &row);
    }
    let count = |test: fn(&Outcome) -> bool| verdicts.iter().filter(|verdict| test(&verdict.outcome)).count();
    let _ = writeln!(
        text,
        "\n{} ok, {} wrong, {} not run",
        count(|outcome| *outcome == Outcome::Ok),
        count(|outcome| matches!(outcome, Outcome::Wrong { .. })),
        count(|outcome| matches!(outcome, Outcome::NotRun { .. })),
    );
    text
}

/// What a row has to say beside its words: what was wrong, why something was not run, who survived.
fn details(text: &mut String, row: &[&Verdict]) {
    let is_wrong = |verdict: &&&Verdict| matches!(verdict.outcome, Outcome::Wrong { .. });
    if let Some(verdict) = row.iter().find(is_wrong) {
        let _ = writeln!(text, "    {} {}", paint(Style::Dim, "expected:"), verdict.expectation);
    }
    let mut said: Vec<String> = Vec::new();
    for verdict in row {
        let who = paint(Style::Strong, verdict.harness.name());
        match &verdict.outcome {
            Outcome::Ok => {}
            Outcome::Wrong { wrong } => {
                for why in wrong.iter().take(MOST_LINES) {
                    said.push(format!("{who}: {}", paint(Style::Bad, why)));
                }
                if wrong.len() > MOST_LINES {
                    said.push(format!("{who}: and {} more; --json has them all", wrong.len() - MOST_LINES));
                }
            }
            // The same reason for all is said once.
            Outcome::NotRun { why } => {
                if !said.iter().any(|line| line.contains(why)) {
                    said.push(format!("not run: {why}"));
                }
            }
        }
        if let Some(note) = &verdict.note
            && !said.iter().any(|line| line.contains(note))
        {
            said.push(paint(Style::Dim, note));
        }
        let declared = verdict.survivors.iter().filter(|survivor| survivor.declared).count();
        if declared > 0 {
            said.push(format!("{who}: {declared} declared processes outlived it"));
        }
    }
    for line in said {
        let _ = writeln!(text, "    {line}");
    }
}
