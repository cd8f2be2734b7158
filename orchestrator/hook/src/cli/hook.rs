//! `dogwatch hook`: what a harness calls. Its arguments are read by hand, and stdin and stdout by poll(2): a hook that
//! has nothing to do costs about a process start.
//!
//! It never ends with an argument parser's exit code 2, which blocks a session or a tool in some harness.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{values, write_error};
use crate::harness::event::EventKind;
use crate::harness::stdin::{ReadLimits, drain, read_payload};
use crate::harness::{Harness, TABLE};
use crate::moments::{Call, Out, handle};

/// How long the reader of our answer may take in all for each piece.
const WRITE_BOUND: Duration = Duration::from_secs(2);
/// What poll(2) promises room for.
const PAGE: usize = nix::libc::PIPE_BUF;

pub(super) const HELP: &str = "\
Answer a harness at one of its lifecycle moments. Harnesses call this; `dogwatch install` will register it.

Usage: dogwatch hook <HARNESS> [<EVENT>] [OPTIONS] < PAYLOAD

Harnesses: claude, codex, cursor, pi (pi-signed), opencode, grok
Events: session-open, prompt, before-tool, after-tool, reply, before-compact, stop, end

Options:
  --root DIR       look for the project from here
  --source NAME    why the session opens, over what the payload says
  --limit SECONDS  the timeout that the harness was told for this hook (180s)
  --prerequisite   exit code 3 where this project or agent is deliberately left alone

Exit codes:
  0  answered, or nothing to do; also for words that were not understood, with one line on stderr
  1  the same before a tool, so that the registration denies
  3  with --prerequisite: not eligible
";

/// Runs the hook with the words after `hook`.
pub(super) fn run(words: &[OsString]) -> ExitCode {
    if words.first().is_some_and(|word| word == "--help" || word == "-h") {
        return super::finish(super::write_out(&mut io::stdout(), HELP).map(|()| ExitCode::SUCCESS));
    }
    let call = match parse(words) {
        Ok(call) => call,
        Err(message) => {
            write_error(&format!("{message}; see `dogwatch hook --help`"));
            let is_before_tool = words.get(1).is_some_and(|event| event == EventKind::BeforeTool.id());
            return ExitCode::from(u8::from(is_before_tool));
        }
    };
    let stdin = io::stdin();
    let input = read_payload(stdin.as_fd(), &ReadLimits::of(call.event));
    let stdout = io::stdout();
    let fd = stdout.as_fd();
    let mut out = Stdout { fd, written: 0, is_broken: false, is_read: !is_null(fd) };
    let answer = AssertUnwindSafe(|| handle(&call, &input.bytes, &mut out));
    // The panic has been told on stderr; the session goes on.
    let code =
        std::panic::catch_unwind(answer).unwrap_or(u8::from(call.event == Some(EventKind::BeforeTool)));
    // Whoever writes the payload shall not find the other end closed while a byte is under way.
    drain(stdin.as_fd());
    ExitCode::from(code)
}

fn parse(words: &[OsString]) -> Result<Call, String> {
    let mut words = words.iter();
    let shown =
        |word: &OsStr| format!("{:?}", crate::text::shorten(&crate::text::line(&word.to_string_lossy()), 60));
    let first = words.next().ok_or("which harness? expected `dogwatch hook <harness>`")?;
    let (harness, name) = first.to_str().and_then(Harness::by_name).ok_or_else(|| {
        let known: Vec<&str> = TABLE.iter().map(|harness| harness.id).collect();
        format!("unknown harness {}; expected one of {}", shown(first), known.join(", "))
    })?;
    let mut call = Call {
        harness,
        name,
        event: None,
        root: None,
        source: None,
        limit: None,
        begun: Instant::now(),
        prerequisite: false,
    };
    let mut is_first = true;
    while let Some(word) = words.next() {
        let mut value = |flag: &str| words.next().ok_or_else(|| format!("{flag} wants a value"));
        match word.to_str() {
            Some("--prerequisite") => call.prerequisite = true,
            Some("--root") => call.root = Some(PathBuf::from(value("--root")?)),
            Some("--source") => call.source = Some(value("--source")?.to_string_lossy().into_owned()),
            Some("--limit") => {
                let text = value("--limit")?.to_string_lossy().into_owned();
                call.limit = Some(values::duration(&text).map_err(|why| format!("--limit: {why}"))?);
            }
            Some(event) if is_first && !event.starts_with('-') => {
                let kind =
                    EventKind::from_id(event).ok_or_else(|| format!("unknown event {}", shown(word)))?;
                call.event = Some(kind);
            }
            _ => return Err(format!("unexpected {}", shown(word))),
        }
        is_first = false;
    }
    Ok(call)
}

/// Our stdout, written a page at a time when there is room. `O_NONBLOCK` is not set on it: it is shared with others.
struct Stdout<'a> {
    fd: BorrowedFd<'a>,
    written: u64,
    is_broken: bool,
    /// Whether anybody may read it.
    is_read: bool,
}

/// Whether this is the null device, which the runtime also puts in the place of a stdout that came closed. What is written
/// there goes out without an error, and nobody has been told.
fn is_null(fd: BorrowedFd<'_>) -> bool {
    use nix::sys::stat::{fstat, stat};
    let null = stat("/dev/null").map(|null| null.st_rdev);
    // Nothing else in `/dev` has its number; a plain file has none at all.
    null.is_ok_and(|null| null != 0 && fstat(fd).is_ok_and(|out| out.st_rdev == null))
}

impl Out for Stdout<'_> {
    fn write(&mut self, mut bytes: &[u8]) -> bool {
        let until = Instant::now() + WRITE_BOUND;
        while !bytes.is_empty() && !self.is_broken {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            let mut fds = [PollFd::new(self.fd, PollFlags::POLLOUT)];
            match poll(&mut fds, timeout) {
                Ok(1..) => match nix::unistd::write(self.fd, &bytes[..bytes.len().min(PAGE)]) {
                    Ok(count) => {
                        self.written += count as u64;
                        bytes = &bytes[count..];
                    }
                    Err(Errno::EINTR | Errno::EAGAIN) => {}
                    Err(errno) => self.give_up(&format!("the answer cannot be written: {}", errno.desc())),
                },
                Err(Errno::EINTR) => {}
                Ok(_) => self.give_up("nobody reads the answer; the rest of it is dropped"),
                Err(errno) => self.give_up(&format!("the answer cannot be written: {}", errno.desc())),
            }
        }
        !self.is_broken && self.is_read
    }

    fn note(&mut self, message: &str) {
        write_error(message);
    }

    fn written(&self) -> u64 {
        self.written
    }
}

impl Stdout<'_> {
    fn give_up(&mut self, why: &str) {
        self.is_broken = true;
        write_error(why);
    }
}
