//! `dogwatch helm`: who is in charge of this home.

use std::io;
use std::process::ExitCode;

use clap::ValueEnum;
use dogwatch_engine::process::Identity;

use super::{Failure, Surroundings, write_out};
use crate::harness::ancestry::Ancestry;
use crate::home::helm::{self, Claim, Holder, Liveness, Me};
use crate::home::root::find_root;
use crate::home::state::Folder;
use crate::text::line;

/// Show which session is in charge of this home, take it over, or release it.
///
/// The session in charge runs the checks that change something; every other session reads. `take` is a person's: refused
/// below a coding agent.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0  done; of status: somebody is in charge
  1  refused or failed; of status: nobody is in charge
  2  the command line was wrong")]
pub(super) struct Arguments {
    /// What to do
    #[arg(value_enum, default_value = "status")]
    verb: Verb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Verb {
    /// Tell who is in charge
    Status,
    /// Take over: whoever is in charge reads from then on
    Take,
    /// Leave nobody in charge: the next session that opens takes it
    Release,
}

pub(super) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode, Failure> {
    let root = find_root(&surroundings.folder, surroundings.home_folder.as_deref());
    let Some(home) = root.home() else {
        let folder = surroundings.folder.display();
        return Err(Failure::new(format!(
            "no .dogwatch/ in {folder} or above it; `dogwatch init` makes one"
        )));
    };
    if arguments.verb == Verb::Take {
        refuse_below_a_harness(surroundings.ancestry)?;
    }
    // To look makes nothing.
    let state = match arguments.verb {
        Verb::Status | Verb::Release => Folder::open_state_of(&home)?,
        Verb::Take => Some(Folder::state_of(&home)?),
    };
    let Some(state) = state else {
        write_out(&mut io::stdout(), "Nobody is in charge of this home.\n")?;
        return Ok(ExitCode::from(super::FAILED));
    };
    let now = jiff::Timestamp::now();
    let (text, code) = match arguments.verb {
        Verb::Status => match helm::peek(&state) {
            Some((holder, liveness)) => {
                let is_held = !matches!(liveness, Liveness::Stale(_));
                (
                    describe(&holder, &liveness),
                    if is_held { ExitCode::SUCCESS } else { ExitCode::from(super::FAILED) },
                )
            }
            None => ("Nobody is in charge of this home.\n".to_owned(), ExitCode::from(super::FAILED)),
        },
        Verb::Take => match helm::take(&state, &me(Ancestry::Clear), now) {
            Claim::Taken { holder, .. } | Claim::Mine(holder) => {
                (format!("Taken. {}", describe(&holder, &Liveness::Alive)), ExitCode::SUCCESS)
            }
            Claim::Held(holder) => {
                return Err(Failure::new(format!("still held by {}", describe(&holder, &Liveness::Alive))));
            }
            Claim::NotWritable(why) | Claim::Invisible(why) => {
                return Err(Failure::new(format!("{}: cannot take over: {why}", state.path().display())));
            }
            Claim::Sweeping => {
                return Err(Failure::new(
                    "a sweep is at work for the session before; `dogwatch network wait` waits for its end"
                        .to_owned(),
                ));
            }
            Claim::Contended => {
                return Err(Failure::new("sessions are just opening; try again".to_owned()));
            }
        },
        Verb::Release => {
            if !helm::release(&state, &me(surroundings.ancestry)) {
                return Err(Failure::new(match helm::peek(&state) {
                    Some((holder, liveness)) => {
                        format!("not yours to release. {}", describe(&holder, &liveness).trim())
                    }
                    None => "nobody is in charge of this home; there is nothing to release".to_owned(),
                }));
            }
            ("Released: the next session that opens is in charge.\n".to_owned(), ExitCode::SUCCESS)
        }
    };
    write_out(&mut io::stdout(), &text)?;
    Ok(code)
}

/// Who asks: the agent that this runs below, or the person's terminal: the process that leads its session, which ends
/// when the terminal is closed.
fn me(ancestry: Ancestry) -> Me {
    let (pid, harness, shared_process) = match ancestry {
        Ancestry::Below(ancestor) => {
            (Some(ancestor.id.cast_signed()), ancestor.harness.id, ancestor.harness.shared_process)
        }
        Ancestry::Clear | Ancestry::Unknown => {
            (nix::unistd::getsid(None).ok().map(nix::unistd::Pid::as_raw), "terminal", false)
        }
    };
    Me {
        process: pid.and_then(|pid| Identity::of(pid).ok()),
        harness: harness.to_owned(),
        session: None,
        shared_process,
    }
}

fn describe(holder: &Holder, liveness: &Liveness) -> String {
    let session = holder.session.as_deref().map(|id| format!(", session {}", line(id))).unwrap_or_default();
    let life = match liveness {
        Liveness::Alive => "",
        Liveness::Stale(_) => " It is there no more: the next session that opens is in charge.",
        Liveness::Invisible(_) => " Whether it still runs cannot be seen from here.",
    };
    format!(
        "In charge: {} (process {}{session}), since {}.{life}\n",
        line(&holder.harness),
        holder.process.pid,
        line(&holder.since)
    )
}

fn refuse_below_a_harness(ancestry: Ancestry) -> Result<(), Failure> {
    match ancestry {
        Ancestry::Clear => Ok(()),
        Ancestry::Below(ancestor) => Err(Failure::new(format!(
            "taking the helm is a person's, and this runs below {} (process {}); run it yourself in a terminal",
            ancestor.harness.name, ancestor.id
        ))),
        Ancestry::Unknown => Err(Failure::new(
            "taking the helm is a person's, and the process that started this one cannot be seen in /proc; \
             run it yourself in a terminal",
        )),
    }
}
