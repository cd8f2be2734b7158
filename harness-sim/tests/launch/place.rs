//! What a hook finds around it: its parent, its session, its environment, its payload.

use harness_sim::Harness;
use serde_json::Value;

use crate::{CLAUDE_OPEN, CODEX_OPEN, fire, simulator};

#[test]
fn its_parent_bears_the_harnesss_name() {
    for (harness, event, name) in [
        (Harness::Claude, CLAUDE_OPEN, "claude"),
        (Harness::Codex, CODEX_OPEN, "codex"),
        (Harness::Grok, "PostToolUse", "grok"),
        (Harness::Cursor, "sessionStart-resume", "cursor-agent"),
    ] {
        let firing =
            fire(harness, event, r"cat /proc/$PPID/comm; tr '\0' '\n' </proc/$PPID/cmdline | head -n 1");
        assert_eq!(String::from_utf8_lossy(&firing.commands[0].stdout), format!("{name}\n{name}\n"));
    }
}

#[test]
fn the_harnesss_process_lives_as_long_as_the_session() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path()).command("echo $PPID");
    let parents: Vec<String> =
        (0..3).map(|_| claude.fire("UserPromptSubmit-headless").unwrap().context()).collect();
    assert!(parents.iter().all(|parent| *parent == parents[0]), "{parents:?}");
    let pid = parents[0].parse().unwrap();
    assert!(crate::runs(pid));
    drop(claude);
    assert!(!crate::runs(pid));
}

#[test]
fn claude_codes_leads_a_session_and_codexs_a_group() {
    // Fields of /proc/self/stat from the third on: state, parent, group, session.
    let ids = "read -r pid name state parent group session rest < /proc/$$/stat; echo $$ $group $session";
    let of = |harness, event| {
        let firing = fire(harness, event, ids);
        let text = firing.context();
        text.split_whitespace().map(|id| id.parse::<i32>().unwrap()).collect::<Vec<_>>()
    };
    let claude = of(Harness::Claude, CLAUDE_OPEN);
    assert_eq!((claude[0], claude[0]), (claude[1], claude[2]));
    let codex = of(Harness::Codex, CODEX_OPEN);
    assert_eq!(codex[0], codex[1]);
    assert_ne!(codex[0], codex[2]);
}

#[test]
fn the_payload_names_this_project_and_this_session() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path()).command("cat; printf ' '; pwd");
    let payloads: Vec<(Value, String)> = ["PreToolUse-Bash-headless", "PostToolUse-Bash-headless"]
        .into_iter()
        .map(|event| {
            let firing = claude.fire(event).unwrap();
            let text = String::from_utf8_lossy(&firing.commands[0].stdout).into_owned();
            let (payload, folder) = text.rsplit_once(' ').unwrap();
            (serde_json::from_str(payload).unwrap(), folder.trim().to_owned())
        })
        .collect();
    let here = project.path().canonicalize().unwrap();
    for (payload, folder) in &payloads {
        assert_eq!(
            (payload["cwd"].as_str().unwrap(), folder.as_str()),
            (here.to_str().unwrap(), here.to_str().unwrap())
        );
        assert!(std::path::Path::new(payload["transcript_path"].as_str().unwrap()).exists());
    }
    assert_eq!(payloads[0].0["session_id"], payloads[1].0["session_id"]);
    assert_ne!(payloads[0].0["tool_use_id"], payloads[1].0["tool_use_id"]);
}

#[test]
fn the_environment_is_the_harnesss_without_secrets_and_without_a_home() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path()).env("EXTRA", "value").command(
        r#"test "$CLAUDE_PROJECT_DIR" = "$PWD" || echo project; test -d "$HOME" || echo home
           test -z "$(ls -A "$HOME")" || echo full; test "$ANTHROPIC_API_KEY" = made-up-by-harness-sim || echo key
           test -z "$CARGO_BIN_EXE_harness_sim$HARNESS_SIM_HOST_SOCKET$XDG_STATE_HOME" || echo left
           test "$EXTRA" = value || echo extra; test -n "$CLAUDE_CODE_SESSION_ID" || echo session; echo done"#,
    );
    assert_eq!(claude.fire(CLAUDE_OPEN).unwrap().context(), "done");
}

#[test]
fn a_registered_hook_with_arguments_needs_no_shell() {
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir(project.path().join(".claude")).unwrap();
    let settings = r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo","args":["$HOME;","it is"]}]}]}}"#;
    std::fs::write(project.path().join(".claude/settings.json"), settings).unwrap();
    let firing = simulator(Harness::Claude, project.path()).fire(CLAUDE_OPEN).unwrap();
    assert_eq!(firing.context(), "$HOME; it is");
}
