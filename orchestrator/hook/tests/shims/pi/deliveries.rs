//! What of a start reaches the model, when, and how often.

use std::fs;

use rstest::rstest;
use serde_json::json;

use super::{Extension, PROVENANCE, Pi, Seen, count, instruction, wait_for_file};
use crate::support::{Desk, is_alive, wait_until};

#[test]
fn the_digest_is_in_the_first_request_and_becomes_a_part_of_the_session_once() {
    let desk = Desk::new();
    let Some(mut pi) =
        Pi::new(&desk, &desk.script("dogwatch", "[ $3 = session-open ] && printf 'a\\nb\\n\\n'"))
    else {
        return;
    };
    pi.starts();
    let seen = pi.is_asked("one");
    let digest = format!("{PROVENANCE}a\nb");
    assert_eq!(seen.request(), ["one", &digest]);
    assert!(seen.at("message") < seen.at("provider_call"));
    let seen = pi.is_asked("two");
    assert_eq!(seen.request(), ["one", &digest, "FINAL-TEXT", "two"]);
}

#[test]
fn what_is_marked_as_operational_is_not_marked_again() {
    let desk = Desk::new();
    let script =
        desk.script("dogwatch", "[ $3 = session-open ] && echo '\u{2063}OTHER_OP: v1 session-start: text'");
    let Some(mut pi) = Pi::new(&desk, &script) else { return };
    pi.starts();
    assert_eq!(pi.is_asked("one").messages(), ["\u{2063}OTHER_OP: v1 session-start: text"]);
}

#[test]
fn the_first_request_waits_for_the_digest_and_print_mode_with_it() {
    let desk = Desk::new();
    let mut gate = desk.gate("gate");
    let script = desk.script("dogwatch", "[ $3 = session-open ] && read _ < \"$desk/gate\" && echo digest");
    let Some(mut pi) = Pi::new(&desk, &script) else { return };
    pi.starts();
    pi.begins(&json!({"do": "prompt", "text": "hello"}));
    assert_eq!(pi.lets_time_pass().all("provider_call"), [&json!(null); 0]);
    gate.open();
    // Until then nothing but the extension has held the process, or it would have said that it was abandoned.
    assert_eq!(pi.finishes("prompt").request(), ["hello", &format!("{PROVENANCE}digest")]);
}

#[test]
fn what_the_prompt_adds_comes_in_the_same_message() {
    let desk = Desk::new();
    let text = "case $3 in session-open) echo digest ;; prompt) cat > \"$desk/prompt\"; echo added ;; esac";
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", text)) else { return };
    pi.starts();
    assert_eq!(pi.is_asked("one").messages(), [format!("{PROVENANCE}digest\n\nadded")]);
    assert_eq!(pi.is_asked("two").messages(), ["added"]);
    let said: serde_json::Value = serde_json::from_slice(&fs::read(desk.path("prompt")).unwrap()).unwrap();
    assert_eq!((&said["hook_event_name"], &said["prompt"]), (&json!("before_agent_start"), &json!("two")));
}

#[test]
fn a_start_that_was_replaced_is_never_delivered() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    // The first answers in full when it is told to end.
    let text = "[ $3 = session-open ] || exit 0\n[ -e \"$desk/first\" ] && echo fresh && exit\n\
                trap 'echo stale; exit 0' TERM; : > \"$desk/first\"; read _ < \"$desk/gate\"";
    let Some(mut pi) = Pi::of_version(&desk, "0.73.1", &desk.script("dogwatch", text)) else { return };
    pi.starts_with(&json!({"id": "first"}));
    wait_for_file(&desk, "first");
    // The prompt waits for it when the session is replaced.
    pi.begins(&json!({"do": "prompt", "text": "hello"}));
    pi.begins(&json!({"do": "replace", "reason": "new", "session": {"id": "second"}}));
    let mut lines = pi.finishes("replace").0;
    lines.extend(pi.is_asked("again").0);
    lines.extend(pi.lets_time_pass().0);
    let seen = Seen(lines);
    let messages: Vec<_> =
        seen.all("message").iter().map(|message| (&message["session"], &message["content"])).collect();
    assert_eq!(messages, [(&json!("second"), &json!(format!("{PROVENANCE}fresh")))]);
}

#[test]
fn a_start_that_a_compaction_replaces_beside_a_prompt_is_not_delivered_by_the_prompt() {
    let desk = Desk::new();
    let mut gate = desk.gate("gate");
    let text = "case $3 in session-open) grep -o '\"source\":\"[a-z]*\"' ;;\n\
                prompt) : > \"$desk/prompting\"; read _ < \"$desk/gate\" ;; esac";
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", text)) else { return };
    pi.starts();
    pi.begins(&json!({"do": "prompt", "text": "hello"}));
    wait_for_file(&desk, "prompting");
    assert_eq!(pi.compacts("idle").messages(), [format!("{PROVENANCE}\"source\":\"compact\"")]);
    gate.open();
    assert_eq!(pi.finishes("prompt").messages(), [] as [&str; 0]);
}

#[test]
fn where_dogwatch_is_not_eligible_nothing_is_said() {
    let desk = Desk::new();
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", "echo no; exit 3")) else { return };
    pi.starts();
    assert_eq!(pi.is_asked("one").request(), ["one"]);
    assert_eq!(pi.compacts("idle").messages(), [] as [&str; 0]);
}

#[test]
fn an_empty_digest_is_the_instruction_where_one_is_owed() {
    let desk = Desk::new();
    let script = desk.script("dogwatch", "echo ' '");
    let Some(mut pi) = Pi::new(&desk, &script) else { return };
    let instruction = instruction(script.to_str().unwrap());
    pi.starts();
    assert_eq!(pi.is_asked("hello").messages(), [&instruction], "startup");
    assert_eq!(pi.compacts("idle").messages(), [&instruction], "compact");
    pi.is_replaced("new");
    assert_eq!(pi.is_asked("hello").messages(), [&instruction], "clear");
    for reason in ["resume", "fork"] {
        pi.is_replaced(reason);
        assert_eq!(pi.is_asked("hello").messages(), [] as [&str; 0], "{reason}");
    }
}

#[rstest]
#[case("exit 1")]
#[case("echo half; exit 2")]
#[case("echo half; kill -9 $$")]
fn a_failed_digest_is_the_instruction(#[case] end: &str) {
    let desk = Desk::new();
    let script = desk.script("dogwatch", end);
    let Some(mut pi) = Pi::new(&desk, &script) else { return };
    pi.starts();
    assert_eq!(pi.is_asked("hello").messages(), [instruction(script.to_str().unwrap())]);
    // Also where an empty one would say nothing.
    pi.is_replaced("resume");
    assert_eq!(pi.is_asked("hello").messages(), [instruction(script.to_str().unwrap())]);
}

#[test]
fn a_digest_past_its_bound_is_the_instruction_once_its_process_has_ended() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let text = "[ $3 = session-open ] || exit 0\ntrap '' TERM; echo $$ > \"$desk/pid\"; exec 1>&-; read _ < \"$desk/gate\"";
    let script = desk.script("dogwatch", text);
    let extension = Extension::calling(script.to_str().unwrap())
        .with("const OPEN_BOUND_MS = 190_000;", "const OPEN_BOUND_MS = 1_000;");
    let Some(mut pi) = Pi::with(&desk, "1.6.0", &[], vec![extension.write(&desk, "dogwatch.js")]) else {
        return;
    };
    pi.starts();
    pi.begins(&json!({"do": "prompt", "text": "hello"}));
    let seen = Seen(pi.host.until("provider_call"));
    // On a machine so busy that it had not begun it was ended before it could ignore that.
    let pid = fs::read_to_string(desk.path("pid")).ok().and_then(|pid| pid.trim().parse().ok());
    assert!(!pid.is_some_and(is_alive), "native and manual at once");
    assert_eq!(seen.messages(), [instruction(script.to_str().unwrap())]);
}

#[rstest]
#[case("dogwatch", "dogwatch")]
#[case("/nowhere/dogwatch", "/nowhere/dogwatch")]
#[case("/no where/it's/dogwatch", "'/no where/it'\\''s/dogwatch'")]
fn a_program_that_does_not_start_is_the_instruction(#[case] binary: &str, #[case] word: &str) {
    let desk = Desk::new();
    let extension = Extension::calling(binary).write(&desk, "dogwatch.js");
    let Some(mut pi) = Pi::with(&desk, "1.6.0", &[], vec![extension]) else { return };
    pi.starts();
    assert_eq!(pi.is_asked("hello").request(), ["hello", &instruction(word)]);
    assert_eq!(pi.does(&json!({"do": "tool", "name": "bash", "input": {}})).all("ran").len(), 1);
    assert_eq!(pi.compacts("idle").messages(), [instruction(word)]);
    pi.quits();
}

#[test]
fn the_instruction_is_the_nudge_to_the_byte() {
    assert_eq!(instruction("dogwatch"), dogwatch::text::operational::nudge("DOGWATCH_OP", "dogwatch open"));
}

#[test]
fn a_digest_that_dogwatch_has_truncated_is_delivered_as_it_is() {
    let desk = Desk::new();
    let text = "[ $3 = session-open ] && printf '# digest\\n\\nSTARTUP TRUNCATED: made up\\n'";
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", text)) else { return };
    pi.starts();
    let expected = format!("{PROVENANCE}# digest\n\nSTARTUP TRUNCATED: made up");
    assert_eq!(pi.is_asked("hello").messages(), [expected]);
}

#[test]
fn of_700_kib_the_first_512_are_delivered_and_it_is_said_what_is_missing() {
    let desk = Desk::new();
    // No character ends where the limit is.
    let whole = format!("x{}", "é".repeat(350 * 1024));
    fs::write(desk.path("digest"), &whole).unwrap();
    let script = desk.script("dogwatch", "[ $3 = session-open ] && cat \"$desk/digest\"");
    let Some(mut pi) = Pi::new(&desk, &script) else { return };
    pi.starts();
    let seen = pi.is_asked("hello");
    let [message] = seen.messages()[..] else { panic!() };
    let kept = 512 * 1024 - 1;
    let marker = format!(
        "\nPI SESSION-START DELIVERY TRUNCATED: {} bytes are missing from here on; the whole text is the newest file in \
         .dogwatch/state/digest/, or run `{} open`.",
        whole.len() - kept,
        script.display()
    );
    assert!(
        message == format!("{PROVENANCE}{}{marker}", &whole[..kept]),
        "{:?}",
        message.get(message.len() - 300..)
    );
}

#[test]
fn of_a_flood_no_more_than_that_is_kept() {
    let desk = Desk::new();
    let script = desk.script("dogwatch", "[ $3 = session-open ] && head -c 400000000 /dev/zero | tr '\\0' x");
    let Some(mut pi) = Pi::new(&desk, &script) else { return };
    pi.starts();
    assert!(pi.is_asked("hello").messages()[0].contains("TRUNCATED: 399475712 bytes are missing"));
    let status = fs::read_to_string(format!("/proc/{}/status", pi.host.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")).unwrap();
    let peak_kib: u64 = peak.trim().parse().unwrap();
    // Far below the flood, far above an idle node.
    assert!(peak_kib < 300 * 1024, "{peak_kib} KiB");
}

#[test]
fn a_pipe_that_somebody_else_holds_does_not_hold_a_digest() {
    let desk = Desk::new();
    let _gate = desk.gate("gate");
    let text = "[ $3 = session-open ] || exit 0\necho digest; ( read _ < \"$desk/gate\" ) & exit 0";
    let Some(mut pi) = Pi::new(&desk, &desk.script("dogwatch", text)) else { return };
    pi.starts();
    assert_eq!(pi.is_asked("hello").messages(), [format!("{PROVENANCE}digest")]);
    assert!(wait_until(|| count(&desk, "session-open") == 1));
}
