//! Whether the simulator is true: each scenario runs on the real CLI and on the simulator, and what comes of both has to be
//! equal. Where it is not the simulator is wrong. Asked for by `DOGWATCH_LIVE_E2E`, as all live tests are.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod commands;
mod known;
mod modules;
mod observed;
mod real;
mod scenario;
mod simulated;
mod table;
mod texts;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use live_e2e::{Agent, Asked, Installed, Network, Verdict, clis_folder};

use crate::scenario::Scenario;
use crate::table::{Cell, Table};

/// What the rows fill.
#[derive(Default)]
struct Results {
    table: Table,
    took: BTreeMap<Agent, Duration>,
}

fn main() -> ExitCode {
    live_e2e::init();
    harness_sim::init();
    let arguments = Arguments::from_args();
    let asked = Asked::from_environment();
    if asked != Asked::Nothing
        && !arguments.list
        && let Network::Open(why) = live_e2e::enter_network()
    {
        println!("network: this machine's, because a namespace was refused: {why}");
    }
    let scenarios = scenarios();
    let mut rows: Vec<&'static str> = Vec::new();
    for scenario in &scenarios {
        if !rows.contains(&scenario.name) {
            rows.push(scenario.name);
        }
    }
    let results = Arc::new(Mutex::new(Results::default()));
    let asked = Arc::new(asked);
    let trials =
        scenarios.into_iter().map(|scenario| trial(scenario, Arc::clone(&asked), Arc::clone(&results)));
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    if !arguments.list {
        let results = results.lock().unwrap();
        println!("{}", results.table.text(&rows));
        for (agent, took) in &results.took {
            println!("{agent}: {:.0} s, one row after the other", took.as_secs_f64());
        }
    }
    conclusion.exit_code()
}

fn scenarios() -> Vec<Scenario> {
    let commands = [Agent::Claude, Agent::Codex, Agent::Grok].into_iter().flat_map(commands::of);
    commands.chain(modules::pi()).chain(modules::opencode()).collect()
}

fn trial(scenario: Scenario, asked: Arc<Asked>, results: Arc<Mutex<Results>>) -> Trial {
    let (agent, name) = (scenario.agent, scenario.name);
    Trial::ignorable_test(format!("{agent}::{name}"), move || {
        let set = |cell: Cell| results.lock().unwrap().table.set(name, agent, cell);
        match asked.verdict(agent, &clis_folder(Path::new(env!("CARGO_TARGET_TMPDIR")))) {
            Verdict::Ignored(why) => {
                set(Cell::NotAsked);
                Ok(Completion::ignored_with(why))
            }
            Verdict::Failed(why) => {
                set(Cell::Failed(why.clone()));
                Err(Failed::from(why))
            }
            Verdict::Run(installed) => {
                let begun = Instant::now();
                let cell = compare(&scenario, &installed);
                *results.lock().unwrap().took.entry(agent).or_default() += begun.elapsed();
                set(cell.clone());
                judge(&cell, scenario.known).map(|()| Completion::Completed)
            }
        }
    })
}

/// Runs both.
fn compare(scenario: &Scenario, installed: &Installed) -> Cell {
    let simulated = match simulated::observe(scenario, installed) {
        Ok(observed) => observed,
        Err(why) => return Cell::Failed(format!("the simulator: {why}")),
    };
    let real = match real::observe(scenario, installed) {
        Ok(observed) => observed,
        Err(why) => return Cell::Failed(format!("the real program: {why}")),
    };
    let (real, simulated) =
        if scenario.beside { (real.unordered(), simulated.unordered()) } else { (real, simulated) };
    if real == simulated {
        Cell::Equal(real)
    } else {
        Cell::Differs { real, simulated, known: scenario.known }
    }
}

fn judge(cell: &Cell, known: Option<&'static str>) -> Result<(), Failed> {
    match cell {
        Cell::Equal(_) if known.is_some() => {
            Err(Failed::from("it is equal by now: take it from the differences that are known"))
        }
        Cell::Differs { real, simulated, known: None } => Err(Failed::from(format!(
            "the simulator is wrong\n  real:      {real}\n  simulator: {simulated}"
        ))),
        Cell::Failed(why) => Err(Failed::from(why.clone())),
        _ => Ok(()),
    }
}
