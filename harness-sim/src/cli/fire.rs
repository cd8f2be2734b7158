//! `harness-sim fire`: one event.

use std::fmt::Write as _;

use super::aim::Aim;
use super::{FAULT, FINE, NO_HOOKS, NOT_RUN, Problem, print, print_json};
use crate::harness::{Discovery, Harness};
use crate::report::{Firing, Kind, write_firing};
use crate::simulator::{Options, Simulator, Version};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// claude, codex, cursor, grok; pi and opencode with what they load into their own process
    harness: Harness,
    /// A recording's name, as `list` shows it; may be cut where it stays unique
    event: String,
    /// The harness's version [default: the newest that there are recordings of]
    #[arg(long)]
    version: Option<String>,
    /// Play the harness in a project that the person does not trust
    #[arg(long)]
    untrusted: bool,
    /// Count as a fault what may be wrong: a note, or something that the harness does not read
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    aim: Aim,
}

pub(super) fn run(arguments: Arguments) -> Result<u8, Problem> {
    let version = arguments.version.map_or(Version::Newest, Version::Exact);
    let mut simulator = Simulator::new(arguments.harness, version).trusted(!arguments.untrusted);
    let (command, strict) = (arguments.aim.command()?, arguments.strict);
    let Aim { project, home, timeout, survivors, patience, json, .. } = arguments.aim;
    if let Some(project) = project {
        simulator = simulator.project(project);
    }
    if let Some(home) = home {
        simulator = simulator.home(home);
    }
    if let Some(command) = command {
        simulator = simulator.command(command);
    }
    for pattern in survivors {
        simulator = simulator.survivors(pattern);
    }
    if let Some(patience) = patience {
        simulator = simulator.patience(patience);
    }
    simulator = simulator.options(Options { timeout, ..Options::default() });
    let firing = simulator.fire(&arguments.event)?;
    let nothing = firing.commands.is_empty();
    // A file of hooks that the harness rejects is no lack of hooks but a defect, and the firing says so.
    let is_rejected = nothing && firing.has(Kind::Failed);
    let is_unheard = nothing && !is_rejected && firing.not_applicable.is_none() && firing.not_run.is_none();
    let found = is_unheard.then(|| simulator.discover()).flatten();
    let mut firings = vec![firing];
    // What a session open has for the model arrives with the first prompt there.
    if !nothing && let Some(prompt) = simulator.prompt_behind(&firings[0])? {
        firings.push(prompt);
    }
    if json {
        print_json(&firings)?;
    } else {
        let mut text = String::new();
        for firing in &firings {
            write_firing(&mut text, firing);
        }
        if let Some(found) = &found {
            text.push_str(&where_looked(found, &firings[0]));
        }
        print(&text);
    }
    let is_doubted = strict && firings.iter().any(Firing::is_doubtful);
    Ok(if firings.iter().any(|firing| firing.not_run.is_some()) {
        NOT_RUN
    } else if nothing && !is_rejected && !is_doubted {
        NO_HOOKS
    } else if firings.iter().all(Firing::is_clean) && !is_doubted {
        FINE
    } else {
        FAULT
    })
}

/// For someone who expected a hook: which files were read, and what they register.
fn where_looked(found: &Discovery, firing: &Firing) -> String {
    let event = firing.event.as_str();
    let mut text = String::from("  looked at:\n");
    for file in &found.looked_at {
        let state = if file.exists() { "" } else { " (not there)" };
        let _ = writeln!(text, "    {}{state}", file.display());
    }
    let mut events: Vec<&str> =
        found.registrations.iter().map(|registration| registration.event.as_str()).collect();
    events.sort_unstable();
    events.dedup();
    if events.is_empty() {
        text.push_str(match firing.harness {
            Harness::Pi | Harness::OpenCode => "  nothing is there that would be loaded\n",
            _ => "  no hook is registered there; give a command after -- to fire at that\n",
        });
    } else if events.contains(&event) {
        let _ = writeln!(
            text,
            "  no matcher of the hooks that are registered for {event} takes this one; see the notes"
        );
    } else {
        let _ = writeln!(
            text,
            "  none of them takes this {event}; hooks are registered for {}",
            events.join(", ")
        );
    }
    text
}
