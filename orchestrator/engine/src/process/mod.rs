//! One bounded run: spawn, group, subtree, lifeline, output, identity.

mod bounds;
mod command;
mod detached;
mod engine;
mod error;
mod front;
mod identity;
mod interrupts;
mod keeper;
mod lost;
mod outcome;
mod output;
mod procfs;
mod sink;
mod spawn;
pub(crate) mod supervisor;
mod sweep;
mod sys;
mod wire;

pub use bounds::{BoundError, Bounds, Cap, Containment, Deadline, Grace, Leftover};
pub use command::{Command, Stdin};
pub use detached::{Detached, DetachedRun};
pub use engine::{Engine, Session};
pub use error::StartError;
pub use front::{Captured, Chunk, Run, Stopper};
pub use identity::Identity;
pub use interrupts::{Interrupt, Interrupts};
pub use outcome::{End, Outcome, Survivor};
pub use output::Channel;
pub use sink::{Sink, write_stderr};
