//! `config.toml`: its keys, its defaults, its errors.
//!
//! Reading it never fails: where anything is wrong the defaults stand, and every problem is listed with its place.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::home::read::{self, ReadError};
use crate::home::scope::ScopeRules;
use crate::home::trust::{TrustState, Trusted};

mod built_in;
mod network;
mod problem;
mod reader;
mod schema;
mod seconds;

pub use built_in::BuiltIn;
pub use network::{BuiltInCheck, Check, Network};
pub use problem::{Position, Problem};
pub use seconds::Seconds;

pub(crate) use problem::printable;

/// The name of the file in a home.
pub const FILE_NAME: &str = "config.toml";
/// The most bytes a config may have.
const LIMIT_BYTES: u64 = 1024 * 1024;

/// Everything that a config can set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// `[digest]`.
    pub digest: Digest,
    /// `[network]`.
    pub network: Network,
    /// `[scope]`.
    pub scope: ScopeRules,
    /// `[operational]`.
    pub operational: Operational,
}

/// `[operational]`: how messages to a session are worded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operational {
    /// `label`: what they begin with.
    pub label: String,
    /// `rerun`: the command that a session is asked to run for its digest. Without it, dogwatch's own.
    pub rerun: Option<String>,
}

impl Default for Operational {
    fn default() -> Self {
        Operational { label: crate::text::operational::LABEL.to_owned(), rerun: None }
    }
}

/// `[digest]`: the digest of a session open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// `deadline`: the bound of the whole digest. The environment may set another.
    pub deadline: Seconds,
    /// `drop`: built-in stages that this project does without.
    pub drop: Vec<BuiltIn>,
    /// `command`, `stages`: one program of the project in place of the stages.
    pub external: Option<External>,
    /// `[[digest.stage]]`: stages of the project beside the built-in ones. Names are unique.
    pub stages: Vec<Stage>,
}

impl Digest {
    /// The bound of a digest where nothing else is said.
    pub const DEADLINE: Seconds = Seconds::fixed(120);
}

impl Default for Digest {
    fn default() -> Self {
        Digest { deadline: Self::DEADLINE, drop: Vec::new(), external: None, stages: Vec::new() }
    }
}

/// A project's own digest, run as one bounded child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// The ids of the stages that it is going to announce.
    pub stages: Vec<String>,
}

/// One `[[digest.stage]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Its name: ASCII letters, digits, `.`, `_`, `-`.
    pub name: String,
    /// What it runs.
    pub program: Program,
    /// Its own bound.
    pub deadline: Seconds,
    /// On which kind of session open it runs.
    pub on: On,
}

impl Stage {
    /// The bound of a stage where nothing else is said.
    pub const DEADLINE: Seconds = Seconds::fixed(5);
}

/// What a stage or a check runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A program and its arguments; never empty.
    Argv(Vec<String>),
    /// A line for `/bin/sh -c`.
    Shell(String),
}

impl Program {
    /// The program and its arguments as they are started; never empty.
    pub fn argv(&self) -> Vec<String> {
        match self {
            Program::Argv(argv) => argv.clone(),
            Program::Shell(line) => vec!["/bin/sh".to_owned(), "-c".to_owned(), line.clone()],
        }
    }
}

/// On which kind of session open a stage runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum On {
    /// On a full digest.
    #[default]
    Full,
    /// On a re-emit.
    Reemit,
    /// On both.
    Both,
}

/// What reading a home's config gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What it sets: the defaults if it is missing, or if there is any problem.
    pub config: Config,
    /// The SHA-256 of the file's bytes, the ones that were read here; what trust is given to. `None` if it could not
    /// be read.
    pub sha256: Option<[u8; 32]>,
    /// Everything that is wrong with it, in the order of the file as far as that is known.
    pub problems: Vec<Problem>,
}

/// A project's config, and what of it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// What reading it gave.
    pub loaded: Loaded,
    /// What a person has said about it; `None` where there is no such file.
    pub trust: Option<TrustState>,
    /// What counts: what it sets if a person has trusted it as it stands, else the defaults.
    pub config: Config,
}

/// The config of a project and what of it counts. `own_folder` is where trust is kept; without one nothing is trusted.
pub fn of_project(root: &Path, home: &Path, own_folder: Option<&Path>) -> Counted {
    let loaded = load(home);
    let trust = loaded.sha256.as_ref().map(|sha256| {
        own_folder.map_or(TrustState::Untrusted, |folder| Trusted::new(folder).state_of(root, sha256))
    });
    let config = if trust == Some(TrustState::Trusted) { loaded.config.clone() } else { Config::default() };
    Counted { loaded, trust, config }
}

/// Reads `config.toml` of a home (the `.dogwatch/` folder). A missing file is the defaults, without a problem.
pub fn load(home: &Path) -> Loaded {
    // Named as a person would name it from the root; the absolute path of a machine helps nobody in a message.
    let file = Path::new(home.file_name().unwrap_or_default()).join(FILE_NAME);
    match read::bytes(&home.join(FILE_NAME), LIMIT_BYTES) {
        Ok(bytes) => parse(file, &bytes),
        Err(ReadError::Missing) => Loaded { config: Config::default(), sha256: None, problems: Vec::new() },
        Err(error) => {
            let message = format!("cannot be read: {}", cause(&error));
            let problem = Problem { file, position: None, key: String::new(), message };
            Loaded { config: Config::default(), sha256: None, problems: vec![problem] }
        }
    }
}

/// The cause in the words of a message; the number of an error helps nobody.
fn cause(error: &ReadError) -> String {
    match error {
        ReadError::Io(error) if error.raw_os_error().is_some() => error.kind().to_string(),
        error => error.to_string(),
    }
}

fn parse(file: PathBuf, bytes: &[u8]) -> Loaded {
    let sha256 = Some(sha256(bytes));
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let position = Some(Position::of(&valid, valid.len()));
            let message = "expected UTF-8 text, found other bytes".to_owned();
            let problem = Problem { file, position, key: String::new(), message };
            return Loaded { config: Config::default(), sha256, problems: vec![problem] };
        }
    };
    let mut config = Config::default();
    let mut problems = reader::document(file, text, |top| config = schema::config(top));
    problems.sort_by_key(|problem| problem.position);
    if !problems.is_empty() {
        config = Config::default();
    }
    Loaded { config, sha256, problems }
}

/// The SHA-256 of a config's bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests;
