//! Reading a payload from stdin, within bounds, and without ever waiting for the end of the input: a harness may keep
//! the pipe open for as long as the hook runs.
//!
//! Only poll(2) and read(2) are used. `O_NONBLOCK` would change the open file description, which the harness and the
//! hook's siblings share.

mod scanner;

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::read;

use super::EventKind;
use scanner::Scanner;

/// What a pipe holds.
const READ_BYTES: usize = 64 * 1024;

/// The bounds of reading a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// How long no new byte may come.
    pub idle: Duration,
    /// How long it may take altogether.
    pub total: Duration,
    /// How many bytes a payload may have.
    pub cap_bytes: usize,
}

impl ReadLimits {
    /// The bounds for the event on the command line: 16 MiB; 1 s without a new byte; 5 s altogether, of which a waiting
    /// tool gets 1.5 s.
    pub fn of(canonical: Option<EventKind>) -> ReadLimits {
        let total = match canonical {
            Some(EventKind::BeforeTool) => Duration::from_millis(1500),
            _ => Duration::from_secs(5),
        };
        ReadLimits { idle: Duration::from_secs(1), total, cap_bytes: 16 * 1024 * 1024 }
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The bytes up to `end`; none past the first document or the cap.
    pub bytes: Vec<u8>,
    /// Why reading stopped.
    pub end: ReadEnd,
}

/// Why reading stopped. Only a [`Document`](ReadEnd::Document) and an [`EndOfFile`](ReadEnd::EndOfFile) can be a whole
/// payload; reading the others as one says that they are cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadEnd {
    /// A JSON document is complete, as far as its brackets and quotes go, or what came cannot begin one.
    Document,
    /// There is no more, or nothing can be read.
    EndOfFile,
    /// The time is over.
    Deadline,
    /// There is more than a payload may have.
    TooLarge,
}

/// Reads to the end of the first JSON document, to the end of the input, or to a bound; then [`drain`]s. Works on pipes,
/// sockets, files, terminals; what cannot be read at all is an input that has ended.
pub fn read_payload(fd: BorrowedFd<'_>, limits: &ReadLimits) -> Input {
    let begin = Instant::now();
    let mut last_byte = begin;
    let mut bytes = Vec::new();
    let mut scanner = Scanner::default();
    let mut buffer = vec![0; READ_BYTES];
    let end = loop {
        let left =
            (last_byte + limits.idle).min(begin + limits.total).saturating_duration_since(Instant::now());
        let count = match read_ready(fd, &mut buffer, left) {
            Ready::Bytes(count) => count,
            Ready::Nothing if left.is_zero() => break ReadEnd::Deadline,
            Ready::Nothing => continue,
            Ready::End => break ReadEnd::EndOfFile,
        };
        last_byte = Instant::now();
        let room = limits.cap_bytes - bytes.len();
        let new = &buffer[..count];
        match scanner.end_in(new) {
            Some(length) if length <= room => {
                bytes.extend_from_slice(&new[..length]);
                break ReadEnd::Document;
            }
            None if count <= room => bytes.extend_from_slice(new),
            _ => {
                bytes.extend_from_slice(&new[..room]);
                break ReadEnd::TooLarge;
            }
        }
    };
    drain(fd);
    Input { bytes, end }
}

/// Takes what waits in the input, so that whoever is still writing does not find the pipe closed: at most 64 KiB, for at
/// most 10 ms, and never waiting.
pub fn drain(fd: BorrowedFd<'_>) {
    let begin = Instant::now();
    let mut buffer = vec![0; READ_BYTES];
    let mut room = READ_BYTES;
    while room > 0 && begin.elapsed() < Duration::from_millis(10) {
        match read_ready(fd, &mut buffer[..room], Duration::ZERO) {
            Ready::Bytes(count) => room -= count,
            Ready::Nothing | Ready::End => break,
        }
    }
}

enum Ready {
    Bytes(usize),
    Nothing,
    End,
}

/// Reads what is there once something is, which no longer waits. [`Ready::Nothing`] if nothing came in time, or
/// somebody else took it.
fn read_ready(fd: BorrowedFd<'_>, buffer: &mut [u8], wait: Duration) -> Ready {
    // Rounded up, so that it never wakes just before a deadline and turns in circles up to it.
    let millis = wait.as_micros().div_ceil(1000);
    let timeout = u16::try_from(millis).map_or(PollTimeout::from(u16::MAX), PollTimeout::from);
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
    match poll(&mut fds, timeout) {
        Ok(0) | Err(Errno::EINTR) => return Ready::Nothing,
        Ok(_) => {}
        Err(_) => return Ready::End,
    }
    match read(fd, buffer) {
        Ok(0) => Ready::End,
        Ok(count) => Ready::Bytes(count),
        Err(Errno::EINTR | Errno::EAGAIN) => Ready::Nothing,
        Err(_) => Ready::End,
    }
}

#[cfg(test)]
mod tests;
