//! What became of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

use super::bounds::Containment;

/// How a run came to its end. The first cause counts: a run that was being stopped for one reason is not recorded
/// under a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The leader exited by itself.
    Exited,
    /// The leader died of a signal that we did not send.
    Signaled,
    /// The deadline passed.
    Deadline,
    /// The caller asked for the end ([`Stopper`](crate::process::Stopper)).
    Interrupted,
    /// The supervisor was killed; the front ended what it could reach.
    SupervisorLost,
}

/// A process that outlived the kill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// Its process id.
    pub pid: i32,
    /// Its name (`/proc/<pid>/comm`), possibly empty.
    pub name: String,
    /// Why it was not killed.
    pub why: String,
}

/// What became of a run. Serialised it is the report of `dogwatch run --report`.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The version of this report's form: 1.
    pub version: u32,
    /// How the run came to its end.
    pub end: End,
    /// The leader's exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that the leader died of, ours included.
    pub signal: Option<i32>,
    /// The signal that interrupted the run, if one did.
    pub interrupted_by: Option<i32>,
    /// From the leader's start to the end of the last process that was waited for. In milliseconds when serialised.
    #[serde(rename = "elapsed_ms", serialize_with = "milliseconds")]
    pub elapsed: Duration,
    /// Bytes that came out of stdout, handed on or not.
    pub stdout_bytes: u64,
    /// Bytes that came out of stderr, handed on or not.
    pub stderr_bytes: u64,
    /// Whether some of them were dropped because of the cap.
    pub truncated: bool,
    /// Whether another process still held stdout or stderr when the leader ended.
    pub pipe_held: bool,
    /// How many processes were still there after the leader's end and died of our KILL.
    pub killed_after_exit: u64,
    /// What could not be killed.
    pub unkillable: Vec<Survivor>,
    /// How far the kill reached.
    pub containment: Containment,
}

impl Outcome {
    /// Whether the leader exited by itself with code 0.
    pub fn success(&self) -> bool {
        self.end == End::Exited && self.exit_code == Some(0)
    }
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
