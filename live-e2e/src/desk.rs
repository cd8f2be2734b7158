//! A person's desk: a scratch home folder with a project in it, a model server, a CLI that is set up to use it, and the
//! dogwatch of this checkout. It is gone with everything on it when it is dropped.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::agent::Agent;
use crate::catalogue::Installed;
use crate::driver::{self, Driver, Interactive, Opens, Place};
use crate::error::LiveError;
use crate::interactive::Session;
use crate::keeper::Channel;
use crate::model::ModelServer;
use crate::run::{self, Plan, Ran};

/// Where programs are looked for. The machine's own, and nothing of the person's.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How a CLI is run.
#[derive(Debug, Clone)]
pub struct How {
    /// Which session it opens.
    pub opens: Opens,
    /// Arguments behind the driver's own. Of a flag that is there twice the CLIs take the last.
    pub arguments: Vec<String>,
    /// Variables beside those that the driver sets.
    pub environment: Vec<(String, String)>,
    /// When it is ended with everything below it.
    pub deadline: Duration,
    /// Identity files, of which everybody named there may outlive the CLI.
    pub declared: Vec<PathBuf>,
    /// How long they may take to end.
    pub patience: Duration,
}

impl Default for How {
    /// A new session, 2 minutes, no survivors.
    fn default() -> Self {
        Self {
            opens: Opens::New,
            arguments: Vec::new(),
            environment: Vec::new(),
            deadline: Duration::from_mins(2),
            declared: Vec::new(),
            patience: Duration::ZERO,
        }
    }
}

impl How {
    /// The default, for this session.
    pub fn opening(opens: Opens) -> Self {
        Self { opens, ..Self::default() }
    }

    /// With arguments.
    #[must_use]
    pub fn arguments<const N: usize>(mut self, words: [&str; N]) -> Self {
        self.arguments.extend(words.map(str::to_owned));
        self
    }

    /// With a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A desk.
pub struct Desk {
    scratch: TempDir,
    command: Vec<OsString>,
    driver: &'static dyn Driver,
    place: Place,
    runs: AtomicU32,
    /// The model.
    pub model: ModelServer,
}

impl Desk {
    /// Sets a desk up for an agent. Of dogwatch only the program is there; it stands nowhere yet.
    ///
    /// # Errors
    /// Where the scratch folder cannot be filled.
    pub fn new(agent: Agent, installed: &Installed, dogwatch: &Path) -> Result<Self, LiveError> {
        let set_up = || -> io::Result<Self> {
            let scratch = tempfile::Builder::new().prefix("live-").tempdir()?;
            let top = scratch.path().canonicalize()?;
            let model = ModelServer::start()?;
            let place =
                Place { home: top.join("home"), project: top.join("project"), model_url: model.url() };
            for folder in [&place.home, &place.project, &top.join("bin"), &top.join("runs")] {
                fs::create_dir(folder)?;
            }
            let program = top.join("bin/dogwatch");
            fs::hard_link(dogwatch, &program).or_else(|_| fs::copy(dogwatch, &program).map(drop))?;
            let driver = driver::of(agent);
            driver.prepare(&place)?;
            let (command, runs) = (installed.command.clone(), AtomicU32::new(0));
            Ok(Self { scratch, command, driver, place, runs, model })
        };
        set_up().map_err(LiveError::io("set a desk up"))
    }

    /// The person's home folder.
    pub fn home(&self) -> &Path {
        &self.place.home
    }

    /// The project.
    pub fn project(&self) -> &Path {
        &self.place.project
    }

    /// The program `dogwatch`, as registrations name it.
    pub fn program(&self) -> PathBuf {
        self.place.home.with_file_name("bin").join("dogwatch")
    }

    /// Runs dogwatch in the project, as the person would; what it printed.
    ///
    /// # Errors
    /// Where it ends with another code than 0.
    pub fn dogwatch(&self, arguments: &[&str]) -> Result<String, LiveError> {
        let mut command = Command::new(self.program());
        command.args(arguments).current_dir(&self.place.project).stdin(Stdio::null()).env_clear();
        command.env("HOME", &self.place.home).env("PATH", PATH).env("LANG", "C.UTF-8");
        let output = command.output().map_err(LiveError::io("run dogwatch"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        let command = format!("dogwatch {}", arguments.join(" "));
        Err(LiveError::Failed { command, said: text(&output.stdout) + &text(&output.stderr) })
    }

    /// Registers dogwatch in the person's files and makes a home of the project.
    ///
    /// # Errors
    /// As [`dogwatch`](Self::dogwatch).
    pub fn install(&self, agent: Agent) -> Result<(), LiveError> {
        self.dogwatch(&["install", agent.id()])?;
        self.dogwatch(&["init"]).map(drop)
    }

    /// Puts a config into the project's home, and a person's word that it counts. Not by `dogwatch trust`: that refuses
    /// where these tests are run by an agent.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn trusted_config(&self, text: &str) -> Result<(), LiveError> {
        let write = || -> io::Result<()> {
            fs::write(self.place.project.join(".dogwatch/config.toml"), text)?;
            let state = self.place.home.join(".local/state/dogwatch");
            fs::create_dir_all(&state)?;
            fs::set_permissions(&state, fs::Permissions::from_mode(0o700))?;
            let mut line = String::new();
            for byte in Sha256::digest(text.as_bytes()) {
                let _ = write!(line, "{byte:02x}");
            }
            let _ = writeln!(line, "  {}", self.place.project.display());
            fs::write(state.join("trusted"), line)
        };
        write().map_err(LiveError::io("write a config"))
    }

    /// The directive by which the model runs a command.
    pub fn shell(&self, command: &str) -> String {
        let (tool, argument) = self.driver.shell();
        // Some want to be told what a command is for.
        let arguments = serde_json::json!({argument: command, "description": "runs a command"});
        format!("@@tool {tool} {arguments}@@")
    }

    /// What dogwatch wrote down of its firings in the project, in order.
    pub fn trace(&self) -> Vec<serde_json::Value> {
        let file = self.place.project.join(".dogwatch/state/trace.jsonl");
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Runs the CLI with one prompt, without a terminal, to its end.
    ///
    /// # Errors
    /// Where it could not be run at all.
    pub fn run(&self, prompt: &str, how: &How) -> Result<Ran, LiveError> {
        let arguments = self.driver.headless(&self.place, how.opens, prompt);
        let arguments = arguments.map_err(LiveError::io("tell which session to open"))?;
        run::run(&self.plan(arguments, Channel::None, how)?)
    }

    /// Starts the CLI to speak to it.
    ///
    /// # Errors
    /// Where it could not be started.
    pub fn speak(&self, how: &How) -> Result<Session<'_>, LiveError> {
        let socket = self.own_folder()?.join("socket");
        let (arguments, channel) = match self.driver.interactive(how.opens) {
            Interactive::Terminal(arguments) => (arguments, Channel::Terminal(socket.clone())),
            Interactive::Lines(arguments) => (arguments, Channel::Socket(socket.clone())),
        };
        Session::start(self.plan(arguments, channel, how)?, &socket)
    }

    fn plan(&self, mut arguments: Vec<String>, channel: Channel, how: &How) -> Result<Plan, LiveError> {
        arguments.extend(how.arguments.iter().cloned());
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let own = [
            ("HOME", path(&self.place.home)),
            ("PATH", PATH.to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
        ];
        let driver = self.driver.environment(&self.place);
        let environment = own.into_iter().chain(driver).map(|(name, value)| (name.to_owned(), value));
        Ok(Plan {
            command: self.command.clone(),
            arguments,
            environment: environment.chain(how.environment.iter().cloned()).collect(),
            folder: self.place.project.clone(),
            channel,
            declared: how.declared.clone(),
            patience: how.patience,
            deadline: how.deadline,
            desk: self.own_folder()?,
        })
    }

    /// A folder of one run.
    fn own_folder(&self) -> Result<PathBuf, LiveError> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let folder = self.scratch.path().join("runs").join(number.to_string());
        fs::create_dir(&folder).map_err(LiveError::io("make a folder for a run"))?;
        Ok(folder)
    }
}
