//! Records of runs that are no more.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Home, Session};
use crate::support::{SLACK, wait_until};

const SLOW: &str = "[[network.check]]\nname = \"slow\"\ncommand = \"GATE(slow)\"\n";

/// A record that says that it runs, changed by the test; what is said of it, and that the next session starts anew.
fn abandoned(change: impl Fn(&mut Value), why: &str) {
    let home = Home::new(SLOW);
    let mut first = Session::new(&home, "first");
    first.open("startup");
    home.wait_for_start("slow");
    let mut record = home.record();
    let worker = i32::try_from(record["worker"]["pid"].as_i64().unwrap()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(worker), nix::sys::signal::Signal::SIGKILL).unwrap();
    home.assert_nothing_runs_but(&[&first]);
    change(&mut record);
    fs::write(home.state().join("network.json"), record.to_string()).unwrap();
    let report = home.report();
    assert!(report.starts_with(&format!("network: abandoned, {why} (generation 1, ")), "{report}");
    let json: Value = serde_json::from_str(&home.json()).unwrap();
    assert_eq!(json["state"], "abandoned");
    // Nobody waits for it.
    assert!(home.wait().starts_with("network: abandoned"));
    let mut reader = Session::new(&home, "reader");
    let text = reader.open("startup");
    assert!(text.contains(&format!("not confirmed: slow (the run was abandoned: {why})")), "{text}");
    first.open("startup");
    assert!(wait_until(SLACK, || home.starts("slow") == 2));
    home.open_gate("slow");
    assert!(home.wait().starts_with("network: done (generation 1, "));
    drop((first, reader));
    home.assert_nothing_runs();
}

impl Home {
    fn json(&self) -> String {
        crate::support::stdout(&self.desk.dogwatch(&["network", "report", "--json"]))
    }
}

#[test]
fn one_whose_worker_is_dead() {
    abandoned(|_| (), "its process has ended");
}

#[test]
fn one_whose_process_id_is_another_s_now() {
    let us = std::process::id();
    abandoned(
        move |record| {
            for role in ["worker", "supervisor"] {
                record[role]["pid"] = json!(us);
            }
        },
        "its process has ended and another has its id",
    );
}

#[test]
fn one_of_another_boot() {
    abandoned(
        |record| {
            for role in ["worker", "supervisor"] {
                record[role]["boot_id"] = json!("00000000-0000-4000-8000-000000000000");
            }
        },
        "the machine was booted since",
    );
}

#[test]
fn one_that_is_older_than_its_deadline_allows() {
    // A process that is no worker: whoever takes the record for abandoned ends nobody else.
    let mut other =
        std::process::Command::new("/bin/sh").args(["-c", "read _"]).stdin(Stdio::piped()).spawn().unwrap();
    let identity = dogwatch_engine::process::Identity::of(other.id().cast_signed()).unwrap();
    abandoned(
        |record| {
            for role in ["worker", "supervisor"] {
                record[role] = serde_json::to_value(&identity).unwrap();
            }
            record["started_at"] = json!("2026-01-01T00:00:00Z");
        },
        "it is older than its deadline allows",
    );
    assert!(identity.is_alive());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn one_that_nobody_can_read() {
    for garbage in ["", "{", "[]", "{\"version\":1,\"state\":\"running\"}", "\u{0}\u{0}"] {
        let home = Home::new(SLOW);
        let mut first = Session::new(&home, "first");
        fs::create_dir_all(home.state()).unwrap();
        first.open("resume");
        fs::write(home.state().join("network.json"), garbage).unwrap();
        assert!(home.report().starts_with("network: the record of the last run cannot be read"), "{garbage}");
        first.open("startup");
        home.wait_for_start("slow");
        home.open_gate("slow");
        assert!(home.wait().starts_with("network: done (generation 1, "));
        drop(first);
        home.assert_nothing_runs();
    }
}
