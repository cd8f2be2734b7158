//! Which stages a session open has, in the order of their worth, and how each is run.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dogwatch_engine::process::{Captured, Command, Deadline, End, Outcome, StartError};
use dogwatch_engine::stages::{Ran, Stage, Work};

use super::ground::Ground;
use super::{capabilities, follow_ups, next_step, orientation, profile, repository};
use crate::config::{self, BuiltIn, On, Seconds};
use crate::text::{clean_bytes, line, line_bytes, redact, redact_cut};

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

/// Which digest it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// A session opens.
    #[default]
    Full,
    /// A session lost its context, not its start: everything again but what changes something.
    AfterClear,
    /// The same after a compaction, which kept a summary: less.
    AfterCompact,
}

/// A text that is made when its stage's turn comes, because it may have changed by then.
#[derive(Clone)]
pub struct AtTurn(Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl AtTurn {
    /// By this function, which looks and does not wait.
    pub fn new(text: impl Fn() -> Option<String> + Send + Sync + 'static) -> AtTurn {
        AtTurn(Arc::new(text))
    }
}

impl std::fmt::Debug for AtTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtTurn")
    }
}

/// What is known of the session, found out before the stages start.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Which digest it is.
    pub kind: Kind,
    /// Why nothing may be changed in this session; one line.
    pub read_only: Option<String>,
    /// What the stage `instructions` says: whole files that have drifted.
    pub instructions: Option<String>,
    /// What the stage `wakes` says: results that waited.
    pub wakes: Option<String>,
    /// What the stage `network` says when its turn comes.
    pub network: Option<AtTurn>,
    /// What the stage `work` says: the other sessions.
    pub work: Option<String>,
    /// Whether the reader is shown what the project brings without us.
    pub shows_capabilities: bool,
}

impl Facts {
    /// What stands above everything else.
    pub fn banner(&self) -> String {
        match &self.read_only {
            Some(why) => format!(
                "=== READ-ONLY: {why} ===\nThis session is not in charge of this home: read, and change nothing of it.\n\n"
            ),
            None => String::new(),
        }
    }
}

/// The stages of one digest.
#[derive(Debug)]
pub struct Plan {
    /// The stages, in order.
    pub stages: Vec<Stage>,
    /// Set once the welcome was made; the caller then remembers that it was given.
    pub welcomed_now: Arc<AtomicBool>,
}

/// The stages of a digest: the built-in ones that the config does not drop, and the project's own.
///
/// `config` is the one that counts: the defaults where the project's is not trusted.
pub fn plan(ground: &Arc<Ground>, config: &config::Digest, facts: &Facts, welcomed: bool) -> Plan {
    let welcomed_now = Arc::new(AtomicBool::new(false));
    let mut stages = Vec::new();
    for stage in BuiltIn::ALL {
        // What is told of the session itself is not for the project to leave out.
        let is_dropped =
            config.drop.contains(&stage) && !matches!(stage, BuiltIn::Helm | BuiltIn::Instructions);
        if !is_dropped && is_told(stage, facts) {
            stages.extend(built_in(stage, ground, facts, welcomed, &welcomed_now));
        }
        // A project's own stages stand before what is said to everyone.
        if stage == BuiltIn::Work {
            let own = config.stages.iter().filter(|stage| match stage.on {
                On::Full => facts.kind == Kind::Full,
                On::Reemit => facts.kind != Kind::Full,
                On::Both => true,
            });
            stages.extend(own.map(|own| project(ground, own)));
        }
    }
    Plan { stages, welcomed_now }
}

/// After a compaction only what re-anchors the session.
fn is_told(stage: BuiltIn, facts: &Facts) -> bool {
    let anchors = matches!(
        stage,
        BuiltIn::Helm | BuiltIn::Instructions | BuiltIn::Wakes | BuiltIn::Orientation | BuiltIn::Capabilities
    );
    (facts.kind != Kind::AfterCompact || anchors)
        && (stage != BuiltIn::Capabilities || !facts.shows_capabilities)
}

/// The built-in stages that this kind of digest leaves out, for its note.
pub fn left_out(kind: Kind) -> Vec<&'static str> {
    let facts = Facts { kind, ..Facts::default() };
    BuiltIn::ALL.into_iter().filter(|stage| !is_told(*stage, &facts)).map(BuiltIn::id).collect()
}

fn built_in(
    stage: BuiltIn,
    ground: &Arc<Ground>,
    facts: &Facts,
    welcomed: bool,
    welcomed_now: &Arc<AtomicBool>,
) -> Option<Stage> {
    let function = |text: fn(&Ground) -> Option<String>| {
        let ground = Arc::clone(ground);
        Some(Work::Function(Box::new(move || text(&ground))))
    };
    let known = |text: &Option<String>| {
        let text = text.clone()?;
        Some(Work::Function(Box::new(move || Some(text))))
    };
    let work = match stage {
        BuiltIn::Instructions => known(&facts.instructions),
        BuiltIn::Wakes => known(&facts.wakes),
        BuiltIn::Network => facts.network.clone().map(|AtTurn(text)| Work::AtTurn(Box::new(move || text()))),
        BuiltIn::Work => known(&facts.work),
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
        // Who is in charge is said where it matters: above everything, and only to those who are not.
        BuiltIn::Helm => None,
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
    let command = quiet_git(Command::new(program).args(args)).current_dir(&ground.root);
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

/// A git command of ours: it asks nobody, fetches nothing, and looks at this checkout and no other.
fn quiet_git(command: Command) -> Command {
    let command = repository::NOT_INHERITED.iter().fold(without_secrets(command), Command::env_remove);
    repository::ENVIRONMENT.iter().fold(command, |command, (name, value)| command.env(name, value))
}

/// `git` in a checkout, as dogwatch calls it.
pub fn git(top: &Path) -> Command {
    let quiet = ["-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"];
    quiet_git(Command::new("git").args(quiet).arg("-C").arg(top))
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

/// A command without the calling harness's provider keys and messaging tokens.
pub fn without_secrets(command: Command) -> Command {
    HARNESS_SECRETS.iter().fold(command, Command::env_remove)
}

/// What a project's stage printed, and how it failed if it did.
fn said(name: &str, captured: &Captured) -> Option<String> {
    let text = clean_bytes(&captured.stdout);
    let is_whole = is_whole(&captured.stdout, captured.outcome.stdout_bytes, &captured.outcome);
    let text = if is_whole { redact(&text) } else { redact_cut(&text) };
    let mut text = text.trim_end().to_owned();
    let failure = how_it_failed(&captured.outcome);
    if let Some(failure) = failure {
        let last = last_line(&captured.stderr, &captured.outcome);
        let why = last.map(|line| format!(": {line}")).unwrap_or_default();
        if !text.is_empty() {
            text.push('\n');
        }
        text.extend(["[", name, ": ", &failure, &why, "]"]);
    }
    (!text.is_empty()).then_some(text)
}

/// Whether a program ended by itself, and thus finished the word that it was writing.
pub fn has_ended(outcome: &Outcome) -> bool {
    outcome.end == End::Exited
}

fn is_whole(kept: &[u8], bytes: u64, outcome: &Outcome) -> bool {
    has_ended(outcome) && kept.len() as u64 == bytes
}

/// The last line that a program wrote to stderr, of which this was kept.
pub fn last_line(stderr: &[u8], outcome: &Outcome) -> Option<String> {
    let text = clean_bytes(stderr);
    let text =
        if is_whole(stderr, outcome.stderr_bytes, outcome) { redact(&text) } else { redact_cut(&text) };
    text.lines().map(line).rfind(|line| !line.is_empty())
}

/// How a program failed that ended by itself, in words; `None` if it did not. One that the end of the whole stopped is
/// named by the banner.
pub fn how_it_failed(outcome: &Outcome) -> Option<String> {
    match (outcome.end, outcome.exit_code, outcome.signal) {
        (End::Exited, Some(code @ 1..), _) => Some(format!("exited with {code}")),
        (End::Signaled, _, Some(signal)) => Some(format!("died of signal {signal}")),
        _ => None,
    }
}
