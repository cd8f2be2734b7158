//! Scenarios of Pi and OpenCode: files that they load into their own process. Without `node` these say that they did not
//! run.

#![allow(clippy::print_stdout, reason = "a test that has run nothing says so")]
#![allow(clippy::disallowed_methods, reason = "what a person asks of the test, not of the program")]

use crate::{play, program};

fn has_node() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = std::env::split_paths(&path).any(|folder| folder.join("node").is_file());
    if !has {
        assert!(std::env::var_os("DOGWATCH_TESTS_NEED_NODE").is_none(), "node is not on PATH");
        println!("not run: node is not on PATH");
    }
    has
}

const PI: &str = r#"
harness = "pi"
[project.files]
".pi/extensions/mine.js" = '''
let times = 0;
export default function (pi) {
  const say = (content) => ({ customType: "mine", content, display: true });
  pi.on("session_start", (event) => pi.sendMessage(say(`open ${event.reason}`)));
  pi.on("before_agent_start", (event) => ({ message: say(`${++times}: ${event.prompt} in {project}`) }));
  pi.on("tool_call", (event) => event.toolName === "bash" ? { block: true, reason: "no shell" } : undefined);
}
'''
"#;

#[test]
fn the_steps_of_pi_go_through_one_process_until_it_quits() {
    if !has_node() {
        return;
    }
    let report = play(&format!(
        r#"{PI}
[[steps]]
event = "session_start-startup-print"
expect = {{ context = "open startup", commands = 1, only = true }}
[[steps]]
event = "before_agent_start"
set = {{ event = {{ prompt = "something of its own" }} }}
expect = {{ context = "1: something of its own in {{project}}" }}
[[steps]]
event = "tool_call"
expect = {{ denied = "no shell", ran = false }}
[[steps]]
event = "before_agent_start"
expect = {{ context = "2: hello" }}
[[steps]]
quit = true
[[steps]]
event = "before_agent_start"
expect = {{ context = "1: hello" }}
"#
    ));
    report.assert_passed();
    assert_eq!(report.steps.len(), 5);
}

#[test]
fn what_is_expected_of_an_extension_and_is_not_so_is_found() {
    if !has_node() {
        return;
    }
    let report = play(&format!(
        "{PI}\n[[steps]]\nevent = \"session_start-startup-print\"\nexpect = {{ context = \"open resume\" }}\n"
    ));
    assert!(!report.passed() && report.not_run.is_none());
    let unmet: Vec<_> = report.unmet().collect();
    assert!(unmet.len() == 1 && unmet[0].found.contains("open startup"), "{report}");
}

#[test]
fn sessions_of_opencode_share_a_process_and_each_is_created_in_it() {
    if !has_node() {
        return;
    }
    let report = play(
        r#"
harness = "opencode"
shared_process = true
[project.files]
".opencode/plugin/mine.js" = '''
const seen = [];
export const Mine = async () => ({
  event: async ({ event }) => { if (event.type === "session.created") seen.push(event.properties.sessionID); },
  "experimental.chat.system.transform": async (input, output) => { output.system.push(`${seen.length} so far`); },
});
'''
[[steps]]
event = "hook.chat.message"
expect = { context = "1 so far" }
[[steps]]
event = "hook.chat.message"
session = "second"
expect = { context = "2 so far" }
[[steps]]
event = "hook.chat.message"
expect = { context = "2 so far" }
"#,
    );
    report.assert_passed();
}

#[test]
fn without_node_a_scenario_was_not_run_and_is_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let scenario = format!("{PI}\n[[steps]]\nevent = \"session_start-startup-print\"\n");
    std::fs::write(folder.path().join("pi.toml"), scenario).unwrap();
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_harness-sim"));
    command.current_dir(folder.path()).env("PATH", empty.path());
    let output = command.args(["run", "pi.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("node is not on PATH") && said.contains("0 passed, 1 not run"), "{said}");
}

#[test]
fn nothing_can_be_fed_or_read_where_no_command_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = format!(
        "{PI}\n[[steps]]\nevent = \"tool_call\"\noptions = {{ stdin = \"x\", feed = \"no end\", reader = \"slow\" }}\n"
    );
    std::fs::write(folder.path().join("pi.toml"), scenario).unwrap();
    let output = program(folder.path(), &["run", "pi.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    for option in ["stdin", "feed", "reader"] {
        assert!(said.contains(&format!("{option}: Pi starts no commands")), "{said}");
    }
}
