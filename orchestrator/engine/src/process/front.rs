//! The front's side of one run: hands on output as it comes, waits for the supervisor's report, and has a backstop
//! of its own should the supervisor be gone or stopped.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::Child;

use super::bounds::{Bounds, Cap, Containment};
use super::error::StartError;
use super::lost::{self, Scope};
use super::outcome::{End, Outcome};
use super::output::{Channel, Output, Read};
use super::sweep::KILL_BOUND;
use super::sys;
use super::wire::{self, Order, Report, Status};

/// How long the front waits beyond the supervisor's own bounds before it takes over.
const SLACK: Duration = Duration::from_secs(2);

/// A piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Where it came out.
    pub channel: Channel,
    /// The bytes, at least one and at most 64 KiB; cut anywhere.
    pub bytes: &'a [u8],
}

/// Output and outcome of a run that was taken as a whole.
#[derive(Debug)]
pub struct Captured {
    /// The beginning of stdout, up to the cap.
    pub stdout: Vec<u8>,
    /// The beginning of stderr, up to the cap.
    pub stderr: Vec<u8>,
    /// What became of the run.
    pub outcome: Outcome,
}

/// A control socket's front end, shared between a run and its stoppers.
type Control = Arc<AsyncFd<OwnedFd>>;

/// Asks a run to stop, from anywhere. It does not keep the run: one that was dropped ends all the same.
#[derive(Debug, Clone)]
pub struct Stopper {
    control: Weak<AsyncFd<OwnedFd>>,
}

impl Stopper {
    /// TERM, grace, KILL, as at the deadline; the outcome will be [`End::Interrupted`] by this signal. Does nothing
    /// to a run that is over or is being stopped.
    pub fn stop(&self, signal: Option<i32>) {
        let signal = signal.and_then(|signal| u8::try_from(signal).ok());
        self.send(Order::Stop(signal));
    }

    /// KILL at once.
    pub fn kill(&self) {
        self.send(Order::Kill);
    }

    fn send(&self, order: Order) {
        if let Some(control) = self.control.upgrade() {
            let _ = wire::send_order(control.get_ref().as_fd(), order, &[]);
        }
    }
}

/// A run in progress. Take its output with [`next`](Self::next) until that gives `None`, then
/// [`finish`](Self::finish); or everything at once with [`capture`](Self::capture).
///
/// Dropping it ends the run: the supervisor sees the front gone and kills everything below it.
#[derive(Debug)]
pub struct Run {
    control: Control,
    stdout: Output,
    stderr: Output,
    cap: Cap,
    leader: i32,
    scope: Scope,
    /// The supervisor's process, where this run has one of its own.
    supervisor: Option<Child>,
    started: Instant,
    /// When the front takes over.
    backstop: Instant,
    report: Option<Report>,
}

/// What is needed to follow a run.
pub(crate) struct Parts {
    pub(crate) control: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) supervisor: Option<Child>,
    pub(crate) scope: Scope,
}

impl Run {
    /// Waits until the program runs, or says why it does not.
    pub(crate) async fn start(
        parts: Parts,
        program: &str,
        folder: Option<&std::path::Path>,
        bounds: &Bounds,
    ) -> Result<Self, StartError> {
        let system = |source| StartError::System { program: program.to_owned(), source };
        let started = Instant::now();
        let control = Arc::new(sys::watch(parts.control, Interest::READABLE).map_err(system)?);
        let mut run = Self {
            stdout: Output::new(parts.stdout, bounds.cap).map_err(system)?,
            stderr: Output::new(parts.stderr, bounds.cap).map_err(system)?,
            cap: bounds.cap,
            leader: 0,
            scope: parts.scope,
            supervisor: parts.supervisor,
            started,
            backstop: started + bounds.deadline.get() + bounds.grace.get() + SLACK,
            report: None,
            control,
        };
        let status = tokio::select! {
            biased;
            status = receive(&run.control) => status,
            () = tokio::time::sleep_until(run.backstop.into()) => Ok(Some(Status::StartTimedOut)),
        };
        let gone = |kind: std::io::ErrorKind| {
            let source = std::io::Error::new(kind, "the supervisor ended before the program had started");
            StartError::Supervisor { program: program.to_owned(), source }
        };
        match status {
            Ok(Some(Status::Started { leader })) => {
                run.leader = leader;
                Ok(run)
            }
            Ok(Some(Status::StartFailed { step, errno })) => {
                run.reap().await;
                Err(StartError::from_step(program.to_owned(), folder.map(Into::into), step, errno))
            }
            Ok(Some(Status::StartTimedOut)) => {
                run.reap().await;
                Err(StartError::Deadline { program: program.to_owned() })
            }
            Ok(_) => {
                run.reap().await;
                Err(gone(std::io::ErrorKind::BrokenPipe))
            }
            Err(errno) => Err(gone(std::io::Error::from(errno).kind())),
        }
    }

    /// The pid of the command itself. It is also its session and its process group.
    pub fn leader(&self) -> i32 {
        self.leader
    }

    /// The pid of the supervisor, where this run has one of its own.
    pub fn supervisor(&self) -> Option<i32> {
        self.supervisor.as_ref()?.id()?.try_into().ok()
    }

    /// A handle that stops this run.
    pub fn stopper(&self) -> Stopper {
        Stopper { control: Arc::downgrade(&self.control) }
    }

    /// The next piece of output under the cap. `None`: the run is over, and everything that was written before the
    /// leader's end has been handed on or counted. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Chunk<'_>> {
        enum Event {
            Stdout(Read),
            Stderr(Read),
            Status(Result<Option<Status>, Errno>),
            Backstop,
        }
        while self.report.is_none() {
            let event = tokio::select! {
                read = self.stdout.next() => Event::Stdout(read),
                read = self.stderr.next() => Event::Stderr(read),
                status = receive(&self.control) => Event::Status(status),
                () = tokio::time::sleep_until(self.backstop.into()) => Event::Backstop,
            };
            match event {
                Event::Stdout(Read::Bytes(count)) => {
                    return Some(Chunk { channel: Channel::Stdout, bytes: self.stdout.chunk(count) });
                }
                Event::Stderr(Read::Bytes(count)) => {
                    return Some(Chunk { channel: Channel::Stderr, bytes: self.stderr.chunk(count) });
                }
                Event::Status(Ok(Some(Status::Done(report)))) => self.end(report),
                Event::Status(Ok(Some(Status::Killing))) => {
                    self.backstop = Instant::now() + KILL_BOUND + SLACK;
                }
                Event::Stdout(_) | Event::Stderr(_) | Event::Status(Ok(Some(_))) => {}
                // The front may have been busy elsewhere while the report came: what has been said counts first.
                Event::Backstop if self.has_word() => {}
                Event::Status(Ok(None) | Err(_)) | Event::Backstop => {
                    let report = self.take_over().await;
                    self.end(report);
                }
            }
        }
        loop {
            match self.stdout.drain() {
                Read::Bytes(count) => {
                    return Some(Chunk { channel: Channel::Stdout, bytes: self.stdout.chunk(count) });
                }
                Read::Dropped => {}
                Read::End => break,
            }
        }
        loop {
            match self.stderr.drain() {
                Read::Bytes(count) => {
                    return Some(Chunk { channel: Channel::Stderr, bytes: self.stderr.chunk(count) });
                }
                Read::Dropped => {}
                Read::End => return None,
            }
        }
    }

    /// Reads no more of this channel. A process that goes on to write gets SIGPIPE, as it would from a pipe to a
    /// program that has ended.
    pub fn close_output(&mut self, channel: Channel) {
        match channel {
            Channel::Stdout => self.stdout.close(),
            Channel::Stderr => self.stderr.close(),
        }
        let _ = wire::send_order(self.control.get_ref().as_fd(), Order::CloseOutput(channel), &[]);
    }

    /// Waits for the end, counting and dropping what is still written, and says what became of the run.
    pub async fn finish(mut self) -> Outcome {
        while self.next().await.is_some() {}
        self.reap().await;
        let report = self.report.take().unwrap_or_else(|| lost_report(Containment::Group));
        Outcome {
            version: 1,
            end: report.end,
            exit_code: report.exit_code,
            signal: report.signal,
            interrupted_by: report.interrupted_by,
            elapsed: Duration::from_micros(report.elapsed_us),
            stdout_bytes: self.stdout.bytes,
            stderr_bytes: self.stderr.bytes,
            truncated: self.stdout.truncated || self.stderr.truncated,
            pipe_held: report.pipe_held,
            killed_after_exit: report.killed_after_exit,
            unkillable: report.unkillable,
            containment: report.containment,
        }
    }

    /// Keeps the output in memory, up to the cap of each channel ([`Cap::DEFAULT`] where there is none), and waits
    /// for the end.
    pub async fn capture(mut self) -> Captured {
        let most = match self.cap {
            Cap::Bytes(bytes) => bytes,
            Cap::Everything => 512 * 1024,
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut dropped = false;
        while let Some(chunk) = self.next().await {
            let kept = match chunk.channel {
                Channel::Stdout => &mut stdout,
                Channel::Stderr => &mut stderr,
            };
            let room = most.saturating_sub(kept.len());
            dropped |= chunk.bytes.len() > room;
            kept.extend_from_slice(&chunk.bytes[..chunk.bytes.len().min(room)]);
        }
        let mut outcome = self.finish().await;
        outcome.truncated |= dropped;
        Captured { stdout, stderr, outcome }
    }

    /// Takes what the supervisor has said and nobody has read yet. `false`: nothing.
    fn has_word(&mut self) -> bool {
        match wire::receive_status(self.control.get_ref().as_fd()) {
            Ok(Some(Status::Done(report))) => self.end(report),
            Ok(Some(_)) => self.backstop = Instant::now() + KILL_BOUND + SLACK,
            Ok(None) | Err(_) => return false,
        }
        true
    }

    fn end(&mut self, report: Report) {
        self.report = Some(report);
        self.stdout.end_of_run();
        self.stderr.end_of_run();
    }

    /// The supervisor is gone, or does not act by its own bounds.
    async fn take_over(&mut self) -> Report {
        if let Some(supervisor) = &mut self.supervisor {
            let _ = supervisor.start_kill();
        }
        self.reap().await;
        let ended = lost::end_what_is_left(&self.scope, self.leader).await;
        Report {
            elapsed_us: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
            killed_after_exit: ended.killed,
            unkillable: ended.left,
            ..lost_report(ended.containment)
        }
    }

    /// Reaps the supervisor, which ends right after its report.
    async fn reap(&mut self) {
        if let Some(mut supervisor) = self.supervisor.take() {
            let pid = supervisor.id();
            if tokio::time::timeout(SLACK, supervisor.wait()).await.is_err() {
                let _ = supervisor.start_kill();
            }
            self.scope.forget(pid);
        }
    }
}

fn lost_report(containment: Containment) -> Report {
    Report {
        end: End::SupervisorLost,
        exit_code: None,
        signal: None,
        interrupted_by: None,
        elapsed_us: 0,
        pipe_held: false,
        killed_after_exit: 0,
        unkillable: Vec::new(),
        containment,
    }
}

/// Waits for a status. `Ok(None)`: the supervisor is gone.
pub(crate) async fn receive(control: &AsyncFd<OwnedFd>) -> Result<Option<Status>, Errno> {
    loop {
        let mut guard = control.readable().await.map_err(|_| Errno::EIO)?;
        match wire::receive_status(guard.get_inner().as_fd()) {
            Err(Errno::EAGAIN) => guard.clear_ready(),
            result => return result,
        }
    }
}
