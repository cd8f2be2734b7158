//! A program that never called `init` gets containment `group`, the same bounds, and is told.

use dogwatch_engine::process::{Containment, Detached, End, Engine, StartError};

use crate::support::{Marker, ample, block_on, bounds, kill, misbehave};

#[test]
fn the_bounds_hold_and_the_outcome_says_group() {
    let marker = Marker::new();
    let taken = block_on(async {
        let command = misbehave(["tree", &marker.0, "20", "5"]);
        Engine::new().start(&command, &bounds(3_000, 200)).await.unwrap().capture().await
    });
    assert_eq!((taken.outcome.end, taken.outcome.containment), (End::Deadline, Containment::Group));
    assert_eq!(taken.stdout, b"ready\n");
    let left = marker.alive();
    assert_eq!(left.len(), 5, "those in sessions of their own are out of a group's reach");
    left.into_iter().for_each(kill);
}

#[test]
fn exit_is_exit_there_too() {
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    let word = folder.path().join("word");
    let command = misbehave(["leave-holder", &marker.0, "plain"]).env("MISBEHAVE_WORD", &word);
    let taken = block_on(async { Engine::new().start(&command, &ample()).await.unwrap().capture().await });
    assert_eq!((taken.outcome.end, taken.outcome.exit_code), (End::Exited, Some(7)));
    assert!(taken.outcome.pipe_held);
    assert_eq!((taken.stdout.len(), taken.outcome.killed_after_exit), (100_000, 1));
    marker.assert_gone();
}

#[test]
fn start_errors_are_the_same() {
    let error = block_on(Engine::new().start(&misbehave(["exit", "0"]).current_dir("/no/such"), &ample()));
    assert!(matches!(error, Err(StartError::BadWorkingFolder { .. })));
}

#[test]
fn a_detached_run_is_refused_because_nobody_could_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let detached = Detached::new(misbehave(["exit", "0"]), ample().deadline, folder.path().join("out"));
    let error = block_on(detached.start(&Engine::new())).unwrap_err();
    assert!(error.to_string().contains("must call dogwatch_engine::init()"), "{error}");
}
