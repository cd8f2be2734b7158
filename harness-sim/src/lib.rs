//! A harness without its CLI.
//!
//! You write hooks for a coding agent, in any language, and want to know what Claude Code, Codex, Cursor or Grok will do
//! with them: what the model would have seen, what would have been blocked, what leaked. `harness-sim` reads the hooks
//! that a project has registered, as the named harness at the named version does, fires recorded payloads at them,
//! starts, bounds and kills them as that harness does, reads their answer by its rules, and reports. No CLI, no key, no
//! network.
//!
//! ```no_run
//! use harness_sim::{Harness, Kind, Simulator, Version};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // The harness's process is this very program, started again: first thing in `main`.
//!     harness_sim::init();
//!
//!     let mut claude = Simulator::new(Harness::Claude, Version::Newest).project("my-project");
//!     let open = claude.fire("SessionStart-startup-headless")?;
//!     open.assert_context("the rules of this repository").assert_clean();
//!
//!     // A command instead of what is registered.
//!     let mut codex = Simulator::new(Harness::Codex, Version::Newest).command(
//!         r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}'"#,
//!     );
//!     let call = codex.fire("PreToolUse-Bash-bypassPermissions-headless")?;
//!     // Codex does not know `ask`: the hook has failed, and the tool ran.
//!     assert!(call.has(Kind::Failed) && call.has(Kind::Ran));
//!     Ok(())
//! }
//! ```
//!
//! A program that has no `main` of its own, as a test under `cargo test`, needs an installed `harness-sim` instead: on
//! the search path, named by `HARNESS_SIM`, or by [`Simulator::host_program`].
//!
//! # Scenarios
//!
//! A hook is right or wrong over a session. A [`Scenario`] is a TOML file with a project in it, the events of a session,
//! and what is expected of each; [`Simulator::run`] plays it with all that the harness does between events: a stop that
//! was refused comes again, a compaction opens the session again.
//!
//! # What is played, and what is not known
//!
//! [`Harness::rules`] has every rule with the version and the day it was seen; what is `not known` says so. Cursor was
//! never run here: its payloads are written from documentation, and every report of it says so. Pi and OpenCode have no
//! command hooks: the extensions and plugins that they would load run in a Node host, which needs `node` on the search path.
//! Without it a [`Firing`] says that it was [not run](Firing::not_run), and that is never a pass.
//!
//! # Processes
//!
//! Hooks are children of a process that lives as long as the [`Simulator`] and bears the harness's `argv[0]`, so that a
//! hook that looks for its harness finds one. What a hook leaves behind is reported as a
//! [`Survivor`] and ended with the session. A process that is meant to outlive its hook is *declared*: an identity file
//! names it (`{"pid": …, "start_time": …, "boot_id": …}`, anywhere in a JSON file of the folder that
//! `HARNESS_SIM_SURVIVORS` names, or of [`Simulator::survivors`]). It is no leak, and the session waits for it.

pub mod cli;
mod env;
mod harness;
mod launch;
pub mod matrix;
mod placeholder;
pub mod record;
mod recording;
mod report;
mod scenario;
mod sequence;
mod simulator;
pub mod torture;

use std::sync::atomic::{AtomicBool, Ordering};

pub use harness::{Harness, Rule, Surface, UnknownHarness};
pub use launch::{Exit, Feed, Holder, HookRun, LaunchError, Reader};
pub use recording::{How, Provenance, Recording, Unknown, all as recordings, find, newest, versions};
pub use report::{
    Delivered, Effect, Firing, Kind, Report, StepReport, Survivor, Unmet, junit, prove, write_firing,
    write_report,
};
pub use scenario::{Problem, Scenario, ScenarioError};
pub use sequence::{Ends, Played};
pub use simulator::{FireError, Options, Simulator, Version};

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Makes this program able to play a harness's process: call it first thing in `main`, before any thread is started.
///
/// In an ordinary start it returns at once. In a process that the simulator started as a host or to clear up after it, or
/// that the engine started as a supervisor, it does that work and never returns.
pub fn init() {
    dogwatch_engine::init();
    launch::serve_if_keeper();
    launch::serve_if_host();
    INITIALISED.store(true, Ordering::Relaxed);
}

pub(crate) fn is_initialised() -> bool {
    INITIALISED.load(Ordering::Relaxed)
}
