//! What the host is told of one hook: command line, folder, environment, deadline, payload.

use std::ffi::OsString;
use std::time::Duration;

use super::{Options, Simulator, placed};
use crate::env;
use crate::harness::{Account, Event, Harness, Kill as KillRule, Place, Registration};
use crate::launch::{Order, Request, Shared};
use crate::recording::{self, Placing, Recording};

/// A value for variables that hold secrets: that they are there is a fact of the harness, what they hold is not.
const MADE_UP: &str = "made-up-by-harness-sim";

impl Simulator {
    pub(super) fn order(
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

    /// What every hook of the session has in its environment.
    pub(super) fn environment(&self, shared: &Shared, version: &str) -> Vec<(OsString, OsString)> {
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
}

/// How long a hook may take by the harness's own rules.
pub(super) fn deadline(
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
