use std::sync::Arc;

use dogwatch_engine::process::Identity;
use dogwatch_engine::stages::Work;
use rstest::rstest;
use tempfile::TempDir;

use super::*;
use crate::home::network::{CheckRow, CheckState, Record, RunState};
use crate::home::wakes::{self, Wake};

const LONG: Duration = Duration::from_secs(30);

/// A home with a live run whose one check has that answer.
fn home(answer: CheckState) -> (TempDir, Folder) {
    let home = tempfile::tempdir().unwrap();
    let state = Folder::state_of(home.path()).unwrap();
    let process = Identity::current().unwrap();
    let me = Me {
        process: Some(process.clone()),
        harness: "claude".to_owned(),
        session: None,
        shared_process: false,
    };
    let (host, pid_namespace) = network::vantage();
    let check = CheckRow {
        name: "deps".to_owned(),
        sweep: false,
        command: String::new(),
        state: answer,
        ended_at: None,
        note: None,
    };
    let record = Record {
        generation: 1,
        helm: me.identity().unwrap(),
        state: RunState::Running,
        supervisor: process.clone(),
        worker: process,
        host,
        pid_namespace,
        sweeps: false,
        started_at: network::stamp(jiff::Timestamp::now()),
        deadline_seconds: 3600,
        ended_at: None,
        checks: vec![check],
    };
    network::turn(&state, LONG).unwrap().unwrap().write(&record).unwrap();
    (home, state)
}

fn post(state: &Folder, name: &str, text: &str) {
    let wake = Wake::new(name, text.to_owned(), 1, jiff::Timestamp::now());
    assert!(wakes::post(state, &wake, LONG).unwrap());
}

/// What the stage says once its turn has come.
fn said(home: &TempDir, harvest: Option<&Harvest>) -> Option<String> {
    let facts = Facts { network: Some(network_at_turn(home.path(), harvest.cloned())), ..Facts::default() };
    let ground = Arc::new(Ground::at(home.path()));
    let plan = plan::plan(&ground, &crate::config::Digest::default(), &facts, true);
    let stage = plan.stages.into_iter().find(|stage| stage.name == "network").unwrap();
    let Work::AtTurn(text) = stage.work else { panic!("it looks at its turn: {stage:?}") };
    text()
}

#[test]
fn what_is_found_before_its_turn_is_told_in_the_digest_and_by_nobody_else() {
    let (home, state) = home(CheckState::Running);
    let harvest = Harvest::default();
    post(&state, "network-deps", "update them");
    let text = said(&home, Some(&harvest)).unwrap();
    assert!(text.starts_with("in progress, not yet confirmed: deps (what asks for action will be told"));
    assert!(text.ends_with("\nupdate them\n"), "{text}");
    assert!(wakes::claim(&state, |_| true).is_none(), "it is being told");
    assert_eq!(said(&home, Some(&harvest)).map(|text| text.contains("update them")), Some(false));
    harvest.settle(Some(&text));
    assert!(!wakes::may_be_pending(&state));
}

#[test]
fn a_session_that_only_reads_is_told_how_far_it_is_and_takes_nothing() {
    let (home, state) = home(CheckState::Running);
    post(&state, "network-deps", "update them");
    let text = said(&home, None).unwrap();
    assert!(text.contains("(the session in charge is told; ") && !text.contains("update them"), "{text}");
    assert!(wakes::claim(&state, |_| true).is_some(), "it waits for the one in charge");
}

#[rstest]
#[case(CheckState::Clean)]
#[case(CheckState::Action)]
fn where_all_is_answered_and_told_it_says_nothing(#[case] answer: CheckState) {
    let (home, _state) = home(answer);
    assert_eq!(said(&home, Some(&Harvest::default())), None);
}

#[test]
fn without_a_home_it_says_nothing_and_makes_none() {
    let (home, _state) = home(CheckState::Running);
    std::fs::remove_dir_all(home.path().join("state")).unwrap();
    assert_eq!(said(&home, Some(&Harvest::default())), None);
    assert!(!home.path().join("state").exists());
}
