//! What the tests share: a person's desk, scripts, and a look at what is left of a process tree.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A person's home folder with a project in it, and nothing of this machine's environment.
pub(crate) struct Desk {
    pub(crate) scratch: TempDir,
    pub(crate) project: PathBuf,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let scratch = tempfile::tempdir().unwrap();
        let project = scratch.path().canonicalize().unwrap().join("project");
        fs::create_dir(&project).unwrap();
        Desk { scratch, project }
    }

    pub(crate) fn state_folder(&self) -> PathBuf {
        self.scratch.path().join("state")
    }

    pub(crate) fn run(&self, command: &mut Command) -> Output {
        self.prepare(command).output().unwrap()
    }

    pub(crate) fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.scratch.path())
            .env("XDG_STATE_HOME", self.state_folder())
            .env("XDG_CONFIG_HOME", self.scratch.path().join("config"))
            .stdin(Stdio::null())
    }

    pub(crate) fn dogwatch(&self, arguments: &[&str]) -> Output {
        self.run(Command::new(PROGRAM).args(arguments))
    }

    /// `dogwatch` as the child of a process that calls itself a harness. The shell has work left when it starts the
    /// program, so that it cannot become the program.
    pub(crate) fn below(&self, harness: &str, arguments: &str) -> Output {
        let script = format!("\"$0\" {arguments}; exit $?");
        self.run(Command::new("/bin/sh").arg0(harness).args(["-c", &script, PROGRAM]))
    }
}

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_dogwatch");

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub(crate) fn write_config(desk: &Desk, text: &str) {
    fs::create_dir_all(desk.project.join(".dogwatch")).unwrap();
    fs::write(desk.project.join(".dogwatch/config.toml"), text).unwrap();
}

pub(crate) fn is_empty(folder: &Path) -> bool {
    !folder.exists() || fs::read_dir(folder).unwrap().next().is_none()
}

/// What a loaded machine may add to a bound before a test calls it broken.
pub(crate) const SLACK: Duration = Duration::from_secs(8);

impl Desk {
    /// A config that a person has trusted, as a provisioning script would record it.
    pub(crate) fn trusted_config(&self, text: &str) {
        use std::fmt::Write;

        use sha2::{Digest, Sha256};
        write_config(self, text);
        let hash = Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hash, byte| {
            write!(hash, "{byte:02x}").unwrap();
            hash
        });
        let folder = self.state_folder().join("dogwatch");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        fs::write(folder.join("trusted"), format!("{hash}  {}\n", self.project.display())).unwrap();
    }

    /// Makes the project a git checkout with one commit.
    pub(crate) fn git(&self) {
        for line in [
            "git -c init.defaultBranch=main init -q",
            "git -c user.name=dev -c user.email=dev@example.invalid commit -q --allow-empty -m first",
        ] {
            let mut command = Command::new("/bin/sh");
            let output = self.run(command.args(["-c", line]).env("GIT_CONFIG_NOSYSTEM", "1"));
            assert!(output.status.success(), "{}", stderr(&output));
        }
    }

    /// A word that stands in the arguments of this desk's processes and of no others.
    pub(crate) fn marker(&self) -> String {
        self.project.display().to_string()
    }

    /// The living processes that bear the marker.
    pub(crate) fn left(&self) -> Vec<i32> {
        let marker = self.marker();
        let entries = fs::read_dir("/proc").unwrap();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&marker) && is_alive(*pid)
        })
        .collect()
    }

    /// Kills what bears the marker. A shell that is just forking may be there twice for a moment.
    pub(crate) fn end_what_is_left(&self) {
        let is_empty = || {
            let left = self.left();
            for pid in &left {
                let pid = nix::unistd::Pid::from_raw(*pid);
                let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
            }
            left.is_empty()
        };
        assert!(wait_until(SLACK, is_empty), "left behind: {:?}", self.left());
    }

    pub(crate) fn assert_nothing_left(&self) {
        assert!(wait_until(SLACK, || self.left().is_empty()), "left behind: {:?}", self.left());
    }
}

pub(crate) fn is_alive(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with(['Z', 'X']))
}

/// Waits for a condition, at most so long.
pub(crate) fn wait_until(bound: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + bound;
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

/// Whether this process ignores a signal, as everything below `nohup` does: what it starts does, too, and rightly.
pub(crate) fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal - 1)) != 0
}

/// A process that bears a harness's name and lives on, and below which hooks are fired.
pub(crate) struct Host {
    process: std::process::Child,
    orders: std::process::ChildStdin,
    answers: std::io::BufReader<std::process::ChildStdout>,
    folder: TempDir,
}

/// What a hook answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fired {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Host {
    pub(crate) fn new(desk: &Desk, name: &str) -> Host {
        use std::io::BufReader;
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sh");
        // A line is a command; its end is told with its exit code.
        let script = "while IFS= read -r line; do eval \"$line\"; echo \"done $?\"; done";
        desk.prepare(command.arg0(name).args(["-c", script]));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let orders = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Host { process, orders, answers, folder }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.process.id().cast_signed()
    }

    /// Begins a hook with a payload; `end` waits for it. `before` stands in front of the command (`VAR=x`).
    pub(crate) fn begin(&mut self, before: &str, words: &str, payload: &[u8]) {
        use std::io::Write;
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        fs::write(path("payload"), payload).unwrap();
        let line = format!(
            "{before} {PROGRAM} {words} < {} > {} 2> {}\n",
            path("payload"),
            path("stdout"),
            path("stderr")
        );
        self.orders.write_all(line.as_bytes()).unwrap();
    }

    /// Has a line of shell done below the harness; its exit code.
    pub(crate) fn order(&mut self, line: &str) -> i32 {
        use std::io::{BufRead, Write};
        self.orders.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer.trim().strip_prefix("done ").unwrap_or_else(|| panic!("{answer:?}")).parse().unwrap()
    }

    pub(crate) fn end(&mut self) -> Fired {
        use std::io::BufRead;
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let code = line.trim().strip_prefix("done ").unwrap_or_else(|| panic!("{line:?}")).parse().unwrap();
        let read = |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap();
        Fired { stdout: read("stdout"), stderr: read("stderr"), code }
    }

    pub(crate) fn fire(&mut self, words: &str, payload: &[u8]) -> Fired {
        self.begin("", words, payload);
        self.end()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program under another path: a link, because a copy could not be run while another test forks.
pub(crate) fn elsewhere(desk: &Desk, folder: &str) -> PathBuf {
    let folder = desk.scratch.path().join(folder);
    fs::create_dir_all(&folder).unwrap();
    let link = folder.join("dogwatch");
    std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
    link
}

/// `dogwatch install` by a program that the `PATH` finds.
pub(crate) fn install_by(desk: &Desk, program: &Path, arguments: &[&str]) {
    let mut command = Command::new(program);
    desk.prepare(command.arg("install").args(arguments)).env("PATH", program.parent().unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}
