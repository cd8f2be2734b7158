//! What `matrix` costs over the bare starts of the processes it runs: `cargo bench -p harness-sim --bench matrix`.
//!
//! All are measured in turn, and the figures are ratios of medians: of the matrix over all recordings at a hook that does
//! nothing, and of the sum of the starts of the same command lines, one after the other, divided by the processors. How
//! well the machine itself shares bare starts out to its processors is told, too, because no matrix can be better than
//! that; and the ratio to starts with the three pipes that every hook has. It means something on an idle machine only. With
//! `--check` a ratio to the bare starts above the limit is a failure.

#![allow(clippy::print_stdout, reason = "a benchmark's result")]

use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use harness_sim::{Harness, recordings};

const RUNS: usize = 15;
const LIMIT: f64 = 1.3;

fn main() -> ExitCode {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (mut matrix, mut bare, mut fed, mut beside) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        bare.push(timed(|| starts(&lines(), bare_start)));
        fed.push(timed(|| starts(&lines(), fed_start)));
        beside.push(timed(|| {
            std::thread::scope(|scope| {
                let lines = lines();
                for part in lines.chunks(lines.len().div_ceil(processors)) {
                    let part = part.to_vec();
                    scope.spawn(move || starts(&part, bare_start));
                }
            });
        }));
        matrix.push(timed(|| {
            let status = Command::new(env!("CARGO_BIN_EXE_harness-sim"))
                .args(["matrix", "--json", "--", "true"])
                .current_dir(folder.path())
                .stdout(Stdio::null())
                .status();
            assert!(status.is_ok_and(|status| status.success()), "the matrix is not fine");
        }));
    }
    let (matrix, bare, fed, beside) = (median(matrix), median(bare), median(fed), median(beside));
    let share = |to: Duration| to / u32::try_from(processors).unwrap_or(1);
    let ratio = |time: Duration, to: Duration| time.as_secs_f64() / share(to).as_secs_f64();
    println!("matrix {matrix:?}, bare starts {bare:?}, with pipes {fed:?}; {processors} processors");
    println!("  to the bare starts                 {:.2}, limit {LIMIT}", ratio(matrix, bare));
    println!("  bare starts on all processors      {:.2} by themselves", ratio(beside, bare));
    println!("  to starts with pipes               {:.2}", ratio(matrix, fed));
    let checks = std::env::args().any(|argument| argument == "--check");
    if checks && ratio(matrix, bare) > LIMIT { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The programs whose `-c true` the matrix runs.
fn lines() -> Vec<String> {
    // What Codex takes, without reading the environment here.
    let shell = Command::new("/bin/sh").args(["-c", "printf %s \"${SHELL:-/bin/sh}\""]).output();
    let shell = shell.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let program = |harness| match harness {
        Harness::Claude | Harness::Cursor | Harness::Grok => Some("/bin/sh".to_owned()),
        Harness::Codex => Some(shell.clone()),
        _ => None,
    };
    recordings().iter().filter_map(|recording| program(recording.harness)).collect()
}

fn starts(programs: &[String], start: fn(&str)) {
    for program in programs {
        start(program);
    }
}

/// The command line, and nothing else.
fn bare_start(program: &str) {
    let status = Command::new(program).args(["-c", "true"]).stdin(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()));
}

/// The command line with a payload, and both outputs read to their end.
fn fed_start(program: &str) {
    let mut command = Command::new(program);
    command.args(["-c", "true"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a shell starts");
    // It may have ended without having read.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(b"{}"));
    assert!(child.wait_with_output().is_ok_and(|output| output.status.success()));
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
