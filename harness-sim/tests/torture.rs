//! The torture set, tried at hooks in sh that each have one weakness: the case that is about it must find it, and a hook
//! that has none must pass.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

use std::time::Duration;

use harness_sim::Harness;
use harness_sim::torture::{Outcome, Torture, Verdict};

/// Answers with more than a small pipe holds, whatever it is told.
const SOUND: &str = "i=0; while [ $i -lt 300 ]; do echo 'a line of context, long enough'; i=$((i+1)); done";
const CLOCK: &str = "a clock that jumps";
const NO_END: &str = "no end of stdin";
/// Generous for whoever ends, and long for whoever never does.
const BOUND: Duration = Duration::from_secs(10);
/// For hooks that hang in one case or another.
const SHORT: Duration = Duration::from_secs(3);

fn torture(command: &str, bound: Duration) -> Vec<Verdict> {
    let torture = Torture {
        command: command.to_owned(),
        harnesses: vec![Harness::Claude],
        bound: Some(bound),
        host_program: Some(env!("CARGO_BIN_EXE_harness-sim").into()),
        ..Torture::default()
    };
    torture.run().unwrap()
}

/// What was wrong in a case.
fn wrong<'a>(verdicts: &'a [Verdict], case: &str) -> &'a [String] {
    let verdict = verdicts.iter().find(|verdict| verdict.case == case).unwrap();
    match &verdict.outcome {
        Outcome::Wrong { wrong } => wrong,
        other => panic!("{case}: {other:?}"),
    }
}

/// The cases in which something was wrong, beside the one that ends no hook of `read` and `head`: they want a whole line.
fn all_wrong(verdicts: &[Verdict]) -> Vec<&str> {
    let is_wrong = |verdict: &&Verdict| matches!(verdict.outcome, Outcome::Wrong { .. });
    verdicts.iter().filter(is_wrong).map(|verdict| verdict.case).filter(|case| *case != NO_END).collect()
}

#[test]
fn a_sound_hook_passes_and_what_was_not_run_is_no_pass() {
    let verdicts = torture(SOUND, BOUND);
    let is_wrong = |verdict: &Verdict| matches!(verdict.outcome, Outcome::Wrong { .. });
    assert!(!verdicts.iter().any(is_wrong), "{verdicts:#?}");
    let not_run = |case| {
        let verdict = verdicts.iter().find(|verdict| verdict.case == case).unwrap();
        matches!(verdict.outcome, Outcome::NotRun { .. })
    };
    for case in ["TERM in mid-print", "KILL in mid-print", "a slow reader", "a full disk"] {
        assert!(!not_run(case), "{case}: {verdicts:#?}");
    }
}

#[test]
fn who_reads_to_the_end_hangs_where_there_is_none() {
    let verdicts = torture("cat > /dev/null; echo read", SHORT);
    assert_eq!(all_wrong(&verdicts), [] as [&str; 0], "{verdicts:#?}");
    assert!(wrong(&verdicts, NO_END)[0].contains("did not end within 3 s"));
}

#[test]
fn who_leaves_something_behind_is_found_in_every_case() {
    let verdicts = torture("setsid sleep 300 > /dev/null 2>&1 < /dev/null & echo left", SHORT);
    // A child that has not put its own stdout in place yet may be named before it.
    let said = wrong(&verdicts, "as recorded");
    assert!(said.iter().any(|why| why.contains("left behind: sleep 300")), "{said:?}");
    assert!(wrong(&verdicts, "200 events at once").len() > 1);
}

#[test]
fn a_grandchild_that_keeps_stdout_is_named() {
    let verdicts = torture("setsid sleep 300 < /dev/null & echo left", SHORT);
    let said = wrong(&verdicts, "as recorded").join("\n");
    assert!(said.contains("stays open after its end: "), "{said}");
}

#[test]
fn who_ignores_a_signal_and_goes_on_is_found() {
    let stubborn = format!("trap 'while :; do sleep 1; done' TERM; {SOUND}");
    let verdicts = torture(&stubborn, SHORT);
    let found = all_wrong(&verdicts).join(", ");
    assert!(found.contains("TERM in mid-print") && !found.contains("KILL"), "{found}");
}

#[test]
fn who_fails_or_blocks_on_what_is_odd_is_found() {
    let verdicts = torture(
        r#"case $(dd bs=65536 count=1 2>/dev/null) in *'"source"'*) ;; *SessionStart*) exit 1;; esac; echo ok"#,
        BOUND,
    );
    assert_eq!(all_wrong(&verdicts), ["no source"]);
    assert!(wrong(&verdicts, "no source")[0].contains("does not take its answer"));

    let verdicts = torture(
        "case $(dd bs=65536 count=1 2>/dev/null) in *UserPromptSubmit*) echo no >&2; exit 2;; esac; echo ok",
        SHORT,
    );
    assert!(
        wrong(&verdicts, "as recorded")[0].contains("blocks what it was not asked about"),
        "{verdicts:#?}"
    );
}

#[test]
fn who_needs_to_be_alone_is_found() {
    let alone = "mkdir lock || exit 1; sleep 0.2; rmdir lock; echo ok";
    let found = all_wrong(&torture(alone, SHORT)).join(", ");
    assert!(found.contains("twice at once") && !found.contains("as recorded"), "{found}");
}

#[test]
fn who_needs_to_write_fails_where_nothing_can_be_written() {
    let verdicts = torture("echo state > \"$HOME/state.$$\" || exit 1; echo ok", BOUND);
    let mut found = all_wrong(&verdicts);
    found.retain(|case| *case != "a read-only project and home");
    // Where no disk can be mounted, files are kept from growing.
    assert_eq!(found, ["a full disk"], "{verdicts:#?}");
}

/// Where the system lets nobody have clocks of their own, nothing was found, and that has to be said.
fn has_own_clocks(verdicts: &[Verdict]) -> bool {
    let verdict = verdicts.iter().find(|verdict| verdict.case == CLOCK).unwrap();
    match &verdict.outcome {
        Outcome::NotRun { why } => {
            assert!(why.contains("no clock could be set for the hook alone: "), "{why}");
            false
        }
        _ => true,
    }
}

/// What a shell finds true for as long as its clock has not jumped.
fn is_early() -> String {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let late = uptime.split('.').next().unwrap().parse::<u64>().unwrap() + 24 * 3600;
    format!("read -r up rest < /proc/uptime; [ ${{up%.*}} -lt {late} ]")
}

#[test]
fn who_goes_by_a_clock_that_jumps_is_found() {
    let verdicts = torture(&format!("{} && echo early; :", is_early()), BOUND);
    if has_own_clocks(&verdicts) {
        assert_eq!(all_wrong(&verdicts), [CLOCK], "{verdicts:#?}");
        let said = wrong(&verdicts, CLOCK);
        assert!(said[0].ends_with("exit 0; and before: exit 0, context"), "{said:?}");
    }
}

#[test]
fn a_declared_survivor_is_one_whatever_its_clock_says() {
    let declares = r#"setsid sleep 0.5 </dev/null >/dev/null 2>&1 & pid=$!
        until [ "$(cat /proc/$pid/comm)" = sleep ]; do :; done
        read -r stat < /proc/$pid/stat; set -- ${stat##*) }; shift 19
        printf '{"pid":%d,"start_time":%s}' $pid $1 > "$HARNESS_SIM_SURVIVORS/$pid""#;
    let verdicts = torture(&format!("{} || {{ {declares}; }}; echo ok", is_early()), BOUND);
    let verdict = verdicts.iter().find(|verdict| verdict.case == CLOCK).unwrap();
    if has_own_clocks(&verdicts) {
        assert_eq!(verdict.outcome, Outcome::Ok, "{verdicts:#?}");
        assert!(verdict.survivors.iter().any(|survivor| survivor.declared), "{verdicts:#?}");
    }
}

/// No disk can be filled where files may not grow beyond what fits on it; who may mount none is refused before that.
#[test]
fn where_the_system_refuses_a_full_disk_files_are_kept_from_growing() {
    let folder = tempfile::tempdir().unwrap();
    let hook = "echo state > \"$HOME/state.$$\" || exit 1; echo ok";
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", "ulimit -f 64; exec \"$0\" torture --harness claude --json -- \"$1\""])
        .args([env!("CARGO_BIN_EXE_harness-sim"), hook])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let verdicts: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let full = verdicts.as_array().unwrap().iter().find(|verdict| verdict["case"] == "a full disk").unwrap();
    let note = full["note"].as_str().unwrap_or_default();
    assert!(note.starts_with("no disk could be mounted ("), "{full}");
    assert!(note.ends_with("the hook's files were kept from growing instead"), "{full}");
    // The way round the refusal works: the hook could not write.
    assert_eq!(full["outcome"], "wrong", "{full}");
    assert!(full["wrong"][0].as_str().unwrap().contains("does not take its answer"), "{full}");
}

#[test]
fn a_crash_is_one_even_where_nobody_reads_the_answer() {
    let verdicts = torture("trap '' PIPE; echo one; sleep 0.1; echo two || kill -ABRT $$", BOUND);
    assert!(wrong(&verdicts, "stdout closed early")[0].contains("crashed"), "{verdicts:#?}");
}
