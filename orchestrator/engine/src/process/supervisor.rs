//! The supervisor: this very program, started again, as the subreaper above a run's processes.
//!
//! It is in a session of its own, so that whoever kills the front's process group does not take it along; it holds
//! no descriptor of the front's but the control socket and what it hands to the leader, and blocks every signal that
//! can be blocked.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::keeper::{Mode, keep};
use super::procfs;
use super::sweep::{Reach, drain, kill_children_but, own_pid};
use super::sys::{self, Forked, Status, Which};
use super::wire::{self, Order, Request};

/// The `argv[0]` of a supervisor.
pub(crate) const ENTRY: &str = "dogwatch-supervisor";
/// The one argument: what the supervisor is for.
pub(crate) const RUN: &str = "run";
pub(crate) const SESSION: &str = "session";
pub(crate) const DETACHED: &str = "detached";

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// The entry of the supervisor: call it first thing in `main`, before any thread is started.
///
/// In an ordinary start it returns at once, having noted that this program can serve as its own supervisor. In a
/// process that the engine started as a supervisor it does that work and never returns.
pub fn init() {
    INITIALISED.store(true, Ordering::Relaxed);
    let mut args = std::env::args_os();
    if args.next().as_deref() != Some(OsStr::from_bytes(ENTRY.as_bytes())) {
        return;
    }
    let (Some(purpose), None) = (args.next(), args.next()) else { return };
    // A person who starts us under that name gets an ordinary start, not a process that waits for orders.
    if !sys::is_packet_socket(0) {
        return;
    }
    let result = std::panic::catch_unwind(|| match purpose.as_bytes() {
        b"run" => supervise_run(),
        b"session" => supervise_session(),
        b"detached" => supervise_detached(),
        _ => Err(Errno::EINVAL),
    });
    sys::exit_now(i32::from(!matches!(result, Ok(Ok(())))))
}

/// Whether [`init`] was called in this process.
pub(crate) fn initialised() -> bool {
    INITIALISED.load(Ordering::Relaxed)
}

/// Makes this process a supervisor; the result is its control socket.
fn become_supervisor() -> Result<OwnedFd, Errno> {
    SigSet::all().thread_set_mask()?;
    // Whoever started the front may have it ignored, and that would make the kernel reap the leader, status and all.
    sys::reset_child_signal();
    let _ = nix::unistd::setsid();
    sys::close_from(3);
    let _ = nix::sys::prctl::set_name(c"dogwatch-superv");
    // SAFETY: descriptor 0 is the socket that we were started with; `forget_stdio` puts another in its place.
    let socket = unsafe { sys::take_descriptor(0) };
    let control = sys::duplicate_above_2(socket.as_fd())?;
    std::mem::forget(socket);
    let null = sys::dev_null().map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?;
    for target in 0..=2 {
        sys::redirect(null.as_fd(), target)?;
    }
    Ok(control)
}

/// Becomes the subreaper. Where that is refused the reach is the group, and the outcome says so.
fn subreaper() -> Reach {
    let mask = SigSet::from_iter([Signal::SIGCHLD]);
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    match (nix::sys::prctl::set_child_subreaper(true), SignalFd::with_flags(&mask, flags)) {
        (Ok(()), Ok(events)) => {
            // The descriptor itself, without nix's reader around it.
            match sys::duplicate_above_2(events.as_fd()) {
                Ok(events) => Reach::Subtree(events),
                Err(_) => Reach::Group,
            }
        }
        _ => Reach::Group,
    }
}

fn receive_request(control: &OwnedFd) -> Result<Request, Errno> {
    match wire::receive_order(control.as_fd())? {
        Some((Order::Request, fds)) => wire::open_request(fds).map_err(|_| Errno::EBADMSG),
        _ => Err(Errno::EBADMSG),
    }
}

fn reach_of(request: &Request) -> Reach {
    match request.spec.containment {
        // Without a /proc that tells of our own processes nobody can say who our children are.
        super::Containment::Subtree if procfs::is_ours() => subreaper(),
        super::Containment::Subtree | super::Containment::Group => Reach::Group,
    }
}

/// One run: this process is its keeper.
fn supervise_run() -> Result<(), Errno> {
    let control = become_supervisor()?;
    let request = receive_request(&control)?;
    let reach = reach_of(&request);
    keep(control, request, reach, &Mode::Attached);
    Ok(())
}

/// A detached run: a grandchild of the front keeps it, so that nobody has to reap it.
fn supervise_detached() -> Result<(), Errno> {
    let control = become_supervisor()?;
    let request = receive_request(&control)?;
    // SAFETY: this process has one thread.
    match unsafe { sys::fork() }? {
        Forked::Parent(_) => Ok(()),
        Forked::Child => {
            let reach = reach_of(&request);
            keep(control, request, reach, &Mode::Detached);
            Ok(())
        }
    }
}

/// Many runs: each gets a fork of this process as its keeper, a subreaper of its own. What a killed keeper leaves
/// behind comes here and is ended.
fn supervise_session() -> Result<(), Errno> {
    let control = become_supervisor()?;
    let Reach::Subtree(events) = subreaper() else { return Err(Errno::ENOSYS) };
    let mut keepers = HashSet::new();
    let mut front_is_there = true;
    while front_is_there || !keepers.is_empty() {
        let mut fds = vec![PollFd::new(events.as_fd(), PollFlags::POLLIN)];
        if front_is_there {
            fds.push(PollFd::new(control.as_fd(), PollFlags::POLLIN));
        }
        let _ = poll(&mut fds, PollTimeout::NONE);
        let has_order = fds.get(1).and_then(PollFd::revents).is_some_and(|revents| !revents.is_empty());
        drain(&events);
        if has_order {
            match wire::receive_order(control.as_fd()) {
                Ok(Some((Order::NewRun, fds))) => {
                    keepers.extend(fds.into_iter().next().and_then(fork_keeper));
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => front_is_there = false,
            }
        }
        reap_keepers(&mut keepers);
    }
    Ok(())
}

fn fork_keeper(control: OwnedFd) -> Option<i32> {
    // SAFETY: this process has one thread.
    match unsafe { sys::fork() } {
        Ok(Forked::Parent(pid)) => Some(pid),
        Ok(Forked::Child) => {
            // Another run's control socket held here would hide the front's end from that run.
            let kept = sys::redirect(control.as_fd(), 3).is_ok();
            std::mem::forget(control);
            sys::close_from(4);
            if kept {
                // SAFETY: descriptor 3 is the control socket; everything else that lived here is closed, and its
                // owners are never dropped, because this process ends by `exit_now`.
                let control = unsafe { sys::take_descriptor(3) };
                let result = std::panic::catch_unwind(|| keep_forked(control));
                sys::exit_now(i32::from(!matches!(result, Ok(Ok(())))));
            }
            sys::exit_now(1)
        }
        Err(errno) => {
            let failed = wire::Status::StartFailed { step: super::error::Step::Fork, errno: errno as i32 };
            wire::send_status(control.as_fd(), &failed);
            None
        }
    }
}

fn keep_forked(control: OwnedFd) -> Result<(), Errno> {
    let request = receive_request(&control)?;
    let reach = reach_of(&request);
    keep(control, request, reach, &Mode::Attached);
    Ok(())
}

fn reap_keepers(keepers: &mut HashSet<i32>) {
    while let Ok(Some(end)) = sys::wait(Which::Any, true) {
        if keepers.remove(&end.pid) && end.status != Status::Code(0) {
            let until = Instant::now() + Duration::from_secs(1);
            kill_children_but(&|pid| keepers.contains(&pid) || pid == own_pid(), until, &mut 0);
        }
    }
}
