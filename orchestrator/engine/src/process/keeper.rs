//! Keeping one run: the deadline, the grace, the lifeline, the end. Single-threaded and synchronous, so that nothing
//! the front does, a slow reader of its output included, can stall it.
//!
//! The same keeper serves in three places: as the supervisor of one run, as a fork of a session's supervisor, and,
//! where the program never called `init`, as a thread of the front (then with [`Reach::Group`]).

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::bounds::{Containment, Leftover};
use super::error::Step;
use super::identity::Identity;
use super::outcome::End;
use super::spawn::{Exec, Spawned, spawn};
use super::sweep::{Reach, Tree, drain};
use super::sys::{self, Status as ChildStatus};
use super::wire::{self, Order, Report, Request, Status};

/// What everything gets between TERM and KILL when the front is gone: the whole tree has to be away within a second.
const ORPHANED_GRACE: Duration = Duration::from_millis(250);
/// How often it is looked whether the rest of the tree is gone during the grace after the leader's end.
const GRACE_LOOK: Duration = Duration::from_millis(10);

/// Why a run is being stopped. The first cause stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Deadline,
    Asked(Option<u8>),
    FrontGone,
}

/// What the keeper does once the program runs.
pub(crate) enum Mode {
    /// Tells the front, and ends everything when the front is gone.
    Attached,
    /// Tells the front, and goes on alone once the front lets go of it.
    Detached,
}

/// Runs one request to its end. Reports on `control`.
pub(crate) fn keep(control: OwnedFd, request: Request, reach: Reach, mode: &Mode) {
    let started = Instant::now();
    let Request { spec, stdio } = request;
    let spawned = match spawn(&spec, &stdio) {
        Ok(spawned) => spawned,
        Err(errno) => {
            wire::send_status(
                control.as_fd(),
                &Status::StartFailed { step: Step::Fork, errno: errno as i32 },
            );
            return;
        }
    };
    // Only the leader holds the write ends from here on: the look at the pipes at its exit depends on it.
    let read_ends = stdio.read_ends;
    drop((stdio.stdin, stdio.stdout, stdio.stderr));
    let reach = match (spec.containment, reach) {
        (Containment::Subtree, reach) => reach,
        (Containment::Group, _) => Reach::Group,
    };
    let mut keeper = Keeper {
        pidfd: sys::pidfd_open(spawned.pid).ok(),
        tree: Tree::new(spawned.pid, reach, read_ends),
        control: Some(control),
        starting: Some(spawned),
        started,
        deadline: started + spec.deadline,
        grace: spec.grace,
        leftover: spec.leftover,
        cause: None,
        kill_at: None,
    };
    keeper.run(mode);
}

struct Keeper {
    /// Readable when the leader has ended.
    pidfd: Option<OwnedFd>,
    tree: Tree,
    control: Option<OwnedFd>,
    /// The leader until its exec is through.
    starting: Option<Spawned>,
    started: Instant,
    deadline: Instant,
    grace: Duration,
    leftover: Leftover,
    cause: Option<Cause>,
    kill_at: Option<Instant>,
}

/// What one look around asks for.
enum Next {
    Wait,
    LookAgain,
    Kill,
    End,
    Nothing,
}

impl Keeper {
    fn run(&mut self, mode: &Mode) {
        loop {
            match self.look(mode) {
                Next::LookAgain => {}
                Next::Wait => self.wait(),
                Next::Kill => return self.finish(true),
                Next::End => return self.finish(false),
                Next::Nothing => return,
            }
        }
    }

    fn look(&mut self, mode: &Mode) -> Next {
        if let Some(next) = self.look_at_the_start(mode) {
            return next;
        }
        self.take_orders();
        let now = Instant::now();
        let ended = self.starting.is_none() && self.tree.leader_has_ended();
        if now >= self.deadline && !ended {
            self.stop(Cause::Deadline, self.grace);
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            return if self.abandon_start() { Next::Nothing } else { Next::Kill };
        }
        if self.starting.is_some() {
            return Next::Wait;
        }
        if ended {
            return match (self.cause, self.leftover) {
                (None, Leftover::Keep) => Next::End,
                (Some(_), _) if self.tree.has_others() => Next::Wait,
                _ => Next::Kill,
            };
        }
        if self.tree.reap_strays() { Next::LookAgain } else { Next::Wait }
    }

    /// `None` once the program runs, and as long as it is open whether it will.
    fn look_at_the_start(&mut self, mode: &Mode) -> Option<Next> {
        let spawned = self.starting.as_ref()?;
        match spawned.look() {
            Exec::Pending => None,
            Exec::Running => {
                let leader = spawned.pid;
                self.starting = None;
                self.announce(leader, mode);
                None
            }
            Exec::Failed(step, errno) => {
                self.starting = None;
                self.tree.kill();
                self.say(&Status::StartFailed { step, errno });
                Some(Next::Nothing)
            }
        }
    }

    fn announce(&mut self, leader: i32, mode: &Mode) {
        match mode {
            Mode::Attached => self.say(&Status::Started { leader }),
            Mode::Detached => {
                match (Identity::current(), Identity::of(leader)) {
                    (Ok(supervisor), Ok(leader)) => self.say(&Status::Detached { supervisor, leader }),
                    // Nobody could ever find it again.
                    _ => self.stop(Cause::Asked(None), self.grace),
                }
            }
        }
    }

    /// A stop while the program was not even running: there is no run to report.
    fn abandon_start(&mut self) -> bool {
        if self.starting.take().is_none() {
            return false;
        }
        self.tree.kill();
        self.say(&Status::StartTimedOut);
        true
    }

    fn take_orders(&mut self) {
        while let Some(control) = &self.control {
            if !is_readable(control) {
                return;
            }
            match wire::receive_order(control.as_fd()) {
                Ok(Some((Order::Stop(signal), _))) => self.stop(Cause::Asked(signal), self.grace),
                Ok(Some((Order::Kill, _))) => {
                    self.stop(Cause::Asked(None), Duration::ZERO);
                    self.kill_at = Some(Instant::now());
                }
                Ok(Some((Order::CloseOutput(channel), _))) => self.tree.close_output(channel),
                Ok(Some((Order::LetGo, _))) => self.control = None,
                Ok(Some((Order::NewRun | Order::Request, _))) => {}
                Ok(None) | Err(_) => {
                    self.control = None;
                    self.stop(Cause::FrontGone, self.grace.min(ORPHANED_GRACE));
                    // A stop that was under way does not get longer than this either.
                    let latest = Instant::now() + ORPHANED_GRACE;
                    self.kill_at = self.kill_at.map(|at| at.min(latest));
                }
            }
        }
    }

    fn stop(&mut self, cause: Cause, grace: Duration) {
        if self.cause.is_none() {
            self.cause = Some(cause);
            self.kill_at = Some(Instant::now() + grace);
            self.tree.terminate();
        }
    }

    fn wait(&mut self) {
        let now = Instant::now();
        let mut until = self.kill_at.unwrap_or(self.deadline);
        let ended = self.tree.leader_end().is_some();
        if ended {
            until = until.min(now + GRACE_LOOK);
        }
        let mut fds = Vec::with_capacity(4);
        if let Some(control) = &self.control {
            fds.push(PollFd::new(control.as_fd(), PollFlags::POLLIN));
        }
        if let Some(spawned) = &self.starting {
            fds.push(PollFd::new(spawned.exec.as_fd(), PollFlags::POLLIN));
        } else if let (Some(pidfd), false) = (&self.pidfd, ended) {
            fds.push(PollFd::new(pidfd.as_fd(), PollFlags::POLLIN));
        }
        if let Some(events) = self.tree.child_events() {
            fds.push(PollFd::new(events.as_fd(), PollFlags::POLLIN));
        }
        // Rounded up: a wait that ends a fraction of a millisecond early would spin. And a leader that no pidfd
        // watches is looked at now and then.
        let mut wait = until.saturating_duration_since(now) + Duration::from_micros(999);
        if self.pidfd.is_none() {
            wait = wait.min(Duration::from_millis(20));
        }
        let timeout = PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX);
        let _ = poll(&mut fds, timeout);
        let said = |fd: &PollFd<'_>| fd.revents().is_some_and(|revents| !revents.is_empty());
        let leader_said = !ended
            && self.pidfd.as_ref().is_some_and(|pidfd| {
                fds.iter().any(|fd| fd.as_fd().as_raw_fd() == pidfd.as_raw_fd() && said(fd))
            });
        drop(fds);
        // One that is traced has ended for its pidfd, but not for its parent: asking the former would spin.
        if leader_said && !self.tree.leader_has_ended() {
            self.pidfd = None;
        }
        if let Some(events) = self.tree.child_events() {
            drain(events);
        }
    }

    fn finish(&mut self, kill: bool) {
        if kill {
            self.say(&Status::Killing);
        }
        let unkillable = if kill {
            self.tree.kill()
        } else {
            self.tree.let_go();
            Vec::new()
        };
        let (exit_code, signal) = match self.tree.leader_end() {
            Some(ChildStatus::Code(code)) => (Some(code), None),
            Some(ChildStatus::Signal(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        let end = match self.cause {
            Some(Cause::Deadline) => End::Deadline,
            Some(Cause::Asked(_) | Cause::FrontGone) => End::Interrupted,
            None if signal.is_some() => End::Signaled,
            None => End::Exited,
        };
        let interrupted_by = match self.cause {
            Some(Cause::Asked(Some(signal))) => Some(i32::from(signal)),
            _ => None,
        };
        self.say(&Status::Done(Report {
            end,
            exit_code,
            signal,
            interrupted_by,
            elapsed_us: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
            pipe_held: self.tree.pipe_held,
            killed_after_exit: self.tree.killed,
            unkillable,
            containment: self.tree.containment(),
        }));
    }

    fn say(&self, status: &Status) {
        if let Some(control) = &self.control {
            wire::send_status(control.as_fd(), status);
        }
    }
}

fn is_readable(fd: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..))
}
