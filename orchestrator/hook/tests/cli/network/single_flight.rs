//! One run at a time, for the session in charge; sweeps only under its helm.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Home, Session};
use crate::support::{SLACK, stderr, stdout, wait_until};

const SLOW: &str = "[[network.check]]\nname = \"slow\"\ncommand = \"GATE(slow)\"\n";
const SWEEP: &str = "[[network.check]]\nname = \"fetch\"\ncommand = \"GATE(fetch)\"\nsweep = true\n";

#[test]
fn of_many_starts_at_once_one_runs() {
    let home = Home::new(SLOW);
    let mut session = Session::new(&home, "s");
    let payload = session.payload("SessionStart", &json!({ "source": "startup" }));
    let file = home.desk.scratch.path().join("payload");
    std::fs::write(&file, payload).unwrap();
    let is_over = AtomicBool::new(false);
    let workers = std::thread::scope(|scope| {
        // A worker that is replaced at once may not come as far as its check, and is seen in the record alone.
        let watch = scope.spawn(|| {
            let mut workers = BTreeSet::new();
            while !is_over.load(Ordering::Relaxed) {
                workers.extend(home.record()["worker"]["pid"].as_i64());
                std::thread::sleep(Duration::from_millis(1));
            }
            workers
        });
        // None at all, then one that works.
        for from in [1, 41] {
            // Of one session: each is in charge. The number makes each an event of its own.
            let script = format!(
                "i={from}; while [ $i -lt {to} ]; do sed \"s/\\\"count\\\":1/\\\"count\\\":$i/\" {file} | {program} hook claude \
                 session-open --limit 180s > {file}.$i & i=$((i+1)); done; wait",
                to = from + 40,
                file = file.display(),
                program = crate::support::PROGRAM
            );
            assert_eq!(session.host.order(&script), 0);
            home.wait_for_start("slow");
        }
        is_over.store(true, Ordering::Relaxed);
        watch.join().unwrap()
    });
    assert_eq!(workers.len(), 1, "{workers:?}");
    for number in 1..81 {
        let answer = std::fs::read_to_string(format!("{}.{number}", file.display())).unwrap();
        assert!(answer.contains("additionalContext"), "each of them opens: {number}: {answer:?}");
    }
    home.open_gate("slow");
    home.wait();
    assert_eq!(home.starts("slow"), 1);
    assert_eq!(home.record()["generation"], 1);
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn a_run_that_works_serves_the_same_session_again() {
    let home = Home::new(SLOW);
    let mut session = Session::new(&home, "s");
    session.open("startup");
    home.wait_for_start("slow");
    let worker = home.record()["worker"].clone();
    assert!(session.open("startup").contains("not yet confirmed: slow"));
    assert_eq!((home.starts("slow"), &home.record()["worker"]), (1, &worker));
    home.open_gate("slow");
    home.wait();
    // What was clean a moment ago is not asked again, and says nothing.
    assert!(!session.open("startup").contains("## network"));
    assert_eq!(home.starts("slow"), 1);
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn a_run_without_sweeps_does_not_serve_a_start_that_needs_them() {
    let home = Home::new(&format!("{SLOW}{SWEEP}"));
    let mut session = Session::new(&home, "s");
    session.open("startup");
    for gate in ["slow", "fetch"] {
        home.wait_for_start(gate);
        home.open_gate(gate);
    }
    home.wait();
    assert_eq!(home.record()["sweeps"], true);
    // Another command is another check, so that both are due again.
    home.config(
        &format!("{SLOW}{SWEEP}")
            .replace("GATE(slow)", "GATE(slow); :")
            .replace("GATE(fetch)", "GATE(fetch); :"),
    );
    // A session that lost only its context changes nothing: its run has no sweep.
    assert!(session.open("clear").contains("not yet confirmed: slow"));
    assert!(wait_until(SLACK, || home.starts("slow") == 2));
    let record = home.record();
    assert_eq!((&record["sweeps"], record["checks"].as_array().unwrap().len()), (&json!(false), 1));
    assert_eq!(home.starts("fetch"), 1);
    // A start needs it: the run that works gives way to one that does all.
    session.open("startup");
    assert!(wait_until(SLACK, || home.starts("slow") == 3));
    assert_eq!(home.record()["sweeps"], true);
    assert_eq!(home.record()["generation"], 1, "it is the same session's");
    home.open_gate("slow");
    assert!(wait_until(SLACK, || home.starts("fetch") == 2));
    home.open_gate("fetch");
    assert!(home.wait().starts_with("network: done (generation 1, "));
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn a_run_without_sweeps_keeps_what_a_sweep_has_answered() {
    let home = Home::new(&format!(
        "[[network.check]]\nname = \"red\"\ncommand = \"exit 1\"\n{}",
        SWEEP.replace("GATE(fetch)", "GATE(fetch); exit 0")
    ));
    let mut session = Session::new(&home, "s");
    session.open("startup");
    home.wait_for_start("fetch");
    home.open_gate("fetch");
    home.wait();
    // What asks for action is asked again, the sweep left out; the next start finds its answer still fresh.
    for source in ["clear", "startup"] {
        session.open(source);
        let report = home.wait();
        assert!(report.contains("- fetch (sweep): nothing to do ("), "{source}: {report}");
        assert_eq!(report.contains(", with sweeps"), source == "startup", "{source}: {report}");
        assert_eq!(home.starts("fetch"), 1, "{source}");
    }
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn another_session_gets_a_run_and_a_generation_of_its_own() {
    let home = Home::new(SLOW);
    let mut first = Session::new(&home, "first");
    first.open("startup");
    home.wait_for_start("slow");
    drop(first);
    let mut second = Session::new(&home, "second");
    let text = second.open("startup");
    assert!(!text.contains("READ-ONLY") && text.contains("not yet confirmed: slow"), "{text}");
    assert!(wait_until(SLACK, || home.starts("slow") == 2), "the run of the session before is ended");
    assert_eq!(home.record()["generation"], 2);
    home.open_gate("slow");
    assert!(home.wait().starts_with("network: done (generation 2, "));
    drop(second);
    home.assert_nothing_runs();
}

#[test]
fn a_takeover_during_a_sweep_reads_only_and_at_once() {
    let home = Home::new(SWEEP);
    let mut first = Session::new(&home, "first");
    first.open("startup");
    home.wait_for_start("fetch");
    drop(first);
    let begun = Instant::now();
    let mut second = Session::new(&home, "second");
    let text = second.open("startup");
    assert!(
        text.starts_with("=== READ-ONLY: a sweep that was started for the session before is still at work"),
        "{text}"
    );
    assert!(begun.elapsed() < SLACK);
    assert_eq!(home.starts("fetch"), 1, "nothing is started by who only reads");
    let worker = home.record()["worker"].clone();
    home.open_gate("fetch");
    home.wait();
    assert_eq!(home.record()["worker"], worker);
    let text = second.open("startup");
    assert!(!text.contains("READ-ONLY"), "{text}");
    drop(second);
    home.assert_nothing_runs();
}

#[test]
fn a_sweep_whose_helm_has_gone_is_left_out() {
    // The plain check comes first; while it runs, another session takes over, which the record of the first knows not.
    let home = Home::new(&format!("{SLOW}{SWEEP}"));
    let mut first = Session::new(&home, "first");
    first.open("startup");
    home.wait_for_start("slow");
    std::fs::remove_file(home.state().join("helm.json")).unwrap();
    home.open_gate("slow");
    let report = home.wait();
    assert!(report.contains("- fetch (sweep): skipped: the helm has gone to another session"), "{report}");
    assert_eq!(home.starts("fetch"), 0);
    drop(first);
    home.assert_nothing_runs();
}

#[test]
fn a_session_that_only_reads_starts_nothing_and_is_told_nothing() {
    let home = Home::new("[[network.check]]\nname = \"ci\"\ncommand = \"GATE(ci); echo red; exit 1\"\n");
    let mut first = Session::new(&home, "first");
    first.open("startup");
    home.wait_for_start("ci");
    let mut second = Session::new(&home, "second");
    let text = second.open("startup");
    assert!(text.starts_with("=== READ-ONLY: claude"), "{text}");
    assert!(text.contains("not yet confirmed: ci (the session in charge is told"), "{text}");
    home.open_gate("ci");
    home.wait();
    assert_eq!(home.starts("ci"), 1);
    for told in [second.open("startup"), second.prompt(), second.after_tool(&json!({}))] {
        assert!(!told.contains("red"), "{told}");
    }
    assert_eq!(home.pending(), ["network-ci.json"]);
    // A sub-agent of the one in charge is not the session.
    assert_eq!(first.after_tool(&json!({ "agent_id": "a1" })), "");
    assert!(first.after_tool(&json!({})).contains("red"));
    drop((first, second));
    home.assert_nothing_runs();
}

#[test]
fn an_untrusted_config_starts_nothing() {
    let home = Home::new(SLOW);
    std::fs::write(home.desk.state_folder().join("dogwatch/trusted"), "").unwrap();
    let mut session = Session::new(&home, "s");
    assert!(!session.open("startup").contains("## network"));
    assert!(!home.state().join("network.json").exists());
    let output = home.desk.dogwatch(&["network", "report"]);
    assert!(stdout(&output).starts_with("network: no check has run yet; "), "{}", stderr(&output));
    let mut command = std::process::Command::new(crate::support::PROGRAM);
    let worker = home.desk.prepare(command.args(["network", "worker", "--root"]).arg(&home.desk.project));
    assert!(worker.stdout(Stdio::null()).status().unwrap().success(), "a worker without a record ends");
    assert_eq!(home.starts("slow"), 0);
    drop(session);
    home.assert_nothing_runs();
}
