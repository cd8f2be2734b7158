//! What the torture set needs of a session: other options from one event to the next, many events at once, a file system
//! that fails.

use std::time::Instant;

use serde_json::Value;

use super::{FireError, Options, Simulator, placed};
use crate::harness::{self, Event, Hook};
use crate::launch::{LaunchError, Stage};
use crate::recording::Recording;
use crate::report::Firing;

impl Simulator {
    /// Other options for the events that come.
    pub(crate) fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// With a folder whose file system fails.
    pub(crate) fn stage(mut self, stage: Stage) -> Self {
        self.stages.push(stage);
        self
    }

    /// With hooks none of whose files may grow.
    pub(crate) fn with_file_limit(mut self) -> Self {
        self.has_file_limit = true;
        self
    }

    /// The payload that this recording has in this run.
    pub(crate) fn payload_of(&mut self, recording: &Recording) -> Result<Value, FireError> {
        let shared = self.prepare()?;
        Ok(placed(&self.placing(&shared), recording, &self.options).payload)
    }

    /// Fires events at the command that was given, all at once. Nothing for a harness without command hooks.
    pub(crate) fn fire_at_once(&mut self, recordings: &[&Recording]) -> Result<Vec<Firing>, FireError> {
        let (Some(account), Some(first)) = (self.harness.account(), recordings.first()) else {
            return Ok(Vec::new());
        };
        let shared = self.prepare()?;
        let placing = self.placing(&shared);
        self.start(account, first.version, &shared)?;
        let placed: Vec<_> =
            recordings.iter().map(|recording| placed(&placing, recording, &self.options)).collect();
        let events: Vec<Event<'_>> = recordings
            .iter()
            .zip(&placed)
            .map(|(recording, placed)| Event { recording, payload: &placed.payload })
            .collect();
        let orders = events
            .iter()
            .map(|event| {
                let deadline = account.timeout(event.name(), None);
                self.order(account, *event, None, deadline, &placing, &self.options)
            })
            .collect();
        let started = Instant::now();
        let linger = self.options.linger;
        let session = self.session.as_mut().ok_or_else(|| {
            FireError::Launch(LaunchError::Host(std::io::Error::other("there is no session")))
        })?;
        let runs = session.run(orders)?;
        let mut survivors = session.new_survivors(&runs, linger);
        let elapsed = started.elapsed();
        let firings = runs.into_iter().zip(events).map(|(run, event)| {
            let mut firing = self.nothing_yet(event.recording);
            let hook = Hook { run: &run, registration: None };
            firing.warnings.extend(harness::remarks(account, event, hook));
            firing.add(0, account.read(event, hook));
            harness::conclude(account, event.name(), &mut firing.effects);
            firing.commands.push(run);
            // Whose they are is not known; they stand once.
            firing.survivors = std::mem::take(&mut survivors);
            firing.elapsed = elapsed;
            firing
        });
        Ok(firings.collect())
    }
}
