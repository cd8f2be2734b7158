//! TERM, grace, KILL, until nothing is left, wherever it went.

use dogwatch_engine::process::{Containment, End, Leftover};

use crate::support::{
    Front, MISBEHAVE, Marker, ample, block_on, bounds, capture, engine, is_alive, kill, misbehave,
};

#[test]
fn daemons_that_were_forked_twice_and_ignore_term() {
    let marker = Marker::new();
    let taken = block_on(capture(misbehave(["leave-daemons", &marker.0, "20"]), ample()));
    assert_eq!(taken.outcome.end, End::Exited);
    assert_eq!(taken.outcome.containment, Containment::Subtree);
    assert_eq!(taken.outcome.killed_after_exit, 20);
    assert!(taken.outcome.unkillable.is_empty());
    marker.assert_gone();
}

#[test]
fn a_tree_with_sessions_of_its_own_at_the_deadline() {
    let marker = Marker::new();
    block_on(async {
        let run = engine().start(&misbehave(["tree", &marker.0, "60", "20"]), &bounds(60_000, 200)).await;
        let mut run = run.unwrap();
        assert_eq!(run.next().await.unwrap().bytes, b"ready\n");
        assert_eq!(marker.alive().len(), 61);
        run.stopper().stop(None);
        let outcome = run.finish().await;
        assert_eq!(outcome.end, End::Interrupted);
        assert_eq!(outcome.killed_after_exit, 60);
        assert!(outcome.unkillable.is_empty());
    });
    marker.assert_gone();
}

#[test]
fn processes_that_fork_while_they_are_killed() {
    let marker = Marker::new();
    block_on(async {
        let run = engine().start(&misbehave(["relays", &marker.0, "8"]), &bounds(60_000, 100)).await;
        let mut run = run.unwrap();
        assert_eq!(run.next().await.unwrap().bytes, b"ready\n");
        run.stopper().stop(None);
        let outcome = run.finish().await;
        assert!(outcome.unkillable.is_empty(), "{outcome:?}");
    });
    marker.assert_gone();
}

#[test]
fn kept_leftovers_are_left_alone_and_a_deadline_ends_them_all_the_same() {
    let marker = Marker::new();
    let mut kept = ample();
    kept.leftover = Leftover::Keep;
    let taken = block_on(capture(misbehave(["leave-daemons", &marker.0, "3"]), kept));
    assert_eq!((taken.outcome.end, taken.outcome.killed_after_exit), (End::Exited, 0));
    assert_eq!(marker.alive().len(), 3);

    let ended = Marker::new();
    let mut at_once = bounds(300, 100);
    at_once.leftover = Leftover::Keep;
    let taken = block_on(capture(misbehave(["tree", &ended.0, "12", "6"]), at_once));
    assert_eq!(taken.outcome.end, End::Deadline);
    ended.assert_gone();
}

#[test]
fn with_group_containment_only_the_group_and_the_outcome_says_so() {
    let marker = Marker::new();
    let mut group = bounds(60_000, 100);
    group.containment = Containment::Group;
    block_on(async {
        let mut run = engine().start(&misbehave(["tree", &marker.0, "20", "5"]), &group).await.unwrap();
        assert_eq!(run.next().await.unwrap().bytes, b"ready\n");
        run.stopper().stop(None);
        let outcome = run.finish().await;
        assert_eq!(outcome.containment, Containment::Group);
        assert_eq!(outcome.killed_after_exit, 15);
    });
    let left = marker.alive();
    assert_eq!(left.len(), 5, "those in sessions of their own are out of a group's reach");
    left.into_iter().for_each(kill);
}

#[test]
fn a_second_order_kills_at_once() {
    let marker = Marker::new();
    block_on(async {
        let run = engine().start(&misbehave(["ignore-term", &marker.0]), &bounds(600_000, 600_000)).await;
        let mut run = run.unwrap();
        assert_eq!(run.next().await.unwrap().bytes, b"ready\n");
        run.stopper().stop(Some(2));
        run.stopper().kill();
        let outcome = run.finish().await;
        assert_eq!(
            (outcome.end, outcome.interrupted_by, outcome.signal),
            (End::Interrupted, Some(2), Some(9))
        );
    });
}

/// Needs root to make: an ordinary user has nobody whom it could not kill.
#[test]
fn what_belongs_to_another_user_is_named() {
    use std::os::unix::fs::PermissionsExt;
    if !nix::unistd::getuid().is_root() {
        return;
    }
    let marker = Marker::new();
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // One for the front, which anybody may run, and one that becomes root.
    let [plain, setuid] = [("plain", "755"), ("setuid", "4755")].map(|(name, mode)| {
        let copy = folder.path().join(name);
        crate::support::copy_misbehave(&copy, mode);
        copy
    });
    let output = std::process::Command::new(&plain)
        .args(["front", "--as-user", "1", "--deadline", "1000", "--grace", "100", "--"])
        .arg(&setuid)
        .args(["setuid-root", &marker.0])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    if text.contains("no root") {
        return; // The scratch folder is mounted without setuid.
    }
    let report: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let named = &report["unkillable"][0];
    let pid = i32::try_from(named["pid"].as_i64().unwrap()).unwrap();
    assert_eq!(
        (marker.alive().as_slice(), named["why"].as_str()),
        ([pid].as_slice(), Some("it belongs to another user"))
    );
    kill(pid);
}

#[test]
fn a_dropped_run_ends_too() {
    let marker = Marker::new();
    block_on(async {
        let mut run = engine().start(&misbehave(["tree", &marker.0, "12", "4"]), &ample()).await.unwrap();
        assert_eq!(run.next().await.unwrap().bytes, b"ready\n");
        let leader = run.leader();
        assert!(is_alive(leader));
        drop(run);
    });
    marker.assert_gone_within(crate::support::SLACK);
}

#[test]
fn a_front_in_a_pipeline_is_not_told_of_leftovers_that_are_already_dead() {
    let marker = Marker::new();
    let mut front = Front::start(&["--deadline", "60000"], &["exit-on-term", &marker.0]);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(front.leader), nix::sys::signal::Signal::SIGTERM)
        .unwrap();
    let report = front.report();
    assert_eq!((report["end"].as_str(), report["killed_after_exit"].as_i64()), (Some("exited"), Some(0)));
}

#[test]
fn behind_the_proc_of_another_namespace_the_outcome_says_group() {
    let unshare = |command: &[&str]| {
        std::process::Command::new("unshare")
            .args(["--pid", "--fork", "--map-root-user"])
            .args(command)
            .output()
    };
    if !unshare(&["true"]).is_ok_and(|output| output.status.success()) {
        // Namespaces are forbidden here.
        return;
    }
    let marker = Marker::new();
    let front = [MISBEHAVE, "front", "--deadline", "300", "--grace", "100", "--"];
    let output = unshare(&[&front[..], &[MISBEHAVE, "leave-daemons", &marker.0, "1"]].concat()).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let report: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(report["containment"], "group", "{text}");
    // The end of the namespace ends the rest.
    marker.assert_gone_within(crate::support::SLACK);
}
