//! A table of answers, matchers and files, with what this harness makes of each.

use std::time::Duration;

use super::super::testing::{
    Answer, assert_effects, discover, effects, exits, folder, registered, remarks, says, takes,
};
use super::super::{Account, Harness};
use super::Claude;
use crate::report::{Delivered, Kind};

const VERSION: &str = "2.1.332";

#[track_caller]
fn check(recording: &str, answer: &Answer<'_>, expected: &[&str]) {
    assert_effects(&effects(Harness::Claude, VERSION, recording, answer), expected, answer.stdout);
}

fn specific(event: &str, fields: &str) -> String {
    format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{event}",{fields}}}}}"#)
}

#[test]
fn plain_text_is_context_where_the_model_reads_it() {
    check("SessionStart-startup-headless", &says("hello\n"), &["context whole: hello"]);
    check("UserPromptSubmit-headless", &says("hello"), &["context whole: hello"]);
    check("PreCompact-auto", &says("keep the plan"), &["context whole: keep the plan"]);
    check("PostToolUse-Bash-headless", &says("hello"), &["ignored: plain text reaches the model at"]);
    check("PreToolUse-Bash-headless", &says("hello"), &["ignored: ", "ran"]);
    check("SessionStart-startup-headless", &says(""), &[]);
}

#[test]
fn what_begins_like_json_and_is_none_is_text() {
    check("SessionStart-startup-headless", &says("{ not json"), &["context whole: { not json"]);
    check("SessionStart-startup-headless", &says("{}{}"), &["context whole: {}{}"]);
    check("SessionStart-startup-headless", &says("[1]"), &["context whole: [1]"]);
    let two = effects(Harness::Claude, VERSION, "SessionStart-startup", &says("{}{}"));
    assert!(two[0].why.as_deref().unwrap().contains("2 JSON documents"));
    let before = effects(Harness::Claude, VERSION, "SessionStart-startup", &says("note\n{}"));
    assert!(before[0].why.as_deref().unwrap().contains("5 bytes of text before the JSON"));
    check(
        "PreToolUse-Bash-headless",
        &says("note\n{}"),
        &["ignored: read as plain text: 5 bytes of text before", "ran"],
    );
}

#[test]
fn ten_thousand_characters_are_whole_and_one_more_is_a_preview() {
    let context = |text: &str| {
        let answer = specific("SessionStart", &format!(r#""additionalContext":"{text}""#));
        let mut all = effects(Harness::Claude, VERSION, "SessionStart-startup-headless", &says(&answer));
        let plain = effects(Harness::Claude, VERSION, "SessionStart-startup-headless", &says(text));
        let json = all.pop().unwrap();
        assert_eq!(plain[0].delivered, json.delivered);
        json
    };
    assert_eq!(context(&"x".repeat(10_000)).delivered, Some(Delivered::Whole));
    let cut = context(&"x".repeat(10_001));
    assert_eq!((cut.delivered, cut.bytes), (Some(Delivered::Preview), Some(10_001)));
    assert_eq!(cut.text.unwrap().matches('x').count(), 2_000);
    // Units of UTF-16, not bytes and not characters.
    assert_eq!(context(&"é".repeat(10_000)).delivered, Some(Delivered::Whole));
    assert_eq!(context(&"😀".repeat(5_001)).delivered, Some(Delivered::Preview));
}

#[test]
fn a_tool_is_denied_asked_for_or_runs() {
    let decision = |word: &str| {
        specific("PreToolUse", &format!(r#""permissionDecision":"{word}","permissionDecisionReason":"why""#))
    };
    check("PreToolUse-Bash-headless", &says(&decision("deny")), &["denied: why"]);
    check("PreToolUse-Bash-headless", &says(&decision("allow")), &["ran"]);
    check("PreToolUse-Bash-headless", &says(&decision("defer")), &["ran"]);
    check(
        "PreToolUse-Bash-headless",
        &says(&decision("ask")),
        &["denied: asked, and in print mode nobody can be asked: why"],
    );
    check("PreToolUse-Bash-tui", &says(&decision("ask")), &["asked: why"]);
    check(
        "PreToolUse-Bash-headless",
        &says(&decision("maybe")),
        &[
            "failed: the answer is refused: hookSpecificOutput.permissionDecision is \"maybe\"",
            "ignored",
            "ran",
        ],
    );
    check("PreToolUse-Bash-headless", &says(r#"{"decision":"block","reason":"no"}"#), &["denied: no"]);
    check(
        "PreToolUse-Bash-headless",
        &says(r#"{"continue":false,"stopReason":"enough"}"#),
        &["denied: enough"],
    );
    check("PreToolUse-Bash-headless", &says(""), &["ran"]);
}

#[test]
fn exit_2_blocks_what_can_be_blocked() {
    check("PreToolUse-Bash-headless", &exits(2, "no\n"), &["denied: no"]);
    check("Stop-first-headless", &exits(2, "tests\nfail"), &["stop refused: tests\nfail"]);
    check("UserPromptSubmit-headless", &exits(2, "no"), &["denied: no", "message: no"]);
    check("PostToolUse-Bash-headless", &exits(2, "look"), &["context whole: look"]);
    check("PreCompact-auto", &exits(2, "not now"), &["denied: not now"]);
    check(
        "SessionStart-startup-headless",
        &exits(2, "x"),
        &["ignored: exit 2 blocks nothing at SessionStart", "message: x"],
    );
}

#[test]
fn other_failures_let_the_tool_run() {
    check("PreToolUse-Bash-headless", &exits(1, "boom"), &["failed: exit 1: boom", "ran"]);
    check(
        "PreToolUse-Bash-headless",
        &exits(127, "sh: nope"),
        &["failed: exit 127 (not found): sh: nope", "ran"],
    );
    check("SessionStart-startup-headless", &exits(126, ""), &["failed: exit 126 (not executable)"]);
}

#[test]
fn a_wrong_shape_names_its_field() {
    for (answer, field) in [
        (r#"{"continue":"no"}"#.to_owned(), "continue is a text"),
        (r#"{"systemMessage":5}"#.to_owned(), "systemMessage is a number"),
        (r#"{"hookSpecificOutput":[]}"#.to_owned(), "hookSpecificOutput is a list"),
        (
            r#"{"hookSpecificOutput":{"additionalContext":"x"}}"#.to_owned(),
            "hookSpecificOutput.hookEventName is missing",
        ),
        (
            specific("SessionStart", r#""watchPaths":"x""#),
            "hookSpecificOutput.watchPaths is a text, not a list",
        ),
        (
            specific("SessionStart", r#""additionalContext":{}"#),
            "hookSpecificOutput.additionalContext is an object",
        ),
        (r#"{"decision":"deny"}"#.to_owned(), "decision is \"deny\", not one of approve, block"),
    ] {
        let expected = format!("failed: the answer is refused: {field}");
        check("SessionStart-startup-headless", &says(&answer), &[&expected, "ignored"]);
    }
}

#[test]
fn an_answer_for_another_event_is_not_taken() {
    let other = specific("PostToolUse", r#""additionalContext":"x""#);
    check(
        "SessionStart-startup-headless",
        &says(&other),
        &["failed: hookSpecificOutput is for PostToolUse, and this is SessionStart"],
    );
    let blocks = r#"{"decision":"block","reason":"no","hookSpecificOutput":{"hookEventName":"PostToolUse"}}"#;
    check("PreToolUse-Bash-headless", &says(blocks), &["denied: no", "ignored: hookSpecificOutput is for"]);
}

#[test]
fn unknown_fields_are_ignored_and_named() {
    check(
        "SessionStart-startup-headless",
        &says(r#"{"additionalContext":"x"}"#),
        &["ignored: additionalContext is not read by Claude Code: additionalContext belongs inside hook"],
    );
}

#[test]
fn a_misspelt_field_is_named_with_what_was_meant() {
    let call = "PreToolUse-Bash-headless";
    let inside = specific("PreToolUse", r#""permissionDecison":"deny","permissionDecisionReason":"no""#);
    for (answer, expected) in [
        (
            inside.as_str(),
            "ignored: hookSpecificOutput.permissionDecison is not read by Claude Code: did you mean permissionDecision (one of allow, deny, ask, defer)?",
        ),
        (
            r#"{"permissionDecison":"deny"}"#,
            "ignored: permissionDecison is not read by Claude Code: did you mean hookSpecificOutput.permissionDecision",
        ),
        (
            r#"{"permissionDecision":"deny"}"#,
            "ignored: permissionDecision is not read by Claude Code: permissionDecision belongs inside",
        ),
        (
            r#"{"permission":"deny"}"#,
            "ignored: permission is not read by Claude Code: it is Cursor's; Claude Code reads hookSpecificOutput.permissionDecision or decision",
        ),
        (
            r#"{"hookSpecificOuput":{"hookEventName":"PreToolUse"}}"#,
            "ignored: hookSpecificOuput is not read by Claude Code: did you mean hookSpecificOutput",
        ),
        (
            r#"{"colour":"red"}"#,
            "ignored: unknown fields: colour; at PreToolUse Claude Code reads hookSpecificOutput.permissionDecision, decision",
        ),
        (r#"{"reason":"no"}"#, "ignored: reason is the reason of a decision, and there is no decision"),
        (r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse"}}"#, "ignored: the answer says nothing"),
    ] {
        check(call, &says(answer), &[expected, "ran"]);
        assert_eq!(remarks(Harness::Claude, VERSION, call, &says(answer)), Vec::<String>::new(), "{answer}");
    }
    check(
        "SessionStart-startup-headless",
        &says(&specific("SessionStart", r#""permissionDecision":"deny""#)),
        &[
            "ignored: hookSpecificOutput.permissionDecision is read at PreModelSwitch, PreSkillShellCommand, PreToolUse only",
        ],
    );
    check(
        "Stop-first-headless",
        &says(r#"{"followup_message":"more"}"#),
        &["ignored: followup_message is not read by Claude Code: it is Cursor's; Claude Code reads decision"],
    );
}

#[test]
fn an_unknown_field_beside_a_right_answer_is_a_remark() {
    let answer = r#"{"decision":"block","reason":"no","colour":"red"}"#;
    check("PreToolUse-Bash-headless", &says(answer), &["denied: no"]);
    let said = remarks(Harness::Claude, VERSION, "PreToolUse-Bash-headless", &says(answer));
    assert!(said.len() == 1 && said[0].starts_with("unknown fields: colour; at PreToolUse"), "{said:?}");
}

#[test]
fn every_field_is_known_at_its_events() {
    for (recording, answer) in [
        ("PreToolUse-Bash-headless", specific("PreToolUse", r#""permissionDecision":"allow","permissionDecisionReason":"x","updatedInput":{},"additionalContext":"x""#)),
        ("PostToolUse-Bash-headless", specific("PostToolUse", r#""additionalContext":"x","updatedToolOutput":1,"updatedMCPToolOutput":{},"classifierContext":"x""#)),
        ("SessionStart-startup-headless", specific("SessionStart", r#""additionalContext":"x","initialUserMessage":"x","sessionTitle":"x","watchPaths":[],"reloadSkills":true"#)),
        ("UserPromptSubmit-headless", specific("UserPromptSubmit", r#""additionalContext":"x","sessionTitle":"x","suppressOriginalPrompt":true"#)),
        ("Stop-first-headless", r#"{"continue":true,"stopReason":"x","suppressOutput":true,"systemMessage":"x","terminalSequence":"x","decision":"approve","reason":"x"}"#.to_owned()),
    ] {
        let effects = effects(Harness::Claude, VERSION, recording, &says(&answer));
        let bad = effects.iter().find(|effect| matches!(effect.kind, Kind::Ignored | Kind::Failed));
        assert_eq!(bad, None, "{answer}");
        assert_eq!(remarks(Harness::Claude, VERSION, recording, &says(&answer)), Vec::<String>::new(), "{answer}");
    }
}

#[test]
fn a_matcher_that_is_no_expression_is_told_from_one_that_is_not_played() {
    for (matcher, says) in [
        (
            "Bash(",
            Some("is no regular expression (unclosed group): Claude Code says so in its debug log only"),
        ),
        ("(?!Bash)", Some("has what the simulator does not play")),
        ("Edit|Write", None),
        ("*", None),
        ("^Ba", None),
    ] {
        let said = Claude.unreadable(matcher);
        assert_eq!(said.is_some(), says.is_some(), "{matcher}: {said:?}");
        assert!(said.unwrap_or_default().starts_with(says.unwrap_or_default()), "{matcher}");
    }
}

#[test]
fn a_stop_is_refused_by_a_block_and_by_context() {
    check("Stop-first-headless", &says(r#"{"decision":"block","reason":"more"}"#), &["stop refused: more"]);
    check(
        "Stop-first-headless",
        &says(&specific("Stop", r#""additionalContext":"more""#)),
        &["context whole: more", "stop refused: "],
    );
    check("Stop-first-headless", &says(r#"{"systemMessage":"bye"}"#), &["message: bye"]);
}

#[test]
fn context_is_read_where_it_is_read() {
    for event in ["PreToolUse-Bash-headless", "PostToolUse-Bash-headless", "UserPromptSubmit-headless"] {
        let name = event.split('-').next().unwrap();
        let found =
            effects(Harness::Claude, VERSION, event, &says(&specific(name, r#""additionalContext":"x""#)));
        assert!(found.iter().any(|effect| effect.kind == Kind::Context), "{event}");
    }
    check(
        "SessionEnd-other-headless",
        &says(&specific("SessionEnd", r#""additionalContext":"x""#)),
        &["ignored: additionalContext is not read at SessionEnd"],
    );
}

#[test]
fn a_matcher_is_a_list_of_names_or_an_expression() {
    for (matcher, does) in [
        ("", true),
        ("*", true),
        ("Bash", true),
        ("Edit|Bash", true),
        ("Edit, Bash", true),
        ("Bas", false),
        ("^Ba", true),
        ("B.*h$", true),
        ("bash", false),
        ("Edit|Write", false),
        ("(", false),
    ] {
        assert_eq!(takes(Harness::Claude, VERSION, "PreToolUse-Bash-headless", matcher), does, "{matcher:?}");
    }
    assert!(takes(Harness::Claude, VERSION, "SessionStart-fork", "fork"));
    assert!(!takes(Harness::Claude, VERSION, "SessionStart-fork", "startup|resume|clear|compact"));
    // No matchers there.
    assert!(takes(Harness::Claude, VERSION, "Stop-first-headless", "never"));
}

#[test]
fn hooks_of_the_project_its_local_file_and_the_home_add_up() {
    let hooks = |command: &str| {
        format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#)
    };
    let project =
        folder(&[(".claude/settings.json", &hooks("a")), (".claude/settings.local.json", &hooks("b"))]);
    let home = folder(&[(".claude/settings.json", &hooks("c"))]);
    let found = discover(Harness::Claude, project.path(), home.path(), true);
    assert_eq!(registered(&found), ["Stop c", "Stop a", "Stop b"]);
    assert_eq!(found.warnings, Vec::<String>::new());
}

#[test]
fn a_settings_file_with_an_error_is_skipped_as_a_whole() {
    let project = folder(&[(".claude/settings.json", r#"{"hooks": {"Stop": [}"#)]);
    let home = folder(&[]);
    let found = discover(Harness::Claude, project.path(), home.path(), true);
    assert!(found.registrations.is_empty());
    assert!(
        found.warnings[0].contains("settings.json") && found.warnings[0].contains("uses nothing of the file"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn what_is_wrong_in_a_settings_file_is_said() {
    let project = folder(&[(
        ".claude/settings.json",
        r#"{"hooks":{"Stopp":[],"Stop":{},"PreToolUse":[{"hooks":[{"type":"prompt"},{"type":"command"},{"type":"command","command":"x","timeout":5000}]}]}}"#,
    )]);
    let found = discover(Harness::Claude, project.path(), folder(&[]).path(), true);
    let all = found.warnings.join("\n");
    for part in [
        "hooks.Stopp is no event",
        "hooks.Stop is not a list",
        "type \"prompt\"",
        "has no command; it is skipped",
        "meant in milliseconds",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert_eq!(registered(&found), ["PreToolUse x"]);
}

#[test]
fn hooks_can_be_switched_off_in_any_file() {
    let hooks = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"}]}]}}"#;
    let project = folder(&[
        (".claude/settings.json", hooks),
        (".claude/settings.local.json", r#"{"disableAllHooks":true}"#),
    ]);
    let found = discover(Harness::Claude, project.path(), folder(&[]).path(), true);
    assert!(found.registrations.is_empty() && found.warnings[0].contains("disableAllHooks"));
}

#[test]
fn timeouts_are_seconds_with_exceptions() {
    let of = |event, registered| Claude.timeout(event, registered);
    assert_eq!(of("PreToolUse", None), Duration::from_secs(600));
    assert_eq!(of("UserPromptSubmit", None), Duration::from_secs(30));
    assert_eq!(of("SessionEnd", None), Duration::from_millis(1500));
    assert_eq!(of("SessionEnd", Some(5.0)), Duration::from_secs(5));
    assert_eq!(of("SessionEnd", Some(90.0)), Duration::from_secs(60));
    assert_eq!(of("PreToolUse", Some(5.0)), Duration::from_secs(5));
}

#[test]
fn a_mistake_costs_its_entry_and_a_mark_or_an_empty_file_nothing() {
    let good = r#"{"type":"command","command":"good"}"#;
    for bad in [
        r#"{"type":"command","command":"bad","timeout":0}"#,
        r#"{"type":"command","command":"bad","timeout":"5"}"#,
        r#"{"type":"sorcery","command":"bad"}"#,
        r#"{"type":"command"}"#,
    ] {
        let text = format!("\u{feff}{{\"hooks\":{{\"Stop\":[{{\"hooks\":[{bad},{good}]}}]}}}}");
        let project = folder(&[(".claude/settings.json", &text), (".claude/settings.local.json", " \n")]);
        let found = discover(Harness::Claude, project.path(), folder(&[]).path(), true);
        assert_eq!(registered(&found), ["Stop good"], "{bad}");
        assert!(
            found.warnings.len() == 1 && found.warnings[0].contains("hooks.Stop[0].hooks[0]"),
            "{:?}",
            found.warnings
        );
    }
}
