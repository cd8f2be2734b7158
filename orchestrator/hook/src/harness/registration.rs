//! Where a harness reads its hooks, and what of ours has to stand there. The facts and the entries are each harness's own
//! (`registration.rs` in its folder); merging them into a file is `register/`.

use super::consent::{Asked, Consent};
use super::event::EventKind;

/// How hooks stand in a JSON file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …, "timeout": …}]}]}}`: groups of handlers.
    Nested,
    /// `{"version": 1, "hooks": {EVENT: [{"command": …, "timeout": …}]}}`: a flat list.
    Flat,
}

/// What a harness takes for JSON. What it refuses, an edit must not touch: nothing in that file works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// `//` and `/* */`.
    pub comments: bool,
    /// A comma behind the last element.
    pub trailing_commas: bool,
    /// A byte-order mark at the beginning.
    pub byte_order_mark: bool,
    /// The only keys that its root may have; `None` where any may stand there.
    pub root_keys: Option<&'static [&'static str]>,
    /// The only types of handlers, where one wrong handler, be it somebody else's, makes it refuse the whole file; `None`
    /// where it passes over the one that is wrong.
    pub handler_types: Option<&'static [&'static str]>,
}

/// One hook of ours as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The harness's own name of the event.
    pub event: &'static str,
    /// What the harness's shell runs.
    pub command: String,
    /// The bound that the harness is told, in seconds.
    pub timeout: u32,
}

/// A harness's registration: its files, and what of ours stands in them.
#[derive(Debug)]
pub struct Registration {
    /// Where a person's own files of this harness are.
    pub user: UserFolder,
    /// Our file, or the file that we share, below a person's folder.
    pub user_file: &'static str,
    /// The same below a project's root.
    pub project_file: &'static str,
    /// What stands there.
    pub form: Form,
    /// The file below a person's folder whose text the harness gives to the model in every session; `None` where there
    /// is none, or none is known.
    pub instructions: Option<&'static str>,
    /// A variable that names another folder for that file alone.
    pub instructions_variable: Option<&'static str>,
    /// What is left to a person after `install` in each scope: one sentence each.
    pub then: Then,
    /// Whether the harness runs what was registered, as far as its own files tell. Only looks.
    pub consent: fn(&Asked<'_>) -> Consent,
}

/// What a harness still wants of a person before it runs what was registered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Then {
    /// After an installation into the person's own files.
    pub user: &'static [&'static str],
    /// After one into a project's files.
    pub project: &'static [&'static str],
}

/// Where a harness keeps a person's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserFolder {
    /// Variables that move it, best first, and what is below the folder that they name.
    pub variables: &'static [(&'static str, &'static str)],
    /// Below the person's home folder where none of them is set.
    pub default: &'static str,
}

/// What stands in a registration's file.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// Hooks by event, in a file that others write, too.
    Hooks {
        /// How they stand there.
        shape: Shape,
        /// What the harness takes for JSON.
        dialect: Dialect,
        /// Ours.
        hooks: &'static [Hook],
        /// What a command must not hold, because the harness then runs another, or none.
        forbidden: &'static [&'static str],
    },
    /// A program of our own, which the harness loads.
    Shim {
        /// Its text, which calls `dogwatch`.
        program: &'static str,
    },
}

/// One hook of ours: the harness's name of the event, and what it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook {
    /// The harness's own name of the event.
    pub event: &'static str,
    /// What the event is to us.
    pub kind: EventKind,
    /// What follows on the command line: part of a string that never changes, because a person's word to Codex holds for
    /// that string.
    pub options: &'static [&'static str],
    /// The bound that the harness is told, in seconds: above ours.
    pub timeout: u32,
}
