//! `dogwatch network`: what the checks of the deferred stage have found.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Subcommand;
use jiff::Timestamp;
use serde_json::json;

use super::{Failure, Surroundings, values, write_out};
use crate::deferred;
use crate::home::network::{self, Run};
use crate::home::root::find_root;
use crate::home::state::Folder;

/// Between looks at a run whose processes cannot be watched from here.
const LOOK: Duration = Duration::from_millis(200);

/// What the network checks of this project have found.
///
/// They run beside a session, and never in front of it. A session that opens in an agent starts those that `[network]` in
/// .dogwatch/config.toml names, and is told at once what is ready, later what asks for action. `dogwatch open` by a person
/// starts none.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0  printed
  1  of wait: they still run; otherwise: failed, one line on stderr says why
  2  the command line was wrong

Environment:
  DOGWATCH_NETWORK_TIMEOUT  their deadline in whole seconds, over the config's and the
                            default of 120; a session's start reads it")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print how far they are, and what each said
    Report {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Wait until they have ended, then print the report
    Wait {
        /// At most so long; without it, until their own deadline
        #[arg(long, value_name = "DURATION", value_parser = values::duration)]
        timeout: Option<Duration>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Run the checks of a run that a session has just started; dogwatch starts this itself
    #[command(hide = true)]
    Worker {
        /// The project
        #[arg(long)]
        root: PathBuf,
    },
}

pub(super) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode, Failure> {
    let home_folder = surroundings.home_folder.as_deref();
    let state = || {
        let root = find_root(&surroundings.folder, home_folder);
        let home = root.home().ok_or_else(|| {
            Failure::new(
                "there is no .dogwatch here or above; `dogwatch init` makes one, `dogwatch network` needs it",
            )
        })?;
        Ok::<_, Failure>(Folder::open_state_of(&home)?)
    };
    match &arguments.command {
        Verb::Report { json } => print(state()?.as_ref(), *json),
        Verb::Wait { timeout, json } => {
            let state = state()?;
            if let Some(state) = &state {
                wait(state, *timeout)?;
            }
            print(state.as_ref(), *json)?;
            let still_runs = state.map(|state| network::look(&state, Timestamp::now())).transpose()?;
            Ok(ExitCode::from(u8::from(matches!(still_runs, Some(Run::Live(_))))))
        }
        Verb::Worker { root } => {
            let work = deferred::work(root, surroundings.state_folder.as_deref(), home_folder);
            super::runtime()?.block_on(work).map_err(Failure::new)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Waits until nothing runs any more.
fn wait(state: &Folder, timeout: Option<Duration>) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut is_watched = true;
    while let Run::Live(record) = network::look(state, Timestamp::now())? {
        let left = record.left(Timestamp::now());
        let left = timeout.map_or(left, |timeout| left.min(timeout.saturating_sub(begun.elapsed())));
        if left.is_zero() {
            break;
        }
        if is_watched {
            is_watched = false;
            record.worker.wait_for_end(left);
        } else {
            std::thread::sleep(LOOK.min(left));
        }
    }
    Ok(())
}

fn print(state: Option<&Folder>, as_json: bool) -> Result<ExitCode, Failure> {
    let now = Timestamp::now();
    let run = state.map(|state| network::look(state, now)).transpose()?.unwrap_or(Run::Never);
    let report = match (state, run.record()) {
        (Some(state), Some(_)) => network::report(state)?.unwrap_or_default(),
        _ => String::new(),
    };
    let text = if as_json {
        let word = match &run {
            Run::Never => "never",
            Run::Garbage => "unreadable",
            Run::Abandoned(..) => "abandoned",
            Run::Live(record) | Run::Over(record) => record.state.id(),
        };
        format!("{}\n", json!({ "version": 1, "state": word, "record": run.record(), "report": report }))
    } else {
        deferred::overview(&run, now) + &crate::text::clean(&report)
    };
    write_out(&mut io::stdout(), &text)?;
    Ok(ExitCode::SUCCESS)
}
