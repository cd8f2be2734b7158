//! A simulator that is ended by a signal, at any moment, leaves neither a process nor a file behind.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

/// How often each signal is tried, each time at another moment.
const ROUNDS: usize = 2;
/// The latest moment: some way into the first hooks.
const LATEST: Duration = Duration::from_millis(700);
/// So that what is left fails the test, and a busy machine does not.
const BOUND: Duration = Duration::from_secs(40);

/// Whom a signal is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Simulator,
    /// As a terminal does it, to everybody in front.
    Group,
}

/// A moment between the start and the latest one; half of them are early, where everything is just being made.
fn moment() -> Duration {
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let part = LATEST.mul_f64(f64::from(u16::try_from(random >> 48).unwrap()) / f64::from(u16::MAX));
    if random.is_multiple_of(2) { part / 16 } else { part }
}

/// Who has that folder in the environment, or stands in it.
fn who_is_there(folder: &Path) -> Vec<String> {
    let name = folder.to_str().unwrap();
    let has = |bytes: &[u8]| bytes.windows(name.len()).any(|part| part == name.as_bytes());
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| has(&environment))
                || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
        })
        .filter_map(|pid| {
            Some(format!("{pid} {}", fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim()))
        })
        .collect()
}

fn leaves_nothing(arguments: &[&str]) {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL] {
        for to in [To::Simulator, To::Group] {
            for _ in 0..ROUNDS {
                leaves_nothing_once(arguments, signal, to, moment());
            }
        }
    }
}

fn leaves_nothing_once(arguments: &[&str], signal: Signal, to: To, moment: Duration) {
    let top = tempfile::tempdir().unwrap();
    let [project, temporary] = ["project", "temporary"].map(|name| top.path().join(name));
    fs::create_dir(&project).unwrap();
    fs::create_dir(&temporary).unwrap();
    let mut simulator = Command::new(env!("CARGO_BIN_EXE_harness-sim"))
        .args(arguments)
        .current_dir(&project)
        .env("TMPDIR", &temporary)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // No condition: any moment has to do.
    std::thread::sleep(moment);
    let pid = Pid::from_raw(simulator.id().try_into().unwrap());
    match to {
        To::Simulator => kill(pid, signal).unwrap(),
        To::Group => killpg(pid, signal).unwrap(),
    }
    let status = simulator.wait().unwrap();
    let until = Instant::now() + BOUND;
    loop {
        let files: Vec<_> =
            fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let processes = who_is_there(top.path());
        if files.is_empty() && processes.is_empty() {
            break;
        }
        assert!(Instant::now() < until, "{signal} to {to:?} after {moment:?}: {files:?}, {processes:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
    // One that had come to its end before has its own.
    let by_signal = status.signal() == Some(signal as i32);
    assert!(by_signal || status.code().is_some(), "{signal}: {status}");
    assert!(by_signal || moment > Duration::from_millis(100), "{signal} after {moment:?}: {status}");
}

#[test]
fn fire() {
    leaves_nothing(&[
        "fire",
        "claude",
        "SessionStart-startup-headless",
        "--",
        "echo x > \"$HOME/x\"; sleep 20",
    ]);
}

#[test]
fn matrix() {
    leaves_nothing(&["matrix", "--", "echo x > \"$HOME/x\"; sleep 1"]);
}

#[test]
fn torture() {
    leaves_nothing(&["torture", "--", "echo x > \"$HOME/x\"; echo hi; sleep 0.1"]);
}

#[test]
fn run() {
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/wrong-hooks");
    leaves_nothing(&["run", scenarios]);
}

#[test]
fn run_of_one_that_is_slow() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("slow.toml");
    let text = r#"
        harness = "claude"
        command = "echo x > \"$HOME/x\"; setsid sleep 20 & sleep 20"
        [project.files]
        "a/b" = "c"
        [[steps]]
        event = "SessionStart-startup-headless"
    "#;
    fs::write(&scenario, text).unwrap();
    leaves_nothing(&["run", scenario.to_str().unwrap()]);
}

#[test]
fn a_persons_own_variable_costs_no_folder() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("harness-sim-mine");
    fs::create_dir(&folder).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_harness-sim"))
        .arg("list")
        .env("HARNESS_SIM_KEPT_FOLDER", &folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(folder.exists() && output.stdout.len() > 100, "{output:?}");
}
