//! Sessions and processes of a scenario.

use std::path::Path;

use crate::{lines, play_in, simulator};

/// `<process> <session>` for each event, as a hook sees them.
fn seen(text: &str) -> Vec<(String, String)> {
    let project = tempfile::tempdir().unwrap();
    let head = r#"command = '''
session=$(sed 's/.*"session_id":"\([^"]*\)".*/\1/')
echo "$PPID $session" >> "{project}/seen"
'''
"#;
    play_in(project.path(), &format!("{head}{text}")).assert_passed();
    let split = |line: &String| {
        let (process, session) = line.split_once(' ').unwrap();
        (process.to_owned(), session.to_owned())
    };
    lines(&project.path().join("seen")).iter().map(split).collect()
}

#[test]
fn another_session_is_another_process_at_the_same_time() {
    let seen = seen(
        "harness = \"claude\"\n[[steps]]\nevent = \"SessionStart-startup-headless\"\n\
         [[steps]]\nevent = \"SessionStart-startup-headless\"\nsession = \"second\"\n\
         [[steps]]\nevent = \"UserPromptSubmit-headless\"\n",
    );
    assert_eq!(seen[0], seen[2]);
    assert!(seen[0].0 != seen[1].0 && seen[0].1 != seen[1].1);
}

#[test]
fn a_daemon_has_several_sessions_in_one_process() {
    let seen = seen(
        "harness = \"codex\"\nshared_process = true\n[[steps]]\nevent = \"SessionStart-startup-tui\"\n\
         [[steps]]\nevent = \"SessionStart-startup-tui\"\nsession = \"second\"\n\
         [[steps]]\nevent = \"UserPromptSubmit-tui\"\n",
    );
    assert_eq!(seen[0], seen[2]);
    assert!(seen[0].0 == seen[1].0 && seen[0].1 != seen[1].1);
}

#[test]
fn a_clear_is_another_session_of_the_process_and_a_compaction_is_the_same() {
    let seen = seen(
        "harness = \"claude\"\n[[steps]]\nevent = \"SessionStart-startup-headless\"\n\
         [[steps]]\nevent = \"SessionStart-clear-tui\"\n[[steps]]\nevent = \"SessionStart-compact-tui\"\n\
         [[steps]]\nevent = \"SessionStart-resume-tui\"\n[[steps]]\nevent = \"SessionStart-fork-headless\"\n",
    );
    assert!(seen.iter().all(|(process, _)| *process == seen[0].0));
    assert_ne!(seen[0].1, seen[1].1);
    assert_eq!(seen[1].1, seen[2].1);
    assert_eq!(seen[2].1, seen[3].1);
    assert_ne!(seen[3].1, seen[4].1);
}

#[test]
fn a_resume_after_the_end_is_the_same_session_in_another_process() {
    for (harness, open, resume) in [
        ("claude", "SessionStart-startup-headless", "SessionStart-resume-headless"),
        ("grok", "SessionStart-new", "SessionStart-load"),
    ] {
        let seen = seen(&format!(
            "harness = \"{harness}\"\n[[steps]]\nevent = \"{open}\"\n[[steps]]\nquit = true\n\
             [[steps]]\nevent = \"{resume}\"\n[[steps]]\nquit = true\n[[steps]]\nevent = \"{open}\"\n"
        ));
        assert_eq!(seen[0].1, seen[1].1);
        assert_ne!(seen[0].0, seen[1].0);
        assert_ne!(seen[1].1, seen[2].1, "a start is a new session");
    }
}

#[test]
fn processes_end_with_their_session_and_with_the_scenario() {
    let project = tempfile::tempdir().unwrap();
    let text = r#"
harness = "claude"
command = "setsid sleep 60 </dev/null >/dev/null 2>&1 & echo $! > before; echo started"
[[steps]]
event = "SessionStart-startup-headless"
expect = { leaks = 1, context = "started" }
[[steps]]
quit = true
[[steps]]
event = "UserPromptSubmit-headless"
command = "kill -0 $(cat before) && echo it lives"
expect = { failed = true, context = false }
"#;
    play_in(project.path(), text).assert_passed();
    let pid = lines(&project.path().join("before"))[0].clone();
    assert!(!Path::new("/proc").join(pid).join("cwd").exists());
}

#[test]
fn a_simulator_lends_what_the_scenario_does_not_say() {
    let (project, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let scenario = harness_sim::Scenario::parse(
        "harness = \"codex\"\n[[steps]]\nevent = \"UserPromptSubmit-tui\"\nexpect.context = \"of the simulator\"\n",
        "test.toml",
    )
    .unwrap();
    let mut lender = simulator()
        .project(project.path())
        .home(home.path())
        .env("WHOSE", "of the simulator")
        .command("pwd; echo $HOME $WHOSE");
    let report = lender.run(&scenario).unwrap();
    report.assert_passed();
    let said = report.firings().next().unwrap().context();
    assert!(said.contains(home.path().to_str().unwrap()) && said.contains(project.path().to_str().unwrap()));
}
