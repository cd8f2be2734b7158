//! A run is over when its leader has exited, not when the last holder of its pipes has.

use std::time::Instant;

use dogwatch_engine::process::{Captured, Containment, End, Leftover};

use crate::support::{MISBEHAVE, Marker, SLACK, ample, block_on, capture, misbehave};

/// A leader that writes 100,000 bytes and exits with 7 while a child of its holds the pipes.
fn leave_holder(how: &str, leftover: Leftover, containment: Containment) -> (Captured, Marker) {
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    let word = folder.path().join("word");
    let command = misbehave(["leave-holder", &marker.0, how]).env("MISBEHAVE_WORD", &word);
    let mut bounds = ample();
    bounds.leftover = leftover;
    bounds.containment = containment;
    let started = Instant::now();
    let taken = block_on(capture(command, bounds));
    assert!(started.elapsed() < SLACK, "waited for the holder");
    assert_eq!((taken.outcome.end, taken.outcome.exit_code), (End::Exited, Some(7)));
    (taken, marker)
}

fn assert_whole(taken: &Captured) {
    // The holder may have written something of its own behind them.
    let whole = taken.stdout.len() >= 100_000
        && taken.stdout[..].windows(2).filter(|two| two == b"bb").count() >= 99_000;
    assert!(whole, "bytes that were written before the exit: {} came", taken.stdout.len());
}

#[test]
fn a_holder_of_the_pipe_is_named_and_ended() {
    let (taken, marker) = leave_holder("plain", Leftover::Kill, Containment::Subtree);
    assert_whole(&taken);
    assert!(taken.outcome.pipe_held);
    assert_eq!(taken.outcome.killed_after_exit, 1);
    marker.assert_gone();
}

#[test]
fn a_holder_of_a_duplicate_is_named_and_ended() {
    let (taken, marker) = leave_holder("duplicate", Leftover::Kill, Containment::Subtree);
    assert_whole(&taken);
    assert!(taken.outcome.pipe_held);
    marker.assert_gone();
}

#[test]
fn a_holder_that_may_stay_stays_and_delays_nothing() {
    let (taken, marker) = leave_holder("plain", Leftover::Keep, Containment::Subtree);
    assert_whole(&taken);
    assert!(taken.outcome.pipe_held);
    assert_eq!(taken.outcome.killed_after_exit, 0);
    assert_eq!(marker.alive().len(), 1, "the holder was to be kept");
}

#[test]
fn a_holder_that_goes_on_writing_does_not_keep_the_drain_going() {
    let (taken, marker) = leave_holder("chatty", Leftover::Keep, Containment::Subtree);
    assert_whole(&taken);
    assert!(taken.outcome.pipe_held);
    assert_eq!(marker.alive().len(), 1);
}

#[test]
fn a_pipe_that_nobody_holds_is_not_called_held() {
    for _ in 0..50 {
        let taken = block_on(capture(misbehave(["zeros", "1000"]), ample()));
        assert!(!taken.outcome.pipe_held);
        assert_eq!((taken.outcome.stdout_bytes, taken.stdout.len()), (1000, 1000));
    }
}

#[test]
fn no_byte_is_lost_on_either_channel() {
    for _ in 0..10 {
        let taken = block_on(capture(misbehave(["both", "200000"]), ample()));
        assert_eq!((taken.stdout.len(), taken.stderr.len()), (200_000, 200_000));
        assert!(!taken.outcome.truncated);
    }
}

#[test]
fn the_exit_code_and_the_signal_are_the_leaders() {
    let code = block_on(capture(misbehave(["exit", "42"]), ample())).outcome;
    assert_eq!((code.end, code.exit_code, code.signal), (End::Exited, Some(42), None));
    // 9 as anybody's, 34 as a real-time signal, which many a wrapper cannot name.
    for signal in [9, 34] {
        let died = block_on(capture(misbehave(["die-of", &signal.to_string()]), ample())).outcome;
        assert_eq!((died.end, died.exit_code, died.signal), (End::Signaled, None, Some(signal)));
    }
}

#[test]
fn the_exit_code_is_known_to_a_front_that_was_started_with_sigchld_ignored() {
    let output = std::process::Command::new("env")
        .args(["--ignore-signal=CHLD", MISBEHAVE, "front", "--", MISBEHAVE, "exit", "3"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let report: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(report["exit_code"], 3, "{text}");
}
