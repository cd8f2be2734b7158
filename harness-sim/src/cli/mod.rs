//! The command line. Only this module prints.

mod aim;
mod fire;
mod list;
mod matrix;
mod record;
mod run;
mod torture;
pub(crate) mod values;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::launch::{Process, Wait, tell_of_waits};
use crate::report::duration;

/// Everything was as it should be.
pub const FINE: u8 = 0;
/// A hook failed or leaked, or an expectation was not met.
pub const FAULT: u8 = 1;
/// The command line, a file or a name was wrong; nothing was fired.
pub const USAGE: u8 = 2;
/// There was nothing to fire at: no hook is registered for this event.
pub const NO_HOOKS: u8 = 3;
/// It could not be run here: what that harness needs is not installed. Never a pass.
pub const NOT_RUN: u8 = 4;

const EXIT_CODES: &str = "Exit codes:
  0  as it should be
  1  a hook failed or left a process behind, an expectation was not met, or a file of registrations cannot be used
  2  the command line, a file or a name was wrong; nothing was fired
  3  no hook is registered for this event, or the harness has no command hooks
  4  not run: it needs what is not here (Pi and OpenCode are played with Node)";

/// Plays a coding-agent harness towards hooks: fires recorded payloads at them and reports what the model would have
/// seen, what would have been blocked, what leaked. No CLI, no key, no network.
#[derive(Parser)]
#[command(name = "harness-sim", version, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Harnesses, versions and recordings, and where each came from
    List(list::Arguments),
    /// Fires one event
    Fire(fire::Arguments),
    /// Plays scenarios: events in order, and what is expected of each
    Run(run::Arguments),
    /// Fires every recording of every harness
    Matrix(matrix::Arguments),
    /// Treats a command as badly as harnesses and machines do, and judges how it takes it
    Torture(torture::Arguments),
    /// Runs the real CLI and keeps what it hands to hooks, cleaned, as new recordings
    Record(record::Arguments),
    /// Keeps one payload; `record` registers this
    #[command(hide = true)]
    RecordTake(record::Take),
}

/// Parses the command line and does what it says.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tell_of_waits(say_wait);
    let result = match arguments.command {
        Command::List(arguments) => list::run(&arguments),
        Command::Fire(arguments) => fire::run(arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Matrix(arguments) => matrix::run(arguments),
        Command::Torture(arguments) => torture::run(arguments),
        Command::Record(arguments) => record::run(&arguments),
        Command::RecordTake(arguments) => Ok(record::take(&arguments)),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            complain(&problem.to_string());
            ExitCode::from(USAGE)
        }
    }
}

/// What a command could not do, for a person.
type Problem = Box<dyn std::error::Error>;

/// A line on stderr.
fn complain(text: &str) {
    let _ = writeln!(anstream::stderr(), "harness-sim: {text}");
}

/// Who keeps a session from its end, and what became of it.
fn say_wait(wait: &Wait<'_>) {
    let who = |process: &Process| format!("{} (pid {}), a declared survivor", process.name, process.pid);
    complain(&match wait {
        Wait::Begun(process, most) => format!(
            "waiting for {}, for at most {}; --patience TIME (in a scenario `patience`) shortens that, 0 waits for none",
            who(process),
            duration(*most)
        ),
        Wait::Over(process, most) if most.is_zero() => {
            format!("{}, was not waited for and is ended", who(process))
        }
        Wait::Over(process, most) => {
            format!("{}, was still there after {} and is ended", who(process), duration(*most))
        }
    });
}

/// Prints to stdout. A reader that has gone away is no problem of ours.
fn print(text: &str) {
    let mut stdout = anstream::stdout();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Prints a value as JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Problem> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text);
    Ok(())
}
