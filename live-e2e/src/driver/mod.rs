//! What differs between the CLIs: their settings so that hooks fire and the model is ours, and their command lines.

mod claude;
mod codex;
mod cursor;
mod grok;
mod opencode;
mod pi;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::agent::Agent;

/// A key that nobody has.
pub(crate) const KEY: &str = "sk-ant-made-up-key-0000000000000000";

/// Where a CLI runs.
#[derive(Debug)]
pub(crate) struct Place {
    /// The person's home folder.
    pub(crate) home: PathBuf,
    /// The project, where the CLI is started.
    pub(crate) project: PathBuf,
    /// The model server.
    pub(crate) model_url: String,
}

/// Which session a CLI opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opens {
    /// A new one.
    #[default]
    New,
    /// The last one again.
    Continued,
    /// A copy of the last one.
    Forked,
}

/// How a CLI is set up and called.
pub(crate) trait Driver: Sync {
    /// Writes what it reads: model, trust, consent. The project and the home folder are there.
    fn prepare(&self, place: &Place) -> io::Result<()>;

    /// Its own variables, beside `HOME`, `PATH` and the like.
    fn environment(&self, place: &Place) -> Vec<(&'static str, String)>;

    /// The arguments of a run without a terminal that answers one prompt.
    fn headless(&self, place: &Place, opens: Opens, prompt: &str) -> io::Result<Vec<String>>;

    /// The name of the tool that runs a command, and its argument that holds the command.
    fn shell(&self) -> (&'static str, &'static str);

    /// The arguments of a session that is spoken to; where it is spoken to in lines of JSON it needs no terminal.
    fn interactive(&self, opens: Opens) -> Interactive;
}

/// How an interactive session is spoken to.
pub(crate) enum Interactive {
    Terminal(Vec<String>),
    Lines(Vec<String>),
}

pub(crate) fn of(agent: Agent) -> &'static dyn Driver {
    match agent {
        Agent::Claude => &claude::Claude,
        Agent::Codex => &codex::Codex,
        Agent::Pi => &pi::Pi,
        Agent::OpenCode => &opencode::OpenCode,
        Agent::Grok => &grok::Grok,
        Agent::Cursor => &cursor::Cursor,
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

fn strings<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
