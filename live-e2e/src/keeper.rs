//! The keeper: the process that a CLI runs under. The engine starts it, and kills it with everything below it.
//!
//! It starts the CLI, waits for its end, and then tells who is still there before the engine ends them: those who were
//! declared are waited for, the others are survivors. It is this very program, started again.

mod survivors;
mod terminal;

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use survivors::Survivor;

/// The argument by which this program knows that it is a keeper; the path of the orders follows.
pub(crate) const ARGUMENT: &str = "--live-keeper";

/// How long those who were not declared may take to be gone: a hook that was just told of the end.
const LINGER: Duration = Duration::from_secs(3);
/// How long a CLI whose terminal was closed may take to be gone.
const HANG_UP: Duration = Duration::from_secs(5);

/// What a keeper is to run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// All of it: nothing is inherited.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) folder: PathBuf,
    pub(crate) channel: Channel,
    /// Identity files, of which everybody named there is expected to outlive the CLI.
    pub(crate) declared: Vec<PathBuf>,
    /// How long they may take.
    pub(crate) patience: Duration,
    /// Where the report goes.
    pub(crate) report: PathBuf,
}

/// How a CLI is spoken to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Channel {
    /// Not at all: no input, output by pipe.
    None,
    /// By this socket, as its stdin and stdout.
    Socket(PathBuf),
    /// By this socket, with a terminal between.
    Terminal(PathBuf),
}

/// What a keeper tells.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// From its start to its end, without those who outlived it.
    pub(crate) took: Duration,
    pub(crate) survivors: Vec<Survivor>,
}

/// In a process that was started as a keeper: serves, and never returns.
pub(crate) fn serve_if_keeper() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|argument| argument != ARGUMENT) {
        return;
    }
    let result = arguments.next().ok_or_else(|| io::Error::other("no orders")).and_then(|path| {
        let orders: Orders = serde_json::from_slice(&fs::read(path)?)?;
        serve(&orders)
    });
    std::process::exit(match result {
        Ok(()) => 0,
        Err(error) => {
            // Nobody else can tell: the report is missing then.
            let line = format!("the keeper failed: {error}\n");
            dogwatch_engine::process::write_stderr(line.as_bytes(), Duration::from_secs(1));
            125
        }
    });
}

fn serve(orders: &Orders) -> io::Result<()> {
    let begun = Instant::now();
    let status = match &orders.channel {
        Channel::None => command(orders).stdin(Stdio::null()).status()?,
        Channel::Socket(path) => {
            let socket = UnixStream::connect(path)?;
            let (input, output): (OwnedFd, OwnedFd) = (socket.try_clone()?.into(), socket.into());
            command(orders).stdin(input).stdout(output).status()?
        }
        Channel::Terminal(path) => terminal::run(&command(orders), &UnixStream::connect(path)?)?,
    };
    let took = begun.elapsed();
    let survivors = survivors::after_the_end(&orders.declared, orders.patience);
    let report = Report { code: status.code(), signal: status.signal(), took, survivors };
    let aside = orders.report.with_extension("new");
    serde_json::to_writer(File::create(&aside)?, &report)?;
    fs::rename(aside, &orders.report)
}

fn command(orders: &Orders) -> Command {
    let mut command = Command::new(&orders.program);
    command.args(&orders.arguments).env_clear().current_dir(&orders.folder);
    command.envs(orders.environment.iter().map(|(name, value)| (name, value)));
    command
}
