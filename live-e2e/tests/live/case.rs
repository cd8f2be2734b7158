//! What every test begins with, and what it says when something is wrong.

use std::path::Path;

use live_e2e::model::Request;
use live_e2e::{Agent, Desk, Exit, How, Installed, Ran};

/// Those to whose first request the digest comes.
pub(crate) const RUN_TIER: &[Agent] = &[Agent::Claude, Agent::Codex, Agent::Pi];
/// Those to whom no digest comes: they are asked to run it.
pub(crate) const NUDGE_TIER: &[Agent] = &[Agent::OpenCode, Agent::Grok];
/// All that can be installed.
pub(crate) const ALL: &[Agent] = &[Agent::Claude, Agent::Codex, Agent::Pi, Agent::OpenCode, Agent::Grok];
/// How a digest begins.
pub(crate) const DIGEST: &str = "# dogwatch session digest: project (";
/// How the nudge begins.
pub(crate) const NUDGE: &str = "DOGWATCH_OP: v1 session-start: Run `";

/// A test's agent.
pub(crate) struct Case {
    pub(crate) agent: Agent,
    pub(crate) installed: Installed,
}

impl Case {
    /// A desk on which dogwatch stands nowhere.
    pub(crate) fn bare_desk(&self) -> Desk {
        Desk::new(self.agent, &self.installed, Path::new(env!("CARGO_BIN_EXE_dogwatch-under-test"))).unwrap()
    }

    /// A desk where dogwatch is installed and the project has a home.
    pub(crate) fn desk(&self) -> Desk {
        let desk = self.bare_desk();
        desk.install(self.agent).unwrap();
        desk
    }
}

/// A prompt by which a session that was nudged runs what it was asked to run; the digest is then a tool's result.
pub(crate) fn following(desk: &Desk) -> String {
    format!("hello {} @@say bye@@", desk.shell(&format!("{} open", desk.program().display())))
}

/// Runs the CLI, which has to end well and leave nobody behind; the conversation's requests of this run.
pub(crate) fn run(desk: &Desk, prompt: &str, how: &How) -> (Ran, Vec<Request>) {
    let before = desk.model.requests().len();
    let ran = desk.run(prompt, how).unwrap();
    let requests = desk.model.requests();
    let turns: Vec<Request> =
        requests[before..].iter().filter(|request| request.offers_tools()).cloned().collect();
    assert_eq!(ran.exit, Exit::Code(0), "{}", told(desk, &ran));
    assert!(!turns.is_empty(), "the model was asked nothing\n{}", told(desk, &ran));
    assert!(ran.leaks().is_empty(), "left behind: {:?}\n{}", ran.leaks(), told(desk, &ran));
    (ran, turns)
}

/// What there is to say about a run that went wrong.
pub(crate) fn told(desk: &Desk, ran: &Ran) -> String {
    let end =
        |text: &str| text.chars().rev().take(3000).collect::<Vec<_>>().into_iter().rev().collect::<String>();
    let requests: Vec<String> =
        desk.model.requests().iter().map(|request| format!("{} {}", request.method, request.path)).collect();
    let trace =
        std::fs::read_to_string(desk.project().join(".dogwatch/state/trace.jsonl")).unwrap_or_default();
    format!(
        "exit: {:?} after {:?}\nstdout: {}\nstderr: {}\nrequests: {requests:?}\ntrace: {trace}",
        ran.exit,
        ran.took,
        end(&ran.stdout),
        end(&ran.stderr),
    )
}
