//! Scenarios: events in order, in a project that is made for them, with what is expected of each.

mod check;
mod expect;
mod parse;
mod place;
mod play;
mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::harness::Harness;
use crate::recording::Recording;
use crate::simulator::{FireError, Options, Simulator};

pub(crate) use play::play_all;
pub use read::{Problem, ScenarioError};

/// Events in order, and what is expected of each.
///
/// ```no_run
/// use harness_sim::{Harness, Scenario, Simulator, Version};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     harness_sim::init();
///     let scenario = Scenario::load("scenarios/stop-blocks-once.toml")?;
///     let mut simulator = Simulator::new(Harness::Claude, Version::Newest).project("my-project");
///     simulator.run(&scenario)?.assert_passed();
///     Ok(())
/// }
/// ```
#[doc = include_str!("../../scenarios/README.md")]
#[derive(Debug, Clone)]
pub struct Scenario {
    name: String,
    about: Option<String>,
    file: String,
    harness: Harness,
    version: &'static str,
    needs: Vec<String>,
    defined: BTreeMap<String, String>,
    project: Folder,
    home: Folder,
    setup: Vec<String>,
    env: Vec<(String, String)>,
    command: Option<String>,
    trusted: Option<bool>,
    time_scale: Option<f64>,
    survivors: Vec<String>,
    patience: Option<Duration>,
    shares_process: bool,
    steps: Vec<Step>,
    /// What a person should know of the file, beside what happens.
    notes: Vec<String>,
}

/// Where a project or a home is.
#[derive(Debug, Clone, Default)]
enum Folder {
    /// Whoever runs the scenario says.
    #[default]
    Given,
    /// There.
    At(PathBuf),
    /// Made for this run, with these files.
    Made(Vec<File>),
}

#[derive(Debug, Clone)]
struct File {
    path: String,
    text: String,
    mode: Option<u32>,
}

#[derive(Debug, Clone)]
struct Step {
    line: usize,
    session: String,
    action: Action,
}

#[derive(Debug, Clone)]
enum Action {
    Fire(Box<Fire>),
    /// The harness's process ends.
    Quit,
}

#[derive(Debug, Clone)]
struct Fire {
    recording: &'static Recording,
    command: Option<String>,
    set: Map<String, Value>,
    options: Options,
    stdin: Option<String>,
    most_refusals: u32,
    expect: Option<expect::Expect>,
}

impl Scenario {
    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// [`ScenarioError`], with everything that is wrong in the file.
    pub fn load(file: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let file = file.as_ref();
        let name = file.display().to_string();
        match std::fs::read_to_string(file) {
            Ok(text) => Self::parse(&text, &name),
            Err(error) => Err(ScenarioError::Unreadable { file: name, why: error.to_string() }),
        }
    }

    /// Reads a scenario from a text. `file` is what errors call it, and folders that the scenario names are relative to
    /// its folder.
    ///
    /// # Errors
    /// [`ScenarioError`], with everything that is wrong in the text.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScenarioError> {
        parse::parse(text, file)
    }

    /// Its name: what `name` says, or the file's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is about, in its own words.
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// The file, as it was given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The harness that it plays.
    pub fn harness(&self) -> Harness {
        self.harness
    }

    /// The version of that harness.
    pub fn version(&self) -> &str {
        self.version
    }

    /// The names for which somebody has to give a value.
    pub fn needs(&self) -> &[String] {
        &self.needs
    }

    /// The names that have no value yet.
    pub(crate) fn undefined(&self) -> impl Iterator<Item = &str> {
        self.needs.iter().filter(|name| !self.defined.contains_key(*name)).map(String::as_str)
    }

    /// Gives a value for a name that the scenario needs: `{name}` in its files, commands and expectations is replaced.
    #[must_use]
    pub fn define(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.defined.insert(name.into(), value.into());
        self
    }
}

impl Simulator {
    /// Plays a scenario. Its harness and version count, not this simulator's; what it does not say (project, home,
    /// command, trust, options) is this simulator's.
    ///
    /// What a hook does wrong, and what is not as expected, stands in the report; also why it broke off.
    ///
    /// # Errors
    /// [`FireError`] where it cannot be begun, [`FireError::Scenario`] where a value is missing.
    pub fn run(&mut self, scenario: &Scenario) -> Result<crate::report::Report, FireError> {
        play::play(self, scenario)
    }
}
