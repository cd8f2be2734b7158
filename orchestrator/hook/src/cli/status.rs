//! `dogwatch status`: what works in which coding agent, what waits for a person, and why.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::Timestamp;

use super::install::{found, places};
use super::{Failure, Surroundings, write_out};
use crate::config::{self, printable};
use crate::env;
use crate::harness::consent::{Asked, Consent};
use crate::harness::{EventKind, Harness, TABLE, Tier};
use crate::home::root::{Root, find_root};
use crate::home::scope;
use crate::home::state::Folder;
use crate::home::trace::{self, Firing};
use crate::home::trust::TrustState;
use crate::register::places::{Places, Scope};
use crate::register::{self, Seen};

/// Show which coding agents call dogwatch here, what waits for you, and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0  nothing that is registered is broken
  1  something that is registered cannot work
  2  the command line was wrong")]
pub(super) struct Arguments {}

pub(super) fn run(_: &Arguments, surroundings: &Surroundings) -> Result<ExitCode, Failure> {
    let root = find_root(&surroundings.folder, surroundings.home_folder.as_deref());
    // The files of a home folder are the person's.
    let is_home_folder =
        surroundings.home_folder.as_deref().is_some_and(|home| is_same_folder(home, &root.path));
    let places = places(surroundings, (!is_home_folder).then_some(root.path.as_path()));
    let mut report = Report { text: String::new(), is_broken: false };
    report.project(&root, surroundings);
    let calls = calls(&root);
    let here = found(&places);
    let mut absent = Vec::new();
    for harness in TABLE {
        let seen = [Scope::User, Scope::Project]
            .map(|scope| (scope, places.registration(harness, scope)))
            .map(|(scope, path)| path.map(|path| (scope, register::look(harness, &path), path)));
        let is_registered = seen.iter().flatten().any(|(_, seen, _)| !matches!(seen, Seen::Nothing));
        if is_registered {
            report.harness(harness, &seen, &places, &root, calls.as_deref().unwrap_or_default());
        } else if here.contains(&harness) {
            report.line(&format!("{}: not registered; `dogwatch install {}`", harness.name, harness.id));
        } else {
            absent.push(harness.name);
        }
    }
    if !absent.is_empty() {
        report.line(&format!("Not found on this machine: {}", absent.join(", ")));
    }
    write_out(&mut io::stdout(), &report.text)?;
    Ok(if report.is_broken { ExitCode::from(super::FAILED) } else { ExitCode::SUCCESS })
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// When each harness called dogwatch in this project last, as the trace tells.
fn calls(root: &Root) -> Option<Vec<Firing>> {
    let state = Folder::open_state_of(&root.home()?).ok()??;
    Some(trace::newest(&state))
}

struct Report {
    text: String,
    is_broken: bool,
}

impl Report {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}", printable(line, usize::MAX));
    }

    fn project(&mut self, root: &Root, surroundings: &Surroundings) {
        let path = root.path.display();
        let Some(home) = root.home() else {
            self.line(&format!("Project {path}: no home; dogwatch is silent here until `dogwatch init`"));
            return;
        };
        let counted = config::of_project(&root.path, &home, surroundings.state_folder.as_deref());
        if let scope::Scope::Out(why) = scope::scope(root, &counted.config.scope, env::is_set) {
            self.line(&format!("Project {path}: dogwatch is silent here: {why}"));
            return;
        }
        let config = match (&counted.trust, counted.loaded.problems.is_empty()) {
            (_, false) => "; config.toml has problems and does not count, `dogwatch trust --show` lists them",
            (None | Some(TrustState::Trusted), true) => "",
            (Some(TrustState::Untrusted), true) => {
                "; config.toml waits for you: nothing in it counts until `dogwatch trust`"
            }
            (Some(TrustState::Changed), true) => {
                "; config.toml has changed and waits for you: nothing in it counts until `dogwatch trust`"
            }
        };
        self.line(&format!("Project {path}: has a home{config}"));
    }

    fn harness(
        &mut self,
        harness: &'static Harness,
        seen: &[Option<(Scope, Seen, PathBuf)>; 2],
        places: &Places<'_>,
        root: &Root,
        calls: &[Firing],
    ) {
        let last = calls
            .iter()
            .find(|call| Harness::by_name(&call.harness).is_some_and(|(known, _)| known == harness));
        let is_registered = seen.iter().flatten().any(|(_, seen, _)| matches!(seen, Seen::Registered(_)));
        let heading = match last {
            Some(call) => called(call),
            None if is_registered => never(root),
            None => "whether dogwatch is registered cannot be told".to_owned(),
        };
        self.line(&format!("{}: {heading}", harness.name));
        for (scope, seen, path) in seen.iter().flatten() {
            let whose = match scope {
                Scope::User => "yours",
                Scope::Project => "the project's",
            };
            let path_shown = path.display();
            match seen {
                Seen::Nothing => {}
                Seen::Unreadable { why, has_ours } => {
                    self.is_broken |= has_ours;
                    let word = if *has_ours { "broken " } else { "unread " };
                    self.line(&format!("  {word}  {whose}: {why}"));
                }
                Seen::Registered(registered) if registered.faults.is_empty() => {
                    let (word, why) = consent(harness, *scope, path, places, root, last.is_some());
                    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                    self.line(&format!("  {word}    {whose}, {path_shown}{why}"));
                }
                Seen::Registered(registered) => {
                    self.is_broken = true;
                    for fault in &registered.faults {
                        self.line(&format!("  broken   {whose}, {path_shown}: {fault}"));
                    }
                }
            }
        }
        if harness.tier == Tier::Nudge {
            self.line(
                "  note     its sessions are asked to run `dogwatch open`; no digest can be put before them",
            );
        }
    }
}

/// Whether the harness runs what stands there, as far as its own files tell.
fn consent(
    harness: &Harness,
    scope: Scope,
    path: &Path,
    places: &Places<'_>,
    root: &Root,
    was_called: bool,
) -> (&'static str, Option<&'static str>) {
    let ready = if was_called { "works" } else { "ready" };
    let Some(user_folder) = places.user_folder(harness) else { return (ready, None) };
    let asked = Asked {
        is_project: scope == Scope::Project,
        user_folder: &user_folder,
        home_folder: places.home_folder,
        root: &root.path,
        file: path,
    };
    match (harness.registration.consent)(&asked) {
        Consent::Given => (ready, None),
        Consent::Missing(why) => ("waits", Some(why)),
        Consent::Unknown(_) if was_called => (ready, None),
        Consent::Unknown(why) => ("ready", Some(why)),
    }
}

fn never(root: &Root) -> String {
    if root.home().is_some() {
        "registered, has not called dogwatch in this project yet".to_owned()
    } else {
        "registered".to_owned()
    }
}

fn called(call: &Firing) -> String {
    let event = EventKind::from_id(&call.event).map_or("event", EventKind::id);
    let ago = call
        .time
        .parse::<Timestamp>()
        .ok()
        .and_then(|time| {
            let seconds = Timestamp::now().duration_since(time).as_secs().max(0);
            Some(match seconds {
                0..60 => "just now".to_owned(),
                60..7_200 => format!("{} min ago", seconds / 60),
                7_200..172_800 => format!("{} h ago", seconds / 3_600),
                _ => format!("on {}", time.to_string().get(..10)?),
            })
        })
        .unwrap_or_else(|| "at an unknown time".to_owned());
    format!("last called {ago} ({event})")
}
