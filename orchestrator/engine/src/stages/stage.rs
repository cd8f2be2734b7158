//! One stage: what it is called, how long it may take, how its text is made.

use std::time::Duration;

use crate::process::{Captured, Command, Deadline, Outcome, StartError};

/// What a stage's command came to.
#[derive(Debug, Clone, Copy)]
pub enum Ran<'a> {
    /// It ended, or was stopped by the end of the whole and had printed so much until then.
    Ended(&'a Captured),
    /// It overran the stage's bound and was stopped.
    OverBound(&'a Captured),
    /// It did not start.
    NotStarted(&'a StartError),
}

/// Makes a stage's text of what its command came to. `None` for [`Ran::Ended`]: it has nothing to say; for the others:
/// the usual line says what happened.
pub type Render = Box<dyn FnOnce(Ran<'_>) -> Option<String>>;

/// How a stage's text is made.
pub enum Work {
    /// By a function, on a thread of its own: a file system that hangs holds up that thread and nobody else.
    /// `None`: it has nothing to say. A panic is a failed stage.
    Function(Box<dyn FnOnce() -> Option<String> + Send>),
    /// By a function at the stage's turn, when everything before it has been said: for what may have changed meanwhile. It
    /// looks and does not wait: past a second it has nothing to say.
    AtTurn(Box<dyn FnOnce() -> Option<String> + Send>),
    /// By a command. What it came to goes through `render`, a non-zero exit included.
    Command {
        /// The command.
        command: Command,
        /// What becomes of its output.
        render: Render,
    },
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Function(_) => f.write_str("Function"),
            Self::AtTurn(_) => f.write_str("AtTurn"),
            Self::Command { command, .. } => f.debug_tuple("Command").field(command).finish(),
        }
    }
}

/// A part of the text.
#[derive(Debug)]
pub struct Stage {
    /// Its name, for the reader and for the banner.
    pub name: String,
    /// How long it may take. Past that it is stopped and replaced by one line.
    pub bound: Deadline,
    /// How its text is made.
    pub work: Work,
}

/// How a stage ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageEnd {
    /// It is done.
    Done,
    /// It overran its own bound.
    OverBound,
    /// It could not be run, or panicked, or its supervisor was lost: why.
    Failed(String),
    /// The whole came to its end first: its deadline passed or it was interrupted.
    Unfinished,
    /// The whole came to its end before this stage's turn to start.
    NeverStarted,
}

/// What became of a stage.
#[derive(Debug)]
pub struct StageReport {
    /// The stage's name.
    pub name: String,
    /// How it ended.
    pub end: StageEnd,
    /// Its text; empty if it has nothing to say. Of an unfinished stage what it had; of one over its bound, or failed,
    /// one line that says so.
    pub text: String,
    /// Bytes of its text that fell to the cap of the whole.
    pub missing_bytes: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// What became of its command, if it has one that ran.
    pub outcome: Option<Outcome>,
    /// What its text will be made by.
    pub(crate) at_turn: Option<AtTurn>,
}

/// A function that makes a text at a stage's turn.
pub(crate) struct AtTurn(pub(crate) Box<dyn FnOnce() -> Option<String> + Send>);

impl std::fmt::Debug for AtTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtTurn")
    }
}

impl AtTurn {
    /// How long it may look. A file system that hangs holds up its thread and, for so long, the stages behind it.
    const BOUND: Duration = Duration::from_secs(1);

    pub(crate) fn text(self) -> Option<String> {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::Builder::new()
            .name("stage at its turn".to_owned())
            .spawn(move || {
                let text = std::panic::catch_unwind(std::panic::AssertUnwindSafe(self.0));
                // The receiver may have given up.
                let _ = sender.send(text.ok().flatten());
            })
            .ok()?;
        receiver.recv_timeout(Self::BOUND).ok().flatten()
    }
}

impl StageReport {
    pub(crate) fn new(name: String, end: StageEnd, elapsed: Duration) -> Self {
        Self { name, end, text: String::new(), missing_bytes: 0, elapsed, outcome: None, at_turn: None }
    }
}
