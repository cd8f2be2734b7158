//! Whether a process of a row is still there, and whether we could tell: it may be on another machine, or in a PID
//! namespace that we do not see.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;

use dogwatch_engine::process::Identity;
use jiff::Timestamp;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// After this long without an event a session that shares its process with others is taken for ended.
const SILENCE_SECONDS: i64 = 10 * 60;

/// Why something that a row says no longer holds. Displayed as a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The process has ended.
    Dead,
    /// Another process has its id now.
    Recycled,
    /// The machine was booted since.
    OtherBoot,
    /// It shares a process, and had no event for ten minutes.
    Silent,
    /// The row cannot be read as one.
    Unreadable,
    /// A person took the helm from it.
    TakenAway,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Dead => "its process has ended",
            Why::Recycled => "its process has ended and another has its id",
            Why::OtherBoot => "the machine was booted since",
            Why::Silent => "it had no event for ten minutes",
            Why::Unreadable => "its row cannot be read",
            Why::TakenAway => "a person took the helm from it",
        })
    }
}

/// What can be said of a session that a row tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Liveness {
    /// It is there.
    Alive,
    /// It is not.
    Stale(Why),
    /// It cannot be seen from here, and so is never taken for ended. Says why, as a fragment.
    Invisible(String),
}

/// Where a process was seen from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Vantage {
    /// The host's name.
    pub(super) host: String,
    /// The inode of the PID namespace; `None` where it was not to be had.
    pub(super) pid_namespace: Option<u64>,
}

impl Vantage {
    /// Where this process sees from.
    pub(super) fn here() -> Vantage {
        Vantage {
            host: fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
            pid_namespace: fs::metadata("/proc/self/ns/pid").ok().map(|data| data.ino()),
        }
    }
}

/// Looks whether a process that was seen from `there` still runs.
pub(super) fn look(process: &Identity, there: &Vantage, here: &Vantage) -> Liveness {
    if there.host != here.host {
        return Liveness::Invisible(format!("on another host ({})", crate::text::line(&there.host)));
    }
    // Every process of another boot has ended, whatever namespace it was in.
    let Ok(boot_id) = Identity::current().map(|current| current.boot_id) else {
        return Liveness::Invisible("hidden, because /proc cannot be read".to_owned());
    };
    if boot_id != process.boot_id {
        return Liveness::Stale(Why::OtherBoot);
    }
    if there.pid_namespace.is_some() && there.pid_namespace != here.pid_namespace {
        return Liveness::Invisible("in another PID namespace".to_owned());
    }
    if process.pid <= 0 {
        return Liveness::Stale(Why::Unreadable);
    }
    match Identity::of(process.pid) {
        Ok(found) if found.start_time != process.start_time => Liveness::Stale(Why::Recycled),
        Ok(_) if process.is_alive() => Liveness::Alive,
        Ok(_) => Liveness::Stale(Why::Dead),
        // proc(5), hidepid: a process of another user may run and have no entry.
        Err(_) => match kill(Pid::from_raw(process.pid), None) {
            Err(Errno::ESRCH) => Liveness::Stale(Why::Dead),
            // It came between the two looks, so it is another one, or it is hidden from us.
            _ => match Identity::of(process.pid) {
                Ok(found) if found.start_time != process.start_time => Liveness::Stale(Why::Recycled),
                _ => Liveness::Invisible("hidden from this user".to_owned()),
            },
        },
    }
}

/// Whether an event that happened `then` (RFC 3339) is too long ago. So is one that no clock of ours told: unreadable,
/// or as far in the future.
pub(super) fn is_silent(then: &str, now: Timestamp) -> bool {
    then.parse::<Timestamp>()
        .map_or(true, |then| now.as_second().abs_diff(then.as_second()) > SILENCE_SECONDS.unsigned_abs())
}

/// A time as rows keep it: RFC 3339, whole seconds.
pub(super) fn stamp(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// The same to the millisecond, where the order of events within a second counts.
pub(super) fn fine_stamp(now: Timestamp) -> String {
    format!("{now:.3}")
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn me() -> Identity {
        Identity::current().unwrap()
    }

    #[test]
    fn this_process_is_alive() {
        let here = Vantage::here();
        assert!(here.pid_namespace.is_some() && !here.host.is_empty());
        assert_eq!(look(&me(), &here, &here), Liveness::Alive);
    }

    #[test]
    fn a_zombie_and_a_reaped_process_are_dead() {
        let here = Vantage::here();
        let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let identity = Identity::of(i32::try_from(child.id()).unwrap()).unwrap();
        assert_eq!(look(&identity, &here, &here), Liveness::Alive);
        child.kill().unwrap();
        nix::sys::wait::waitid(
            nix::sys::wait::Id::Pid(Pid::from_raw(identity.pid)),
            nix::sys::wait::WaitPidFlag::WEXITED | nix::sys::wait::WaitPidFlag::WNOWAIT,
        )
        .unwrap();
        assert_eq!(look(&identity, &here, &here), Liveness::Stale(Why::Dead), "a zombie");
        child.wait().unwrap();
        assert!(matches!(look(&identity, &here, &here), Liveness::Stale(Why::Dead | Why::Recycled)));
    }

    #[test]
    fn another_start_time_is_another_process() {
        let here = Vantage::here();
        let other = Identity { start_time: me().start_time + 1, ..me() };
        assert_eq!(look(&other, &here, &here), Liveness::Stale(Why::Recycled));
    }

    #[test]
    fn another_boot_is_over_even_for_a_process_that_looks_alike() {
        let here = Vantage::here();
        let other = Identity { boot_id: "another".to_owned(), ..me() };
        assert_eq!(look(&other, &here, &here), Liveness::Stale(Why::OtherBoot));
        let there = Vantage { pid_namespace: Some(1), ..here.clone() };
        assert_eq!(look(&other, &there, &here), Liveness::Stale(Why::OtherBoot), "in another namespace, too");
    }

    #[test]
    fn what_is_on_another_host_or_in_another_namespace_is_never_taken_for_ended() {
        let here = Vantage::here();
        let gone = Identity { start_time: 1, ..me() };
        for there in [
            Vantage { host: "elsewhere".to_owned(), ..here.clone() },
            Vantage { pid_namespace: Some(1), ..here.clone() },
        ] {
            assert!(matches!(look(&gone, &there, &here), Liveness::Invisible(_)), "{there:?}");
        }
        let other_boot = Identity { boot_id: "another".to_owned(), ..me() };
        let there = Vantage { host: "elsewhere".to_owned(), ..here.clone() };
        assert!(matches!(look(&other_boot, &there, &here), Liveness::Invisible(_)));
    }

    #[test]
    fn no_process_has_such_an_id() {
        let here = Vantage::here();
        for pid in [0, -1, i32::MIN] {
            let none = Identity { pid, ..me() };
            assert_eq!(look(&none, &here, &here), Liveness::Stale(Why::Unreadable), "{pid}");
        }
        let none = Identity { pid: i32::MAX, ..me() };
        assert_eq!(look(&none, &here, &here), Liveness::Stale(Why::Dead));
    }

    #[test]
    fn silence_is_ten_minutes_either_way() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        assert!(!is_silent("2026-11-30T12:00:00Z", now));
        assert!(!is_silent("2026-11-30T11:50:00Z", now));
        assert!(is_silent("2026-11-30T11:49:59Z", now));
        assert!(!is_silent("2026-11-30T12:10:00Z", now));
        assert!(is_silent("2026-11-30T12:10:01Z", now));
        assert!(is_silent("", now));
        assert_eq!(stamp("2026-11-30T12:00:00.9Z".parse().unwrap()), "2026-11-30T12:00:00Z");
    }
}
