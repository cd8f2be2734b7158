//! The bounds of a run. A bound that exists is valid: nothing below checks again, and nothing switches one off.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The longest deadline: one day.
const LONGEST: Duration = Duration::from_hours(24);
/// The longest grace: one hour.
const LONGEST_GRACE: Duration = Duration::from_hours(1);

/// A duration that cannot be a bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoundError {
    /// A deadline of nothing would stop every run before it started.
    #[error("a deadline must be longer than zero")]
    ZeroDeadline,
    /// A deadline beyond a day is no bound.
    #[error("a deadline may be at most 86400 s, not {} s", .0.as_secs())]
    DeadlineTooLong(Duration),
    /// A grace beyond an hour is no grace.
    #[error("a grace may be at most 3600 s, not {} s", .0.as_secs())]
    GraceTooLong(Duration),
}

/// How long a run may take before it is asked to stop: more than nothing, at most a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Duration);

impl Deadline {
    /// The deadline of a run that names none: 120 s.
    pub const DEFAULT: Self = Self(Duration::from_secs(120));

    /// The longest deadline: a day.
    pub const MAX: Self = Self(LONGEST);

    /// Makes a deadline.
    ///
    /// # Errors
    /// [`BoundError`] for zero and for more than a day.
    pub fn new(duration: Duration) -> Result<Self, BoundError> {
        match duration {
            Duration::ZERO => Err(BoundError::ZeroDeadline),
            longer if longer > LONGEST => Err(BoundError::DeadlineTooLong(longer)),
            duration => Ok(Self(duration)),
        }
    }

    /// The duration.
    pub fn get(self) -> Duration {
        self.0
    }

    /// The shorter of this deadline and what is left until `instant`; at least a millisecond, because a deadline is
    /// never nothing.
    #[must_use]
    pub fn until(self, instant: std::time::Instant) -> Self {
        let left = instant.saturating_duration_since(std::time::Instant::now());
        Self(self.0.min(left).max(Duration::from_millis(1)))
    }
}

/// How long a run has between TERM and KILL: at most an hour; zero means KILL at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grace(Duration);

impl Grace {
    /// The grace of a run that names none: 1 s.
    pub const DEFAULT: Self = Self(Duration::from_secs(1));

    /// Makes a grace.
    ///
    /// # Errors
    /// [`BoundError`] for more than an hour.
    pub fn new(duration: Duration) -> Result<Self, BoundError> {
        if duration > LONGEST_GRACE { Err(BoundError::GraceTooLong(duration)) } else { Ok(Self(duration)) }
    }

    /// The duration.
    pub fn get(self) -> Duration {
        self.0
    }
}

/// How much of each output channel is handed on. The rest is read, counted and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap {
    /// The first so many bytes of each channel.
    Bytes(u64),
    /// Everything, chunk by chunk. The library holds one chunk at a time; [`capture`](crate::process::Run::capture)
    /// falls back to [`Cap::DEFAULT`], because what it keeps is kept in memory.
    Everything,
}

impl Cap {
    /// 512 KiB.
    pub const DEFAULT: Self = Self::Bytes(512 * 1024);
}

/// How far the kill reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    /// The leader's process group: what left it (`setsid`, `setpgid`) is out of reach.
    Group,
    /// Everything the run ever forked, wherever it went.
    Subtree,
}

/// What happens to processes that the leader left behind when it ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftover {
    /// They are killed at once. They had their leader's whole life to end.
    Kill,
    /// They live on. A deadline or an interruption still ends everything.
    Keep,
}

/// The bounds of one run.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// When the run is asked to stop (TERM to the group, then to the rest of the subtree).
    pub deadline: Deadline,
    /// How long it then has before KILL.
    pub grace: Grace,
    /// How much of stdout and of stderr is handed on, each.
    pub cap: Cap,
    /// How far the kill should reach. The outcome says how far it did.
    pub containment: Containment,
    /// What happens to left-over processes after the leader's own exit.
    pub leftover: Leftover,
}

impl Bounds {
    /// Bounds with this deadline, a grace of 1 s, a cap of 512 KiB, subtree containment, left-overs killed.
    pub fn new(deadline: Deadline) -> Self {
        Self {
            deadline,
            grace: Grace::DEFAULT,
            cap: Cap::DEFAULT,
            containment: Containment::Subtree,
            leftover: Leftover::Kill,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_nothing_and_never_more_than_a_day() {
        assert_eq!(Deadline::new(Duration::ZERO), Err(BoundError::ZeroDeadline));
        assert!(Deadline::new(LONGEST).is_ok());
        assert!(Deadline::new(LONGEST + Duration::from_millis(1)).is_err());
        assert!(Deadline::DEFAULT.until(std::time::Instant::now()).get() >= Duration::from_millis(1));
    }

    #[test]
    fn a_grace_may_be_nothing_and_never_more_than_an_hour() {
        assert!(Grace::new(Duration::ZERO).is_ok());
        assert!(Grace::new(LONGEST_GRACE + Duration::from_millis(1)).is_err());
    }
}
