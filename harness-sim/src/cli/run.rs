//! `harness-sim run`: scenarios.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::{FAULT, FINE, NO_HOOKS, NOT_RUN, Problem, print, print_json, values};
use crate::harness::Harness;
use crate::report::{Firing, Report, Style, Unmet, junit, paint, prove, write_report};
use crate::scenario::{Scenario, ScenarioError, play_all};
use crate::simulator::{FireError, Simulator, Version};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Scenarios, or folders of which every .toml file is one
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<PathBuf>,
    /// The project of scenarios that make none [default: the current folder]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The home of scenarios that make none [default: an empty one]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// A value for a name that scenarios need; one that names a file becomes its absolute path
    #[arg(long, value_name = "NAME=VALUE", value_parser = definition)]
    define: Vec<(String, String)>,
    /// Write JUnit XML there
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write down there what was proved: one line of JSON for each scenario
    #[arg(long, value_name = "FILE")]
    prove: Option<PathBuf>,
    /// How long the end of a session waits for declared survivors before it ends them, where a scenario does not say
    /// (seconds, or with ms, s, m); 0 waits for none [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = values::patience)]
    patience: Option<Duration>,
    /// Count a note that something may be wrong as a fault, unless a step's `note` expects it
    #[arg(long)]
    strict: bool,
    /// Print all of every firing, not only where something is not as expected
    #[arg(long, short)]
    verbose: bool,
    /// Print JSON: an array of firings
    #[arg(long)]
    json: bool,
}

fn definition(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    // Hooks run in the scenario's project, where a relative path means nothing.
    let path = Path::new(value);
    let value = match path.is_file().then(|| std::path::absolute(path)) {
        Some(Ok(path)) => path.to_string_lossy().into_owned(),
        _ => value.to_owned(),
    };
    Ok((name.to_owned(), value))
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Problem> {
    let scenarios = load(arguments)?;
    // The scenarios' own harnesses count.
    let mut base = Simulator::new(Harness::Claude, Version::Newest);
    if let Some(project) = &arguments.project {
        base = base.project(project);
    }
    if let Some(home) = &arguments.home {
        base = base.home(home);
    }
    if let Some(patience) = arguments.patience {
        base = base.patience(patience);
    }
    let mut reports =
        play_all(&mut base, &scenarios)?.into_iter().collect::<Result<Vec<Report>, FireError>>()?;
    if arguments.strict {
        reports.iter_mut().for_each(Report::be_strict);
    }
    if arguments.json {
        print_json(&firings(&reports))?;
    } else {
        print(&text(&reports, arguments.verbose));
    }
    if let Some(file) = &arguments.junit {
        std::fs::write(file, junit(&reports))
            .map_err(|error| format!("failed to write {}: {error}", file.display()))?;
    }
    if let Some(file) = &arguments.prove {
        prove(file, &reports).map_err(|error| format!("failed to write {}: {error}", file.display()))?;
    }
    Ok(code(&reports))
}

/// Every scenario, or everything that is wrong with any of them.
fn load(arguments: &Arguments) -> Result<Vec<Scenario>, Problem> {
    let mut files = Vec::new();
    for path in &arguments.scenarios {
        if path.is_dir() {
            let before = files.len();
            collect(path, &mut files)?;
            if files.len() == before {
                return Err(format!("{}: there is no .toml file in it", path.display()).into());
            }
            files[before..].sort();
        } else {
            files.push(path.clone());
        }
    }
    let mut scenarios = Vec::new();
    let mut wrong = Vec::new();
    for file in &files {
        match Scenario::load(file) {
            Ok(scenario) => scenarios.push(scenario),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    for (name, value) in &arguments.define {
        if wrong.is_empty() && !scenarios.iter().any(|scenario| scenario.needs().contains(name)) {
            wrong.push(format!("--define {name}: none of the scenarios needs it"));
        }
        scenarios = scenarios
            .into_iter()
            .map(
                |scenario| {
                    if scenario.needs().contains(name) { scenario.define(name, value) } else { scenario }
                },
            )
            .collect();
    }
    for scenario in &scenarios {
        for name in scenario.undefined() {
            let scenario = scenario.file().to_owned();
            wrong.push(ScenarioError::Undefined { scenario, name: name.to_owned() }.to_string());
        }
    }
    if wrong.is_empty() { Ok(scenarios) } else { Err(wrong.join("\n").into()) }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Problem> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    Ok(())
}

/// One firing of one step, as JSON has it.
#[derive(Serialize)]
struct Fired<'a> {
    scenario: &'a str,
    /// From 1.
    step: usize,
    #[serde(flatten)]
    played: &'a crate::sequence::Played,
    /// With the last firing of a step.
    unmet: &'a [Unmet],
}

fn firings(reports: &[Report]) -> Vec<Fired<'_>> {
    let mut fired = Vec::new();
    for report in reports {
        for (at, step) in report.steps.iter().enumerate() {
            for (number, played) in step.played.iter().enumerate() {
                let is_last = number + 1 == step.played.len();
                let unmet = if is_last { step.unmet.as_slice() } else { &[] };
                fired.push(Fired { scenario: &report.scenario, step: at + 1, played, unmet });
            }
        }
    }
    fired
}

fn text(reports: &[Report], verbose: bool) -> String {
    let mut text = String::new();
    for report in reports {
        write_report(&mut text, report, verbose);
    }
    let passed = reports.iter().filter(|report| report.passed()).count();
    let not_run = reports.iter().filter(|report| report.not_run.is_some()).count();
    let failed = reports.len() - passed - not_run;
    let mut words = vec![paint(Style::Good, &format!("{passed} passed"))];
    if failed > 0 {
        words.push(paint(Style::Bad, &format!("{failed} failed")));
    }
    if not_run > 0 {
        words.push(paint(Style::Warn, &format!("{not_run} not run")));
    }
    let _ = writeln!(text, "\n{}", words.join(", "));
    text
}

fn code(reports: &[Report]) -> u8 {
    let unheard = |report: &&Report| {
        report.error.is_none() && report.firings().all(|firing: &Firing| firing.commands.is_empty())
    };
    let failed: Vec<&Report> =
        reports.iter().filter(|report| !report.passed() && report.not_run.is_none()).collect();
    if !failed.iter().all(unheard) {
        FAULT
    } else if reports.iter().flat_map(Report::firings).any(|firing| firing.not_run.is_some()) {
        NOT_RUN
    } else if failed.is_empty() && reports.iter().any(Report::passed) {
        FINE
    } else {
        NO_HOOKS
    }
}
