//! What only a person at the CLI brings about: a session that is cleared, one that is compacted.

use live_e2e::{Agent, Opens};

use crate::Test;
use crate::case::{Case, DIGEST, NUDGE, NUDGE_TIER};
use crate::conversation::Conversation;
use crate::sources::opens;

const SPOKEN_TO: &[Agent] = &[Agent::Claude, Agent::Codex, Agent::Pi];

pub(crate) const TESTS: &[Test] = &[
    ("a_session_that_is_cleared_gets_the_digest_again", SPOKEN_TO, cleared),
    ("a_session_that_is_compacted_gets_the_digest_again", SPOKEN_TO, compacted),
    ("a_new_session_in_the_same_program_is_nudged", NUDGE_TIER, nudged_anew),
    ("a_session_that_is_compacted_is_nudged_or_not_told", NUDGE_TIER, nudged_after_compaction),
];

fn nudged_anew(case: &Case) {
    let desk = case.desk();
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    talk.say(&desk.shell("echo hello"));
    talk.clear();
    talk.say(&desk.shell("echo again"));
    let last =
        desk.model.turns().into_iter().rfind(|turn| !turn.tool_results().is_empty()).unwrap().context();
    println!("FACT {} new: {:?}", case.agent, opens(&desk));
    assert_eq!(last.matches(NUDGE).count(), 1, "{last}");
    assert!(!last.contains("prompt-1"), "the conversation is gone: {last}");
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
}

fn nudged_after_compaction(case: &Case) {
    let desk = case.desk();
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    talk.say(&desk.shell("echo hello"));
    talk.say("more");
    talk.compact();
    talk.say(&desk.shell("echo again"));
    let last =
        desk.model.turns().into_iter().rfind(|turn| !turn.tool_results().is_empty()).unwrap().context();
    println!("FACT {} compacted: {:?} {}", case.agent, opens(&desk), last.matches(NUDGE).count());
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
}

fn cleared(case: &Case) {
    let desk = case.desk();
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    let first = talk.say("hello");
    assert_eq!(first.context().matches(DIGEST).count(), 1, "{}", first.context());
    talk.clear();
    let second = talk.say("hello again");
    assert_eq!(second.context().matches(DIGEST).count(), 1, "{}", second.context());
    assert!(!second.context().contains("prompt-1"), "the conversation is gone: {}", second.context());
    let ran = talk.leave();
    println!("FACT {} cleared: {:?} {:?}", case.agent, opens(&desk), ran.exit);
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
}

fn compacted(case: &Case) {
    let desk = case.desk();
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    talk.say("hello");
    talk.say("more");
    talk.compact();
    let after = talk.say("hello again");
    println!("FACT {} compacted: {:?}", case.agent, opens(&desk));
    assert_eq!(after.context().matches(DIGEST).count(), 1, "{}", after.context());
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
}
