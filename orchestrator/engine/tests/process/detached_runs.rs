//! What is detached outlives whoever started it, and still ends by its own deadline.

use std::path::Path;
use std::process::Command as StdCommand;
use std::time::Duration;

use dogwatch_engine::process::Identity;

use crate::support::{MISBEHAVE, Marker, SLACK, kill, wait_until};

/// Starts `misbehave detach …` and waits for it; its stdout is a pipe that is read to its end.
fn detach(folder: &Path, seconds: &str, command: &[&str]) -> (i32, i32) {
    let output = StdCommand::new(MISBEHAVE)
        .arg("detach")
        .args([folder.join("out"), folder.join("identity")])
        .arg(seconds)
        .args(command)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words: Vec<_> = text.split_whitespace().collect();
    assert_eq!(words.first(), Some(&"detached"), "{text}");
    (words[1].parse().unwrap(), words[2].parse().unwrap())
}

#[test]
fn it_outlives_its_starter_holds_nothing_and_ends_by_its_own_deadline() {
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    // That this returns shows that the reader of the starter's stdout saw its end.
    let (supervisor, leader) = detach(folder.path(), "2", &[MISBEHAVE, "tree", &marker.0, "4", "2"]);
    let recorded: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("identity")).unwrap()).unwrap();
    let identity: Identity = serde_json::from_value(recorded["supervisor"].clone()).unwrap();
    assert_eq!((identity.pid, recorded["leader"]["pid"].as_i64()), (supervisor, Some(i64::from(leader))));
    assert!(identity.is_alive());
    assert!(wait_until(SLACK, || std::fs::read(folder.path().join("out")).unwrap() == b"ready\n"));
    assert!(wait_until(Duration::from_secs(2) + SLACK, || !identity.is_alive()));
    marker.assert_gone();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing but the two files is left");
}

#[test]
fn it_survives_the_kill_sweep_of_a_run_beside_it() {
    // The same front starts a bounded run whose tree is swept, and a detached one.
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    let engine = crate::support::engine();
    let detached = dogwatch_engine::process::Detached::new(
        crate::support::misbehave(["ignore-term", &marker.0]),
        dogwatch_engine::process::Deadline::new(Duration::from_secs(60)).unwrap(),
        folder.path().join("out"),
    );
    let identity = crate::support::block_on(async {
        let other = crate::support::misbehave(["leave-daemons", &marker.0, "2"]);
        let run = engine.start(&other, &crate::support::ample()).await.unwrap();
        let identity = detached.start(&engine).await.unwrap();
        assert_eq!(run.capture().await.outcome.killed_after_exit, 2);
        identity
    });
    assert_eq!(marker.alive(), [identity.leader.pid]);
    kill(identity.supervisor.pid);
    marker.assert_gone_within(SLACK);
}

#[test]
fn nothing_of_the_starters_descriptors_is_held() {
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    let (supervisor, leader) = detach(folder.path(), "60", &[MISBEHAVE, "sleep", &marker.0]);
    // A program that is just starting opens files of its own for a moment; what it was handed stays.
    let foreign = |pid: i32| -> Vec<String> {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let targets = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        let is_own = |target: &std::path::PathBuf| {
            let name = target.to_string_lossy();
            name == "/dev/null" || name.starts_with("anon_inode:") || *target == folder.path().join("out")
        };
        targets.filter(|target| !is_own(target)).map(|target| target.to_string_lossy().into_owned()).collect()
    };
    for pid in [supervisor, leader] {
        assert!(wait_until(SLACK, || foreign(pid).is_empty()), "{pid} holds {:?}", foreign(pid));
    }
    kill(supervisor);
    marker.assert_gone_within(SLACK);
}

#[test]
fn a_program_that_is_missing_is_an_error_and_leaves_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let output = StdCommand::new(MISBEHAVE)
        .arg("detach")
        .args([folder.path().join("out"), folder.path().join("identity")])
        .args(["60", "/no/such/program"])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "error: cannot run /no/such/program: no such program\n"
    );
    assert_eq!(output.status.code(), Some(127));
    assert!(!folder.path().join("identity").exists());
}

#[test]
fn an_identity_file_that_cannot_be_written_ends_the_run_again() {
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    let output = StdCommand::new(MISBEHAVE)
        .arg("detach")
        .args([folder.path().join("out"), folder.path().join("no/such/folder/identity")])
        .args(["60", MISBEHAVE, "tree", &marker.0, "8", "4"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    // Its descendants included, and before the error is handed out.
    marker.assert_gone();
}
