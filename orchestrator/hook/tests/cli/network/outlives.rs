//! Checks go on without the hook that started them, whatever becomes of it.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::json;

use super::{Home, Session, WAKE};
use crate::support::{PROGRAM, SLACK, is_alive, wait_until};

const RED: &str = r#"
[[network.check]]
name = "ci"
command = "GATE(ci); echo CI is red; exit 1"
"#;

#[test]
fn the_hook_ends_and_its_output_is_at_its_end_while_a_check_still_runs() {
    let home = Home::new(RED);
    let mut command = Command::new("/bin/sh");
    let script = "\"$0\" hook claude session-open --limit 180s; exit $?";
    home.desk.prepare(command.arg0("claude").args(["-c", script, PROGRAM]));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let payload =
        json!({ "session_id": "s", "hook_event_name": "SessionStart", "source": "startup" }).to_string();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        sender.send(text).unwrap();
    });
    // Its end, not only its text: nobody who outlives it holds the pipe.
    let text = receiver.recv_timeout(SLACK).expect("the pipe is at its end");
    assert!(text.contains("in progress, not yet confirmed: ci"), "{text}");
    assert!(child.wait().unwrap().success());
    home.wait_for_start("ci");
    assert_eq!(home.record()["state"], "running");
    home.open_gate("ci");
    let report = home.wait();
    assert!(report.starts_with("network: done (generation 1, "), "{report}");
    assert!(report.contains("- ci: asks for action") && report.contains("  | CI is red\n"), "{report}");
    assert_eq!(home.pending(), ["network-ci.json"]);
    home.assert_nothing_runs();
}

#[test]
fn a_check_finishes_although_the_group_of_the_hook_is_killed_in_the_middle_of_its_digest() {
    a_killed_hook(|hook, _| killpg(Pid::from_raw(hook), Signal::SIGKILL).unwrap());
}

#[test]
fn a_check_finishes_although_the_tree_of_the_hook_is_killed_in_the_middle_of_its_digest() {
    a_killed_hook(|hook, host| {
        // As Claude Code does: everything below it, by the parents.
        let tree = below(hook);
        assert!(!tree.is_empty(), "it has a supervisor");
        assert!(!below(host).is_empty());
        for pid in tree.into_iter().chain([hook]) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    });
}

/// A hook that is killed while its digest waits; the check that it has started goes on, and its result arrives.
fn a_killed_hook(end: impl Fn(i32, i32)) {
    let stage = "[[digest.stage]]\nname = \"slow\"\ncommand = \"GATE(stage)\"\ndeadline = 60\n";
    let home = Home::new(&format!("{RED}{stage}"));
    let mut session = Session::new(&home, "s");
    let payload = session.payload("SessionStart", &json!({ "source": "startup" }));
    // Its own group, as harnesses start a hook.
    session.host.begin("setsid", "hook claude session-open --limit 180s", &payload);
    home.wait_for_start("stage");
    home.wait_for_start("ci");
    let host = session.host.pid();
    let hook = below(host).into_iter().find(|pid| command_line(*pid).contains("session-open")).unwrap();
    let worker = home.pid_of("worker");
    assert!(!below(host).contains(&worker), "the check is not below the harness");
    end(hook, host);
    let fired = session.host.end();
    assert_ne!(fired.code, 0);
    assert!(is_alive(worker), "{}", home.report());
    home.open_gate("ci");
    let report = home.wait();
    assert!(report.contains("- ci: asks for action"), "{report}");
    // What was never said is still owed.
    let told = session.prompt();
    assert!(told.starts_with(WAKE) && told.contains("CI is red"), "{told}");
    assert_eq!(session.prompt(), "");
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn a_check_that_ignores_term_and_forks_into_its_own_session_is_gone_at_its_deadline() {
    let home = Home::new(
        r#"
[network]
deadline = 3
[[network.check]]
name = "stubborn"
command = "trap '' TERM; setsid sh -c 'trap \"\" TERM; GATE(inner)' & GATE(outer)"
[[network.check]]
name = "quick"
command = "true"
"#,
    );
    let mut session = Session::new(&home, "s");
    assert!(session.open("startup").contains("not yet confirmed"));
    home.wait_for_start("outer");
    home.wait_for_start("inner");
    let report = home.wait();
    assert!(report.starts_with("network: timeout ("), "{report}");
    let line = "- stubborn: timeout (";
    assert!(report.contains(line), "{report}");
    assert!(
        report.contains("not at its end by the deadline of 3 s, and ended\n  to run it again by hand: trap"),
        "{report}"
    );
    assert!(report.contains("- quick: nothing to do"), "{report}");
    assert_eq!(home.pending(), [""; 0], "what has no answer wakes nobody");
    for name in ["outer", "inner"] {
        let text = fs::read_to_string(home.started_file(name)).unwrap();
        let pid: i32 = text.lines().next().unwrap().parse().unwrap();
        assert!(wait_until(SLACK, || !is_alive(pid)), "{name}");
    }
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn a_worker_whose_home_is_deleted_or_replaced_ends_by_itself() {
    for replaced in [false, true] {
        let home =
            Home::new("[network]\ndeadline = 3\n[[network.check]]\nname = \"ci\"\ncommand = \"GATE(ci)\"\n");
        let mut session = Session::new(&home, "s");
        session.open("startup");
        home.wait_for_start("ci");
        let (worker, supervisor) = (home.pid_of("worker"), home.pid_of("supervisor"));
        let folder = home.desk.project.join(".dogwatch");
        fs::rename(&folder, home.desk.scratch.path().join("away")).unwrap();
        fs::remove_dir_all(home.desk.scratch.path().join("away")).unwrap();
        if replaced {
            assert!(home.desk.dogwatch(&["init"]).status.success());
        }
        // By its deadline, without anybody who looks; and it waits, it does not spin.
        let mut spent = 0;
        assert!(
            wait_until(SLACK * 2, || {
                spent = spent.max(ticks(worker));
                !is_alive(worker) && !is_alive(supervisor)
            }),
            "replaced: {replaced}"
        );
        assert!(spent < 100, "{spent} ticks of the processor");
        if replaced {
            assert!(!home.state().join("network.json").exists(), "nothing is written into another's home");
        }
        drop(session);
        home.assert_nothing_runs();
    }
}

pub(super) fn command_line(pid: i32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).into_owned()
}

/// The processor time of a process, in clock ticks.
pub(super) fn ticks(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields.iter().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Everything below a process, by the parents.
pub(super) fn below(root: i32) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent =
            stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<i32>().ok());
        children.entry(parent.unwrap_or(0)).or_default().push(pid);
    }
    let (mut found, mut parents) = (Vec::new(), vec![root]);
    while let Some(parent) = parents.pop() {
        for pid in children.remove(&parent).unwrap_or_default() {
            found.push(pid);
            parents.push(pid);
        }
    }
    found
}
