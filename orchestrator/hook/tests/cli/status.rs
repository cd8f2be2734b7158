//! `status`: what works, what waits for a person, and why.

use std::fs;
use std::path::PathBuf;

use crate::support::{Desk, Host, PROGRAM, elsewhere, install_by, stderr, stdout, write_config};

/// What status says, with this desk's paths as `~`, and its exit code.
fn status(desk: &Desk) -> (String, Option<i32>) {
    let output = desk.dogwatch(&["status"]);
    assert_eq!(stderr(&output), "");
    let home = desk.scratch.path().canonicalize().unwrap();
    let text = stdout(&output).replace(&home.display().to_string(), "~");
    (
        text.replace(&desk.scratch.path().display().to_string(), "~").replace(PROGRAM, "dogwatch"),
        output.status.code(),
    )
}

fn install(desk: &Desk, arguments: &[&str]) {
    let output = desk.dogwatch(&[&["install"], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
}

fn settings(desk: &Desk) -> PathBuf {
    desk.scratch.path().join(".claude/settings.json")
}

#[test]
fn nothing_is_there() {
    let (text, code) = status(&Desk::new());
    assert_eq!(
        text,
        "Project ~/project: no home; dogwatch is silent here until `dogwatch init`\n\
         Not found on this machine: Claude Code, Codex, Cursor, Pi, OpenCode, Grok\n"
    );
    assert_eq!(code, Some(0));
}

#[test]
fn it_works_once_it_was_called() {
    let desk = Desk::new();
    assert!(desk.dogwatch(&["init"]).status.success());
    install(&desk, &["claude"]);
    let (text, code) = status(&desk);
    assert!(text.contains("Project ~/project: has a home\n"), "{text}");
    assert!(
        text.contains(
            "Claude Code: registered, has not called dogwatch in this project yet\n  ready    yours, ~/.claude/settings.json\n"
        ),
        "{text}"
    );
    assert_eq!(code, Some(0));
    let mut host = Host::new(&desk, "claude");
    host.fire("hook claude session-open --limit 180s", br#"{"session_id":"s1","source":"startup"}"#);
    let (text, _) = status(&desk);
    assert!(text.contains("Claude Code: last called just now (session-open)\n  works    yours"), "{text}");
}

#[test]
fn a_found_one_that_is_not_registered_says_how() {
    let desk = Desk::new();
    fs::create_dir(desk.scratch.path().join(".codex")).unwrap();
    let (text, _) = status(&desk);
    assert!(text.contains("Codex: not registered; `dogwatch install codex`\n"), "{text}");
}

#[test]
fn a_program_that_is_gone_is_broken() {
    let desk = Desk::new();
    let old = elsewhere(&desk, "old");
    install_by(&desk, &old, &["claude", "pi", "opencode"]);
    fs::remove_file(&old).unwrap();
    let (text, code) = status(&desk);
    let gone = "~/old/dogwatch is not there; `dogwatch install` enters the one that you run\n";
    for file in
        [".claude/settings.json", ".pi/agent/extensions/dogwatch.js", "config/opencode/plugins/dogwatch.js"]
    {
        assert!(text.contains(&format!("  broken   yours, ~/{file}: {gone}")), "{text}");
    }
    assert_eq!(code, Some(1));
}

#[test]
fn a_part_that_is_missing_or_narrowed_is_named() {
    let desk = Desk::new();
    install(&desk, &["claude"]);
    let mut value: serde_json::Value = serde_json::from_slice(&fs::read(settings(&desk)).unwrap()).unwrap();
    value["hooks"].as_object_mut().unwrap().remove("SessionEnd");
    value["hooks"]["PostToolUse"][0]["hooks"][0]["timeout"] = 0.into();
    value["hooks"]["SessionStart"][0]["matcher"] = "startup".into();
    fs::write(settings(&desk), value.to_string()).unwrap();
    let (text, code) = status(&desk);
    assert!(text.contains("SessionEnd missing; `dogwatch install` adds it\n"), "{text}");
    assert!(
        text.contains("SessionStart: only for the matcher \"startup\", so others never reach dogwatch"),
        "{text}"
    );
    assert_eq!(code, Some(1));
}

#[test]
fn a_file_that_does_not_parse_says_where() {
    let desk = Desk::new();
    install(&desk, &["claude"]);
    let whole = fs::read_to_string(settings(&desk)).unwrap();
    fs::write(settings(&desk), whole.replacen(':', "", 1)).unwrap();
    let (text, code) = status(&desk);
    assert!(text.contains("  broken   yours: ~/.claude/settings.json: line "), "{text}");
    assert_eq!(code, Some(1));
    // One that was never ours breaks nothing of ours.
    fs::write(settings(&desk), "{\"hooks\": }").unwrap();
    let (text, code) = status(&desk);
    assert!(text.contains("  unread   yours: ~/.claude/settings.json: line 1, column "), "{text}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_config_that_waits_for_a_person_is_named() {
    let desk = Desk::new();
    write_config(&desk, "[digest]\ndeadline = 5\n");
    let (text, _) = status(&desk);
    assert!(text.contains("waits for you: nothing in it counts until `dogwatch trust`\n"), "{text}");
}

#[test]
fn the_bare_name_has_to_be_on_the_path() {
    let desk = Desk::new();
    install(&desk, &["claude", "--project"]);
    let (text, code) = status(&desk);
    assert!(
        text.contains(
            "broken   the project's, ~/project/.claude/settings.json: `dogwatch` is not on the PATH"
        ),
        "{text}"
    );
    assert_eq!(code, Some(1));
}

/// What status says of Codex's file: the word in front, and why.
fn codex(desk: &Desk) -> String {
    let (text, _) = status(desk);
    text.lines().find(|line| line.contains("/.codex/hooks.json")).unwrap().trim().to_owned()
}

#[test]
fn hooks_that_nobody_has_reviewed_wait_in_codex() {
    let desk = Desk::new();
    install(&desk, &["codex"]);
    assert!(
        codex(&desk)
            .starts_with("waits    yours, ~/.codex/hooks.json: Codex skips hooks that you have not reviewed")
    );
    let file = desk.scratch.path().join(".codex/hooks.json");
    let state = |event: &str, more: &str| {
        format!("[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"sha256:00\"\n{more}", file.display())
    };
    let events = ["session_start", "user_prompt_submit", "post_tool_use", "session_end"];
    let config = desk.scratch.path().join(".codex/config.toml");
    let reviewed: Vec<String> = events.iter().map(|event| state(event, "")).collect();
    fs::write(&config, reviewed[1..].concat()).unwrap();
    assert!(codex(&desk).starts_with("waits"), "one is not reviewed");
    fs::write(&config, reviewed.concat()).unwrap();
    assert!(codex(&desk).starts_with("ready    yours, ~/.codex/hooks.json: you have reviewed it"));
    fs::write(&config, state("session_start", "enabled = false\n") + &reviewed[1..].concat()).unwrap();
    assert!(codex(&desk).ends_with("a hook of dogwatch is switched off in Codex: open /hooks there"));
}

#[test]
fn a_project_that_a_harness_does_not_trust_waits() {
    let desk = Desk::new();
    let bin = elsewhere(&desk, "bin");
    let project = desk.project.display().to_string();
    let told = |name: &str| {
        let mut command = std::process::Command::new(PROGRAM);
        desk.prepare(command.arg("status")).env("PATH", bin.parent().unwrap());
        let text = stdout(&command.output().unwrap());
        let line =
            text.lines().find(|line| line.contains(&format!("{project}/.{name}/"))).unwrap().to_owned();
        line.split_whitespace().next().unwrap().to_owned()
    };
    install(&desk, &["claude", "codex", "pi", "grok", "cursor", "opencode", "--project"]);
    let words = ["claude", "codex", "pi", "grok", "cursor", "opencode"].map(told);
    assert_eq!(words, ["ready", "waits", "waits", "waits", "ready", "ready"]);
    let write = |name: &str, text: String| {
        let path = desk.scratch.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(".pi/agent/trust.json", format!("{{\"{project}\": true}}"));
    write(".grok/trusted_folders.toml", format!("[folders.\"{project}\"]\ntrusted = true\n"));
    assert_eq!(["pi", "grok"].map(told), ["ready", "ready"]);
    write(".codex/config.toml", format!("[projects.\"{project}\"]\ntrust_level = \"trusted\"\n"));
    assert_eq!(told("codex"), "waits", "for the review of its hooks");
    write(".claude/settings.json", "{\"disableAllHooks\": true}".to_owned());
    assert_eq!(told("claude"), "waits");
}
