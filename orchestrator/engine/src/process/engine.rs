//! Starting runs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio as StdStdio;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::pipe2;
use tokio::process::Child;

use super::bounds::{Bounds, Leftover};
use super::command::{Command, Stdin};
use super::error::StartError;
use super::front::{Parts, Run};
use super::keeper::{Mode, keep};
use super::lost::Scope;
use super::procfs;
use super::supervisor::{self, ENTRY, RUN, SESSION};
use super::sweep::{Reach, own_pid};
use super::sys;
use super::wire::{self, Order, Request, Spec, Stdio};

/// How long a session's supervisor has to end after its last run.
const SESSION_END: Duration = Duration::from_secs(2);

/// Which program serves as the supervisor.
#[derive(Debug, Clone)]
pub(crate) enum Supervisor {
    /// This very program, which called [`init`](crate::init).
    Itself,
    /// Another program that calls it.
    Program(PathBuf),
    /// None: a thread of the front keeps the run.
    Thread,
}

/// Starts runs. Cheap to make and to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) supervisor: Supervisor,
    pub(crate) scope: Scope,
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine {
    /// An engine whose supervisor is this very program, if it called [`init`](crate::init); otherwise runs are kept
    /// by a thread, and their containment is [`Group`](crate::process::Containment::Group).
    pub fn new() -> Self {
        let supervisor = if supervisor::initialised() { Supervisor::Itself } else { Supervisor::Thread };
        Self { supervisor, scope: Scope::default() }
    }

    /// An engine whose supervisor is another program that calls [`init`](crate::init) first thing in its `main`. For
    /// programs that cannot be their own, as tests under `cargo test`.
    pub fn with_supervisor(program: impl Into<PathBuf>) -> Self {
        Self { supervisor: Supervisor::Program(program.into()), scope: Scope::default() }
    }

    /// Makes this *process* a subreaper, so that the orphans of a supervisor that was killed come here and are ended.
    ///
    /// Only for a program whose every child is started by this engine: when a supervisor is lost, every child that
    /// the engine does not know is killed.
    ///
    /// # Errors
    /// Where `prctl(PR_SET_CHILD_SUBREAPER)` is refused.
    pub fn adopt_orphans(self) -> io::Result<Self> {
        nix::sys::prctl::set_child_subreaper(true)?;
        // What a shell started before it became this program is nobody's orphan.
        procfs::children(own_pid(), usize::MAX, |pid| self.scope.remember(pid));
        Ok(Self { scope: self.scope.adopting(), ..self })
    }

    /// Starts a command and waits until its program runs. Must be called within a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// [`StartError`]; nothing of the attempt is left then.
    pub async fn start(&self, command: &Command, bounds: &Bounds) -> Result<Run, StartError> {
        let (ours, theirs) = prepare(command, bounds)?;
        let supervisor = match &self.supervisor {
            Supervisor::Thread => {
                theirs.keep_in_thread()?;
                None
            }
            Supervisor::Itself | Supervisor::Program(_) => {
                Some(self.spawn_supervisor(RUN, theirs.send(&ours.control)?, &ours.program)?)
            }
        };
        ours.follow(supervisor, self.scope.clone(), command, bounds).await
    }

    /// Starts one supervisor for many runs; each has its own bounds and its own kill, and they share the start-up
    /// cost. Without a supervisor program the runs are kept by threads.
    ///
    /// # Errors
    /// [`StartError::Supervisor`] or [`StartError::OutOfProcesses`].
    pub fn session(&self) -> Result<Session, StartError> {
        let program = "a session's supervisor";
        let supervisor = match &self.supervisor {
            Supervisor::Thread => None,
            Supervisor::Itself | Supervisor::Program(_) => {
                let (ours, theirs) = wire::channel().map_err(StartError::system(program.to_owned()))?;
                Some((ours, self.spawn_supervisor(SESSION, theirs, program)?))
            }
        };
        Ok(Session { engine: self.clone(), supervisor })
    }

    pub(crate) fn spawn_supervisor(
        &self,
        purpose: &str,
        socket: OwnedFd,
        program: &str,
    ) -> Result<Child, StartError> {
        let path = match &self.supervisor {
            // Not its path: the file may have been replaced since by another version.
            Supervisor::Itself | Supervisor::Thread => Path::new("/proc/self/exe"),
            Supervisor::Program(path) => path,
        };
        let mut command = std::process::Command::new(path);
        command.arg0(ENTRY).arg(purpose);
        // The control socket as stdin: the one descriptor that can be handed over without a hook between fork and
        // exec, which would cost a slower way of spawning.
        command.stdin(socket).stdout(StdStdio::null()).stderr(StdStdio::null());
        self.scope
            .remember_child(|| tokio::process::Command::from(command).spawn())
            .map_err(|source| StartError::from_spawn(program.to_owned(), source))
    }
}

/// One supervisor for many runs. Close it when they are over; dropping it does the same without waiting.
#[derive(Debug)]
pub struct Session {
    engine: Engine,
    supervisor: Option<(OwnedFd, Child)>,
}

impl Session {
    /// Starts a command in this session, as [`Engine::start`] does. Left-over processes are always killed.
    ///
    /// # Errors
    /// [`StartError`]; nothing of the attempt is left then.
    pub async fn start(&self, command: &Command, bounds: &Bounds) -> Result<Run, StartError> {
        let Some((session, _)) = &self.supervisor else {
            return self.engine.start(command, bounds).await;
        };
        // What is kept would come to the session's supervisor and be ended with it, at an unforeseeable moment.
        let bounds = Bounds { leftover: Leftover::Kill, ..*bounds };
        let (ours, theirs) = prepare(command, &bounds)?;
        let socket = theirs.send(&ours.control)?;
        let until = Instant::now() + bounds.deadline.get();
        loop {
            match wire::send_order(session.as_fd(), Order::NewRun, &[socket.as_fd()]) {
                Ok(()) => break,
                // So many orders wait already that the socket takes no more.
                Err(Errno::EAGAIN) if Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(errno) => {
                    return Err(StartError::Supervisor {
                        program: ours.program.clone(),
                        source: errno.into(),
                    });
                }
            }
        }
        drop(socket);
        ours.follow(None, self.engine.scope.clone(), command, &bounds).await
    }

    /// The pid of the session's supervisor, where it has one.
    pub fn supervisor(&self) -> Option<i32> {
        self.supervisor.as_ref()?.1.id()?.try_into().ok()
    }

    /// Waits until the supervisor has ended; it does as soon as the last run is over.
    pub async fn close(mut self) {
        if let Some((lifeline, mut child)) = self.supervisor.take() {
            let pid = child.id();
            drop(lifeline);
            if tokio::time::timeout(SESSION_END, child.wait()).await.is_err() {
                let _ = child.start_kill();
            }
            self.engine.scope.forget(pid);
        }
    }
}

/// The front's ends of a run that is about to start.
struct Ours {
    program: String,
    control: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

/// The other ends.
struct Theirs {
    program: String,
    control: OwnedFd,
    request: Request,
}

fn prepare(command: &Command, bounds: &Bounds) -> Result<(Ours, Theirs), StartError> {
    let program = command.program.to_string_lossy().into_owned();
    let spec = Spec::new(command, bounds)?;
    let system = |source: io::Error| StartError::System { program: program.clone(), source };
    let refused = |errno: Errno| system(errno.into());
    let stdin = match command.stdin {
        Stdin::Null => sys::dev_null().map_err(system)?,
        Stdin::Inherit => io::stdin().as_fd().try_clone_to_owned().map_err(system)?,
    };
    let (stdout_read, stdout) = pipe2(OFlag::O_CLOEXEC).map_err(refused)?;
    let (stderr_read, stderr) = pipe2(OFlag::O_CLOEXEC).map_err(refused)?;
    let mut read_ends = Vec::new();
    for pipe in [&stdout_read, &stderr_read] {
        read_ends.push(pipe.try_clone().map_err(system)?);
    }
    let (ours, theirs) = wire::channel().map_err(refused)?;
    let stdio = Stdio { stdin, stdout, stderr, read_ends };
    Ok((
        Ours { program: program.clone(), control: ours, stdout: stdout_read, stderr: stderr_read },
        Theirs { program, control: theirs, request: Request { spec, stdio } },
    ))
}

impl Ours {
    async fn follow(
        self,
        supervisor: Option<Child>,
        scope: Scope,
        command: &Command,
        bounds: &Bounds,
    ) -> Result<Run, StartError> {
        let parts =
            Parts { control: self.control, stdout: self.stdout, stderr: self.stderr, supervisor, scope };
        Run::start(parts, &self.program, command.cwd.as_deref(), bounds).await
    }
}

impl Theirs {
    /// Puts the request where a supervisor will find it first thing, and gives up the front's copies of everything
    /// that goes to it. What remains is the supervisor's end of the channel.
    fn send(self, front_end: &OwnedFd) -> Result<OwnedFd, StartError> {
        wire::send_request(front_end.as_fd(), &self.request.spec, &self.request.stdio)
            .map_err(|source| StartError::System { program: self.program, source })?;
        Ok(self.control)
    }

    fn keep_in_thread(self) -> Result<(), StartError> {
        let Self { program, control, request } = self;
        std::thread::Builder::new()
            .name("dogwatch-keeper".to_owned())
            .spawn(move || keep(control, request, Reach::Group, &Mode::Attached))
            .map(drop)
            .map_err(|source| StartError::from_spawn(program, source))
    }
}
