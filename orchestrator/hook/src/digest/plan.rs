//! Which stages a session open has, in the order of their worth, and how each is run.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dogwatch_engine::process::{Captured, Command, Deadline, StartError};
use dogwatch_engine::stages::{Ran, Stage, Work};

use super::ground::Ground;
use super::{capabilities, follow_ups, next_step, orientation, profile, repository};
use crate::config::{self, BuiltIn, On, Seconds};
use crate::text::{clean_bytes, line_bytes};

/// The bound of a built-in stage.
const BUILT_IN: Seconds = config::Stage::DEADLINE;

/// Variables of a calling harness that no program of a project needs: provider keys and messaging tokens. Names only;
/// their values are never looked at.
const HARNESS_SECRETS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CODEX_API_KEY",
    "CURSOR_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROK_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
];

/// The stages of one digest.
#[derive(Debug)]
pub struct Plan {
    /// The stages, in order.
    pub stages: Vec<Stage>,
    /// Set once the welcome was made; the caller then remembers that it was given.
    pub welcomed_now: Arc<AtomicBool>,
}

/// The stages of a full digest: the built-in ones that the config does not drop, then the project's own.
///
/// `config` is the one that counts: the defaults where the project's is not trusted.
pub fn full(ground: &Arc<Ground>, config: &config::Digest, welcomed: bool) -> Plan {
    let welcomed_now = Arc::new(AtomicBool::new(false));
    let mut stages = Vec::new();
    for stage in BuiltIn::ALL {
        if !config.drop.contains(&stage) {
            stages.extend(built_in(stage, ground, welcomed, &welcomed_now));
        }
        // A project's own stages stand before what is said to everyone.
        if stage == BuiltIn::Work {
            stages.extend(
                config.stages.iter().filter(|stage| stage.on != On::Reemit).map(|own| project(ground, own)),
            );
        }
    }
    Plan { stages, welcomed_now }
}

fn built_in(
    stage: BuiltIn,
    ground: &Arc<Ground>,
    welcomed: bool,
    welcomed_now: &Arc<AtomicBool>,
) -> Option<Stage> {
    let function = |text: fn(&Ground) -> Option<String>| {
        let ground = Arc::clone(ground);
        Some(Work::Function(Box::new(move || text(&ground))))
    };
    let work = match stage {
        BuiltIn::Orientation => function(orientation::text),
        BuiltIn::FollowUps => function(follow_ups::text),
        BuiltIn::Repository => git_status(ground),
        BuiltIn::Capabilities => function(capabilities::text),
        BuiltIn::Profile => {
            let (ground, welcomed_now) = (Arc::clone(ground), Arc::clone(welcomed_now));
            Some(Work::Function(Box::new(move || {
                let profile = profile::text(&ground, welcomed);
                welcomed_now.store(profile.welcome, Ordering::Relaxed);
                profile.text
            })))
        }
        BuiltIn::NextStep => function(next_step::text),
        // These need a session of a harness, which `dogwatch open` in a terminal is not.
        BuiltIn::Helm | BuiltIn::Instructions | BuiltIn::Wakes | BuiltIn::Network | BuiltIn::Work => None,
    };
    Some(Stage { name: stage.id().to_owned(), bound: deadline(BUILT_IN), work: work? })
}

/// A bound of the config as one of the engine.
pub fn deadline(seconds: Seconds) -> Deadline {
    // Both are at least a second and at most a day.
    Deadline::new(seconds.duration()).unwrap_or(Deadline::DEFAULT)
}

fn git_status(ground: &Arc<Ground>) -> Option<Work> {
    let argv = repository::command(ground)?;
    let (program, args) = argv.split_first()?;
    let mut command = without_secrets(Command::new(program).args(args)).current_dir(&ground.root);
    for name in repository::NOT_INHERITED {
        command = command.env_remove(name);
    }
    for (name, value) in repository::ENVIRONMENT {
        command = command.env(name, value);
    }
    let ground = Arc::clone(ground);
    let render = Box::new(move |ran: Ran<'_>| match ran {
        Ran::Ended(captured) if captured.outcome.success() => repository::render(&ground, &captured.stdout),
        // Stopped by the end of the whole: the banner names it.
        Ran::Ended(captured) if captured.outcome.exit_code.is_none() => None,
        Ran::Ended(captured) => repository::fallback(&ground, &first_line(captured)),
        Ran::OverBound(_) => {
            repository::fallback(&ground, &format!("git status did not answer within {BUILT_IN}"))
        }
        Ran::NotStarted(StartError::NotFound { .. }) => repository::fallback(&ground, "git is not installed"),
        Ran::NotStarted(error) => repository::fallback(&ground, &error.to_string()),
    });
    Some(Work::Command { command, render })
}

fn first_line(captured: &Captured) -> String {
    let first = captured.stderr.split(|byte| *byte == b'\n').find(|line| !line.is_empty());
    first.map_or_else(|| "git failed without a word".to_owned(), line_bytes)
}

fn project(ground: &Ground, own: &config::Stage) -> Stage {
    let argv = own.program.argv();
    let command = project_command(&ground.root, &argv);
    let name = own.name.clone();
    let render = Box::new(move |ran: Ran<'_>| match ran {
        Ran::Ended(captured) => said(&name, captured),
        Ran::OverBound(_) | Ran::NotStarted(_) => None,
    });
    Stage { name: own.name.clone(), bound: deadline(own.deadline), work: Work::Command { command, render } }
}

/// A program of the project: in the root, without the calling harness's secrets.
pub fn project_command(root: &Path, argv: &[impl AsRef<OsStr>]) -> Command {
    let (program, args) =
        argv.split_first().map_or((OsStr::new(""), &[][..]), |(program, args)| (program.as_ref(), args));
    without_secrets(Command::new(program).args(args)).current_dir(root)
}

fn without_secrets(command: Command) -> Command {
    HARNESS_SECRETS.iter().fold(command, Command::env_remove)
}

/// What a project's stage printed, and how it failed if it did.
fn said(name: &str, captured: &Captured) -> Option<String> {
    let mut text = clean_bytes(&captured.stdout).trim_end().to_owned();
    let outcome = &captured.outcome;
    let failure = match (outcome.exit_code, outcome.signal) {
        (Some(0), _) | (None, None) => None,
        (Some(code), _) => Some(format!("exited with {code}")),
        // One that the end of the whole stopped is named by the banner.
        (None, Some(_)) if outcome.end != dogwatch_engine::process::End::Signaled => None,
        (None, Some(signal)) => Some(format!("died of signal {signal}")),
    };
    if let Some(failure) = failure {
        let last = captured.stderr.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty());
        let why = last.map(|line| format!(": {}", line_bytes(line))).unwrap_or_default();
        if !text.is_empty() {
            text.push('\n');
        }
        text.extend(["[", name, ": ", &failure, &why, "]"]);
    }
    (!text.is_empty()).then_some(text)
}
