//! Which event of which harness brings a wake, and in which words.

use std::fs;

use serde_json::{Value, json};

use super::{Home, Session, WAKE};
use crate::support::{Fired, Host};

const RED: &str = "[[network.check]]\nname = \"ci\"\ncommand = \"GATE(ci); echo CI is red; exit 1\"\n";

/// A home whose session in charge has a wake that waits. The session's host, and its id.
fn with_a_wake(harness: &str, open: &str, payload: &Value) -> (Home, Host) {
    let home = Home::new(RED);
    let mut host = Host::new(&home.desk, harness);
    let mut payload = payload.clone();
    payload["cwd"] = json!(home.desk.project);
    host.fire(&format!("hook {harness} session-open {open}"), payload.to_string().as_bytes());
    if !home.state().join("network.json").exists() {
        // It was nudged, and does as it was asked.
        assert_eq!(host.order(&format!("{} open > /dev/null", crate::support::PROGRAM)), 0);
    }
    home.wait_for_start("ci");
    home.open_gate("ci");
    home.wait();
    assert_eq!(home.pending(), ["network-ci.json"]);
    (home, host)
}

fn fire(home: &Home, host: &mut Host, words: &str, payload: &Value) -> Fired {
    let mut payload = payload.clone();
    payload["cwd"] = json!(home.desk.project);
    host.fire(&format!("hook {words}"), payload.to_string().as_bytes())
}

/// Events that bring nothing, then the one that does, then nothing any more.
#[allow(clippy::needless_pass_by_value, reason = "a case reads as one line of words")]
fn check(
    harness: &str,
    open: (&str, Value),
    silent: &[(&str, Value)],
    brings: (&str, Value),
    text: impl Fn(&str) -> String,
) {
    let (home, mut host) = with_a_wake(harness, open.0, &open.1);
    for (event, payload) in silent {
        let fired = fire(&home, &mut host, &format!("{harness} {event}"), payload);
        assert!(!fired.stdout.contains("CI is red"), "{event}: {fired:?}");
        assert_eq!(home.pending(), ["network-ci.json"], "{event}");
    }
    let fired = fire(&home, &mut host, &format!("{harness} {}", brings.0), &brings.1);
    assert_eq!(fired.code, 0);
    let told = text(&fired.stdout);
    assert!(told.starts_with(WAKE) && told.contains("\n  | CI is red"), "{fired:?}");
    assert_eq!(home.pending(), [""; 0]);
    let mut again = brings.1.clone();
    again["count"] = json!(2);
    let fired = fire(&home, &mut host, &format!("{harness} {}", brings.0), &again);
    assert!(!fired.stdout.contains("CI is red"), "told once: {fired:?}");
    drop(host);
    home.assert_nothing_runs();
}

fn hook_specific(answer: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap();
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

fn event(name: &str, more: &Value) -> Value {
    let mut payload = json!({ "session_id": "s1", "hook_event_name": name });
    for (key, value) in more.as_object().unwrap() {
        payload[key] = value.clone();
    }
    payload
}

#[test]
fn claude_code_by_the_prompt_and_after_a_tool() {
    let open = || ("--limit 180s", event("SessionStart", &json!({ "source": "startup" })));
    let stop = ("stop", event("Stop", &json!({ "stop_hook_active": false })));
    let before = ("before-tool", event("PreToolUse", &json!({ "tool_name": "Bash" })));
    let resume = ("session-open", event("SessionStart", &json!({ "source": "resume" })));
    check(
        "claude",
        open(),
        &[stop.clone(), before.clone(), resume],
        ("prompt", event("UserPromptSubmit", &json!({ "prompt": "x" }))),
        hook_specific,
    );
    check("claude", open(), &[stop, before], ("after-tool", event("PostToolUse", &json!({}))), hook_specific);
    check("claude", open(), &[], ("after-tool", event("PostToolUseFailure", &json!({}))), hook_specific);
}

#[test]
fn codex_by_the_prompt_and_after_a_tool() {
    let open = || ("--limit 180s", event("SessionStart", &json!({ "source": "startup" })));
    let stop = ("stop", event("Stop", &json!({ "stop_hook_active": false })));
    check(
        "codex",
        open(),
        &[stop],
        ("prompt", event("UserPromptSubmit", &json!({ "prompt": "x" }))),
        hook_specific,
    );
    check(
        "codex",
        open(),
        &[],
        ("after-tool", event("PostToolUse", &json!({ "tool_name": "Bash" }))),
        hook_specific,
    );
}

#[test]
fn grok_after_a_tool_only() {
    let open = (
        "",
        json!({ "hookEventName": "session_start", "hook_event_name": "SessionStart", "sessionId": "s1", "session_id": "s1", "source": "new" }),
    );
    let prompt = (
        "prompt",
        json!({ "hookEventName": "user_prompt_submit", "hook_event_name": "UserPromptSubmit", "sessionId": "s1", "session_id": "s1" }),
    );
    // The first tool event brings the nudge, which comes first.
    let nudge = (
        "after-tool",
        json!({ "hookEventName": "post_tool_use", "hook_event_name": "PostToolUse", "sessionId": "s1", "session_id": "s1", "count": 0 }),
    );
    let after = (
        "after-tool",
        json!({ "hookEventName": "post_tool_use", "hook_event_name": "PostToolUse", "sessionId": "s1", "session_id": "s1" }),
    );
    check("grok", open, &[prompt, nudge], after, hook_specific);
}

#[test]
fn cursor_after_a_tool_only() {
    let event = |name: &str| json!({ "conversation_id": "s1", "session_id": "s1", "hook_event_name": name, "cursor_version": "2026.10.01" });
    let prompt = ("prompt", event("beforeSubmitPrompt"));
    let before = ("before-tool", event("preToolUse"));
    check(
        "cursor",
        ("", event("sessionStart")),
        &[prompt, before],
        ("after-tool", event("postToolUse")),
        |answer| {
            let answer: Value = serde_json::from_str(answer).unwrap();
            answer["additional_context"].as_str().unwrap().to_owned()
        },
    );
}

#[test]
fn pi_by_the_prompt() {
    let after = ("after-tool", event("tool_result", &json!({})));
    let prompt = ("prompt", event("before_agent_start", &json!({ "prompt": "x" })));
    check(
        "pi",
        ("--prerequisite", event("session_start", &json!({ "source": "startup" }))),
        &[after],
        prompt,
        str::to_owned,
    );
}

#[test]
fn opencode_by_the_prompt_and_when_it_is_idle() {
    let open = || ("", event("session.created", &json!({ "source": "startup" })));
    let after = ("after-tool", event("tool.execute.after", &json!({})));
    check(
        "opencode",
        open(),
        std::slice::from_ref(&after),
        ("prompt", event("chat.message", &json!({ "prompt": "x" }))),
        str::to_owned,
    );
    check("opencode", open(), &[after], ("stop", event("session.idle", &json!({}))), str::to_owned);
}

#[test]
fn a_digest_again_drains_what_waits() {
    for source in ["clear", "compact", "startup"] {
        let home = Home::new(RED);
        let mut session = Session::new(&home, "s");
        session.open("startup");
        home.wait_for_start("ci");
        home.open_gate("ci");
        home.wait();
        let text = session.open(source);
        assert!(text.contains("\n## wakes\nnetwork check ci asks for action (checked "), "{source}: {text}");
        assert!(text.contains("\n  | CI is red"), "{source}: {text}");
        assert!(!session.prompt().contains("CI is red"), "{source}");
        // Of a start it is asked again; nobody knows whether it was put right.
        if source != "compact" {
            home.open_gate("ci");
            home.wait();
        }
        drop(session);
        home.assert_nothing_runs();
    }
}

#[test]
fn a_result_that_is_there_in_time_stands_in_the_digest_and_nowhere_else() {
    let home = Home::new("[[network.check]]\nname = \"ci\"\ncommand = \"echo CI is red; exit 1\"\n");
    home.desk.git();
    // The stage before it waits: git does.
    let folder = home.desk.scratch.path().join("bin");
    fs::create_dir(&folder).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *status*) {};; esac\nexec /usr/bin/git \"$@\"\n",
        home.gated("git")
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut session = Session::new(&home, "s");
    let payload = session.payload("SessionStart", &json!({ "source": "startup" }));
    let path = format!("PATH={}:/usr/bin:/bin", folder.display());
    session.host.begin(&path, "hook claude session-open --limit 180s", &payload);
    home.wait_for_start("git");
    home.wait();
    home.open_gate("git");
    let text = super::context(&session.host.end());
    assert!(text.contains("\n## network\nnetwork check ci asks for action (checked "), "{text}");
    assert!(text.contains("\n  | CI is red\n"), "{text}");
    assert_eq!(home.pending(), [""; 0]);
    assert_eq!(session.prompt(), "");
    drop(session);
    home.assert_nothing_runs();
}

#[test]
fn an_answer_that_nobody_reads_is_owed_all_the_same() {
    let (home, mut host) =
        with_a_wake("claude", "--limit 180s", &event("SessionStart", &json!({ "source": "startup" })));
    let payload = home.desk.scratch.path().join("prompt");
    fs::write(
        &payload,
        event("UserPromptSubmit", &json!({ "prompt": "x", "cwd": home.desk.project })).to_string(),
    )
    .unwrap();
    let closed =
        format!("{} hook claude prompt < {} > /dev/full", crate::support::PROGRAM, payload.display());
    host.order(&closed);
    assert_eq!(home.pending(), ["network-ci.json"]);
    let fired = fire(&home, &mut host, "claude after-tool", &event("PostToolUse", &json!({})));
    assert!(fired.stdout.contains("CI is red"), "{fired:?}");
    drop(host);
    home.assert_nothing_runs();
}

#[test]
fn a_truncated_digest_and_a_check_that_ends_later() {
    let home = Home::new(&format!(
        "[digest]\ndeadline = 2\n[[digest.stage]]\nname = \"slow\"\ncommand = \"GATE(stage)\"\ndeadline = 60\n{RED}"
    ));
    let mut session = Session::new(&home, "s");
    let text = session.open("startup");
    assert!(text.contains("STARTUP TRUNCATED") && text.contains("slow"), "{text}");
    assert!(text.contains("in progress, not yet confirmed: ci"), "{text}");
    home.wait_for_start("ci");
    assert_eq!(session.prompt(), "");
    home.open_gate("ci");
    home.wait();
    let told = session.prompt();
    assert!(told.starts_with(WAKE) && told.contains("CI is red"), "{told}");
    assert_eq!(session.prompt(), "");
    drop(session);
    home.assert_nothing_runs();
}
