//! What `matrix` costs over the bare starts of the processes it runs: `cargo bench -p harness-sim --bench matrix`.
//!
//! Both are measured in turn, and the figure is a ratio of medians: of the matrix over all recordings at a hook that does
//! nothing, and of the sum of the starts of the same command lines, one after the other, divided by the processors. It
//! means something on an idle machine only. With `--check` a ratio above the limit is a failure.

#![allow(clippy::print_stdout, reason = "a benchmark's result")]

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use harness_sim::{Harness, recordings};

const RUNS: usize = 15;
const LIMIT: f64 = 1.3;

fn main() -> ExitCode {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut matrix = Vec::new();
    let mut bare = Vec::new();
    for _ in 0..RUNS {
        bare.push(timed(bare_starts));
        matrix.push(timed(|| {
            let status = Command::new(env!("CARGO_BIN_EXE_harness-sim"))
                .args(["matrix", "--json", "--", "true"])
                .current_dir(folder.path())
                .stdout(Stdio::null())
                .status();
            assert!(status.is_ok_and(|status| status.success()), "the matrix is not fine");
        }));
    }
    let (matrix, bare) = (median(matrix), median(bare));
    let share = bare / u32::try_from(processors).unwrap_or(1);
    let ratio = matrix.as_secs_f64() / share.as_secs_f64();
    println!(
        "matrix {matrix:?}, bare starts {bare:?} / {processors} processors = {share:?}: ratio {ratio:.2}, limit {LIMIT}"
    );
    let checks = std::env::args().any(|argument| argument == "--check");
    if checks && ratio > LIMIT { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The command lines that the matrix runs, and nothing else.
fn bare_starts() {
    // What Codex takes, without reading the environment here.
    let shell = Command::new("/bin/sh").args(["-c", "printf %s \"${SHELL:-/bin/sh}\""]).output();
    let shell = shell.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    for recording in recordings() {
        let program = match recording.harness {
            Harness::Claude | Harness::Cursor | Harness::Grok => "/bin/sh",
            Harness::Codex => &shell,
            _ => continue,
        };
        let status = Command::new(program).args(["-c", "true"]).stdin(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
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
