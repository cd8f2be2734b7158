//! Bounded process trees.
//!
//! Give the engine a command and its [`Bounds`](process::Bounds): it runs the command, streams its output, and comes
//! back by the deadline with nothing left behind and an [`Outcome`](process::Outcome) that says what happened. It
//! knows nothing of hooks, agents or homes.
//!
//! # What always holds
//!
//! Every bounded run is three processes. The **front** (the program that uses this library) reads the pipes. The
//! **supervisor** owns the deadline and everything below it: it is the subreaper, so whatever the run's processes
//! fork, daemonise or move into sessions of their own ends up as its child. The **leader** is the command itself,
//! leader of its own session and process group, without a controlling terminal. One socket between front and
//! supervisor is lifeline, command and status channel at once.
//!
//! | who dies | what happens |
//! |---|---|
//! | the leader | the supervisor looks at the pipes, ends what is left (unless [`Leftover::Keep`](process::Leftover)), reports |
//! | the front, by whatever signal | the lifeline is at its end: TERM, a quarter of a second, KILL for everything, then the supervisor ends |
//! | the front's whole process group | the same: the supervisor is in a session of its own |
//! | the supervisor | the kernel kills the leader; the front ends what it can reach, says so, and names what is left |
//! | front and supervisor in the same instant | the leader dies; nothing but a PID namespace would reach the rest |
//!
//! The supervisor is the calling program itself, started again: call [`init`] first thing in `main`. A program that
//! does not gets containment [`Group`](process::Containment), by a thread of its own, and the outcome says so.
//!
//! ```no_run
//! use std::time::Duration;
//! use dogwatch_engine::process::{Bounds, Command, Deadline, Engine};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     dogwatch_engine::init();
//!     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//!     runtime.block_on(async {
//!         let engine = Engine::new();
//!         let bounds = Bounds::new(Deadline::new(Duration::from_secs(5))?);
//!         let answer = engine.start(&Command::new("git").arg("--version"), &bounds).await?.capture().await;
//!         assert!(answer.outcome.success());
//!         Ok(())
//!     })
//! }
//! ```
//!
//! Linux 5.10 or later. What cannot be held against: a hostile process of the same user that kills supervisor and
//! front at once, a process of another user (it is named in [`Outcome::unkillable`](process::Outcome)), and one in
//! uninterruptible sleep (named, too).

#[cfg(not(target_os = "linux"))]
compile_error!("dogwatch-engine needs Linux: it rests on subreapers, pidfds and /proc");

#[allow(unsafe_code)]
pub mod process;

pub mod stages;

pub use process::supervisor::init;
