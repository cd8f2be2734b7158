//! The program: its exit codes, its JSON, its errors.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

const OPEN: &str = "SessionStart-startup-headless";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness-sim"));
    command.current_dir(folder).args(arguments).timeout(std::time::Duration::from_secs(300));
    command.output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stdout)))
}

#[test]
fn the_exit_code_says_what_came_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let code = |arguments: &[&str]| run(folder.path(), arguments).status.code().unwrap();
    assert_eq!(code(&["fire", "claude", OPEN, "--", "echo hi"]), 0);
    assert_eq!(code(&["fire", "claude", OPEN, "--", "exit 1"]), 1);
    assert_eq!(code(&["fire", "claude", OPEN, "--", "setsid sleep 60 & :"]), 1);
    assert_eq!(code(&["fire", "claude", "SessionStart-none", "--", "true"]), 2);
    assert_eq!(code(&["fire", "clod", OPEN]), 2);
    assert_eq!(code(&["fire", "claude", OPEN, "--project", "/no/such/folder", "--", "true"]), 2);
    assert_eq!(code(&["fire", "claude", OPEN]), 3);
    assert_eq!(code(&["fire", "pi", "session_start-startup-print", "--", "true"]), 3);
}

#[test]
fn an_error_says_what_there_is_instead() {
    let folder = tempfile::tempdir().unwrap();
    let said = |arguments: &[&str]| String::from_utf8(run(folder.path(), arguments).stderr).unwrap();
    assert!(said(&["fire", "claud", "x"]).contains("did you mean claude"));
    assert!(said(&["fire", "claude", "SesionStart-startup"]).contains("SessionStart-startup-"));
    assert!(said(&["fire", "claude", "SessionStart-compact"]).contains("SessionStart-compact-tui"));
    assert!(said(&["fire", "claude", "Stop", "--version", "1"]).contains("2.1.332"));
}

#[test]
fn a_firing_in_json_has_the_fields_that_are_promised() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(
        folder.path(),
        &["fire", "claude", "SessionStart-startup-headless", "--json", "--", "printf hello"],
    );
    let firings = json(&output);
    let firing = &firings[0];
    assert_eq!(firing["event"], "SessionStart");
    assert_eq!(firing["commands"][0]["exit"], 0);
    assert_eq!(firing["commands"][0]["stdout_bytes"], 5);
    let effect = &firing["effects"][0];
    assert_eq!(
        (&effect["kind"], &effect["bytes"], &effect["delivered"]),
        (&"context".into(), &5.into(), &"whole".into())
    );
    assert_eq!(firing["survivors"], Value::Array(Vec::new()));
}

#[test]
fn harness_and_event_are_put_into_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(
        folder.path(),
        &["fire", "claude", "UserPromptSubmit-headless", "--json", "--", "echo", "{harness}", "{event}"],
    );
    assert_eq!(json(&output)[0]["effects"][0]["text"], "claude UserPromptSubmit");
}

#[test]
fn a_project_without_hooks_is_told_where_they_were_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["fire", "codex", "Stop-first-tui"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("no hook") && text.contains(".codex/hooks.json (not there)"), "{text}");
}

#[test]
fn a_matcher_that_keeps_a_hook_away_is_named_with_what_it_was_compared_with() {
    let folder = tempfile::tempdir().unwrap();
    let settings = |matcher: &str| {
        format!(
            r#"{{"hooks":{{"PreToolUse":[{{"matcher":"{matcher}","hooks":[{{"type":"command","command":"true"}}]}}]}}}}"#
        )
    };
    std::fs::create_dir(folder.path().join(".claude")).unwrap();
    for (matcher, said) in [
        ("Edit|Write", r#"matcher "Edit|Write" does not match "Bash""#),
        ("Bash(", r#"matcher "Bash(" is no regular expression (unclosed group): Claude Code says so"#),
    ] {
        std::fs::write(folder.path().join(".claude/settings.json"), settings(matcher)).unwrap();
        let output = run(folder.path(), &["fire", "claude", "PreToolUse-Bash-headless"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains(said) && text.contains("settings.json: matcher"), "{text}");
    }
}

#[test]
fn a_rejected_file_is_a_fault_and_no_lack_of_hooks() {
    for (harness, event, file, text) in [
        ("claude", "Stop-first-headless", ".claude/settings.json", "{"),
        ("codex", "Stop-first-tui", ".codex/hooks.json", "{}x"),
        ("codex", "Stop-first-tui", ".codex/config.toml", "hooks = ["),
        ("cursor", "sessionStart-startup", ".cursor/hooks.json", "{}"),
        ("grok", "PreToolUse", ".grok/hooks/a.json", ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let output = run(folder.path(), &["fire", harness, event]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{harness}: {text}");
        assert!(text.starts_with("✗") && text.contains(&format!("{file}: ")), "{text}");
        assert!(text.contains("rejected: ") && !text.contains("no hook is registered"), "{text}");
        // A hook that is registered besides is what the firing is about.
        let output = run(folder.path(), &["fire", harness, event, "--", "true"]);
        assert!(!String::from_utf8(output.stdout).unwrap().contains("rejected"));
    }
}

#[test]
fn a_field_that_is_not_read_is_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let fire = |answer: &str| {
        let arguments = ["fire", "claude", "PreToolUse-Bash-headless", "--", "printf", "%s", answer];
        String::from_utf8(run(folder.path(), &arguments).stdout).unwrap()
    };
    let text = fire(r#"{"permissionDecison":"deny"}"#);
    assert!(text.contains("ignored: permissionDecison is not read by Claude Code: did you mean"), "{text}");
    let text = fire(r#"{"suppressOutput":true,"colour":1}"#);
    assert!(text.contains("note: printf %s") && text.contains("unknown fields: colour"), "{text}");
}

#[test]
fn a_report_is_plain_text_where_nobody_looks_at_colours() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["fire", "cursor", "preToolUse-Shell", "--", "true"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\u{1b}') && text.contains("documented, never seen"), "{text}");
    assert!(text.contains("denied"), "{text}");
}

#[test]
fn the_matrix_fires_every_recording_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["matrix", "--json", "--", "echo {harness}"]);
    let firings = json(&output);
    let firings = firings.as_array().unwrap();
    assert_eq!(firings.len(), harness_sim::recordings().len());
    for (firing, recording) in firings.iter().zip(harness_sim::recordings()) {
        assert_eq!(firing["recording"], recording.name);
        let commands = firing["commands"].as_array().unwrap();
        match firing["not_applicable"].as_str() {
            None => assert_eq!(commands[0]["command"], format!("echo {}", recording.harness)),
            Some(_) => assert!(commands.is_empty() && ["pi", "opencode"].contains(&recording.harness.id())),
        }
    }
    // Cursor and Codex take no plain text everywhere.
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_matrix_at_a_hook_that_says_nothing_is_fine() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["matrix", "--", "true"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains(" 0 failed, 0 leaked, 0 without a hook"), "{text}");
}

#[test]
fn the_list_says_where_everything_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let text = String::from_utf8(run(folder.path(), &["list"]).stdout).unwrap();
    assert!(text.contains("SessionStart-fork-headless") && text.contains("recorded 2026-11-30"), "{text}");
    let rules = json(&run(folder.path(), &["list", "claude", "--rules", "--json"]));
    let rules = rules[0]["rules"].as_array().unwrap();
    assert!(rules.iter().all(|rule| rule["seen"].as_str().is_some_and(|seen| !seen.is_empty())));
}

/// A hook that leaves a declared survivor behind, which lives for a minute.
const DECLARES: &str = r#"setsid sleep 60 </dev/null >/dev/null 2>&1 & pid=$!
    until [ "$(cat /proc/$pid/comm)" = sleep ]; do :; done
    read -r stat < /proc/$pid/stat; set -- ${stat##*) }; shift 19
    printf '{"pid":%d,"start_time":%s}' $pid $1 > "$HARNESS_SIM_SURVIVORS/$pid""#;

#[test]
fn who_waits_for_a_declared_survivor_says_for_whom_and_how_long_and_what_became_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("one.toml");
    let text = format!("harness = \"claude\"\n[[steps]]\nevent = \"{OPEN}\"\ncommand = '''{DECLARES}'''\n");
    std::fs::write(&scenario, text).unwrap();
    let scenario = scenario.to_str().unwrap();
    let said = |arguments: &[&str]| {
        let output = run(folder.path(), arguments);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    for arguments in [
        &["fire", "claude", OPEN, "--patience", "1200ms", "--", DECLARES][..],
        &["run", "--patience", "1200ms", scenario],
    ] {
        let (code, text) = said(arguments);
        let lines: Vec<&str> = text.lines().collect();
        assert!(code == 0 && lines.len() == 2, "{text}");
        assert!(lines[0].contains("waiting for sleep (pid ") && lines[0].contains("at most 1.2 s"), "{text}");
        assert!(lines[0].contains("--patience") && lines[1].contains("sleep (pid "), "{text}");
        assert!(lines[1].contains("was still there after 1.2 s and is ended"), "{text}");
    }
    for arguments in [
        &["fire", "claude", OPEN, "--patience", "0", "--", DECLARES][..],
        &["run", "--patience", "0", scenario],
        &["matrix", "--harness", "grok", "--patience", "0", "--", DECLARES],
    ] {
        let (_, text) = said(arguments);
        assert!(!text.contains("waiting") && text.contains("was not waited for and is ended"), "{text}");
    }
    // One that ends in time is not spoken of.
    assert_eq!(said(&["fire", "claude", OPEN, "--", &DECLARES.replace("60", "0.3")]), (0, String::new()));
}

#[test]
fn a_relative_program_is_the_one_where_the_person_stands() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("project")).unwrap();
    let hook = folder.path().join("hook.sh");
    std::fs::write(&hook, "#!/bin/sh\necho \"here, $1\"\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for arguments in [
        &["fire", "claude", OPEN, "--json", "--project", "project", "--", "./hook.sh", "{event}"][..],
        &["fire", "claude", OPEN, "--json", "--project", "project", "--", "./hook.sh {event}"],
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(json(&output)[0]["effects"][0]["text"], "here, SessionStart", "{output:?}");
    }
    let output = run(folder.path(), &["matrix", "--harness", "claude", "--", "./hook.sh"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = run(folder.path(), &["torture", "--harness", "claude", "--json", "--", "./hook.sh"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let missing = folder.path().canonicalize().unwrap().join("no.sh").display().to_string();
    for command in [&["fire", "claude", OPEN][..], &["matrix"], &["torture"]] {
        let output = run(folder.path(), &[command, &["--", "./no.sh"]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(&missing), "{said}");
    }
}

#[test]
fn a_placeholder_that_stands_for_nothing_is_named_and_is_a_fault_where_notes_are() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("one.toml");
    let text = format!(
        "harness = \"claude\"\nsetup = \"echo {{hom}}\"\ncommand = \"echo {{harnes}}\"\n[[steps]]\nevent = \"{OPEN}\"\n"
    );
    std::fs::write(&scenario, text).unwrap();
    let scenario = scenario.to_str().unwrap();
    for (arguments, names) in [
        (&["fire", "claude", OPEN, "--", "echo {harnes}"][..], &["{harnes}"][..]),
        (&["matrix", "--harness", "claude", "--", "echo >&2 {harnes}"], &["{harnes}"]),
        (&["run", scenario], &["{harnes}", "line 2: {hom} in `setup`"]),
    ] {
        let output = run(folder.path(), arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        for name in names {
            assert!(text.contains(name) && text.contains("stands for nothing"), "{text}");
        }
        assert_eq!(output.status.code(), Some(0), "{text}");
        let strict = [&arguments[..1], &["--strict"], &arguments[1..]].concat();
        assert_eq!(run(folder.path(), &strict).status.code(), Some(1), "{strict:?}");
        let known: Vec<String> =
            strict.iter().map(|word| word.replace("{harnes}", "{harness}").replace("one", "two")).collect();
        let text = std::fs::read_to_string(scenario).unwrap();
        let text = text.replace("{harnes}", "{harness}").replace("{hom}", "{home}");
        std::fs::write(folder.path().join("two.toml"), text).unwrap();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let output = run(folder.path(), &known);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let said = run(folder.path(), &["torture", "--harness", "grok", "--", "echo {harnes}"]).stderr;
    assert!(String::from_utf8(said).unwrap().contains("{harnes} in the command stands for nothing"));
}

#[test]
fn a_file_that_the_harness_cannot_use_is_no_absence_of_hooks() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".claude")).unwrap();
    let settings = folder.path().join(".claude/settings.json");
    std::fs::write(&settings, "{\"hooks\": {,}}").unwrap();
    let output = run(folder.path(), &["fire", "claude", OPEN]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("rejected: ")
            && text.contains("settings.json")
            && !text.contains("no hook is registered"),
        "{text}"
    );
    std::fs::write(&settings, "{\"hooks\": {}}").unwrap();
    assert_eq!(run(folder.path(), &["fire", "claude", OPEN]).status.code(), Some(3));
}

#[test]
fn what_the_harness_does_not_read_is_marked_and_a_fault_where_one_is_strict() {
    let folder = tempfile::tempdir().unwrap();
    let misspelt =
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecison":"deny"}}'"#;
    let fire = |strict: bool, command: &str| {
        let mut arguments = vec!["fire", "claude", "PreToolUse-Bash-headless"];
        arguments.extend(strict.then_some("--strict"));
        run(folder.path(), &[&arguments[..], &["--", command]].concat())
    };
    let output = fire(false, misspelt);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("! Claude Code"));
    assert_eq!(fire(true, misspelt).status.code(), Some(1));
    assert_eq!(fire(true, &misspelt.replace("Decison", "Decision")).status.code(), Some(0));
}
