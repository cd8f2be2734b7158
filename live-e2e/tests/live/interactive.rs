//! What only a person at the CLI brings about: a session that is cleared, one that is compacted.

use live_e2e::model::SUMMARY;
use live_e2e::{Agent, Opens};

use crate::Test;
use crate::case::{Case, DIGEST, NUDGE, NUDGE_TIER, RUN_TIER};
use crate::conversation::Conversation;
use crate::sources::opens;

pub(crate) const TESTS: &[Test] = &[
    ("a_session_that_is_cleared_gets_the_digest_again", RUN_TIER, cleared),
    ("a_session_that_is_compacted_gets_the_digest_again", RUN_TIER, compacted),
    ("a_session_that_is_taken_up_again_in_the_program_is_nudged_or_not_told", RESUMED, resumed),
    ("a_session_that_is_new_in_the_same_program_is_nudged", NUDGE_TIER, nudged_anew),
    ("a_session_that_is_compacted_is_nudged_or_not_told", NUDGE_TIER, nudged_after_compaction),
];

/// Those whose program takes a session up again by a line that is typed or an order, without a list to choose from.
const RESUMED: &[Agent] = &[Agent::Claude, Agent::Codex, Agent::Pi];

/// The session opens that a test expects: the source, and what dogwatch decides.
fn expected<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.map(|(source, decision)| (source.to_owned(), decision.to_owned())).to_vec()
}

fn cleared(case: &Case) {
    let desk = case.desk();
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    let first = talk.say("hello").remove(0).context();
    assert_eq!(first.matches(DIGEST).count(), 1, "{first}");
    talk.clear();
    let second = talk.say("hello again").remove(0).context();
    assert_eq!(second.matches(DIGEST).count(), 1, "{second}");
    assert!(!second.contains("prompt-1"), "the conversation is gone: {second}");
    assert!(!second.contains("READ-ONLY"), "it is still in charge: {second}\ntrace: {:?}", desk.trace());
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
    // In Codex a new session id is a new session, whose start is not proven.
    let again = if case.agent == Agent::Codex { "full" } else { "re-emit" };
    assert_eq!(opens(&desk), expected([("startup", "full"), ("clear", again)]));
}

fn compacted(case: &Case) {
    let desk = case.desk();
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    talk.say("hello");
    talk.say("more");
    talk.compact();
    let after = talk.say("hello again").remove(0).context();
    assert_eq!(after.matches(DIGEST).count(), 1, "{after}");
    assert!(after.contains(SUMMARY), "the conversation was summed up: {after}");
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
    assert_eq!(opens(&desk), expected([("startup", "full"), ("compact", "re-emit")]));
}

fn nudged_anew(case: &Case) {
    let desk = case.desk();
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    talk.say(&desk.shell("echo hello"));
    talk.clear();
    let turns = talk.say(&desk.shell("echo again"));
    let last = turns.last().unwrap().context();
    assert_eq!(last.matches(NUDGE).count(), 1, "{last}");
    assert!(!last.contains("prompt-1"), "the conversation is gone: {last}");
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
    let open = if case.agent == Agent::Grok { ("new", "nudge-later") } else { ("startup", "nudge") };
    assert_eq!(opens(&desk), expected([open, open]));
}

fn nudged_after_compaction(case: &Case) {
    let desk = case.desk();
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    talk.say(&desk.shell("echo hello"));
    talk.say("more");
    talk.compact();
    talk.say(&desk.shell("echo again"));
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
    let wanted = match case.agent {
        // No event of Grok's brings text then.
        Agent::Grok => vec![("new".to_owned(), "nudge-later".to_owned())],
        _ => expected([("startup", "nudge"), ("compact", "nudge")]),
    };
    assert_eq!(opens(&desk), wanted);
}

fn resumed(case: &Case) {
    let desk = case.desk();
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    let first = talk.say("hello").remove(0).context();
    assert_eq!(first.matches(DIGEST).count(), 1, "{first}");
    let before = desk.trace()[0]["session"].as_str().unwrap().to_owned();
    talk.clear();
    talk.say("another");
    talk.resume(&before);
    let again = talk.say("hello again").remove(0).context();
    assert!(again.contains("prompt-1") && !again.contains("prompt-2"), "the first one is back: {again}");
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
    assert_eq!(again.matches(DIGEST).count(), 1, "no second one: {again}");
    // Of Codex's sessions, which may share a process, each has to ask for the helm; elsewhere the process has it.
    let (anew, back, nudges) =
        if case.agent == Agent::Codex { ("full", "nudge", 1) } else { ("re-emit", "held", 0) };
    assert_eq!(again.matches(NUDGE).count(), nudges, "{again}");
    assert_eq!(opens(&desk), expected([("startup", "full"), ("clear", anew), ("resume", back)]));
}
