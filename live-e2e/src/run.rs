//! One run of a CLI under the engine: started through a keeper, ended at its deadline with everything below it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dogwatch_engine::process::{Bounds, Cap, Command, Deadline, End, Engine, Outcome};

use crate::error::LiveError;
use crate::keeper::{self, Channel, Orders, Report, Survivor};

/// What is kept of stdout and of stderr, each.
const OUTPUT_BYTES: u64 = 8 * 1024 * 1024;

/// How a CLI ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was still there at the deadline, and was ended with everything below it.
    Deadline,
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// How the CLI ended.
    pub exit: Exit,
    /// From its start to its end, without those who outlived it.
    pub took: Duration,
    /// What it printed, up to 8 MiB.
    pub stdout: String,
    /// What it said on stderr, up to 8 MiB.
    pub stderr: String,
    /// Who outlived it, those who were declared included; the engine has ended whoever had not by then.
    pub survivors: Vec<Survivor>,
    /// What the engine says of the run. Its leader is the keeper, not the CLI.
    pub outcome: Outcome,
}

impl Ran {
    /// Those who outlived the CLI though nobody declared them, and those who were declared and never ended.
    pub fn leaks(&self) -> Vec<&Survivor> {
        self.survivors.iter().filter(|survivor| !survivor.declared || !survivor.ended).collect()
    }
}

/// A CLI that is about to be run.
pub(crate) struct Plan {
    pub(crate) command: Vec<OsString>,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) folder: PathBuf,
    pub(crate) channel: Channel,
    pub(crate) declared: Vec<PathBuf>,
    pub(crate) patience: Duration,
    pub(crate) deadline: Duration,
    /// A folder of its own, for orders and report.
    pub(crate) desk: PathBuf,
}

/// Runs it to its end.
pub(crate) fn run(plan: &Plan) -> Result<Ran, LiveError> {
    let report = plan.desk.join("report.json");
    let orders = plan.desk.join("orders.json");
    write_orders(plan, &report, &orders)?;
    let own = std::env::current_exe().map_err(LiveError::io("tell which program this is"))?;
    let command = Command::new(own).arg(keeper::ARGUMENT).arg(&orders).env_clear();
    let deadline = Deadline::new(plan.deadline).unwrap_or(Deadline::DEFAULT);
    let bounds = Bounds { cap: Cap::Bytes(OUTPUT_BYTES), ..Bounds::new(deadline) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(LiveError::io("start a runtime"))?;
    let captured = runtime.block_on(async {
        // Without `adopt_orphans`: that is a matter of the whole process, and other runs go on in it.
        Ok::<_, LiveError>(Engine::new().start(&command, &bounds).await?.capture().await)
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&captured.stdout), text(&captured.stderr));
    let outcome = captured.outcome;
    if outcome.end == End::Deadline {
        let took = outcome.elapsed;
        return Ok(Ran { exit: Exit::Deadline, took, stdout, stderr, survivors: Vec::new(), outcome });
    }
    let report: Option<Report> = fs::read(&report).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Some(report) = report else {
        return Err(LiveError::NoReport(format!("{:?}; {stderr}", outcome.end)));
    };
    let exit = match (report.code, report.signal) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    };
    let Report { took, survivors, .. } = report;
    Ok(Ran { exit, took, stdout, stderr, survivors, outcome })
}

fn write_orders(plan: &Plan, report: &Path, orders: &Path) -> Result<(), LiveError> {
    let (program, before) = plan.command.split_first().expect("a program that is installed has a path");
    let arguments = before.iter().map(|argument| argument.to_string_lossy().into_owned());
    let text = serde_json::to_vec(&Orders {
        program: program.into(),
        arguments: arguments.chain(plan.arguments.iter().cloned()).collect(),
        environment: plan.environment.clone(),
        folder: plan.folder.clone(),
        channel: plan.channel.clone(),
        declared: plan.declared.clone(),
        patience: plan.patience,
        report: report.to_owned(),
    });
    let written = text.map_err(Into::into).and_then(|text| fs::write(orders, text));
    written.map_err(LiveError::io("write the keeper's orders"))
}
