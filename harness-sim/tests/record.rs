//! `harness-sim record`, with a made-up CLI that reads its settings and calls what is registered there.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// Reads the command of an event from the settings, as a CLI does, and hands it a payload.
const CLI: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "9.8.7 (Made-up CLI)"; exit; fi
call() {
    command=$(sed -n "s/.*\"command\": \"\(.* record-take $1 .*\)\".*/\1/p" "$HOME/.claude/settings.json")
    printf '%s' "$2" | sh -c "$command" || exit 9
}
echo "I write here" > changed
call SessionStart '{"session_id":"s","cwd":"'"$PWD"'","source":"startup","hook_event_name":"SessionStart","transcript_path":"'"$HOME"'/.claude/x.jsonl"}'
call Stop '{"session_id":"s","stop_hook_active":false,"hook_event_name":"Stop","secret_key":"x","token":"abcdef"}'
exit ${1:-0}
"#;

fn record(folder: &Path, more: &[&str], cli: &[&str]) -> std::process::Output {
    let program = folder.join("cli");
    if !program.exists() {
        fs::write(&program, CLI).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(folder.join("project")).unwrap();
        fs::create_dir_all(folder.join("home/.claude")).unwrap();
        fs::write(folder.join("home/.claude/settings.json"), r#"{"theme":"dark"}"#).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness-sim"));
    command.current_dir(folder).env("TMPDIR", folder.join("tmp")).env("A_SECRET", "hush");
    fs::create_dir_all(folder.join("tmp")).unwrap();
    command.args(["record", "claude", "--out", "out", "--home", "home", "--project", "project"]).args(more);
    command.arg("--").arg(&program).args(cli).timeout(std::time::Duration::from_secs(120));
    command.output().unwrap()
}

#[test]
fn what_the_cli_hands_over_is_kept_and_gives_nothing_away() {
    let folder = tempfile::tempdir().unwrap();
    let output = record(folder.path(), &[], &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("Claude Code 9.8.7 ended with 0; 2 recordings\n"), "{text}");
    assert!(text.contains("  Stop: prompt_id went\n"), "how it differs is told: {text}");
    let file = folder.path().join("out/claude/9.8.7/SessionStart-startup-headless.json");
    let recording = fs::read_to_string(file).unwrap();
    assert!(
        !recording.contains("hush") && !recording.contains(&folder.path().display().to_string()),
        "{recording}"
    );
    let recording: Value = serde_json::from_str(&recording).unwrap();
    assert_eq!(recording["payload"]["cwd"], "/home/dev/project");
    assert_eq!(recording["payload"]["transcript_path"], "/home/dev/.claude/x.jsonl");
    assert_eq!(recording["provenance"]["version"], "9.8.7");
    assert_eq!(recording["provenance"]["how"], "recorded");
    assert!(recording["env"].as_array().unwrap().contains(&Value::from("A_SECRET")), "names are kept");
    let stop = fs::read_to_string(folder.path().join("out/claude/9.8.7/Stop-first-headless.json")).unwrap();
    assert!(!stop.contains("abcdef"), "{stop}");
    // What was there is as it was, and nothing is left.
    assert_eq!(
        fs::read_to_string(folder.path().join("home/.claude/settings.json")).unwrap(),
        r#"{"theme":"dark"}"#
    );
    assert!(!folder.path().join("project/changed").exists());
    assert_eq!(fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn check_fails_where_the_shape_differs_and_where_nothing_came() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(record(folder.path(), &["--check"], &[]).status.code(), Some(1));
    let output = record(folder.path(), &["--cli-version", "1.0", "--json"], &["5"]);
    assert_eq!(output.status.code(), Some(0));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["ended"], "ended with 5");
    assert_eq!(json["recordings"].as_array().unwrap().len(), 2);
    assert!(json["drift"]["changes"].as_array().unwrap().iter().any(|change| change["change"] == "came"));
    fs::write(folder.path().join("cli"), "#!/bin/sh\necho nothing\n").unwrap();
    let output = record(folder.path(), &["--cli-version", "1.0"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("it called no hook"));
    let output = record(folder.path(), &[], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("name it with --cli-version"));
}
