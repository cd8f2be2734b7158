//! Many bounded runs as one ordered text.

// Helpers of tests may panic as the tests themselves may.
#![allow(clippy::unwrap_used)]

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dogwatch_engine::process::{Command, Deadline, Engine};
use dogwatch_engine::stages::{
    Digest, DigestReport, External, ExternalReport, Progress, Ran, Stage, StageEnd, Truncation, Work,
};

const MISBEHAVE: &str = env!("CARGO_BIN_EXE_misbehave");
/// What a loaded machine may add to a bound before a test calls it broken.
const SLACK: Duration = Duration::from_secs(8);

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn deadline(ms: u64) -> Deadline {
    Deadline::new(Duration::from_millis(ms)).unwrap()
}

fn digest(ms: u64) -> Digest {
    Digest::new(Engine::with_supervisor(MISBEHAVE), deadline(ms))
}

fn text(name: &str, text: &'static str) -> Stage {
    let work = Work::Function(Box::new(move || (!text.is_empty()).then(|| text.to_owned())));
    Stage { name: name.to_owned(), bound: deadline(60_000), work }
}

fn shell(name: &str, bound: Deadline, script: &str) -> Stage {
    let command = Command::new("/bin/sh").args(["-c", script]);
    let render = Box::new(|ran: Ran<'_>| match ran {
        Ran::Ended(captured) => Some(String::from_utf8_lossy(&captured.stdout).into_owned()),
        _ => None,
    });
    Stage { name: name.to_owned(), bound, work: Work::Command { command, render } }
}

/// Runs the stages; the texts as they were told, and the report.
fn run(digest: &Digest, stages: Vec<Stage>) -> (Vec<String>, DigestReport) {
    let mut told = Vec::new();
    let report = block_on(digest.run(stages, pending(), |progress| {
        if let Progress::Turn(stage) = progress {
            told.push(stage.text.clone());
        }
    }));
    (told, report)
}

fn ends(report: &DigestReport) -> Vec<&StageEnd> {
    report.stages.iter().map(|stage| &stage.end).collect()
}

#[test]
fn texts_come_in_order_whatever_ends_first() {
    let stages = vec![
        shell("slow", deadline(60_000), "sleep 0.3; echo slow"),
        text("quick", "quick\n"),
        text("silent", ""),
        shell("other", deadline(60_000), "echo other"),
    ];
    let (told, report) = run(&digest(60_000), stages);
    assert_eq!(told, ["slow\n", "quick\n", "", "other\n"]);
    assert_eq!(report.truncation, None);
    assert!(report.stages.iter().all(|stage| stage.end == StageEnd::Done));
}

#[test]
fn stages_work_at_the_same_time() {
    // Each waits for the other: one after the other they would never end.
    let folder = tempfile::tempdir().unwrap();
    let script = |own: &str, other: &str| {
        let path = folder.path().display();
        format!("touch {path}/{own}; while [ ! -e {path}/{other} ]; do sleep 0.01; done; echo {own}")
    };
    let stages = vec![
        shell("a", deadline(60_000), &script("a", "b")),
        shell("b", deadline(60_000), &script("b", "a")),
    ];
    assert_eq!(run(&digest(60_000), stages).0, ["a\n", "b\n"]);
}

#[test]
fn a_stage_over_its_bound_is_replaced_by_one_line_and_the_next_takes_its_turn() {
    let hang = Stage {
        name: "thread".to_owned(),
        bound: deadline(100),
        work: Work::Function(Box::new(|| {
            std::thread::sleep(Duration::from_secs(20));
            Some("late".to_owned())
        })),
    };
    let stages = vec![shell("hang", deadline(300), "echo partial; sleep 600"), hang, text("next", "next\n")];
    let started = Instant::now();
    let (told, report) = run(&digest(60_000), stages);
    assert!(started.elapsed() < SLACK);
    assert_eq!(told[0], "[hang: not finished within its bound of 300 ms]\n");
    assert_eq!(told[1], "[thread: not finished within its bound of 100 ms]\n");
    assert_eq!(told[2], "next\n");
    assert_eq!(report.truncation, None, "a stage's own bound does not truncate the whole");
}

#[test]
fn at_the_deadline_what_is_finished_is_there_and_the_rest_is_named() {
    let mut digest = digest(1_000);
    digest.commands_at_once = 2;
    let stages = vec![
        text("first", "first\n"),
        shell("hangs", deadline(60_000), "echo had this; sleep 600"),
        shell("deaf", deadline(60_000), "trap '' TERM; sleep 600"),
        shell("queued", deadline(60_000), "echo never"),
        text("last", "last\n"),
    ];
    let started = Instant::now();
    let (told, report) = run(&digest, stages);
    assert!(started.elapsed() < Duration::from_secs(2) + SLACK);
    assert_eq!(told[0], "first\n");
    assert_eq!(told[1], "had this\n[hangs: cut here, it did not finish]\n");
    assert_eq!(told[4], "last\n");
    assert_eq!(report.truncation, Some(Truncation::Deadline(Duration::from_secs(1))));
    assert_eq!(report.names(&StageEnd::Unfinished), ["hangs", "deaf"]);
    assert_eq!(report.names(&StageEnd::NeverStarted), ["queued"]);
}

#[test]
fn an_interruption_keeps_the_text_so_far() {
    let stages = vec![
        text("first", "first\n"),
        shell("hangs", deadline(60_000), "echo had this; sleep 600"),
        Stage {
            name: "thread".to_owned(),
            bound: deadline(60_000),
            work: Work::Function(Box::new(|| {
                std::thread::sleep(Duration::from_secs(20));
                None
            })),
        },
    ];
    let digest = digest(60_000);
    let report = block_on(digest.run(
        stages,
        async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            15
        },
        |_| {},
    ));
    assert_eq!(report.truncation, Some(Truncation::Interrupted(15)));
    assert_eq!(ends(&report), [&StageEnd::Done, &StageEnd::Unfinished, &StageEnd::Unfinished]);
    assert!(report.stages[1].text.starts_with("had this\n"));
}

#[test]
fn a_stage_that_cannot_run_or_panics_says_so_and_harms_nobody() {
    let missing = Stage {
        name: "missing".to_owned(),
        bound: deadline(60_000),
        work: Work::Command { command: Command::new("/no/such"), render: Box::new(|_| None) },
    };
    let panics = Stage {
        name: "panics".to_owned(),
        bound: deadline(60_000),
        work: Work::Function(Box::new(|| panic!("so it goes"))),
    };
    let (told, report) = run(&digest(60_000), vec![missing, panics, text("next", "next\n")]);
    assert_eq!(told[0], "[missing: cannot run /no/such: no such program]\n");
    assert_eq!(told[1], "[panics: internal error: so it goes]\n");
    assert_eq!(told[2], "next\n");
    assert!(matches!(report.stages[0].end, StageEnd::Failed(_)));
}

#[test]
fn all_texts_together_stay_under_the_cap_and_nothing_follows_a_cut() {
    let mut digest = digest(60_000);
    digest.cap_bytes = 1000;
    let stages = vec![
        text("small", "small\n"),
        shell("large", deadline(60_000), &format!("{MISBEHAVE} zeros 5000 | tr '\\0' 'x'")),
        text("after", "after\n"),
    ];
    let (told, report) = run(&digest, stages);
    assert_eq!(told[0], "small\n");
    assert_eq!(told[1].len(), 994);
    assert_eq!(told[2], "");
    assert_eq!(report.missing_bytes, 5000 - 994 + 6);
    assert_eq!(report.stages[2].missing_bytes, 6, "who was silenced is told");
}

#[test]
fn one_stage_that_talks_too_much_is_cut_and_named_and_silences_nobody() {
    let mut digest = digest(60_000);
    digest.stage_cap_bytes = 100;
    let stages = vec![
        shell("chatty", deadline(60_000), &format!("{MISBEHAVE} zeros 5000 | tr '\\0' 'x'")),
        shell("floods", deadline(500), "yes"),
        text("after", "after\n"),
    ];
    let (told, report) = run(&digest, stages);
    let cut = format!("{}\n[chatty: cut after 100 bytes, 4900 more were dropped]\n", "x".repeat(100));
    assert_eq!(told[0], cut);
    assert_eq!(told[1], "[floods: not finished within its bound of 500 ms]\n");
    assert_eq!(told[2], "after\n");
    assert_eq!(report.missing_bytes, 0, "nothing is missed of a stage that is replaced by a line");
}

#[test]
fn leftovers_of_a_stage_end_with_it_and_not_with_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let pid = pid_file.display();
    let leaves = format!(
        "setsid sh -c 'echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600' > /dev/null & \
                 while [ ! -e {pid} ]; do sleep 0.01; done; echo left"
    );
    // Ends when the other's leftover is gone.
    let waits = format!(
        "while [ ! -e {pid} ]; do sleep 0.01; done; while kill -0 $(cat {pid}) 2>/dev/null; do sleep 0.01; done; \
         echo gone"
    );
    let stages = vec![shell("leaves", deadline(60_000), &leaves), shell("waits", deadline(30_000), &waits)];
    assert_eq!(run(&digest(60_000), stages).0, ["left\n", "gone\n"]);
}

fn at_turn(name: &str, text: impl FnOnce() -> Option<String> + Send + 'static) -> Stage {
    Stage { name: name.to_owned(), bound: deadline(60_000), work: Work::AtTurn(Box::new(text)) }
}

#[test]
fn a_stage_at_its_turn_looks_when_everything_before_it_was_said_and_nothing_after_it() {
    // What was told is put down by the teller, and looked at by the stage.
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let looks = move || Some(format!("after {}\n", seen.lock().unwrap().join(" ")));
    let stages = vec![
        text("quick", "x\n"),
        shell("slow", deadline(60_000), "sleep 0.3; echo slow"),
        at_turn("looks", looks),
        text("later", "x\n"),
    ];
    let report = block_on(digest(60_000).run(stages, pending(), |progress| {
        if let Progress::Turn(stage) = progress {
            told.lock().unwrap().push(stage.name.clone());
        }
    }));
    assert_eq!(report.stages[2].text, "after quick slow\n");
    assert_eq!(*told.lock().unwrap(), ["quick", "slow", "looks", "later"]);
    assert!(report.stages.iter().all(|stage| stage.end == StageEnd::Done));
}

#[test]
fn a_stage_at_its_turn_looks_once_also_after_the_deadline() {
    let count = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&count);
    let looks = move || {
        *counter.lock().unwrap() += 1;
        Some("looked\n".to_owned())
    };
    let stages = vec![shell("hangs", deadline(60_000), "echo had this; sleep 600"), at_turn("looks", looks)];
    let (told, report) = run(&digest(500), stages);
    assert_eq!(told[1], "looked\n");
    assert_eq!((*count.lock().unwrap(), &report.stages[1].end), (1, &StageEnd::Done));
    assert_eq!(report.names(&StageEnd::Unfinished), ["hangs"]);
}

#[test]
fn a_stage_at_its_turn_that_panics_or_hangs_has_nothing_to_say_and_holds_nobody_up() {
    let release = Arc::new(AtomicBool::new(false));
    let hangs = Arc::clone(&release);
    let stages = vec![
        at_turn("panics", || panic!("so it goes")),
        at_turn("hangs", move || {
            let until = Instant::now() + Duration::from_secs(60);
            while !hangs.load(Ordering::Relaxed) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            Some("late\n".to_owned())
        }),
        at_turn("silent", || None),
        text("next", "next\n"),
    ];
    let started = Instant::now();
    let (told, report) = run(&digest(60_000), stages);
    let elapsed = started.elapsed();
    release.store(true, Ordering::Relaxed);
    assert!(elapsed >= Duration::from_secs(1) && elapsed < Duration::from_secs(1) + SLACK, "{elapsed:?}");
    assert_eq!(told, ["", "", "", "next\n"]);
    assert_eq!(report.truncation, None);
}

#[test]
fn what_a_stage_says_at_its_turn_counts_under_the_cap() {
    let mut digest = digest(60_000);
    digest.cap_bytes = 10;
    let stages =
        vec![text("first", "123456\n"), at_turn("long", || Some("ääää".to_owned())), text("after", "x\n")];
    let (told, report) = run(&digest, stages);
    assert_eq!(told, ["123456\n", "ä", ""], "and no character is cut in two");
    assert_eq!(report.missing_bytes, 6 + 2);
}

fn external(digest: &Digest, script: &str, stages: &[&str]) -> (String, ExternalReport) {
    let folder = tempfile::tempdir().unwrap();
    let stage_file = folder.path().join("stage");
    std::fs::write(&stage_file, "").unwrap();
    let stages: Vec<String> = stages.iter().map(|id| (*id).to_owned()).collect();
    let command = Command::new("/bin/sh").args(["-c", script]);
    let external = External { command, stages: &stages, stage_file: &stage_file };
    let mut text = Vec::new();
    let report = block_on(external.run(digest, pending(), |bytes| text.extend_from_slice(bytes))).unwrap();
    (String::from_utf8(text).unwrap(), report)
}

#[test]
fn an_external_digest_that_ends_is_whole() {
    let (text, report) = external(&digest(60_000), "echo a > $DOGWATCH_STAGE_FILE; echo text", &["a", "b"]);
    assert_eq!(text, "text\n");
    assert_eq!(report.truncation, None);
    assert!(report.unfinished.is_empty() && report.never_started.is_empty());
}

#[test]
fn an_external_digest_that_hangs_is_cut_and_says_where_it_was() {
    let script = "echo one > $DOGWATCH_STAGE_FILE; echo text of one; \
                  echo two > $DOGWATCH_STAGE_FILE; echo begun; sleep 600";
    let (text, report) = external(&digest(800), script, &["one", "two", "three"]);
    assert_eq!(text, "text of one\nbegun\n");
    assert!(matches!(report.truncation, Some(Truncation::Deadline(_))));
    assert_eq!((report.unfinished, report.never_started), (vec!["two".to_owned()], vec!["three".to_owned()]));
}

#[test]
fn an_external_digest_that_puts_a_fifo_in_place_of_its_stage_file_holds_nothing_up() {
    let script = "rm $DOGWATCH_STAGE_FILE; mkfifo $DOGWATCH_STAGE_FILE; echo text; sleep 600";
    let (text, report) = external(&digest(800), script, &["one"]);
    assert_eq!(text, "text\n");
    assert_eq!(report.never_started, ["one"]);
}
