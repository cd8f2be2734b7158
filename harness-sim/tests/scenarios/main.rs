//! Scenarios: what they say, what a harness does between their events, what is written down. With real hooks in sh.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

mod errors;
mod expectations;
mod files;
mod hosted;
mod output;
mod places;
mod sequences;
mod sessions;

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use harness_sim::{Harness, Report, Scenario, Simulator, Version};

/// A simulator whose process is the real program.
pub(crate) fn simulator() -> Simulator {
    Simulator::new(Harness::Claude, Version::Newest)
        .host_program(env!("CARGO_BIN_EXE_harness-sim"))
        .patience(Duration::from_secs(20))
}

/// What comes of a scenario in a folder that is left when it is over.
pub(crate) fn play_in(project: &Path, text: &str) -> Report {
    let scenario = Scenario::parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    simulator().project(project).run(&scenario).unwrap()
}

/// What comes of a scenario that makes its own folder, or needs none.
pub(crate) fn play(text: &str) -> Report {
    play_in(tempfile::tempdir().unwrap().path(), text)
}

/// What hooks wrote into a file, line by line.
pub(crate) fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The program.
pub(crate) fn program(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_harness-sim"));
    command.current_dir(folder).args(arguments).timeout(Duration::from_secs(300));
    command.output().unwrap()
}
