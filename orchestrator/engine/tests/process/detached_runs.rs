//! What is detached outlives whoever started it, and still ends by its own deadline.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command as StdCommand, Stdio};
use std::time::Duration;

use dogwatch_engine::process::{Deadline, Detached, Identity, StartError};

use crate::support::{MISBEHAVE, Marker, SLACK, block_on, engine, kill, misbehave, wait_until};

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

/// `misbehave detach-and-stay`, which is killed in any case.
struct Starter {
    process: Child,
    /// Supervisor and leader of each run.
    runs: Vec<(i32, i32)>,
    is_subreaper: bool,
}

impl Starter {
    fn start(marker: &Marker, folder: &Path, count: usize) -> Self {
        let mut process = StdCommand::new(MISBEHAVE)
            .args(["detach-and-stay", &marker.0])
            .arg(folder)
            .args(["60", &count.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut starter = Self { process, runs: Vec::new(), is_subreaper: false };
        for line in lines.take(count + 1).map(Result::unwrap) {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["detached", supervisor, leader] => {
                    starter.runs.push((supervisor.parse().unwrap(), leader.parse().unwrap()));
                }
                ["subreaper", answer] => starter.is_subreaper = *answer == "true",
                _ => panic!("{line}"),
            }
        }
        starter
    }

    fn pid(&self) -> i32 {
        self.process.id().cast_signed()
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The living processes and their parents.
fn parents() -> Vec<(i32, i32)> {
    let stats = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid = entry.ok()?.file_name().to_str()?.parse::<i32>().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()?;
        Some((pid, parent))
    });
    stats.collect()
}

/// What a harness finds that ends a process and everything below it.
fn below(root: i32) -> BTreeSet<i32> {
    let parents = parents();
    let mut found = BTreeSet::from([root]);
    loop {
        let before = found.len();
        found.extend(
            parents
                .iter()
                .filter(|(_, parent)| found.contains(parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if found.len() == before {
            return found;
        }
    }
}

#[test]
fn it_is_not_below_a_starter_that_adopts_orphans_and_survives_the_end_of_its_tree() {
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    let mut starter = Starter::start(&marker, folder.path(), 1);
    let (supervisor, leader) = starter.runs[0];
    let tree = below(starter.pid());
    assert!(!tree.contains(&supervisor) && !tree.contains(&leader), "{tree:?}");
    assert!(starter.is_subreaper, "orphans of other runs still arrive at it");
    let identity = Identity::of(leader).unwrap();
    for pid in tree {
        kill(pid);
    }
    starter.process.wait().unwrap();
    // Its own tree is whole: the five processes, among them two in sessions of their own.
    assert!(wait_until(SLACK, || std::fs::read(folder.path().join("out-0")).unwrap() == b"ready\n"));
    assert!(identity.is_alive());
    assert_eq!(marker.alive().len(), 5);
    // At the leader's end the supervisor ends the rest.
    kill(leader);
    marker.assert_gone_within(SLACK);
}

#[test]
fn of_several_that_are_started_at_the_same_time_none_is_below_the_starter() {
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    let starter = Starter::start(&marker, folder.path(), 8);
    let tree = below(starter.pid());
    let caught: Vec<_> = starter.runs.iter().filter(|(supervisor, _)| tree.contains(supervisor)).collect();
    assert!(caught.is_empty(), "{caught:?} of {:?}", starter.runs);
    assert!(starter.is_subreaper);
    for (_, leader) in &starter.runs {
        kill(*leader);
    }
    drop(starter);
    marker.assert_gone_within(SLACK);
}

#[test]
fn what_its_record_refuses_is_ended_again_before_the_error_is_handed_out() {
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    let detached = Detached::new(
        misbehave(["tree", &marker.0, "8", "4"]),
        Deadline::new(Duration::from_secs(60)).unwrap(),
        folder.path().join("out"),
    );
    let mut told = None;
    let error = block_on(detached.start_with(&engine(), |run| {
        told = Some(run.clone());
        // The whole tree is to be there, so that there is something to leave behind.
        assert!(wait_until(SLACK, || std::fs::read(folder.path().join("out")).unwrap() == b"ready\n"));
        assert!(run.supervisor.is_alive() && run.leader.is_alive());
        Err(io::Error::other("no room"))
    }))
    .unwrap_err();
    marker.assert_gone();
    assert!(matches!(&error, StartError::System { .. }) && error.to_string().contains("no room"), "{error}");
    let run = told.unwrap();
    assert!(!run.leader.is_alive());
    assert!(run.supervisor.wait_for_end(SLACK), "and its supervisor with it");
}

#[test]
fn a_record_that_panics_leaves_nothing_behind() {
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    let detached = Detached::new(
        misbehave(["ignore-term", &marker.0]),
        Deadline::new(Duration::from_secs(60)).unwrap(),
        folder.path().join("out"),
    );
    let start = || block_on(detached.start_with(&engine(), |_| panic!("so it goes")));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(start)).is_err());
    marker.assert_gone_within(SLACK);
}
