//! What the tests share: a runtime, an engine whose supervisor is `misbehave`, markers to find processes by.

use std::fs;
use std::future::Future;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command as StdCommand, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use dogwatch_engine::process::{Bounds, Captured, Command, Deadline, Engine, Grace};

pub(crate) const MISBEHAVE: &str = env!("CARGO_BIN_EXE_misbehave");

/// What a loaded machine may add to a bound before a test calls it broken.
pub(crate) const SLACK: Duration = Duration::from_secs(8);

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn engine() -> Engine {
    Engine::with_supervisor(MISBEHAVE)
}

pub(crate) fn bounds(deadline_ms: u64, grace_ms: u64) -> Bounds {
    let mut bounds = Bounds::new(Deadline::new(Duration::from_millis(deadline_ms)).unwrap());
    bounds.grace = Grace::new(Duration::from_millis(grace_ms)).unwrap();
    bounds
}

/// A bound that no healthy test reaches.
pub(crate) fn ample() -> Bounds {
    bounds(60_000, 1_000)
}

pub(crate) fn misbehave<const N: usize>(words: [&str; N]) -> Command {
    Command::new(MISBEHAVE).args(words)
}

pub(crate) async fn capture(command: Command, bounds: Bounds) -> Captured {
    engine().start(&command, &bounds).await.unwrap().capture().await
}

/// A word that only this test's processes have in their arguments. Whatever still has it when the test is over, one
/// way or the other, is killed.
pub(crate) struct Marker(pub(crate) String);

impl Marker {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self(format!("mark-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The living processes with this marker.
    pub(crate) fn alive(&self) -> Vec<i32> {
        let entries = fs::read_dir("/proc").unwrap();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == self.0.as_bytes()) && is_alive(*pid)
        })
        .collect()
    }

    pub(crate) fn assert_gone(&self) {
        let left = self.alive();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    pub(crate) fn assert_gone_within(&self, bound: Duration) {
        assert!(wait_until(bound, || self.alive().is_empty()), "left behind: {:?}", self.alive());
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        // A relay may have moved on between the look and the kill.
        for _ in 0..1000 {
            let left = self.alive();
            if left.is_empty() {
                return;
            }
            for pid in left {
                kill(pid);
            }
        }
    }
}

pub(crate) fn kill(pid: i32) {
    let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
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

/// `misbehave front …` as a process of its own, which can be killed.
pub(crate) struct Front {
    pub(crate) process: Child,
    pub(crate) supervisor: i32,
    pub(crate) leader: i32,
    output: BufReader<ChildStdout>,
}

impl Front {
    /// Starts it and waits until the command says `ready`.
    pub(crate) fn start(options: &[&str], command: &[&str]) -> Self {
        let mut process = StdCommand::new(MISBEHAVE)
            .arg("front")
            .args(options)
            .arg("--")
            .arg(MISBEHAVE)
            .args(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut front = Self { process, supervisor: 0, leader: 0, output };
        let line = front.line();
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words.first(), Some(&"supervisor"), "{line}");
        front.supervisor = words[1].parse().unwrap();
        front.leader = words[3].parse().unwrap();
        let ready = front.line();
        assert_eq!(ready, "ready");
        front
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Everything up to the end, the last line read as the report.
    pub(crate) fn report(&mut self) -> serde_json::Value {
        let mut last = String::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            last = line;
        }
        serde_json::from_str(&last).unwrap_or_else(|error| panic!("{error}: {last:?}"))
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes a program file by another process: a file that this one had open for writing could still be so in a child
/// that a parallel test is just forking, and would be "busy".
pub(crate) fn make_program(path: &std::path::Path, text: &str, mode: &str) {
    let script = r#"printf %s "$2" > "$1" && chmod "$3" "$1""#;
    let status = StdCommand::new("/bin/sh").args(["-c", script, "sh"]).arg(path).args([text, mode]).status();
    assert!(status.unwrap().success());
}

/// A copy of `misbehave` with this mode; made by another process for the same reason.
pub(crate) fn copy_misbehave(path: &std::path::Path, mode: &str) {
    let script = r#"cp "$1" "$2" && chmod "$3" "$2""#;
    let status =
        StdCommand::new("/bin/sh").args(["-c", script, "sh", MISBEHAVE]).arg(path).arg(mode).status();
    assert!(status.unwrap().success());
}

/// Whether this process ignores a signal, as everything below `nohup` does: what it starts does, too, and rightly.
pub(crate) fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal - 1)) != 0
}
