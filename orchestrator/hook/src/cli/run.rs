//! `dogwatch run`: a `timeout(1)` that takes the whole process tree along and streams.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use dogwatch_engine::process::{
    Bounds, Cap, Channel, Command, Containment, Deadline, End, Engine, Grace, Interrupts, Leftover, Outcome,
    Run, Sink, StartError, Stdin,
};
use tokio::sync::watch;

use super::{Failure, reason, values, write_error};

/// How long what came out of the command may wait for a reader after the command is over.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// Exit code: dogwatch itself failed.
pub(super) const OWN_ERROR: u8 = 125;

const EXIT_CODES: &str = "\
Exit codes:
  the command's own
  124    the deadline passed
  125    dogwatch itself failed
  126    the command cannot be executed
  127    there is no such command
  128+N  the command died of signal N, or signal N interrupted dogwatch";

/// Run a command with a deadline, and leave nothing of it behind.
///
/// At the deadline everything the command ever started gets TERM, after the grace KILL: what ignores TERM, what moved
/// to a session of its own, what was forked twice, what holds the output. When the command ends by itself, what it
/// left behind is killed, too, unless --leftover keep.
///
/// Output is passed on as it comes, stdout to stdout and stderr to stderr. The command gets dogwatch's stdin, and has
/// no controlling terminal: programs that take the whole screen do not work in it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Arguments {
    /// When to stop it: 500ms, 30s, 2m; a bare number is seconds
    #[arg(long, value_name = "DURATION", default_value = "120s", value_parser = values::duration)]
    deadline: Duration,
    /// How long it has between TERM and KILL: from 1ms to 60m
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::duration)]
    grace: Duration,
    /// Pass on so many bytes of each output at most: a number of bytes, or with KiB, MiB or GiB [default: everything]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    cap: Option<u64>,
    /// What becomes of processes that it leaves behind when it ends by itself
    #[arg(long, value_enum, default_value = "kill")]
    leftover: LeftoverWord,
    /// How far the kill reaches
    #[arg(long, value_enum, default_value = "subtree")]
    containment: ContainmentWord,
    /// Write what became of it to this file, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LeftoverWord {
    /// They are killed
    Kill,
    /// They live on
    Keep,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ContainmentWord {
    /// The command's process group
    Group,
    /// Everything it ever started
    Subtree,
}

impl Arguments {
    fn bounds(&self) -> Result<Bounds, Failure> {
        Ok(Bounds {
            deadline: Deadline::new(self.deadline)?,
            grace: Grace::new(self.grace)?,
            cap: self.cap.map_or(Cap::Everything, Cap::Bytes),
            containment: match self.containment {
                ContainmentWord::Group => Containment::Group,
                ContainmentWord::Subtree => Containment::Subtree,
            },
            leftover: match self.leftover {
                LeftoverWord::Kill => Leftover::Kill,
                LeftoverWord::Keep => Leftover::Keep,
            },
        })
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let own_error = |failure: Failure| failure.with_code(OWN_ERROR);
    let bounds = arguments.bounds().map_err(own_error)?;
    let runtime = super::runtime().map_err(own_error)?;
    let code = runtime.block_on(follow(arguments, &bounds)).map_err(|error| match error {
        Error::Start(error) => Failure::new(error.to_string()).with_code(error.exit_code()),
        Error::Own(failure) => failure.with_code(OWN_ERROR),
    })?;
    Ok(ExitCode::from(code))
}

enum Error {
    Start(StartError),
    Own(Failure),
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Own(Failure::new(error.to_string()))
    }
}

async fn follow(arguments: &Arguments, bounds: &Bounds) -> Result<u8, Error> {
    // The report's place is tried first: a run whose report is lost at the end was for nothing.
    let report =
        arguments.report.as_ref().map(|path| Report::prepare(path)).transpose().map_err(Error::Own)?;
    // Every child of this program is started by the engine.
    let engine = Engine::new().adopt_orphans()?;
    let mut interrupts = Interrupts::new()?;
    let (program, args) =
        arguments.command.split_first().map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
    let command =
        Command::new(program.map_or("".as_ref(), OsString::as_os_str)).args(args).stdin(Stdin::Inherit);
    let run = engine.start(&command, bounds).await.map_err(Error::Start)?;
    let stopper = run.stopper();
    let (give_up, latest) =
        watch::channel(Instant::now() + bounds.deadline.get() + bounds.grace.get() + LAST_WRITE);
    let mut pump = std::pin::pin!(pump(run, bounds, latest));
    let mut was_interrupted = false;
    let (outcome, is_passed_on) = loop {
        tokio::select! {
            ended = &mut pump => break ended,
            interrupt = interrupts.next() => {
                // The second one means it.
                if was_interrupted { stopper.kill() } else { stopper.stop(Some(interrupt.signal)) }
                was_interrupted = true;
                // The run ends with its grace; a reader that does not read shall not keep us longer than that either.
                let soon = Instant::now() + bounds.grace.get() + LAST_WRITE;
                give_up.send_modify(|latest| *latest = soon.min(*latest));
            }
        }
    };
    warn(&outcome);
    if let Some(report) = report {
        report.write(&outcome).map_err(Error::Own)?;
    }
    // A command that went well and whose output was lost did not go well.
    Ok(match exit_code(&outcome) {
        0 if !is_passed_on => OWN_ERROR,
        code => code,
    })
}

/// Passes the output on until the end; whether it could be. A reader that has gone away wanted no more; one that does not
/// read holds nothing up beyond the run's own bounds.
async fn pump(mut run: Run, bounds: &Bounds, mut latest: watch::Receiver<Instant>) -> (Outcome, bool) {
    let mut outputs = [Output::new(Sink::stdout()), Output::new(Sink::stderr())];
    while let Some(chunk) = run.next().await {
        let output = &mut outputs[usize::from(chunk.channel == Channel::Stderr)];
        let channel = chunk.channel;
        output.write(chunk.bytes, &mut latest).await;
        // The command shall get SIGPIPE, as it would from the reader that has gone away.
        if output.is_broken {
            run.close_output(channel);
        }
    }
    let outcome = run.finish().await;
    for (output, bytes) in outputs.iter_mut().zip([outcome.stdout_bytes, outcome.stderr_bytes]) {
        if bounds.cap != Cap::Everything && bytes > output.written && output.sink.is_some() {
            let kept = output.written;
            let marker =
                format!("\n[dogwatch: cut after {kept} bytes, {} more were dropped]\n", bytes - kept);
            let (_, mut latest) = watch::channel((*latest.borrow()).max(Instant::now() + LAST_WRITE));
            output.write(marker.as_bytes(), &mut latest).await;
        }
    }
    let is_passed_on = outputs.iter().all(|output| !output.is_lost);
    (outcome, is_passed_on)
}

/// One of our outputs, as long as somebody reads it.
struct Output {
    sink: Option<Sink>,
    /// Its reader has gone away.
    is_broken: bool,
    /// Something could not be written.
    is_lost: bool,
    written: u64,
}

impl Output {
    fn new(sink: std::io::Result<Sink>) -> Self {
        Self { sink: sink.ok(), is_broken: false, is_lost: false, written: 0 }
    }

    /// Writes it, or gives up at the latest moment, which may come to be an earlier one meanwhile.
    async fn write(&mut self, bytes: &[u8], latest: &mut watch::Receiver<Instant>) {
        let Some(sink) = &self.sink else { return };
        let written = {
            let mut write = std::pin::pin!(sink.write_all(bytes));
            loop {
                let until = *latest.borrow_and_update();
                tokio::select! {
                    biased;
                    written = &mut write => break Some(written),
                    () = tokio::time::sleep_until(until.into()) => break None,
                    Ok(()) = latest.changed() => {}
                }
            }
        };
        match written {
            Some(Ok(())) => self.written += bytes.len() as u64,
            Some(Err(error)) => {
                self.is_broken = error.kind() == std::io::ErrorKind::BrokenPipe;
                if !self.is_broken {
                    self.is_lost = true;
                    write_error(&format!("the command's output cannot be passed on: {}", reason(&error)));
                }
                self.sink = None;
            }
            None => {
                write_error("nobody reads the command's output; the rest of it is dropped");
                self.is_lost = true;
                self.sink = None;
            }
        }
    }
}

/// Says on stderr what a person would not see otherwise.
fn warn(outcome: &Outcome) {
    let mut text = String::new();
    if outcome.end == End::SupervisorLost {
        text.push_str("the supervisor was killed; what could be reached was ended");
    }
    for survivor in &outcome.unkillable {
        let separator = if text.is_empty() { "" } else { "; " };
        let name = crate::text::line(&survivor.name);
        let _ = write!(text, "{separator}process {} ({name}) is left: {}", survivor.pid, survivor.why);
    }
    if !text.is_empty() {
        write_error(&text);
    }
}

fn exit_code(outcome: &Outcome) -> u8 {
    let of_signal = |signal: Option<i32>| signal.map(|signal| 128 + u8::try_from(signal).unwrap_or(0));
    let of_leader = || outcome.exit_code.and_then(|code| u8::try_from(code).ok());
    match outcome.end {
        End::Deadline => 124,
        End::SupervisorLost => OWN_ERROR,
        End::Interrupted => of_signal(outcome.interrupted_by).or_else(of_leader).unwrap_or(OWN_ERROR),
        End::Exited | End::Signaled => of_leader().or_else(|| of_signal(outcome.signal)).unwrap_or(OWN_ERROR),
    }
}

/// Where the report goes, tried before the command starts. Nothing is left there yet, so that a run that is killed leaves
/// nothing behind.
enum Report {
    /// Written beside its place and renamed: no reader sees half of it.
    Beside { folder: PathBuf, path: PathBuf },
    /// Straight into what is there and is no regular file: a device, a pipe, a terminal. That must not be replaced.
    Into { file: File, path: PathBuf },
}

impl Report {
    fn prepare(path: &Path) -> Result<Self, Failure> {
        let failed = |why: String| Failure::new(format!("cannot write the report {}: {why}", path.display()));
        // A link is followed: what it names is meant. One that leads nowhere by name, such as /dev/stdout to a pipe or
        // to a file that was deleted, is written through and never replaced.
        let is_link = path.symlink_metadata().is_ok_and(|data| data.is_symlink());
        let real = path.canonicalize();
        let kind = path.metadata().map(|data| data.file_type());
        if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
            return Err(failed("it is a folder".to_owned()));
        }
        let is_replaceable = match (&real, &kind) {
            // What stands behind a name of a descriptor is shared with others, who go on writing to it.
            (Ok(_), Ok(kind)) => kind.is_file() && !path.starts_with("/dev") && !path.starts_with("/proc"),
            _ => !is_link,
        };
        if !is_replaceable {
            // Opened both ways a FIFO does not wait for its reader.
            let is_fifo = kind.as_ref().is_ok_and(FileTypeExt::is_fifo);
            let file = File::options().read(is_fifo).append(true).create(is_link).open(path);
            let file = file.map_err(|error| failed(reason(&error)))?;
            return Ok(Self::Into { file, path: path.to_owned() });
        }
        let real = real.unwrap_or_else(|_| path.to_owned());
        let folder = match real.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            return Err(failed(format!("there is no folder {}", folder.display())));
        }
        Self::beside(folder).map_err(|error| failed(reason(&error)))?;
        Ok(Self::Beside { folder: folder.to_owned(), path: real })
    }

    fn beside(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
        // What a file made by a shell's redirection would have.
        let mode = std::fs::Permissions::from_mode(0o666);
        tempfile::Builder::new().prefix(".dogwatch-report").permissions(mode).tempfile_in(folder)
    }

    fn write(self, outcome: &Outcome) -> Result<(), Failure> {
        let mut json = serde_json::to_vec_pretty(outcome)?;
        json.push(b'\n');
        let (path, written) = match self {
            Self::Into { mut file, path } => {
                let written = file.write_all(&json);
                (path, written)
            }
            Self::Beside { folder, path } => {
                let written = Self::beside(&folder).and_then(|mut file| {
                    file.write_all(&json)?;
                    file.persist(&path).map(drop).map_err(|error| error.error)
                });
                (path, written)
            }
        };
        written.map_err(|error| {
            Failure::new(format!("cannot write the report {}: {}", path.display(), reason(&error)))
        })
    }
}
