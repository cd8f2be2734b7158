//! `dogwatch open`: the digest of a session open, for a person in a terminal or an agent that was asked to run it.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use dogwatch_engine::process::{Engine, Interrupts, Sink};
use dogwatch_engine::stages::Truncation;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use tokio::sync::mpsc;

use super::style::Style;
use super::{Failure, write_error};
use crate::config::{self, Seconds};
use crate::deferred;
use crate::digest::document;
use crate::digest::ground::Ground;
use crate::digest::plan::{AtTurn, Facts};
use crate::digest::run::{Opening, Step, Told, milliseconds};
use crate::env;
use crate::home::network;
use crate::home::root::find_root;
use crate::home::state::Folder;
use crate::home::welcome;
use crate::moments::{AgentOpen, Prepared};

/// How long the last of the text may wait for a reader.
const LAST_WRITE: Duration = Duration::from_secs(2);
/// The session id of an open that belongs to no session.
const SESSION: &str = "open";

/// Print the session-open digest of this project: where a new session stands.
///
/// Bounded: at the deadline what is there is printed, and a banner names the rest. Works in any folder; without a
/// home (`dogwatch init`) it tells what git and the files tell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0      the digest was printed, truncated or not
  1      it could not be made or not be written; one line on stderr says why
  128+N  signal N interrupted it; what was there was printed

Environment:
  DOGWATCH_SESSION_START_TIMEOUT  the deadline in whole seconds, over the config's and the default of 120
  NO_COLOR                        no colours")]
pub(super) struct Arguments {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Colours and headings for a terminal
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum When {
    /// In a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let session = Session::look(arguments)?;
    let signal = super::runtime()?.block_on(session.open(arguments.json))?;
    Ok(signal.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(128 + u8::try_from(signal).unwrap_or(0))))
}

struct Session {
    opening: Opening,
    /// The agent's session that this runs for, if it does.
    agent: Option<AgentOpen>,
    style: Style,
    is_watched: bool,
}

impl Session {
    fn look(arguments: &Arguments) -> Result<Self, Failure> {
        let folder = std::env::current_dir()
            .map_err(|error| Failure::new(format!("the working directory cannot be used: {error}")))?;
        let root = find_root(&folder, env::home_folder().as_deref());
        let home = root.home();
        let counted =
            home.as_deref().map(|home| config::of_project(&root.path, home, env::state_folder().as_deref()));
        let config = counted.as_ref().map(|counted| counted.config.clone()).unwrap_or_default();
        let asked = env::session_start_timeout();
        let (deadline, environment) =
            Seconds::from_environment(env::SESSION_START_TIMEOUT, asked.as_deref(), config.digest.deadline);
        let notes = match &counted {
            Some(counted) => document::notes(&counted.loaded, counted.trust, environment),
            None => environment.into_iter().collect(),
        };
        let in_terminal = stdout().is_terminal();
        let is_coloured = match arguments.color {
            When::Auto => in_terminal && !env::no_color() && !env::is_dumb_terminal(),
            When::Always => true,
            When::Never => false,
        };
        let welcomed = welcome::was_given(env::state_folder().as_deref());
        let network =
            home.clone().map(|home| AtTurn::new(move || deferred::stage_text(&look(&home)?, &[], false)));
        let opening = Opening {
            ground: Arc::new(Ground {
                root: root.path,
                home,
                git: root.git,
                profile: env::config_folder().map(|folder| folder.join("profile.md")),
                now: jiff::ZonedDateTime::now(),
                in_terminal,
            }),
            config: config.digest,
            facts: Facts { network, ..Facts::default() },
            notes,
            deadline,
            welcomed,
        };
        Ok(Self {
            opening,
            agent: AgentOpen::find(),
            style: Style::new(is_coloured && !arguments.json),
            is_watched: in_terminal && stderr().is_terminal() && !arguments.json,
        })
    }

    /// Prints the digest; the signal that cut it short, if one did.
    async fn open(self, as_json: bool) -> Result<Option<i32>, Failure> {
        // From the beginning: a signal that comes while the home is looked at ends the digest, not this process.
        let interrupt = interrupt()?;
        let engine = Engine::new().adopt_orphans()?;
        let prepared = match &self.agent {
            Some(agent) => agent.prepare(&engine).await,
            None => None,
        };
        let opening = prepared.as_ref().map_or(&self.opening, Prepared::opening);
        let (sender, receiver) = mpsc::unbounded_channel();
        let printer = Printer { sender, silent: as_json, bar: bar(self.is_watched) };
        let write = write_all(receiver, printer.bar.clone());
        let work = async {
            printer.print(&self.style.head(&opening.head()));
            let told = opening
                .run(engine, interrupt, |step| match step {
                    Step::Running(names) => printer.bar.set_message(names.join(", ")),
                    Step::Text(text) => printer.print(&self.style.body(text)),
                })
                .await;
            if let (Ok(told), true) = (&told, as_json) {
                let _ = printer.sender.send(format!("{}\n", self.json(told)));
            }
            printer.bar.finish_and_clear();
            // The channel closes with it, and the writer comes to its end.
            drop(printer);
            told
        };
        let (mut work, mut write) = (pin!(work), pin!(write));
        // The text is written while it is made; what is left then has a bound of its own.
        let (told, written) = tokio::select! {
            told = &mut work => (told, tokio::time::timeout(LAST_WRITE, write).await),
            written = &mut write => (work.await, Ok(written)),
        };
        let told = told?;
        let is_delivered = matches!(written, Ok(Ok(())));
        match (&self.agent, &prepared) {
            (Some(agent), Some(prepared)) => agent.conclude(prepared, &told, is_delivered),
            _ if told.welcomed_now => welcome::remember(env::state_folder().as_deref()),
            _ => {}
        }
        self.keep(&told);
        match written {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let why = super::reason(&error);
                return Err(Failure::new(format!("the digest cannot be written: {why}")));
            }
            Err(_) => return Err(Failure::new("nobody reads the digest; the rest of it was dropped")),
        }
        Ok(match told.truncation {
            Some(Truncation::Interrupted(signal)) => Some(signal),
            _ => None,
        })
    }

    fn json(&self, told: &Told) -> serde_json::Value {
        let truncated = told.truncation.map(|truncation| match truncation {
            Truncation::Deadline(after) => json!({ "by": "deadline", "after_ms": milliseconds(after) }),
            Truncation::Interrupted(signal) => json!({ "by": "interruption", "signal": signal }),
            Truncation::SupervisorLost => json!({ "by": "supervisor_lost" }),
        });
        json!({
            "version": 1,
            "root": self.opening.ground.root.to_string_lossy(),
            "home": self.opening.ground.home.as_ref().map(|home| home.to_string_lossy()),
            "notes": self.opening.notes,
            "stages": told.stages,
            "truncated": truncated,
            "missing_bytes": told.missing_bytes,
            "banner": told.tail.trim(),
            "elapsed_ms": milliseconds(told.elapsed),
        })
    }

    /// Keeps the full text in the home, for a reader that got only a part of it.
    fn keep(&self, told: &Told) {
        let Some(home) = &self.opening.ground.home else { return };
        let kept = Folder::state_of(home)
            .and_then(|state| state.sub("digest"))
            .and_then(|folder| folder.write_atomic(&document::file_name(SESSION), told.text().as_bytes()));
        if let Err(error) = kept {
            write_error(&format!("the digest is not kept in the home: {error}"));
        }
    }
}

/// The newest run of the network checks.
fn look(home: &Path) -> Option<network::Run> {
    let state = Folder::open_state_of(home).ok()??;
    network::look(&state, jiff::Timestamp::now()).ok()
}

/// Resolves to the first signal that asks for an end.
fn interrupt() -> Result<impl Future<Output = i32>, Failure> {
    let mut interrupts = Interrupts::new()?;
    Ok(async move { interrupts.next().await.signal })
}

/// Hands text to the writer, and shows what is being waited for.
struct Printer {
    sender: mpsc::UnboundedSender<String>,
    silent: bool,
    bar: ProgressBar,
}

impl Printer {
    fn print(&self, text: &str) {
        if !self.silent && !text.is_empty() {
            // A writer that gave up has said so.
            let _ = self.sender.send(text.to_owned());
        }
    }
}

fn bar(is_watched: bool) -> ProgressBar {
    if !is_watched {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Writes what comes until the channel is closed. In a terminal the progress line steps aside meanwhile. A reader that
/// has gone away (`| head`) is no failure.
async fn write_all(mut texts: mpsc::UnboundedReceiver<String>, bar: ProgressBar) -> std::io::Result<()> {
    let sink = Sink::stdout()?;
    while let Some(text) = texts.recv().await {
        let written = if bar.is_hidden() {
            sink.write_all(text.as_bytes()).await
        } else {
            bar.suspend(|| stdout().write_all(text.as_bytes()))
        };
        match written {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            other => other?,
        }
    }
    Ok(())
}
