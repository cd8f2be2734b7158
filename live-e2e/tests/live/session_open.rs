//! The open of a session: what the model is told with its first request.

use live_e2e::{Agent, How};

use crate::Test;
use crate::case::{Case, run};

/// Those to whose first request the digest comes.
const RUN_TIER: &[Agent] = &[Agent::Claude, Agent::Codex, Agent::Pi];

pub(crate) const TESTS: &[Test] = &[
    ("cold_start_brings_the_digest_with_the_first_request", RUN_TIER, cold_start),
    ("x", &[Agent::OpenCode, Agent::Grok], x),
];

fn cold_start(case: &Case) {
    let desk = case.desk();
    let (ran, turns) = run(&desk, "hello @@say bye@@", &How::default());
    assert!(ran.stdout.contains("bye"), "{}", crate::case::told(&desk, &ran));
    let first = turns[0].context();
    assert!(first.contains("# dogwatch session digest: project ("), "{first}");
}

fn x(case: &Case) {
    let desk = case.desk();
    let (ran, turns) = run(&desk, "hello @@say bye@@", &How::default());
    println!("{} {:#?}", crate::case::told(&desk, &ran), turns[0].texts());
}
