//! Hooks as processes: how they are started, bounded, read and ended, with real hooks in sh. The harness's own account of
//! an answer has its tests beside it, in `src/harness/`.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

mod discovery;
mod ending;
mod input_and_output;
mod place;
mod survivors;

use std::path::Path;
use std::time::Duration;

use harness_sim::{Firing, Harness, Simulator, Version};

pub(crate) const CLAUDE_OPEN: &str = "SessionStart-startup-headless";
pub(crate) const CODEX_OPEN: &str = "SessionStart-startup-bypassPermissions-headless";

/// A harness whose process is the real program, with a command instead of registrations.
pub(crate) fn simulator(harness: Harness, project: &Path) -> Simulator {
    Simulator::new(harness, Version::Newest)
        .host_program(env!("CARGO_BIN_EXE_harness-sim"))
        .project(project)
        .patience(Duration::from_secs(20))
}

/// One firing at one command.
pub(crate) fn fire(harness: Harness, event: &str, command: &str) -> Firing {
    let project = tempfile::tempdir().unwrap();
    simulator(harness, project.path()).command(command).fire(event).unwrap()
}

/// Whether a process runs, a zombie not counted.
pub(crate) fn runs(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat[stat.rfind(')').unwrap()..].starts_with(") Z"))
}
