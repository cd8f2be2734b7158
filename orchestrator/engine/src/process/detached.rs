//! Detached runs: processes that **survive** the run, the front and the session that started them.
//!
//! Use one only for what must outlive its starter, and always with a deadline of its own. It is its own supervisor:
//! own session, `/dev/null` as stdin, output to a file, no other descriptor, and it ends itself and everything below
//! it even if nobody ever looks again. It must be started by the front: what is started *below* a supervisor is swept
//! with the rest, whatever it does.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tokio::io::Interest;

use super::bounds::{Bounds, Deadline, Grace};
use super::command::Command;
use super::engine::{Engine, Supervisor};
use super::error::StartError;
use super::front::receive;
use super::identity::Identity;
use super::supervisor::DETACHED;
use super::sweep::KILL_BOUND;
use super::sys;
use super::wire::{self, Order, Spec, Status, Stdio};

/// A run that is to survive its starter.
#[derive(Debug, Clone)]
pub struct Detached {
    command: Command,
    bounds: Bounds,
    output: PathBuf,
    identity_file: Option<PathBuf>,
}

/// Who a detached run is. Serialised it is what the identity file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DetachedRun {
    /// Its supervisor, which ends by the deadline and ends everything below it. Signalling it with SIGKILL ends the
    /// command, too.
    pub supervisor: Identity,
    /// The command itself.
    pub leader: Identity,
}

impl Detached {
    /// A detached run of this command, ended at this deadline, with both output channels appended to this file
    /// (created with mode 0600).
    pub fn new(command: Command, deadline: Deadline, output: impl AsRef<Path>) -> Self {
        Self {
            command,
            bounds: Bounds::new(deadline),
            output: output.as_ref().to_owned(),
            identity_file: None,
        }
    }

    /// Sets the grace between TERM and KILL.
    #[must_use]
    pub fn grace(mut self, grace: Grace) -> Self {
        self.bounds.grace = grace;
        self
    }

    /// Records who it is in this file, as JSON, before [`start`](Self::start) returns; written aside and renamed.
    #[must_use]
    pub fn identity_file(mut self, file: impl AsRef<Path>) -> Self {
        self.identity_file = Some(file.as_ref().to_owned());
        self
    }

    /// Starts it and returns as soon as the program runs. Nothing of the caller's is held after that.
    ///
    /// # Errors
    /// [`StartError`]; nothing of the attempt is left then. If only the identity file cannot be written the run is
    /// ended again, because a survivor that nobody knows of is a leak.
    pub async fn start(&self, engine: &Engine) -> Result<DetachedRun, StartError> {
        self.start_with(engine, |_| Ok(())).await
    }

    /// As [`start`](Self::start), and before the run is let go of `record` is told who it is. If it cannot keep that, the
    /// run is ended again.
    ///
    /// Whoever starts it is not its parent even as a subreaper ([`Engine::adopt_orphans`]): what ends the starter's tree
    /// does not find it there.
    ///
    /// # Errors
    /// [`StartError`]; nothing of the attempt is left then.
    pub async fn start_with(
        &self,
        engine: &Engine,
        record: impl FnOnce(&DetachedRun) -> io::Result<()>,
    ) -> Result<DetachedRun, StartError> {
        let program = self.command.program.to_string_lossy().into_owned();
        let system = |source: io::Error| StartError::System { program: program.clone(), source };
        if matches!(engine.supervisor, Supervisor::Thread) {
            let source = io::Error::new(
                io::ErrorKind::Unsupported,
                "a detached run is its own supervisor, so the program must call dogwatch_engine::init()",
            );
            return Err(StartError::Supervisor { program, source });
        }
        let spec = Spec::new(&self.command, &self.bounds)?;
        let stdout = self.open_output().map_err(system)?;
        let stdio = Stdio {
            stdin: sys::dev_null().map_err(system)?,
            stderr: stdout.try_clone().map_err(system)?.into(),
            stdout: stdout.into(),
            read_ends: Vec::new(),
        };
        let (ours, theirs) = wire::channel().map_err(|errno| system(errno.into()))?;
        wire::send_request(std::os::fd::AsFd::as_fd(&ours), &spec, &stdio).map_err(system)?;
        // Its parent-to-be ends at once, and a subreaper would be given it.
        let apart = engine.scope.let_orphans_go();
        let mut child = engine.spawn_supervisor(DETACHED, theirs, &program)?;
        let control = sys::watch(ours, Interest::READABLE).map_err(system)?;
        let bound = self.bounds.deadline.get().min(std::time::Duration::from_secs(5));
        let status = tokio::time::timeout(bound, receive(&control)).await;
        let pid = child.id();
        let _ = tokio::time::timeout(bound, child.wait()).await;
        drop(apart);
        engine.scope.forget(pid);
        match status {
            Ok(Ok(Some(Status::Detached { supervisor, leader }))) => {
                let run = DetachedRun { supervisor, leader };
                let recorded = self.record(&run).and_then(|()| record(&run));
                // Until it hears the one or the other it ends with us: a survivor that nobody knows of is a leak.
                let order = if recorded.is_ok() { Order::LetGo } else { Order::Kill };
                let _ = wire::send_order(std::os::fd::AsFd::as_fd(control.get_ref()), order, &[]);
                let heard = async { while let Ok(Some(_)) = receive(&control).await {} };
                let _ = tokio::time::timeout(KILL_BOUND, heard).await;
                recorded.map_err(system)?;
                Ok(run)
            }
            Ok(Ok(Some(Status::StartFailed { step, errno }))) => {
                Err(StartError::from_step(program, self.command.cwd.clone(), step, errno))
            }
            Ok(Ok(Some(_))) | Err(_) => Err(StartError::Deadline { program }),
            Ok(Ok(None) | Err(_)) => {
                let source =
                    io::Error::new(io::ErrorKind::BrokenPipe, "it ended before the program had started");
                Err(StartError::Supervisor { program, source })
            }
        }
    }

    fn open_output(&self) -> io::Result<File> {
        use std::os::unix::fs::OpenOptionsExt;
        File::options().create(true).append(true).mode(0o600).open(&self.output)
    }

    fn record(&self, run: &DetachedRun) -> io::Result<()> {
        let Some(file) = &self.identity_file else { return Ok(()) };
        let mut aside = file.clone().into_os_string();
        aside.push(format!(".{}.tmp", run.supervisor.pid));
        fs::write(&aside, serde_json::to_vec(run).map_err(io::Error::from)?)?;
        fs::rename(&aside, file).inspect_err(|_| drop(fs::remove_file(&aside)))
    }
}
