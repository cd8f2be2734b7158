//! The process tree of one run, seen from its supervisor, and how it is ended.
//!
//! With reach [`Reach::Subtree`] the supervisor is the subreaper: whatever loses its parent becomes its child. So it
//! is enough to kill its *direct* children again and again; deeper levels arrive by re-parenting. No pid can be
//! recycled under the kill, because only the supervisor reaps them, and `ECHILD` is the proof that nothing is left.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc::{SIGCONT, SIGKILL, SIGTERM};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::bounds::Containment;
use super::outcome::Survivor;
use super::output::Channel;
use super::procfs;
use super::sys::{self, ChildEnd, Status, Which};

/// How long a kill may take, a fork bomb and uninterruptible processes included.
pub(crate) const KILL_BOUND: Duration = Duration::from_secs(5);
/// How long a pipe must be held after the leader's end to be called held. A process that another thread of the front is
/// just starting has copies of all descriptors between its fork and its exec.
const HELD_LOOK: Duration = Duration::from_millis(25);
/// How many zombies are reaped before the clock is looked at again.
const REAP_ROUND: usize = 256;
/// How many children are taken from one reading of the list.
const LIST_ROUND: usize = 4096;
/// How many children are killed at one reading of the list: more than there usually are process ids, because those
/// that ended and wait to be reaped stand in it before the living.
const KILL_ROUND: usize = 65_536;
/// After how many rounds of a kill that reaped without coming to an end the kernel does the reaping.
const OUTRUN_ROUNDS: u32 = 8;
/// How long asking descendants outside the leader's group to stop may take.
const TERM_BOUND: Duration = Duration::from_millis(100);
/// How many survivors a report names.
const NAMED: usize = 64;

/// How far this supervisor can reach.
#[derive(Debug)]
pub(crate) enum Reach {
    /// It is the subreaper of everything below it, and this descriptor is readable when a child ended.
    Subtree(OwnedFd),
    /// It has one child, the leader, and signals that child's group.
    Group,
}

/// The processes of one run.
pub(crate) struct Tree {
    leader: i32,
    reach: Reach,
    /// Duplicates of the read ends of the run's pipes, by channel.
    read_ends: Vec<Option<OwnedFd>>,
    /// The leader's end, from the moment it is known. The zombie stays until the group has been signalled.
    end: Option<Status>,
    reaped: bool,
    /// Who was killed since the kernel does the reaping, which tells nobody how they ended.
    unseen: Option<HashSet<i32>>,
    /// Whether somebody else held a pipe when the leader ended.
    pub(crate) pipe_held: bool,
    /// Processes that died of our KILL after the leader's end, or with it.
    pub(crate) killed: u64,
}

impl Tree {
    pub(crate) fn new(leader: i32, reach: Reach, read_ends: Vec<OwnedFd>) -> Self {
        let read_ends = read_ends.into_iter().map(Some).collect();
        Self { leader, reach, read_ends, end: None, reaped: false, unseen: None, pipe_held: false, killed: 0 }
    }

    pub(crate) fn containment(&self) -> Containment {
        match self.reach {
            Reach::Subtree(_) => Containment::Subtree,
            Reach::Group => Containment::Group,
        }
    }

    /// Readable when a child may have ended, where there is such a descriptor.
    pub(crate) fn child_events(&self) -> Option<&OwnedFd> {
        match &self.reach {
            Reach::Subtree(events) => Some(events),
            Reach::Group => None,
        }
    }

    pub(crate) fn leader_end(&self) -> Option<Status> {
        self.end
    }

    /// The front reads no more of this channel.
    pub(crate) fn close_output(&mut self, channel: Channel) {
        if let Some(end) = self.read_ends.get_mut(channel as usize) {
            *end = None;
        }
    }

    /// Looks, without reaping it, whether the leader has ended; at its end also whether its pipes are still held.
    pub(crate) fn leader_has_ended(&mut self) -> bool {
        if self.end.is_none() {
            match sys::wait(Which::Pid(self.leader), false) {
                Ok(Some(end)) => self.note_end(end.status),
                // Somebody else in this process reaped it: its status is lost, its end is not.
                Err(Errno::ECHILD) => {
                    self.reaped = true;
                    self.note_end(Status::Code(255));
                }
                Ok(None) | Err(_) => {}
            }
        }
        self.end.is_some()
    }

    /// Must come before anything that could hold the pipes is killed.
    fn note_end(&mut self, status: Status) {
        self.end = Some(status);
        let until = Instant::now() + HELD_LOOK;
        self.pipe_held = self.read_ends.iter().flatten().any(|pipe| {
            let left = until.saturating_duration_since(Instant::now());
            let mut poll_fd = [PollFd::new(pipe.as_fd(), PollFlags::empty())];
            let hung_up = poll(&mut poll_fd, PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO))
                .is_ok()
                && poll_fd[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP));
            !hung_up
        });
        self.read_ends.clear();
    }

    /// Reaps descendants that ended after losing their parent; not the leader. `true`: there may be more.
    pub(crate) fn reap_strays(&mut self) -> bool {
        if matches!(self.reach, Reach::Group) {
            return false;
        }
        for _ in 0..REAP_ROUND {
            match sys::wait(Which::Any, false) {
                Ok(Some(end)) if end.pid != self.leader => {
                    let _ = sys::wait(Which::Pid(end.pid), true);
                }
                _ => return false,
            }
        }
        true
    }

    /// Whether anything but the leader is left. Meant for the time between the leader's end and the kill.
    pub(crate) fn has_others(&mut self) -> bool {
        match self.reach {
            Reach::Subtree(_) => {
                let mut others = false;
                procfs::children(own_pid(), LIST_ROUND, |pid| {
                    if pid != self.leader && !matches!(sys::wait(Which::Pid(pid), true), Ok(Some(_))) {
                        others = true;
                    }
                });
                others
            }
            Reach::Group => self.group_members().next().is_some(),
        }
    }

    /// The living members of the leader's group, the leader aside.
    fn group_members(&self) -> impl Iterator<Item = i32> + use<> {
        let leader = self.leader;
        procfs::all()
            .filter(move |stat| stat.group == leader && stat.pid != leader && !stat.is_dead())
            .map(|stat| stat.pid)
    }

    /// Asks everything to stop: TERM, and CONT, because a stopped process does not act on TERM.
    pub(crate) fn terminate(&mut self) {
        self.signal_group(SIGTERM);
        self.signal_group(SIGCONT);
        if matches!(self.reach, Reach::Subtree(_)) {
            let leader = self.leader;
            walk(own_pid(), Instant::now() + TERM_BOUND, &mut |stat, pidfd| {
                if stat.group != leader {
                    let _ = sys::pidfd_signal(pidfd, SIGTERM);
                    let _ = sys::pidfd_signal(pidfd, SIGCONT);
                }
            });
        }
    }

    /// Kills everything and reaps it, within [`KILL_BOUND`]. Names what is left.
    pub(crate) fn kill(&mut self) -> Vec<Survivor> {
        let until = Instant::now() + KILL_BOUND;
        match self.reach {
            Reach::Subtree(_) => self.kill_subtree(until),
            Reach::Group => self.kill_group(until),
        }
    }

    /// Reaps the leader and leaves everything else alone.
    pub(crate) fn let_go(&mut self) {
        if self.leader_has_ended() && !self.reaped {
            let _ = sys::wait(Which::Pid(self.leader), true);
            self.reaped = true;
        }
    }

    fn kill_group(&mut self, until: Instant) -> Vec<Survivor> {
        let members = self.group_members().count() as u64;
        self.signal_group(SIGKILL);
        while !self.leader_has_ended() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Once more while the zombie still keeps the group's id ours: a member may have forked meanwhile.
        self.signal_group(SIGKILL);
        let left = if members > 0 { self.end_members(until) } else { Vec::new() };
        let ended = self.leader_has_ended();
        self.killed += members.saturating_sub(left.len() as u64);
        let mut pids = left;
        if ended {
            self.let_go();
        } else {
            pids.push(self.leader);
        }
        name_survivors(&pids)
    }

    /// Kills members of the group until none is left or the time is over; the pids of those that are.
    fn end_members(&self, until: Instant) -> Vec<i32> {
        loop {
            let left: Vec<i32> = self.group_members().collect();
            if left.is_empty() || Instant::now() >= until {
                return left;
            }
            self.signal_group(SIGKILL);
            if self.reaped {
                // By somebody else in this process, before the group could be signalled: one by one, then.
                for pid in left {
                    if let Ok(pidfd) = sys::pidfd_open(pid)
                        && procfs::stat(pid)
                            .is_some_and(|stat| stat.group == self.leader && stat.session == self.leader)
                    {
                        let _ = sys::pidfd_signal(&pidfd, SIGKILL);
                    }
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn kill_subtree(&mut self, until: Instant) -> Vec<Survivor> {
        self.signal_group(SIGKILL);
        let mut stuck_rounds = 0;
        let mut rounds = 0_u32;
        loop {
            let Some(more) = self.reap_round() else {
                self.killed += self.unseen.take().map_or(0, |unseen| unseen.len() as u64);
                return Vec::new();
            };
            // Processes that fork and exit at once outrun a single reaper, which gets a fraction of the time that
            // all of them get. From here on the kernel reaps what ends; what had ended before is still ours to reap.
            rounds += 1;
            if more && rounds > OUTRUN_ROUNDS && self.reaped && self.unseen.is_none() {
                sys::ignore_child_signal();
                self.unseen = Some(HashSet::new());
            }
            let mut refused = Vec::new();
            let mut signalled = 0;
            // Even while there is more to reap: the living are at the end of the list, and killing ends the supply.
            procfs::children(own_pid(), KILL_ROUND, |pid| match sys::kill(pid, SIGKILL) {
                Err(Errno::EPERM) => refused.push(pid),
                Err(_) => {}
                Ok(()) => {
                    signalled += 1;
                    if let Some(unseen) = &mut self.unseen {
                        unseen.insert(pid);
                    }
                }
            });
            if more && Instant::now() < until {
                continue;
            }
            // What we may not signal never hands its children up to us: they are ended where they are.
            for pid in &refused {
                walk(*pid, Instant::now() + TERM_BOUND, &mut |_, pidfd| {
                    let _ = sys::pidfd_signal(pidfd, SIGKILL);
                });
            }
            stuck_rounds = if signalled == 0 && !refused.is_empty() { stuck_rounds + 1 } else { 0 };
            if Instant::now() >= until || stuck_rounds >= 20 {
                return Self::survivors();
            }
            self.wait_for_an_end(Duration::from_millis(if stuck_rounds > 0 { 5 } else { 1 }));
        }
    }

    /// Reaps what ended, a bounded number. `None`: no children are left. `Some(true)`: there may be more zombies.
    fn reap_round(&mut self) -> Option<bool> {
        for _ in 0..REAP_ROUND {
            match sys::wait(Which::Any, false) {
                Err(Errno::ECHILD) => return None,
                Ok(Some(end)) => self.reap(end),
                Ok(None) | Err(_) => return Some(false),
            }
        }
        Some(true)
    }

    fn reap(&mut self, end: ChildEnd) {
        if end.pid == self.leader {
            if self.end.is_none() {
                self.note_end(end.status);
            }
            // The last moment at which the group's id is surely ours.
            self.signal_group(SIGKILL);
            self.reaped = true;
        } else {
            self.killed += u64::from(end.status == Status::Signal(SIGKILL));
            if let Some(unseen) = &mut self.unseen {
                unseen.remove(&end.pid);
            }
        }
        let _ = sys::wait(Which::Pid(end.pid), true);
    }

    fn survivors() -> Vec<Survivor> {
        let mut pids = Vec::new();
        // Those that ended and wait to be reaped stand before the living.
        procfs::children(own_pid(), KILL_ROUND, |pid| {
            if pids.len() < NAMED && procfs::stat(pid).is_some_and(|stat| !stat.is_dead()) {
                pids.push(pid);
            }
        });
        let until = Instant::now() + TERM_BOUND;
        for pid in pids.clone() {
            walk(pid, until, &mut |stat, _| pids.push(stat.pid));
        }
        pids.truncate(NAMED);
        name_survivors(&pids)
    }

    /// Signals the leader's group; only as long as the leader is not reaped, because then its id may be another's.
    fn signal_group(&self, signal: i32) {
        if !self.reaped {
            let _ = sys::kill(-self.leader, signal);
        }
    }

    fn wait_for_an_end(&self, bound: Duration) {
        let timeout = PollTimeout::try_from(bound).unwrap_or(PollTimeout::ZERO);
        if let Some(events) = self.child_events() {
            let _ = poll(&mut [PollFd::new(events.as_fd(), PollFlags::POLLIN)], timeout);
            drain(events);
        }
    }
}

/// Kills and reaps every child that `spare` does not name, within the bound; for a supervisor that lost a part of
/// itself. Names what is left.
pub(crate) fn kill_children_but(
    spare: &dyn Fn(i32) -> bool,
    until: Instant,
    killed: &mut u64,
) -> Vec<Survivor> {
    let mut last = Vec::new();
    let mut quiet = 0;
    while quiet < 2 {
        let mut listed = Vec::new();
        procfs::children(own_pid(), LIST_ROUND, |pid| {
            if !spare(pid) {
                listed.push(pid);
            }
        });
        last.clear();
        for pid in listed {
            let _ = sys::kill(pid, SIGKILL);
            match sys::wait(Which::Pid(pid), true) {
                Ok(Some(end)) => *killed += u64::from(end.status == Status::Signal(SIGKILL)),
                Ok(None) => last.push(pid),
                Err(_) => {}
            }
        }
        if Instant::now() >= until {
            break;
        }
        // Two quiet rounds: what a dying process left behind may arrive a moment after it.
        quiet = if last.is_empty() { quiet + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(1));
    }
    name_survivors(&last)
}

/// Everything below `root`, each process held by a pidfd while it is verified that it is the one that was listed.
/// Bounded in time and in number.
fn walk(root: i32, until: Instant, each: &mut dyn FnMut(procfs::Stat, &OwnedFd)) {
    let mut open = vec![root];
    let mut seen = 0;
    while let Some(parent) = open.pop() {
        let mut found = Vec::new();
        procfs::children(parent, LIST_ROUND, |pid| found.push(pid));
        for pid in found {
            seen += 1;
            if seen > 2 * LIST_ROUND || Instant::now() >= until {
                return;
            }
            let Ok(pidfd) = sys::pidfd_open(pid) else { continue };
            let Some(stat) = procfs::stat(pid) else { continue };
            // Its parent may have died between the two looks: then it is ours.
            if (stat.parent == parent || stat.parent == own_pid()) && !stat.is_dead() {
                each(stat, &pidfd);
                open.push(pid);
            }
        }
    }
}

/// Names processes for a report, with the reason why they are still there.
pub(crate) fn name_survivors(pids: &[i32]) -> Vec<Survivor> {
    let name = |pid: &i32| {
        let stat = procfs::stat(*pid).filter(|stat| !stat.is_dead())?;
        let why = match sys::kill(*pid, 0) {
            Err(Errno::EPERM) => "it belongs to another user",
            Err(_) => return None,
            Ok(()) if stat.state == b'D' => "it is in uninterruptible sleep",
            Ok(()) => "it was still there when the time to kill was over",
        };
        Some(Survivor { pid: *pid, name: procfs::name(*pid), why: why.to_owned() })
    };
    pids.iter().filter_map(name).collect()
}

/// Empties a signalfd.
pub(crate) fn drain(events: &OwnedFd) {
    let mut buffer = [0_u8; 1024];
    while matches!(nix::unistd::read(events, &mut buffer), Ok(1..)) {}
}

pub(crate) fn own_pid() -> i32 {
    nix::unistd::getpid().as_raw()
}
