//! A hook that is killed while it starts a run, and what a run inherits: either the record names a run that works, or
//! nothing of it is left. More rounds with `DOGWATCH_TEST_ROUNDS`.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::json;

use super::chaos::{Dice, rounds};
use super::outlives::below;
use super::{Home, Session};
use crate::support::{SLACK, is_alive, wait_until};

const RED: &str = "[[network.check]]\nname = \"ci\"\ncommand = \"GATE(ci); echo CI is red; exit 1\"\n";

#[test]
fn a_check_finishes_although_the_harness_and_its_tree_are_killed() {
    let home = Home::new(RED);
    let mut session = Session::new(&home, "s");
    session.open("startup");
    home.wait_for_start("ci");
    let worker = home.pid_of("worker");
    let host = session.host.pid();
    for pid in below(host).into_iter().chain([host]) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    drop(session);
    assert!(is_alive(worker));
    home.open_gate("ci");
    assert!(home.wait().contains("- ci: asks for action"));
    // Whoever is in charge next is told, with the time of the check, and not as what its own run has found.
    let mut next = Session::new(&home, "next");
    let text = next.open("startup");
    assert!(text.contains("\n## wakes\nnetwork check ci asks for action (checked "), "{text}");
    assert!(text.contains("in progress, not yet confirmed: ci"), "{text}");
    assert_eq!(next.prompt(), "");
    assert!(wait_until(SLACK, || home.starts("ci") == 2));
    home.open_gate("ci");
    home.wait();
    drop(next);
    home.assert_nothing_runs();
}

#[test]
fn of_a_hook_that_is_killed_at_any_moment_nothing_runs_that_the_record_does_not_name() {
    let mut dice = Dice::new();
    let (mut none, mut whole, mut abandoned) = (0, 0, 0);
    // Until when kills fall: somewhat longer than it takes until a run is there.
    let mut until = 0;
    for round in 0..rounds(20) {
        let home = Home::new(RED);
        let mut session = Session::new(&home, "s");
        let host = session.host.pid();
        let payload = session.payload("SessionStart", &json!({ "source": "startup" }));
        let begun = Instant::now();
        session.host.begin("setsid", "hook claude session-open --limit 180s", &payload);
        if round == 0 {
            assert!(wait_until(SLACK, || !home.record().is_null()));
            until = usize::try_from(begun.elapsed().as_micros()).unwrap() * 5 / 4;
        } else {
            let at = Duration::from_micros(dice.below(until) as u64);
            std::thread::sleep(at.saturating_sub(begun.elapsed()));
            // Its group and its tree.
            for pid in below(host) {
                let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
        session.host.end();
        // One that was not yet let go of when its starter was killed lives on for a moment, and may begin its check.
        let mut is_opened = false;
        let is_settled = || {
            is_opened = home.ours() != [host] && home.try_gate("ci");
            is_opened || home.ours() == [host]
        };
        assert!(wait_until(SLACK, is_settled), "round {round} (seed {}): {}", dice.seed, home.report());
        let report = home.wait();
        if home.record().is_null() {
            none += 1;
        } else if is_opened && report.contains("- ci: asks for action") {
            whole += 1;
        } else {
            abandoned += 1;
            assert!(report.starts_with("network: abandoned, its process has ended"), "{report}");
        }
        drop(session);
        home.assert_nothing_runs();
    }
    println!("before the start: {none}; amid it: {abandoned}; after it: {whole}");
}

#[test]
fn a_run_holds_nothing_open_that_the_harness_waits_for() {
    let home = Home::new(RED);
    let mut session = Session::new(&home, "s");
    let pipe = |name: &str| {
        let path = home.desk.scratch.path().join(name);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader =
            fs::OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(&path).unwrap();
        (path.display().to_string(), reader)
    };
    let (mut out, mut err, mut other) = (pipe("out"), pipe("err"), pipe("other"));
    let payload = home.desk.scratch.path().join("payload");
    fs::write(&payload, session.payload("SessionStart", &json!({ "source": "startup" }))).unwrap();
    let line = format!(
        "{} hook claude session-open --limit 180s < {} > {} 2> {} 9> {}",
        crate::support::PROGRAM,
        payload.display(),
        out.0,
        err.0,
        other.0
    );
    assert_eq!(session.host.order(&line), 0);
    home.wait_for_start("ci");
    for (name, pipe) in [&mut out, &mut err, &mut other] {
        // Its end is 0 bytes; as long as somebody could write to it the read would have to wait.
        let mut text = String::new();
        assert!(pipe.read_to_string(&mut text).is_ok(), "{name} is still open");
    }
    home.open_gate("ci");
    home.wait();
    drop(session);
    home.assert_nothing_runs();
}
