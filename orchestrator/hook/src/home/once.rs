//! `state/once/<hash>`: which of several hooks of one event acts on it.
//!
//! Where an event is registered twice, both hooks fire at the same time with the same payload. The first that makes the
//! file owns the event; a file that is older than that is of an earlier event that looked alike, and is taken over.

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::state::{Folder, StateError, is_regular};
use super::trust::hex;

/// The folder in `state/`.
pub const FOLDER: &str = "once";
const LOCK_NAME: &str = "once.lock";
/// For how long the first owner keeps others away.
const OWNED_SECONDS: u64 = 5;
/// The age from which session open removes a file.
const OLD_SECONDS: u64 = 60;
/// How long a hook waits for others that take over old files.
const TAKE_OVER_BOUND: Duration = Duration::from_millis(250);
/// The most files that one session open looks at.
const MOST_NAMES: usize = 1000;

/// Whether this hook owns the event: of any number with the same session, event and payload within five seconds exactly
/// one does. Where that cannot be found out it does, because an event that nobody handles is worse than one that two
/// handle.
pub fn claim(state: &Folder, session: &str, event: &str, payload_hash: &[u8; 32], now: Timestamp) -> bool {
    try_claim(state, &file_name(session, event, payload_hash), now).unwrap_or(true)
}

/// Removes the files that are older than a minute, as far as a bounded look finds them; how many.
pub fn remove_old(state: &Folder, now: Timestamp) -> usize {
    let Ok(Some(folder)) = state.open_sub(FOLDER) else { return 0 };
    let mut files = folder.files(MOST_NAMES).unwrap_or_default();
    files.retain(|file| age_seconds(file.modified_seconds, now) > OLD_SECONDS);
    if files.is_empty() {
        return 0;
    }
    // Under the lock, and looked at again, so that none goes that a hook has just taken over.
    let Ok(Some(_lock)) = state.lock(LOCK_NAME, TAKE_OVER_BOUND) else { return 0 };
    let is_removed = |name: &str| {
        matches!(folder.look(name), Ok(Some(stat)) if age_seconds(stat.st_mtime, now) > OLD_SECONDS)
            && folder.remove(name).unwrap_or(false)
    };
    files.iter().filter(|file| is_removed(&file.name)).count()
}

fn try_claim(state: &Folder, name: &str, now: Timestamp) -> Result<bool, StateError> {
    let folder = state.sub(FOLDER)?;
    if folder.create_new(name)? {
        return Ok(true);
    }
    if is_owned(&folder, name, now)? {
        return Ok(false);
    }
    // One at a time looks again and puts a new file in the old one's place; the next one finds that.
    let Some(_lock) = state.lock(LOCK_NAME, TAKE_OVER_BOUND)? else {
        return Ok(!is_owned(&folder, name, now)?);
    };
    if is_owned(&folder, name, now)? {
        return Ok(false);
    }
    folder.write_atomic(name, b"")?;
    Ok(true)
}

/// Whether another hook has the event: there is a file, one that a hook made, and it is young.
fn is_owned(folder: &Folder, name: &str, now: Timestamp) -> Result<bool, StateError> {
    let Some(stat) = folder.look(name)? else { return Ok(false) };
    Ok(is_regular(&stat) && age_seconds(stat.st_mtime, now) < OWNED_SECONDS)
}

/// How far apart they are: what is from the future was written before a clock was set back.
fn age_seconds(modified_seconds: i64, now: Timestamp) -> u64 {
    now.as_second().abs_diff(modified_seconds)
}

fn file_name(session: &str, event: &str, payload_hash: &[u8; 32]) -> String {
    let mut hasher = Sha256::new();
    // Each with its length, so that no two events give the same bytes.
    for part in [session.as_bytes(), event.as_bytes()] {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hasher.update(payload_hash);
    let digest: [u8; 32] = hasher.finalize().into();
    hex(&digest)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, FileTimes};
    use std::os::unix::fs::symlink;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::SystemTime;

    use super::*;

    const ONE: [u8; 32] = [1; 32];

    fn home() -> (tempfile::TempDir, Folder) {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        (home, state)
    }

    fn now() -> Timestamp {
        Timestamp::now()
    }

    /// Makes the files as old as that.
    fn age(state: &Folder, seconds: u64) {
        for entry in fs::read_dir(state.path().join(FOLDER)).unwrap() {
            let then = SystemTime::now() - Duration::from_secs(seconds);
            let file = fs::File::open(entry.unwrap().path()).unwrap();
            file.set_times(FileTimes::new().set_modified(then)).unwrap();
        }
    }

    #[test]
    fn the_first_owns_the_event_and_a_second_does_not() {
        let (_home, state) = home();
        assert!(claim(&state, "s", "prompt", &ONE, now()));
        assert!(!claim(&state, "s", "prompt", &ONE, now()));
    }

    #[test]
    fn another_session_event_or_payload_is_another_event() {
        let (_home, state) = home();
        assert!(claim(&state, "s", "prompt", &ONE, now()));
        assert!(claim(&state, "t", "prompt", &ONE, now()));
        assert!(claim(&state, "s", "stop", &ONE, now()));
        assert!(claim(&state, "s", "prompt", &[2; 32], now()));
        assert!(claim(&state, "sp", "rompt", &ONE, now()));
    }

    #[test]
    fn an_older_one_is_taken_over_once() {
        let (_home, state) = home();
        assert!(claim(&state, "s", "prompt", &ONE, now()));
        age(&state, 3);
        assert!(!claim(&state, "s", "prompt", &ONE, now()));
        age(&state, 6);
        assert!(claim(&state, "s", "prompt", &ONE, now()));
        assert!(!claim(&state, "s", "prompt", &ONE, now()));
    }

    #[test]
    fn one_from_before_the_clock_was_set_back_is_taken_over() {
        let (_home, state) = home();
        assert!(claim(&state, "s", "prompt", &ONE, now()));
        let earlier = now() - jiff::SignedDuration::from_hours(1);
        assert!(claim(&state, "s", "prompt", &ONE, earlier));
    }

    #[test]
    fn of_many_exactly_one_makes_it_and_exactly_one_takes_it_over() {
        let (_home, state) = home();
        for round in 0..20_u8 {
            for old in [false, true] {
                if old {
                    age(&state, 30);
                }
                let (barrier, owners) = (Barrier::new(8), AtomicU32::new(0));
                thread::scope(|scope| {
                    for _ in 0..8 {
                        scope.spawn(|| {
                            barrier.wait();
                            if claim(&state, "s", "stop", &[round; 32], now()) {
                                owners.fetch_add(1, Ordering::SeqCst);
                            }
                        });
                    }
                });
                assert_eq!(owners.into_inner(), 1, "round {round}, old: {old}");
            }
        }
    }

    #[test]
    fn what_no_hook_made_keeps_nobody_away() {
        let (home, state) = home();
        let name = file_name("s", "stop", &ONE);
        let folder = state.sub(FOLDER).unwrap();
        symlink(home.path().join("target"), folder.path().join(&name)).unwrap();
        assert!(claim(&state, "s", "stop", &ONE, now()), "a link is replaced");
        assert!(!claim(&state, "s", "stop", &ONE, now()));
        assert!(!home.path().join("target").exists());
        folder.remove(&name).unwrap();
        fs::create_dir(folder.path().join(&name)).unwrap();
        assert!(claim(&state, "s", "stop", &ONE, now()), "a folder cannot be, and the event is handled");
        assert!(claim(&state, "s", "stop", &ONE, now()));
    }

    #[test]
    fn where_it_cannot_be_found_out_the_event_is_handled() {
        let (_home, state) = home();
        fs::write(state.path().join(FOLDER), "").unwrap();
        assert!(claim(&state, "s", "stop", &ONE, now()));
        assert_eq!(remove_old(&state, now()), 0);
    }

    #[test]
    fn old_files_are_removed_and_young_ones_stay() {
        let (_home, state) = home();
        assert_eq!(remove_old(&state, now()), 0);
        claim(&state, "old", "stop", &ONE, now());
        age(&state, 62);
        claim(&state, "young", "stop", &ONE, now());
        assert_eq!(remove_old(&state, now()), 1);
        assert!(!claim(&state, "young", "stop", &ONE, now()));
    }
}
