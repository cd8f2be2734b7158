//! The scratch folder of a simulator run, and who clears it away when the simulator is killed: the *keeper*, this very
//! program started once more, which knows of the folder before there is one and waits for the simulator's end.
//!
//! Everything that a run makes in the temporary folder is below this one. Should the keeper be killed as well, the next
//! run's sweeps up what is left.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, PipeWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};

use crate::env;
use crate::recording::fresh_uuid;

/// The keeper's `argv[0]`.
const KEEPER: &str = "harness-sim-keeper";
/// How the name of a scratch folder begins.
const PREFIX: &str = "harness-sim-";
/// A file in it that is locked for as long as its simulator lives.
const ALIVE: &str = "alive";
/// What that file says: nobody else's folder has it.
const MARK: &str = "scratch folder of a harness-sim run\n";
/// A folder without a lock that is younger may be one that is just being made or cleared.
const SWEPT_AGE: Duration = Duration::from_secs(600);
/// How long the hooks of a simulator that was killed may take to be gone.
const END_BOUND: Duration = Duration::from_secs(10);
/// How long it is tried to clear a folder that somebody may still write to.
const CLEAR_BOUND: Duration = Duration::from_secs(10);
/// How long to wait before it is tried again.
const CLEAR_PAUSE: Duration = Duration::from_millis(10);
/// How long a keeper may take to end once there is nothing to keep.
const KEEPER_BOUND: Duration = Duration::from_secs(2);

/// A scratch folder; gone when it is dropped, and when this process is killed.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    /// Open for as long as this process lives, and nobody else has it. `None` only while it is being dropped.
    lifeline: Option<PipeWriter>,
    keeper: Child,
    /// Its lock is held for as long as this process lives. `None` only while it is being made.
    alive: Option<File>,
}

impl Scratch {
    /// Makes one. The program plays the keeper.
    ///
    /// # Errors
    /// Where the keeper cannot be started, or the folder cannot be made.
    pub(super) fn new(program: &Path) -> io::Result<Self> {
        let top = std::path::absolute(tempfile::env::temp_dir())?;
        let path = top.join(format!("{PREFIX}{}", fresh_uuid()));
        let (theirs, ours) = io::pipe()?;
        // A process group of its own: what a terminal sends to the one in front does not reach it.
        let keeper = Command::new(program)
            .arg0(KEEPER)
            .env_clear()
            .env(env::KEPT_FOLDER, &path)
            .current_dir("/")
            .process_group(0)
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut scratch = Self { path, lifeline: Some(ours), keeper, alive: None };
        scratch.alive = Some(make(&scratch.path)?);
        Ok(scratch)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Tells the keeper whose end it has to wait for before it clears the folder away: everybody who may write there is
    /// below this process.
    pub(super) fn await_end_of(&mut self, supervisor: i32) {
        if let Some(lifeline) = &mut self.lifeline {
            let _ = writeln!(lifeline, "{supervisor}");
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = remove(&self.path);
        self.lifeline = None;
        // One that is still busy clearing is not waited for.
        let end = pidfd(self.keeper.id().try_into().unwrap_or_default());
        if end.is_none_or(|end| is_ready(&end, KEEPER_BOUND)) {
            let _ = self.keeper.wait();
        }
    }
}

/// Makes the folder, with a file whose lock is held from then on.
fn make(path: &Path) -> io::Result<File> {
    fs::DirBuilder::new().mode(0o700).create(path)?;
    let mut alive = File::create_new(path.join(ALIVE))?;
    alive.lock()?;
    alive.write_all(MARK.as_bytes())?;
    Ok(alive)
}

/// In a process that was started as a keeper: waits for the simulator's end, clears its folder away, and never returns.
pub(crate) fn serve_if_keeper() {
    let Some(folder) = env::kept_folder() else { return };
    // Somebody else's variable of that name must not cost them a folder.
    let is_scratch = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    if !is_scratch || std::env::args_os().next().as_deref() != Some(OsStr::new(KEEPER)) {
        return;
    }
    let _ = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]).thread_block();
    if let Some(top) = folder.parent() {
        sweep(top, SystemTime::now());
    }
    let supervisor = await_simulator();
    if folder.exists() {
        if let Some(supervisor) = supervisor {
            is_ready(&supervisor, END_BOUND);
        }
        clear(&folder);
    }
    std::process::exit(0);
}

/// Waits for the simulator's end. The supervisor of its hooks, if it has told of one.
fn await_simulator() -> Option<OwnedFd> {
    let mut supervisor = None;
    // Asked for at once: later its id may be another's.
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        supervisor = line.parse().ok().and_then(pidfd).or(supervisor);
    }
    supervisor
}

fn pidfd(pid: i32) -> Option<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(pid)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

/// Whether a descriptor becomes readable within the bound; that of a process does at its end.
fn is_ready(fd: &OwnedFd, bound: Duration) -> bool {
    let bound = PollTimeout::try_from(bound.as_millis()).unwrap_or(PollTimeout::MAX);
    matches!(poll(&mut [PollFd::new(fd.as_fd(), PollFlags::POLLIN)], bound), Ok(1..))
}

/// Removes what nobody keeps any more: folders whose simulator and keeper were both killed.
fn sweep(top: &Path, now: SystemTime) {
    for entry in fs::read_dir(top).into_iter().flatten().flatten() {
        let folder = entry.path();
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && let Some(_lock) = abandoned(&folder, now)
        {
            let _ = remove(&folder);
        }
    }
}

/// Whether it is a scratch folder of this user's that is nobody's any more; then with its lock.
fn abandoned(folder: &Path, now: SystemTime) -> Option<File> {
    let data = fs::symlink_metadata(folder).ok()?;
    if !data.is_dir() || data.uid() != nix::unistd::geteuid().as_raw() {
        return None;
    }
    let file = folder.join(ALIVE);
    let data = fs::symlink_metadata(&file).ok()?;
    let age = now.duration_since(data.modified().ok()?).ok()?;
    if !data.is_file() || age < SWEPT_AGE || fs::read(&file).ok()? != MARK.as_bytes() {
        return None;
    }
    let alive = File::open(&file).ok()?;
    alive.try_lock().ok()?;
    Some(alive)
}

/// Removes a folder that somebody who is being killed may still write to.
fn clear(folder: &Path) {
    let until = Instant::now() + CLEAR_BOUND;
    while remove(folder).is_err() && Instant::now() < until {
        std::thread::sleep(CLEAR_PAUSE);
    }
}

/// Removes a folder with all that is in it, also where a hook has taken its own rights away. One that is not there is
/// fine.
fn remove(folder: &Path) -> io::Result<()> {
    let removed = fs::remove_dir_all(folder).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            open_up(folder);
            fs::remove_dir_all(folder)
        }
        _ => Err(error),
    });
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.exists() => Ok(()),
        removed => removed,
    }
}

fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // A link's own: what it leads to is not ours.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_old_folder_that_nobody_holds_and_that_has_the_mark_is_swept_up() {
        let top = tempfile::tempdir().unwrap();
        let folder = |name: &str| top.path().join(name);
        drop(make(&folder("harness-sim-abandoned")).unwrap());
        let held = make(&folder("harness-sim-held")).unwrap();
        drop(make(&folder("another-name")).unwrap());
        // A person's, who has called it so.
        fs::create_dir(folder("harness-sim-notes")).unwrap();
        fs::write(folder("harness-sim-notes/alive"), "and well").unwrap();
        std::os::unix::fs::symlink(folder("another-name"), folder("harness-sim-link")).unwrap();

        let now = SystemTime::now();
        sweep(top.path(), now);
        assert!(folder("harness-sim-abandoned").exists(), "it may be one that is just being made");
        sweep(top.path(), now + SWEPT_AGE + Duration::from_secs(60));
        let mut left: Vec<_> =
            fs::read_dir(top.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["another-name", "harness-sim-held", "harness-sim-link", "harness-sim-notes"]);
        drop(held);
    }

    #[test]
    fn a_folder_without_rights_is_removed_too() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("folder");
        fs::create_dir_all(folder.join("closed/inner")).unwrap();
        fs::set_permissions(folder.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        remove(&folder).unwrap();
        assert!(!folder.exists());
        remove(&folder).unwrap();
    }
}
