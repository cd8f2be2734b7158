//! The real coding-agent CLIs, offline.
//!
//! Drives Claude Code, Codex, Pi, OpenCode and Grok against a [model server](model) on loopback, with hooks firing, under
//! the engine's whole-tree kill. Opt-in by `DOGWATCH_LIVE_E2E`; the programs come from `scripts/install-clis`.
//!
//! A test sets a [`Desk`] up, runs the CLI there, and looks at what reached the model, at the files and at who is left.
//! The test binary has a `main` of its own, because it is also the engine's supervisor and the [keeper](init) of the CLI.

mod agent;
mod catalogue;
mod desk;
mod driver;
mod env;
mod error;
mod gate;
mod interactive;
mod keeper;
pub mod model;
mod network;
mod run;

pub use agent::Agent;
pub use catalogue::{Installed, Missing, installed, node, pinned};
pub use desk::{Desk, How};
pub use driver::Opens;
pub use error::LiveError;
pub use gate::{Asked, Verdict, clis_folder};
pub use interactive::Session;
pub use keeper::Survivor;
pub use network::{Network, enter as enter_network};
pub use run::{Exit, Ran};

/// Must be called first thing in `main`: in a process that was started as the engine's supervisor, or as the keeper of a
/// CLI, it does not return.
pub fn init() {
    dogwatch_engine::init();
    keeper::serve_if_keeper();
}
