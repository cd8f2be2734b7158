//! What can be expected of a step: each expectation holds where it should, and where it should not it says what there is.

use crate::play;

const OPEN: &str = "SessionStart-startup-headless";
const TOOL: &str = "PreToolUse-Bash-headless";
const DENY: &str = r#"echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not on a Friday"}}'"#;

#[test]
fn a_step_without_an_expectation_needs_a_hook_too() {
    let step = |command: &str| format!("harness = \"claude\"\n{command}[[steps]]\nevent = \"{OPEN}\"\n");
    let report = play(&step(""));
    let unmet: Vec<_> = report.unmet().collect();
    assert!(!report.passed() && unmet.len() == 1 && unmet[0].line == 2, "{report}");
    assert!(unmet[0].expected.contains("a hook that takes SessionStart"), "{report}");
    assert!(unmet[0].found.contains("`expect = { commands = 0 }` expects that"), "{report}");
    play(&format!("{}expect = {{ commands = 0 }}\n", step(""))).assert_passed();
    play(&step("command = \"true\"\n")).assert_passed();
}

fn unmet(event: &str, command: &str, expect: &str) -> Vec<String> {
    let report = play(&format!(
        "harness = \"claude\"\ncommand = '''{command}'''\n[[steps]]\nevent = \"{event}\"\nexpect = {expect}\n"
    ));
    report.unmet().map(|unmet| format!("{} | {}", unmet.expected, unmet.found)).collect()
}

/// (event, command, an expectation that holds, one that does not, and what is said of it).
const CASES: &[(&str, &str, &str, &str, &str)] = &[
    (
        OPEN,
        "echo hello",
        "{ context = true }",
        "{ context = false }",
        "no `context` | context 5 bytes whole: hello",
    ),
    (
        OPEN,
        "echo hello",
        "{ context = \"hell\" }",
        "{ context = \"bye\" }",
        "`context` with \"bye\" | context 5 bytes",
    ),
    (
        OPEN,
        "echo hello",
        "{ context = [\"hel\", \"llo\"] }",
        "{ context = [\"hel\", \"bye\"] }",
        "`context` with \"hel\" with \"bye\" |",
    ),
    (
        OPEN,
        "echo hello",
        "{ context = { lacks = \"bye\" } }",
        "{ context = { lacks = \"hell\" } }",
        "`context` without \"hell\" |",
    ),
    (
        OPEN,
        "echo hello",
        "{ context = { delivered = \"whole\" } }",
        "{ context = { delivered = \"cut\" } }",
        "`context` delivered cut |",
    ),
    (
        OPEN,
        "echo hello",
        "{ context = { bytes = 5 } }",
        "{ context = { bytes = 6 } }",
        "`context` of 6 bytes |",
    ),
    (
        OPEN,
        "echo hello",
        "{ context = { bytes = { least = 5, most = 5 } } }",
        "{ context = { bytes = { most = 4 } } }",
        "`context` of at most 4 bytes |",
    ),
    (
        OPEN,
        "echo hello",
        "{ context = { bytes = { least = 5 } } }",
        "{ context = { bytes = { least = 6 } } }",
        "`context` of at least 6 bytes |",
    ),
    (OPEN, "echo hello", "{ context = { count = 1 } }", "{ context = { count = 2 } }", "2 times `context` |"),
    (TOOL, DENY, "{ denied = \"on a Friday\" }", "{ denied = \"on a Monday\" }", "denied: not on a Friday"),
    (
        TOOL,
        DENY,
        "{ denied = { why = \"Friday\" } }",
        "{ denied = { why = \"Monday\" } }",
        "because of \"Monday\" |",
    ),
    (TOOL, DENY, "{ ran = false }", "{ ran = true }", "`ran` | there is none; there is: denied"),
    (TOOL, ":", "{ ran = true }", "{ ran = false }", "no `ran` | ran"),
    (TOOL, ":", "{ silent = true }", "{ silent = false }", "something of the hook is noticed | nothing"),
    (TOOL, DENY, "{ silent = false }", "{ silent = true }", "nothing of the hook is noticed | denied"),
    (TOOL, ":", "{ commands = 1 }", "{ commands = 2 }", "hooks that take the event: 2 | 1"),
    (
        TOOL,
        "exit 3",
        "{ failed = \"exit 3\" }",
        "{ failed = \"exit 4\" }",
        "`failed` with \"exit 4\" | failed: exit 3",
    ),
    (
        TOOL,
        "exit 3",
        "{ failed = true, exit = 3 }",
        "{ failed = true, exit = 4 }",
        "exit 3 ends with exit 4 | exit 3",
    ),
    (
        TOOL,
        "kill -9 $$",
        "{ failed = true, exit = \"SIGKILL\" }",
        "{ failed = true, exit = \"SIGTERM\" }",
        "ends with SIGTERM | SIGKILL",
    ),
    (TOOL, ":", "{ timed_out = false }", "{ timed_out = true }", "a hook times out: true | false"),
    (TOOL, ":", "{ within = \"10m\" }", "{ at_least = 600 }", "at least 10 min | "),
    (
        TOOL,
        ":",
        "{ stdout_eof = true }",
        "{ stdout_eof = false }",
        "at its end when the harness goes on: false | true",
    ),
    (
        TOOL,
        "setsid sleep 60 </dev/null >/dev/null 2>&1 & :",
        "{ leaks = 1, survivors = 1 }",
        "{ survivors = 0 }",
        "processes left behind: 0 | 1",
    ),
    (
        OPEN,
        "echo '{\"systemMessage\":\"psst\"}'",
        "{ message = \"psst\", only = true }",
        "{ context = false, only = true }",
        "only what is named | message: psst",
    ),
    (
        "UserPromptSubmit-headless",
        "echo stop >&2; exit 2",
        "{ denied = \"stop\", message = true }",
        "{ events = [\"Stop\"] }",
        "the events Stop | UserPromptSubmit",
    ),
    (
        "Stop-first-headless",
        ":",
        "{ refused = 0, ends = \"allowed\" }",
        "{ ends = \"capped\" }",
        "the stop ends capped | allowed",
    ),
    (
        "PreCompact-manual-headless",
        "[ {event} = SessionStart ] && echo again; :",
        "{ then = [{ event = \"SessionStart\", context = \"again\" }, { event = \"PostCompact\", silent = true }] }",
        "{ then = [{ event = \"PostCompact\" }, { event = \"SessionStart\", context = \"again\" }] }",
        "SessionStart comes of PreCompact | there is: PreCompact, SubagentStop, SessionStart, PostCompact",
    ),
    (
        "PreCompact-manual-headless",
        "[ {event} = SessionStart ] && echo again; :",
        "{ then = [{ event = \"SessionStart\", context = { bytes = 5 } }] }",
        "{ then = [{ event = \"SessionStart\", context = false }] }",
        "SessionStart: no `context` | context 5 bytes",
    ),
    (TOOL, ":", "{ beside = false }", "{ beside = true }", "run beside each other: true | false"),
];

#[test]
fn an_expectation_holds_or_says_what_there_is() {
    for (event, command, holds, does_not, said) in CASES {
        assert_eq!(unmet(event, command, holds), Vec::<String>::new(), "{command}: {holds}");
        let unmet = unmet(event, command, does_not);
        assert!(unmet.iter().any(|text| text.contains(said)), "{command}: {does_not}: {unmet:?}");
    }
}

#[test]
fn faults_count_unless_they_are_named() {
    let failed = |expect| unmet(TOOL, "exit 3", expect);
    assert_eq!(failed("{ ran = true }"), ["no hook fails | failed: exit 3"]);
    assert!(failed("{ ran = true, failed = true }").is_empty());

    let leak = "setsid sleep 60 </dev/null >/dev/null 2>&1 & :";
    let unnamed = unmet(TOOL, leak, "{ ran = true }");
    assert!(unnamed.len() == 1 && unnamed[0].starts_with("no process is left behind | "), "{unnamed:?}");
    assert!(unmet(TOOL, leak, "{ ran = true, leaks = 1 }").is_empty());

    let report = play(
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-first-headless\"\nexpect = { silent = true }\n",
    );
    assert_eq!(report.unmet().count(), 1, "{report}");
    assert!(report.to_string().contains("a hook that takes Stop"), "{report}");
}

#[test]
fn a_fault_of_what_comes_of_a_step_counts_too() {
    let command = "[ {event} = SessionStart ] && exit 3; :";
    let event = "PreCompact-manual-headless";
    assert_eq!(unmet(event, command, "{ silent = true }"), ["SessionStart: no hook fails | failed: exit 3"]);
    let named = "{ silent = true, then = [{ event = \"SessionStart\", failed = true }] }";
    assert!(unmet(event, command, named).is_empty());
    let unnamed = "{ silent = true, then = [{ event = \"SessionStart\", exit = 3 }] }";
    assert_eq!(unmet(event, command, unnamed), ["SessionStart: no hook fails | failed: exit 3"]);
}

#[test]
fn a_step_without_an_expectation_is_a_snapshot_in_which_hooks_have_to_work() {
    let of = |command: &str| {
        play(&format!("harness = \"claude\"\ncommand = '''{command}'''\n[[steps]]\nevent = \"{TOOL}\"\n"))
    };
    let snapshot = of(DENY);
    assert!(snapshot.passed() && snapshot.steps[0].is_snapshot);
    assert!(snapshot.to_string().contains("denied: not on a Friday"), "{snapshot}");
    assert!(!of("exit 3").passed());
}

#[test]
fn a_note_may_be_expected() {
    let text = |note: &str| {
        format!(
            "harness = \"grok\"\n[project.files]\n\".grok/hooks/a.json\" = '''{{\"hooks\": {{\"SessionStart\": \
             [{{\"matcher\": \"startup\", \"hooks\": [{{\"type\": \"command\", \"command\": \"echo\"}}]}}]}}}}'''\n\
             [[steps]]\nevent = \"SessionStart-new\"\nexpect = {{ commands = 0, note = \"{note}\" }}\n"
        )
    };
    play(&text("can never match")).assert_passed();
    let report = play(&text("matches always"));
    assert!(report.to_string().contains("a note with \"matches always\""), "{report}");
}

#[test]
fn each_hook_may_have_its_own_exit() {
    let text = |exit: &str| {
        format!(
            "harness = \"claude\"\n[project.files]\n\".claude/settings.json\" = '''{{\"hooks\": {{\"SessionStart\": [{{\"hooks\": [\
             {{\"type\": \"command\", \"command\": \"exit 0\"}}, {{\"type\": \"command\", \"command\": \"exit 3\"}}]}}]}}}}'''\n\
             [[steps]]\nevent = \"{OPEN}\"\nexpect = {{ failed = true, exit = {exit} }}\n"
        )
    };
    play(&text("[0, 3]")).assert_passed();
    for wrong in ["[3, 0]", "0", "[0]", "[0, 3, 0]"] {
        assert!(!play(&text(wrong)).passed(), "{wrong}");
    }
}
