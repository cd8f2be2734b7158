//! A Node host: the process that plays a harness whose hooks are JavaScript in its own process (Pi, OpenCode), started
//! below the engine, spoken to by lines of JSON through two named pipes.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dogwatch_engine::process::{self as engine, Bounds, Deadline, Grace, Run};
use nix::libc::O_NONBLOCK;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;
use serde_json::Value;

use super::LaunchError;
use super::declared::{Declared, is_declared};
use super::patience::await_declared;
use super::processes::{self, Process, living};
use super::session::{LINGER, LONGEST_SESSION, START_BOUND, Shared, ends_within, same};
use crate::env;
use crate::report::{Survivor, survivor};

/// The first thing that it says, before it becomes Node; and then it becomes Node. Its answers have a descriptor of their
/// own: what an extension or a child of it prints is in files.
const LAUNCH: &str = r#"exec <"$1" 3>"$2" >"$3" 2>"$4"
printf '{"host":%d,"supervisor":%d}\n' $$ $PPID >&3
shift 4
HARNESS_SIM_ANSWERS=3 exec "$@""#;
/// How often it is looked whether children that nobody awaits are gone.
const LOOK: Duration = Duration::from_millis(5);
/// Rounds of the event loop in which an answer becomes a call, and the call a message.
const ROUNDS: usize = 4;
/// The most that is kept of what it says on stderr, and of what an event prints.
const KEEP_BYTES: u64 = 64 * 1024;

/// What is started, and as whom.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// Files to write, by their path in the scratch folder; the first is the script.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) arguments: Vec<String>,
    pub(crate) project: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) declared: Declared,
}

/// How an exchange with it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It did what it was told.
    Done,
    /// It ended itself before it had.
    Gone,
    /// It had not by the deadline.
    Late,
}

/// A Node host that runs.
#[derive(Debug)]
pub(crate) struct Node {
    run: Option<Run>,
    orders: Option<File>,
    answers: File,
    rest: Vec<u8>,
    stdout: File,
    stderr: PathBuf,
    host: i32,
    supervisor: i32,
    declared: Declared,
    project: PathBuf,
    known: Vec<Process>,
    _folder: tempfile::TempDir,
}

/// Where `node` is.
pub(crate) fn node() -> Option<PathBuf> {
    std::env::split_paths(&env::path()?).map(|folder| folder.join("node")).find(|path| path.is_file())
}

impl Node {
    /// Starts one.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub(crate) fn start(shared: &Shared, node: &Path, program: Program) -> Result<Self, LaunchError> {
        let folder = tempfile::Builder::new().prefix("node-").tempdir_in(shared.scratch())?;
        let top = folder.path();
        for (name, text) in &program.files {
            let path = top.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(top))?;
            std::fs::write(path, text)?;
        }
        let [orders, answers, stdout, stderr] =
            ["orders", "answers", "stdout", "stderr"].map(|name| top.join(name));
        for pipe in [&orders, &answers] {
            nix::unistd::mkfifo(pipe, nix::sys::stat::Mode::from_bits_truncate(0o600))
                .map_err(io::Error::from)?;
        }
        let script = program.files.first().map(|(name, _)| top.join(name)).unwrap_or_default();
        let paths = [&orders, &answers, &stdout, &stderr].map(|path| path.clone().into_os_string());
        let words = [node.into(), script.into_os_string()];
        let mut command = engine::Command::new("/bin/sh")
            .args(["-c", LAUNCH, "sh"])
            .args(paths)
            .args(words)
            .args(&program.arguments)
            .env_clear()
            .current_dir(&program.project);
        for (name, value) in &program.environment {
            command = command.env(name, value);
        }
        let mut bounds = Bounds::new(Deadline::new(LONGEST_SESSION).unwrap_or(Deadline::DEFAULT));
        bounds.grace = Grace::new(Duration::ZERO).unwrap_or(Grace::DEFAULT);
        // Both open at once: for reading without waiting for a writer, and for reading and writing.
        let answers = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(&answers)?;
        let orders = OpenOptions::new().read(true).write(true).open(&orders)?;
        let stdout = OpenOptions::new().read(true).write(true).create_new(true).open(&stdout)?;
        let run = shared.run(&command, &bounds)?;
        let mut started = Self {
            run: Some(run),
            orders: Some(orders),
            answers,
            rest: Vec::new(),
            stdout,
            stderr,
            host: 0,
            supervisor: 0,
            declared: program.declared,
            project: program.project,
            known: Vec::new(),
            _folder: folder,
        };
        let hello = started.line(Instant::now() + START_BOUND)?;
        let number = |key: &str| hello.as_ref().ok().and_then(|line| i32::try_from(line[key].as_i64()?).ok());
        let (Some(host), Some(supervisor)) = (number("host"), number("supervisor")) else {
            let why = format!("node did not come up: {}", started.said_on_stderr());
            return Err(LaunchError::Host(io::Error::other(why)));
        };
        (started.host, started.supervisor) = (host, supervisor);
        Ok(started)
    }

    /// Gives it one order and waits until that is done; what it said meanwhile.
    pub(crate) fn order(&mut self, order: &Value, until: Instant) -> io::Result<(Vec<Value>, Ended)> {
        let mut lines = Vec::new();
        if !self.tell(order) {
            return Ok((lines, Ended::Gone));
        }
        loop {
            match self.line(until)? {
                Err(ended) => return Ok((lines, ended)),
                Ok(line) => {
                    let is_done = line.get("done").is_some() && line["done"] == order["do"];
                    lines.push(line);
                    if is_done {
                        return Ok((lines, Ended::Done));
                    }
                }
            }
        }
    }

    /// Waits until what runs behind the last order has come to its end and all that follows from it has been said, at
    /// most so long. Processes that lead a session of their own are not waited for.
    pub(crate) fn settle(&mut self, until: Instant) -> io::Result<(Vec<Value>, Ended)> {
        let mut lines = Vec::new();
        loop {
            while self.has_children() {
                if Instant::now() >= until {
                    return Ok((lines, Ended::Late));
                }
                let (more, ended) = self.listen(Instant::now() + LOOK)?;
                lines.extend(more);
                if ended == Ended::Gone {
                    return Ok((lines, ended));
                }
            }
            for _ in 0..ROUNDS {
                let (mut more, ended) = self.order(&serde_json::json!({"do": "listeners"}), until)?;
                more.retain(|line| line.get("listeners").is_none() && line["done"] != "listeners");
                lines.extend(more);
                if ended != Ended::Done {
                    return Ok((lines, ended));
                }
            }
            if !self.has_children() {
                return Ok((lines, Ended::Done));
            }
        }
    }

    /// Closes its stdin and waits for its end; what it still said.
    pub(crate) fn finish(&mut self, until: Instant) -> io::Result<(Vec<Value>, Ended)> {
        self.orders = None;
        self.listen(until)
    }

    /// What it says until then.
    fn listen(&mut self, until: Instant) -> io::Result<(Vec<Value>, Ended)> {
        let mut lines = Vec::new();
        loop {
            match self.line(until)? {
                Ok(line) => lines.push(line),
                Err(ended) => return Ok((lines, ended)),
            }
        }
    }

    /// Whether the order has reached it.
    fn tell(&mut self, order: &Value) -> bool {
        // A pipe holds more than an order has.
        self.orders.as_mut().is_some_and(|orders| orders.write_all(format!("{order}\n").as_bytes()).is_ok())
    }

    /// The next thing that it says.
    fn line(&mut self, until: Instant) -> io::Result<Result<Value, Ended>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                if let Ok(line) = serde_json::from_slice::<Value>(&line)
                    && line.is_object()
                {
                    return Ok(Ok(line));
                }
                continue;
            }
            let left = until.saturating_duration_since(Instant::now()).as_micros().div_ceil(1000);
            let mut fds = [PollFd::new(self.answers.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
                Ok(0) => return Ok(Err(Ended::Late)),
                Ok(_) => {}
                Err(nix::errno::Errno::EINTR) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let mut buffer = [0_u8; 64 * 1024];
            match self.answers.read(&mut buffer) {
                Ok(0) => return Ok(Err(Ended::Gone)),
                Ok(bytes) => self.rest.extend_from_slice(&buffer[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a child of it runs, or has ended without its having noticed, in its own session.
    fn has_children(&self) -> bool {
        let session = |pid: i32| nix::unistd::getsid(Some(Pid::from_raw(pid))).ok();
        let own = session(self.host);
        let children = processes::children_with_zombies(self.host);
        if children.is_empty() {
            return false;
        }
        let named = self.declared.identities(&self.project);
        children.into_iter().any(|pid| {
            session(pid) == own
                && living(pid).is_none_or(|process| !named.contains(&(process.pid, process.start_time)))
        })
    }

    /// What lives beside the host that was not reported before.
    pub(crate) fn new_survivors(&mut self) -> Vec<Survivor> {
        let mut left = self.left_behind();
        let until = Instant::now() + LINGER;
        left.retain(|process| !ends_within(process, until.saturating_duration_since(Instant::now())));
        if left.is_empty() {
            return Vec::new();
        }
        let named = self.declared.identities(&self.project);
        let now = self.left_behind();
        let found =
            now.iter().map(|process| survivor(process, is_declared(process, &now, &named), false)).collect();
        self.known.extend(now);
        found
    }

    fn left_behind(&self) -> Vec<Process> {
        processes::below(self.supervisor)
            .into_iter()
            .filter(|process| process.pid != self.host)
            .filter(|process| !self.known.iter().any(|known| same(known, process)))
            .collect()
    }

    /// What was printed past the host since this was asked last: to the descriptor itself, or by a child that has it.
    pub(crate) fn printed(&mut self) -> io::Result<Option<Value>> {
        let mut bytes = Vec::new();
        (&self.stdout).take(KEEP_BYTES).read_to_end(&mut bytes)?;
        // The rest of too much belongs to no later event.
        self.stdout.seek(SeekFrom::End(0))?;
        let text = String::from_utf8_lossy(&bytes);
        Ok((!bytes.is_empty()).then(|| serde_json::json!({"console": {"stream": "stdout", "text": text}})))
    }

    /// What it has said on stderr, its beginning.
    pub(crate) fn said_on_stderr(&self) -> String {
        let mut bytes = Vec::new();
        if let Ok(file) = File::open(&self.stderr) {
            let _ = file.take(KEEP_BYTES).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    /// Ends it: waits for what was declared, at most so long, and lets the engine end the rest.
    pub(crate) fn close(mut self, shared: &Shared, patience: Duration) {
        self.orders = None;
        await_declared(patience, || {
            let all = processes::below(self.supervisor);
            let named = self.declared.identities(&self.project);
            let is_one = |process: &&Process| process.pid != self.host && is_declared(process, &all, &named);
            all.iter().filter(is_one).cloned().collect()
        });
        // It may be kept by what an extension holds, and nobody waits for that: the engine ends it.
        if let Some(run) = self.run.take() {
            run.stopper().kill();
            shared.end(run);
        }
    }
}
