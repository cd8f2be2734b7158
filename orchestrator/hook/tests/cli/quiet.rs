//! What a hook that has nothing to say costs: no process besides its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Desk, Fired, Host};

#[test]
fn quiet_paths_start_no_process() {
    let desk = Desk::new();
    desk.git();
    assert!(desk.dogwatch(&["init"]).status.success());
    let bare = Desk::new();
    let mut host = Host::new(&desk, "claude");
    let proof = Proof::find(&desk);
    // Which proof it was is a part of the result.
    println!("{proof:?}");
    proof.assert_that_it_would_show(&desk, &mut host);

    for variable in ["DOGWATCH_GATE=1", "NO_MISTAKES_GATE="] {
        let fired = proof.fire(&desk, &mut host, variable, &payload(&desk, variable, "startup"));
        assert_eq!(fired.stdout, "", "a gate variable");
    }
    let fired = proof.fire(&desk, &mut host, "", &payload(&bare, "bare", "startup"));
    assert_eq!(fired.stdout, "", "no home");
    let foreign =
        json!({ "session_id": "f", "hook_event_name": "sessionStart", "cursor_version": "3.20.17" });
    assert_eq!(proof.fire(&desk, &mut host, "", &foreign).stdout, "{}", "another harness's payload");
    let fired = proof.fire(&desk, &mut host, "", &payload(&desk, "before", "resume"));
    assert!(fired.stdout.contains("DOGWATCH_OP: v1 session-start"), "{fired:?}");
    assert_eq!(last_decision(&desk), "nudge");

    host.fire("hook claude session-open", payload(&desk, "start", "startup").to_string().as_bytes());
    assert_eq!(last_decision(&desk), "full");
    let fired = proof.fire(&desk, &mut host, "", &payload(&desk, "start", "resume"));
    assert_eq!((fired.stdout.as_str(), last_decision(&desk).as_str()), ("", "held"));
    // The same event once more.
    let fired = proof.fire(&desk, &mut host, "", &payload(&desk, "start", "resume"));
    assert_eq!((fired.stdout.as_str(), last_decision(&desk).as_str()), ("", "second"));
}

/// How it is shown that a program starts no process.
#[derive(Debug)]
enum Proof {
    /// strace(1) writes down every system call that makes a process or becomes another program.
    Strace(PathBuf),
    /// Where the user may have no further process, fork(2) fails, and an answer that needed one is another.
    NoProcesses,
    /// Root has no such bound.
    None,
}

impl Proof {
    fn find(desk: &Desk) -> Proof {
        let log = desk.project.parent().unwrap().join("strace.log");
        // It may be there and not be allowed to trace.
        let mut strace = Command::new("strace");
        let traced = desk.prepare(strace.args(["-f", "-o"]).arg(&log).arg("true")).output();
        if traced.is_ok_and(|output| output.status.success()) {
            return Proof::Strace(log);
        }
        let mut limited = Command::new("prlimit");
        let script = "true | true && echo started";
        let limited = desk.prepare(limited.args(["--nproc=0:0", "sh", "-c", script])).output();
        let is_bound = limited.is_ok_and(|output| !output.stdout.starts_with(b"started"));
        if is_bound { Proof::NoProcesses } else { Proof::None }
    }

    fn fire(&self, desk: &Desk, host: &mut Host, variable: &str, payload: &Value) -> Fired {
        let (fired, calls) = self.watched(host, variable, payload);
        assert_eq!((fired.stderr.as_str(), fired.code), ("", 0), "{payload}: {fired:?}");
        if let Proof::Strace(_) = self {
            let calls: Vec<&String> = calls.iter().filter(|call| starts(call)).collect();
            assert_eq!(calls.len(), 1, "{payload}: {calls:?}");
            assert!(calls[0].contains("execve("), "{payload}: {calls:?}");
        }
        assert!(desk.left().is_empty());
        fired
    }

    /// The calls are those about processes, as strace writes them.
    fn watched(&self, host: &mut Host, variable: &str, payload: &Value) -> (Fired, Vec<String>) {
        let watcher = match self {
            Proof::Strace(log) => format!("strace -f -e trace=process -o {}", log.display()),
            Proof::NoProcesses => "prlimit --nproc=0:0".to_owned(),
            Proof::None => String::new(),
        };
        host.begin(
            &format!("{variable} {watcher}"),
            "hook claude session-open",
            payload.to_string().as_bytes(),
        );
        let fired = host.end();
        let calls = match self {
            Proof::Strace(log) => fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect(),
            Proof::NoProcesses | Proof::None => Vec::new(),
        };
        (fired, calls)
    }

    /// A full digest asks git, and the proof shows it.
    fn assert_that_it_would_show(&self, desk: &Desk, host: &mut Host) {
        let home = Desk::new();
        home.git();
        assert!(home.dogwatch(&["init"]).status.success());
        let (fired, calls) = self.watched(host, "", &payload(&home, "control", "startup"));
        assert!(desk.left().is_empty());
        match self {
            Proof::Strace(_) => {
                let started = calls.iter().filter(|call| starts(call)).count();
                assert!(started >= 3, "a process and its program, and ours: {calls:?}");
            }
            Proof::NoProcesses => {
                assert!(fired.stdout.contains("cannot run git: out of processes"), "{fired:?}");
            }
            Proof::None => {}
        }
    }
}

/// Whether a line of strace tells of a process or a thread that is made, or of a program that is started.
fn starts(call: &str) -> bool {
    ["execve(", "execveat(", "clone(", "clone3(", "fork(", "vfork("].iter().any(|name| call.contains(name))
}

fn payload(desk: &Desk, session: &str, source: &str) -> Value {
    json!({ "session_id": session, "cwd": desk.marker(), "hook_event_name": "SessionStart", "source": source })
}

fn last_decision(desk: &Desk) -> String {
    let trace = fs::read_to_string(desk.project.join(".dogwatch/state/trace.jsonl")).unwrap();
    let line: Value = serde_json::from_str(trace.lines().last().unwrap()).unwrap();
    line["decision"].as_str().unwrap().to_owned()
}
