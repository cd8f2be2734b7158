//! The real CLIs, each test for every agent that it fits. Asked for by `DOGWATCH_LIVE_E2E`; whoever was not asked for is
//! ignored and says why.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod case;
mod conversation;
mod cursor;
mod deferred;
mod facts;
mod first_words;
mod gate;
mod interactive;
mod pi;
mod session_open;
mod sources;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use live_e2e::{Agent, Asked, Network, Verdict, clis_folder};

use crate::case::Case;

/// A test: its name, whom it fits, what it does.
pub(crate) type Test = (&'static str, &'static [Agent], fn(&Case));

const TESTS: &[&[Test]] = &[
    session_open::TESTS,
    sources::TESTS,
    interactive::TESTS,
    deferred::TESTS,
    pi::TESTS,
    first_words::TESTS,
    facts::TESTS,
    cursor::TESTS,
];

fn main() -> ExitCode {
    live_e2e::init();
    let arguments = Arguments::from_args();
    let asked = Asked::from_environment();
    if asked != Asked::Nothing && !arguments.list {
        match live_e2e::enter_network() {
            Network::Loopback => println!("network: loopback alone"),
            Network::Open(why) => println!("network: this machine's, because a namespace was refused: {why}"),
        }
    }
    let asked = Arc::new(asked);
    let trials = TESTS.iter().copied().flatten().flat_map(|(name, agents, test)| {
        let trial = |agent: &Agent| trial(*agent, name, *test, Arc::clone(&asked));
        agents.iter().map(trial).collect::<Vec<_>>()
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn trial(agent: Agent, name: &str, test: fn(&Case), asked: Arc<Asked>) -> Trial {
    Trial::ignorable_test(format!("{agent}::{name}"), move || {
        match asked.verdict(agent, &clis_folder(Path::new(env!("CARGO_TARGET_TMPDIR")))) {
            Verdict::Ignored(why) => Ok(Completion::ignored_with(why)),
            Verdict::Failed(why) => Err(Failed::from(why)),
            Verdict::Run(installed) => {
                test(&Case { agent, installed });
                Ok(Completion::Completed)
            }
        }
    })
}
