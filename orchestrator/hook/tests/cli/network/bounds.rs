//! What has a bound: a worker that hangs, what a check leaves behind, checks that never came to their turn, a flood.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Home, Session};
use crate::support::{SLACK, is_alive, wait_until};

const SLOW: &str = "[[network.check]]\nname = \"slow\"\ncommand = \"GATE(slow)\"\n";

#[test]
fn a_worker_that_hangs_is_ended_with_all_that_is_below_it() {
    let home = Home::new(&format!("[network]\ndeadline = 5\n{SLOW}"));
    let mut session = Session::new(&home, "s");
    session.open("startup");
    home.wait_for_start("slow");
    let worker = home.pid_of("worker");
    kill(Pid::from_raw(worker), Signal::SIGSTOP).unwrap();
    // The deadline of the stage, and what the worker has for its last words.
    let is_over = || !is_alive(worker);
    assert!(wait_until(std::time::Duration::from_secs(15) + SLACK, is_over));
    home.assert_nothing_runs_but(&[&session]);
    let report = home.report();
    assert!(report.starts_with("network: abandoned, its process has ended (generation 1, "), "{report}");
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn a_run_whose_supervisor_is_killed_is_over() {
    let home = Home::new(SLOW);
    let mut session = Session::new(&home, "s");
    session.open("startup");
    home.wait_for_start("slow");
    kill(Pid::from_raw(home.pid_of("supervisor")), Signal::SIGKILL).unwrap();
    home.assert_nothing_runs_but(&[&session]);
    assert!(home.report().starts_with("network: abandoned, its process has ended"), "{}", home.report());
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn what_a_check_leaves_behind_is_gone_when_it_has_answered() {
    let home = Home::new(&format!(
        "{SLOW}[[network.check]]\nname = \"leaves\"\n\
         command = \"echo CI is red; setsid sh -c 'trap \\\"\\\" TERM; GATE(daemon)' & GATE(leaves); exit 1\"\n"
    ));
    let mut session = Session::new(&home, "s");
    session.open("startup");
    home.wait_for_start("slow");
    home.wait_for_start("daemon");
    let daemon = fs::read_to_string(home.started_file("daemon")).unwrap().trim().parse().unwrap();
    assert!(is_alive(daemon));
    home.open_gate("leaves");
    assert!(wait_until(SLACK, || home.record()["checks"][1]["state"] == "action"), "{}", home.report());
    // Long before the end of the run, which would take it along.
    assert!(wait_until(SLACK, || !is_alive(daemon)));
    assert_eq!(home.record()["state"], "running");
    home.open_gate("slow");
    let report = home.wait();
    assert!(report.starts_with("network: done") && report.contains("  | CI is red\n"), "{report}");
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn checks_that_never_came_to_their_turn_have_no_answer_either() {
    let check = |number| format!("[[network.check]]\nname = \"c{number}\"\ncommand = \"GATE(c{number})\"\n");
    let checks = (0..12).map(check).collect::<Vec<_>>().concat();
    let sweep = "[[network.check]]\nname = \"fetch\"\ncommand = \"GATE(fetch)\"\nsweep = true\n";
    let home = Home::new(&format!("[network]\ndeadline = 1\n{sweep}{checks}"));
    let mut session = Session::new(&home, "s");
    session.open("startup");
    let report = home.wait();
    assert!(report.starts_with("network: timeout "), "{report}");
    assert_eq!(report.matches(": timeout (2").count(), 13, "{report}");
    assert_eq!(home.starts("fetch"), 0, "no sweep starts after the deadline");
    assert_eq!(home.pending(), [""; 0]);
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn a_flood_does_not_fill_the_worker() {
    let home = Home::new(&format!(
        "{SLOW}[[network.check]]\nname = \"flood\"\ncommand = \"head -c 104857600 /dev/zero | tr '\\\\0' x; exit 1\"\n"
    ));
    let mut session = Session::new(&home, "s");
    session.open("startup");
    home.wait_for_start("slow");
    assert!(wait_until(SLACK * 4, || home.record()["checks"][1]["state"] == "action"), "{}", home.report());
    let status = fs::read_to_string(format!("/proc/{}/status", home.pid_of("worker"))).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    let kib: u64 = peak.strip_suffix(" kB").unwrap().parse().unwrap();
    assert!(kib < 50 * 1024, "{peak}");
    home.open_gate("slow");
    let report = home.wait();
    assert!(report.contains("[cut here: about 1048") && report.len() < 40_000, "{} bytes", report.len());
    drop(session);
    home.assert_nothing_runs();
}
