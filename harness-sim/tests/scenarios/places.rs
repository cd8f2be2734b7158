//! The place of a scenario: its files, its values, its set-up, and what is changed in a payload.

use harness_sim::Scenario;

use crate::{lines, play, play_in, program, simulator};

const OPEN: &str = "[[steps]]\nevent = \"SessionStart-startup-headless\"\n";

#[test]
fn files_are_there_with_their_modes_and_gone_afterwards() {
    let report = play(&format!(
        "harness = \"claude\"\n[project.files]\n\"a/b.sh\" = {{ mode = \"750\", text = \"#!/bin/sh\\npwd\\n\" }}\nplain = \"x\"\n\
         [home.files]\n\".claude/settings.json\" = '''{{\"hooks\": {{\"SessionStart\": [{{\"hooks\": [{{\"type\": \"command\", \
         \"command\": \"a/b.sh; stat -c %a a/b.sh plain; echo $HOME; echo {{project}} {{home}} ${{project}}\"}}]}}]}}}}'''\n{OPEN}"
    ));
    report.assert_passed();
    let said = report.firings().next().unwrap().context();
    let [pwd, script, plain, home, values] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert_eq!((script, plain), ("750", "644"));
    assert_eq!(values.trim_end(), format!("{pwd} {home}"));
    assert!(!std::path::Path::new(pwd).exists() && !std::path::Path::new(home).exists());
}

#[test]
fn a_folder_beside_the_file_may_be_the_project() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("there")).unwrap();
    let text = format!("harness = \"claude\"\nproject = \"there\"\ncommand = \": > fired\"\n{OPEN}");
    std::fs::write(folder.path().join("test.toml"), text).unwrap();
    let scenario = Scenario::load(folder.path().join("test.toml")).unwrap();
    simulator().run(&scenario).unwrap().assert_passed();
    assert!(folder.path().join("there/fired").exists());
}

#[test]
fn a_value_is_put_in_wherever_it_is_named() {
    let text = format!(
        "harness = \"claude\"\nneeds = [\"word\"]\nenv = {{ WORD = \"{{word}}\" }}\nsetup = \"echo {{word}} > made\"\n\
         command = \"cat made file; echo $WORD {{word}}; cat\"\n[project.files]\nfile = \"{{word}}\\n\"\n{OPEN}\
         set = {{ model = \"{{word}}\" }}\n\
         expect.context = [\"{{word}}\\n{{word}}\\n{{word}} {{word}}\", '\"model\":\"{{word}}\"']\n"
    );
    let scenario = Scenario::parse(&text, "test.toml").unwrap();
    assert_eq!(scenario.needs(), ["word"]);
    let error = simulator().run(&scenario).unwrap_err().to_string();
    assert!(error.contains("--define word=VALUE"), "{error}");
    let report = simulator().run(&scenario.define("word", "kiwi")).unwrap();
    report.assert_passed();
    assert!(report.firings().next().unwrap().context().starts_with("kiwi\nkiwi\nkiwi kiwi\n"));
}

#[test]
fn a_value_that_names_a_file_becomes_absolute() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tool"), "").unwrap();
    let text = format!(
        "harness = \"claude\"\nneeds = [\"tool\"]\ncommand = \"echo {{tool}}\"\n[project]\n{OPEN}\
         expect.context = \"{}/tool\"\n",
        folder.path().canonicalize().unwrap().display()
    );
    std::fs::write(folder.path().join("test.toml"), text).unwrap();
    let run = |value: &str| program(folder.path(), &["run", "test.toml", "--define", value]).status.code();
    assert_eq!(run("tool=tool"), Some(0));
    assert_eq!(run("tool=./none/tool"), Some(1));
}

#[test]
fn a_set_up_that_fails_is_an_error_and_nothing_is_fired() {
    for (setup, said) in
        [("echo first line >&2; exit 4", "exit 4: first line"), ("kill -9 $$", "it was killed")]
    {
        let project = tempfile::tempdir().unwrap();
        let report = play_in(
            project.path(),
            &format!(
                "harness = \"claude\"\nsetup = [\": > done\", \"{setup}\"]\ncommand = \": > fired\"\n{OPEN}"
            ),
        );
        assert!(!report.passed());
        assert!(report.error.as_ref().is_some_and(|error| error.ends_with(said)), "{report}");
        assert!(report.steps.is_empty());
        assert!(project.path().join("done").exists() && !project.path().join("fired").exists());
    }
}

#[test]
fn what_a_set_up_leaves_behind_is_ended() {
    let project = tempfile::tempdir().unwrap();
    let text = format!(
        "harness = \"claude\"\nsetup = \"setsid sleep 60 </dev/null >/dev/null 2>&1 & echo $! > pid\"\n\
         command = \"kill -0 $(cat pid) 2>/dev/null && echo lives\"\n{OPEN}expect = {{ failed = true, context = false }}\n"
    );
    play_in(project.path(), &text).assert_passed();
}

#[test]
fn a_payload_is_changed_before_anything_looks_at_it() {
    let project = tempfile::tempdir().unwrap();
    let text = r#"
harness = "claude"
[project.files]
".claude/settings.json" = '''
{"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "cat > payload; cp payload {project}/kept; cat payload > $OUT"}]}]}}
'''
[env]
OUT = "OUTFILE"
[[steps]]
event = "PreToolUse-Bash-headless"
set = { tool_name = "Write", tool_input = { file_path = "{project}/x" }, extra = [1, "two"] }
unset = ["cwd", "tool_input.description", "tool_input.no.such", "none"]
expect.commands = 1
[[steps]]
event = "PreToolUse-Bash-headless"
expect.commands = 0
"#;
    let out = project.path().join("out");
    play(&text.replace("OUTFILE", out.to_str().unwrap())).assert_passed();
    let payload: serde_json::Value = serde_json::from_str(&lines(&out)[0]).unwrap();
    assert_eq!(payload["tool_name"], "Write");
    assert!(payload["tool_input"]["file_path"].as_str().unwrap().ends_with("/project/x"));
    assert!(payload["tool_input"]["command"].is_string(), "what is not named stays");
    assert!(payload["tool_input"].get("description").is_none() && payload.get("cwd").is_none());
    assert_eq!(payload["extra"], serde_json::json!([1, "two"]));
}

#[test]
fn a_step_has_its_own_stdin_feed_reader_timeout_and_command() {
    play(
        r#"
harness = "claude"
command = "cat"
[[steps]]
event = "SessionStart-startup-headless"
options.stdin = "of the step"
expect.context = { contains = "of the step", bytes = 11 }
[[steps]]
event = "SessionStart-startup-headless"
options.feed = "closed at once"
expect.silent = true
[[steps]]
event = "SessionStart-startup-headless"
options = { feed = "no end", timeout = "300ms" }
expect = { timed_out = true, failed = "300 ms" }
[[steps]]
event = "SessionStart-startup-headless"
options.reader = { closes_after = 4 }
expect.context = { bytes = 4 }
[[steps]]
event = "SessionStart-startup-headless"
command = "echo of {harness} at {event}"
expect.context = "of claude at SessionStart"
[[steps]]
event = "SessionStart-startup-headless"
expect.ignored = "unknown fields: session_id"
"#,
    )
    .assert_passed();
}

#[test]
fn trust_and_time_and_survivors_are_the_scenarios() {
    play(
        r#"
harness = "codex"
trusted = false
[project.files]
".codex/hooks.json" = '''{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "echo hi"}]}]}}'''
[[steps]]
event = "SessionStart-startup-tui"
expect = { commands = 0, note = "not trusted" }
"#,
    )
    .assert_passed();
    play(
        r#"
harness = "codex"
time_scale = 0.001
command = "sleep 100"
[[steps]]
event = "SessionStart-startup-tui"
expect = { failed = "timed out after 600 ms" }
"#,
    )
    .assert_passed();
    play(
        r#"
harness = "claude"
survivors = ["state/*.json"]
patience = "20s"
command = '''
mkdir -p state
setsid sleep 0.6 </dev/null >/dev/null 2>&1 & pid=$!
read -r stat < /proc/$pid/stat; set -- ${stat##*) }; shift 19
echo "{\"pid\": $pid, \"start_time\": $1}" > state/worker.json
'''
[project]
[[steps]]
event = "SessionStart-startup-headless"
expect = { survivors = 1, leaks = 0 }
"#,
    )
    .assert_passed();
}
