//! The harnesses: what is common to their accounts. Each has a folder with its own, and every rule there says at which
//! version and when it was seen.

mod answer;
mod budget;
mod claude;
mod codex;
mod cursor;
mod discovery;
mod flow;
mod grok;
mod hosted;
mod matcher;
mod opencode;
mod pi;
mod vocabulary;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use crate::launch::{Exit, HookRun};
use crate::recording::Recording;
use crate::report::{Effect, Kind};
use vocabulary::Vocabulary;

pub(crate) use answer::{first_line, with_stderr};
pub(crate) use discovery::{Discovery, Registration, Scope, json_of};
pub(crate) use flow::{Flow, Follow, Role, When};
pub(crate) use hosted::{Begun, Hosted, Modules, Play, Scene, doubts, not_here};
pub(crate) use matcher::missed;

/// A coding-agent harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Harness {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Cursor: documented and reported, never run here.
    Cursor,
    /// Pi: extensions in its own process, no command hooks.
    Pi,
    /// OpenCode: plugins in its own process, no command hooks.
    OpenCode,
    /// Grok.
    Grok,
}

/// No harness of that name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no harness {name:?}{}; there are: claude, codex, cursor, pi, opencode, grok", nearest.map(|nearest| format!(", did you mean {nearest}?")).unwrap_or_default())]
pub struct UnknownHarness {
    name: String,
    nearest: Option<&'static str>,
}

impl Harness {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Claude, Self::Codex, Self::Cursor, Self::Pi, Self::OpenCode, Self::Grok];

    /// Its name on the command line and in `{harness}`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::Pi => "pi",
            Self::OpenCode => "opencode",
            Self::Grok => "grok",
        }
    }

    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::Pi => "Pi",
            Self::OpenCode => "OpenCode",
            Self::Grok => "Grok",
        }
    }

    /// What it does with hooks, rule by rule.
    pub fn rules(self) -> &'static [Rule] {
        match (self.account(), self.hosted()) {
            (Some(account), _) => account.rules(),
            (None, Some(hosted)) => hosted.rules(),
            (None, None) => &[],
        }
    }

    /// `None` for a harness without command hooks.
    pub(crate) fn account(self) -> Option<&'static dyn Account> {
        match self {
            Self::Claude => Some(&claude::Claude),
            Self::Codex => Some(&codex::Codex),
            Self::Cursor => Some(&cursor::Cursor),
            Self::Grok => Some(&grok::Grok),
            // Their hooks are JavaScript in their own process; see `hosted`.
            Self::Pi | Self::OpenCode => None,
        }
    }

    /// `None` for a harness that starts commands.
    pub(crate) fn hosted(self) -> Option<&'static dyn Hosted> {
        match self {
            Self::Pi => Some(&pi::Pi),
            Self::OpenCode => Some(&opencode::OpenCode),
            Self::Claude | Self::Codex | Self::Cursor | Self::Grok => None,
        }
    }

    /// How it takes hooks.
    pub fn surface(self) -> Surface {
        match self {
            Self::Claude | Self::Codex | Self::Cursor | Self::Grok => Surface::Commands,
            Self::Pi => Surface::Extension,
            Self::OpenCode => Surface::Plugin,
        }
    }
}

/// How a harness takes hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// It starts commands.
    Commands,
    /// It loads JavaScript extensions into its own process (Pi).
    Extension,
    /// It loads JavaScript plugins into its own process (OpenCode).
    Plugin,
}

impl fmt::Display for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Harness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl FromStr for Harness {
    type Err = UnknownHarness;

    fn from_str(name: &str) -> Result<Self, UnknownHarness> {
        let lower = name.to_ascii_lowercase();
        Self::ALL.into_iter().find(|harness| harness.id() == lower).ok_or_else(|| UnknownHarness {
            name: name.to_owned(),
            nearest: Self::ALL
                .into_iter()
                .map(|harness| (strsim::jaro_winkler(harness.id(), &lower), harness.id()))
                .filter(|(score, _)| *score > 0.7)
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(_, id)| id),
        })
    }
}

/// One thing that a harness does with hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// What it does.
    pub text: &'static str,
    /// The version it holds for.
    pub version: &'static str,
    /// When and how it was learned: a date for what was seen in the running program, `source`, `documented`,
    /// `reported`, or `not known` where the simulator had to choose.
    pub seen: &'static str,
}

/// Where a run takes place, as an account needs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) project: &'a Path,
    /// The home whose registrations are read; `None`: no user's registrations.
    pub(crate) home: Option<&'a Path>,
    /// Whether the person trusts this project.
    pub(crate) trusted: bool,
}

/// An event that is about to be fired.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event<'a> {
    pub(crate) recording: &'a Recording,
    pub(crate) payload: &'a Value,
}

impl Event<'_> {
    pub(crate) fn name(&self) -> &str {
        &self.recording.event
    }

    /// A text of the payload.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.payload.get(key)?.as_str()
    }
}

/// Which process group or session a hook gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
pub(crate) enum Leads {
    Session,
    Group,
}

/// What happens at a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
pub(crate) enum Kill {
    /// TERM to everything below the hook, also in other sessions; KILL after this time.
    TreeThenKill(Duration),
    /// KILL to the hook's process group, at once.
    Group,
}

/// When a hook counts as finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
pub(crate) enum Finish {
    /// At its exit, whoever still holds its output.
    Exit,
    /// When both outputs are at their end.
    EndOfOutput,
}

/// How a harness starts, bounds and ends its hooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conduct {
    pub(crate) leads: Leads,
    pub(crate) kill: Kill,
    pub(crate) finish: Finish,
    /// Whether the hooks of one event run beside each other.
    pub(crate) concurrent: bool,
    /// Whether the same command registered twice for one event runs once.
    pub(crate) once: bool,
}

/// A harness's account: what it does with command hooks.
pub(crate) trait Account: Sync {
    /// Every rule, for people.
    fn rules(&self) -> &'static [Rule];

    /// What leads to what.
    fn flow(&self) -> &'static Flow;

    /// The `argv[0]` of its process.
    fn argv0(&self, version: &str) -> &'static str;

    fn conduct(&self) -> Conduct;

    /// What is registered, and what is wrong with it.
    fn discover(&self, place: Place<'_>) -> Discovery;

    /// What a matcher of this event is compared with: the value and its other names. `None`: the event has no
    /// matchers, and one that is there is not looked at.
    fn matched(&self, event: Event<'_>) -> Option<Vec<String>>;

    /// Whether a matcher takes one of these values.
    fn matches(&self, matcher: &str, values: &[String]) -> bool;

    /// What is wrong with a matcher that no value could satisfy because it cannot be read, and what the harness does
    /// with it.
    fn unreadable(&self, matcher: &str) -> Option<String> {
        let _ = matcher;
        None
    }

    /// All values that this event can have where they are a closed list: a matcher that takes none never matches.
    fn possible(&self, event: &str) -> Option<&'static [&'static str]>;

    /// How long the hook may take.
    fn timeout(&self, event: &str, registered: Option<f64>) -> Duration;

    /// Whether the hooks of this event have one timeout together, after the longest that is registered.
    fn shares_its_timeout(&self, event: &str) -> bool {
        let _ = event;
        false
    }

    /// The command line as this harness starts it.
    fn argv(&self, command: &str) -> Vec<String>;

    /// The folder that the hook runs in.
    fn folder(&self, place: Place<'_>, registration: Option<&Registration>) -> PathBuf {
        let _ = registration;
        place.project.to_owned()
    }

    /// The variables that this harness sets, beside the recorded ones that the simulator makes up.
    fn variables(&self, place: Place<'_>, event: Event<'_>) -> Vec<(String, String)>;

    /// The fields that it reads in an answer.
    fn vocabulary(&self) -> &'static Vocabulary;

    /// What comes of one hook's answer.
    fn read(&self, event: Event<'_>, hook: Hook<'_>) -> Vec<Effect>;

    /// What else the person who wrote the answer should know: fields that change nothing and are not read.
    fn remarks(&self, event: Event<'_>, hook: Hook<'_>) -> Vec<String> {
        let _ = (event, hook);
        Vec::new()
    }

    /// Whether nothing more is run after this answer (where hooks run one after the other).
    fn ends_the_chain(&self, effects: &[Effect]) -> bool {
        let _ = effects;
        false
    }

    /// Whether this event decides over a tool call: then the report says whether the tool ran.
    fn gates_a_tool(&self, event: &str) -> bool;

    /// How many stop refusals in a row it obeys; `None`: without limit.
    fn stop_limit(&self, event: &str) -> Option<u32>;
}

/// A hook that has run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hook<'a> {
    pub(crate) run: &'a HookRun,
    /// `None` for a command that was given on the command line.
    pub(crate) registration: Option<&'a Registration>,
}

impl Hook<'_> {
    /// The failures that are the same for every harness: it did not start, or ran out of time.
    pub(crate) fn failed_to_run(&self) -> Option<String> {
        match &self.run.exit {
            Exit::NotStarted { why } => Some(format!("did not start: {why}")),
            _ if self.run.timed_out => Some(format!(
                "timed out after {}; what it had printed is lost",
                crate::report::duration(self.run.deadline)
            )),
            Exit::Signal { name, .. } => Some(format!("ended by {name}")),
            Exit::Code { .. } => None,
        }
    }
}

/// What the person who wrote a hook's answer should know, with the hook's name.
pub(crate) fn remarks(account: &dyn Account, event: Event<'_>, hook: Hook<'_>) -> Vec<String> {
    const MOST: usize = 40;
    let command: String = hook.run.command.chars().take(MOST).collect();
    let more = if command.len() < hook.run.command.len() { "…" } else { "" };
    account.remarks(event, hook).into_iter().map(|remark| format!("{command}{more}: {remark}")).collect()
}

/// The final say on a tool: denied, asked or ran. An answer that denies wins over one that asks.
pub(crate) fn conclude(account: &dyn Account, event: &str, effects: &mut Vec<Effect>) {
    let has = |kind: Kind| effects.iter().any(|effect| effect.kind == kind);
    let undecided = effects.iter().any(|effect| effect.outcome_unknown);
    if account.gates_a_tool(event) && !has(Kind::Denied) && !has(Kind::Asked) && !undecided {
        effects.push(Effect::new(Kind::Ran));
    }
}

#[cfg(test)]
pub(crate) mod testing;
