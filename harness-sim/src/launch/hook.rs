//! One running hook, inside the host: its pipes, its deadline, its end.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, pipe2};

use super::processes;
use super::wire::{Request, Response};
use super::{Exit, Feed, Holder, Reader};
use crate::harness::{Finish, Kill, Leads};

/// How much of each output is kept. The rest is read and counted.
const KEEP_BYTES: usize = 16 * 1024 * 1024;
/// The most that is read at a time.
const READ_BYTES: usize = 1024 * 1024;
/// What a slow reader takes at a time, and how often.
const SLOW_BYTES: usize = 4096;
const SLOW_PAUSE: Duration = Duration::from_millis(20);
/// As small as a pipe can be: whoever prints more than that has to wait for its reader.
const SMALL_PIPE_BYTES: usize = 4096;
/// How often it is looked whether a hook has begun to print that is to be hit in the middle of it.
const PRINTING_LOOK: Duration = Duration::from_millis(1);
/// Who waits for its reader with poll(2) cannot be told from one that waits for something else: it is taken for one when
/// its whole tree has been asleep for so long.
const ASLEEP: Duration = Duration::from_millis(50);
/// How long a killed hook may take to be gone: what hangs in the kernel must not hang the session.
const GONE_BOUND: Duration = Duration::from_secs(5);

/// An output pipe's reading end and what came out of it.
struct Output {
    pipe: Option<OwnedFd>,
    kept: Vec<u8>,
    bytes: u64,
    /// What comes first and is not the hook's.
    skip: usize,
    at_end: bool,
}

/// What a running hook waits for.
pub(super) enum Interest<'a> {
    Exit(BorrowedFd<'a>),
    Readable(BorrowedFd<'a>, Channel),
    Writable(BorrowedFd<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Stdout,
    Stderr,
}

pub(super) struct Running {
    id: u32,
    pid: Pid,
    pidfd: OwnedFd,
    stdin: Option<OwnedFd>,
    payload: Vec<u8>,
    written: usize,
    stdout: Output,
    stderr: Output,
    inode: u64,
    started: Instant,
    deadline: Instant,
    request: Request,
    exit: Option<Exit>,
    timed_out: bool,
    /// The processes that were asked to end, and when they are killed.
    dying: Option<(Vec<(i32, u64)>, Instant)>,
    gone_by: Option<Instant>,
    signalled: bool,
    /// Since when its whole tree has been asleep, and what it had done by then.
    asleep: Option<(Instant, Vec<(i32, u64)>)>,
    holders: Vec<Holder>,
    next_slow_read: Instant,
}

/// Starts a hook. What the system refuses is the hook's fate, not ours.
pub(super) fn start(
    request: Request,
    payload: Vec<u8>,
    environment: &[CString],
) -> Result<Running, Response> {
    let started = Instant::now();
    let id = request.id;
    spawn(request, payload, environment, started).map_err(|errno| Response {
        id,
        exit: Exit::NotStarted { why: errno.desc().to_owned() },
        elapsed: started.elapsed(),
        timed_out: false,
        stdout_bytes: 0,
        stderr_bytes: 0,
        stdin_bytes: 0,
        stdout_eof: true,
        signalled: false,
        holders: Vec::new(),
        kept_stdout: 0,
    })
}

fn spawn(
    request: Request,
    payload: Vec<u8>,
    environment: &[CString],
    started: Instant,
) -> Result<Running, Errno> {
    use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};

    let (stdin_read, stdin) = pipe2(OFlag::O_CLOEXEC)?;
    let (stdout, stdout_write) = pipe2(OFlag::O_CLOEXEC)?;
    let (stderr, stderr_write) = pipe2(OFlag::O_CLOEXEC)?;
    for pipe in [&stdin, &stdout, &stderr] {
        fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    }
    if request.signal.is_some() || request.reader != Reader::Prompt {
        fcntl(&stdout, FcntlArg::F_SETPIPE_SZ(4096))?;
    }
    // Whoever is to be hit while it prints finds the pipe full, and waits in the middle of its first word.
    let filled = request.signal.map_or(Ok(0), |_| fill(&stdout_write))?;
    let inode = nix::sys::stat::fstat(&stdout)?.st_ino;

    let mut actions = PosixSpawnFileActions::init()?;
    for (pipe, target) in [(&stdin_read, 0), (&stdout_write, 1), (&stderr_write, 2)] {
        actions.add_dup2(pipe.as_raw_fd(), target)?;
    }
    let mut attributes = PosixSpawnAttr::init()?;
    let leads = match request.leads {
        // Not among nix's names, and posix_spawn(3) has it since glibc 2.26.
        Leads::Session => PosixSpawnFlags::from_bits_retain(nix::libc::POSIX_SPAWN_SETSID.into()),
        Leads::Group => PosixSpawnFlags::POSIX_SPAWN_SETPGROUP,
    };
    // Rust ignores SIGPIPE, and a hook must not inherit that.
    attributes.set_sigdefault(&SigSet::from_iter([Signal::SIGPIPE]))?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_flags(
        leads | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
    )?;

    let argv: Vec<CString> = request
        .argv
        .iter()
        .map(|argument| CString::new(argument.as_str()))
        .collect::<Result<_, _>>()
        .map_err(|_| Errno::EINVAL)?;
    let mut all = Vec::with_capacity(environment.len() + request.environment.len());
    for entry in &request.environment {
        all.push(CString::new(entry.as_str()).map_err(|_| Errno::EINVAL)?);
    }
    // A name that stands there twice means one thing to a shell and another to a C program.
    let inherited: Vec<&CString> =
        environment.iter().filter(|entry| !all.iter().any(|set| name_of(set) == name_of(entry))).collect();
    let all: Vec<&CStr> = inherited.into_iter().chain(&all).map(CString::as_c_str).collect();
    let program = argv.first().ok_or(Errno::EINVAL)?;
    std::env::set_current_dir(&request.folder)
        .map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))?;
    let pid = posix_spawnp(program, &actions, &attributes, &argv, &all)?;
    // Nobody has reaped it, so the id is still its own.
    let pidfd = rustix::process::Pid::from_raw(pid.as_raw())
        .ok_or(rustix::io::Errno::SRCH)
        .and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()))
        .map_err(|errno| Errno::from_raw(errno.raw_os_error()))
        .inspect_err(|_| {
            let _ = kill(pid, Signal::SIGKILL);
            let _ = waitpid(pid, None);
        })?;
    let output = |pipe| Output { pipe: Some(pipe), kept: Vec::new(), bytes: 0, skip: 0, at_end: false };
    let mut running = Running {
        id: request.id,
        pid,
        pidfd,
        stdin: Some(stdin),
        payload: if request.feed == Feed::ClosedAtOnce { Vec::new() } else { payload },
        written: 0,
        stdout: Output { skip: filled, ..output(stdout) },
        stderr: output(stderr),
        inode,
        started,
        deadline: started + request.deadline,
        exit: None,
        timed_out: false,
        dying: None,
        gone_by: None,
        signalled: false,
        asleep: None,
        holders: Vec::new(),
        next_slow_read: started,
        request,
    };
    running.feed();
    Ok(running)
}

fn name_of(entry: &CString) -> &[u8] {
    entry.to_bytes().split(|byte| *byte == b'=').next().unwrap_or_default()
}

impl Running {
    /// What to wait for.
    pub(super) fn interests(&self, now: Instant) -> Vec<Interest<'_>> {
        let mut interests = Vec::with_capacity(4);
        if self.exit.is_none() {
            interests.push(Interest::Exit(self.pidfd.as_fd()));
        }
        if let Some(pipe) = &self.stdout.pipe
            && (self.request.reader != Reader::Slow || now >= self.next_slow_read)
            && !self.awaits_print()
        {
            interests.push(Interest::Readable(pipe.as_fd(), Channel::Stdout));
        }
        if let Some(pipe) = &self.stderr.pipe {
            interests.push(Interest::Readable(pipe.as_fd(), Channel::Stderr));
        }
        if let Some(pipe) = &self.stdin
            && self.written < self.payload.len()
        {
            interests.push(Interest::Writable(pipe.as_fd()));
        }
        interests
    }

    /// When something is due even if nothing happens.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let end = match (&self.dying, self.gone_by) {
            (Some((_, at)), _) => Some(*at),
            (None, Some(at)) => Some(at),
            (None, None) => Some(self.deadline),
        };
        let slow =
            (self.request.reader == Reader::Slow && self.stdout.pipe.is_some() && now < self.next_slow_read)
                .then_some(self.next_slow_read);
        let look = self.awaits_print().then_some(now + PRINTING_LOOK);
        end.into_iter().chain(slow).chain(look).min()
    }

    /// Goes on with the payload.
    pub(super) fn feed(&mut self) {
        while let Some(pipe) = &self.stdin {
            if self.written == self.payload.len() {
                if self.request.feed != Feed::NoEnd {
                    self.stdin = None;
                }
                return;
            }
            match nix::unistd::write(pipe, &self.payload[self.written..]) {
                Ok(bytes) => self.written += bytes,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                // It does not read, or is gone.
                Err(_) => self.stdin = None,
            }
        }
    }

    /// Takes what is there to be read.
    pub(super) fn read(&mut self, channel: Channel, now: Instant) {
        match channel {
            Channel::Stderr => self.stderr.read(usize::MAX),
            Channel::Stdout => match self.request.reader {
                Reader::Prompt => self.stdout.read(usize::MAX),
                Reader::Slow => {
                    self.stdout.read(SLOW_BYTES);
                    self.next_slow_read = now + SLOW_PAUSE;
                }
                Reader::ClosesAfter(most) => {
                    let most = most.saturating_sub(self.stdout.kept.len());
                    self.stdout.read(most.max(1));
                    if self.stdout.kept.len() >= most {
                        self.stdout.pipe = None;
                    }
                }
            },
        }
    }

    /// Whether it is to be hit while it prints, and was not yet.
    fn awaits_print(&self) -> bool {
        self.request.signal.is_some() && !self.signalled && self.exit.is_none() && !self.timed_out
    }

    /// Sends the signal that was asked for, if the hook waits for its reader.
    fn hit_in_print(&mut self, now: Instant) {
        let Some(signal) = self.request.signal.and_then(|number| Signal::try_from(number).ok()) else {
            return;
        };
        let tree: Vec<i32> = std::iter::once(self.pid.as_raw()).chain(below(self.pid)).collect();
        let done: Option<Vec<(i32, u64)>> =
            tree.iter().map(|pid| Some((*pid, processes::switches_in_sleep(*pid)?))).collect();
        let since = match (&self.asleep, &done) {
            (Some((since, before)), Some(done)) if before == done => *since,
            _ => now,
        };
        self.asleep = done.map(|done| (since, done));
        let is_asleep = self.asleep.is_some() && now >= since + ASLEEP;
        if is_asleep || tree.iter().any(|pid| processes::waits_to_write(*pid, self.inode)) {
            self.signalled = killpg(self.pid, signal).is_ok();
        }
    }

    /// Notes the exit, and who still holds stdout then.
    pub(super) fn reap(&mut self) {
        let exit = match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(_, code)) => Exit::Code { code },
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                Exit::Signal { signal: signal as i32, name: signal.as_str().to_owned() }
            }
            Ok(_) => return,
            Err(errno) => Exit::NotStarted { why: errno.desc().to_owned() },
        };
        self.exit = Some(exit);
        if self.request.reader == Reader::Prompt {
            self.stdout.read(usize::MAX);
            self.stderr.read(usize::MAX);
        }
        if self.stdout.pipe.is_some() && !self.stdout.at_end && self.request.reader == Reader::Prompt {
            self.holders = processes::holders(self.inode);
        }
    }

    /// Whether it is over, as the harness sees it.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        if self.exit.is_none() {
            return self.gone_by.is_some_and(|at| now >= at);
        }
        if self.timed_out {
            return self.dying.is_none();
        }
        match self.request.finish {
            Finish::Exit => self.request.reader != Reader::Slow || self.stdout.pipe.is_none(),
            Finish::EndOfOutput => self.stdout.pipe.is_none() && self.stderr.pipe.is_none(),
        }
    }

    /// What is due by the clock.
    pub(super) fn look_at_clock(&mut self, now: Instant) {
        if self.awaits_print() {
            self.hit_in_print(now);
        }
        if let Some((processes, at)) = &self.dying {
            let rest: Vec<i32> = processes.iter().filter_map(|process| still(*process)).collect();
            if rest.is_empty() && self.exit.is_some() {
                self.dying = None;
            } else if now >= *at {
                for pid in rest.into_iter().chain(below(self.pid)) {
                    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                }
                if self.exit.is_none() {
                    let _ = kill(self.pid, Signal::SIGKILL);
                }
                self.dying = None;
                self.gone_by = Some(now + GONE_BOUND);
            }
            return;
        }
        if self.timed_out || now < self.deadline {
            return;
        }
        self.timed_out = true;
        match self.request.kill {
            Kill::Group => {
                let _ = killpg(self.pid, Signal::SIGKILL);
                self.gone_by = Some(now + GONE_BOUND);
            }
            Kill::TreeThenKill(grace) => {
                let mut tree: Vec<(i32, u64)> = processes::below(self.pid.as_raw())
                    .into_iter()
                    .map(|process| (process.pid, process.start_time))
                    .collect();
                if self.exit.is_none()
                    && let Some(leader) = processes::living(self.pid.as_raw())
                {
                    tree.insert(0, (leader.pid, leader.start_time));
                }
                for pid in tree.iter().filter_map(|process| still(*process)) {
                    let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
                }
                self.dying = Some((tree, now + grace));
            }
        }
    }

    /// How soon it has to be looked whether what was asked to end is gone.
    pub(super) fn is_dying(&self) -> bool {
        self.dying.is_some()
    }

    /// What became of it, and its output.
    pub(super) fn finish(self) -> (Response, Vec<u8>, Vec<u8>) {
        let response = Response {
            id: self.id,
            exit: self.exit.unwrap_or_else(|| Exit::NotStarted { why: "it cannot be killed".to_owned() }),
            elapsed: self.started.elapsed(),
            timed_out: self.timed_out,
            stdout_bytes: self.stdout.bytes,
            stderr_bytes: self.stderr.bytes,
            stdin_bytes: self.written as u64,
            stdout_eof: self.stdout.at_end,
            signalled: self.signalled,
            holders: self.holders,
            kept_stdout: self.stdout.kept.len(),
        };
        (response, self.stdout.kept, self.stderr.kept)
    }
}

impl Output {
    fn read(&mut self, most: usize) {
        let mut buffer = [0_u8; 64 * 1024];
        // One that floods must not keep us from looking at the clock. No pipe holds more.
        let mut left = most.min(READ_BYTES);
        while let Some(pipe) = &self.pipe
            && left > 0
        {
            let want = buffer.len().min(left);
            match nix::unistd::read(pipe, &mut buffer[..want]) {
                Ok(0) => {
                    self.at_end = true;
                    self.pipe = None;
                }
                Ok(bytes) => {
                    left -= bytes;
                    let skipped = self.skip.min(bytes);
                    self.skip -= skipped;
                    let own = &buffer[skipped..bytes];
                    self.bytes += own.len() as u64;
                    let room = KEEP_BYTES.saturating_sub(self.kept.len()).min(own.len());
                    self.kept.extend_from_slice(&own[..room]);
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

/// Fills a small pipe; with how many bytes.
fn fill(pipe: &OwnedFd) -> Result<usize, Errno> {
    nix::unistd::write(pipe, &[b' '; SMALL_PIPE_BYTES])
}

/// A process's id, if it is still that very process.
fn still((pid, start_time): (i32, u64)) -> Option<i32> {
    processes::is_still(pid, start_time).then_some(pid)
}

fn below(pid: Pid) -> Vec<i32> {
    processes::below(pid.as_raw()).into_iter().map(|process| process.pid).collect()
}
