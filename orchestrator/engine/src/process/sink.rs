//! Writing to a standard output that was inherited: a slow or stuck reader must not hold the writer up, and
//! `O_NONBLOCK` must not be set on it, because the file description is shared with whoever else has it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::socket::{MsgFlags, send};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::sys;

/// One of the program's own standard outputs, written without ever blocking the thread on a reader. Give a write a
/// bound with `tokio::time::timeout`.
#[derive(Debug)]
pub struct Sink(Kind);

#[derive(Debug)]
enum Kind {
    /// A pipe or a terminal, opened anew: a file description of our own, which may be set not to block.
    Own(AsyncFd<OwnedFd>),
    /// A socket: every call says for itself that it will not wait.
    Socket(AsyncFd<OwnedFd>),
    /// A file or a device that is always ready; or what could not be opened anew, a page at a time when there is
    /// room.
    Plain(OwnedFd),
    Paged(AsyncFd<OwnedFd>),
}

impl Sink {
    /// Standard output.
    ///
    /// # Errors
    /// Where it is closed.
    pub fn stdout() -> io::Result<Self> {
        Self::new(io::stdout().as_fd())
    }

    /// Standard error.
    ///
    /// # Errors
    /// Where it is closed.
    pub fn stderr() -> io::Result<Self> {
        Self::new(io::stderr().as_fd())
    }

    fn new(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let copy = sys::duplicate_above_2(fd)?;
        let kind = File::from(copy.try_clone()?).metadata()?.file_type();
        if kind.is_socket() {
            return Ok(Self(Kind::Socket(sys::watch(copy, Interest::WRITABLE)?)));
        }
        if kind.is_file() {
            return Ok(Self(Kind::Plain(copy)));
        }
        if let Ok(own) = open_anew(fd)
            && let Ok(own) = sys::watch(own, Interest::WRITABLE)
        {
            return Ok(Self(Kind::Own(own)));
        }
        let spare = copy.try_clone()?;
        // The reactor refuses what is always ready.
        Ok(Self(sys::watch(copy, Interest::WRITABLE).map_or(Kind::Plain(spare), Kind::Paged)))
    }

    /// Writes everything. May be dropped at any point; a part has been written then.
    ///
    /// # Errors
    /// As `write(2)`; `BrokenPipe` when the reader is gone.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = match &self.0 {
                Kind::Own(fd) => ready(fd, |fd| nix::unistd::write(fd, bytes)).await,
                Kind::Socket(fd) => {
                    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
                    ready(fd, |fd| send(fd.as_raw_fd(), bytes, flags)).await
                }
                // poll(2) promises room for PIPE_BUF bytes, and that a write of so many is not split.
                Kind::Paged(fd) => {
                    let page = &bytes[..bytes.len().min(nix::libc::PIPE_BUF)];
                    ready(fd, |fd| {
                        if has_room(fd, Duration::ZERO) {
                            nix::unistd::write(fd, page)
                        } else {
                            Err(Errno::EAGAIN)
                        }
                    })
                    .await
                }
                Kind::Plain(fd) => nix::unistd::write(fd, bytes),
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

/// Writes to standard error without waiting longer than `bound` for its reader, outside of any runtime. What does not
/// go out by then is lost, as it is where standard error is closed.
pub fn write_stderr(bytes: &[u8], bound: Duration) {
    let _ = write_bounded(io::stderr().as_fd(), bytes, Instant::now() + bound);
}

fn write_bounded(fd: BorrowedFd<'_>, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    let copy = sys::duplicate_above_2(fd)?;
    let kind = File::from(copy.try_clone()?).metadata()?.file_type();
    let is_socket = kind.is_socket();
    // Not a file: its position belongs to the description that it is shared by.
    let own = if is_socket || kind.is_file() { None } else { open_anew(fd).ok() };
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if !has_room(own.as_ref().unwrap_or(&copy), left) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // As in `write_all`.
        let page = &bytes[..bytes.len().min(nix::libc::PIPE_BUF)];
        let written = match &own {
            Some(own) => nix::unistd::write(own, page),
            None if is_socket => {
                send(copy.as_raw_fd(), page, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL)
            }
            None => nix::unistd::write(&copy, page),
        };
        match written {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// A pipe or a terminal with a file description of our own, which does not block.
fn open_anew(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(File::options().write(true).custom_flags(flags.bits()).open(path)?.into())
}

async fn ready(
    fd: &AsyncFd<OwnedFd>,
    mut write: impl FnMut(&OwnedFd) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    loop {
        let mut guard = fd.writable().await.map_err(|_| Errno::EIO)?;
        match write(guard.get_inner()) {
            Err(Errno::EAGAIN) => guard.clear_ready(),
            result => return result,
        }
    }
}

/// Whether there is room, or comes within this time.
fn has_room(fd: &OwnedFd, bound: Duration) -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    // Rounded up, so that a rest of less than a millisecond is not asked for again and again.
    let bound = bound + Duration::from_micros(if bound.is_zero() { 0 } else { 999 });
    let bound = PollTimeout::try_from(bound).unwrap_or(PollTimeout::MAX);
    matches!(poll(&mut [PollFd::new(fd.as_fd(), PollFlags::POLLOUT)], bound), Ok(1..))
}
