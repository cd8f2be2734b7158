//! `harness-sim matrix`: every recording of every harness, as a table.

use std::fmt::Write as _;

use super::aim::Aim;
use super::{FAULT, FINE, NO_HOOKS, NOT_RUN, Problem, print, print_json};
use crate::harness::Harness;
use crate::matrix::Matrix;
use crate::recording::How;
use crate::report::{Firing, Kind, Style, duration, paint};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only this harness; may be given more than once
    #[arg(long)]
    harness: Vec<Harness>,
    /// Count as a fault what may be wrong: a note, or something that the harness does not read
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    aim: Aim,
}

pub(super) fn run(arguments: Arguments) -> Result<u8, Problem> {
    let command = arguments.aim.command()?;
    let Aim { project, home, timeout, survivors, patience, json, .. } = arguments.aim;
    let harnesses = arguments.harness;
    let matrix = Matrix { project, home, command, harnesses, timeout, survivors, patience };
    let firings = matrix.run()?;
    if json {
        print_json(&firings)?;
    } else {
        print(&table(&firings));
    }
    let was_run = |firing: &&Firing| firing.not_run.is_none();
    let is_doubted = arguments.strict && firings.iter().any(Firing::is_doubtful);
    Ok(if is_doubted || firings.iter().filter(was_run).any(|firing| !firing.is_clean()) {
        FAULT
    } else if !firings.iter().all(|firing| was_run(&firing)) {
        NOT_RUN
    } else if firings.iter().all(|firing| firing.commands.is_empty()) {
        NO_HOOKS
    } else {
        FINE
    })
}

fn table(firings: &[Firing]) -> String {
    let mut text = String::new();
    let mut head = String::new();
    for firing in firings {
        let own = format!("{} {}", firing.harness.name(), firing.version);
        if own != head {
            let documented = if firing.how == How::Documented { "  (documented, never seen)" } else { "" };
            let _ = writeln!(text, "{}{}", paint(Style::Strong, &own), paint(Style::Warn, documented));
            head = own;
        }
        row(&mut text, firing);
    }
    let mut notes: Vec<&str> = Vec::new();
    for note in firings.iter().flat_map(|firing| &firing.warnings) {
        if !notes.contains(&note.as_str()) {
            notes.push(note);
        }
    }
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        let _ = writeln!(text, "  {} {note}", paint(Style::Warn, "note:"));
    }
    let count = |test: &dyn Fn(&&Firing) -> bool| firings.iter().filter(test).count();
    let applicable = count(&|firing| firing.not_applicable.is_none());
    let failed = count(&|firing| firing.has(Kind::Failed));
    let leaked = count(&|firing| firing.leaks().next().is_some());
    let not_run = count(&|firing| firing.not_run.is_some());
    let is_unheard = |firing: &&Firing| {
        firing.not_applicable.is_none() && firing.not_run.is_none() && firing.commands.is_empty()
    };
    let unheard = count(&is_unheard);
    let _ = writeln!(
        text,
        "\n{} fired, {failed} failed, {leaked} leaked, {unheard} without a hook, {} not applicable{}",
        applicable - not_run,
        firings.len() - applicable,
        if not_run > 0 { paint(Style::Warn, &format!(", {not_run} not run")) } else { String::new() },
    );
    text
}

fn row(text: &mut String, firing: &Firing) {
    if firing.not_applicable.is_some() {
        let _ = writeln!(
            text,
            "  {} {:<58} {}",
            paint(Style::Dim, "–"),
            firing.recording,
            paint(Style::Dim, "not applicable")
        );
        return;
    }
    let mark = match (firing.commands.is_empty(), firing.is_clean()) {
        (true, true) => paint(Style::Dim, "–"),
        (false, true) => paint(Style::Good, "✓"),
        (_, false) => paint(Style::Bad, "✗"),
    };
    let mut words: Vec<String> = Vec::new();
    for effect in &firing.effects {
        let word = match (effect.kind, effect.bytes) {
            (Kind::Context, Some(bytes)) => format!("context {bytes} B"),
            (kind, _) => kind.name().to_owned(),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let leaks = firing.leaks().count();
    if leaks > 0 {
        words.push(format!("{leaks} leaked"));
    }
    let words = match &firing.not_run {
        Some(why) => format!("not run: {why}"),
        None if words.is_empty() && firing.commands.is_empty() => "no hook".to_owned(),
        None => words.join(", "),
    };
    let _ = writeln!(text, "  {mark} {:<58} {:>8}  {words}", firing.recording, duration(firing.elapsed));
    for why in firing.of(Kind::Failed).filter_map(|effect| effect.why.as_deref()) {
        let _ = writeln!(text, "      {}", paint(Style::Bad, why));
    }
}
