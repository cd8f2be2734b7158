//! One call of the hook: what the registration says, and where the answer goes.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::harness::{EventKind, Harness};

/// The words of a registration: `dogwatch hook <harness> [<event>] [options]`.
#[derive(Debug, Clone)]
pub struct Call {
    /// The harness.
    pub harness: &'static Harness,
    /// The name by which it was called: its id or an alias.
    pub name: &'static str,
    /// The event that the registration is for.
    pub event: Option<EventKind>,
    /// `--root`: where the project is looked for.
    pub root: Option<PathBuf>,
    /// `--source`: why the session opens, where the adapter knows better than the payload.
    pub source: Option<String>,
    /// `--limit`: the timeout that the harness was told.
    pub limit: Option<Duration>,
    /// When the hook was started; what it has taken since counts against the limit.
    pub begun: Instant,
    /// `--prerequisite`: a deliberate stand-down is exit code 3.
    pub prerequisite: bool,
}

/// Where an answer goes. Nothing that is written here may block for long.
pub trait Out {
    /// Writes bytes of the answer; `false` once they cannot be delivered.
    fn write(&mut self, bytes: &[u8]) -> bool;

    /// One line for a person, never a part of the answer.
    fn note(&mut self, message: &str);

    /// How many bytes of the answer have been written.
    fn written(&self) -> u64;
}
