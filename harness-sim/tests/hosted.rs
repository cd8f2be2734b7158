//! Pi and OpenCode: real extension and plugin files in a Node host, events one after the other in one session. Without
//! `node` these say that they did not run.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]
#![allow(clippy::print_stdout, reason = "a test that has run nothing says so")]
#![allow(clippy::disallowed_methods, reason = "what a person asks of the test, not of the program")]

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use harness_sim::{Harness, Kind, Options, Simulator, Version};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
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

/// Whom a signal is sent to.
#[derive(Debug, Clone, Copy)]
enum To {
    Simulator,
    /// As a terminal does it, to everybody in front.
    Group,
}

/// An extension that will not end by itself or by a signal that it may ignore, with a child in a session of its own.
const STUBBORN: &str = r#"
import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
export default function (pi) {
  pi.on("session_start", () => new Promise(() => {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => {});
    setInterval(() => {}, 1000);
    const child = spawn("sh", ["-c", "trap '' INT TERM HUP; while :; do sleep 1; done"], { detached: true, stdio: "ignore" });
    writeFileSync("pids.new", `${process.pid} ${child.pid}`);
    renameSync("pids.new", "pids");
  }));
}"#;

/// Sends the signal while a handler is under way, and waits until neither Node nor its child nor a file is there.
fn leaves_nothing(arguments: &[&str], signal: Signal, to: To) {
    let (project, _) = with(Harness::Pi, PI, STUBBORN);
    let scratch = tempfile::tempdir().unwrap();
    let mut simulator = std::process::Command::new(env!("CARGO_BIN_EXE_harness-sim"))
        .args(arguments)
        .current_dir(project.path())
        .env("TMPDIR", scratch.path())
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until(|| project.path().join("pids").exists());
    let pids = fs::read_to_string(project.path().join("pids")).unwrap();
    let id = Pid::from_raw(simulator.id().try_into().unwrap());
    match to {
        To::Simulator => kill(id, signal).unwrap(),
        To::Group => killpg(id, signal).unwrap(),
    }
    let status = simulator.wait().unwrap();
    assert_eq!(status.signal(), Some(signal as i32), "{signal} to {to:?}: {status}");
    wait_until(|| scratch.path().read_dir().unwrap().next().is_none());
    wait_until(|| pids.split(' ').all(|pid| !Path::new("/proc").join(pid).exists()));
}

#[test]
fn nothing_is_left_when_a_signal_ends_the_simulator() {
    if !has_node() {
        return;
    }
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL] {
        for to in [To::Simulator, To::Group] {
            leaves_nothing(&["fire", "pi", "session_start-startup-print"], signal, to);
        }
    }
}

#[test]
fn nothing_is_left_of_a_scenario_that_a_signal_ends() {
    if !has_node() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("held.toml");
    let text = "harness = \"pi\"\n[[steps]]\nevent = \"session_start-startup-print\"\n";
    fs::write(&scenario, text).unwrap();
    let scenario = scenario.to_str().unwrap();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL] {
        leaves_nothing(&["run", scenario, "--project", "."], signal, To::Simulator);
    }
}

fn wait_until(condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < until, "it did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether the `node` at hand can take types out of a file.
fn strips_types() -> bool {
    let script = "process.exit(typeof require('node:module').stripTypeScriptTypes === 'function' ? 0 : 1)";
    std::process::Command::new("node").args(["-e", script]).status().unwrap().success()
}

#[test]
fn a_file_with_types_is_played_or_was_not_run_and_is_never_a_failure() {
    if !has_node() {
        return;
    }
    let typed = r#"import { readFileSync } from "node:fs";
        interface Event { prompt: string }
        const text = (event: Event): string => `asked ${event.prompt}`;
        export default function (pi: any): void {
          pi.on("before_agent_start", (event: Event) => ({ message: { customType: "m", content: text(event), display: true } }));
        }"#;
    let (_project, mut pi) = with(Harness::Pi, ".pi/extensions/mine.ts", typed);
    let firing = pi.fire("before_agent_start").unwrap();
    if strips_types() {
        firing.assert_context("asked ").assert_clean();
    } else {
        assert!(firing.not_run.as_deref().unwrap().contains("Node 22.13 or later"), "{firing:?}");
        assert!(!firing.has(Kind::Failed) && !firing.has(Kind::Context), "{firing:?}");
    }
    // What is in no JavaScript is no fault of the file either.
    let (_project, mut pi) = with(
        Harness::Pi,
        ".pi/extensions/mine.ts",
        "enum Way { Up, Down }\nexport default function (pi: any) { pi.on('input', () => Way.Up); }",
    );
    let firing = pi.fire("before_agent_start").unwrap();
    assert!(firing.not_run.is_some() && !firing.has(Kind::Failed), "{firing:?}");
    let plugin = "export const Mine = async ({ client }: any) => ({\n  'tool.execute.before': async (input: any) => { throw new Error(`no ${input.tool}`) },\n});";
    let (_project, mut opencode) = with(Harness::OpenCode, ".opencode/plugin/mine.ts", plugin);
    let firing = opencode.fire("hook.tool.execute.before").unwrap();
    if strips_types() {
        firing.assert_denied("no ");
    } else {
        assert!(firing.not_run.is_some() && !firing.has(Kind::Failed), "{firing:?}");
    }
}

#[test]
fn a_file_beside_is_imported_and_a_package_that_is_not_here_is_no_failure() {
    if !has_node() {
        return;
    }
    let (project, mut pi) = with(
        Harness::Pi,
        PI,
        r#"import { text } from "./inner/words.js";
           export default function (pi) { pi.on("before_agent_start", () => ({ message: { customType: "m", content: text, display: true } })); }"#,
    );
    put(project.path(), ".pi/extensions/inner/words.js", "export const text = 'from beside';");
    pi.fire("before_agent_start").unwrap().assert_context("from beside").assert_clean();
    let (_project, mut pi) = with(
        Harness::Pi,
        PI,
        "import { Type } from 'some-package-that-pi-brings';\nexport default function () {}",
    );
    let firing = pi.fire("before_agent_start").unwrap();
    assert!(firing.not_run.as_deref().unwrap().contains("some-package-that-pi-brings"), "{firing:?}");
}

#[test]
fn what_an_extension_says_to_the_person_is_told() {
    if !has_node() {
        return;
    }
    let (_project, mut pi) = with(
        Harness::Pi,
        PI,
        r#"export default function (pi) {
             pi.on("session_start", (event, context) => {
               context.ui.notify("look here", "warning");
               console.log("printed"); process.stderr.write("and cried\n");
               console.log(JSON.stringify({ done: "start" }));
             });
           }"#,
    );
    let open = pi.fire("session_start-startup-tui").unwrap();
    let said: Vec<&str> = open.of(Kind::Message).filter_map(|effect| effect.text.as_deref()).collect();
    assert_eq!(said, ["look here", "printed", "and cried", r#"{"done":"start"}"#]);
    // In print mode a notification goes nowhere.
    let (_project, mut pi) = with(
        Harness::Pi,
        PI,
        r#"export default (pi) => pi.on("session_start", (event, context) => context.ui.notify("look here"));"#,
    );
    let open = pi.fire("session_start-startup-print").unwrap();
    assert!(!open.has(Kind::Message) && open.has(Kind::Ignored), "{open:?}");
    let (_project, mut opencode) = with(
        Harness::OpenCode,
        OPENCODE,
        r#"export const Mine = async ({ client }) => ({
             event: async ({ event }) => { if (event.type === "session.created") await client.tui.showToast({ body: { message: "a toast", variant: "info" } }); },
           });"#,
    );
    let created = opencode.fire("event.session.created-default").unwrap();
    assert!(created.of(Kind::Message).any(|effect| effect.text.as_deref() == Some("a toast")), "{created:?}");
}

#[test]
fn what_goes_to_the_descriptor_itself_is_shown_and_is_no_line_of_the_hosts() {
    if !has_node() {
        return;
    }
    let (_project, pi) = with(
        Harness::Pi,
        PI,
        r#"import { writeSync } from "node:fs";
           import { spawnSync } from "node:child_process";
           export default function (pi) {
             pi.on("session_start", () => { writeSync(1, "no newline"); });
             pi.on("before_agent_start", () => { spawnSync("echo", ['{"blocked":{"reason":"forged"}}'], { stdio: "inherit" }); });
           }"#,
    );
    let mut pi = pi.options(Options { timeout: Some(Duration::from_secs(20)), ..Options::default() });
    let said = |firing: &harness_sim::Firing| -> Vec<String> {
        firing.of(Kind::Message).filter_map(|effect| effect.text.clone()).collect()
    };
    let open = pi.fire("session_start-startup-print").unwrap();
    assert_eq!(said(&open), ["no newline"], "{open:?}");
    open.assert_clean();
    let prompt = pi.fire("before_agent_start").unwrap();
    assert!(!prompt.has(Kind::Denied), "{prompt:?}");
    assert_eq!(said(&prompt), [r#"{"blocked":{"reason":"forged"}}"#], "{prompt:?}");
}

#[test]
fn an_output_that_a_hook_has_given_another_shape_is_named() {
    if !has_node() {
        return;
    }
    let (_project, mut opencode) = with(
        Harness::OpenCode,
        OPENCODE,
        r#"export const Mine = async () => ({
             "tool.execute.before": async (input, output) => { output.args = "ls"; output.arg = {}; },
             "tool.execute.after": async (input, output) => { output.output = output.output.trim(); },
           });
           export const Other = async () => ({ "tool.execute.before": async () => {} });"#,
    );
    let call = opencode.fire("hook.tool.execute.before").unwrap();
    let warned = r#"tool.execute.before: "args" is a string, and OpenCode documents an object"#;
    assert_eq!(call.warnings.iter().filter(|warning| *warning == warned).count(), 1, "{:?}", call.warnings);
    let why: Vec<&str> = call.of(Kind::Ignored).filter_map(|effect| effect.why.as_deref()).collect();
    assert_eq!(
        why,
        [r#"tool.execute.before: OpenCode does not read "arg" of the output; did you mean args?"#]
    );
}

#[test]
fn a_misspelt_event_field_or_hook_is_named() {
    if !has_node() {
        return;
    }
    let ignored = |firing: &harness_sim::Firing| -> String {
        firing.of(Kind::Ignored).filter_map(|effect| effect.why.clone()).collect::<Vec<_>>().join("\n")
    };
    let (_project, mut pi) = with(
        Harness::Pi,
        PI,
        r#"export default function (pi) {
             pi.on("tol_call", () => ({ block: true }));
             pi.on("tool_call", () => ({ blok: true, reason: "no" }));
             pi.on("before_agent_start", () => ({ message: "only text" }));
           }"#,
    );
    let call = pi.fire("tool_call").unwrap();
    let why = ignored(&call);
    assert!(why.contains(r#"on("tol_call"): Pi has no such event; did you mean tool_call?"#), "{why}");
    assert!(why.contains(r#"tool_call: Pi does not read "blok" of a result; did you mean block?"#), "{why}");
    call.assert_ran();
    let prompt = pi.fire("before_agent_start").unwrap();
    assert!(!prompt.has(Kind::Context), "{prompt:?}");
    let warned = r#"before_agent_start: "message" is a string, and Pi documents an object"#;
    assert!(prompt.warnings.iter().any(|warning| warning == warned), "{:?}", prompt.warnings);
    // As the real one: whatever is true denies.
    let (_project, mut pi) = with(
        Harness::Pi,
        PI,
        r#"export default (pi) => pi.on("tool_call", () => ({ block: "yes", reason: "no" }));"#,
    );
    pi.fire("tool_call").unwrap().assert_denied("no");
    let (_project, mut opencode) = with(
        Harness::OpenCode,
        OPENCODE,
        r#"export const Mine = async () => ({
             "tool.execute.befor": async () => { throw new Error("no") },
             "tool.execute.after": async () => ({ output: "other" }),
           });"#,
    );
    let call = opencode.fire("hook.tool.execute.before").unwrap();
    let why = ignored(&call);
    assert!(
        why.contains(r#""tool.execute.befor": OpenCode has no such hook; did you mean tool.execute.before?"#),
        "{why}"
    );
    assert!(why.contains("tool.execute.after: what a hook returns is not read"), "{why}");
    call.assert_ran();
}

#[test]
fn of_two_files_the_broken_one_is_named() {
    if !has_node() {
        return;
    }
    let broken = "export default function (pi) {\n  pi.on(;\n}";
    let (project, mut pi) = with(Harness::Pi, PI, "export default function () {}");
    put(project.path(), ".pi/extensions/broken.js", broken);
    let open = pi.fire("session_start-startup-print").unwrap();
    let why = open.of(Kind::Failed).filter_map(|effect| effect.why.clone()).collect::<String>();
    assert!(why.contains("broken.js:2: SyntaxError") && !why.contains("mine.js"), "{why}");
    // OpenCode leaves it out and goes on with the other.
    let good = r#"export const Mine = async () => ({ "tool.execute.before": async () => { throw new Error("still here") } });"#;
    let (project, mut opencode) = with(Harness::OpenCode, OPENCODE, good);
    put(project.path(), ".opencode/plugin/broken.js", "export const Broken = (;");
    let call = opencode.fire("hook.tool.execute.before").unwrap();
    call.assert_denied("still here");
    let why = call.of(Kind::Failed).filter_map(|effect| effect.why.clone()).collect::<String>();
    assert!(why.contains("broken.js:1: SyntaxError"), "{why}");
}
