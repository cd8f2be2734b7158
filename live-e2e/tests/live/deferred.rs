//! The deferred stage: a check goes on when the CLI that it was started in is gone, and what it found is told to the session
//! in charge, once.

use std::fs;
use std::path::Path;

use live_e2e::model::Request;
use live_e2e::{Agent, Desk, How, Opens, Ran};
use serde_json::Value;

use crate::Test;
use crate::case::{ALL, Case, RUN_TIER, following, run, told};
use crate::conversation::Conversation;
use crate::gate::{BOUND, Gate, wait_until};

pub(crate) const TESTS: &[Test] = &[
    ("a_check_outlives_a_headless_run_and_the_next_session_is_told_once", ALL, outlives),
    ("a_result_that_comes_late_is_told_with_the_next_prompt_once", ALL, told_with_the_next_prompt),
];

/// How a wake begins.
pub(crate) const WAKE: &str = "DOGWATCH_OP: v1 wake: network check build asks for action";
/// What the check finds.
const FOUND: &str = "The build is red";
/// What a digest says while the check still runs.
const IN_PROGRESS: &str = "in progress, not yet confirmed: build";

/// A desk whose network check waits behind the gate.
pub(crate) fn desk_with_a_check(case: &Case) -> (Desk, Gate) {
    let desk = case.desk();
    let gate = Gate::new(&desk, "build");
    let check = format!(
        "[[network.check]]\nname = \"build\"\ncommand = \"{}; echo {FOUND}; exit 1\"\n",
        gate.shell()
    );
    desk.trusted_config(&check).unwrap();
    (desk, gate)
}

/// A first prompt that ends with the digest before the model, whatever the tier.
fn opening(case: &Case, desk: &Desk) -> String {
    if RUN_TIER.contains(&case.agent) { "hello @@say bye@@".to_owned() } else { following(desk) }
}

fn state(desk: &Desk, file: &str) -> Value {
    let text = fs::read(desk.project().join(".dogwatch/state").join(file)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or(Value::Null)
}

/// A run whose check is let go only when the CLI is gone, its process, which has the helm; by then the check still works.
fn run_beside_a_check(desk: &Desk, gate: &Gate, prompt: &str) -> (Ran, Vec<Request>) {
    let how = How {
        declared: vec![desk.project().join(".dogwatch/state/network.json")],
        patience: BOUND,
        ..How::default()
    };
    let before = gate.waits();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(desk, prompt, &how));
        let has_gone = || gate.waits() > before && !lives(&state(desk, "network.json")["helm"]["process"]);
        let came = wait_until(|| has_gone() || running.is_finished());
        let record = state(desk, "network.json");
        let works = record["state"] == "running" && lives(&record["worker"]) && lives(&record["supervisor"]);
        gate.open("now");
        let (ran, turns) = running.join().unwrap();
        assert!(came, "the CLI is still there: {}", told(desk, &ran));
        assert!(works, "{record}\n{}", told(desk, &ran));
        (ran, turns)
    })
}

/// Whether a process that is named in a record is there.
fn lives(process: &Value) -> bool {
    let pid = process["pid"].as_u64().unwrap();
    Path::new(&format!("/proc/{pid}")).exists()
}

fn outlives(case: &Case) {
    let (desk, gate) = desk_with_a_check(case);
    let (_, turns) = run_beside_a_check(&desk, &gate, &opening(case, &desk));
    let last = turns.last().unwrap().context();
    assert!(last.contains(IN_PROGRESS) && !last.contains(FOUND), "{last}");
    assert_eq!(state(&desk, "network.json")["state"], "done");
    // Its own check waits behind the gate, so that what it is told is of the run before.
    gate.shut();
    let (ran, turns) = run_beside_a_check(&desk, &gate, &opening(case, &desk));
    let last = turns.last().unwrap().context();
    assert_eq!(last.matches(FOUND).count(), 1, "{last}\n{}", told(&desk, &ran));
}

fn told_with_the_next_prompt(case: &Case) {
    let (desk, gate) = desk_with_a_check(case);
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    let first = if RUN_TIER.contains(&case.agent) { "hello".to_owned() } else { following(&desk) };
    let opened = talk.say(&first).pop().unwrap().context();
    assert!(opened.contains(IN_PROGRESS) && !opened.contains(FOUND), "{opened}");
    assert!(wait_until(|| gate.waits() == 1), "the check was not started");
    gate.open("now");
    desk.dogwatch(&["network", "wait", "--timeout", "90s"]).unwrap();
    let turns = talk.say(&desk.shell("echo hello"));
    let (asked, answered) = (turns[0].context(), turns.last().unwrap().context());
    // Of Grok's events only those of a tool reach its model.
    let at_once = usize::from(case.agent != Agent::Grok);
    assert_eq!(asked.matches(WAKE).count(), at_once, "{asked}\n{:?}", desk.trace());
    assert_eq!(answered.matches(WAKE).count(), 1, "{answered}\n{:?}", desk.trace());
    assert_eq!(answered.matches(FOUND).count(), 1, "{answered}");
    let later = talk.say(&desk.shell("echo again")).pop().unwrap().context();
    assert_eq!(later.matches(WAKE).count(), 1, "once: {later}");
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
}
