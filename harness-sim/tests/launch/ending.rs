//! Timeouts and kills, and who waits for whom.

use std::time::Duration;

use harness_sim::{Exit, Harness, Kind, Options};

use crate::{CLAUDE_OPEN, CODEX_OPEN, runs, simulator};

/// Long enough for a hook to come up on a busy machine.
const SHORT: Duration = Duration::from_millis(700);
/// Nothing of what these hooks start would end before that by itself.
const FOREVER: u64 = 60;

fn timeout(timeout: Duration) -> Options {
    Options { timeout: Some(timeout), ..Options::default() }
}

#[test]
fn claude_code_asks_the_whole_tree_to_end_also_in_other_sessions() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path()).options(timeout(SHORT)).command(format!(
        r#"setsid sh -c 'trap "echo TERM >> asked; exit" TERM; sleep {FOREVER} & wait' & sleep {FOREVER}"#
    ));
    let firing = claude.fire(CLAUDE_OPEN).unwrap();
    assert!(firing.commands[0].timed_out && firing.has(Kind::Failed), "{firing}");
    assert_eq!(std::fs::read_to_string(project.path().join("asked")).unwrap(), "TERM\n", "{firing}");
    assert!(firing.survivors.is_empty(), "{firing}");
    assert!(firing.commands[0].elapsed < SHORT + Duration::from_millis(1400), "{firing}");
}

#[test]
fn claude_code_kills_what_does_not_end_a_second_and_a_half_later() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path())
        .options(timeout(SHORT))
        .time_scale(0.2)
        .command("trap '' TERM; echo lost; while :; do sleep 0.05; done");
    let firing = claude.fire(CLAUDE_OPEN).unwrap();
    let run = &firing.commands[0];
    assert!(matches!(&run.exit, Exit::Signal { name, .. } if name == "SIGKILL"), "{firing}");
    assert!(run.elapsed >= SHORT + Duration::from_millis(300), "{firing}");
    assert!(!firing.has(Kind::Context), "{firing}");
}

#[test]
fn codex_kills_the_group_and_leaves_other_sessions_alone() {
    let project = tempfile::tempdir().unwrap();
    let mut codex = simulator(Harness::Codex, project.path()).options(timeout(SHORT)).command(format!(
        r"trap 'echo TERM >> asked' TERM
           setsid sleep {FOREVER} </dev/null >/dev/null 2>&1 & sleep {FOREVER} & echo $! > group; wait"
    ));
    let firing = codex.fire(CODEX_OPEN).unwrap();
    assert!(firing.commands[0].timed_out && firing.has(Kind::Failed), "{firing}");
    assert!(!project.path().join("asked").exists(), "killed without being asked");
    let of_group: i32 =
        std::fs::read_to_string(project.path().join("group")).unwrap().trim().parse().unwrap();
    assert!(!runs(of_group));
    assert_eq!(firing.survivors.len(), 1, "{firing}");
    assert_eq!(firing.survivors[0].name, "sleep");
}

#[test]
fn codex_waits_for_whoever_holds_stdout_and_then_loses_the_answer() {
    let project = tempfile::tempdir().unwrap();
    let mut codex = simulator(Harness::Codex, project.path())
        .options(timeout(SHORT))
        .command(format!("sleep {FOREVER} & echo the answer"));
    let firing = codex.fire(CODEX_OPEN).unwrap();
    let run = &firing.commands[0];
    assert!(run.timed_out && run.elapsed >= SHORT, "{firing}");
    assert!(matches!(run.exit, Exit::Code { code: 0 }), "{firing}");
    assert_eq!(run.holders.len(), 1, "{firing}");
    assert!(!firing.has(Kind::Context), "{firing}");
    assert!(
        // By its shell's name, where it was looked at before it had become its program.
        firing.of(Kind::Failed).any(|effect| effect
            .why
            .as_deref()
            .unwrap()
            .contains("waited for its stdout, which ")),
        "{firing}"
    );
}

#[test]
fn claude_code_does_not_wait_for_whoever_holds_stdout() {
    let project = tempfile::tempdir().unwrap();
    let mut claude =
        simulator(Harness::Claude, project.path()).command(format!("sleep {FOREVER} & echo the answer"));
    let firing = claude.fire(CLAUDE_OPEN).unwrap();
    assert_eq!(firing.context(), "the answer");
    assert!(!firing.commands[0].stdout_eof);
    assert!(firing.survivors[0].holds_stdout && firing.survivors[0].name == "sleep", "{firing}");
    assert!(firing.commands[0].elapsed < Duration::from_secs(20), "{firing}");
}

#[test]
fn an_answer_that_comes_in_time_is_whole_however_long_it_is() {
    for (harness, event) in [(Harness::Claude, CLAUDE_OPEN), (Harness::Codex, CODEX_OPEN)] {
        let firing = crate::fire(harness, event, "head -c 3000000 /dev/zero");
        assert_eq!(firing.commands[0].stdout.len(), 3_000_000, "{firing}");
    }
}

#[test]
fn one_that_floods_is_ended_in_time() {
    let project = tempfile::tempdir().unwrap();
    let mut claude = simulator(Harness::Claude, project.path()).options(timeout(SHORT)).command("yes");
    let firing = claude.fire(CLAUDE_OPEN).unwrap();
    assert!(firing.commands[0].timed_out && firing.survivors.is_empty(), "{firing}");
}

#[test]
fn hooks_at_claude_codes_session_end_have_the_longest_of_their_timeouts_together() {
    let project = tempfile::tempdir().unwrap();
    let fire = |timeout: &str| {
        std::fs::create_dir_all(project.path().join(".claude")).unwrap();
        // The one that needs the time names none.
        let settings = format!(
            r#"{{"hooks":{{"SessionEnd":[{{"hooks":[{{"type":"command","command":"sleep 2.5"}},{{"type":"command","command":"true"{timeout}}}]}}]}}}}"#
        );
        std::fs::write(project.path().join(".claude/settings.json"), settings).unwrap();
        simulator(Harness::Claude, project.path()).fire("SessionEnd-other-headless").unwrap()
    };
    let short = fire("");
    assert!(short.commands[0].timed_out, "{short}");
    let long = fire(r#","timeout":40"#);
    assert!(!long.commands[0].timed_out, "{long}");
}
