//! The simulator: which harness, where, with which options; and the firing of one event.

mod beside;
mod error;
mod hosted;
mod options;
mod order;
mod steps;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::harness::{self, Account, Discovery, Event, Harness, Hook, Place, Registration};
use crate::launch::{Declared, Host, LaunchError, Session, Shared, Stage};
use crate::placeholder;
use crate::recording::{self, Ids, Placed, Placing, Recording, Unknown, fresh_uuid};
use crate::report::Firing;
use order::deadline;

pub use error::FireError;
pub use options::Options;

/// How long a session waits at its end for declared survivors, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

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
        let hooks = self.select(account, event, firing);
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
                let hook = Hook { run: &run, registration: hook.as_ref() };
                firing.warnings.extend(harness::remarks(account, event, hook));
                let effects = account.read(event, hook);
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
        firing: &mut Firing,
    ) -> Vec<Option<Registration>> {
        if self.command.is_some() {
            return vec![None];
        }
        let place = Place { project: &self.project, home: self.home.as_deref(), trusted: self.trusted };
        let mut found = account.discover(place);
        let warnings = &mut firing.warnings;
        warnings.append(&mut found.warnings);
        let mut missed: Vec<String> = Vec::new();
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
                    let file = registration.file.display();
                    match account.unreadable(matcher) {
                        Some(why) => warnings.push(format!("{file}: matcher {matcher:?} {why}")),
                        None => missed.push(format!("{file}: {}", harness::missed(matcher, values))),
                    }
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
        if chosen.is_empty() {
            warnings.append(&mut missed);
            firing.reject(found.rejected.into_iter().map(|rejected| rejected.warning));
        }
        chosen.into_iter().map(Some).collect()
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

/// The recording in this run, with what the options change in it.
fn placed(placing: &Placing, recording: &Recording, options: &Options) -> Placed {
    let mut placed = placing.place(recording);
    options.amend(&mut placed.payload);
    placed
}

fn absolute(folder: &Path) -> PathBuf {
    folder.canonicalize().or_else(|_| std::path::absolute(folder)).unwrap_or_else(|_| folder.to_owned())
}
