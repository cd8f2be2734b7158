//! `harness-sim matrix`: every recording of every harness, as a table.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use super::{FAULT, FINE, NO_HOOKS, NOT_RUN, Problem, print, print_json, values};
use crate::harness::Harness;
use crate::matrix::Matrix;
use crate::recording::How;
use crate::report::{Firing, Kind, Style, duration, paint};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only this harness; may be given more than once
    #[arg(long)]
    harness: Vec<Harness>,
    /// The project whose hooks are fired [default: the current folder]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The home whose hooks are fired, too, and that hooks get as HOME [default: an empty one]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// How long a hook may take, in the place of the registered or the harness's own timeout (seconds, or with ms, s, m)
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    timeout: Option<Duration>,
    /// Identity files of processes that may outlive their hook, relative to the project (`*` and `?` within a name)
    #[arg(long, value_name = "GLOB")]
    survivors: Vec<String>,
    /// Print JSON: an array of firings
    #[arg(long)]
    json: bool,
    /// A command to fire at, whatever is registered; {harness} and {event} in it are replaced
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(arguments: Arguments) -> Result<u8, Problem> {
    let matrix = Matrix {
        project: arguments.project,
        home: arguments.home,
        command: values::command(&arguments.command),
        harnesses: arguments.harness,
        timeout: arguments.timeout,
        survivors: arguments.survivors,
    };
    let firings = matrix.run()?;
    if arguments.json {
        print_json(&firings)?;
    } else {
        print(&table(&firings));
    }
    let was_run = |firing: &&Firing| firing.not_run.is_none();
    Ok(if firings.iter().filter(was_run).any(|firing| !firing.is_clean()) {
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
