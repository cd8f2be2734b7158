//! The helm, `state/helm.json`: which session is in charge of this home.
//!
//! The holder is a harness's process (pid, start time, boot id), so the helm is free again as soon as that process is
//! gone, however it went. The row changes only under a lock that the kernel gives back when its holder is killed
//! (`state/helm.lock`), and is put there whole: of any number at once exactly one takes it.

use std::time::Duration;

use dogwatch_engine::process::Identity;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ids;
use super::presence::{self, Vantage};
use super::state::{Folder, Lock, StateError};
use super::stored::{self, Stored};

pub use super::presence::{Liveness, Why};

/// The name of the row.
pub const FILE_NAME: &str = "helm.json";
const LOCK_NAME: &str = "helm.lock";
/// Held while a sweep runs; taken only by who has the lock of the row.
const SWEEP_LOCK_NAME: &str = "sweep.lock";
/// How long a session waits for its turn to claim the helm.
const CLAIM_BOUND: Duration = Duration::from_secs(2);
/// How long an event waits to leave its time; the next one leaves it, too.
const TOUCH_BOUND: Duration = Duration::from_millis(100);
/// An event's time is written again only after this long; it counts in minutes.
const TOUCH_SECONDS: u64 = 30;
const LIMIT_BYTES: u64 = 64 * 1024;

/// Who holds the helm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The harness's process.
    pub process: Identity,
    /// The name of its host.
    pub host: String,
    /// The inode of its PID namespace; `None` where it was not to be had.
    #[serde(default)]
    pub pid_namespace: Option<u64>,
    /// The harness's id.
    pub harness: String,
    /// The session's id, as far as the harness told it.
    #[serde(default)]
    pub session: Option<String>,
    /// Whether several sessions share the process, so that the session's id belongs to the identity.
    #[serde(default)]
    pub shared_process: bool,
    /// Since when, RFC 3339.
    pub since: String,
    /// The last event of a session that shares its process, RFC 3339.
    #[serde(default)]
    pub last_event: Option<String>,
}

/// The session that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// The harness's process; `None` where it cannot be seen.
    pub process: Option<Identity>,
    /// The harness's id.
    pub harness: String,
    /// The session's id, as far as the harness told it.
    pub session: Option<String>,
    /// Whether several sessions share the process (Codex's daemon, Cursor, `opencode serve`).
    pub shared_process: bool,
}

/// What makes two holders the same one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelmIdentity {
    process: Identity,
    #[serde(default)]
    pid_namespace: Option<u64>,
    /// Only where several sessions share the process.
    #[serde(default)]
    session: Option<String>,
}

/// What a session found when it asked for the helm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It had it before.
    Mine(Holder),
    /// It has it now.
    Taken {
        /// The session itself.
        holder: Holder,
        /// The row that stood there before.
        replaced: Option<Stale>,
    },
    /// Another session has it.
    Held(Holder),
    /// The row cannot be written. Says why.
    NotWritable(String),
    /// Others were claiming it for the whole of the 2 s that a session waits.
    Contended,
    /// Nobody has it, but a sweep that was started for the session that had it is still at work.
    Sweeping,
    /// The holder cannot be seen from here, or the session's own harness cannot. Says why.
    Invisible(String),
}

/// A row that no longer held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Why it did not.
    pub why: Why,
    /// What it said; `None` if it could not be read.
    pub holder: Option<Holder>,
}

impl Holder {
    /// What makes it the same holder as another.
    pub fn identity(&self) -> HelmIdentity {
        HelmIdentity {
            process: self.process.clone(),
            pid_namespace: self.pid_namespace,
            session: self.session.clone().filter(|_| self.shared_process),
        }
    }

    fn liveness(&self, here: &Vantage, now: Timestamp) -> Liveness {
        let there = Vantage { host: self.host.clone(), pid_namespace: self.pid_namespace };
        match presence::look(&self.process, &there, here) {
            Liveness::Alive if self.shared_process && self.is_silent(now) => Liveness::Stale(Why::Silent),
            seen => seen,
        }
    }

    fn is_silent(&self, now: Timestamp) -> bool {
        presence::is_silent(self.last_event.as_deref().unwrap_or(&self.since), now)
    }

    /// Whether an event of now would change the row.
    fn wants(&self, me: &Asking, now: Timestamp) -> bool {
        let other_session = me.session.is_some() && me.session != self.session;
        let last = self.last_event.as_deref().and_then(|last| last.parse::<Timestamp>().ok());
        let is_due = last.is_none_or(|last| now.as_second().abs_diff(last.as_second()) >= TOUCH_SECONDS);
        other_session || (self.shared_process && is_due)
    }
}

impl Me {
    /// What makes it the same as a holder; `None` where it can hold nothing.
    pub fn identity(&self) -> Option<HelmIdentity> {
        Asking::new(self).ok().map(|asking| asking.identity())
    }
}

/// Claims the helm for a session: it has it already, takes it where nobody has it or whoever had it is gone, or is told
/// who has it.
pub fn acquire(state: &Folder, me: &Me, now: Timestamp) -> Claim {
    claim(state, me, now, false)
}

/// A person's word: the session gets the helm whoever has it.
pub fn take(state: &Folder, me: &Me, now: Timestamp) -> Claim {
    claim(state, me, now, true)
}

/// Who has the helm, and whether that session is still there. `None` where there is no row, or none that can be read.
pub fn peek(state: &Folder) -> Option<(Holder, Liveness)> {
    let holder = read(state).ok()?.row()?;
    let liveness = holder.liveness(&Vantage::here(), Timestamp::now());
    Some((holder, liveness))
}

/// Whether the session has the helm.
pub fn is_mine(state: &Folder, me: &Me) -> bool {
    Asking::new(me).is_ok_and(|me| me.has(state))
}

/// Hands the helm from a session of a shared process to the one that goes on in its place, as after a clear; whether it
/// did.
pub fn hand_over(state: &Folder, from: &str, me: &Me, now: Timestamp) -> bool {
    let Ok(me) = Asking::new(me) else { return false };
    let before = Asking { session: Some(ids::kept(from)), ..me.clone() };
    if !me.shared_process || !before.has(state) {
        return false;
    }
    let Ok(Some(lock)) = state.lock(LOCK_NAME, CLAIM_BOUND) else { return false };
    before.has(state) && write(state, &me.holder(now), &lock).is_ok()
}

/// Gives the helm back if the session has it; whether it did.
pub fn release(state: &Folder, me: &Me) -> bool {
    let Ok(me) = Asking::new(me) else { return false };
    // Whoever does not have it has nothing to wait for.
    if !me.has(state) {
        return false;
    }
    let Ok(Some(_lock)) = state.lock(LOCK_NAME, CLAIM_BOUND) else { return false };
    me.has(state) && state.remove(FILE_NAME).unwrap_or(false)
}

/// Leaves the time of an event in the row of a session that shares its process and has the helm. Elsewhere the process
/// alone decides, and nothing is written.
pub fn touch(state: &Folder, me: &Me, now: Timestamp) {
    let Ok(me) = Asking::new(me) else { return };
    let due = || {
        let holder = read(state).ok()?.row()?;
        (holder.shared_process && me.is(&holder) && holder.wants(&me, now)).then_some(holder)
    };
    if due().is_none() {
        return;
    }
    if let Ok(Some(lock)) = state.lock(LOCK_NAME, TOUCH_BOUND)
        && let Some(holder) = due()
    {
        // An event never fails for this; the next one tries again.
        let _ = write(state, &me.refreshed(holder, now), &lock);
    }
}

/// A sweep is at work: as long as this lives, nobody takes the helm over. The kernel takes it back from one that is killed.
#[derive(Debug)]
pub struct Sweep {
    _lock: Lock,
}

/// Holds the helm off against takeover for a sweep, if it is still the one that the sweep was started for. Nobody waits
/// for it longer than for a claim.
///
/// # Errors
/// Why the sweep may not start, as a clause.
pub fn hold_for_sweep(state: &Folder, helm: &HelmIdentity) -> Result<Sweep, String> {
    // Under the lock of the row, so that it cannot change between the look and the hold.
    let lock = state.lock(LOCK_NAME, CLAIM_BOUND).map_err(|error| error.to_string())?;
    let Some(_row) = lock else { return Err("the helm could not be asked for in time".to_owned()) };
    let holder = read(state).map_err(|error| error.to_string())?.row();
    if holder.is_none_or(|holder| holder.identity() != *helm) {
        return Err("the helm has gone to another session".to_owned());
    }
    match state.lock(SWEEP_LOCK_NAME, Duration::ZERO).map_err(|error| error.to_string())? {
        Some(lock) => Ok(Sweep { _lock: lock }),
        None => Err("another sweep is at work".to_owned()),
    }
}

fn is_swept(state: &Folder) -> Result<bool, StateError> {
    Ok(state.look(SWEEP_LOCK_NAME)?.is_some() && state.lock(SWEEP_LOCK_NAME, Duration::ZERO)?.is_none())
}

fn claim(state: &Folder, me: &Me, now: Timestamp, by_force: bool) -> Claim {
    let me = match Asking::new(me) {
        Ok(me) => me,
        Err(why) => return Claim::Invisible(why.to_owned()),
    };
    // Most sessions meet a helm that is settled. They need no lock, so that a bad one does not hide the holder.
    if let Ok(Stored::Row(holder)) = read(state) {
        if me.is(&holder) {
            if !holder.wants(&me, now) {
                return Claim::Mine(holder);
            }
        } else if !by_force {
            match holder.liveness(&me.here, now) {
                Liveness::Alive => return Claim::Held(holder),
                Liveness::Invisible(why) => return Claim::Invisible(unseen(&holder, &why)),
                Liveness::Stale(_) => {}
            }
        }
    }
    let lock = match state.lock(LOCK_NAME, CLAIM_BOUND) {
        Ok(Some(lock)) => lock,
        Ok(None) => return Claim::Contended,
        Err(error) => return Claim::NotWritable(error.to_string()),
    };
    let replaced = match read(state) {
        Err(error) => return Claim::NotWritable(error.to_string()),
        Ok(Stored::Missing) => None,
        Ok(Stored::Garbage) => Some(Stale { why: Why::Unreadable, holder: None }),
        Ok(Stored::Row(holder)) if me.is(&holder) => {
            let refreshed = me.refreshed(holder, now);
            return match write(state, &refreshed, &lock) {
                Ok(()) => Claim::Mine(refreshed),
                Err(error) => Claim::NotWritable(error.to_string()),
            };
        }
        Ok(Stored::Row(holder)) => match holder.liveness(&me.here, now) {
            Liveness::Stale(why) => Some(Stale { why, holder: Some(holder) }),
            _ if by_force => Some(Stale { why: Why::TakenAway, holder: Some(holder) }),
            Liveness::Alive => return Claim::Held(holder),
            Liveness::Invisible(why) => return Claim::Invisible(unseen(&holder, &why)),
        },
    };
    match is_swept(state) {
        Ok(false) => {}
        Ok(true) => return Claim::Sweeping,
        Err(error) => return Claim::NotWritable(error.to_string()),
    }
    let holder = me.holder(now);
    match write(state, &holder, &lock) {
        Ok(()) => Claim::Taken { holder, replaced },
        Err(error) => Claim::NotWritable(error.to_string()),
    }
}

fn unseen(holder: &Holder, why: &str) -> String {
    let harness = crate::text::line(&holder.harness);
    format!("the helm is held by a session of {harness} (pid {}) that is {why}", holder.process.pid)
}

/// A session that can hold the helm: its process is known, its ids are of a length that rows keep.
#[derive(Clone)]
struct Asking {
    process: Identity,
    harness: String,
    session: Option<String>,
    shared_process: bool,
    here: Vantage,
}

impl Asking {
    fn new(me: &Me) -> Result<Asking, &'static str> {
        let process = me.process.clone().ok_or("the harness's process cannot be seen from here")?;
        let session = me.session.as_deref().filter(|session| !session.is_empty()).map(ids::kept);
        if me.shared_process && session.is_none() {
            return Err("several sessions share the harness's process, and this one's id is not known");
        }
        let harness = ids::kept(&me.harness);
        Ok(Asking { process, harness, session, shared_process: me.shared_process, here: Vantage::here() })
    }

    fn identity(&self) -> HelmIdentity {
        HelmIdentity {
            process: self.process.clone(),
            pid_namespace: self.here.pid_namespace,
            session: self.session.clone().filter(|_| self.shared_process),
        }
    }

    fn is(&self, holder: &Holder) -> bool {
        let namespaces_differ =
            holder.pid_namespace.is_some() && holder.pid_namespace != self.here.pid_namespace;
        let is_shared = self.shared_process || holder.shared_process;
        self.process == holder.process && !namespaces_differ && (!is_shared || self.session == holder.session)
    }

    fn has(&self, state: &Folder) -> bool {
        read(state).is_ok_and(|stored| stored.row().is_some_and(|holder| self.is(&holder)))
    }

    fn holder(&self, now: Timestamp) -> Holder {
        let since = presence::stamp(now);
        Holder {
            process: self.process.clone(),
            host: self.here.host.clone(),
            pid_namespace: self.here.pid_namespace,
            harness: self.harness.clone(),
            session: self.session.clone(),
            shared_process: self.shared_process,
            last_event: self.shared_process.then(|| since.clone()),
            since,
        }
    }

    /// The row of this session, as it is since when it took the helm.
    fn refreshed(&self, before: Holder, now: Timestamp) -> Holder {
        let session = self.session.clone().or(before.session);
        Holder { since: before.since, session, ..self.holder(now) }
    }
}

fn read(state: &Folder) -> Result<Stored<Holder>, StateError> {
    stored::read(state, FILE_NAME, LIMIT_BYTES)
}

/// The row changes only under the lock, which is why it is asked for here.
fn write(state: &Folder, holder: &Holder, _lock: &Lock) -> Result<(), StateError> {
    stored::write(state, FILE_NAME, holder)
}

#[cfg(test)]
mod tests;
