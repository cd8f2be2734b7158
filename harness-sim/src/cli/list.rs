//! `harness-sim list`: what there is to fire.

use std::fmt::Write as _;

use super::{FINE, Problem, print, print_json};
use crate::harness::{Harness, Surface};
use crate::recording::{self, How, Recording};
use crate::report::{Style, paint};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only this harness
    harness: Option<Harness>,
    /// What is known of each harness, rule by rule, in the place of the recordings
    #[arg(long)]
    rules: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Problem> {
    let harnesses: Vec<Harness> = Harness::ALL
        .into_iter()
        .filter(|harness| arguments.harness.is_none_or(|only| only == *harness))
        .collect();
    match (arguments.rules, arguments.json) {
        (false, false) => print(&recordings(&harnesses)),
        (true, false) => print(&rules(&harnesses)),
        (true, true) => {
            let all: Vec<_> = harnesses
                .iter()
                .map(|harness| serde_json::json!({"harness": harness, "rules": harness.rules()}))
                .collect();
            print_json(&all)?;
        }
        (false, true) => {
            let all: Vec<_> = recording::all()
                .iter()
                .filter(|recording| harnesses.contains(&recording.harness))
                .map(|recording| {
                    serde_json::json!({
                        "harness": recording.harness,
                        "version": recording.version,
                        "name": recording.name,
                        "event": recording.event,
                        "provenance": recording.provenance,
                    })
                })
                .collect();
            print_json(&all)?;
        }
    }
    Ok(FINE)
}

fn recordings(harnesses: &[Harness]) -> String {
    let mut text = String::new();
    for harness in harnesses {
        for version in recording::versions(*harness) {
            let of: Vec<&Recording> = recording::all()
                .iter()
                .filter(|recording| recording.harness == *harness && recording.version == version)
                .collect();
            let surface = match harness.surface() {
                Surface::Commands => "",
                Surface::Extension | Surface::Plugin => "  (in its own process)",
            };
            let head = format!("{} {version}", harness.name());
            let _ = writeln!(text, "{}  {} recordings{surface}", paint(Style::Strong, &head), of.len());
            for recording in of {
                let provenance = &recording.provenance;
                let how = match provenance.how {
                    How::Recorded => {
                        paint(Style::Dim, &format!("recorded {}, {}", provenance.date, provenance.mode))
                    }
                    How::Documented => paint(Style::Warn, &format!("documented, {}", provenance.mode)),
                };
                let _ = writeln!(text, "  {:<58} {how}", recording.name);
            }
            text.push('\n');
        }
    }
    text
}

fn rules(harnesses: &[Harness]) -> String {
    let mut text = String::new();
    for harness in harnesses {
        let _ = writeln!(text, "{}", paint(Style::Strong, harness.name()));
        if harness.rules().is_empty() {
            let _ = writeln!(text, "  no command hooks: extensions run in its own process");
        }
        for rule in harness.rules() {
            let _ = writeln!(
                text,
                "  {}\n    {}",
                rule.text,
                paint(Style::Dim, &format!("{}: {}", rule.version, rule.seen))
            );
        }
        text.push('\n');
    }
    text
}
