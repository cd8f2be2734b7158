//! A lock that the kernel gives back when its holder is killed: flock(2) on a regular file of a private folder.

use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::sys::stat::fstat;

use super::{Folder, StateError};

/// The pauses between two tries, from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_micros(200);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// Held until it is dropped, or until this process is gone.
#[derive(Debug)]
pub struct Lock {
    _file: Flock<File>,
}

impl Folder {
    /// Takes the lock of that name, trying again for at most `bound`. `None` if others had it all that time.
    ///
    /// # Errors
    /// Where the file cannot be made or opened, is not a regular one, or its file system has no locks.
    pub fn lock(&self, name: &str, bound: Duration) -> Result<Option<Lock>, StateError> {
        self.check(name)?;
        let end = Instant::now() + bound;
        let mut pause = FIRST_PAUSE;
        loop {
            let Some(file) = self.open_file(name, OFlag::O_RDWR | OFlag::O_CREAT)? else {
                return Err(self.os("open", name, Errno::ENOENT));
            };
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                // A lock on a file that somebody has removed since would keep nobody out.
                Ok(file) if self.is_still(name, &file)? => return Ok(Some(Lock { _file: file })),
                Ok(_) | Err((_, Errno::EWOULDBLOCK | Errno::EINTR)) => {}
                Err((_, errno)) => return Err(self.os("lock", name, errno)),
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Whether that open file is still the one of that name.
    fn is_still(&self, name: &str, file: &File) -> Result<bool, StateError> {
        let opened = fstat(file).map_err(|errno| self.os("look at", name, errno))?;
        let named = self.look(name)?;
        Ok(named.is_some_and(|named| (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicU32, Ordering};

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn one_at_a_time_has_it() {
        let home = tempfile::tempdir().unwrap();
        let inside = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let state = Folder::state_of(home.path()).unwrap();
                    for _ in 0..20 {
                        let lock = state.lock("a.lock", LONG).unwrap().unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
    }

    #[test]
    fn one_at_a_time_has_it_even_if_the_file_is_removed_again_and_again() {
        let home = tempfile::tempdir().unwrap();
        let inside = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let state = Folder::state_of(home.path()).unwrap();
                    for _ in 0..200 {
                        let lock = state.lock("a.lock", LONG).unwrap().unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        state.remove("a.lock").unwrap();
                        drop(lock);
                    }
                });
            }
        });
    }

    #[test]
    fn the_wait_is_bounded() {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        let _lock = state.lock("a.lock", LONG).unwrap().unwrap();
        let begin = Instant::now();
        assert!(state.lock("a.lock", Duration::from_millis(50)).unwrap().is_none());
        assert!(begin.elapsed() >= Duration::from_millis(50));
        assert!(state.lock("a.lock", Duration::ZERO).unwrap().is_none());
    }

    #[test]
    fn what_the_file_holds_is_of_no_account() {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        state.write_atomic("a.lock", b"\xff 99999 garbage").unwrap();
        assert!(state.lock("a.lock", Duration::ZERO).unwrap().is_some());
    }

    #[test]
    fn a_link_a_folder_or_a_fifo_is_an_error_at_once() {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        symlink("/dev/null", state.path().join("link")).unwrap();
        symlink("nowhere", state.path().join("dangling")).unwrap();
        fs::create_dir(state.path().join("folder")).unwrap();
        mkfifo(&state.path().join("fifo"), Mode::S_IRWXU).unwrap();
        for name in ["link", "dangling", "folder", "fifo"] {
            let refused = state.lock(name, LONG).unwrap_err();
            assert!(matches!(refused, StateError::NotRegular(_)), "{name}: {refused}");
        }
        assert!(!state.path().join("nowhere").exists());
    }

    #[test]
    fn a_lock_on_a_file_that_was_removed_keeps_nobody_out() {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        let old = state.lock("a.lock", LONG).unwrap().unwrap();
        state.remove("a.lock").unwrap();
        let new = state.lock("a.lock", Duration::ZERO).unwrap();
        assert!(new.is_some());
        drop(old);
        assert!(state.lock("a.lock", Duration::ZERO).unwrap().is_none(), "the new one still holds");
    }
}
