//! What a sequence of events needs of a simulator: options that hold for one event, ids that several have in common, the
//! session's change, and two events beside each other.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{FireError, Options, Simulator, Version, deadline, placed};
use crate::harness::{self, Account, Event, Harness, Hook, Registration};
use crate::launch::{HookRun, LaunchError, Shared};
use crate::recording::{Ids, Placed, Placing, Recording, fresh_uuid};
use crate::report::Firing;

/// One of two events that are fired beside each other.
struct Side<'a> {
    recording: &'a Recording,
    options: &'a Options,
    placed: Placed,
    hooks: Vec<Option<Registration>>,
    firing: Firing,
    started: Instant,
}

/// The hooks of a side that run one after the other.
struct Lane {
    side: usize,
    /// The hook that runs now.
    at: usize,
    /// One past the last of this lane.
    end: usize,
}

impl Simulator {
    /// Another process of a harness, in the same place.
    pub(crate) fn sibling(&self, harness: Harness, version: Version) -> Self {
        Self {
            harness,
            version,
            project: self.project.clone(),
            home: self.home.clone(),
            set: self.set.clone(),
            command: self.command.clone(),
            trusted: self.trusted,
            time_scale: self.time_scale,
            options: self.options.clone(),
            survivors: self.survivors.clone(),
            patience: self.patience,
            session_id: fresh_uuid(),
            ids: Ids::default(),
            host_program: self.host_program.clone(),
            shared: self.shared.clone(),
            session: None,
            stages: self.stages.clone(),
            has_file_limit: self.has_file_limit,
            hosted: None,
        }
    }

    /// The same, at the same version.
    pub(crate) fn twin(&self) -> Self {
        self.sibling(self.harness, self.version.clone())
    }

    /// Makes what siblings share from now on.
    pub(crate) fn share(&mut self) -> Result<Arc<Shared>, FireError> {
        self.prepare()
    }

    /// The project, and the home if there is one.
    pub(crate) fn folders(&self) -> (&Path, Option<&Path>) {
        (&self.project, self.home.as_deref())
    }

    /// Runs a command where hooks will run, before any of them. What it did wrong.
    pub(crate) fn run_beforehand(&self, command: &str, bound: Duration) -> Result<Option<String>, FireError> {
        let shared = self.shared.as_ref().ok_or_else(lost)?;
        let environment = self.environment(shared, self.resolved_version()?);
        Ok(shared.run_once(command, &self.project, environment, bound)?)
    }

    /// Fires one event with these options, which hold for this event only.
    pub(crate) fn fire_as(&mut self, recording: &Recording, options: &Options) -> Result<Firing, FireError> {
        self.ids.fill(recording);
        let before = std::mem::replace(&mut self.options, options.clone());
        let firing = self.fire_recording(recording);
        self.options = before;
        firing
    }

    /// The ids that events have in common from now on.
    pub(crate) fn ids(&mut self) -> &mut Ids {
        &mut self.ids
    }

    /// The command that is fired at from now on; `None` for what is registered.
    pub(crate) fn set_command(&mut self, command: Option<String>) {
        self.command = command;
    }

    /// The command that is fired at, if one was given.
    pub(crate) fn given_command(&self) -> Option<String> {
        self.command.clone()
    }

    /// Another session in the same process.
    pub(crate) fn renew_session(&mut self) {
        self.enter_session(fresh_uuid(), Ids::default());
    }

    /// Back to a session of the same process.
    pub(crate) fn enter_session(&mut self, id: String, ids: Ids) {
        (self.session_id, self.ids) = (id, ids);
    }

    /// The session, and what its events have in common.
    pub(crate) fn session(&self) -> (String, Ids) {
        (self.session_id.clone(), self.ids.clone())
    }

    /// Ends the harness's process; the next event starts another one.
    pub(crate) fn end(&mut self) {
        self.end_hosted();
        if let (Some(session), Some(shared)) = (self.session.take(), &self.shared) {
            shared.close(session, self.patience);
        }
    }

    /// Whether this command comes from another harness's file.
    pub(crate) fn is_foreign(&self, command: &str) -> bool {
        self.command.is_none()
            && self.discover().is_some_and(|found| {
                found
                    .registrations
                    .iter()
                    .any(|registration| registration.command == command && registration.from.is_some())
            })
    }

    /// Fires two events beside each other, as a harness does that does not wait for the first.
    pub(crate) fn fire_beside(
        &mut self,
        events: [(&Recording, &Options); 2],
    ) -> Result<[Firing; 2], FireError> {
        let Some(account) = self.harness.account() else {
            let [one, two] = events;
            return Ok([self.fire_as(one.0, one.1)?, self.fire_as(two.0, two.1)?]);
        };
        let shared = self.prepare()?;
        for (recording, _) in events {
            self.ids.fill(recording);
        }
        let placing = self.placing(&shared);
        let mut sides = Vec::with_capacity(2);
        for (recording, options) in events {
            let mut firing = self.nothing_yet(recording);
            let placed = placed(&placing, recording, options);
            let event = Event { recording, payload: &placed.payload };
            let hooks = self.select(account, event, &mut firing);
            firing.warnings.extend(self.unknown_placeholders());
            if !hooks.is_empty() {
                placed.write_transcript(recording).map_err(FireError::Transcript)?;
                self.start(account, recording.version, &shared)?;
            }
            sides.push(Side { recording, options, placed, hooks, firing, started: Instant::now() });
        }
        self.run_beside(account, &placing, &mut sides)?;
        let mut firings = sides.into_iter().map(|side| side.firing);
        match (firings.next(), firings.next()) {
            (Some(one), Some(two)) => Ok([one, two]),
            _ => Err(lost()),
        }
    }

    fn run_beside(
        &mut self,
        account: &'static dyn Account,
        placing: &Placing,
        sides: &mut [Side<'_>],
    ) -> Result<(), FireError> {
        let mut lanes: Vec<Lane> = Vec::new();
        for (side, of) in sides.iter().enumerate().filter(|(_, of)| !of.hooks.is_empty()) {
            if account.conduct().concurrent {
                lanes.extend((0..of.hooks.len()).map(|at| Lane { side, at, end: at + 1 }));
            } else {
                lanes.push(Lane { side, at: 0, end: of.hooks.len() });
            }
        }
        if lanes.is_empty() {
            return Ok(());
        }
        let mut session = self.session.take().ok_or_else(lost)?;
        let linger = sides.iter().filter_map(|side| side.options.linger).max();
        let this = &*self;
        let order = |side: &Side<'_>, at: usize| {
            let event = Event { recording: side.recording, payload: &side.placed.payload };
            let hook = side.hooks[at].as_ref();
            let deadline = deadline(account, event, &side.hooks, hook);
            this.order(account, event, hook, deadline, placing, side.options)
        };
        let orders =
            lanes.iter().enumerate().map(|(at, lane)| (at, order(&sides[lane.side], lane.at))).collect();
        let mut runs: Vec<HookRun> = Vec::new();
        let ended = session.run_lanes(orders, |number, run| {
            let lane = &mut lanes[number];
            let side = &mut sides[lane.side];
            let event = Event { recording: side.recording, payload: &side.placed.payload };
            let hook = Hook { run: &run, registration: side.hooks[lane.at].as_ref() };
            side.firing.warnings.extend(harness::remarks(account, event, hook));
            let effects = account.read(event, hook);
            let goes_on = !account.ends_the_chain(&effects);
            side.firing.add(side.firing.commands.len(), effects);
            side.firing.elapsed = side.started.elapsed();
            runs.push(run.clone());
            side.firing.commands.push(run);
            lane.at += 1;
            (goes_on && lane.at < lane.end).then(|| order(side, lane.at))
        });
        // Whose they are cannot be told: they are reported with the first.
        if ended.is_ok() {
            sides[0].firing.survivors = session.new_survivors(&runs, linger);
        }
        self.session = Some(session);
        ended?;
        for side in sides {
            harness::conclude(account, &side.recording.event, &mut side.firing.effects);
        }
        Ok(())
    }
}

fn lost() -> FireError {
    FireError::Launch(LaunchError::Host(std::io::Error::other("there is no session")))
}
