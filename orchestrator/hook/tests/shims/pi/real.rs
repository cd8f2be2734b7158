//! The extension with the real program.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{PROVENANCE, Pi};
use crate::support::{Desk, PROGRAM, is_alive, wait_until};

fn pi(desk: &Desk) -> Option<Pi> {
    Pi::as_installed(desk, Path::new(PROGRAM))
}

#[test]
fn a_session_in_a_home_opens_with_its_digest_and_has_the_helm() {
    let desk = Desk::new();
    desk.init();
    let Some(mut pi) = pi(&desk) else { return };
    pi.starts_with(&json!({"id": "first"}));
    let seen = pi.is_asked("hello");
    let digest = seen.request()[1].to_owned();
    assert!(digest.starts_with(&format!("{PROVENANCE}# dogwatch session digest: project (")), "{digest}");
    let helm = fs::read(desk.project.join(".dogwatch/state/helm.json")).unwrap();
    let helm: Value = serde_json::from_slice(&helm).unwrap();
    // It has found the fake Pi, which is a Pi to it.
    assert_eq!((&helm["process"]["pid"], &helm["harness"]), (&json!(pi.host.pid()), &json!("pi")));
    // The context is lost, the process goes on.
    let told = pi.compacts("idle");
    assert!(told.messages()[0].contains(", again after a compaction)"), "{told:?}");
    pi.is_replaced("new");
    let told = pi.is_asked("hello");
    assert!(told.messages()[0].contains(", again after a clear)"), "{told:?}");
    // The context came back, and with it what this session was told.
    pi.does(&json!({"do": "replace", "reason": "resume", "session": {"id": "first"}}));
    assert_eq!(pi.is_asked("hello").messages(), [] as [&str; 0]);
    pi.quits();
    let row = fs::read_to_string(desk.project.join(".dogwatch/state/sessions/pi-first.json")).unwrap();
    assert!(row.contains("\"ended\""), "{row}");
}

#[test]
fn a_session_that_comes_back_in_a_new_process_is_asked_to_run_the_digest() {
    let desk = Desk::new();
    desk.init();
    let extension = super::Extension::calling(PROGRAM).write(&desk, "dogwatch.js");
    let Some(mut pi) = Pi::with(&desk, "1.6.0", &["-c"], vec![extension]) else { return };
    pi.starts_with(&json!({"created": super::LONG_AGO}));
    assert_eq!(pi.is_asked("hello").messages(), [super::instruction(PROGRAM)]);
}

#[test]
fn without_a_home_nothing_is_said() {
    let desk = Desk::new();
    let Some(mut pi) = pi(&desk) else { return };
    pi.starts();
    assert_eq!(pi.is_asked("hello").request(), ["hello"]);
    pi.does(&json!({"do": "tool", "name": "bash", "input": {"command": "ls"}}));
    assert_eq!(pi.compacts("idle").messages(), [] as [&str; 0]);
    pi.quits();
}

#[test]
fn a_quit_in_the_middle_of_a_digest_leaves_nothing() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    // Away into a session of its own, deaf to TERM, and with its pipe open.
    let grandchild = desk.script(
        "grandchild",
        "trap '' TERM HUP; echo $$ > \"$desk/grandchild-pid\"; read _ < \"$desk/gate\"",
    );
    desk.trusted_config(&format!(
        "[digest]\ndeadline = 60\n[[digest.stage]]\nname = \"forks\"\ncommand = \"setsid {} & read _ < {}\"\ndeadline = 60\n",
        grandchild.display(),
        desk.path("gate").display()
    ));
    let Some(mut pi) = pi(&desk) else { return };
    pi.starts();
    let pid = || fs::read_to_string(desk.path("grandchild-pid")).ok()?.trim().parse::<i32>().ok();
    assert!(wait_until(|| pid().is_some()));
    assert!(is_alive(pid().unwrap()));
    let milliseconds = pi.quits();
    assert!(milliseconds < 8_000, "{milliseconds} ms");
    desk.assert_nothing_left();
    assert!(!is_alive(pid().unwrap()));
}
