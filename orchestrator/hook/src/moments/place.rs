//! Where a call stands: the project's root, whether dogwatch speaks there, the home and the config that counts.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::call::Call;
use crate::config::{self, Config, Loaded};
use crate::env;
use crate::harness::{Event, EventKind};
use crate::home::homes::{Homes, Tracking};
use crate::home::root::{Root, RootKind, find_root};
use crate::home::roots;
use crate::home::scope;
use crate::home::state::Folder;
use crate::home::trace::{self, Firing};
use crate::home::trust::TrustState;

/// How large the trace outside of homes may become.
const OUTSIDE_TRACE_BYTES: u64 = 4 * 1024 * 1024;

/// Where a call stands.
pub(super) struct Place {
    pub(super) root: Root,
    pub(super) standing: Standing,
    /// `$XDG_STATE_HOME/dogwatch`.
    pub(super) own_folder: Option<PathBuf>,
    /// Without a time zone: finding out the local one reads a folder of folders.
    pub(super) now: Timestamp,
}

/// Whether dogwatch speaks here.
pub(super) enum Standing {
    In(Box<Home>),
    /// It does not: why, for the trace.
    Out(&'static str),
}

/// The home of a call that stands in scope.
pub(super) struct Home {
    pub(super) folder: PathBuf,
    /// The state folder, or why nothing can be written.
    state: Result<Folder, String>,
    /// Whether git tracks the state folder.
    tracking: Tracking,
    pub(super) loaded: Loaded,
    pub(super) trust: Option<TrustState>,
    /// The config that counts: the defaults where the project's is not trusted.
    pub(super) config: Config,
}

impl Home {
    /// The state folder, where it can be opened: whether git tracks it may still have to be asked.
    pub(super) fn state(&self) -> Result<&Folder, &str> {
        self.state.as_ref().map_err(String::as_str)
    }

    /// Whether git tracks the state folder, as far as that was noted.
    pub(super) fn tracking(&self) -> Tracking {
        self.tracking
    }

    /// The state folder, where it may be written without asking git.
    pub(super) fn usable_state(&self) -> Option<&Folder> {
        self.state.as_ref().ok().filter(|_| self.tracking == Tracking::Untracked)
    }
}

impl Place {
    pub(super) fn find(call: &Call, event: &Event, kind: EventKind) -> Self {
        let own_folder = env::state_folder();
        let home_folder = env::home_folder();
        let session = event.session_id.as_deref();
        let remembered = match (&own_folder, session, kind) {
            (_, _, EventKind::SessionOpen) => None,
            (Some(own_folder), Some(session), _) => roots::recall(own_folder, call.harness.id, session),
            _ => None,
        };
        let root = match remembered {
            Some(path) => find_root(&path, home_folder.as_deref()),
            None => find_root(&start(call, event, home_folder.as_deref()), home_folder.as_deref()),
        };
        let standing = standing(&root, own_folder.as_deref());
        let place = Self { root, standing, own_folder, now: Timestamp::now() };
        // A sub-agent bears the session's id and may work elsewhere.
        let session = session.filter(|_| event.agent_id.is_none());
        if let (EventKind::SessionOpen, Standing::In(_), Some(own_folder), Some(session)) =
            (kind, &place.standing, &place.own_folder, session)
        {
            // What cannot be kept is not known later: moments go by the rule, the guard by the built-in floor.
            let common_dir = place.root.git.as_ref().map(|git| git.common_dir.as_path());
            let _ = Homes::new(own_folder).remember(&place.root.path, common_dir);
            let _ = roots::remember(own_folder, call.harness.id, session, &place.root.path);
        }
        place
    }

    pub(super) fn firing(&self, call: &Call, event: &Event, kind: EventKind) -> Firing {
        Firing {
            time: trace::time(self.now),
            harness: call.name.to_owned(),
            harness_version: event.version.clone(),
            session: event.session_id.clone(),
            event: kind.id().to_owned(),
            source: call.source.clone().or_else(|| event.source.clone()),
            moment: kind.id().to_owned(),
            decision: "nothing".to_owned(),
            os: if env::is_set("WSL_DISTRO_NAME") { "wsl" } else { "linux" }.to_owned(),
            pid: std::process::id(),
            ..Firing::default()
        }
    }

    /// One line per firing: in the home, and where there is none or it may not be written, in dogwatch's own folder, as
    /// long as that has not grown large.
    pub(super) fn trace(&self, firing: &Firing, usable_now: bool) {
        let state = match &self.standing {
            Standing::In(home) if usable_now => home.state().ok(),
            Standing::In(home) => home.usable_state(),
            Standing::Out(_) => None,
        };
        let has_room = |folder: &Path| {
            let file = folder.join(trace::FILE_NAME);
            file.symlink_metadata().map_or(true, |data| data.len() < OUTSIDE_TRACE_BYTES)
        };
        // A trace that cannot be written costs nobody anything.
        let _ = match (state, &self.own_folder) {
            (Some(state), _) => trace::append(state, firing),
            (None, Some(own_folder)) if has_room(own_folder) => {
                trace::append_without_home(own_folder, firing)
            }
            _ => Ok(()),
        };
    }
}

/// The folder that the project is looked for from: as given, else as the harness names it, else the payload's working
/// folder, else ours. Of several folders of a workspace it is the first that has a home.
fn start(call: &Call, event: &Event, home_folder: Option<&Path>) -> PathBuf {
    if let Some(root) = &call.root {
        return root.clone();
    }
    let has_home = |folder: &&PathBuf| find_root(folder, home_folder).kind == RootKind::Home;
    // The variable of a workspace of several folders names but one of them.
    let named = call.harness.root_variables.iter().find_map(|name| env::folder(name));
    let folders: Vec<&PathBuf> = named.iter().chain(&event.roots).collect();
    let of_workspace = match folders.as_slice() {
        [only] => Some(*only),
        several => several.iter().copied().find(has_home).or(several.first().copied()),
    };
    let current = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    of_workspace.or(event.cwd.as_ref()).cloned().unwrap_or_else(current)
}

fn standing(root: &Root, own_folder: Option<&Path>) -> Standing {
    let Some(folder) = root.home() else { return Standing::Out("no-home") };
    let config::Counted { loaded, trust, config } = config::of_project(&root.path, &folder, own_folder);
    if let scope::Scope::Out(why) = scope::scope(root, &config.scope, env::is_set) {
        return Standing::Out(why);
    }
    let was_there = std::fs::symlink_metadata(folder.join("state")).is_ok();
    let state = Folder::state_of(&folder).map_err(|error| error.to_string());
    if let (Ok(state), false, Some(own_folder)) = (&state, was_there, own_folder) {
        // We have just made it, so nothing in it came with the repository. If that cannot be noted, git is asked.
        let _ = Homes::new(own_folder).note_tracking(&root.path, state, false);
    }
    let tracking = match (&state, &root.git, own_folder) {
        (Ok(_), None, _) => Tracking::Untracked,
        (Ok(state), Some(_), Some(own_folder)) => Homes::new(own_folder).tracking(&root.path, state),
        _ => Tracking::Unknown,
    };
    Standing::In(Box::new(Home { folder, state, tracking, loaded, trust, config }))
}
