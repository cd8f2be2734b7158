//! Playing a scenario: its place, its sessions, its steps one after the other.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::check::{check, check_unspoken};
use super::expect::Expect;
use super::place::Place;
use super::{Action, Fire, Scenario, ScenarioError, Step};
use crate::recording::How;
use crate::report::{Report, StepReport, Unmet};
use crate::sequence::{Asked, Course, Played, Sequence};
use crate::simulator::{FireError, Options, Simulator, Version};

/// How long a command of the set-up may take.
const SETUP_BOUND: Duration = Duration::from_secs(60);

/// Plays scenarios, some beside each other; the reports are in the order of the scenarios.
pub(crate) fn play_all(
    base: &mut Simulator,
    scenarios: &[Scenario],
) -> Result<Vec<Result<Report, FireError>>, FireError> {
    base.share()?;
    let base = &*base;
    // Most of the time somebody waits for a hook.
    let lanes = std::thread::available_parallelism().map_or(2, |cores| 2 * usize::from(cores));
    let next = Mutex::new(0..scenarios.len());
    let reports = Mutex::new(Vec::with_capacity(scenarios.len()));
    std::thread::scope(|scope| {
        for _ in 0..lanes.min(scenarios.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(at) = at else { return };
                    let report = play(&mut base.twin(), &scenarios[at]);
                    reports.lock().unwrap_or_else(PoisonError::into_inner).push((at, report));
                }
            });
        }
    });
    let mut reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
    reports.sort_by_key(|(at, _)| *at);
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

/// Plays one scenario.
pub(super) fn play(base: &mut Simulator, scenario: &Scenario) -> Result<Report, FireError> {
    let started = Instant::now();
    if let Some(name) = scenario.undefined().next() {
        let undefined = ScenarioError::Undefined { scenario: scenario.file.clone(), name: name.to_owned() };
        return Err(FireError::Scenario(undefined));
    }
    let shared = base.share()?;
    let (project, home) = base.folders();
    let place = Place::make(scenario, shared.scratch(), project, home).map_err(FireError::Place)?;
    let mut report = Report {
        scenario: scenario.name.clone(),
        file: scenario.file.clone(),
        about: scenario.about.clone(),
        harness: scenario.harness,
        version: scenario.version.to_owned(),
        how: how(scenario),
        steps: Vec::new(),
        error: None,
        not_run: None,
        elapsed: Duration::ZERO,
    };
    let player = Player { scenario, place: &place, template: simulator(base, scenario, &place) };
    report.error = player.set_up()?;
    if report.error.is_none()
        && let Err(error) = player.steps(&mut report)
    {
        report.error = Some(error.to_string());
    }
    report.elapsed = started.elapsed();
    Ok(report)
}

/// Whether any of it is documented only.
fn how(scenario: &Scenario) -> How {
    let documented = scenario.steps.iter().any(|step| match &step.action {
        Action::Fire(fire) => fire.recording.provenance.how == How::Documented,
        Action::Quit => false,
    });
    if documented { How::Documented } else { How::Recorded }
}

/// The harness's process, not yet started.
fn simulator(base: &Simulator, scenario: &Scenario, place: &Place) -> Simulator {
    let mut simulator = base
        .sibling(scenario.harness, Version::Exact(scenario.version.to_owned()))
        .project(&place.project)
        .home(&place.home);
    for (name, value) in &scenario.env {
        simulator = simulator.env(name, place.fill(value));
    }
    if let Some(command) = &scenario.command {
        simulator = simulator.command(place.fill(command));
    }
    if let Some(trusted) = scenario.trusted {
        simulator = simulator.trusted(trusted);
    }
    if let Some(factor) = scenario.time_scale {
        simulator = simulator.time_scale(factor);
    }
    if let Some(patience) = scenario.patience {
        simulator = simulator.patience(patience);
    }
    for pattern in &scenario.survivors {
        simulator = simulator.survivors(place.fill(pattern));
    }
    simulator
}

struct Player<'a> {
    scenario: &'a Scenario,
    place: &'a Place,
    template: Simulator,
}

impl Player<'_> {
    /// Runs the commands of the set-up. What one of them did wrong.
    fn set_up(&self) -> Result<Option<String>, FireError> {
        for command in &self.scenario.setup {
            let done = self.template.run_beforehand(&self.place.fill(command), SETUP_BOUND)?;
            if let Some(why) = done {
                // What it said may hold what a terminal obeys.
                let why = why.replace(char::is_control, "\u{fffd}");
                return Ok(Some(format!("the set-up {command:?} failed: {why}")));
            }
        }
        Ok(None)
    }

    fn steps(&self, report: &mut Report) -> Result<(), FireError> {
        let mut processes: HashMap<&str, Sequence> = HashMap::new();
        let mut steps = self.scenario.steps.iter().peekable();
        while let Some(step) = steps.next() {
            let process = if self.scenario.shares_process { "" } else { step.session.as_str() };
            let Action::Fire(fire) = &step.action else {
                if let Some(sequence) = processes.get_mut(process) {
                    sequence.simulator().end();
                }
                continue;
            };
            let sequence = processes
                .entry(process)
                .or_insert_with(|| Sequence::new(self.template.twin(), self.scenario.harness));
            let command = fire.command.as_ref().map(|command| self.place.fill(command));
            if let Some(command) = command {
                sequence.simulator().set_command(Some(command));
            }
            let asked = self.asked(fire);
            let beside = steps.peek().and_then(|next| beside(sequence, step, fire, next));
            if let Some((next, other)) = beside {
                steps.next();
                let [open, prompt] = sequence.play_beside(&step.session, &asked, &self.asked(other))?;
                self.add(report, step, fire, open);
                self.add(report, next, other, prompt);
            } else {
                let course = sequence.play(&step.session, &asked)?;
                self.add(report, step, fire, course);
            }
            sequence.simulator().set_command(self.template.given_command());
        }
        // A process that has nothing to do is not waited for by another.
        drop(processes);
        Ok(())
    }

    fn asked(&self, fire: &Fire) -> Asked {
        let mut set = Value::Object(fire.set.clone());
        self.place.fill_value(&mut set);
        let options = Options {
            set: if let Value::Object(map) = set { map } else { fire.set.clone() },
            stdin: fire.stdin.as_ref().map(|text| self.place.fill(text).into_bytes()),
            ..fire.options.clone()
        };
        Asked { recording: fire.recording, options, most_refusals: fire.most_refusals }
    }

    fn add(&self, report: &mut Report, step: &Step, fire: &Fire, course: Course) {
        let not_run = course.played.iter().find_map(|Played { firing, .. }| {
            firing.not_run.clone().or_else(|| firing.not_applicable.clone())
        });
        let unmet = match (&not_run, &fire.expect) {
            (Some(_), _) => Vec::new(),
            (None, Some(expect)) => check(&self.filled(expect), &course),
            (None, None) => check_unspoken(step.line, &course),
        };
        report.not_run = report.not_run.take().or(not_run);
        let warnings = unnamed(fire.expect.as_ref().map(|expect| self.filled(expect)).as_ref(), &course);
        // What is to be said of the file is said once.
        let of_file = if report.steps.is_empty() { self.scenario.notes.as_slice() } else { &[] };
        let unmet = unmet.into_iter().map(|unmet| Unmet { file: self.scenario.file.clone(), ..unmet });
        report.steps.push(StepReport {
            line: step.line,
            session: step.session.clone(),
            event: fire.recording.name.to_owned(),
            played: course.played,
            notes: of_file.iter().cloned().chain(course.notes).collect(),
            refused: course.refused,
            ends: course.ends,
            unmet: unmet.collect(),
            warnings: of_file.iter().cloned().chain(warnings).collect(),
            is_snapshot: fire.expect.is_none(),
        });
    }

    /// The expectation with the values put in.
    fn filled(&self, expect: &Expect) -> Expect {
        let mut expect = expect.clone();
        let fill = |texts: &mut Vec<String>| texts.iter_mut().for_each(|text| *text = self.place.fill(text));
        fill(&mut expect.notes);
        for (_, wanted) in &mut expect.kinds {
            fill(&mut wanted.contains);
            fill(&mut wanted.lacks);
            fill(&mut wanted.why);
        }
        for then in &mut expect.then {
            then.expect = self.filled(&then.expect);
        }
        expect
    }
}

/// The notes of what was fired that no expectation names, each once.
fn unnamed(expect: Option<&Expect>, course: &Course) -> Vec<String> {
    let named: Vec<&String> = expect
        .into_iter()
        .flat_map(|expect| expect.notes.iter().chain(expect.then.iter().flat_map(|then| &then.expect.notes)))
        .collect();
    let mut unnamed: Vec<String> = Vec::new();
    for warning in course.played.iter().flat_map(|played| played.firing.doubts()) {
        if !named.iter().any(|part| warning.contains(part.as_str())) && !unnamed.contains(warning) {
            unnamed.push(warning.clone());
        }
    }
    unnamed
}

/// The next step, where it is the prompt that runs beside this open.
fn beside<'a>(sequence: &Sequence, step: &Step, fire: &Fire, next: &'a Step) -> Option<(&'a Step, &'a Fire)> {
    let Action::Fire(other) = &next.action else { return None };
    let same = next.session == step.session && other.command == fire.command;
    (same && sequence.runs_beside(fire.recording, other.recording)).then_some((next, other.as_ref()))
}
