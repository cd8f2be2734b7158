//! Many runs under one supervisor, each with bounds and a kill of its own.

use std::time::Duration;

use dogwatch_engine::process::{Command, End, StartError};
use futures::future::join_all;

use crate::support::{Marker, SLACK, ample, block_on, bounds, engine, is_alive, kill, misbehave, wait_until};

#[test]
fn runs_do_not_disturb_each_other() {
    let short = Marker::new();
    let long = Marker::new();
    block_on(async {
        let session = engine().session().unwrap();
        let supervisor = session.supervisor().unwrap();
        let mut other = session.start(&misbehave(["tree", &long.0, "12", "4"]), &ample()).await.unwrap();
        assert_eq!(other.next().await.unwrap().bytes, b"ready\n");
        let run = session.start(&misbehave(["leave-daemons", &short.0, "3"]), &ample()).await.unwrap();
        let outcome = run.capture().await.outcome;
        assert_eq!((outcome.end, outcome.killed_after_exit), (End::Exited, 3));
        short.assert_gone();
        assert_eq!(long.alive().len(), 13, "another run's processes were hit");
        other.stopper().kill();
        assert_eq!(other.finish().await.killed_after_exit, 12);
        long.assert_gone();
        session.close().await;
        assert!(!is_alive(supervisor));
    });
}

#[test]
fn many_at_once() {
    block_on(async {
        let session = engine().session().unwrap();
        let commands: Vec<_> = (0..40).map(|index| misbehave(["exit", &index.to_string()])).collect();
        let bounds = ample();
        let outcomes = join_all(commands.iter().map(async |command| {
            session.start(command, &bounds).await.unwrap().finish().await.exit_code.unwrap()
        }))
        .await;
        assert_eq!(outcomes, (0..40).collect::<Vec<_>>());
        session.close().await;
    });
}

#[test]
fn a_start_that_fails_is_told_to_the_run_that_asked() {
    block_on(async {
        let session = engine().session().unwrap();
        let error = session.start(&Command::new("/no/such"), &ample()).await.unwrap_err();
        assert!(matches!(error, StartError::NotFound { .. }));
        assert!(session.start(&misbehave(["exit", "0"]), &ample()).await.unwrap().finish().await.success());
        session.close().await;
    });
}

#[test]
fn what_a_killed_keeper_leaves_comes_to_the_sessions_supervisor_and_ends() {
    let marker = Marker::new();
    block_on(async {
        let session = engine().session().unwrap();
        let mut run = session.start(&misbehave(["tree", &marker.0, "12", "6"]), &ample()).await.unwrap();
        assert_eq!(run.next().await.unwrap().bytes, b"ready\n");
        kill(parent(run.leader()));
        assert_eq!(run.finish().await.end, End::SupervisorLost);
        marker.assert_gone_within(SLACK);
        session.close().await;
    });
}

#[test]
fn runs_outlive_a_killed_session_supervisor_within_their_bounds() {
    let marker = Marker::new();
    block_on(async {
        let session = engine().session().unwrap();
        let mut run =
            session.start(&misbehave(["tree", &marker.0, "12", "6"]), &bounds(4_000, 100)).await.unwrap();
        assert_eq!(run.next().await.unwrap().bytes, b"ready\n");
        kill(session.supervisor().unwrap());
        assert!(wait_until(SLACK, || !is_alive(session.supervisor().unwrap_or(0))));
        let outcome = run.finish().await;
        assert_eq!(outcome.end, End::Deadline);
        marker.assert_gone();
        assert!(session.start(&misbehave(["exit", "0"]), &ample()).await.is_err());
        session.close().await;
    });
}

#[test]
fn a_dropped_session_waits_for_its_runs_and_then_ends() {
    block_on(async {
        let session = engine().session().unwrap();
        let supervisor = session.supervisor().unwrap();
        let run = session.start(&misbehave(["zeros", "1000"]), &ample()).await.unwrap();
        drop(session);
        assert_eq!(run.capture().await.stdout.len(), 1000);
        // Nobody waits for it any more; the runtime reaps it when it next looks.
        for _ in 0..1000 {
            if !is_alive(supervisor) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the session's supervisor stayed");
    });
}

fn parent(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap()
}
