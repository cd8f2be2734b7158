//! What only Pi has: a digest that is awaited by the first prompt while sessions replace one another, and instructions that
//! a compaction leaves as they once were.

use std::fs;

use live_e2e::model::Request;
use live_e2e::{Agent, Desk, How, Opens, Session};
use serde_json::json;

use crate::Test;
use crate::case::{Case, DIGEST, NUDGE};
use crate::conversation::{Conversation, expect};
use crate::gate::{BOUND, Gate, wait_until};
use crate::sources::opens;

const PI: &[Agent] = &[Agent::Pi];

fn race_at_once(case: &Case) {
    race(case, Asks::AtOnce);
}

fn race_later(case: &Case) {
    race(case, Asks::Later);
}

pub(crate) const TESTS: &[Test] = &[
    ("of_two_quick_new_sessions_an_immediate_prompt_gets_one_digest_and_waits_for_it", PI, race_at_once),
    ("of_two_quick_new_sessions_a_later_prompt_gets_one_digest", PI, race_later),
    ("instructions_that_changed_after_the_start_are_shown_after_a_compaction", PI, drift),
];

/// When the first prompt comes.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    /// While the digest is being made.
    AtOnce,
    /// After it.
    Later,
}

fn turns(requests: &[Request]) -> Vec<Request> {
    requests.iter().filter(|request| request.offers_tools()).cloned().collect()
}

fn order(session: &mut Session<'_>, order: &serde_json::Value) {
    session.screen.send_line(&order.to_string()).unwrap();
}

fn answered(session: &mut Session<'_>, command: &str) {
    let answer = format!("\"type\":\"response\",\"command\":\"{command}\",\"success\":(true|false)[^\n]*\n");
    let found = expect(session, &answer);
    assert!(found.contains("\"success\":true"), "{found}");
}

/// The word that the digest is given at its end is not known before: a request that has it was made after that.
fn race(case: &Case, asks: Asks) {
    let desk = case.desk();
    let gate = Gate::new(&desk, "slow");
    let stage = format!(
        "[[digest.stage]]\nname = \"slow\"\ncommand = \"{}; echo the word is $word\"\ndeadline = 90\n",
        gate.shell()
    );
    desk.trusted_config(&stage).unwrap();
    let mut session = desk.speak(&How::default()).unwrap();
    assert!(wait_until(|| gate.waits() == 1), "the first session's digest was not begun");
    order(&mut session, &json!({"type": "new_session"}));
    order(&mut session, &json!({"type": "new_session"}));
    answered(&mut session, "new_session");
    answered(&mut session, "new_session");
    let prompt = json!({"type": "prompt", "message": "hello @@say answer-1@@"});
    if asks == Asks::AtOnce {
        order(&mut session, &prompt);
        // What comes after it has been dealt with, so it has, too.
        order(&mut session, &json!({"type": "get_state"}));
        answered(&mut session, "get_state");
        let early = turns(&desk.model.requests());
        assert!(early.is_empty(), "the digest is not there yet: {}\n{:?}", early[0].body, desk.trace());
    }
    gate.open("marmalade");
    if asks == Asks::Later {
        let is_complete = || {
            opens(&desk)
                .iter()
                .any(|(source, decision)| (source.as_str(), decision.as_str()) == ("clear", "full"))
        };
        assert!(wait_until(is_complete), "{:?}", desk.trace());
        order(&mut session, &prompt);
    }
    expect(&mut session, "\"type\":\"agent_settled\"");
    order(&mut session, &json!({"type": "prompt", "message": "more @@say answer-2@@"}));
    expect(&mut session, "\"type\":\"agent_settled\"");
    let came = turns(&desk.model.wait_for(BOUND, |requests| turns(requests).len() >= 2));
    assert_eq!(came.len(), 2, "one for each prompt");
    for turn in &came {
        let context = turn.context();
        assert_eq!(context.matches(DIGEST).count(), 1, "{context}\n{:?}", desk.trace());
        assert_eq!(context.matches("the word is marmalade").count(), 1, "{context}");
        assert!(
            !context.contains("STARTUP TRUNCATED") && !context.contains(NUDGE),
            "no manual run: {context}"
        );
    }
    let ran = session.close().unwrap();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
    // Who was replaced was ended, or never begun; nobody was asked to run it by hand.
    let opens = opens(&desk);
    assert_eq!(opens.last().unwrap().1, "full", "{opens:?}");
    assert!(gate.waits() <= 3, "{} digests were begun", gate.waits());
}

fn drift(case: &Case) {
    let desk: Desk = case.desk();
    let file = desk.project().join("AGENTS.md");
    fs::write(&file, "Sing in the morning.\n").unwrap();
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    let first = talk.say("hello").remove(0);
    assert!(first.context().contains("Sing in the morning."), "{}", first.context());
    talk.say("more");
    fs::write(&file, "Whistle in the evening.\n").unwrap();
    let before = talk.say("still as it was").remove(0).context();
    assert!(!before.contains("Whistle"), "{before}");
    talk.compact();
    let after = talk.say("hello again").remove(0);
    let digest = after.told(DIGEST).unwrap().text;
    assert!(
        digest.contains("AGENTS.md has changed") && digest.contains("Whistle in the evening."),
        "{digest}"
    );
    // The CLI itself goes on with what it has read at its start.
    assert!(after.context().contains("Sing in the morning."), "{}", after.context());
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
}
