//! A run is over by deadline, grace and a small constant, whatever the child does.

use std::time::Instant;

use dogwatch_engine::process::{Cap, End};

use crate::support::{Marker, SLACK, ample, block_on, bounds, capture, misbehave};

/// Runs a behaviour that would go on for ever.
fn ends_at_its_deadline(words: [&str; 1]) {
    let marker = Marker::new();
    let started = Instant::now();
    let bounds = bounds(300, 200);
    let taken = block_on(capture(misbehave([words[0], &marker.0]), bounds));
    assert_eq!(taken.outcome.end, End::Deadline);
    assert!(started.elapsed() >= bounds.deadline.get());
    assert!(started.elapsed() < bounds.deadline.get() + bounds.grace.get() + SLACK);
    marker.assert_gone();
}

#[test]
fn of_a_child_that_ignores_term() {
    ends_at_its_deadline(["ignore-term"]);
}

#[test]
fn of_a_child_that_stops_itself() {
    ends_at_its_deadline(["stop-self"]);
}

#[test]
fn of_a_child_that_closes_its_output_and_runs_on() {
    ends_at_its_deadline(["close-output"]);
}

#[test]
fn of_a_child_that_floods() {
    ends_at_its_deadline(["flood"]);
}

#[test]
fn of_a_child_that_prints_nothing() {
    ends_at_its_deadline(["sleep"]);
}

#[test]
fn of_a_child_that_nobody_reads_from() {
    let marker = Marker::new();
    let mut bounds = bounds(300, 200);
    bounds.cap = Cap::Everything;
    block_on(async {
        let run = crate::support::engine().start(&misbehave(["flood", &marker.0]), &bounds).await.unwrap();
        // The front is busy elsewhere for as long as it takes: the supervisor needs nobody.
        assert!(crate::support::wait_until(SLACK, || marker.alive().is_empty()));
        let outcome = run.finish().await;
        assert_eq!(outcome.end, End::Deadline);
    });
}

#[test]
fn a_child_that_never_reads_its_input_has_none_to_wait_for() {
    let taken = block_on(capture(misbehave(["read-input"]), ample()));
    assert_eq!(taken.stdout, b"0 bytes\n");
}

#[test]
fn term_comes_first_and_the_grace_is_given() {
    let marker = Marker::new();
    let taken = block_on(capture(misbehave(["exit-on-term", &marker.0]), bounds(1_000, 60_000)));
    assert_eq!(taken.outcome.end, End::Deadline);
    assert_eq!(taken.outcome.exit_code, Some(0));
    assert_eq!(taken.stdout, b"ready\ntidied up\n");
}

#[test]
fn the_first_cause_of_a_stop_is_the_one_that_is_told() {
    let marker = Marker::new();
    block_on(async {
        let command = misbehave(["ignore-term", &marker.0]);
        let run = crate::support::engine().start(&command, &bounds(1_500, 1_000)).await.unwrap();
        // Its deadline falls into the grace of this stop.
        let stopper = run.stopper();
        tokio::time::sleep(std::time::Duration::from_millis(1_000)).await;
        stopper.stop(Some(15));
        let outcome = run.finish().await;
        assert_eq!((outcome.end, outcome.interrupted_by), (End::Interrupted, Some(15)));
    });
}

#[test]
fn a_front_that_was_busy_past_every_bound_believes_the_report_that_came_meanwhile() {
    let marker = Marker::new();
    block_on(async {
        let run =
            crate::support::engine().start(&misbehave(["ignore-term", &marker.0]), &bounds(100, 100)).await;
        let run = run.unwrap();
        // Beyond deadline, grace and the front's own slack: the thread is busy, not waiting for anything.
        std::thread::sleep(std::time::Duration::from_millis(2_500));
        assert_eq!(run.finish().await.end, End::Deadline);
    });
}
