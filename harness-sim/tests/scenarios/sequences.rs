//! What a harness does between events.

use std::collections::HashSet;
use std::path::Path;

use harness_sim::{Ends, Kind, Report};
use serde_json::Value;

use crate::{lines, play, play_in};

/// Events of the last step, in order.
fn events(report: &Report) -> Vec<&str> {
    report.steps.last().unwrap().played.iter().map(|played| played.firing.event.as_str()).collect()
}

/// The payloads that a hook kept, one a line.
fn payloads(project: &Path) -> Vec<Value> {
    lines(&project.join("payloads")).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const KEEP: &str = r#"cat >> "{project}/payloads"; echo >> "{project}/payloads""#;

fn always_blocks(harness: &str, event: &str, max: u32) -> (Report, Vec<Value>) {
    let project = tempfile::tempdir().unwrap();
    let refuse = match harness {
        "cursor" => r#"{"followup_message":"go on"}"#,
        _ => r#"{"decision":"block","reason":"go on"}"#,
    };
    let report = play_in(
        project.path(),
        &format!(
            "harness = \"{harness}\"\n{}command = '''{KEEP}; echo '{refuse}' '''\n[[steps]]\nevent = \"{event}\"\nmax = {max}\n",
            if harness == "cursor" { "version = \"3.20.17\"\n" } else { "" }
        ),
    );
    (report, payloads(project.path()))
}

#[test]
fn claude_and_grok_give_up_after_eight_refusals() {
    for (harness, event) in
        [("claude", "Stop-first-headless"), ("claude", "SubagentStop-first-agent"), ("grok", "Stop-end_turn")]
    {
        let (report, payloads) = always_blocks(harness, event, 50);
        let step = &report.steps[0];
        assert_eq!((step.refused, step.ends), (8, Some(Ends::Capped)), "{harness} {event}");
        assert_eq!(step.played.len(), 9);
        for (at, played) in step.played.iter().enumerate() {
            let is_last = at == 8;
            assert_eq!(played.firing.has(Kind::StopRefused), !is_last);
            assert_eq!(played.firing.has(Kind::Ignored), is_last);
            assert_eq!(played.because.is_some(), at > 0);
            let flag = if harness == "grok" { "stopHookActive" } else { "stop_hook_active" };
            assert_eq!(payloads[at][flag], Value::Bool(at > 0), "{harness} {at}");
        }
    }
}

#[test]
fn codex_never_gives_up() {
    let (report, payloads) = always_blocks("codex", "Stop-first-bypassPermissions-headless", 11);
    let step = &report.steps[0];
    assert_eq!((step.refused, step.ends), (11, Some(Ends::Never)));
    assert!(step.notes.iter().any(|note| note.contains("Codex has no limit")), "{report}");
    let flags: Vec<bool> = payloads.iter().map(|payload| payload["stop_hook_active"] == true).collect();
    assert_eq!(flags.iter().filter(|flag| **flag).count(), 10);
    assert!(!flags[0]);
}

#[test]
fn cursor_counts_and_loses_the_fifth_answer() {
    let (report, payloads) = always_blocks("cursor", "stop-completed", 50);
    let step = &report.steps[0];
    assert_eq!((step.refused, step.ends), (4, Some(Ends::Capped)));
    let counts: Vec<u64> = payloads.iter().map(|payload| payload["loop_count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [0, 1, 2, 3, 4]);
}

#[test]
fn cursor_sets_no_limit_to_stop_hooks_in_claudes_form() {
    let report = play(
        r#"
harness = "cursor"
version = "3.20.17"
[project.files]
".claude/settings.json" = '''{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./stop.sh"}]}]}}'''
"stop.sh" = { mode = "755", text = '''
#!/bin/sh
echo '{"followup_message": "go on"}'
''' }
[[steps]]
event = "stop-completed"
max = 9
expect = { refused = 9, ends = "never" }
"#,
    );
    report.assert_passed();
}

#[test]
fn a_hook_that_looks_at_the_flag_is_asked_twice() {
    let report = play(
        r#"
harness = "grok"
command = '''grep -q '"stopHookActive":true' || echo '{"decision":"block","reason":"once"}' '''
[[steps]]
event = "Stop-end_turn"
expect = { refused = 1, ends = "allowed", events = ["Stop", "Stop"], stop_refused = "once" }
"#,
    );
    report.assert_passed();
}

#[test]
fn a_refused_stop_belongs_to_the_same_turn() {
    let (_, payloads) = always_blocks("claude", "Stop-first-headless", 3);
    let turns: HashSet<&str> =
        payloads.iter().map(|payload| payload["prompt_id"].as_str().unwrap()).collect();
    assert_eq!(turns.len(), 1);
}

fn compaction(harness: &str, before: &str, step: &str) -> (Report, Vec<Value>) {
    let project = tempfile::tempdir().unwrap();
    let text = format!(
        "harness = \"{harness}\"\ncommand = '''{KEEP}'''\n[[steps]]\nevent = \"{before}\"\n[[steps]]\n{step}\n"
    );
    let report = play_in(project.path(), &text);
    (report, payloads(project.path()))
}

#[test]
fn claude_opens_the_same_session_again_after_a_compaction() {
    for trigger in ["manual", "auto"] {
        let step = format!("event = \"PreCompact-{trigger}-headless\"");
        let (report, payloads) = compaction("claude", "SessionStart-startup-headless", &step);
        assert_eq!(events(&report), ["PreCompact", "SubagentStop", "SessionStart", "PostCompact"]);
        let sessions: HashSet<&str> =
            payloads.iter().map(|one| one["session_id"].as_str().unwrap()).collect();
        assert_eq!(sessions.len(), 1);
        assert_eq!((&payloads[3]["source"], &payloads[4]["trigger"]), (&"compact".into(), &trigger.into()));
        assert_eq!(payloads[2]["agent_type"], "");
    }
}

#[test]
fn codex_opens_at_once_or_at_the_next_prompt() {
    let open = "SessionStart-startup-bypassPermissions-headless";
    let (report, _) = compaction("codex", open, "event = \"PreCompact-auto-headless\"");
    assert_eq!(events(&report), ["PreCompact", "PostCompact", "SessionStart"]);

    let prompt = "event = \"UserPromptSubmit-bypassPermissions-headless\"";
    let manual = "event = \"PreCompact-auto-headless\"\nset = { trigger = \"manual\" }";
    let (report, payloads) =
        compaction("codex", open, &format!("{manual}\n[[steps]]\n{prompt}\n[[steps]]\n{prompt}"));
    let of = |at: usize| -> Vec<&str> {
        report.steps[at].played.iter().map(|played| played.firing.event.as_str()).collect()
    };
    assert_eq!(of(1), ["PreCompact", "PostCompact"]);
    assert_eq!(of(2), ["SessionStart", "UserPromptSubmit"]);
    assert_eq!(of(3), ["UserPromptSubmit"]);
    assert_eq!((&payloads[2]["trigger"], &payloads[3]["source"]), (&"manual".into(), &"compact".into()));
}

#[test]
fn nothing_comes_of_a_compaction_on_grok_and_cursor() {
    let (report, _) = compaction("grok", "SessionStart-new", "event = \"PreCompact-manual\"");
    assert_eq!(events(&report), ["PreCompact"]);
    let report = play(
        "harness = \"cursor\"\nversion = \"3.20.17\"\ncommand = \"echo '{}'\"\n[[steps]]\nevent = \"preCompact-auto\"\n",
    );
    assert_eq!(events(&report), ["preCompact"]);
}

#[test]
fn nothing_comes_of_a_compaction_that_was_blocked() {
    let report = play(
        "harness = \"claude\"\ncommand = \"echo not now >&2; exit 2\"\n[[steps]]\nevent = \"PreCompact-manual-headless\"\n",
    );
    assert_eq!(events(&report), ["PreCompact"]);
    assert!(report.steps[0].notes[0].contains("never block"), "{report}");
}

/// The open's hook waits for what the prompt's hook makes: it comes only where nobody waits for the open.
fn open_and_prompt(harness: &str, version: &str, open: &str, prompt: &str, bound: u32) -> (Report, bool) {
    let project = tempfile::tempdir().unwrap();
    let report = play_in(
        project.path(),
        &format!(
            r#"
harness = "{harness}"
version = "{version}"
command = '''
case {{event}} in
  *ession*) i=0; while [ $i -lt {bound} ]; do [ -e prompted ] && {{ : > together; break; }}; sleep 0.05; i=$((i + 1)); done ;;
  *) : > prompted ;;
esac
'''
[[steps]]
event = "{open}"
[[steps]]
event = "{prompt}"
"#
        ),
    );
    (report, project.path().join("together").exists())
}

#[test]
fn a_prompt_waits_for_the_open_or_runs_beside_it() {
    let waits = [
        ("claude", "2.1.332", "SessionStart-startup-headless", "UserPromptSubmit-headless"),
        ("codex", "0.171.0", "SessionStart-startup-tui", "UserPromptSubmit-tui"),
    ];
    for (harness, version, open, prompt) in waits {
        let (report, together) = open_and_prompt(harness, version, open, prompt, 4);
        assert!(!together && report.steps[1].notes.is_empty(), "{harness}");
    }
    let beside = [
        ("grok", "1.0.41", "SessionStart-new", "UserPromptSubmit-default"),
        ("cursor", "3.20.17", "sessionStart-startup", "beforeSubmitPrompt-default"),
    ];
    for (harness, version, open, prompt) in beside {
        let (report, together) = open_and_prompt(harness, version, open, prompt, 400);
        assert!(together, "{harness}");
        assert!(report.steps[1].notes[0].contains("does not wait for the open"), "{report}");
        assert_eq!(report.steps.len(), 2);
    }
}

#[test]
fn hooks_beside_each_other_keep_their_order_and_their_end() {
    let project = tempfile::tempdir().unwrap();
    let report = play_in(
        project.path(),
        r#"
harness = "grok"
[project.files]
".grok/hooks/a.json" = '''
{"hooks": {
  "SessionStart": [{"hooks": [{"type": "command", "command": "echo one >> log"}, {"type": "command", "command": "echo two >> log"}]}],
  "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo no >&2; exit 2"}, {"type": "command", "command": "echo never >> log"}]}]
}}
'''
[[steps]]
event = "SessionStart-new"
expect = { commands = 2, beside = true, silent = true }
[[steps]]
event = "UserPromptSubmit-default"
expect = { commands = 2, denied = "no", beside = true }
[[steps]]
event = "SessionEnd-shutdown"
expect.commands = 0
"#,
    );
    // The first that denies ends the chain, in which the second is never run.
    let prompt = &report.steps[1];
    assert_eq!(prompt.played[0].firing.commands.len(), 1, "{report}");
    assert_eq!(prompt.unmet.len(), 1, "{report}");
    assert!(prompt.unmet[0].expected.contains("hooks that take the event: 2"), "{report}");
    assert!(report.steps[0].unmet.is_empty(), "{report}");
}

#[test]
fn cursor_reads_before_it_writes() {
    let project = tempfile::tempdir().unwrap();
    let text = |answer: &str, expect: &str| {
        format!(
            "harness = \"cursor\"\nversion = \"2026.10.01\"\ncommand = '''{KEEP}; {answer}'''\n\
             [[steps]]\nevent = \"preToolUse-Write\"\nexpect = {expect}\n\
             [[steps]]\nevent = \"postToolUse-Write\"\n"
        )
    };
    let allow = r#"echo '{"permission":"allow"}'"#;
    let expect = r#"{ ran = true, events = ["preToolUse", "preToolUse"] }"#;
    let report = play_in(project.path(), &text(allow, expect));
    report.assert_passed();
    let payloads = payloads(project.path());
    let tools: Vec<&str> = payloads.iter().map(|payload| payload["tool_name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["Read", "Write", "Write"]);
    let ids: HashSet<&str> =
        payloads.iter().map(|payload| payload["tool_use_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 1, "one call has one id");

    let deny = r#"echo '{"permission":"deny","user_message":"not that file"}'"#;
    let expect = r#"{ denied = "not that file", ran = false, events = ["preToolUse"] }"#;
    let report = play(&text(deny, expect));
    report.assert_passed();
    assert!(report.steps[0].notes[0].contains("preToolUse-Write is not fired"), "{report}");
    assert!(report.steps[1].notes[0].contains("the tool was denied"), "{report}");
}

#[test]
fn a_call_of_a_tool_has_one_id_and_a_turn_has_one() {
    let project = tempfile::tempdir().unwrap();
    let steps = [
        "UserPromptSubmit",
        "PreToolUse-Bash",
        "PostToolUse-Bash",
        "PreToolUse-Bash",
        "PreToolUse-Bash",
        "UserPromptSubmit",
    ];
    let steps = steps.map(|event| format!("[[steps]]\nevent = \"{event}-headless\"\n")).concat();
    play_in(project.path(), &format!("harness = \"claude\"\ncommand = '''{KEEP}'''\n{steps}"));
    let payloads = payloads(project.path());
    let of = |at: usize, key: &str| payloads[at][key].as_str().unwrap().to_owned();
    assert_eq!(of(1, "tool_use_id"), of(2, "tool_use_id"));
    assert_ne!(of(1, "tool_use_id"), of(3, "tool_use_id"));
    assert_ne!(of(3, "tool_use_id"), of(4, "tool_use_id"));
    assert_eq!(of(0, "prompt_id"), of(4, "prompt_id"));
    assert_ne!(of(0, "prompt_id"), of(5, "prompt_id"));
    assert!(payloads.iter().all(|payload| payload["session_id"] == payloads[0]["session_id"]));
}
