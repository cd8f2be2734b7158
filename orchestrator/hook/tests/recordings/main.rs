//! Every recorded payload of every harness: what is read from it, and the answer that changes nothing.
//!
//! The snapshots have one line per recording. To look at a change: `cargo insta review`, or the `.snap.new` files.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

mod support;

use dogwatch::harness::{EventKind, Harness, Payload, Reply, TABLE, carries_context, neutral, read, write};
use rstest::rstest;

use support::{Recording, event, recordings};

#[rstest]
fn what_is_read(#[values("claude", "codex", "cursor", "pi", "opencode", "grok")] harness: &str) {
    let lines: Vec<String> = recordings(harness).iter().map(line).collect();
    assert!(!lines.is_empty());
    let head = format!(
        "{:<72} {:<14} {:<8} {:<8} {:<6} {:<7} {:<18} {:<11} {:<9} {}",
        "recording", "kind", "session", "source", "agent", "owner", "reason", "version", "places", "neutral"
    );
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(harness, format!("{head}\n{}", lines.join("\n")));
    });
}

#[test]
fn every_harness_of_the_table_has_recordings_of_a_session_open_and_of_a_tool_call() {
    for harness in TABLE {
        let kinds: Vec<_> = recordings(harness.id).iter().map(|recording| event(recording).kind).collect();
        for kind in [EventKind::SessionOpen, EventKind::BeforeTool] {
            assert!(kinds.contains(&Some(kind)), "{}: {}", harness.id, kind.id());
        }
    }
}

#[test]
fn cursors_payloads_are_its_own_through_every_registration() {
    for registered in TABLE {
        for recording in recordings("cursor") {
            let Payload::Whole(event) = read(registered, None, &recording.bytes) else { panic!() };
            assert_eq!(event.owner.id, "cursor", "{} through {}", recording.name, registered.id);
            let answer = neutral(event.owner, event.name.as_deref(), event.kind);
            // An empty answer blocks its tools.
            assert!(serde_json::from_slice::<serde_json::Value>(answer).unwrap().is_object());
        }
    }
}

#[test]
fn groks_payloads_are_its_own_through_every_registration() {
    for registered in TABLE {
        for recording in recordings("grok") {
            let Payload::Whole(event) = read(registered, None, &recording.bytes) else { panic!() };
            assert_eq!(event.owner.id, "grok", "{} through {}", recording.name, registered.id);
        }
    }
}

#[test]
fn nobody_elses_payload_is_taken_for_one_of_theirs() {
    for id in ["claude", "codex", "pi", "opencode"] {
        for recording in recordings(id) {
            assert_eq!(event(&recording).owner.id, id, "{}", recording.name);
        }
    }
}

#[test]
fn nothing_personal_is_kept() {
    for recording in recordings("cursor") {
        assert!(!format!("{:?}", event(&recording)).contains("dev@example.com"), "{}", recording.name);
    }
}

#[test]
fn every_event_of_a_command_hook_has_its_session_and_a_folder() {
    for id in ["claude", "codex", "cursor", "grok"] {
        for recording in recordings(id) {
            let event = event(&recording);
            assert!(event.session_id.is_some(), "{id}: {}", recording.name);
            assert!(event.cwd.is_some() || !event.roots.is_empty(), "{id}: {}", recording.name);
        }
    }
}

#[test]
fn every_recorded_payload_has_a_hash_of_its_own() {
    for harness in TABLE {
        let mut known = std::collections::BTreeMap::new();
        for recording in recordings(harness.id) {
            let hash = event(&recording).hash;
            if let Some(other) = known.insert(hash, recording.name.clone()) {
                // The same payload under two names: through another registration, or told apart by how it came about.
                assert!(same(harness.id, &other, &recording), "{other} and {}", recording.name);
            }
        }
    }
}

#[test]
fn an_answer_with_context_is_one_document_that_names_its_event() {
    for harness in TABLE {
        for recording in recordings(harness.id) {
            let event = event(&recording);
            let name = event.name.as_deref();
            let written = write(event.owner, name, event.kind, &Reply::Context("[hello]".to_owned()));
            assert_eq!(written.exit_code, 0);
            if !carries_context(event.owner, name, event.kind) {
                assert_eq!(written.stdout, neutral(event.owner, name, event.kind), "{}", recording.name);
                continue;
            }
            let stdout = String::from_utf8(written.stdout).unwrap();
            let expected = match event.owner.id {
                "cursor" => r#"{"additional_context":"[hello]"}"#.to_owned(),
                "pi" | "opencode" => "[hello]".to_owned(),
                _ => format!(
                    r#"{{"hookSpecificOutput":{{"hookEventName":"{}","additionalContext":"[hello]"}}}}"#,
                    name.unwrap()
                ),
            };
            assert_eq!(stdout, expected, "{}", recording.name);
        }
    }
}

fn line(recording: &Recording) -> String {
    let event = event(recording);
    let Harness { id, .. } = *event.owner;
    let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let places = [
        event.cwd.as_ref().map(|_| "cwd".to_owned()),
        (!event.roots.is_empty()).then(|| format!("{}r", event.roots.len())),
        event.transcript.as_ref().map(|_| "t".to_owned()),
    ];
    let places: Vec<String> = places.into_iter().flatten().collect();
    let answer = String::from_utf8(neutral(event.owner, event.name.as_deref(), event.kind).to_vec()).unwrap();
    format!(
        "{:<72} {:<14} {:<8} {:<8} {:<6} {:<7} {:<18} {:<11} {:<9} {answer}",
        recording.name,
        or_dash(event.kind.map(EventKind::id)),
        if event.session_id.is_some() { "yes" } else { "-" },
        or_dash(event.source.as_deref()),
        if event.agent_id.is_some() { "yes" } else { "-" },
        id,
        or_dash(event.reason.as_deref()),
        or_dash(event.version.as_deref()),
        places.join(","),
    )
    .trim_end()
    .to_owned()
}

fn same(harness: &str, other: &str, recording: &Recording) -> bool {
    let all = recordings(harness);
    let other = all.iter().find(|candidate| candidate.name == other).unwrap();
    let value = |bytes: &[u8]| {
        let mut value: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        value.as_object_mut().unwrap().remove("timestamp");
        value
    };
    value(&other.bytes) == value(&recording.bytes)
}
