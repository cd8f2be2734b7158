//! `[network]`: what the deferred stage checks, and how often.

use std::fmt;

use super::{Program, Seconds};

/// `[network]`: the deferred stage. Nothing is checked that is not chosen here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// `deadline`: the bound of the whole stage. The environment may set another.
    pub deadline: Seconds,
    /// `built_in`: the checks of dogwatch's own that this project wants, each once.
    pub built_in: Vec<BuiltInCheck>,
    /// `[[network.check]]`: checks of the project. Names are unique and none is a built-in check's.
    pub checks: Vec<Check>,
}

impl Network {
    /// The bound of the stage where nothing else is said.
    pub const DEADLINE: Seconds = Seconds::fixed(120);
}

impl Default for Network {
    fn default() -> Self {
        Network { deadline: Self::DEADLINE, built_in: Vec::new(), checks: Vec::new() }
    }
}

/// A check that dogwatch brings along; it runs where the config chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BuiltInCheck {
    /// Whether git reaches the remote and is let in.
    Remote,
    /// Whether GitHub's `gh` is signed in.
    GhAuth,
}

impl BuiltInCheck {
    /// All of them, in the order in which they are told.
    pub const ALL: [BuiltInCheck; 2] = [BuiltInCheck::Remote, BuiltInCheck::GhAuth];

    /// The check's id, as the config and the report write it.
    pub const fn id(self) -> &'static str {
        match self {
            BuiltInCheck::Remote => "remote",
            BuiltInCheck::GhAuth => "gh-auth",
        }
    }

    /// The check of that id.
    pub fn from_id(id: &str) -> Option<BuiltInCheck> {
        Self::ALL.into_iter().find(|check| check.id() == id)
    }
}

impl fmt::Display for BuiltInCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// One `[[network.check]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name: ASCII letters, digits, `.`, `_`, `-`.
    pub name: String,
    /// What it runs. It exits with 0 where nothing is to do, with 1 where what it printed asks for action, and with
    /// anything else where the check itself failed.
    pub program: Program,
    /// Whether it changes something, so that only the session in charge of the home may run it.
    pub sweep: bool,
    /// How long a result of it is fresh enough.
    pub min_interval: Seconds,
}

impl Check {
    /// How long a result is fresh where nothing else is said: a quarter of an hour.
    pub const MIN_INTERVAL: Seconds = Seconds::fixed(900);
}
