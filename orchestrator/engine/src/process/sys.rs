//! System calls that `nix` does not wrap, or wraps so that something we need is lost.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::libc;
use tokio::io::unix::AsyncFd;

/// How a child ended. Unlike `nix`'s it takes every signal number, the real-time ones included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChildEnd {
    pub(crate) pid: i32,
    pub(crate) status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Code(i32),
    Signal(i32),
}

/// Which child [`wait`] looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which {
    Any,
    Pid(i32),
}

/// `waitid(2)` without waiting. `reap = false` leaves the zombie, and with it the pid and the group id, in place.
/// `Ok(None)`: children, but none that ended. `ECHILD`: no children.
pub(crate) fn wait(which: Which, reap: bool) -> Result<Option<ChildEnd>, Errno> {
    let (kind, id) = match which {
        Which::Any => (libc::P_ALL, 0),
        Which::Pid(pid) => (libc::P_PID, pid.cast_unsigned()),
    };
    let flags = libc::WEXITED | libc::WNOHANG | libc::__WALL | if reap { 0 } else { libc::WNOWAIT };
    loop {
        // SAFETY: an all-zero siginfo_t is valid, and waitid only writes into it.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: `info` lives for the whole call.
        match Errno::result(unsafe { libc::waitid(kind, id, &raw mut info, flags) }) {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
            Ok(_) => {
                // SAFETY: after a successful waitid these union fields are the ones that were written (or all zero).
                let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
                if pid == 0 {
                    return Ok(None);
                }
                let status = if info.si_code == libc::CLD_EXITED {
                    Status::Code(status)
                } else {
                    Status::Signal(status)
                };
                return Ok(Some(ChildEnd { pid, status }));
            }
        }
    }
}

/// `kill(2)` with any signal number; a negative pid is a process group.
pub(crate) fn kill(pid: i32, signal: i32) -> Result<(), Errno> {
    debug_assert!(pid != 0 && pid != -1 && pid != 1);
    // SAFETY: kill has no memory arguments.
    Errno::result(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// `pidfd_open(2)`; the descriptor is close-on-exec.
pub(crate) fn pidfd_open(pid: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: no memory arguments; on success the kernel hands us a descriptor that nobody else owns.
    let fd = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: as above. The value fits, descriptors are ints.
    Ok(unsafe { OwnedFd::from_raw_fd(RawFd::try_from(fd).map_err(|_| Errno::EBADF)?) })
}

/// `pidfd_send_signal(2)`: hits that very process or none.
pub(crate) fn pidfd_signal(pidfd: &OwnedFd, signal: i32) -> Result<(), Errno> {
    let no_info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a null siginfo is allowed.
    Errno::result(unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, no_info, 0)
    })
    .map(drop)
}

/// How many bytes wait in a pipe (`FIONREAD`).
pub(crate) fn bytes_waiting(pipe: BorrowedFd<'_>) -> Result<u64, Errno> {
    let mut count: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int.
    Errno::result(unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut count) })?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Closes every descriptor from `first` on. Only for a process that has a single thread and owns none of them.
pub(crate) fn close_from(first: u32) {
    // SAFETY: no memory arguments. The caller gives up every descriptor from `first` on.
    if unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) } == 0 {
        return;
    }
    // A kernel or a filter that does not know close_range (5.9).
    for fd in open_descriptors() {
        if fd.cast_unsigned() >= first {
            // SAFETY: as above; closing the directory's own, already closed descriptor is a harmless EBADF.
            unsafe { libc::close(fd) };
        }
    }
}

/// The descriptors that this process has open, by `/proc/self/fd`.
pub(crate) fn open_descriptors() -> Vec<RawFd> {
    std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Whether a descriptor is a `SOCK_SEQPACKET` socket.
pub(crate) fn is_packet_socket(fd: RawFd) -> bool {
    let mut kind: libc::c_int = 0;
    let mut length: libc::socklen_t = 4;
    // SAFETY: getsockopt writes one int into `kind` and its length into `length`.
    let result = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &raw mut length)
    };
    result == 0 && kind == libc::SOCK_SEQPACKET
}

/// Takes over a descriptor that was handed to this process at a fixed number.
///
/// # Safety
/// Nothing else in the process may own it.
pub(crate) unsafe fn take_descriptor(fd: RawFd) -> OwnedFd {
    // SAFETY: the caller promises it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A duplicate at 3 or above, so that redirections to 0, 1 and 2 cannot overwrite it; close-on-exec.
pub(crate) fn duplicate_above_2(fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let copy = nix::fcntl::fcntl(fd, nix::fcntl::FcntlArg::F_DUPFD_CLOEXEC(3))?;
    // SAFETY: fcntl just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Makes `fd` also the descriptor number `target`.
pub(crate) fn redirect(fd: BorrowedFd<'_>, target: RawFd) -> Result<(), Errno> {
    // SAFETY: no memory arguments; 0, 1 and 2 are owned by nobody in particular.
    Errno::result(unsafe { libc::dup2(fd.as_raw_fd(), target) }).map(drop)
}

/// `/dev/null`, for reading and writing.
pub(crate) fn dev_null() -> io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}

/// Whether the caller ignores this signal.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is valid; sigaction with a null new action only reads.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Gives SIGCHLD its default action, so that children stay until they are waited for.
pub(crate) fn reset_child_signal() {
    set_child_signal(libc::SIG_DFL);
}

/// Leaves the reaping of children to the kernel. Only for a process whose every child may be forgotten.
pub(crate) fn ignore_child_signal() {
    set_child_signal(libc::SIG_IGN);
}

fn set_child_signal(handler: libc::sighandler_t) {
    // SAFETY: an all-zero sigaction is valid: no flags, no mask; the handler is one of the two constants above, and
    // the old action is not asked for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        libc::sigaction(libc::SIGCHLD, &raw const action, std::ptr::null_mut());
    }
}

/// A fork of a process that has one thread.
pub(crate) enum Forked {
    Parent(i32),
    Child,
}

/// `fork(2)`.
///
/// # Safety
/// The process must have a single thread: the child goes on to allocate and lock.
pub(crate) unsafe fn fork() -> Result<Forked, Errno> {
    // SAFETY: the caller promises a single thread.
    match Errno::result(unsafe { libc::fork() })? {
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid)),
    }
}

/// `_exit(2)`: ends a forked process without running anything that belongs to its parent.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: never returns, no memory arguments.
    unsafe { libc::_exit(code) }
}

/// Hands a descriptor to the reactor, to be told when it is readable (or writable).
pub(crate) fn watch(fd: OwnedFd, interest: tokio::io::Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the AsyncFd owns the descriptor, so it stays open, and the same, until it is deregistered.
    unsafe { AsyncFd::register_with_interest(fd, interest) }.map_err(|error| error.into_parts().1)
}
