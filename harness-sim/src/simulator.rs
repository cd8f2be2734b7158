//! The simulator: which harness, where, with which options; and the firing of one event.

mod beside;
mod hosted;
mod steps;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use thiserror::Error;

use crate::env;
use crate::harness::{self, Account, Discovery, Event, Harness, Hook, Kill as KillRule, Place, Registration};
use crate::launch::{Declared, Feed, Host, LaunchError, Order, Reader, Request, Session, Shared, Stage};
use crate::placeholder;
use crate::recording::{self, Ids, Placed, Placing, Recording, Unknown, fresh_uuid};
use crate::report::Firing;

/// How long a session waits at its end for declared survivors, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(120);
/// A value for variables that hold secrets: that they are there is a fact of the harness, what they hold is not.
const MADE_UP: &str = "made-up-by-harness-sim";

/// Which version of a harness.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Version {
    /// The newest that there are recordings of.
    #[default]
    Newest,
    /// This one.
    Exact(String),
}

impl From<&str> for Version {
    fn from(version: &str) -> Self {
        Self::Exact(version.to_owned())
    }
}

/// Why an event could not be fired. What a *hook* does wrong is no error: it stands in the report.
#[derive(Debug, Error)]
pub enum FireError {
    /// There is no such recording.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The folder is not there.
    #[error("{what} {} is not a folder", folder.display())]
    NoFolder {
        /// `project` or `home`.
        what: &'static str,
        /// What was given.
        folder: PathBuf,
    },
    /// Hooks cannot be started at all.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A scenario lacks something.
    #[error(transparent)]
    Scenario(#[from] crate::scenario::ScenarioError),
    /// The project or the home of a scenario could not be made.
    #[error("failed to make the scenario's project and home: {0}")]
    Place(std::io::Error),
    /// A file could not be written.
    #[error("failed to prepare the transcript: {0}")]
    Transcript(std::io::Error),
}

/// How a hook is fed, read and bounded, beside what the harness does.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How its stdin is fed.
    pub feed: Feed,
    /// How its stdout is read.
    pub reader: Reader,
    /// Its timeout, in the place of the registered or the harness's own.
    pub timeout: Option<Duration>,
    /// Its stdin, in the place of the payload.
    pub stdin: Option<Vec<u8>>,
    /// Sent to its process group when it begins to print.
    pub signal: Option<i32>,
    /// How long what it leaves behind may take to be gone before it counts as a survivor (100 ms).
    pub linger: Option<Duration>,
    /// Fields of the payload that are other than recorded. An object goes into the one that is there; anything else
    /// takes the place of what is there.
    pub set: Map<String, Value>,
    /// Fields that the payload does not have; `a.b` is a field of a field.
    pub unset: Vec<String>,
}

impl Options {
    fn amend(&self, payload: &mut Value) {
        for path in &self.unset {
            let (above, key) = path.rsplit_once('.').map_or(("", path.as_str()), |(above, key)| (above, key));
            let above = above.split('.').filter(|key| !key.is_empty());
            let mut at = Some(&mut *payload);
            for key in above {
                at = at.and_then(|value| value.get_mut(key));
            }
            if let Some(Value::Object(map)) = at {
                map.shift_remove(key);
            }
        }
        for (key, value) in &self.set {
            merge(payload, key, value);
        }
    }
}

fn merge(into: &mut Value, key: &str, value: &Value) {
    let Value::Object(map) = into else { return };
    match (map.get_mut(key), value) {
        (Some(there @ Value::Object(_)), Value::Object(fields)) => {
            fields.iter().for_each(|(key, value)| merge(there, key, value));
        }
        _ => {
            map.insert(key.to_owned(), value.clone());
        }
    }
}

/// A harness at a version, in a project. Firing the first event starts its process; dropping it ends everything.
#[derive(Debug)]
pub struct Simulator {
    harness: Harness,
    version: Version,
    project: PathBuf,
    home: Option<PathBuf>,
    set: Vec<(OsString, OsString)>,
    command: Option<String>,
    trusted: bool,
    time_scale: f64,
    options: Options,
    survivors: Vec<String>,
    patience: Duration,
    session_id: String,
    ids: Ids,
    host_program: Option<PathBuf>,
    shared: Option<Arc<Shared>>,
    session: Option<Session>,
    stages: Vec<Stage>,
    /// No file of a hook may grow: what is left of a full disk where none can be mounted.
    has_file_limit: bool,
    hosted: Option<hosted::Hosting>,
}

impl Simulator {
    /// A harness in the current folder, with an empty home of its own.
    pub fn new(harness: Harness, version: Version) -> Self {
        Self {
            harness,
            version,
            project: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            home: None,
            set: Vec::new(),
            command: None,
            trusted: true,
            time_scale: 1.0,
            options: Options::default(),
            survivors: Vec::new(),
            patience: PATIENCE,
            session_id: fresh_uuid(),
            ids: Ids::default(),
            host_program: None,
            shared: None,
            session: None,
            stages: Vec::new(),
            has_file_limit: false,
            hosted: None,
        }
    }

    /// The project: its registrations are read, hooks run there, payloads name it.
    #[must_use]
    pub fn project(mut self, folder: impl AsRef<Path>) -> Self {
        self.project = absolute(folder.as_ref());
        self
    }

    /// The home: the user's registrations are read from there, and hooks get it as `HOME`. Without one they get an
    /// empty folder. Nothing of the simulator's is ever written into it.
    #[must_use]
    pub fn home(mut self, folder: impl AsRef<Path>) -> Self {
        self.home = Some(absolute(folder.as_ref()));
        self
    }

    /// Sets a variable for every hook. Hooks otherwise inherit this process's environment without secrets, without
    /// what belongs to a harness around it, and without `XDG_*_HOME`.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set.push((name.into(), value.into()));
        self
    }

    /// Fires at this command, whatever is registered. `{harness}` and `{event}` in it are replaced.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// Whether the person trusts the project (the default), for harnesses that ask.
    #[must_use]
    pub fn trusted(mut self, trusted: bool) -> Self {
        self.trusted = trusted;
        self
    }

    /// Multiplies every timeout and grace of the harness: `0.1` turns 5 s into half a second.
    #[must_use]
    pub fn time_scale(mut self, factor: f64) -> Self {
        self.time_scale = factor.clamp(0.001, 1000.0);
        self
    }

    /// How hooks are fed, read and bounded.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Files that name processes which may outlive their hook; `*` and `?` stand for parts of a name, relative to the
    /// project. Hooks may also put such files into the folder that `HARNESS_SIM_SURVIVORS` names.
    #[must_use]
    pub fn survivors(mut self, pattern: impl Into<String>) -> Self {
        self.survivors.push(pattern.into());
        self
    }

    /// How long the end of the session waits for declared survivors (2 minutes).
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The program that plays the harness's process: an installed `harness-sim`. For programs that cannot call
    /// [`init`](crate::init), as a test under `cargo test`; without it they need `HARNESS_SIM` or `harness-sim` on the
    /// search path.
    #[must_use]
    pub fn host_program(mut self, program: impl Into<PathBuf>) -> Self {
        self.host_program = Some(program.into());
        self
    }

    /// Shares a supervisor and a scratch folder with other simulators: starting is cheaper then.
    pub(crate) fn shared(mut self, shared: Arc<Shared>) -> Self {
        self.shared = Some(shared);
        self
    }

    /// The version, as recordings have it.
    ///
    /// # Errors
    /// [`Unknown::Version`].
    pub fn resolved_version(&self) -> Result<&str, Unknown> {
        match &self.version {
            Version::Exact(version) => Ok(version),
            Version::Newest => recording::newest(self.harness).ok_or(Unknown::Version {
                harness: self.harness.id(),
                version: "newest".to_owned(),
                known: Vec::new(),
            }),
        }
    }

    /// Fires one event: everything that the harness would do from the payload to what the model sees. The name is a
    /// recording's, and may be cut where it stays unique.
    ///
    /// # Errors
    /// [`FireError`]; never for what a hook does.
    pub fn fire(&mut self, event: &str) -> Result<Firing, FireError> {
        let recording = recording::find(self.harness, self.resolved_version()?, event)?;
        self.fire_recording(recording)
    }

    /// As [`fire`](Self::fire), with a recording in hand.
    ///
    /// # Errors
    /// [`FireError`].
    pub fn fire_recording(&mut self, recording: &Recording) -> Result<Firing, FireError> {
        let mut firing = self.nothing_yet(recording);
        let Some(account) = self.harness.account() else {
            if self.command.is_some() {
                firing.not_applicable = Some(format!(
                    "{} has no command hooks: extensions run in its own process",
                    self.harness.name()
                ));
                return Ok(firing);
            }
            return self.fire_hosted(recording, firing);
        };
        let started = Instant::now();
        self.fire_commands(account, recording, &mut firing)?;
        firing.elapsed = started.elapsed();
        Ok(firing)
    }

    fn nothing_yet(&self, recording: &Recording) -> Firing {
        Firing {
            event: recording.event.clone(),
            harness: self.harness,
            version: recording.version.to_owned(),
            recording: recording.name.to_owned(),
            how: recording.provenance.how,
            not_applicable: None,
            not_run: None,
            commands: Vec::new(),
            effects: Vec::new(),
            survivors: Vec::new(),
            warnings: Vec::new(),
            elapsed: Duration::ZERO,
            provenance: recording.provenance.clone(),
        }
    }

    /// What is registered for this project and home, and what is wrong with it.
    pub(crate) fn discover(&self) -> Option<Discovery> {
        let place = Place { project: &self.project, home: self.home.as_deref(), trusted: self.trusted };
        match self.harness.account() {
            Some(account) => Some(account.discover(place)),
            None => Some(self.modules()?.discovery()),
        }
    }

    fn fire_commands(
        &mut self,
        account: &'static dyn Account,
        recording: &Recording,
        firing: &mut Firing,
    ) -> Result<(), FireError> {
        let shared = self.prepare()?;
        let placing = self.placing(&shared);
        let placed = placed(&placing, recording, &self.options);
        let event = Event { recording, payload: &placed.payload };
        let hooks = self.select(account, event, &mut firing.warnings);
        if hooks.is_empty() {
            return Ok(());
        }
        firing.warnings.extend(self.unknown_placeholders());
        placed.write_transcript(recording).map_err(FireError::Transcript)?;
        self.start(account, recording.version, &shared)?;
        let conduct = account.conduct();
        let mut rest = hooks.as_slice();
        while !rest.is_empty() {
            let (now, later) = if conduct.concurrent { (rest, &rest[..0]) } else { rest.split_at(1) };
            rest = later;
            let mut orders = Vec::with_capacity(now.len());
            for hook in now {
                let deadline = deadline(account, event, &hooks, hook.as_ref());
                orders.push(self.order(account, event, hook.as_ref(), deadline, &placing, &self.options));
            }
            let session = self.session.as_mut().ok_or_else(|| {
                FireError::Launch(LaunchError::Host(std::io::Error::other("there is no session")))
            })?;
            let runs = session.run(orders)?;
            let survivors = session.new_survivors(&runs, self.options.linger);
            firing.survivors.extend(survivors);
            let mut ends = false;
            for (run, hook) in runs.into_iter().zip(now) {
                let effects = account.read(event, Hook { run: &run, registration: hook.as_ref() });
                ends |= account.ends_the_chain(&effects);
                firing.add(firing.commands.len(), effects);
                firing.commands.push(run);
            }
            if ends {
                break;
            }
        }
        harness::conclude(account, event.name(), &mut firing.effects);
        Ok(())
    }

    /// What is in braces in the command that was given and stands for nothing.
    fn unknown_placeholders(&self) -> Vec<String> {
        self.command.as_deref().map(placeholder::unknown_in_command).unwrap_or_default()
    }

    fn placing(&self, shared: &Shared) -> Placing {
        Placing {
            project: self.project.clone(),
            home: self.home.clone().unwrap_or_else(|| shared.scratch_home()),
            transcripts: shared.scratch_home(),
            session_id: self.session_id.clone(),
            ids: self.ids.clone(),
        }
    }

    /// The hooks of this event. `None` in the list is the command that was given.
    fn select(
        &self,
        account: &'static dyn Account,
        event: Event<'_>,
        warnings: &mut Vec<String>,
    ) -> Vec<Option<Registration>> {
        if self.command.is_some() {
            return vec![None];
        }
        let place = Place { project: &self.project, home: self.home.as_deref(), trusted: self.trusted };
        let mut found = account.discover(place);
        warnings.append(&mut found.warnings);
        let matched = account.matched(event);
        let mut chosen: Vec<Registration> = Vec::new();
        for registration in found.registrations {
            if registration.event != event.name() {
                continue;
            }
            if let (Some(matcher), Some(values)) = (registration.matcher.as_deref(), &matched) {
                if let Some(possible) = account.possible(event.name())
                    && !possible.iter().any(|value| account.matches(matcher, &[(*value).to_owned()]))
                {
                    warnings.push(format!(
                        "{}: matcher {matcher:?} can never match at {}; there are {}",
                        registration.file.display(),
                        event.name(),
                        possible.join(", ")
                    ));
                }
                if !account.matches(matcher, values) {
                    continue;
                }
            }
            let once = account.conduct().once;
            if once && chosen.iter().any(|other| other.same_command(&registration)) {
                warnings.push(format!(
                    "{:?} is registered twice for {} and runs once",
                    registration.command,
                    event.name()
                ));
                continue;
            }
            chosen.push(registration);
        }
        chosen.into_iter().map(Some).collect()
    }

    fn order(
        &self,
        account: &'static dyn Account,
        event: Event<'_>,
        registration: Option<&Registration>,
        deadline: Duration,
        placing: &Placing,
        options: &Options,
    ) -> Order {
        let place = Place { project: &self.project, home: self.home.as_deref(), trusted: self.trusted };
        let conduct = account.conduct();
        let name = event.name();
        let (command, argv) = match registration {
            Some(Registration { command, args: Some(args), .. }) => {
                let argv = std::iter::once(command.clone()).chain(args.iter().cloned()).collect();
                (format!("{command} {}", args.join(" ")), argv)
            }
            Some(registration) => (registration.command.clone(), account.argv(&registration.command)),
            None => {
                let command = self.command.as_deref().unwrap_or_default();
                let command = command.replace("{harness}", self.harness.id()).replace("{event}", name);
                let argv = account.argv(&command);
                (command, argv)
            }
        };
        let argv = if self.has_file_limit {
            // The signal would end a hook before it could see the error that a full disk gives it.
            let limit = ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"];
            limit.into_iter().map(str::to_owned).chain(argv).collect()
        } else {
            argv
        };
        let deadline = options.timeout.unwrap_or_else(|| deadline.mul_f64(self.time_scale));
        let kill = match conduct.kill {
            KillRule::TreeThenKill(grace) => KillRule::TreeThenKill(grace.mul_f64(self.time_scale)),
            KillRule::Group => KillRule::Group,
        };
        // A registration in another harness's file may get another payload.
        let payload = registration
            .and_then(|registration| registration.from)
            .filter(|_| !event.recording.is_foreign())
            .and_then(|_| foreign(event.recording))
            .map_or_else(|| event.payload.clone(), |recording| placed(placing, recording, options).payload);
        let mut environment: Vec<String> = account
            .variables(place, event)
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        for (name, value) in registration.map(|registration| &registration.environment).into_iter().flatten()
        {
            if !environment.iter().any(|entry| entry.starts_with(&format!("{name}="))) {
                environment.push(format!("{name}={value}"));
            }
        }
        let folder = account.folder(place, registration);
        environment.push(format!("PWD={}", folder.display()));
        Order {
            request: Request {
                id: 0,
                argv,
                folder: folder.to_string_lossy().into_owned(),
                environment,
                leads: conduct.leads,
                kill,
                finish: conduct.finish,
                deadline,
                feed: options.feed,
                reader: options.reader,
                signal: options.signal,
            },
            payload: options.stdin.clone().unwrap_or_else(|| payload.to_string().into_bytes()),
            command,
        }
    }

    /// Looks whether there is a place to fire at, and makes the scratch folder.
    fn prepare(&mut self) -> Result<Arc<Shared>, FireError> {
        let folders = [("project", Some(&self.project)), ("home", self.home.as_ref())];
        for (what, folder) in folders {
            if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                return Err(FireError::NoFolder { what, folder: folder.clone() });
            }
        }
        let shared = match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => Arc::clone(self.shared.insert(Arc::new(Shared::new(self.host_program.as_deref())?))),
        };
        Ok(shared)
    }

    /// Where processes are named that may outlive their hook.
    fn declared(&self, shared: &Shared) -> Declared {
        let clocks = self.stages.iter().filter_map(|stage| match stage {
            Stage::ClocksAhead(ahead) => Some(*ahead),
            Stage::Disk { .. } => None,
        });
        Declared { folders: vec![shared.survivors()], patterns: self.survivors.clone(), ahead: clocks.sum() }
    }

    /// What every hook of the session has in its environment.
    fn environment(&self, shared: &Shared, version: &str) -> Vec<(OsString, OsString)> {
        let home = self.home.clone().unwrap_or_else(|| shared.scratch_home());
        let mut environment = env::inherited();
        let mut put = |name: OsString, value: OsString| {
            environment.retain(|(known, _)| *known != name);
            environment.push((name, value));
        };
        put("HOME".into(), home.into_os_string());
        put("HARNESS_SIM_SURVIVORS".into(), shared.survivors().into_os_string());
        for name in recorded_variables(self.harness, version).filter(|name| env::is_secret(name)) {
            put(name.into(), MADE_UP.into());
        }
        for (name, value) in &self.set {
            put(name.clone(), value.clone());
        }
        environment.retain(|(name, _)| name != "PWD");
        environment
    }

    /// Starts the harness's process, where it does not run yet.
    fn start(
        &mut self,
        account: &'static dyn Account,
        version: &str,
        shared: &Shared,
    ) -> Result<(), FireError> {
        if self.session.is_none() {
            let environment = self.environment(shared, version);
            let declared = self.declared(shared);
            let host = Host {
                argv0: account.argv0(version),
                project: self.project.clone(),
                environment,
                declared,
                stages: self.stages.clone(),
            };
            self.session = Some(shared.start(host)?);
        }
        Ok(())
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.end();
    }
}

/// How long a hook may take by the harness's own rules.
fn deadline(
    account: &'static dyn Account,
    event: Event<'_>,
    hooks: &[Option<Registration>],
    hook: Option<&Registration>,
) -> Duration {
    let mut registered = hook.and_then(|hook| hook.timeout);
    if account.shares_its_timeout(event.name()) {
        registered = hooks.iter().flatten().filter_map(|hook| hook.timeout).reduce(f64::max);
    }
    account.timeout(event.name(), registered)
}

/// The recording in this run, with what the options change in it.
fn placed(placing: &Placing, recording: &Recording, options: &Options) -> Placed {
    let mut placed = placing.place(recording);
    options.amend(&mut placed.payload);
    placed
}

/// The recording of the same event as it arrives through Claude Code's settings.
fn foreign(recording: &Recording) -> Option<&'static Recording> {
    let name = format!("{}-from-claude-settings", recording.name);
    recording::find(recording.harness, recording.version, &name).ok()
}

/// The names of the variables that this harness's hooks were seen with.
fn recorded_variables(harness: Harness, version: &str) -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&str> = recording::all()
        .iter()
        .filter(|recording| recording.harness == harness && recording.version == version)
        .flat_map(|recording| recording.env.iter().map(String::as_str))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter()
}

fn absolute(folder: &Path) -> PathBuf {
    folder.canonicalize().or_else(|_| std::path::absolute(folder)).unwrap_or_else(|_| folder.to_owned())
}
