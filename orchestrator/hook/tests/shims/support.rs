//! What the tests share: a person's desk with made-up `dogwatch` programs, a host that is driven by lines of JSON, and a
//! look at what is left of a process tree.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_dogwatch");

/// There so that a hang fails. Every wait of these tests ends long before it.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// Where `node` is, or `None`, and the test has nothing to do.
#[allow(clippy::print_stdout, reason = "a test that has run nothing says so")]
pub(crate) fn node() -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods, reason = "what a person asks of the test, not of the program")]
    let (path, is_needed) =
        (std::env::var_os("PATH"), std::env::var_os("DOGWATCH_TESTS_NEED_NODE").is_some());
    let folders = path.unwrap_or_default();
    let node = std::env::split_paths(&folders).map(|folder| folder.join("node")).find(|path| path.is_file());
    if node.is_none() {
        assert!(!is_needed, "node is not on PATH");
        println!("not run: node is not on PATH");
    }
    node
}

/// A file of this checkout.
pub(crate) fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap().join(path)
}

/// A person's home folder with a project in it, and nothing of this machine's environment. Ends what it started.
pub(crate) struct Desk {
    _scratch: TempDir,
    pub(crate) project: PathBuf,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let scratch = tempfile::tempdir().unwrap();
        let project = scratch.path().canonicalize().unwrap().join("project");
        fs::create_dir(&project).unwrap();
        Desk { _scratch: scratch, project }
    }

    /// A path in the person's home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.project.parent().unwrap().join(name)
    }

    pub(crate) fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path(""))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .stdin(Stdio::null())
    }

    pub(crate) fn run(&self, command: &mut Command) -> Output {
        self.prepare(command).output().unwrap()
    }

    /// An untouched home of dogwatch in the project.
    pub(crate) fn init(&self) {
        let output = self.run(Command::new(PROGRAM).arg("init"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A config that a person has trusted, as a provisioning script would record it.
    pub(crate) fn trusted_config(&self, text: &str) {
        use std::fmt::Write;

        use sha2::{Digest, Sha256};
        fs::create_dir_all(self.project.join(".dogwatch")).unwrap();
        fs::write(self.project.join(".dogwatch/config.toml"), text).unwrap();
        let hash = Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hash, byte| {
            write!(hash, "{byte:02x}").unwrap();
            hash
        });
        let folder = self.path("state/dogwatch");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        fs::write(folder.join("trusted"), format!("{hash}  {}\n", self.project.display())).unwrap();
    }

    /// A program in POSIX shell. `$desk` is the person's home in it; each call has a line in `calls` with its words.
    ///
    /// Written by a process of its own: while this one has a file open for writing, a thread that forks leaves it open in
    /// the child for a moment, and a program that is open for writing does not start.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let (path, desk) = (self.path(name), self.path(""));
        let text = format!("#!/bin/sh\ndesk='{}'\necho \"$*\" >> \"$desk/calls\"\n{text}\n", desk.display());
        let mut shell = Command::new("/bin/sh");
        self.prepare(shell.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(&path));
        let mut shell = shell.stdin(Stdio::piped()).spawn().unwrap();
        shell.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success());
        path
    }

    /// The words of each call that a [script](Self::script) has had.
    pub(crate) fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// A pipe in the person's home on which a script waits: `read _ < "$desk/<name>"`.
    pub(crate) fn gate(&self, name: &str) -> Gate {
        let path = self.path(name);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        // For reading as well, so that it opens before anybody waits, and is never at its end.
        Gate(fs::OpenOptions::new().read(true).write(true).open(path).unwrap())
    }

    /// The living processes in whose arguments this desk's folder stands, which is in no others'.
    pub(crate) fn left(&self) -> Vec<i32> {
        let marker = self.path("").display().to_string();
        let entries = fs::read_dir("/proc").unwrap();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&marker) && is_alive(*pid)
        })
        .collect()
    }

    pub(crate) fn assert_nothing_left(&self) {
        assert!(wait_until(|| self.left().is_empty()), "left behind: {:?}", self.left());
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        wait_until(|| {
            let left = self.left();
            for pid in &left {
                let pid = nix::unistd::Pid::from_raw(*pid);
                let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
            }
            left.is_empty()
        });
    }
}

/// A gate at which a script waits.
pub(crate) struct Gate(fs::File);

impl Gate {
    /// Lets one through.
    pub(crate) fn open(&mut self) {
        self.0.write_all(b"go\n").unwrap();
    }
}

pub(crate) fn is_alive(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with(['Z', 'X']))
}

/// Waits for a condition, at most for [`BOUND`].
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + BOUND;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A fake harness: one line of JSON in is a command, one line of JSON out is something that happened.
pub(crate) struct Host {
    process: Child,
    orders: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: PathBuf,
}

impl Host {
    /// Starts it; `command` has been [prepared](Desk::prepare).
    pub(crate) fn start(desk: &Desk, command: &mut Command) -> Host {
        let stderr = desk.path("host-stderr");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(fs::File::create(&stderr).unwrap());
        let mut process = command.spawn().unwrap();
        let orders = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in answers.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Host { process, orders, lines, stderr }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.process.id().cast_signed()
    }

    /// What it has said on stderr.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    pub(crate) fn order(&mut self, order: &Value) {
        let line = format!("{order}\n");
        self.orders.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    /// The next line; `None` at the end of its output.
    pub(crate) fn next(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(BOUND) {
            Ok(line) => Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the host says nothing\n{}", self.stderr()),
        }
    }

    /// The lines up to the one that has that key, which is the last of them.
    pub(crate) fn until(&mut self, key: &str) -> Vec<Value> {
        let (mut lines, until) = (Vec::new(), Instant::now() + BOUND);
        loop {
            // What goes round in circles is never silent.
            assert!(Instant::now() < until, "no {key:?} after {} lines", lines.len());
            let Some(line) = self.next() else {
                panic!("the host ended before it said {key:?}: {lines:?}\n{}", self.stderr())
            };
            let is_last = line.get(key).is_some();
            lines.push(line);
            if is_last {
                return lines;
            }
        }
    }

    /// Closes its input and waits for its end.
    pub(crate) fn end(mut self) -> ExitStatus {
        self.orders = None;
        while self.next().is_some() {}
        // Its output is closed when it ends.
        self.process.wait().unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
