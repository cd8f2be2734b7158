//! Why a run did not start. Nothing is left behind when it did not.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

/// Which step of starting the leader failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    Fork,
    Redirect,
    Chdir,
    Exec,
}

/// Why a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program is neither a file at that path nor to be found in `PATH`.
    #[error("cannot run {program}: no such program")]
    NotFound {
        /// The program as it was given.
        program: String,
    },
    /// There is such a file, but it may not be executed or is of no format that can be.
    #[error("cannot run {program}: {}", plain(source))]
    NotExecutable {
        /// The program as it was given.
        program: String,
        /// The reason of `execve(2)`.
        source: io::Error,
    },
    /// The working folder cannot be entered.
    #[error("cannot run {program}: cannot enter the working folder {}: {}", folder.display(), plain(source))]
    BadWorkingFolder {
        /// The program as it was given.
        program: String,
        /// The folder.
        folder: PathBuf,
        /// The reason of `chdir(2)`.
        source: io::Error,
    },
    /// Arguments and environment together, or one of them alone, are larger than the kernel takes.
    #[error("cannot run {program}: the argument list or the environment is too long")]
    ArgumentsTooLong {
        /// The program as it was given.
        program: String,
    },
    /// A NUL byte in the program, an argument, the environment or the working folder.
    #[error("cannot run {program}: {what} holds a NUL byte")]
    NulByte {
        /// The program as it was given.
        program: String,
        /// Where the byte is.
        what: &'static str,
    },
    /// The limit on processes is reached.
    #[error("cannot run {program}: out of processes (see `ulimit -u` and the cgroup's pids.max)")]
    OutOfProcesses {
        /// The program as it was given.
        program: String,
    },
    /// The deadline passed before the program was running.
    #[error("cannot run {program}: it had not started by its deadline")]
    Deadline {
        /// The program as it was given.
        program: String,
    },
    /// The supervisor did not start or went away.
    #[error("cannot run {program}: no supervisor: {}", plain(source))]
    Supervisor {
        /// The program as it was given.
        program: String,
        /// What went wrong.
        source: io::Error,
    },
    /// Anything else that the operating system refused: descriptors, memory, pipes.
    #[error("cannot run {program}: {}", plain(source))]
    System {
        /// The program as it was given.
        program: String,
        /// What went wrong.
        source: io::Error,
    },
}

impl StartError {
    /// The exit code that `timeout(1)` and the shell give for it: 127 not found, 126 not executable, else 125.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } | Self::ArgumentsTooLong { .. } => 126,
            _ => 125,
        }
    }

    pub(crate) fn from_step(program: String, folder: Option<PathBuf>, step: Step, errno: i32) -> Self {
        let source = io::Error::from_raw_os_error(errno);
        match (step, Errno::from_raw(errno)) {
            // exec answers EAGAIN when its caller changed its user before and that user is over the limit.
            (Step::Fork | Step::Exec, Errno::EAGAIN) => Self::OutOfProcesses { program },
            (Step::Chdir, _) => {
                Self::BadWorkingFolder { program, folder: folder.unwrap_or_default(), source }
            }
            (Step::Exec, Errno::ENOENT | Errno::ENOTDIR) => Self::NotFound { program },
            (Step::Exec, Errno::E2BIG) => Self::ArgumentsTooLong { program },
            (Step::Exec, _) => Self::NotExecutable { program, source },
            (Step::Fork | Step::Redirect, _) => Self::System { program, source },
        }
    }

    /// The supervisor itself could not be spawned.
    pub(crate) fn from_spawn(program: String, source: io::Error) -> Self {
        match source.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EAGAIN) => Self::OutOfProcesses { program },
            Some(Errno::E2BIG) => Self::ArgumentsTooLong { program },
            _ => Self::Supervisor { program, source },
        }
    }

    pub(crate) fn system(program: String) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::System { program, source: errno.into() }
    }
}

/// The reason in words alone, without the number that the standard library adds.
fn plain(source: &io::Error) -> String {
    match source.raw_os_error() {
        Some(number) => Errno::from_raw(number).desc().to_lowercase(),
        None => source.to_string(),
    }
}
