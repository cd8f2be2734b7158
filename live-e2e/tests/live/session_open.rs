//! The open of a session, headless: what the model is told with its first request, and what it is told where the digest is
//! cut, where dogwatch is gone, where another session is in charge.

use std::time::Duration;

use live_e2e::model::Request;
use live_e2e::{Agent, Desk, How};

use crate::Test;
use crate::case::{ALL, Case, DIGEST, NUDGE, NUDGE_TIER, RUN_TIER, following, run, told};

pub(crate) const TESTS: &[Test] = &[
    ("a_cold_start_brings_the_digest_with_the_first_request", RUN_TIER, cold_start),
    ("a_large_digest_is_composed_for_what_the_model_sees", RUN_TIER, large_digest),
    ("a_cold_start_brings_the_nudge_and_the_model_can_follow_it", NUDGE_TIER, nudged),
    ("a_session_opens_though_the_program_behind_the_hook_is_gone", ALL, program_gone),
    ("a_digest_that_was_cut_at_its_deadline_carries_its_banner", ALL, truncated),
    ("a_second_session_beside_a_live_one_is_read_only", ALL, read_only),
];

/// What stands in the pointer of these tests' projects.
const NEXT_ACTION: &str = "paint the shed green";

fn write_pointer(desk: &Desk) {
    let file = desk.project().join(".dogwatch/pointer.md");
    let pointer = std::fs::read_to_string(&file).unwrap();
    assert!(pointer.contains("## Next action\n"), "{pointer}");
    std::fs::write(file, pointer.replace("## Next action\n", &format!("## Next action\n\n{NEXT_ACTION}\n")))
        .unwrap();
}

/// What brought the digest to the model in a run: the first request, or the result of what it was asked to run.
fn digest(case: &Case, desk: &Desk, how: &How) -> String {
    if RUN_TIER.contains(&case.agent) {
        let (_, turns) = run(desk, "hello @@say bye@@", how);
        return turns[0].context();
    }
    let (ran, turns) = run(desk, &following(desk), how);
    let results = turns.iter().rev().map(Request::tool_results).find(|results| !results.is_empty());
    results.unwrap_or_else(|| panic!("no tool ran\n{}", told(desk, &ran))).join("\n")
}

fn cold_start(case: &Case) {
    let desk = case.desk();
    write_pointer(&desk);
    let (ran, turns) = run(&desk, "hello @@say bye@@", &How::default());
    assert!(ran.stdout.contains("bye"), "{}", told(&desk, &ran));
    let first = turns[0].context();
    assert!(first.contains(DIGEST) && first.contains(NEXT_ACTION), "{first}\n{}", told(&desk, &ran));
    assert!(first.contains("## next-step"), "the last stage, so it is whole: {first}");
}

fn large_digest(case: &Case) {
    let desk = case.desk();
    let stage =
        "[[digest.stage]]\nname = \"long\"\ncommand = \"seq -f 'line %05.0f of the long stage' 1 3000\"\n";
    desk.trusted_config(stage).unwrap();
    let (ran, turns) = run(&desk, "hello @@say bye@@", &How::default());
    let text = turns[0].told(DIGEST).unwrap_or_else(|| panic!("no digest\n{}", told(&desk, &ran))).text;
    let last = text.contains("line 03000 of the long stage");
    if case.agent == Agent::Pi {
        assert!(last, "all of it: {text}");
        return;
    }
    assert!(!last && text.contains("line 00001 of the long stage"), "{text}");
    assert!(text.contains(".dogwatch/state/digest/"), "it says where the whole text is: {text}");
    // dogwatch's own words at the end: the harness had nothing to cut.
    let begun = text.find(DIGEST).unwrap();
    let end = text.find("[left out: ").unwrap_or_else(|| panic!("cut by somebody else: {text}"));
    let end = end + text[end..].find(']').unwrap() + 1;
    assert!((5_000..=10_000).contains(&(end - begun)), "{} bytes", end - begun);
}

fn nudged(case: &Case) {
    let desk = case.desk();
    write_pointer(&desk);
    let (ran, turns) = run(&desk, &following(&desk), &How::default());
    let wanted = if case.agent == Agent::OpenCode { &turns[0] } else { turns.last().unwrap() };
    assert!(wanted.context().contains(NUDGE), "{}\n{}", wanted.context(), told(&desk, &ran));
    assert!(turns.iter().all(|turn| turn.context().matches(NUDGE).count() <= 1), "once");
    let result = turns.last().unwrap().tool_results().join("\n");
    assert!(result.contains(DIGEST) && result.contains(NEXT_ACTION), "{result}\n{}", told(&desk, &ran));
}

fn program_gone(case: &Case) {
    let desk = case.desk();
    std::fs::remove_file(desk.program()).unwrap();
    let (ran, turns) = run(&desk, "hello @@say bye@@", &How::default());
    assert!(ran.stdout.contains("bye"), "{}", told(&desk, &ran));
    let first = turns[0].context();
    assert!(!first.contains(DIGEST), "{first}");
    // Pi's extension is there all the same, and says what to do.
    assert_eq!(first.contains(NUDGE), case.agent == Agent::Pi, "{first}\n{}", told(&desk, &ran));
}

fn truncated(case: &Case) {
    let desk = case.desk();
    let slow = "[[digest.stage]]\nname = \"slow\"\ncommand = \"echo begun; sleep 100\"\ndeadline = 90\n";
    desk.trusted_config(slow).unwrap();
    let text = digest(case, &desk, &How::default().env("DOGWATCH_SESSION_START_TIMEOUT", "2"));
    assert!(text.contains("STARTUP TRUNCATED") && text.contains("slow"), "{text}");
    assert!(text.contains(DIGEST), "what was ready is there: {text}");
}

fn read_only(case: &Case) {
    let desk = case.desk();
    std::thread::scope(|scope| {
        // The first one takes the helm, and then waits for its model.
        let held = format!("{} @@hold first@@", following(&desk));
        let desk = &desk;
        let first = scope.spawn(move || run(desk, &held, &How::default()));
        let has_followed = |requests: &[Request]| requests.iter().any(|turn| !turn.tool_results().is_empty());
        desk.model.wait_for(Duration::from_secs(40), has_followed);
        let second = digest(case, desk, &How::default());
        desk.model.let_go("first");
        first.join().unwrap();
        assert!(second.contains("READ-ONLY"), "{second}");
    });
}
