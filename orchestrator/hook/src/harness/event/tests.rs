//! Payloads that are odd, hostile, cut or not there.

use std::path::Path;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};
use sha2::Digest as _;

use super::*;

fn harness(id: &str) -> &'static Harness {
    Harness::by_name(id).unwrap().0
}

#[track_caller]
fn whole(id: &str, canonical: Option<EventKind>, bytes: impl AsRef<[u8]>) -> Event {
    match read(harness(id), canonical, bytes.as_ref()) {
        Payload::Whole(event) => event,
        Payload::Unreadable { why } => panic!("unreadable: {why}"),
    }
}

#[track_caller]
fn of(id: &str, payload: &Value) -> Event {
    whole(id, None, payload.to_string())
}

#[rstest]
#[case::nothing(b"", "empty")]
#[case::blanks(b" \r\n\t", "empty")]
#[case::a_mark(b"\xEF\xBB\xBF", "empty")]
#[case::marks_and_blanks(b"\xEF\xBB\xBF\n\xEF\xBB\xBF ", "empty")]
#[case::an_array(b"[]", "no JSON object")]
#[case::a_text(b"\"x\"", "no JSON object")]
#[case::a_number(b"12", "no JSON object")]
#[case::null(b"null", "no JSON object")]
#[case::cut_in_a_text(b"{\"session_id\": \"1", "cut off")]
#[case::cut_behind_a_key(b"{\"session_id\"", "cut off")]
#[case::cut_in_an_escape(b"{\"session_id\": \"\\u00", "cut off")]
#[case::cut_at_once(b"{", "cut off")]
#[case::no_json(b"hello", "no valid JSON")]
#[case::single_quotes(b"{'a': 1}", "no valid JSON")]
#[case::a_bare_newline_in_a_text(b"{\"a\": \"\n\"}", "no valid JSON")]
#[case::not_utf8(b"{\"a\": \"\xFF\"}", "not UTF-8")]
#[case::utf16(b"\xFF\xFE{\0}\0", "not UTF-8")]
#[case::half_a_mark(b"\xEF\xBB{}", "not UTF-8")]
fn what_cannot_be_read_says_why(#[case] bytes: &[u8], #[case] why: &str) {
    for harness in TABLE {
        assert_eq!(
            read(harness, Some(EventKind::BeforeTool), bytes),
            Payload::Unreadable { why: why.to_owned() }
        );
    }
}

#[test]
fn every_cut_of_a_payload_is_unreadable() {
    let payload = r#"{"session_id": "1f", "n": [1, {"a": null}], "t": "\u00e9\ud83d\ude42é🙂", "b": true}"#;
    for at in 0..payload.len() {
        let read = read(harness("claude"), None, &payload.as_bytes()[..at]);
        assert!(matches!(read, Payload::Unreadable { .. }), "after {at} bytes: {read:?}");
    }
}

#[rstest]
#[case::arrays("[", "]")]
#[case::objects("{\"a\":", "}")]
fn nesting_without_end_is_refused(#[case] open: &str, #[case] close: &str) {
    for levels in [200, 40_000] {
        let payload = format!(r#"{{"x": {}1{}}}"#, open.repeat(levels), close.repeat(levels));
        let why = "nested too deeply".to_owned();
        assert_eq!(read(harness("claude"), None, payload.as_bytes()), Payload::Unreadable { why });
    }
    // Few levels are read; a value that is too large to be taken apart is passed over, however deep it is.
    for levels in [100, 1_000_000] {
        let payload =
            format!(r#"{{"x": {}1{}, "source": "new"}}"#, open.repeat(levels), close.repeat(levels));
        let read = read(harness("claude"), None, payload.as_bytes());
        assert!(matches!(read, Payload::Whole(event) if event.source.as_deref() == Some("new")));
    }
}

#[test]
fn a_large_value_of_small_pieces_takes_little_memory_and_counts_in_the_hash() {
    let payload =
        |last: &str| format!(r#"{{"x": [{}{last}], "source": "new"}}"#, "1,".repeat(8 * 1024 * 1024 - 100));
    let hash_of = |text: String| match read(harness("claude"), None, text.as_bytes()) {
        Payload::Whole(event) => event.hash,
        Payload::Unreadable { why } => panic!("{why}"),
    };
    assert_ne!(hash_of(payload("1")), hash_of(payload("2")));
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 600 * 1024, "{peak_kib} KiB, all tests of this binary together");
}

#[test]
fn any_number_of_marks_in_front_is_passed_over() {
    let payload = r#"{"session_id": "1f"}"#;
    let bare = whole("claude", None, payload);
    for front in ["\u{FEFF}", "\u{FEFF}\u{FEFF}", "\u{FEFF} \r\n\u{FEFF}\n"] {
        assert_eq!(whole("claude", None, format!("{front}{payload}")), bare);
    }
}

#[test]
fn what_stands_behind_the_document_is_passed_over() {
    let event = whole("claude", None, "{\"session_id\": \"1f\"}\n{\"session_id\": \"2f\"} \u{0}");
    assert_eq!(event.session_id.as_deref(), Some("1f"));
}

#[test]
fn of_a_key_that_comes_twice_the_last_counts() {
    let event = whole("claude", None, r#"{"source": "resume", "session_id": "1f", "source": "startup"}"#);
    assert_eq!(event.source.as_deref(), Some("startup"));
    assert_eq!(event.hash, whole("claude", None, r#"{"session_id": "1f", "source": "startup"}"#).hash);
}

#[test]
fn half_a_surrogate_pair_does_not_make_a_payload_unreadable() {
    let escaped = r#"{"prompt": "\ud83d\ude42 \ud83d \ude42 \\ud83d \uD83D\n", "session_id": "1f"}"#;
    let event = whole("claude", None, escaped);
    assert_eq!(event.session_id.as_deref(), Some("1f"));
    let mended = json!({"prompt": "🙂 \u{FFFD} \u{FFFD} \\ud83d \u{FFFD}\n", "session_id": "1f"});
    assert_eq!(event.hash, of("claude", &mended).hash);
}

#[rstest]
#[case::missing(json!({}), None)]
#[case::null(json!({"source": null}), None)]
#[case::a_number(json!({"source": 3}), None)]
#[case::a_list(json!({"source": ["startup"]}), None)]
#[case::an_object(json!({"source": {"source": "startup"}}), None)]
#[case::empty(json!({"source": ""}), None)]
#[case::below_another_key(json!({"data": {"source": "startup"}}), None)]
#[case::two_lines(json!({"source": "startup\nclear"}), None)]
#[case::a_hidden_mark(json!({"source": "\u{2063}startup"}), None)]
#[case::as_long_as_it_may_be(json!({"source": "x".repeat(64)}), Some(64))]
#[case::too_long(json!({"source": "x".repeat(65)}), None)]
#[case::a_mebibyte(json!({"source": "x".repeat(1024 * 1024)}), None)]
fn a_source_is_a_short_text_at_the_top(#[case] payload: Value, #[case] chars: Option<usize>) {
    for id in ["claude", "codex", "cursor", "pi", "opencode", "grok"] {
        assert_eq!(of(id, &payload).source.map(|source| source.len()), chars, "{id}");
    }
}

#[rstest]
#[case::a_uuid("915c17ca-e8fa-4476-924f-bb7caced1a65", true)]
#[case::opencode("ses_dd26b265cffewlR5fbWAYxY64N", true)]
#[case::cursor_cloud("bc-12.x_Y", true)]
#[case::empty("", false)]
#[case::a_path("a/b", false)]
#[case::up("..", false)]
#[case::up_and_away("../../etc/passwd", false)]
#[case::hidden(".a", false)]
#[case::backslash("a\\b", false)]
#[case::nul("a\0b", false)]
#[case::a_blank("a b", false)]
#[case::a_newline("a\n", false)]
#[case::an_escape("a\u{1b}[31m", false)]
#[case::not_ascii("aä", false)]
#[case::a_colon("a:b", false)]
fn a_session_id_is_fit_for_a_file_name(#[case] id: &str, #[case] fits: bool) {
    assert_eq!(of("claude", &json!({"session_id": id})).session_id.is_some(), fits);
}

#[test]
fn a_session_id_leaves_room_in_a_file_name() {
    assert!(of("claude", &json!({"session_id": "x".repeat(160)})).session_id.is_some());
    assert!(of("claude", &json!({"session_id": "x".repeat(161)})).session_id.is_none());
}

#[test]
fn wrong_types_count_as_missing() {
    for odd in [json!(null), json!(3), json!(true), json!([]), json!({}), json!([[1]]), json!({"a": "b"})] {
        let payload = json!({
            "session_id": odd, "transcript_path": odd, "cwd": odd, "hook_event_name": odd, "source": odd, "reason": odd,
            "agent_id": odd, "workspace_roots": odd, "workspaceRoot": odd, "cursor_version": odd, "status": odd,
            "conversation_id": odd, "hookEventName": odd, "worktree": odd, "version": odd,
            "ctx": odd, "properties": odd, "info": odd,
        });
        for harness in TABLE {
            let event = whole(harness.id, Some(EventKind::Prompt), payload.to_string());
            let expected = Event {
                kind: Some(EventKind::Prompt),
                name: None,
                session_id: None,
                source: None,
                cwd: None,
                roots: Vec::new(),
                transcript: None,
                agent_id: None,
                reason: None,
                version: None,
                owner: harness,
                hash: event.hash,
            };
            assert_eq!(event, expected);
        }
    }
}

#[rstest]
#[case::neither(None, json!({}), None)]
#[case::only_the_command_line(Some(EventKind::Stop), json!({}), Some(EventKind::Stop))]
#[case::only_the_payload(None, json!({"hook_event_name": "Stop"}), Some(EventKind::Stop))]
#[case::they_differ(Some(EventKind::Stop), json!({"hook_event_name": "PreToolUse"}), Some(EventKind::BeforeTool))]
#[case::one_that_nobody_acts_on(Some(EventKind::Stop), json!({"hook_event_name": "SubagentStop"}), None)]
#[case::one_that_nobody_knows(Some(EventKind::Stop), json!({"hook_event_name": "Someday"}), None)]
#[case::one_that_is_no_name(Some(EventKind::Stop), json!({"hook_event_name": "x".repeat(1000)}), None)]
#[case::empty(Some(EventKind::Stop), json!({"hook_event_name": ""}), Some(EventKind::Stop))]
#[case::no_text(Some(EventKind::Stop), json!({"hook_event_name": 1}), Some(EventKind::Stop))]
#[case::of_another_spelling(None, json!({"hook_event_name": "stop"}), None)]
fn the_payloads_own_event_wins(
    #[case] canonical: Option<EventKind>,
    #[case] payload: Value,
    #[case] kind: Option<EventKind>,
) {
    assert_eq!(whole("claude", canonical, payload.to_string()).kind, kind);
}

#[rstest]
#[case::cursor(json!({"cursor_version": "3.20.17"}), "cursor")]
#[case::an_empty_version(json!({"cursor_version": ""}), "claude")]
#[case::no_version(json!({"cursor_version": 3}), "claude")]
#[case::a_version_further_down(json!({"tool_input": {"cursor_version": "3.20.17"}}), "claude")]
#[case::grok(json!({"hookEventName": "stop", "hook_event_name": "Stop"}), "grok")]
#[case::one_spelling(json!({"hookEventName": "stop"}), "claude")]
#[case::an_empty_spelling(json!({"hookEventName": "", "hook_event_name": "Stop"}), "claude")]
#[case::both(json!({"cursor_version": "3", "hookEventName": "stop", "hook_event_name": "stop"}), "cursor")]
fn the_payload_says_whose_it_is(#[case] payload: Value, #[case] owner: &str) {
    assert_eq!(of("claude", &payload).owner.id, owner);
}

#[test]
fn a_foreign_payloads_events_are_its_owners() {
    let event = of("claude", &json!({"cursor_version": "3", "hook_event_name": "beforeShellExecution"}));
    assert_eq!((event.kind, event.version.as_deref()), (Some(EventKind::BeforeTool), Some("3")));
}

#[rstest]
#[case::absolute("/home/dev/project", Some("/home/dev/project"))]
#[case::slash_at_the_end("/home/dev/project/", Some("/home/dev/project"))]
#[case::the_top("/", Some("/"))]
#[case::relative("project", None)]
#[case::empty("", None)]
#[case::nul("/a\0b", None)]
#[case::of_windows("C:\\project", None)]
fn a_path_is_absolute(#[case] text: &str, #[case] path: Option<&str>) {
    let event = of("grok", &json!({"cwd": text, "workspaceRoot": text, "transcript_path": text}));
    let path = path.map(Path::new);
    assert_eq!((event.cwd.as_deref(), event.transcript.as_deref()), (path, path));
    assert_eq!(event.roots.first().map(|root| root.as_os_str()), path.map(Path::as_os_str));
}

#[test]
fn a_path_has_an_end() {
    let long = format!("/{}", "x/".repeat(3000));
    assert_eq!(of("claude", &json!({"cwd": long})).cwd, None);
    let roots: Vec<String> = (0..10_000).map(|number| format!("/{number}")).collect();
    assert_eq!(of("cursor", &json!({"workspace_roots": roots})).roots.len(), 32);
    let odd = json!({"workspace_roots": [1, null, "x", "/a", ["/b"], "/c/"]});
    assert_eq!(of("cursor", &odd).roots, [Path::new("/a"), Path::new("/c")]);
}

#[test]
fn an_odd_agent_is_an_agent_all_the_same() {
    for id in ["a".repeat(1000), "../x\n".to_owned(), "\u{2063}".to_owned()] {
        let agent = of("claude", &json!({"agent_id": id})).agent_id.unwrap();
        assert!(!agent.is_empty() && agent.chars().count() <= 64 && !agent.contains(['\n', '\u{2063}']));
    }
    assert_eq!(of("claude", &json!({"agent_id": ""})).agent_id, None);
}

#[test]
fn pi_takes_what_its_extension_sends() {
    let event = of(
        "pi",
        &json!({"hook_event_name": "session_start", "session_id": "1f", "source": "new", "cwd": "/p",
                "transcript_path": "/t", "version": "1.6.0"}),
    );
    assert_eq!((event.kind, event.source.as_deref()), (Some(EventKind::SessionOpen), Some("clear")));
    assert_eq!((event.session_id.as_deref(), event.version.as_deref()), (Some("1f"), Some("1.6.0")));
    assert_eq!(
        (event.cwd.as_deref(), event.transcript.as_deref()),
        (Some(Path::new("/p")), Some(Path::new("/t")))
    );
    let event = of("pi", &json!({"hook_event_name": "session_compact", "source": "manual"}));
    assert_eq!((event.kind, event.source.as_deref()), (Some(EventKind::SessionOpen), Some("compact")));
    // Without a name the source is still the source.
    let event = whole("pi", Some(EventKind::SessionOpen), r#"{"source": "fork"}"#);
    assert_eq!((event.kind, event.source.as_deref()), (Some(EventKind::SessionOpen), Some("fork")));
}

#[test]
fn opencode_takes_what_its_plugin_sends() {
    let event = of(
        "opencode",
        &json!({"hook_event_name": "session.created", "session_id": "ses_1", "source": "startup", "cwd": "/p/a",
                "worktree": "/p", "agent_id": "ses_1", "version": "1.18.33"}),
    );
    assert_eq!((event.kind, event.source.as_deref()), (Some(EventKind::SessionOpen), Some("startup")));
    assert_eq!((event.agent_id.as_deref(), event.roots), (Some("ses_1"), vec![PathBuf::from("/p")]));
}

#[test]
fn an_opencode_session_with_a_parent_is_a_sub_agents() {
    let created = |info: Value| json!({"event": {"type": "session.created", "properties": {"sessionID": "ses_1", "info": info}}});
    assert_eq!(of("opencode", &created(json!({}))).agent_id, None);
    assert_eq!(of("opencode", &created(json!({"parentID": "ses_0"}))).agent_id.as_deref(), Some("ses_1"));
}

#[test]
fn the_hash_is_of_what_the_payload_says() {
    let hash = |text: &str| whole("claude", None, text).hash;
    let base = hash(r#"{"a": 1, "b": {"c": [1, 2], "d": "\u00e9"}}"#);
    assert_eq!(hash("{ \"b\":{\"d\":\"é\",\n\"c\":[1,2]},\"a\":1}"), base);
    assert_eq!(hash(r#"{"a": 1, "b": {"c": [1, 2], "d": "é"}, "timestamp": "now"}"#), base);
    for other in [
        r#"{"a": 2, "b": {"c": [1, 2], "d": "é"}}"#,
        r#"{"a": 1, "b": {"c": [2, 1], "d": "é"}}"#,
        r#"{"a": 1, "b": {"c": [1, 2], "d": "é", "timestamp": "now"}}"#,
        r#"{"a": 1, "b": {"c": [1, 2]}, "d": "é"}"#,
        r#"{"a": "1", "b": {"c": [1, 2], "d": "é"}}"#,
    ] {
        assert_ne!(hash(other), base, "{other}");
    }
    let canonical = r#"{"a":1,"b":{"c":[1,2],"d":"é"}}"#;
    assert_eq!(base, <[u8; 32]>::from(sha2::Sha256::digest(canonical)));
}

#[test]
fn a_payload_of_16_mebibytes_is_read() {
    let payload = json!({"session_id": "1f", "prompt": "x".repeat(16 * 1024 * 1024 - 40)});
    assert_eq!(of("claude", &payload).session_id.as_deref(), Some("1f"));
}

#[test]
fn ids_lead_back_to_their_events() {
    for kind in EventKind::ALL {
        assert_eq!(EventKind::from_id(kind.id()), Some(kind));
    }
    assert_eq!(EventKind::from_id(""), None);
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "session_id",
            "hook_event_name",
            "hookEventName",
            "cursor_version",
            "source",
            "cwd",
            "workspace_roots",
            "workspaceRoot",
            "event",
            "type",
            "properties",
            "info",
            "input",
            "sessionID",
            "ctx",
            "agent_id",
            "timestamp",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["PreToolUse", "session_start", "/home/dev", "session.created", "stop"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(keys(), inner, 0..6).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for harness in TABLE {
            let _ = read(harness, Some(EventKind::BeforeTool), &bytes);
        }
    }

    #[test]
    fn text_that_looks_like_json_is_read_or_refused(text in "[{}\\[\\]\":,\\\\ud8fe0-9a \u{FEFF}]{0,60}") {
        let _ = read(harness("claude"), None, text.as_bytes());
    }

    #[test]
    fn every_object_is_read(entries in prop::collection::hash_map(keys(), values(), 0..10)) {
        let object: Value = entries.into_iter().collect();
        for harness in TABLE {
            let event = whole(harness.id, None, object.to_string());
            for text in [&event.source, &event.reason, &event.version, &event.agent_id, &event.name] {
                prop_assert!(text.as_ref().is_none_or(|text| text.chars().count() <= 64 && !text.contains('\n')));
            }
        }
    }
}
