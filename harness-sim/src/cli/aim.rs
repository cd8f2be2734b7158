//! What `fire`, `matrix` and `torture` have in common on the command line: the place, the bounds, the command.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Problem, values};

/// What hooks are fired in, how long they may take, and which command it is.
#[derive(clap::Args)]
pub(super) struct Aim {
    /// The project whose hooks are fired [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(super) project: Option<PathBuf>,
    /// The home whose hooks are fired, too, and that hooks get as HOME [default: an empty one]
    #[arg(long, value_name = "DIR")]
    pub(super) home: Option<PathBuf>,
    /// How long a hook may take, in the place of the registered or the harness's own timeout (seconds, or with ms, s, m)
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(super) timeout: Option<Duration>,
    /// Identity files of processes that may outlive their hook, relative to the project (`*` and `?` within a name)
    #[arg(long, value_name = "GLOB")]
    pub(super) survivors: Vec<String>,
    /// How long the end waits for such processes before it ends them (seconds, or with ms, s, m); 0 waits for none
    /// [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = values::patience)]
    pub(super) patience: Option<Duration>,
    /// Print JSON: an array of firings
    #[arg(long)]
    pub(super) json: bool,
    /// A command to fire at, whatever is registered; {harness} and {event} in it are replaced, and a relative path of its
    /// program is one from the current folder
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Aim {
    /// The command, if one was given.
    ///
    /// # Errors
    /// Where its program is a relative path behind which there is no file.
    pub(super) fn command(&self) -> Result<Option<String>, Problem> {
        Ok(values::command(&self.command, Path::new("."))?)
    }
}
