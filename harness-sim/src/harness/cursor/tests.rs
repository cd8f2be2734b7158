//! A table of answers, matchers and files, with what this harness makes of each.

use super::super::testing::{
    Answer, assert_effects, discover, effects, exits, folder, registered, remarks, says, takes,
};
use super::super::{Account, Harness, Registration, Scope};
use super::Cursor;
use crate::report::Kind;

const CLI: &str = "2026.10.01";
const EDITOR: &str = "3.20.17";

#[track_caller]
fn check(version: &str, recording: &str, answer: &Answer<'_>, expected: &[&str]) {
    assert_effects(&effects(Harness::Cursor, version, recording, answer), expected, answer.stdout);
}

fn fail_closed() -> Registration {
    Registration {
        event: "preToolUse".to_owned(),
        matcher: None,
        command: "x".to_owned(),
        args: None,
        environment: Vec::new(),
        place: String::new(),
        timeout: None,
        fail_closed: true,
        context_limit: None,
        file: "hooks.json".into(),
        scope: Scope::Project,
        from: None,
    }
}

#[test]
fn silence_blocks_a_tool_in_the_command_line_program() {
    for event in [
        "preToolUse-Shell",
        "preToolUse-Shell-from-claude-settings",
        "beforeShellExecution",
        "beforeMCPExecution",
        "beforeReadFile",
    ] {
        check(CLI, event, &says(""), &["denied: empty stdout"]);
    }
    check(CLI, "sessionStart-startup", &says(""), &[]);
    check(EDITOR, "preToolUse-Shell", &says(""), &["ignored: empty stdout: what the editor does"]);
}

#[test]
fn everything_is_read_as_json() {
    check(CLI, "sessionStart-startup", &says("hello"), &["failed: stdout is always read as JSON", "ignored"]);
    check(CLI, "preToolUse-Shell", &says("hello"), &["failed: stdout is always read as JSON", "ignored"]);
    check(
        CLI,
        "preToolUse-Shell",
        &says("{}{}"),
        &["failed: stdout is always read as JSON, and this is 2 JSON documents", "ignored"],
    );
    check(
        CLI,
        "preToolUse-Shell",
        &says(r#"{"permission":1}"#),
        &["failed: permission is a number", "ignored"],
    );
}

#[test]
fn a_field_that_is_not_cursors_or_not_of_this_event_is_named() {
    let claudes = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#;
    for (answer, expected) in [
        (r#"{"continue":"no"}"#, "ignored: continue is read at beforeSubmitPrompt only, not at preToolUse"),
        (
            r#"{"decision":"maybe"}"#,
            "ignored: decision is not known to be read by Cursor: it is Claude Code's, Codex's and Grok's; Cursor reads permission",
        ),
        (
            r#"{"permision":"deny"}"#,
            "ignored: permision is not known to be read by Cursor: did you mean permission (one of allow, deny, ask)?",
        ),
        (
            r#"{"userMessage":"x","permission":"allow"}"#,
            "ignored: userMessage is not known to be read by Cursor: did you mean user_message",
        ),
        (r#"{"permission":"allow","updated_input":"x"}"#, "ignored: updated_input is a text, not an object"),
        (r#"{"permission":"allow","env":{}}"#, "ran"),
        (
            claudes,
            "ignored: hookSpecificOutput.permissionDecision is not known to be read by Cursor: it is Claude Code's, Codex's and Grok's; Cursor reads permission",
        ),
    ] {
        let expected = if expected == "ran" { vec!["ran"] } else { vec![expected, "ran"] };
        check(CLI, "preToolUse-Shell", &says(answer), &expected);
    }
    let said = remarks(Harness::Cursor, CLI, "preToolUse-Shell", &says(r#"{"permission":"allow","env":{}}"#));
    assert_eq!(said, ["env is read at sessionStart only, not at preToolUse"]);
    check(
        EDITOR,
        "stop-completed",
        &says(r#"{"decision":"block"}"#),
        &[
            "ignored: decision is not known to be read by Cursor: it is Claude Code's, Codex's and Grok's; Cursor reads followup_message",
        ],
    );
}

#[test]
fn every_field_is_known_at_its_events() {
    for (recording, answer) in [
        (
            "preToolUse-Shell",
            r#"{"permission":"allow","user_message":"x","agent_message":"x","updated_input":{}}"#,
        ),
        ("sessionStart-startup", r#"{"env":{"A":"b"},"additional_context":"x"}"#),
        ("postToolUse-Shell", r#"{"additional_context":"x","updated_mcp_tool_output":{}}"#),
        ("beforeSubmitPrompt", r#"{"continue":true,"user_message":"x","additional_context":"x"}"#),
        ("stop-completed", r#"{"followup_message":"x"}"#),
        ("preCompact", r#"{"user_message":"x"}"#),
        ("preCompact", "{}"),
    ] {
        let effects = effects(Harness::Cursor, EDITOR, recording, &says(answer));
        let bad = effects.iter().find(|effect| matches!(effect.kind, Kind::Ignored | Kind::Failed));
        assert_eq!(bad, None, "{answer}");
        assert_eq!(
            remarks(Harness::Cursor, EDITOR, recording, &says(answer)),
            Vec::<String>::new(),
            "{answer}"
        );
    }
}

#[test]
fn a_permission_is_allow_or_deny() {
    check(CLI, "preToolUse-Shell", &says(r#"{"permission":"allow"}"#), &["ran"]);
    check(CLI, "preToolUse-Shell", &says("{}"), &["ran"]);
    check(
        CLI,
        "preToolUse-Shell",
        &says(r#"{"permission":"deny","user_message":"no","agent_message":"n"}"#),
        &["denied: no"],
    );
    check(
        CLI,
        "preToolUse-Shell",
        &says(r#"{"permission":"deny","agent_message":"n"}"#),
        &["denied: n", "ignored: the model sees user_message"],
    );
    check(
        CLI,
        "preToolUse-Shell",
        &says(r#"{"permission":"ask"}"#),
        &["ignored: permission ask is not enforced", "ran"],
    );
}

#[test]
fn failures_pass_unless_the_hook_fails_closed() {
    check(CLI, "preToolUse-Shell", &exits(2, "no"), &["denied: no"]);
    check(CLI, "preToolUse-Shell", &exits(1, "boom"), &["failed: exit 1: boom", "ran"]);
    let closed = Answer { registration: Some(fail_closed()), ..exits(1, "boom") };
    check(CLI, "preToolUse-Shell", &closed, &["failed: exit 1", "denied: failClosed"]);
    check(EDITOR, "stop-completed", &exits(2, "x"), &["ignored: exit 2: exit codes mean nothing"]);
}

#[test]
fn context_arrives_at_a_session_start_and_after_tools() {
    check(CLI, "sessionStart-startup", &says(r#"{"additional_context":"x"}"#), &["context whole: x"]);
    check(CLI, "postToolUse-Shell", &says(r#"{"additional_context":"x"}"#), &["context whole: x"]);
    check(EDITOR, "beforeSubmitPrompt", &says(r#"{"additional_context":"x"}"#), &["context whole: x"]);
    check(
        EDITOR,
        "preCompact",
        &says(r#"{"additional_context":"x","user_message":"u"}"#),
        &["message: u", "ignored"],
    );
    let claudes = r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"x"}}"#;
    check(
        CLI,
        "sessionStart-startup",
        &says(claudes),
        &[
            "ignored: hookSpecificOutput.additionalContext is not known to be read by Cursor: it is Claude Code's, Codex's and Grok's; Cursor reads additional_context",
        ],
    );
}

#[test]
fn a_stop_is_followed_up_and_a_prompt_is_stopped() {
    check(EDITOR, "stop-completed", &says(r#"{"followup_message":"more"}"#), &["stop refused: more"]);
    check(
        EDITOR,
        "beforeSubmitPrompt",
        &says(r#"{"continue":false,"user_message":"no"}"#),
        &["denied: no", "message: no"],
    );
}

#[test]
fn its_own_files_and_claude_codes_are_read() {
    let own = r#"{"version":1,"hooks":{"preToolUse":[{"command":"/a","matcher":"Shell","failClosed":true}],"PreToolUse":[]}}"#;
    let claude = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"b","args":["x"]}]}],"Notification":[]}}"#;
    let project = folder(&[(".cursor/hooks.json", own), (".claude/settings.json", claude)]);
    let home = folder(&[(".cursor/hooks.json", r#"{"version":1,"hooks":{"stop":[{"command":"./c"}]}}"#)]);
    let found = discover(Harness::Cursor, project.path(), home.path(), true);
    assert_eq!(registered(&found), ["stop ./c", "preToolUse /a", "preToolUse b"]);
    assert!(found.registrations[1].fail_closed);
    assert_eq!((found.registrations[2].from, &found.registrations[2].args), (Some(Harness::Claude), &None));
    let all = found.warnings.join("\n");
    for part in ["hooks.PreToolUse is no event", "relative path", "drops the args"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(discover(Harness::Cursor, project.path(), home.path(), false).registrations.is_empty());
}

#[test]
fn a_scheme_in_a_command_drops_the_whole_file() {
    let own = r#"{"version":1,"hooks":{"stop":[{"command":"/a"},{"command":"curl http://localhost"}]}}"#;
    let found =
        discover(Harness::Cursor, folder(&[(".cursor/hooks.json", own)]).path(), folder(&[]).path(), true);
    assert!(found.registrations.is_empty() && found.warnings[0].contains("drops the whole file"));
    let without = r#"{"hooks":{"stop":[{"command":"/a"}]}}"#;
    let found = discover(
        Harness::Cursor,
        folder(&[(".cursor/hooks.json", without)]).path(),
        folder(&[]).path(),
        true,
    );
    assert!(found.registrations.is_empty() && found.warnings[0].contains("`version` is not 1"));
}

#[test]
fn what_becomes_of_a_matcher_that_is_no_expression_is_not_known() {
    let said = Cursor.unreadable("Shell(").unwrap();
    assert!(said.contains("unclosed group") && said.contains("not known"), "{said}");
    assert_eq!(Cursor.unreadable("Shell|Write"), None);
}

#[test]
fn a_matcher_is_an_expression_that_matches_anywhere() {
    for (matcher, does) in [
        ("*", true),
        ("Shell", true),
        ("hel", true),
        ("^Shell$", true),
        ("^hell", false),
        ("Write|Shell", true),
    ] {
        assert_eq!(takes(Harness::Cursor, CLI, "preToolUse-Shell", matcher), does, "{matcher:?}");
    }
}
