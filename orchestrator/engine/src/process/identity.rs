//! Who a process is: a pid alone is recycled, so its start time and the boot belong to it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};

use super::{procfs, sys};

/// No process is waited for longer than a year.
const LONGEST_WAIT: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// A process, for as long as the machine is not booted again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The process id, as seen in this PID namespace.
    pub pid: i32,
    /// The start time in clock ticks since boot (`/proc/<pid>/stat`, field 22; see `proc(5)`).
    pub start_time: u64,
    /// The boot (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: String,
}

impl Identity {
    /// The identity of a living process.
    ///
    /// # Errors
    /// Where `/proc` cannot be read or has no such process.
    pub fn of(pid: i32) -> io::Result<Self> {
        let stat = procfs::stat(pid).ok_or_else(|| io::Error::from_raw_os_error(nix::libc::ESRCH))?;
        Ok(Self { pid, start_time: stat.start_time, boot_id: boot_id()? })
    }

    /// The identity of the calling process.
    ///
    /// # Errors
    /// Where `/proc` cannot be read.
    pub fn current() -> io::Result<Self> {
        Self::of(nix::unistd::getpid().as_raw())
    }

    /// Whether that very process still runs. A zombie does not.
    pub fn is_alive(&self) -> bool {
        procfs::stat(self.pid).is_some_and(|stat| stat.start_time == self.start_time && !stat.is_dead())
            && boot_id().is_ok_and(|boot| boot == self.boot_id)
    }

    /// Ends that very process with SIGKILL, and never one that has its id now; whether it was there to be ended.
    pub fn kill(&self) -> bool {
        self.pidfd().is_some_and(|pidfd| sys::pidfd_signal(&pidfd, nix::libc::SIGKILL).is_ok())
    }

    /// Waits for the end of that very process, at most so long; whether it has ended.
    pub fn wait_for_end(&self, bound: Duration) -> bool {
        let until = Instant::now() + bound.min(LONGEST_WAIT);
        while let Some(pidfd) = self.pidfd() {
            let left = until.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
            // Rounded up: a wait that ends a fraction of a millisecond early would spin.
            let wait = left + Duration::from_micros(999);
            match poll(&mut fds, PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX)) {
                Ok(1..) => return true,
                _ if left.is_zero() => return false,
                _ => {}
            }
        }
        true
    }

    /// A descriptor of that very process, while it lives.
    fn pidfd(&self) -> Option<OwnedFd> {
        let pidfd = sys::pidfd_open(self.pid).ok()?;
        // Only now is it certain that it is no stranger with a recycled id.
        self.is_alive().then_some(pidfd)
    }
}

fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}
