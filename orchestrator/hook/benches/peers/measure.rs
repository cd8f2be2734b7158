//! Runs of other programs: timed, bounded, interleaved; and the table of what came of it.

use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// No single run takes longer; a program that hangs is killed and its row says so.
pub(crate) const BOUND: Duration = Duration::from_mins(1);

/// What one row found: the texts of its columns, and whether the figure is above its limit.
pub(crate) struct Figure {
    pub(crate) ours: String,
    pub(crate) peer: String,
    pub(crate) ratio: String,
    pub(crate) limit: String,
    pub(crate) over: bool,
}

/// A row, or why it was not measured.
pub(crate) type Measured = Result<Figure, String>;

/// Prints the table. The answer is whether every row was measured and is within its limit.
pub(crate) fn print_table(rows: &[(String, Measured)]) -> bool {
    let dash = || "-".to_owned();
    let cells: Vec<[String; 6]> = rows
        .iter()
        .map(|(what, measured)| match measured {
            Ok(figure) => [
                what.clone(),
                figure.ours.clone(),
                figure.peer.clone(),
                figure.ratio.clone(),
                figure.limit.clone(),
                if figure.over { "OVER" } else { "ok" }.to_owned(),
            ],
            Err(why) => [what.clone(), dash(), dash(), dash(), dash(), format!("not run: {why}")],
        })
        .collect();
    let head = ["what", "ours", "peer", "ratio", "limit", ""].map(str::to_owned);
    let width = |column: usize| {
        cells.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    for row in [&head].into_iter().chain(&cells) {
        let line: Vec<String> =
            row.iter().enumerate().map(|(column, text)| format!("{text:<w$}", w = width(column))).collect();
        println!("{}", line.join("  ").trim_end());
    }
    rows.iter().all(|(_, measured)| matches!(measured, Ok(figure) if !figure.over))
}

/// Runs `command` with no input and its output thrown away; an exit code other than 0 is an error.
pub(crate) fn time(command: &mut Command) -> Result<Duration, String> {
    time_with_input(command, Stdio::null())
}

/// The same with an input.
pub(crate) fn time_with_input(command: &mut Command, input: Stdio) -> Result<Duration, String> {
    command.stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
    let watchdog = Watchdog::start();
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| start_failed(command, &error))?;
    watchdog.watch(child.id());
    let status = child.wait();
    let elapsed = start.elapsed();
    watchdog.stop()?;
    succeeded(command, status.map_err(|error| error.to_string())?)?;
    Ok(elapsed)
}

/// Runs `command` with no input and gives its exit code and what it wrote to stdout.
pub(crate) fn output(command: &mut Command) -> Result<(Option<i32>, String), String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let watchdog = Watchdog::start();
    let child = command.spawn().map_err(|error| start_failed(command, &error))?;
    watchdog.watch(child.id());
    let output = child.wait_with_output();
    watchdog.stop()?;
    let output = output.map_err(|error| error.to_string())?;
    Ok((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// Times two commands in turn, `runs` times each, and gives both medians. Each is run once before, to warm the caches.
pub(crate) fn interleave(
    runs: usize,
    mut ours: impl FnMut() -> Result<Duration, String>,
    mut peer: impl FnMut() -> Result<Duration, String>,
) -> Result<(Duration, Duration), String> {
    ours()?;
    peer()?;
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..runs {
        times.0.push(ours()?);
        times.1.push(peer()?);
    }
    Ok((median(times.0), median(times.1)))
}

/// The middle one of the times; of an even number the higher of the two in the middle.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

pub(crate) fn start_failed(command: &Command, error: &std::io::Error) -> String {
    format!("{} cannot be started: {error}", command.get_program().to_string_lossy())
}

fn succeeded(command: &Command, status: ExitStatus) -> Result<(), String> {
    if status.success() {
        return Ok(());
    }
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    Err(format!("{} {}: {status}", command.get_program().to_string_lossy(), words.join(" ")))
}

/// Kills one process when [`BOUND`] has passed. Its thread is started before the clock is, to stay out of the figures.
pub(crate) struct Watchdog {
    pid: Sender<u32>,
    thread: JoinHandle<bool>,
}

impl Watchdog {
    pub(crate) fn start() -> Watchdog {
        let (pid, told) = channel();
        let thread = thread::spawn(move || {
            let Ok(pid) = told.recv() else { return false };
            // The sender is dropped once the process has been waited for.
            let late = told.recv_timeout(BOUND) == Err(RecvTimeoutError::Timeout);
            if late {
                kill(pid);
            }
            late
        });
        Watchdog { pid, thread }
    }

    pub(crate) fn watch(&self, pid: u32) {
        // A watchdog that is gone can no longer bite; `stop` says so.
        let _ = self.pid.send(pid);
    }

    pub(crate) fn stop(self) -> Result<(), String> {
        drop(self.pid);
        match self.thread.join() {
            Ok(false) => Ok(()),
            Ok(true) => Err(format!("killed after {} s", BOUND.as_secs())),
            Err(_) => Err("the watchdog failed".to_owned()),
        }
    }
}

/// Sends SIGKILL. The standard library kills only a child that it holds by `&mut`.
pub(crate) fn kill(pid: u32) {
    let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
}
