//! A scenario on the simulator: the same hooks in the same place, the events of the same session, and the tool's word in
//! the log where the simulator says that it ran.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use harness_sim::{Effect, Firing, Harness, Kind, Simulator, Version};
use live_e2e::{Agent, Installed};

use crate::observed::Observed;
use crate::scenario::{Hooks, Scenario};

/// How long a process that a hook has left may take for its own word.
const PATIENCE: Duration = Duration::from_secs(15);

/// The events of a session without a terminal: opened, asked, one tool, ended.
struct Events {
    before: &'static [&'static str],
    call: &'static str,
    after: &'static [&'static str],
    stop: &'static [&'static str],
}

fn events(agent: Agent) -> Events {
    match agent {
        Agent::Claude => Events {
            before: &["SessionStart-startup-headless", "UserPromptSubmit-bypassPermissions-headless"],
            call: "PreToolUse-Bash-bypassPermissions-headless",
            after: &["PostToolUse-Bash-bypassPermissions-headless"],
            stop: &["Stop-first-bypassPermissions-headless"],
        },
        Agent::Codex => Events {
            before: &[
                "SessionStart-startup-bypassPermissions-headless",
                "UserPromptSubmit-bypassPermissions-headless",
            ],
            call: "PreToolUse-Bash-bypassPermissions-headless",
            after: &["PostToolUse-Bash-bypassPermissions-headless"],
            stop: &["Stop-first-bypassPermissions-headless"],
        },
        Agent::Grok => Events {
            before: &["SessionStart-new", "UserPromptSubmit-default"],
            call: "PreToolUse-run_terminal_command",
            after: &["PostToolUse-run_terminal_command"],
            stop: &["Stop-end_turn", "Stop-shutdown"],
        },
        // Pi's prompt is asked before its tool, and its tool comes without a turn's end.
        Agent::Pi => Events {
            before: &["session_start-startup-print", "before_agent_start"],
            call: "tool_call",
            after: &["session_shutdown-quit"],
            stop: &[],
        },
        _ => Events {
            before: &["plugin-input-run", "event.session.created-default", "hook.chat.message"],
            call: "hook.tool.execute.before",
            after: &["hook.dispose"],
            stop: &[],
        },
    }
}

fn harness(agent: Agent) -> Harness {
    agent.id().parse().expect("both know every agent by the same name")
}

/// Plays it; `Err`: what kept it from being observed.
pub(crate) fn observe(scenario: &Scenario, installed: &Installed) -> Result<Observed, String> {
    // As a desk names its own: a path that becomes a part of what the model is told is then as long.
    let scratch = tempfile::Builder::new().prefix("live-").tempdir().map_err(|error| error.to_string())?;
    let top = scratch.path().canonicalize().map_err(|error| error.to_string())?;
    let (project, home) = (top.join("project"), top.join("home"));
    for folder in [&project, &home] {
        std::fs::create_dir(folder).map_err(|error| error.to_string())?;
    }
    let log = scenario.place(&project).map_err(|error| error.to_string())?;
    let version = Version::Exact(installed.version.clone());
    let mut simulator = Simulator::new(harness(scenario.agent), version).project(&project).home(&home);
    for (name, value) in scenario.environment(&project) {
        simulator = simulator.env(name, value);
    }
    let firings = play(&mut simulator, scenario, installed, &log)?;
    if let Some(why) = firings.iter().find_map(|firing| firing.not_run.as_ref()) {
        return Err(why.clone());
    }
    wait_for_the_last_word(scenario, &log);
    drop(simulator);
    let log = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    let told: Vec<String> = vec![firings.iter().flat_map(told).collect::<Vec<_>>().join("\n")];
    let asked = !firings.iter().any(|firing| is_blocked_prompt(firing) || has_ended(firing));
    let user = scenario.user.as_ref().map(|text| firings.iter().any(|firing| is_shown(firing, text)));
    Ok(Observed::new(&log, &scenario.texts, &told, asked, user))
}

fn play(
    simulator: &mut Simulator,
    scenario: &Scenario,
    installed: &Installed,
    log: &Path,
) -> Result<Vec<Firing>, String> {
    let events = events(scenario.agent);
    let mut firings = Vec::new();
    for event in events.before {
        firings.push(simulator.fire(event).map_err(|error| error.to_string())?);
        if firings.last().is_some_and(|firing| is_blocked_prompt(firing) || has_ended(firing)) {
            return Ok(firings);
        }
    }
    if scenario.calls_tool {
        let call = simulator.fire(events.call).map_err(|error| error.to_string())?;
        let runs = !call.has(Kind::Denied) && !call.has(Kind::Asked);
        firings.push(call);
        if runs {
            let mut log = OpenOptions::new().append(true).open(log).map_err(|error| error.to_string())?;
            log.write_all(b"tool\n").map_err(|error| error.to_string())?;
        }
        if runs || events.stop.is_empty() {
            for event in events.after {
                firings.push(simulator.fire(event).map_err(|error| error.to_string())?);
            }
        }
    } else if events.stop.is_empty() {
        for event in events.after {
            firings.push(simulator.fire(event).map_err(|error| error.to_string())?);
        }
    }
    // Whatever a harness does when a stop is refused is played by a scenario alone.
    if matches!(scenario.hooks, Hooks::Commands("Stop", _)) {
        let steps: Vec<String> =
            events.stop.iter().map(|event| format!("[[steps]]\nevent = \"{event}\"\nmax = 30\n")).collect();
        let steps = steps.concat();
        let text = format!("harness = \"{}\"\nversion = \"{}\"\n{steps}", scenario.agent, installed.version);
        let parsed = harness_sim::Scenario::parse(&text, "fidelity").map_err(|error| error.to_string())?;
        let report = simulator.run(&parsed).map_err(|error| error.to_string())?;
        if let Some(error) = &report.error {
            return Err(error.clone());
        }
        firings.extend(report.firings().cloned());
    }
    Ok(firings)
}

/// What the model is told over a firing.
fn told(firing: &Firing) -> Vec<String> {
    let is_prompt = firing.event == "UserPromptSubmit";
    let text = |effect: &Effect| match effect.kind {
        Kind::Context => effect.text.clone(),
        Kind::Denied if !is_prompt => effect.why.clone(),
        Kind::StopRefused => effect.why.clone(),
        _ => None,
    };
    firing.effects.iter().filter_map(text).collect()
}

fn is_blocked_prompt(firing: &Firing) -> bool {
    firing.event == "UserPromptSubmit" && firing.has(Kind::Denied)
}

/// Whether the agent itself ended over it.
fn has_ended(firing: &Firing) -> bool {
    let ended =
        |effect: &Effect| effect.why.as_ref().is_some_and(|why| why.contains("the harness's process"));
    firing.of(Kind::Failed).any(ended)
}

fn is_shown(firing: &Firing, text: &str) -> bool {
    let has = |part: Option<&String>| part.is_some_and(|part| part.contains(text));
    let message = firing.of(Kind::Message).any(|effect| has(effect.text.as_ref()));
    // Pi tells on stderr of whatever has failed in its process.
    let failed =
        firing.harness == Harness::Pi && firing.of(Kind::Failed).any(|effect| has(effect.why.as_ref()));
    message || failed
}

/// Waits for the last word of a process that waits for the tool's.
fn wait_for_the_last_word(scenario: &Scenario, log: &Path) {
    let Hooks::Commands(_, commands) = &scenario.hooks else { return };
    let words = ["held", "outlived"];
    let says_one = |text: &str| words.iter().any(|word| text.contains(word));
    if !commands.iter().any(|command| says_one(&command.before)) {
        return;
    }
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        if says_one(&text) || text.contains("term") {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
