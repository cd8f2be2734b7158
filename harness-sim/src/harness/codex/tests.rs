//! A table of answers, matchers and files, with what this harness makes of each.

use std::time::Duration;

use super::super::testing::{
    Answer, assert_effects, discover, effects, exits, folder, registered, says, takes,
};
use super::super::{Account, Harness, Registration, Scope};
use super::Codex;
use crate::report::Delivered;

const VERSION: &str = "0.171.0";
const CALL: &str = "PreToolUse-Bash-bypassPermissions-headless";
const OPEN: &str = "SessionStart-startup-bypassPermissions-headless";

#[track_caller]
fn check(recording: &str, answer: &Answer<'_>, expected: &[&str]) {
    assert_effects(&effects(Harness::Codex, VERSION, recording, answer), expected, answer.stdout);
}

fn specific(event: &str, fields: &str) -> String {
    format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{event}",{fields}}}}}"#)
}

#[test]
fn plain_text_is_context_an_error_or_nothing_by_event() {
    check(OPEN, &says("hello\n"), &["context whole: hello"]);
    check("UserPromptSubmit-bypass", &says("hello"), &["context whole: hello"]);
    check("Stop-first", &says("done"), &["failed: the answer is refused: plain text", "ignored"]);
    check(CALL, &says("hello"), &["ignored: plain text is not read at PreToolUse", "ran"]);
    check(OPEN, &says(""), &[]);
}

#[test]
fn text_before_the_json_makes_all_of_it_plain_text() {
    let answer = "loading\n{\"decision\":\"block\",\"reason\":\"no\"}";
    let whole = "text before the JSON document: Codex takes the whole as plain text";
    let open = effects(Harness::Codex, VERSION, OPEN, &says(answer));
    assert_eq!((open[0].text.as_deref(), open[0].why.as_deref()), (Some(answer), Some(whole)));
    check(CALL, &says(answer), &[&format!("ignored: {whole}, which is not read at PreToolUse"), "ran"]);
    let refused = format!("failed: the answer is refused: {whole}, where JSON or nothing is read");
    check("Stop-first", &says(answer), &[&refused, "ignored"]);
    check(
        OPEN,
        &says("[info] loading\n{}"),
        &["failed: the answer is refused: text before the JSON document, and it begins with [", "ignored"],
    );
}

#[test]
fn codex_does_not_start_with_a_config_that_it_cannot_read() {
    let hooks = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"}]}]}}"#;
    for (config, says) in [
        (
            "hooks = [\n",
            "TOML parse error at line 1, column 10: unclosed array, expected `]`; Codex does not start",
        ),
        (
            "[[hooks.Stop]]\nhooks = [{ type = \"sorcery\" }]\n",
            "unknown type \"sorcery\"; Codex does not start",
        ),
    ] {
        let project = folder(&[(".codex/hooks.json", hooks), (".codex/config.toml", config)]);
        let found = discover(Harness::Codex, project.path(), folder(&[]).path(), true);
        assert_eq!(registered(&found), Vec::<String>::new(), "{config}");
        let why = &found.rejected[0].warning;
        assert!(why.contains("config.toml: ") && why.contains(says), "{why}");
    }
}

#[test]
fn what_begins_like_json_has_to_fit() {
    check(OPEN, &says("{ not json"), &["failed: the answer is refused: not valid JSON", "ignored"]);
    check(OPEN, &says("[info] started"), &["failed: the answer is refused: ", "ignored"]);
    check(OPEN, &says("[1]"), &["failed: the answer is refused: the answer is a list", "ignored"]);
    check(OPEN, &says("{}{}"), &["failed: the answer is refused: 2 JSON documents", "ignored"]);
    check(
        OPEN,
        &says(r#"{"additionalContext":"x"}"#),
        &["failed: the answer is refused: unknown field additionalContext", "ignored"],
    );
    check(
        OPEN,
        &says(&specific("SessionStart", r#""extra":1"#)),
        &["failed: the answer is refused: unknown field hookSpecificOutput.extra", "ignored"],
    );
    check(
        OPEN,
        &says(&specific("Stop", r#""additionalContext":"x""#)),
        &["failed: the answer is refused: hookSpecificOutput.hookEventName is \"Stop\"", "ignored"],
    );
    check(
        OPEN,
        &says(&specific("SessionStart", r#""additionalContext":7"#)),
        &["failed: the answer is refused: hookSpecificOutput.additionalContext is a number", "ignored"],
    );
    check(OPEN, &says(&specific("SessionStart", r#""additionalContext":"x""#)), &["context whole: x"]);
}

#[test]
fn a_field_that_is_refused_comes_with_what_was_meant() {
    for (recording, answer, expected) in [
        (
            CALL,
            specific("PreToolUse", r#""permissionDecison":"deny""#),
            "hookSpecificOutput.permissionDecison: did you mean permissionDecision (one of allow, deny, ask)?",
        ),
        (
            CALL,
            r#"{"permission":"deny"}"#.to_owned(),
            "permission: it is Cursor's; Codex reads hookSpecificOutput.permissionDecision or decision",
        ),
        (
            "Stop-first",
            specific("Stop", r#""additionalContext":"x""#),
            "hookSpecificOutput: it is read at PermissionRequest, PostToolUse",
        ),
    ] {
        let effects = effects(Harness::Codex, VERSION, recording, &says(&answer));
        let expected = format!("the answer is refused: unknown field {expected}");
        assert!(effects[0].why.as_deref().unwrap().starts_with(&expected), "{:?}", effects[0].why);
    }
}

#[test]
fn a_tool_can_be_denied_and_nothing_else() {
    let decision = |fields: &str| specific("PreToolUse", fields);
    check(
        CALL,
        &says(&decision(r#""permissionDecision":"deny","permissionDecisionReason":"no""#)),
        &["denied: no"],
    );
    check(
        CALL,
        &says(&decision(r#""permissionDecision":"deny""#)),
        &["failed: the answer is refused: permissionDecision:deny without", "ignored", "ran"],
    );
    check(
        CALL,
        &says(&decision(r#""permissionDecision":"ask""#)),
        &["failed: the answer is refused: permissionDecision:ask", "ignored", "ran"],
    );
    check(
        CALL,
        &says(&decision(r#""permissionDecision":"allow""#)),
        &["failed: the answer is refused: permissionDecision:allow", "ignored", "ran"],
    );
    check(
        CALL,
        &says(r#"{"continue":false}"#),
        &["failed: the answer is refused: continue:false", "ignored", "ran"],
    );
    check(
        CALL,
        &says(r#"{"suppressOutput":true}"#),
        &["failed: the answer is refused: suppressOutput", "ignored", "ran"],
    );
    check(
        CALL,
        &says(r#"{"decision":"approve"}"#),
        &["failed: the answer is refused: decision:approve", "ignored", "ran"],
    );
    check(CALL, &says(r#"{"decision":"block","reason":"no"}"#), &["denied: no"]);
    check(CALL, &says(""), &["ran"]);
}

#[test]
fn a_stop_takes_a_decision_with_a_reason() {
    check("Stop-first", &says(r#"{"decision":"block","reason":"more"}"#), &["stop refused: more"]);
    check(
        "Stop-first",
        &says(r#"{"decision":"block","reason":" "}"#),
        &["failed: the answer is refused: decision:block without a reason", "ignored"],
    );
    check(
        "Stop-first",
        &says(&specific("Stop", r#""additionalContext":"x""#)),
        &["failed: the answer is refused: unknown field hookSpecificOutput", "ignored"],
    );
    check("Stop-first", &says("{}"), &[]);
}

#[test]
fn exit_2_needs_a_reason() {
    check(CALL, &exits(2, "no"), &["denied: no"]);
    check(CALL, &exits(2, " \n"), &["failed: exit 2 without a reason", "ran"]);
    check("Stop-first", &exits(2, "more"), &["stop refused: more"]);
    check("PostToolUse-Bash", &exits(2, "look"), &["context whole: look"]);
    check(CALL, &exits(1, "boom"), &["failed: exit 1: boom", "ran"]);
    let both = Answer { stdout: "{}", ..exits(2, "no") };
    check(CALL, &both, &["denied: no", "ignored: exit 2 and JSON together"]);
}

#[test]
fn ten_thousand_bytes_are_whole_and_one_more_is_cut() {
    let of = |text: &str, limit: Option<u64>| {
        let registration = limit.map(|_| Registration {
            event: String::new(),
            matcher: None,
            command: String::new(),
            args: None,
            environment: Vec::new(),
            place: String::new(),
            timeout: None,
            fail_closed: false,
            context_limit: limit,
            file: "hooks.json".into(),
            scope: Scope::Project,
            from: None,
        });
        let answer = Answer { registration, ..says(text) };
        effects(Harness::Codex, VERSION, OPEN, &answer).remove(0)
    };
    assert_eq!(of(&"x".repeat(10_000), None).delivered, Some(Delivered::Whole));
    let cut = of(&format!("{}{}", "a".repeat(5_000), "b".repeat(5_001)), None);
    assert_eq!((cut.delivered, cut.bytes), (Some(Delivered::Cut), Some(10_001)));
    let text = cut.text.unwrap();
    assert!(
        text.starts_with(&"a".repeat(5_000))
            && text.ends_with(&"b".repeat(5_000))
            && text.contains(" 1 bytes")
    );
    // Bytes, not characters.
    assert_eq!(of(&"é".repeat(5_001), None).delivered, Some(Delivered::Cut));
    assert_eq!(of(&"x".repeat(10_001), Some(10_000)).delivered, Some(Delivered::Whole));
    assert_eq!(of(&"x".repeat(900_000), Some(0)).delivered, Some(Delivered::Whole));
}

#[test]
fn a_matcher_is_a_list_of_names_or_an_expression() {
    for (matcher, does) in [
        ("", true),
        ("*", true),
        ("Bash", true),
        ("Edit|Bash", true),
        ("Edit, Bash", false),
        ("Bas", false),
        ("^Ba", true),
    ] {
        assert_eq!(takes(Harness::Codex, VERSION, CALL, matcher), does, "{matcher:?}");
    }
}

#[test]
fn hooks_of_all_four_files_add_up() {
    let json = |command: &str| {
        format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#)
    };
    let toml = |command: &str| {
        format!(
            "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"{command}\"\ntimeout = 5\n[hooks.state]\nx = 1\n"
        )
    };
    let project = folder(&[(".codex/hooks.json", &json("a")), (".codex/config.toml", &toml("b"))]);
    let home = folder(&[(".codex/hooks.json", &json("c")), (".codex/config.toml", &toml("d"))]);
    let found = discover(Harness::Codex, project.path(), home.path(), true);
    assert_eq!(registered(&found), ["Stop c", "Stop d", "Stop a", "Stop b"]);
    assert_eq!(found.registrations[3].timeout, Some(5.0));
    let found = discover(Harness::Codex, project.path(), home.path(), false);
    assert_eq!(registered(&found), ["Stop c", "Stop d"]);
    assert!(found.warnings[0].contains("not trusted"));
}

#[test]
fn another_key_at_the_root_of_hooks_json_refuses_the_file() {
    let project = folder(&[(
        ".codex/hooks.json",
        r#"{"version":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"}]}]}}"#,
    )]);
    let found = discover(Harness::Codex, project.path(), folder(&[]).path(), true);
    assert!(
        found.registrations.is_empty() && found.warnings[0].contains("`version`"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn an_invalid_matcher_drops_its_hooks() {
    let project = folder(&[(
        ".codex/hooks.json",
        r#"{"hooks":{"PreToolUse":[{"matcher":"(","hooks":[{"type":"command","command":"a"}]},{"hooks":[{"type":"command","command":"b"}]}]}}"#,
    )]);
    let found = discover(Harness::Codex, project.path(), folder(&[]).path(), true);
    assert_eq!(registered(&found), ["PreToolUse b"]);
    assert!(found.warnings.iter().any(|warning| warning.contains("invalid matcher")));
}

#[test]
fn timeouts_are_seconds_and_short_at_the_end() {
    assert_eq!(Codex.timeout("Stop", None), Duration::from_secs(600));
    assert_eq!(Codex.timeout("SessionEnd", None), Duration::from_secs(1));
    assert_eq!(Codex.timeout("SessionEnd", Some(30.0)), Duration::from_secs(3));
    assert_eq!(Codex.timeout("Stop", Some(0.0)), Duration::from_secs(1));
}

#[test]
fn one_mistake_rejects_the_whole_file() {
    let good = r#"{"type":"command","command":"good"}"#;
    let with = |bad: &str| format!("{{\"hooks\":{{\"Stop\":[{{\"hooks\":[{good},{bad}]}}]}}}}");
    for text in [
        with(r#"{"type":"command","command":"bad","timeout":1.5}"#),
        with(r#"{"type":"command","command":"bad","timeout":-1}"#),
        with(r#"{"type":"sorcery","command":"bad"}"#),
        with(r#"{"type":"command"}"#),
        format!("\u{feff}{}", with(good)),
        format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{good}]}}],"PreToolUse":{{}}}}}}"#),
        String::new(),
    ] {
        let project = folder(&[(".codex/hooks.json", &text)]);
        let found = discover(Harness::Codex, project.path(), folder(&[]).path(), true);
        assert_eq!(registered(&found), Vec::<String>::new(), "{text}");
        assert!(found.warnings[0].contains("uses nothing of the file"), "{:?}", found.warnings);
    }
    let unknown = format!(r#"{{"hooks":{{"Later":{{}},"Stop":[{{"own":1,"hooks":[{good}]}}]}}}}"#);
    let project = folder(&[(".codex/hooks.json", &unknown)]);
    let found = discover(Harness::Codex, project.path(), folder(&[]).path(), true);
    assert_eq!(registered(&found), ["Stop good"]);
}

#[test]
fn a_hook_that_the_person_has_switched_off_does_not_run() {
    let home = folder(&[(
        ".codex/hooks.json",
        r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"a"},{"type":"command","command":"b"}]}]}}"#,
    )]);
    let file = home.path().join(".codex/hooks.json");
    let state = format!(
        "[hooks.state.\"{}:session_start:0:1\"]\ntrusted_hash = \"sha256:x\"\nenabled = false\n",
        file.display()
    );
    std::fs::write(home.path().join(".codex/config.toml"), state).unwrap();
    let found = discover(Harness::Codex, folder(&[]).path(), home.path(), true);
    assert_eq!(registered(&found), ["SessionStart a"]);
}
