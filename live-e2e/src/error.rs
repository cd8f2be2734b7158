//! Why a CLI could not be run at all. What it does once it runs is a test's to judge.

use std::io;

use dogwatch_engine::process::StartError;

/// Why a CLI could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Something around it was refused.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The engine did not start it.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The keeper told nothing, though nobody had stopped it.
    #[error("the keeper of the CLI did not tell how it ended: {0}")]
    NoReport(String),
    /// A program that was run beside it failed.
    #[error("{command} failed: {said}")]
    Failed {
        /// The command.
        command: String,
        /// What it said.
        said: String,
    },
}

impl LiveError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
