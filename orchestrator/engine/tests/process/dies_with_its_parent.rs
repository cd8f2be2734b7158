//! Whoever of front and supervisor is killed, the tree does not outlive it.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill as send, killpg};
use nix::unistd::Pid;

use crate::support::{Front, Marker, SLACK, is_alive, kill};

/// The contract says a second; what a loaded machine adds is not the engine's.
const SOON: Duration = Duration::from_secs(6);

fn tree(marker: &Marker, options: &[&str]) -> Front {
    let mut all = vec!["--deadline", "60000"];
    all.extend(options);
    Front::start(&all, &["tree", &marker.0, "30", "10"])
}

#[test]
fn the_front_is_killed() {
    let marker = Marker::new();
    let front = tree(&marker, &[]);
    assert_eq!(marker.alive().len(), 31 + 1, "the front itself bears the marker, too");
    kill(front.process.id().cast_signed());
    marker.assert_gone_within(SOON);
    assert!(crate::support::wait_until(SOON, || !is_alive(front.supervisor)), "the supervisor stayed");
}

#[test]
fn the_fronts_whole_group_is_killed() {
    use std::os::unix::process::CommandExt;
    let marker = Marker::new();
    // A shell with a group of its own, the front in it.
    let mut shell = std::process::Command::new(crate::support::MISBEHAVE)
        .args(["front", "--", crate::support::MISBEHAVE, "tree", &marker.0, "30", "10"])
        .process_group(0)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert!(crate::support::wait_until(SLACK, || marker.alive().len() == 32));
    killpg(Pid::from_raw(shell.id().cast_signed()), Signal::SIGKILL).unwrap();
    let _ = shell.wait();
    marker.assert_gone_within(SOON);
}

#[test]
fn the_supervisor_is_killed_and_the_front_adopts_what_it_left() {
    let marker = Marker::new();
    let mut front = tree(&marker, &["--adopt", "1"]);
    let started = Instant::now();
    kill(front.supervisor);
    let report = front.report();
    assert!(started.elapsed() < SLACK, "the run did not end at once");
    assert_eq!(report["end"], "supervisor_lost");
    assert_eq!(report["containment"], "subtree");
    assert_eq!(report["unkillable"], serde_json::json!([]));
    let front_pid = front.process.id().cast_signed();
    assert!(marker.alive().into_iter().all(|pid| pid == front_pid), "left behind: {:?}", marker.alive());
}

#[test]
fn the_supervisor_is_killed_and_a_front_that_adopts_nothing_ends_the_group() {
    let marker = Marker::new();
    let mut front = tree(&marker, &[]);
    kill(front.supervisor);
    let report = front.report();
    assert_eq!(report["end"], "supervisor_lost");
    assert_eq!(report["containment"], "group");
    let front_pid = front.process.id().cast_signed();
    let left: Vec<_> = marker.alive().into_iter().filter(|pid| *pid != front_pid).collect();
    assert_eq!(left.len(), 10, "those in sessions of their own are out of reach, all others are not");
    left.into_iter().for_each(kill);
}

#[test]
fn a_stopped_supervisor_does_not_stop_the_clock() {
    let marker = Marker::new();
    let options = ["--adopt", "1", "--deadline", "2000", "--grace", "100"];
    let mut front = Front::start(&options, &["tree", &marker.0, "12", "4"]);
    send(Pid::from_raw(front.supervisor), Signal::SIGSTOP).unwrap();
    let started = Instant::now();
    let report = front.report();
    assert_eq!(report["end"], "supervisor_lost");
    assert!(started.elapsed() < Duration::from_secs(5) + SLACK);
    let front_pid = front.process.id().cast_signed();
    assert!(marker.alive().into_iter().all(|pid| pid == front_pid));
}

#[test]
fn a_signal_to_the_front_stops_the_tree_and_keeps_what_was_read() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        if crate::support::ignores(signal as i32) {
            continue;
        }
        let marker = Marker::new();
        let mut front = tree(&marker, &["--grace", "200"]);
        send(Pid::from_raw(front.process.id().cast_signed()), signal).unwrap();
        let report = front.report();
        assert_eq!(report["end"], "interrupted");
        assert_eq!(report["interrupted_by"], signal as i32);
        assert_eq!(report["stdout_bytes"], 6);
        let _ = front.process.wait();
        marker.assert_gone();
    }
}

#[test]
fn fronts_that_are_killed_at_any_moment_leave_nothing() {
    // The moments of a start, from before the supervisor exists to after the tree does.
    for step in 0..40_u64 {
        let marker = Marker::new();
        let mut front = std::process::Command::new(crate::support::MISBEHAVE)
            .args(["front", "--", crate::support::MISBEHAVE, "leave-daemons", &marker.0, "2"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Not waiting for something: choosing the moment of the kill.
        std::thread::sleep(Duration::from_micros(step * 400));
        kill(front.id().cast_signed());
        let _ = front.wait();
        marker.assert_gone_within(SOON);
    }
}

#[test]
fn a_stopper_does_not_keep_a_run_that_was_dropped() {
    let marker = Marker::new();
    crate::support::block_on(async {
        let command = crate::support::misbehave(["ignore-term", &marker.0]);
        let mut run = crate::support::engine().start(&command, &crate::support::ample()).await.unwrap();
        assert_eq!(run.next().await.unwrap().bytes, b"ready\n");
        let stopper = run.stopper();
        drop(run);
        marker.assert_gone_within(SOON);
        stopper.stop(None);
    });
}

#[test]
fn a_front_that_adopts_spares_what_was_started_before_it() {
    let (earlier, marker) = (Marker::new(), Marker::new());
    // The shell's child is the front's child from the moment at which the shell becomes the front.
    let script = "\"$0\" sleep \"$1\" & exec \"$0\" front --adopt 1 -- \"$0\" ignore-term \"$2\"";
    let mut front = std::process::Command::new("/bin/sh")
        .args(["-c", script, crate::support::MISBEHAVE, &earlier.0, &marker.0])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(front.stdout.take().unwrap()));
    let first = lines.next().unwrap().unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    kill(first.split_whitespace().nth(1).unwrap().parse().unwrap());
    let report: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(report["end"], "supervisor_lost");
    front.wait().unwrap();
    marker.assert_gone();
    assert_eq!(earlier.alive().len(), 1, "a stranger was killed");
}
