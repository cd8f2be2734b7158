//! The simulator's side of a host: starting it below the engine, giving it hooks, looking for what they leave behind.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use dogwatch_engine::process::{self as engine, Bounds, Deadline, Engine, Run};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use thiserror::Error;

use super::declared::{Declared, is_declared};
use super::host::block;
use super::patience::await_declared;
use super::processes::{self, Children, Process, is_still};
use super::scratch::Scratch;
use super::stage::Stage;
use super::wire::{Hello, Message, Request, Response, receive, send};
use super::{HookRun, wire};
use crate::env;
use crate::report::{Survivor, survivor};

/// How long a host may take to start.
pub(super) const START_BOUND: Duration = Duration::from_secs(10);
/// What is on its way out when the hook has returned gets so long to be gone before it counts as a survivor.
pub(super) const LINGER: Duration = Duration::from_millis(100);
/// The longest that a simulated session may last: as long as the engine bounds anything.
pub(super) const LONGEST_SESSION: Duration = Duration::from_hours(24);
/// How long a host may take to end.
const END_BOUND: Duration = Duration::from_secs(10);

/// Why hooks could not be started at all.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// This program cannot be started again as a host.
    #[error(
        "no program can play the harness's process: call harness_sim::init() first thing in main, or name an installed \
         harness-sim with Simulator::host_program or HARNESS_SIM, or put it on PATH"
    )]
    NoHost,
    /// The engine could not start the host.
    #[error("failed to start the host process: {0}")]
    Engine(#[from] engine::StartError),
    /// The scratch folder could not be made, or the process that clears it away could not be started.
    #[error("failed to make the scratch folder, or to start the process that clears it away: {0}")]
    Scratch(#[source] io::Error),
    /// A disk that is to fail, or clocks that are to be ahead, could not be set up.
    #[error("failed to set up what is wrong with the machine: {0}")]
    Stage(String),
    /// The host did not answer, or broke off.
    #[error("lost the host process: {0}")]
    Host(#[from] io::Error),
}

/// What several sessions of one simulator run share: the program that plays hosts, one supervisor, one scratch folder.
#[derive(Debug)]
pub(crate) struct Shared {
    /// `None` only while it is being dropped.
    supervisor: Option<engine::Session>,
    program: PathBuf,
    scratch: Scratch,
    runtime: tokio::runtime::Runtime,
}

/// What a host is to be.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) argv0: &'static str,
    pub(crate) project: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) declared: Declared,
    /// What is wrong with its machine.
    pub(crate) stages: Vec<Stage>,
}

/// A host that runs, and what is known of what its hooks left behind.
#[derive(Debug)]
pub(crate) struct Session {
    socket: UnixStream,
    run: Option<Run>,
    hello: Hello,
    of_host: Option<Children>,
    of_supervisor: Option<Children>,
    next_id: u32,
    declared: Declared,
    project: PathBuf,
    /// Survivors that were reported.
    known: HashSet<(i32, u64)>,
}

impl Shared {
    /// # Errors
    /// [`LaunchError`].
    pub(crate) fn new(program: Option<&Path>) -> Result<Self, LaunchError> {
        let (engine, program) = if let Some(program) = program {
            (Engine::with_supervisor(program), program.to_owned())
        } else if crate::is_initialised() {
            (Engine::new(), std::env::current_exe()?)
        } else {
            let program = env::host_program().ok_or(LaunchError::NoHost)?;
            (Engine::with_supervisor(&program), program)
        };
        let mut scratch = Scratch::new(&program).map_err(LaunchError::Scratch)?;
        for folder in ["bin", "home", "survivors"] {
            std::fs::create_dir(scratch.path().join(folder))?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let supervisor = apart(&runtime, async { engine.session() })??;
        if let Some(supervisor) = supervisor.supervisor() {
            scratch.await_end_of(supervisor);
        }
        Ok(Self { supervisor: Some(supervisor), program, scratch, runtime })
    }

    /// A home with nothing in it.
    pub(crate) fn scratch_home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// Where hooks may put identity files.
    pub(crate) fn survivors(&self) -> PathBuf {
        self.scratch.path().join("survivors")
    }

    /// Starts a host.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub(crate) fn start(&self, host: Host) -> Result<Session, LaunchError> {
        let bin = self.scratch.path().join("bin");
        let link = bin.join(host.argv0);
        match std::os::unix::fs::symlink(&self.program, &link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
        let address = tempfile::Builder::new().prefix("host-").make_in(self.scratch.path(), |path| {
            // Through the folder's descriptor: the path of a deep scratch folder would not fit into an address.
            let folder = std::fs::File::open(path.parent().unwrap_or(Path::new(".")))?;
            let name = path.file_name().unwrap_or_default();
            let short = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&folder)));
            UnixListener::bind(short.join(name))
        })?;
        let mut path = bin.into_os_string();
        if let Some(rest) = env::path() {
            path.push(":");
            path.push(rest);
        }
        // The host goes to the scratch folder, so that its socket has a short name there.
        let name = address.path().file_name().unwrap_or_default().to_owned();
        let command = engine::Command::new(host.argv0)
            .env_clear()
            .env("PATH", path)
            .env(env::HOST_SOCKET, Path::new(OsStr::new(".")).join(name))
            .current_dir(self.scratch.path());
        let bounds = Bounds::new(Deadline::new(LONGEST_SESSION).unwrap_or(Deadline::DEFAULT));
        let run = self.run(&command, &bounds)?;
        let (socket, hello) = greet(address.as_file())?;
        send(&socket, &host.stages, &[&block(&host.environment)])?;
        if !host.stages.is_empty() {
            let (refused, _) = receive::<Option<String>>(&socket)?.ok_or_else(broke_off)?;
            if let Some(why) = refused {
                return Err(LaunchError::Stage(why));
            }
        }
        Ok(Session {
            socket,
            run: Some(run),
            hello,
            of_host: Children::of(hello.host),
            of_supervisor: Children::of(hello.supervisor),
            next_id: 0,
            declared: host.declared,
            project: host.project,
            known: HashSet::new(),
        })
    }

    /// Runs a command with a shell, below the engine and within a bound; what it leaves behind is ended. What it did
    /// wrong.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub(crate) fn run_once(
        &self,
        command: &str,
        folder: &Path,
        environment: Vec<(OsString, OsString)>,
        bound: Duration,
    ) -> Result<Option<String>, LaunchError> {
        let mut shell = engine::Command::new("/bin/sh").args(["-c", command]).env_clear().current_dir(folder);
        for (name, value) in environment {
            shell = shell.env(name, value);
        }
        let bounds = Bounds::new(Deadline::new(bound).unwrap_or(Deadline::DEFAULT));
        let supervisor = self.supervisor.as_ref().ok_or_else(broke_off)?;
        let captured = apart(&self.runtime, async {
            let run = supervisor.start(&shell, &bounds).await?;
            Ok::<_, LaunchError>(run.capture().await)
        })??;
        let outcome = captured.outcome;
        Ok(match (outcome.end, outcome.exit_code) {
            (engine::End::Exited, Some(0)) => None,
            (engine::End::Exited, Some(code)) => {
                Some(crate::harness::with_stderr(format!("exit {code}"), &captured.stderr))
            }
            (engine::End::Deadline, _) => {
                Some(format!("it did not end within {}", crate::report::duration(bound)))
            }
            _ => Some("it was killed".to_owned()),
        })
    }

    /// Ends a session: waits for what was declared, at most so long, and lets the engine end the rest.
    pub(crate) fn close(&self, session: Session, patience: Duration) {
        await_declared(patience, || session.declared_survivors());
        let Session { socket, run, .. } = session;
        let _ = send(&socket, &Message::End, &[]);
        drop(socket);
        if let Some(run) = run {
            self.end(run);
        }
    }

    /// Starts a process of ours below the engine.
    pub(super) fn run(&self, command: &engine::Command, bounds: &Bounds) -> Result<Run, LaunchError> {
        let supervisor = self.supervisor.as_ref().ok_or_else(broke_off)?;
        Ok(apart(&self.runtime, supervisor.start(command, bounds))??)
    }

    /// Waits for its end.
    pub(super) fn end(&self, run: Run) {
        let _ =
            apart(&self.runtime, async { tokio::time::timeout(END_BOUND, run.capture()).await.map(drop) });
    }

    /// The scratch folder, below which everything is that a run makes in the temporary folder.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(supervisor) = self.supervisor.take() {
            let _ = apart(&self.runtime, supervisor.close());
        }
    }
}

/// Runs a future on a thread of its own: the caller may be inside a runtime, which must not be entered twice.
fn apart<T: Send>(runtime: &tokio::runtime::Runtime, work: impl Future<Output = T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| scope.spawn(|| runtime.block_on(work)).join())
        .map_err(|_| io::Error::other("a thread of the simulator panicked"))
}

fn greet(listener: &UnixListener) -> Result<(UnixStream, Hello), LaunchError> {
    use std::os::fd::AsFd;
    let mut fds = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
    let bound = PollTimeout::try_from(START_BOUND.as_millis()).unwrap_or(PollTimeout::MAX);
    if poll(&mut fds, bound).map_err(io::Error::from)? == 0 {
        let why = "it did not come up; does the program call harness_sim::init() first thing in main?";
        return Err(LaunchError::Host(io::Error::new(io::ErrorKind::TimedOut, why)));
    }
    let (socket, _) = listener.accept()?;
    socket.set_read_timeout(Some(START_BOUND))?;
    let (hello, _) = receive::<Hello>(&socket)?.ok_or_else(broke_off)?;
    socket.set_read_timeout(None)?;
    Ok((socket, hello))
}

fn broke_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it ended in the middle")
}

/// A hook to be run: how to start it, its stdin, and what reports call it.
pub(crate) struct Order {
    pub(crate) request: Request,
    pub(crate) payload: Vec<u8>,
    pub(crate) command: String,
}

impl Session {
    /// Runs hooks beside each other, and waits for all of them.
    ///
    /// # Errors
    /// When the host is lost.
    pub(crate) fn run(&mut self, orders: Vec<Order>) -> Result<Vec<HookRun>, LaunchError> {
        let first = self.next_id;
        let mut orders = orders;
        for order in &mut orders {
            order.request.id = self.next_id;
            self.next_id += 1;
        }
        let socket = &self.socket;
        let give = |orders: &[Order]| {
            orders
                .iter()
                .try_for_each(|order| send(socket, &Message::Start(order.request.clone()), &[&order.payload]))
        };
        if let [_] = orders[..] {
            give(&orders)?;
            return collect(socket, &orders, first);
        }
        // The host may already answer the first while it is given the next: neither may wait for the other.
        std::thread::scope(|scope| {
            let giving = scope.spawn(|| give(&orders));
            let runs = collect(socket, &orders, first);
            match giving.join() {
                Ok(Ok(())) => runs,
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(io::Error::other("the thread that gave the hooks panicked").into()),
            }
        })
    }

    /// Runs lanes of hooks beside each other: `next` is told what became of a lane's hook, and says what that lane runs
    /// then.
    ///
    /// # Errors
    /// When the host is lost.
    pub(crate) fn run_lanes(
        &mut self,
        first: Vec<(usize, Order)>,
        mut next: impl FnMut(usize, HookRun) -> Option<Order>,
    ) -> Result<(), LaunchError> {
        let (socket, next_id) = (&self.socket, &mut self.next_id);
        // The host may answer one while it is given another: neither may wait for the other.
        std::thread::scope(|scope| {
            let (giver, given) = mpsc::channel::<(Request, Vec<u8>)>();
            let giving = scope.spawn(move || {
                given
                    .iter()
                    .try_for_each(|(request, payload)| send(socket, &Message::Start(request), &[&payload]))
            });
            let mut running = HashMap::new();
            let mut start = |lane: usize, mut order: Order, running: &mut HashMap<_, _>| {
                order.request.id = *next_id;
                *next_id += 1;
                running.insert(order.request.id, (lane, order.command, order.request.deadline));
                // One that has broken off is seen below.
                let _ = giver.send((order.request, order.payload));
            };
            for (lane, order) in first {
                start(lane, order, &mut running);
            }
            while !running.is_empty() {
                let (response, output) = receive::<wire::Response>(socket)?.ok_or_else(broke_off)?;
                let Some((lane, command, deadline)) = running.remove(&response.id) else { continue };
                if let Some(order) = next(lane, finished(response, output, command, deadline)) {
                    start(lane, order, &mut running);
                }
            }
            drop(giver);
            match giving.join() {
                Ok(result) => Ok(result?),
                Err(_) => Err(io::Error::other("the thread that gave the hooks panicked").into()),
            }
        })
    }

    /// What lives below the host and its supervisor that was not reported before.
    pub(crate) fn new_survivors(&mut self, runs: &[HookRun], linger: Option<Duration>) -> Vec<Survivor> {
        let left = self.left_behind();
        if left.is_empty() {
            return Vec::new();
        }
        let until = Instant::now() + linger.unwrap_or(LINGER);
        for process in &left {
            ends_within(process, until.saturating_duration_since(Instant::now()));
        }
        // Only now: what ended may have left others behind, what was forked has become its program, and an identity may
        // have been written.
        let left = self.left_behind();
        let named = self.declared.identities(&self.project);
        left.iter()
            .map(|process| {
                self.known.insert((process.pid, process.start_time));
                let holds = runs.iter().flat_map(|run| &run.holders).any(|holder| holder.pid == process.pid);
                survivor(process, is_declared(process, &left, &named), holds)
            })
            .collect()
    }

    /// Whether the host has no child and its supervisor no other. The usual case, and it costs two short reads.
    fn is_alone(&self) -> bool {
        let [of_host, of_supervisor] =
            [&self.of_host, &self.of_supervisor].map(|list| list.as_ref().and_then(Children::few));
        of_host.is_some_and(|children| children.is_empty())
            && of_supervisor.is_some_and(|children| children == [self.hello.host])
    }

    fn left_behind(&self) -> Vec<Process> {
        if self.is_alone() {
            return Vec::new();
        }
        processes::below(self.hello.supervisor)
            .into_iter()
            .filter(|process| process.pid != self.hello.host)
            .filter(|process| !self.known.contains(&(process.pid, process.start_time)))
            .collect()
    }

    /// What is named by an identity file, or below what is, parents first.
    fn declared_survivors(&self) -> Vec<Process> {
        if self.is_alone() {
            return Vec::new();
        }
        let all = processes::below(self.hello.supervisor);
        let named = self.declared.identities(&self.project);
        let is_one =
            |process: &&Process| process.pid != self.hello.host && is_declared(process, &all, &named);
        all.iter().filter(is_one).cloned().collect()
    }
}

/// Takes the answers as they come, in the order of the hooks.
fn collect(socket: &UnixStream, orders: &[Order], first: u32) -> Result<Vec<HookRun>, LaunchError> {
    let mut runs: Vec<Option<HookRun>> = orders.iter().map(|_| None).collect();
    while runs.iter().any(Option::is_none) {
        let (response, output) = receive::<wire::Response>(socket)?.ok_or_else(broke_off)?;
        let at = (response.id - first) as usize;
        if let (Some(place), Some(order)) = (runs.get_mut(at), orders.get(at)) {
            *place = Some(finished(response, output, order.command.clone(), order.request.deadline));
        }
    }
    Ok(runs.into_iter().flatten().collect())
}

pub(super) fn same(one: &Process, other: &Process) -> bool {
    (one.pid, one.start_time) == (other.pid, other.start_time)
}

/// Waits for a process's end. `false` if it lives on.
pub(super) fn ends_within(process: &Process, bound: Duration) -> bool {
    let is_same = || is_still(process.pid, process.start_time);
    let Some(pid) = rustix::process::Pid::from_raw(process.pid) else { return true };
    let Ok(pidfd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else {
        return !is_same();
    };
    // Only now is it certain that the descriptor is that very process's.
    if !is_same() {
        return true;
    }
    let mut fds = [PollFd::new(std::os::fd::AsFd::as_fd(&pidfd), PollFlags::POLLIN)];
    let bound = PollTimeout::try_from(bound.as_millis()).unwrap_or(PollTimeout::MAX);
    matches!(poll(&mut fds, bound), Ok(1..))
}

fn finished(response: Response, mut output: Vec<u8>, command: String, deadline: Duration) -> HookRun {
    let stderr = output.split_off(response.kept_stdout.min(output.len()));
    HookRun {
        command,
        exit: response.exit,
        elapsed: response.elapsed,
        deadline,
        timed_out: response.timed_out,
        stdout_bytes: response.stdout_bytes,
        stderr_bytes: response.stderr_bytes,
        stdin_bytes: response.stdin_bytes,
        stdout_eof: response.stdout_eof,
        signalled: response.signalled,
        holders: response.holders,
        stdout: output,
        stderr,
    }
}
