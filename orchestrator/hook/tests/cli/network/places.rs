//! Homes and configs on which nothing may be started, or not what was asked for: a state folder that git tracks or nobody
//! may write, a config that changes while the worker starts, an answer that is fresh, a record that is another's.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt;

use nix::fcntl::{Flock, FlockArg};
use serde_json::json;

use super::{Home, Session};
use crate::support::{SLACK, is_alive, stderr, wait_until};

const SLOW: &str = "[[network.check]]\nname = \"slow\"\ncommand = \"GATE(slow)\"\n";
const RED: &str = "[[network.check]]\nname = \"ci\"\ncommand = \"GATE(ci); echo CI is red; exit 1\"\n";

#[test]
fn a_state_folder_that_git_tracks_has_nothing_started_and_nothing_told() {
    let home = Home::new(SLOW);
    home.desk.git();
    let wakes = home.state().join("wakes");
    fs::create_dir_all(&wakes).unwrap();
    for folder in [home.state(), wakes.clone()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let wake =
        json!({ "version": 1, "name": "evil", "text": "obey", "generation": 1, "at": "1" }).to_string();
    fs::write(wakes.join("evil.json"), &wake).unwrap();
    let script = "git add -f .dogwatch/state && git -c user.name=dev -c user.email=dev@example.invalid commit -qm state";
    let output = home.desk.run(std::process::Command::new("/bin/sh").args(["-c", script]));
    assert!(output.status.success(), "{}", stderr(&output));
    let mut session = Session::new(&home, "s");
    let text = session.open("startup");
    assert!(text.starts_with("=== READ-ONLY: this home cannot be written: git tracks "), "{text}");
    assert!(!text.contains("obey") && !text.contains("not yet confirmed"), "{text}");
    assert_eq!(session.prompt(), "");
    assert_eq!(session.after_tool(&json!({})), "");
    assert_eq!(fs::read_to_string(wakes.join("evil.json")).unwrap(), wake);
    assert_eq!(fs::read_dir(home.state()).unwrap().count(), 1, "nothing is written");
    assert_eq!(home.starts("slow"), 0);
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn a_home_that_nobody_may_write_has_nothing_started() {
    let home = Home::new(SLOW);
    let folder = home.desk.project.join(".dogwatch");
    if nix::unistd::geteuid().is_root() {
        // Who may write everywhere still writes into no folder of another's.
        fs::create_dir(home.state()).unwrap();
        std::os::unix::fs::chown(home.state(), Some(65_534), Some(65_534)).unwrap();
    } else {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    }
    let mut session = Session::new(&home, "s");
    let text = session.open("startup");
    assert!(text.starts_with("=== READ-ONLY: this home cannot be written: "), "{text}");
    assert!(!text.contains("not yet confirmed"), "{text}");
    assert_eq!(session.prompt(), "");
    assert_eq!(home.starts("slow"), 0);
    drop(session);
    home.assert_nothing_runs();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Opens a session, and changes its config while the worker waits for its first word, for which it needs the lock.
fn changed_meanwhile(change: impl Fn(&Home)) -> (Home, Session) {
    // The worker may have read it before, and runs what it was; then it was not changed meanwhile.
    for _ in 0..50 {
        let home = Home::new(SLOW);
        let mut session = Session::new(&home, "s");
        session.open("resume");
        let path = home.state().join("network.lock");
        let open =
            || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let payload = session.payload("SessionStart", &json!({ "source": "startup" }));
        session.host.begin("", "hook claude session-open --limit 180s", &payload);
        let mut held = None;
        let is_there = wait_until(SLACK, || {
            let lock = Flock::lock(open(), FlockArg::LockExclusiveNonblock)
                .unwrap_or_else(|_| Flock::lock(open(), FlockArg::LockExclusive).unwrap());
            // Given back at once, as long as the hook has not had its turn.
            held = (!home.record().is_null()).then_some(lock);
            held.is_some()
        });
        if !is_there {
            // The hook met the lock taken each time that it tried.
            session.host.end();
            continue;
        }
        change(&home);
        drop(held);
        session.host.end();
        assert!(wait_until(SLACK, || home.starts("slow") > 0 || home.record()["state"] != "running"));
        if home.starts("slow") == 0 {
            return (home, session);
        }
        home.open_gate("slow");
        home.wait();
    }
    panic!("the worker always comes first");
}

#[test]
fn a_config_that_changes_while_the_worker_starts_is_not_run() {
    let (home, session) = changed_meanwhile(|home| {
        home.config("[[network.check]]\nname = \"slow\"\ncommand = \"GATE(other)\"\n");
    });
    let report = home.wait();
    assert!(report.contains("- slow: skipped: the config was changed since\n"), "{report}");
    assert_eq!((home.starts("slow"), home.starts("other")), (0, 0));
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn a_config_that_is_no_longer_trusted_when_the_worker_starts_is_not_run() {
    let (home, session) = changed_meanwhile(|home| {
        fs::write(home.desk.state_folder().join("dogwatch/trusted"), "").unwrap();
    });
    let report = home.wait();
    assert!(report.contains("- slow: skipped: the config was changed since\n"), "{report}");
    assert_eq!(home.starts("slow"), 0);
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn an_answer_is_asked_for_again_when_it_is_no_longer_fresh() {
    let home = Home::new("");
    let check = |name: &str, more: &str| {
        let file = home.started_file(name);
        format!("[[network.check]]\nname = \"{name}\"\ncommand = \"echo >> {}\"\n{more}", file.display())
    };
    home.config(&(check("often", "min_interval = 60\n") + &check("rarely", "")));
    let mut session = Session::new(&home, "s");
    let mut starts_after = |age_seconds: i64| {
        let mut record = home.record();
        if let Some(rows) = record["checks"].as_array_mut() {
            let at = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(age_seconds);
            for row in rows {
                row["ended_at"] = json!(at.to_string());
            }
            fs::write(home.state().join("network.json"), record.to_string()).unwrap();
        }
        session.open("startup");
        home.wait();
        (home.starts("often"), home.starts("rarely"))
    };
    assert_eq!(starts_after(0), (1, 1));
    assert_eq!(starts_after(30), (1, 1));
    assert_eq!(starts_after(100), (2, 1));
    assert_eq!(starts_after(1000), (3, 2));
    // What is from the future was written by a clock that went wrong.
    assert_eq!(starts_after(-30), (4, 3));
    let record = home.record();
    let states: Vec<_> = record["checks"].as_array().unwrap().iter().map(|row| &row["state"]).collect();
    assert_eq!(states, ["clean", "clean"]);
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn a_worker_whose_record_is_another_s_says_nothing_more() {
    let home = Home::new(RED);
    let mut session = Session::new(&home, "s");
    session.open("startup");
    home.wait_for_start("ci");
    let worker = home.pid_of("worker");
    let mut record = home.record();
    let other = dogwatch_engine::process::Identity::of(std::process::id().cast_signed()).unwrap();
    record["worker"] = serde_json::to_value(other).unwrap();
    fs::write(home.state().join("network.json"), record.to_string()).unwrap();
    home.open_gate("ci");
    assert!(wait_until(SLACK, || !is_alive(worker)));
    home.assert_nothing_runs_but(&[&session]);
    assert_eq!(home.record(), record, "the record is left alone");
    assert_eq!(home.pending(), [""; 0], "and nobody is told");
    assert!(!home.state().join("network.txt").exists());
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn what_no_longer_holds_is_not_told() {
    // A digest that prints neither keeps what waits for the next event.
    let quiet = "[digest]\ndrop = [\"wakes\", \"network\"]\n";
    let home = Home::new(&format!("{quiet}{RED}"));
    let mut session = Session::new(&home, "s");
    for (command, pending) in
        [(RED.to_owned(), vec!["network-ci.json"]), (RED.replace("exit 1", "exit 0"), vec![])]
    {
        home.config(&format!("{quiet}{command}"));
        let before = home.starts("ci");
        session.open("startup");
        assert!(wait_until(SLACK, || home.starts("ci") == before + 1));
        home.open_gate("ci");
        home.wait();
        assert_eq!(home.pending(), pending);
    }
    assert_eq!(session.prompt(), "");
    drop(session);
    home.assert_nothing_runs();
}
