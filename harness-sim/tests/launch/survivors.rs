//! What a hook leaves behind.

use std::time::{Duration, Instant};

use harness_sim::Harness;

use crate::{CLAUDE_OPEN, runs, simulator};

#[test]
fn a_child_in_a_session_of_its_own_is_reported_and_ended_with_the_session() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path()).command(
        "setsid sleep 60 </dev/null >/dev/null 2>&1 &
         until [ \"$(cat /proc/$!/comm)\" = sleep ]; do :; done; echo $!",
    );
    let firing = claude.fire(CLAUDE_OPEN).unwrap();
    assert_eq!(firing.survivors.len(), 1, "{firing}");
    let survivor = &firing.survivors[0];
    assert_eq!((survivor.pid.to_string(), survivor.name.as_str()), (firing.context(), "sleep"));
    assert_eq!(survivor.command_line, "sleep 60");
    assert!(!survivor.declared && !survivor.holds_stdout && !firing.is_clean());
    assert!(runs(survivor.pid));
    drop(claude);
    assert!(!runs(survivor.pid));
}

#[test]
fn a_daemon_that_forked_twice_is_found_too() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path())
        .command("(setsid sh -c '(sleep 60 & echo $! > pid) >/dev/null 2>&1 </dev/null')");
    let firing = claude.fire(CLAUDE_OPEN).unwrap();
    let pid: i32 = std::fs::read_to_string(project.path().join("pid")).unwrap().trim().parse().unwrap();
    assert_eq!(firing.survivors.iter().map(|one| one.pid).collect::<Vec<_>>(), [pid], "{firing}");
}

#[test]
fn a_survivor_is_reported_once() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path())
        .command("test -e once || { : > once; setsid sleep 60 </dev/null >/dev/null 2>&1 & }");
    assert_eq!(claude.fire(CLAUDE_OPEN).unwrap().survivors.len(), 1);
    assert_eq!(claude.fire("UserPromptSubmit-headless").unwrap().survivors.len(), 0);
}

/// Starts a process in a session of its own and writes its identity down.
fn declares(into: &str, seconds: f32) -> String {
    format!(
        r#"setsid sleep {seconds} </dev/null >/dev/null 2>&1 & pid=$!
           read -r stat < /proc/$pid/stat; set -- ${{stat##*) }}; shift 19
           printf '{{"leader":{{"pid":%d,"start_time":%s,"boot_id":"%s"}}}}' $pid $1 "$(cat /proc/sys/kernel/random/boot_id)" > {into}"#
    )
}

#[test]
fn a_declared_survivor_is_no_leak_and_is_waited_for() {
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(project.path().join("state/deferred")).unwrap();
    for (into, pattern) in
        [("\"$HARNESS_SIM_SURVIVORS/worker\"", None), ("state/deferred/a.json", Some("state/*/*.json"))]
    {
        let mut claude = simulator(Harness::Claude, project.path()).command(declares(into, 0.7));
        if let Some(pattern) = pattern {
            claude = claude.survivors(pattern);
        }
        let started = Instant::now();
        let firing = claude.fire(CLAUDE_OPEN).unwrap();
        assert!(firing.survivors.len() == 1 && firing.survivors[0].declared && firing.is_clean(), "{firing}");
        let pid = firing.survivors[0].pid;
        drop(claude);
        assert!(!runs(pid) && started.elapsed() >= Duration::from_millis(600), "it was not waited for");
    }
}

#[test]
fn a_declared_survivor_is_not_waited_for_for_ever() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path())
        .patience(Duration::from_millis(100))
        .command(declares("\"$HARNESS_SIM_SURVIVORS/worker\"", 60.0));
    let pid = claude.fire(CLAUDE_OPEN).unwrap().survivors[0].pid;
    drop(claude);
    assert!(!runs(pid));
}

#[test]
fn a_process_that_only_ends_a_little_later_is_no_survivor() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path())
        .command("setsid sleep 0.02 </dev/null >/dev/null 2>&1 & :");
    assert!(claude.fire(CLAUDE_OPEN).unwrap().survivors.is_empty());
}

#[test]
fn nothing_is_left_when_the_simulator_itself_is_killed() {
    let project = tempfile::tempdir().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let mut simulator = std::process::Command::new(env!("CARGO_BIN_EXE_harness-sim"))
        .args([
            "fire",
            "claude",
            CLAUDE_OPEN,
            "--",
            "setsid sleep 60 & echo $! > pid.tmp; mv pid.tmp pid; sleep 60",
        ])
        .current_dir(project.path())
        .env("TMPDIR", scratch.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let file = project.path().join("pid");
    wait_until(|| file.exists());
    let pid: i32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
    simulator.kill().unwrap();
    simulator.wait().unwrap();
    wait_until(|| !runs(pid));
    wait_until(|| scratch.path().read_dir().unwrap().next().is_none());
}

fn wait_until(condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < until, "it did not come to that");
        std::thread::sleep(Duration::from_millis(5));
    }
}
