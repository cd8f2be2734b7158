//! The sources of a session open that can be reached without a terminal: what the CLI said, what dogwatch made of it, and
//! what the model was told.

use live_e2e::{Agent, How, Opens};

use crate::Test;
use crate::case::{ALL, Case, DIGEST, NUDGE, RUN_TIER, following, run, told};

pub(crate) const TESTS: &[Test] = &[
    ("a_session_that_is_continued_is_nudged_or_not_told", ALL, |case| comes_back(case, Opens::Continued)),
    ("a_session_that_is_forked_is_nudged", ALL, |case| comes_back(case, Opens::Forked)),
];

/// The source of each session open, and what dogwatch decided.
pub(crate) fn opens(desk: &live_e2e::Desk) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    let opens = desk.trace().into_iter().filter(|line| line["moment"] == "session-open");
    opens.map(|line| (text(&line["source"]), text(&line["decision"]))).collect()
}

fn comes_back(case: &Case, how: Opens) {
    let desk = case.desk();
    // What the harness brings by itself, or by what the model does when it is asked.
    let start =
        if RUN_TIER.contains(&case.agent) { "hello @@say bye@@".to_owned() } else { following(&desk) };
    let (_, turns) = run(&desk, &start, &How::default());
    let before = turns.last().unwrap().context();
    let opens_before = opens(&desk).len();
    let prompt = format!("again {} @@say bye@@", desk.shell("echo hello"));
    let (ran, turns) = run(&desk, &prompt, &How::opening(how));
    let (first, last) = (turns[0].context(), turns.last().unwrap().context());
    assert!(first.contains("hello"), "the session came back: {first}");
    let opens = &opens(&desk)[opens_before..];
    let count = |text: &str, what: &str| text.matches(what).count();
    assert_eq!(count(&last, DIGEST), count(&before, DIGEST), "no second one\n{last}\n{}", told(&desk, &ran));
    let nudges = |text: &str| count(text, NUDGE) - count(&before, NUDGE);
    let (at_once, in_the_end) = match (case.agent, how) {
        // It tells of nothing.
        (Agent::OpenCode, Opens::Continued) => (0, 0),
        (Agent::Grok, _) => (0, 1),
        _ => (1, 1),
    };
    let found = (nudges(&first), nudges(&last));
    assert_eq!(found, (at_once, in_the_end), "{opens:?}\n{last}\n{}", told(&desk, &ran));
    let source = match (case.agent, how) {
        (Agent::Claude | Agent::Codex | Agent::Pi, Opens::Continued) => "resume",
        (Agent::Claude | Agent::Codex | Agent::Pi, _) => "fork",
        (Agent::Grok, _) => "load",
        _ => "startup",
    };
    let sources: Vec<&str> = opens.iter().map(|(source, _)| source.as_str()).collect();
    assert_eq!(sources, vec![source; in_the_end], "{}", told(&desk, &ran));
}
