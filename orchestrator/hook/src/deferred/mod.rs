//! The deferred stage: checks that need the network, beside the session and never in front of it.
//!
//! What always holds:
//!
//! - *One run per home.* It is started under the lock of its record, and the record names its processes before the hook
//!   returns. A live run serves a start only if it does all that is asked; else it is ended first.
//! - *It ends by itself.* The worker ends every check at the deadline of the stage; its own supervisor ends the worker and
//!   everything below it some seconds later, should the worker hang. Nobody has to look.
//! - *The record is the worker's only while it names it.* A worker that was replaced, or whose home is gone, ends at its
//!   next word.
//! - *A result reaches the session once*: in the digest, if it is there in time, else as a wake. Only a result that asks
//!   for action becomes one.
//! - *A sweep runs under the helm*: it is asked for again just before, and nobody takes it over meanwhile.

mod check;
mod report;
mod start;
mod worker;

pub use report::{overview, stage_text, wake_text};
pub use start::{Request, Started, start};
pub use worker::work;
