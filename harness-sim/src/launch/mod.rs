//! Starting hooks as a harness does: as children of a host process that bears the harness's name, below the engine, so
//! that nothing is left behind.
//!
//! Three processes stand between the simulator and a hook: the engine's supervisor (the subreaper, in which everything
//! ends up that a hook leaves behind), the *host*, and what the harness puts around a command, as `/bin/sh -c`. The
//! host is this very program, started again under the harness's `argv[0]`.

mod declared;
mod hook;
mod host;
mod node;
mod patience;
mod processes;
mod scratch;
mod session;
mod stage;
mod wire;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use declared::Declared;
pub(crate) use host::serve_if_host;
pub(crate) use node::{Ended, Node, Program, node};
pub(crate) use patience::{Wait, tell_of_waits};
pub(crate) use processes::Process;
pub(crate) use scratch::serve_if_keeper;
pub(crate) use session::{Host, Order, Session, Shared};
pub(crate) use stage::{Stage, Way, copy_folder};
pub(crate) use wire::Request;

pub use session::LaunchError;

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Exit {
    /// By itself.
    Code {
        /// The exit code.
        code: i32,
    },
    /// By a signal.
    Signal {
        /// Its number.
        signal: i32,
        /// Its name, as `SIGKILL`.
        name: String,
    },
    /// Never started.
    NotStarted {
        /// What the system said.
        why: String,
    },
}

/// How the hook's standard input is fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Feed {
    /// The payload, then the end.
    #[default]
    Whole,
    /// The payload and no end: the pipe stays open.
    NoEnd,
    /// Closed at once, without a byte.
    ClosedAtOnce,
}

/// How the hook's standard output is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Reader {
    /// As fast as it comes.
    #[default]
    Prompt,
    /// 4 KiB, and a pause of 20 ms.
    Slow,
    /// Closed after the first so many bytes.
    ClosesAfter(usize),
}

/// One hook's run.
#[derive(Debug, Clone, Serialize)]
pub struct HookRun {
    /// The command, as it was registered or given.
    pub command: String,
    /// How it ended. In JSON a number, or a text for what is none.
    #[serde(serialize_with = "exit_in_json")]
    pub exit: Exit,
    /// How long it took: until the harness went on.
    #[serde(rename = "ms", serialize_with = "crate::report::as_milliseconds")]
    pub elapsed: Duration,
    /// How long it might have taken.
    #[serde(rename = "deadline_ms", serialize_with = "crate::report::as_milliseconds")]
    pub deadline: Duration,
    /// Whether it did not come back by then.
    pub timed_out: bool,
    /// Bytes that it printed.
    pub stdout_bytes: u64,
    /// Bytes that it printed on stderr.
    pub stderr_bytes: u64,
    /// Bytes of the payload that it took.
    pub stdin_bytes: u64,
    /// Whether its stdout was at its end when the harness went on.
    pub stdout_eof: bool,
    /// Whether the signal that was asked for hit it in mid-print.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub signalled: bool,
    /// Who held stdout after the hook's own exit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
    /// What it printed, the first 16 MiB.
    #[serde(skip)]
    pub stdout: Vec<u8>,
    /// What it printed on stderr, the first 16 MiB.
    #[serde(skip)]
    pub stderr: Vec<u8>,
}

fn exit_in_json<S: serde::Serializer>(exit: &Exit, serializer: S) -> Result<S::Ok, S::Error> {
    match exit {
        Exit::Code { code } => serializer.serialize_i32(*code),
        Exit::Signal { name, .. } => serializer.serialize_str(name),
        Exit::NotStarted { why } => serializer.serialize_str(&format!("not started: {why}")),
    }
}

/// A process that holds a hook's stdout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its id.
    pub pid: i32,
    /// Its name.
    pub name: String,
}
