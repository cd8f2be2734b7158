//! Registered hooks, from the files of a project and a home to the processes.

use std::path::Path;

use harness_sim::{Harness, Kind, LaunchError, Simulator, Version};
use serde_json::json;

use crate::{CLAUDE_OPEN, simulator};

fn write(folder: &Path, name: &str, value: &serde_json::Value) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, value.to_string()).unwrap();
}

fn group(commands: &[&str]) -> serde_json::Value {
    let hooks: Vec<_> =
        commands.iter().map(|command| json!({"type": "command", "command": command})).collect();
    json!([{"hooks": hooks}])
}

#[test]
fn the_hooks_of_project_and_home_run_and_the_same_command_runs_once() {
    let (project, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(
        project.path(),
        ".claude/settings.json",
        &json!({"hooks": {"SessionStart": group(&["echo a", "echo b"])}}),
    );
    write(
        home.path(),
        ".claude/settings.json",
        &json!({"hooks": {"SessionStart": group(&["echo a", "echo c"])}}),
    );
    let firing = simulator(Harness::Claude, project.path()).home(home.path()).fire(CLAUDE_OPEN).unwrap();
    assert_eq!(firing.context(), "a\nc\nb");
    assert!(firing.warnings.iter().any(|warning| warning.contains("registered twice")), "{firing}");
    let firing = simulator(Harness::Claude, project.path()).fire(CLAUDE_OPEN).unwrap();
    assert_eq!(firing.context(), "a\nb");
}

#[test]
fn claude_codes_hooks_run_beside_each_other() {
    // Each waits for the other, for at most 20 s.
    let meet = |own: &str, other: &str| {
        format!(
            "touch {own}; i=0; while [ ! -e {other} ] && [ $i -lt 400 ]; do sleep 0.05; i=$((i+1)); done; [ -e {other} ] && echo met"
        )
    };
    let project = tempfile::tempdir().unwrap();
    let (one, two) = (meet("one", "two"), meet("two", "one"));
    write(project.path(), ".claude/settings.json", &json!({"hooks": {"SessionStart": group(&[&one, &two])}}));
    assert_eq!(simulator(Harness::Claude, project.path()).fire(CLAUDE_OPEN).unwrap().context(), "met\nmet");
}

#[test]
fn groks_hooks_run_one_after_the_other_until_one_denies() {
    let project = tempfile::tempdir().unwrap();
    let deny = r#"echo two >> ran; echo '{"decision":"deny","reason":"no"}'"#;
    let hooks = group(&["echo one >> ran", deny, "echo three >> ran"]);
    write(project.path(), ".grok/hooks/guard.json", &json!({"hooks": {"PreToolUse": hooks}}));
    let firing = simulator(Harness::Grok, project.path()).fire("PreToolUse").unwrap();
    firing.assert_denied("no");
    assert!(!firing.has(Kind::Ran));
    assert_eq!(std::fs::read_to_string(project.path().join("ran")).unwrap(), "one\ntwo\n");
}

#[test]
fn one_that_denies_wins_over_others_that_allow() {
    let project = tempfile::tempdir().unwrap();
    write(
        project.path(),
        ".claude/settings.json",
        &json!({"hooks": {"PreToolUse": group(&["echo no >&2; exit 2", "exit 0"])}}),
    );
    let firing = simulator(Harness::Claude, project.path()).fire("PreToolUse-Bash-headless").unwrap();
    assert!(!firing.assert_denied("no").has(Kind::Ran));
}

#[test]
fn a_matcher_that_can_never_match_is_warned_of() {
    let project = tempfile::tempdir().unwrap();
    let hooks = json!({"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "true"}]}]}});
    write(project.path(), ".grok/hooks/open.json", &hooks);
    let firing = simulator(Harness::Grok, project.path()).fire("SessionStart-new-").unwrap();
    assert!(firing.commands.is_empty());
    let warning = firing.warnings.iter().find(|warning| warning.contains("never match")).expect("a warning");
    assert!(warning.contains("\"startup\"") && warning.contains("new, load"), "{warning}");
}

#[test]
fn a_hook_in_claude_codes_file_gets_cursors_payload_from_cursor() {
    let project = tempfile::tempdir().unwrap();
    write(project.path(), ".claude/settings.json", &json!({"hooks": {"PreToolUse": group(&["cat"])}}));
    let firing = simulator(Harness::Cursor, project.path()).fire("preToolUse-Shell").unwrap();
    let payload: serde_json::Value = serde_json::from_slice(&firing.commands[0].stdout).unwrap();
    assert_eq!(payload["cursor_version"], "2026.10.01");
    assert_eq!(payload["hook_event_name"], "preToolUse");
}

#[test]
fn a_missing_hook_fails_and_the_tool_runs() {
    let project = tempfile::tempdir().unwrap();
    write(
        project.path(),
        ".claude/settings.json",
        &json!({"hooks": {"PreToolUse": group(&["./no-such-hook"])}}),
    );
    let firing = simulator(Harness::Claude, project.path()).fire("PreToolUse-Bash-headless").unwrap();
    firing.assert_ran();
    assert!(
        firing.of(Kind::Failed).any(|effect| effect.why.as_deref().unwrap().contains("not found")),
        "{firing}"
    );
    let args = json!([{"hooks": [{"type": "command", "command": "/no/such/program", "args": ["x"]}]}]);
    write(project.path(), ".claude/settings.json", &json!({"hooks": {"PreToolUse": args}}));
    let firing = simulator(Harness::Claude, project.path()).fire("PreToolUse-Bash-headless").unwrap();
    firing.assert_ran();
    assert!(
        firing.of(Kind::Failed).any(|effect| effect.why.as_deref().unwrap().contains("did not start")),
        "{firing}"
    );
}

#[test]
fn a_program_that_cannot_play_a_harness_is_an_error_and_no_hang() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = Simulator::new(Harness::Claude, Version::Newest)
        .host_program("/bin/true")
        .project(project.path())
        .command("true");
    let error = claude.fire(CLAUDE_OPEN).unwrap_err();
    assert!(
        matches!(error, harness_sim::FireError::Launch(LaunchError::Engine(_) | LaunchError::Host(_))),
        "{error}"
    );
}
