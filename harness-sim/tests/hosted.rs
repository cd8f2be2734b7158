//! Pi and OpenCode: real extension and plugin files in a Node host, events one after the other in one session. Without
//! `node` these say that they did not run.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]
#![allow(clippy::print_stdout, reason = "a test that has run nothing says so")]
#![allow(clippy::disallowed_methods, reason = "what a person asks of the test, not of the program")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use harness_sim::{Harness, Kind, Options, Simulator, Version};
use tempfile::TempDir;

fn has_node() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = std::env::split_paths(&path).any(|folder| folder.join("node").is_file());
    if !has {
        assert!(std::env::var_os("DOGWATCH_TESTS_NEED_NODE").is_none(), "node is not on PATH");
        println!("not run: node is not on PATH");
    }
    has
}

/// A project with that file, and a simulator in it.
fn with(harness: Harness, name: &str, text: &str) -> (TempDir, Simulator) {
    let project = tempfile::tempdir().unwrap();
    put(project.path(), name, text);
    let simulator = Simulator::new(harness, Version::Newest)
        .host_program(env!("CARGO_BIN_EXE_harness-sim"))
        .project(project.path())
        .patience(Duration::from_secs(20));
    (project, simulator)
}

fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const PI: &str = ".pi/extensions/mine.js";
const OPENCODE: &str = ".opencode/plugin/mine.js";

#[test]
fn pi_goes_through_a_session() {
    if !has_node() {
        return;
    }
    let (_project, mut pi) = with(
        Harness::Pi,
        PI,
        r#"export default function (pi) {
             const say = (content) => pi.sendMessage({ customType: "mine", content, display: true });
             pi.on("session_start", (event) => say(`open ${event.reason}`));
             pi.on("before_agent_start", (event) => ({ message: { customType: "mine", content: `asked ${event.prompt}`, display: true } }));
             pi.on("tool_call", (event) => event.toolName === "bash" ? { block: true, reason: "no shell" } : undefined);
             pi.on("session_compact", () => say("compacted"));
           }"#,
    );
    let open = pi.fire("session_start-startup-print").unwrap();
    open.assert_context("open startup").assert_clean();
    assert_eq!(open.commands.len(), 1);
    pi.fire("before_agent_start").unwrap().assert_context("asked hello").assert_clean();
    pi.fire("tool_call").unwrap().assert_denied("no shell").assert_clean();
    pi.fire("session_compact-manual").unwrap().assert_context("compacted").assert_clean();
    pi.fire("session_start-new-rpc").unwrap().assert_context("open new").assert_clean();
    pi.fire("session_shutdown-quit").unwrap().assert_clean();
    // Another process begins.
    pi.fire("session_start-startup-print").unwrap().assert_context("open startup").assert_clean();
}

#[test]
fn a_handler_that_uses_an_old_context_is_found() {
    if !has_node() {
        return;
    }
    let (_project, mut pi) = with(
        Harness::Pi,
        PI,
        r#"let old;
           export default function (pi) {
             pi.on("session_start", (event, context) => { if (old) old.cwd; old = context; });
           }"#,
    );
    pi.fire("session_start-startup-print").unwrap().assert_clean();
    let replaced = pi.fire("session_start-new-rpc").unwrap();
    let why = replaced.of(Kind::Failed).next().unwrap().why.clone().unwrap();
    assert!(why.contains("session_start") && why.contains("stale"), "{why}");
}

#[test]
fn an_extension_that_does_not_load_has_failed() {
    if !has_node() {
        return;
    }
    let (_project, mut pi) = with(Harness::Pi, PI, "export default function (");
    let open = pi.fire("session_start-startup-print").unwrap();
    assert!(open.has(Kind::Failed) && !open.is_clean(), "{open}");
}

#[test]
fn a_handler_that_never_ends_is_found_at_the_bound() {
    if !has_node() {
        return;
    }
    let (_project, pi) = with(
        Harness::Pi,
        PI,
        r#"export default function (pi) {
             pi.on("session_start", () => new Promise(() => setInterval(() => {}, 1000)));
           }"#,
    );
    let options = Options { timeout: Some(Duration::from_secs(3)), ..Options::default() };
    let open = pi.options(options).fire("session_start-startup-print").unwrap();
    assert!(open.commands[0].timed_out && open.has(Kind::Failed), "{open}");
}

#[test]
fn what_an_extension_leaves_behind_is_reported() {
    if !has_node() {
        return;
    }
    let (_project, mut pi) = with(
        Harness::Pi,
        PI,
        r#"import { spawn } from "node:child_process";
           export default function (pi) {
             pi.on("session_start", () => spawn("sleep", ["300"], { detached: true, stdio: "ignore" }).unref());
           }"#,
    );
    let open = pi.fire("session_start-startup-print").unwrap();
    assert_eq!(open.leaks().next().unwrap().command_line, "sleep 300", "{open}");
}

#[test]
fn what_a_child_that_nobody_awaits_says_is_waited_for() {
    if !has_node() {
        return;
    }
    let (_project, mut open_code) = with(
        Harness::OpenCode,
        OPENCODE,
        r#"import { execFile } from "node:child_process";
           export const Mine = async ({ client }) => ({
             event: async ({ event }) => {
               if (event.type !== "session.created") return;
               const path = { id: event.properties.sessionID };
               execFile("sh", ["-c", "sleep 0.3; echo late"], (error, text) =>
                 client.session.promptAsync({ path, body: { parts: [{ type: "text", text }] } }));
             },
             "tool.execute.before": async () => { throw new Error("no tools"); },
             "experimental.chat.system.transform": async (input, output) => { output.system.push("a rule"); },
           });"#,
    );
    let created = open_code.fire("event.session.created-default").unwrap();
    created.assert_context("late").assert_context("a rule").assert_clean();
    open_code.fire("hook.chat.message").unwrap().assert_context("a rule").assert_clean();
    open_code.fire("hook.tool.execute.before").unwrap().assert_denied("no tools");
    open_code.fire("hook.experimental.session.compacting").unwrap().assert_clean();
    open_code.fire("hook.dispose").unwrap().assert_clean();
}

#[test]
fn a_hook_that_looks_for_its_harness_finds_it() {
    if !has_node() {
        return;
    }
    let looks = r#"import { execFileSync } from "node:child_process";
        export default function (pi) {
          pi.on("session_start", () => pi.sendMessage({
            customType: "mine", display: true,
            content: execFileSync("sh", ["-c", "tr '\\0' ' ' < /proc/$PPID/cmdline"], { encoding: "utf8" }) }));
        }"#;
    let (_project, mut pi) = with(Harness::Pi, PI, looks);
    let open = pi.fire("session_start-startup-print").unwrap();
    assert_eq!(open.context().trim_end_matches(char::from(0)).trim(), "pi", "{open}");

    let looks = r#"import { execFileSync } from "node:child_process";
        export const Mine = async () => ({
          "experimental.chat.system.transform": async (input, output) => {
            output.system.push(execFileSync("sh", ["-c", "tr '\\0' ' ' < /proc/$PPID/cmdline"], { encoding: "utf8" }));
          } });"#;
    let (_project, mut open_code) = with(Harness::OpenCode, OPENCODE, looks);
    open_code
        .fire("hook.chat.message")
        .unwrap()
        .assert_context("node_modules/opencode-ai/bin/opencode")
        .assert_clean();
}

#[test]
fn without_node_it_was_not_run_and_is_no_pass() {
    let project = tempfile::tempdir().unwrap();
    put(project.path(), PI, "export default function () {}");
    let empty = tempfile::tempdir().unwrap();
    let run = |path: &Path| {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_harness-sim"));
        command.current_dir(project.path()).env("PATH", path);
        command.args(["fire", "pi", "session_start-startup-print"]).output().unwrap()
    };
    let output = run(empty.path());
    assert_eq!(output.status.code(), Some(4));
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("not run: Pi runs its hooks in its own process")
    );
}

#[test]
fn nothing_to_load_is_no_hook() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_harness-sim"));
    let output =
        command.current_dir(empty.path()).args(["fire", "opencode", "hook.chat.message"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stdout).contains(".opencode/plugin"));
}

#[test]
fn nothing_is_left_when_the_simulator_itself_is_killed() {
    if !has_node() {
        return;
    }
    let (project, _) = with(
        Harness::Pi,
        PI,
        r#"import { writeFileSync } from "node:fs";
           export default function (pi) {
             pi.on("session_start", () => new Promise(() => {
               setInterval(() => {}, 1000);
               writeFileSync("pid", `${process.pid}\n`);
             }));
           }"#,
    );
    let scratch = tempfile::tempdir().unwrap();
    let mut simulator = std::process::Command::new(env!("CARGO_BIN_EXE_harness-sim"))
        .args(["fire", "pi", "session_start-startup-print"])
        .current_dir(project.path())
        .env("TMPDIR", scratch.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = || fs::read_to_string(project.path().join("pid")).unwrap_or_default();
    wait_until(|| pid().ends_with('\n'));
    simulator.kill().unwrap();
    simulator.wait().unwrap();
    wait_until(|| scratch.path().read_dir().unwrap().next().is_none());
    wait_until(|| !Path::new("/proc").join(pid().trim()).exists());
}

fn wait_until(condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < until, "it did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}
