//! A scenario on the real CLI: its requests, its log, what it printed.

use std::path::Path;

use live_e2e::{Desk, Exit, How, Installed};

use crate::observed::Observed;
use crate::scenario::Scenario;

/// By this the person's prompt is known again.
const PROMPT: &str = "fidelity-prompt";

/// Runs it; `Err`: what kept it from being observed.
pub(crate) fn observe(scenario: &Scenario, installed: &Installed) -> Result<Observed, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_dogwatch-under-test"));
    let desk = Desk::new(scenario.agent, installed, program).map_err(|error| error.to_string())?;
    let log = scenario.place(desk.project()).map_err(|error| error.to_string())?;
    let tool = if scenario.calls_tool {
        desk.shell(&format!("echo tool >> {}", log.display()))
    } else {
        String::new()
    };
    let prompt = format!("{PROMPT} {tool} @@say bye@@");
    let mut how = How { deadline: std::time::Duration::from_secs(150), ..How::default() };
    for (name, value) in scenario.environment(desk.project()) {
        how = how.env(name, &value);
    }
    let ran = desk.run(&prompt, &how).map_err(|error| error.to_string())?;
    if ran.exit == Exit::Deadline {
        return Err(format!("it had not ended after {:?}\n{}\n{}", how.deadline, ran.stdout, ran.stderr));
    }
    let turns = desk.model.turns();
    let told: Vec<String> =
        turns.iter().filter(|turn| turn.offers_tools()).map(live_e2e::model::Request::context).collect();
    let asked = told.iter().any(|told| told.contains(PROMPT));
    let said = format!("{}\n{}", ran.stdout, ran.stderr);
    let user = scenario.user.as_ref().map(|text| said.contains(text.as_str()));
    let log = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    Ok(Observed::new(&log, &scenario.texts, &told, asked, user))
}
