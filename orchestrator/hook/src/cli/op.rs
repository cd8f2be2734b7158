//! `dogwatch op`: operational messages, for scripts that send or read them.

use std::io::{self, Read};
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::{Failure, Surroundings, write_out};
use crate::text::operational::{self, Kind};

/// The longest text that is looked at; a header is at its beginning.
const LIMIT_BYTES: u64 = 1024 * 1024;

/// Encode an operational message, or tell one from a person's words.
///
/// Such a message begins with U+2063, a label, `v1` and its kind. What dogwatch says to a session is one; it is never the
/// person's.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0  done; of classify: the text is an operational message
  1  of classify: it is not; otherwise: failed, one line on stderr says why
  2  the command line was wrong")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print a message of one line
    Encode {
        /// session-start, wake, stop, name or launch
        #[arg(value_parser = kind)]
        kind: Kind,
        /// What it says; without it, stdin
        body: Vec<String>,
    },
    /// Read a text from stdin and tell whether it is such a message, and of which kind
    Classify {
        /// Print {"operational":…,"kind":…,"body":…}
        #[arg(long)]
        json: bool,
    },
}

fn kind(word: &str) -> Result<Kind, String> {
    let known = Kind::ALL.map(Kind::id).join(", ");
    Kind::from_id(word).ok_or_else(|| format!("expected one of {known}"))
}

pub(super) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<ExitCode, Failure> {
    let label = super::trusted_config(surroundings).operational.label;
    match &arguments.command {
        Verb::Encode { kind, body } => {
            let body = if body.is_empty() { stdin()? } else { body.join(" ") };
            let message = operational::encode(&label, *kind, &crate::text::clean(&body));
            write_out(&mut io::stdout(), &format!("{message}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Classify { json } => {
            let text = stdin()?;
            let message = operational::classify(&label, &text);
            let answer = match (&message, json) {
                (Some(message), false) => format!("{}\n", message.kind),
                (None, false) => "person\n".to_owned(),
                (Some(message), true) => {
                    format!(
                        "{}\n",
                        json!({ "operational": true, "kind": message.kind.id(), "body": message.body })
                    )
                }
                (None, true) => format!("{}\n", json!({ "operational": false, "kind": null, "body": null })),
            };
            write_out(&mut io::stdout(), &answer)?;
            Ok(if message.is_some() { ExitCode::SUCCESS } else { ExitCode::from(super::FAILED) })
        }
    }
}

fn stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .take(LIMIT_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(format!("stdin cannot be read: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
