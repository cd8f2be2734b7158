//! A table of answers, matchers and files, with what this harness makes of each.

use std::time::Duration;

use super::super::testing::{
    Answer, assert_effects, discover, effects, exits, folder, registered, remarks, says, takes,
};
use super::super::{Account, Harness};
use super::Grok;
use crate::report::{Delivered, Kind};

const VERSION: &str = "1.0.41";

#[track_caller]
fn check(recording: &str, answer: &Answer<'_>, expected: &[&str]) {
    assert_effects(&effects(Harness::Grok, VERSION, recording, answer), expected, answer.stdout);
}

fn specific(event: &str, fields: &str) -> String {
    format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{event}",{fields}}}}}"#)
}

#[test]
fn what_a_session_start_says_is_never_seen() {
    check(
        "SessionStart-new",
        &says("hello"),
        &["ignored: what a hook prints at SessionStart is thrown away"],
    );
    check("SessionStart-new", &says(&specific("SessionStart", r#""additionalContext":"x""#)), &["ignored"]);
    check("SessionStart-new", &exits(1, "x"), &["failed: exit 1: x"]);
    check("UserPromptSubmit", &says("hello"), &["ignored"]);
    check(
        "UserPromptSubmit",
        &says(&specific("UserPromptSubmit", r#""additionalContext":"x""#)),
        &["ignored: what a prompt's hook says is thrown away"],
    );
}

#[test]
fn a_prompt_is_blocked_on_any_exit_code() {
    check("UserPromptSubmit", &says(r#"{"decision":"block","reason":"no"}"#), &["denied: no", "message: no"]);
    check("UserPromptSubmit", &exits(2, "no"), &["denied: no", "message: no"]);
    let failing = Answer { stdout: r#"{"decision":"block","reason":"no"}"#, ..exits(1, "") };
    check("UserPromptSubmit", &failing, &["failed: exit 1", "denied: no", "message: no"]);
}

#[test]
fn a_tool_is_denied_asked_for_or_runs() {
    check("PreToolUse", &says(r#"{"decision":"deny","reason":"no"}"#), &["denied: no"]);
    check(
        "PreToolUse",
        &says(&specific("PreToolUse", r#""permissionDecision":"deny","permissionDecisionReason":"no""#)),
        &["denied: no"],
    );
    check("PreToolUse", &says(r#"{"decision":"ask","reason":"sure?"}"#), &["asked: sure?"]);
    check("PreToolUse", &says(r#"{"decision":"allow"}"#), &["ran"]);
    check("PreToolUse", &exits(2, "no\nmore"), &["denied: no"]);
    check("PreToolUse", &exits(1, "boom"), &["failed: exit 1: boom", "ran"]);
    let failing = Answer { stdout: r#"{"decision":"deny","reason":"no"}"#, ..exits(1, "") };
    check("PreToolUse", &failing, &["failed: exit 1", "denied: no"]);
    check(
        "PreToolUse",
        &says(r#"{"decision":"never"}"#),
        &["failed: the answer is refused: decision is \"never\"", "ignored", "ran"],
    );
    check("PreToolUse", &says("{"), &["failed: the answer cannot be read: not valid JSON", "ignored", "ran"]);
    check("PreToolUse", &says("hello"), &["ignored: plain text is not read", "ran"]);
}

#[test]
fn a_field_that_is_not_groks_or_not_of_this_event_is_named() {
    for (answer, expected) in [
        (
            r#"{"permission":5}"#,
            "ignored: permission is not read by Grok: it is Cursor's; Grok reads decision or hookSpecificOutput.permissionDecision",
        ),
        (
            r#"{"permissionDecison":"deny"}"#,
            "ignored: permissionDecison is not read by Grok: did you mean hookSpecificOutput.permissionDecision",
        ),
        (
            r#"{"hookSpecificOutput":{"permissionDecison":"deny"}}"#,
            "ignored: hookSpecificOutput.permissionDecison is not read by Grok: did you mean permissionDecision (one of allow, deny, ask",
        ),
        (r#"{"desicion":"deny"}"#, "ignored: desicion is not read by Grok: did you mean decision"),
        (r#"{"colour":"red"}"#, "ignored: unknown fields: colour; at PreToolUse Grok reads decision"),
    ] {
        check("PreToolUse", &says(answer), &[expected, "ran"]);
    }
    let rewrites = r#"{"hookSpecificOutput":{"updatedInput":"ls"}}"#;
    check(
        "PreToolUse",
        &says(rewrites),
        &["failed: the answer is refused: hookSpecificOutput.updatedInput is a text", "ignored", "ran"],
    );
    check(
        "Stop-end_turn",
        &says(&specific("Stop", r#""permissionDecision":"deny""#)),
        &["ignored: hookSpecificOutput.permissionDecision is read at PreToolUse only, not at Stop"],
    );
    // Exit 2 is the decision that the reason is of.
    let exit_2 = Answer { stdout: r#"{"reason":"no"}"#, ..exits(2, "") };
    check("PreToolUse", &exit_2, &["denied: no"]);
}

#[test]
fn every_field_is_known_at_its_events() {
    for (recording, answer) in [
        (
            "PreToolUse",
            specific(
                "PreToolUse",
                r#""permissionDecision":"allow","permissionDecisionReason":"x","updatedInput":{},"additionalContext":"x""#,
            ),
        ),
        (
            "PostToolUse",
            specific(
                "PostToolUse",
                r#""additionalContext":"x","updatedToolOutput":1,"updatedMCPToolOutput":{}"#,
            ),
        ),
        ("Stop-end_turn", r#"{"continue":true,"stopReason":"x","decision":"allow","reason":"x"}"#.to_owned()),
        ("UserPromptSubmit", r#"{"decision":"allow","reason":"x"}"#.to_owned()),
    ] {
        let effects = effects(Harness::Grok, VERSION, recording, &says(&answer));
        let bad = effects.iter().find(|effect| matches!(effect.kind, Kind::Ignored | Kind::Failed));
        assert_eq!(bad, None, "{answer}");
        assert_eq!(
            remarks(Harness::Grok, VERSION, recording, &says(&answer)),
            Vec::<String>::new(),
            "{answer}"
        );
    }
}

#[test]
fn an_invalid_matcher_drops_its_hook_where_matchers_are_looked_at() {
    let group = |command: &str| {
        format!(r#"[{{"matcher":"(","hooks":[{{"type":"command","command":"{command}"}}]}}]"#)
    };
    let text = format!(r#"{{"hooks":{{"PreToolUse":{},"Stop":{}}}}}"#, group("a"), group("b"));
    let project = folder(&[(".grok/hooks/a.json", &text)]);
    let found = discover(Harness::Grok, project.path(), folder(&[]).path(), true);
    assert_eq!(registered(&found), ["Stop b"]);
    let said = &found.warnings[0];
    assert!(said.contains("hooks.PreToolUse[0].hooks[0]: invalid matcher \"(\" (unclosed group)"), "{said}");
}

#[test]
fn only_tool_events_carry_context() {
    check(
        "PreToolUse",
        &says(&specific("PreToolUse", r#""additionalContext":"x""#)),
        &["context whole: x", "ran"],
    );
    check(
        "PostToolUse",
        &says(&specific("PostToolUse", r#""additionalContext":"x""#)),
        &["context whole: x"],
    );
    check("PostToolUse", &says(r#"{"decision":"block","reason":"look"}"#), &["context whole: look"]);
    check("PostToolUse", &exits(2, "look"), &["context whole: look"]);
    let failing = Answer { stdout: &specific("PreToolUse", r#""additionalContext":"x""#), ..exits(1, "") };
    check("PreToolUse", &failing, &["failed: exit 1", "ignored: a hook that exits with a failure", "ran"]);
    let long = specific("PreToolUse", &format!(r#""additionalContext":"{}""#, "é".repeat(10_001)));
    let cut = effects(Harness::Grok, VERSION, "PreToolUse", &says(&long)).remove(0);
    assert_eq!((cut.delivered, cut.text.unwrap().chars().count()), (Some(Delivered::Cut), 10_000));
}

#[test]
fn a_stop_is_refused_at_the_end_of_a_turn_only() {
    let block = r#"{"decision":"block","reason":"more"}"#;
    check("Stop-end_turn", &says(block), &["stop refused: more"]);
    check("Stop-end_turn", &exits(2, "more"), &["stop refused: more"]);
    check(
        "Stop-end_turn",
        &says(&specific("Stop", r#""additionalContext":"more""#)),
        &["stop refused: more"],
    );
    check("Stop-shutdown", &says(block), &["ignored: the session ends"]);
    check(
        "Stop-end_turn",
        &says(r#"{"continue":false,"decision":"block","reason":"more"}"#),
        &["message: the turn is ended"],
    );
}

#[test]
fn its_own_claude_codes_and_cursors_files_are_read() {
    let nested = |event: &str, command: &str| {
        format!(r#"{{"hooks":{{"{event}":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#)
    };
    let project = folder(&[
        (".grok/hooks/b.json", &nested("Stop", "b")),
        (".grok/hooks/a.json", &nested("SessionStart", "a")),
        (".grok/hooks/c.txt", "not read"),
        (".claude/settings.json", &nested("SessionStart", "c")),
    ]);
    let home = folder(&[(".cursor/hooks.json", &nested("beforeShellExecution", "d"))]);
    let found = discover(Harness::Grok, project.path(), home.path(), true);
    assert_eq!(registered(&found), ["SessionStart a", "Stop b", "SessionStart c", "PreToolUse d"]);
    let found = discover(Harness::Grok, project.path(), home.path(), false);
    assert_eq!(registered(&found), ["PreToolUse d"]);
    assert!(found.warnings.iter().any(|warning| warning.contains("not trusted")));
}

#[test]
fn matchers_know_claude_codes_names_of_tools_and_not_its_sources() {
    for (matcher, does) in [("", true), ("Bash", true), ("run_terminal", true), ("Write", false)] {
        assert_eq!(takes(Harness::Grok, VERSION, "PreToolUse", matcher), does, "{matcher:?}");
    }
    assert!(!takes(Harness::Grok, VERSION, "SessionStart-new", "startup"));
    assert!(takes(Harness::Grok, VERSION, "SessionStart-new", "new|load"));
}

#[test]
fn timeouts_are_short_but_for_gates() {
    assert_eq!(Grok.timeout("PreToolUse", None), Duration::from_secs(5));
    assert_eq!(Grok.timeout("Stop", None), Duration::from_secs(600));
    assert_eq!(Grok.timeout("PreToolUse", Some(30.0)), Duration::from_secs(30));
}

#[test]
fn a_wrong_shape_costs_the_file_and_a_bad_entry_itself() {
    let good = r#"{"type":"command","command":"good"}"#;
    let with = |bad: &str| format!("{{\"hooks\":{{\"Stop\":[{{\"hooks\":[{good},{bad}]}}]}}}}");
    for (text, is_read) in [
        (with(r#"{"type":"command","command":"bad","timeout":1.5}"#), false),
        (with(r#"{"type":"sorcery","command":"bad"}"#), true),
        (with(r#"{"type":"command"}"#), true),
        (format!("\u{feff}{}", with(good)), false),
        (format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{good}]}}],"PreToolUse":{{}}}}}}"#), false),
        (String::new(), false),
    ] {
        let project = folder(&[(".grok/hooks/a.json", &text)]);
        let found = discover(Harness::Grok, project.path(), folder(&[]).path(), true);
        assert_eq!(registered(&found).contains(&"Stop good".to_owned()), is_read, "{text}");
    }
}

#[test]
fn a_relative_program_stands_beside_its_file_and_an_entry_may_set_variables() {
    let entry = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"bin/it.sh now","env":{"LEVEL":"high"}}]}]}}"#;
    let project = folder(&[(".grok/hooks/a.json", entry), (".grok/hooks/bin/it.sh", "")]);
    let found = discover(Harness::Grok, project.path(), folder(&[]).path(), true);
    let program = project.path().join(".grok/hooks/bin/it.sh");
    assert_eq!(found.registrations[0].command, format!("'{}' now", program.display()));
    assert_eq!(found.registrations[0].environment, [("LEVEL".to_owned(), "high".to_owned())]);
}

#[test]
fn the_homes_config_registers_hooks_too() {
    let config = "[[hooks.Stop]]\nhooks = [{ type = \"command\", command = \"a\", timeout = 10 }]\n";
    let home = folder(&[(".grok/config.toml", config)]);
    assert_eq!(registered(&discover(Harness::Grok, folder(&[]).path(), home.path(), true)), ["Stop a"]);
}
