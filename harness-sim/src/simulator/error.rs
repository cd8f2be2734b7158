//! Why an event could not be fired.

use std::path::PathBuf;

use thiserror::Error;

use crate::launch::LaunchError;
use crate::recording::Unknown;

/// Why an event could not be fired. What a *hook* does wrong is no error: it stands in the report.
#[derive(Debug, Error)]
pub enum FireError {
    /// There is no such recording.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The folder is not there.
    #[error("{what} {} is not a folder", folder.display())]
    NoFolder {
        /// `project` or `home`.
        what: &'static str,
        /// What was given.
        folder: PathBuf,
    },
    /// Hooks cannot be started at all.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A scenario lacks something.
    #[error(transparent)]
    Scenario(#[from] crate::scenario::ScenarioError),
    /// The project or the home of a scenario could not be made.
    #[error("failed to make the scenario's project and home: {0}")]
    Place(std::io::Error),
    /// A file could not be written.
    #[error("failed to prepare the transcript: {0}")]
    Transcript(std::io::Error),
}
