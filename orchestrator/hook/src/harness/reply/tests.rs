//! Answers, and what they are cut to.

use rstest::rstest;
use serde_json::Value;

use super::super::TABLE;
use super::*;

fn harness(id: &str) -> &'static Harness {
    Harness::by_name(id).unwrap().0
}

fn context(id: &str, name: Option<&str>, kind: EventKind, text: &str) -> String {
    let written = write(harness(id), name, Some(kind), &Reply::Context(text.to_owned()));
    assert_eq!(written.exit_code, 0);
    String::from_utf8(written.stdout).unwrap()
}

/// The text in an answer of Claude Code's form.
fn text_of(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap();
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

#[test]
fn nothing_is_the_neutral_answer() {
    for harness in TABLE {
        for kind in EventKind::ALL.into_iter().map(Some).chain([None]) {
            let name = kind.and_then(|kind| harness.event_name(kind));
            let written = write(harness, name, kind, &Reply::Nothing);
            assert_eq!(written, Written { stdout: neutral(harness, name, kind).to_vec(), exit_code: 0 });
        }
    }
}

#[test]
fn only_cursor_has_to_be_answered() {
    for harness in TABLE.into_iter().filter(|harness| harness.id != "cursor") {
        for kind in EventKind::ALL {
            assert_eq!(neutral(harness, harness.event_name(kind), Some(kind)), b"", "{}", harness.id);
        }
    }
}

#[rstest]
#[case::by_name(Some("preToolUse"), Some(EventKind::BeforeTool), true)]
#[case::shell(Some("beforeShellExecution"), Some(EventKind::BeforeTool), true)]
#[case::mcp(Some("beforeMCPExecution"), Some(EventKind::BeforeTool), true)]
#[case::file(Some("beforeReadFile"), Some(EventKind::BeforeTool), true)]
#[case::sub_agent(Some("subagentStart"), None, true)]
#[case::in_another_spelling(Some("PreToolUse"), None, true)]
#[case::unreadable(None, Some(EventKind::BeforeTool), true)]
#[case::prompt(Some("beforeSubmitPrompt"), Some(EventKind::Prompt), false)]
#[case::after(Some("postToolUse"), Some(EventKind::AfterTool), false)]
#[case::open(Some("sessionStart"), Some(EventKind::SessionOpen), false)]
#[case::compact(Some("preCompact"), Some(EventKind::BeforeCompact), false)]
#[case::unknown(Some("someday"), None, false)]
#[case::nothing_known(None, None, false)]
fn cursor_is_allowed_what_it_asks_for(
    #[case] name: Option<&str>,
    #[case] kind: Option<EventKind>,
    #[case] permission: bool,
) {
    let expected: &[u8] = if permission { br#"{"permission":"allow"}"# } else { b"{}" };
    assert_eq!(neutral(harness("cursor"), name, kind), expected);
}

#[rstest]
#[case("claude", "session-open prompt after-tool")]
#[case("codex", "session-open prompt after-tool")]
#[case("cursor", "session-open after-tool")]
#[case("pi", "session-open prompt")]
#[case("opencode", "session-open prompt stop")]
#[case("grok", "before-tool after-tool")]
fn these_events_bring_text_to_the_model(#[case] id: &str, #[case] expected: &str) {
    let name = |kind| match (id, kind) {
        ("cursor", EventKind::AfterTool) => Some("postToolUse"),
        _ => None,
    };
    let carrying: Vec<&str> = EventKind::ALL
        .into_iter()
        .filter(|kind| carries_context(harness(id), name(*kind), Some(*kind)))
        .map(EventKind::id)
        .collect();
    assert_eq!(carrying.join(" "), expected);
    assert!(!carries_context(harness(id), None, None));
}

#[test]
fn of_cursors_events_around_a_tool_call_one_brings_text() {
    for (name, expected) in [("postToolUse", true), ("afterShellExecution", false), ("afterFileEdit", false)]
    {
        assert_eq!(carries_context(harness("cursor"), Some(name), Some(EventKind::AfterTool)), expected);
    }
}

#[test]
fn an_answer_names_the_event_that_was_fired() {
    let answer = |name| context("claude", name, EventKind::AfterTool, "x");
    let named =
        |name| format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{name}","additionalContext":"x"}}}}"#);
    assert_eq!(answer(Some("PostToolUseFailure")), named("PostToolUseFailure"));
    assert_eq!(answer(None), named("PostToolUse"));
    // A name that is not of this event does not get into the answer.
    assert_eq!(answer(Some("SessionStart")), named("PostToolUse"));
    assert_eq!(context("grok", Some("pre_tool_use"), EventKind::BeforeTool, "x"), named("pre_tool_use"));
}

#[test]
fn text_without_a_place_is_not_written() {
    assert_eq!(context("grok", None, EventKind::SessionOpen, "x"), "");
    assert_eq!(context("claude", None, EventKind::Stop, "x"), "");
    assert_eq!(context("cursor", None, EventKind::BeforeTool, "x"), r#"{"permission":"allow"}"#);
    assert_eq!(context("claude", None, EventKind::SessionOpen, ""), "");
}

#[test]
fn text_is_cut_to_the_budget_in_its_own_unit() {
    let text = "🙂".repeat(6_000);
    let claude = text_of(&context("claude", None, EventKind::SessionOpen, &text));
    assert_eq!(claude.encode_utf16().count(), 10_000);
    let codex = text_of(&context("codex", None, EventKind::SessionOpen, &text));
    assert_eq!(codex.len(), 10_000);
    assert_eq!(context("pi", None, EventKind::SessionOpen, &text), text);
    assert_eq!(text_of(&context("grok", None, EventKind::AfterTool, "hello")), "hello");
}

#[test]
fn any_text_survives_its_encoding() {
    let text = "{\"a\": [\"\\\"\n\t\u{2063}é🙂\u{7f}";
    for id in ["claude", "codex"] {
        assert_eq!(text_of(&context(id, None, EventKind::SessionOpen, text)), text);
    }
    assert_eq!(context("opencode", None, EventKind::Prompt, text), text);
}
