//! What a firing came to: effects, process facts, and how they are written down.

mod junit;
mod proved;
mod scenario;
mod text;

use std::time::Duration;

use serde::Serialize;

use crate::harness::Harness;
use crate::launch::{HookRun, Process};
use crate::recording::{How, Provenance};

pub use junit::junit;
pub use proved::prove;
pub use scenario::{Report, StepReport, Unmet, write_report};
pub use text::write_firing;
pub(crate) use text::{Style, paint};

/// What an answer did, as the harness's user or model would notice it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Kind {
    /// Text that the model gets.
    #[serde(rename = "context")]
    Context,
    /// The tool, the prompt or the compaction does not go ahead.
    #[serde(rename = "denied")]
    Denied,
    /// A person is asked.
    #[serde(rename = "asked")]
    Asked,
    /// The tool ran.
    #[serde(rename = "ran")]
    Ran,
    /// The model has to go on.
    #[serde(rename = "stop refused")]
    StopRefused,
    /// The hook said something and the harness does not read it there.
    #[serde(rename = "ignored")]
    Ignored,
    /// The hook failed, or the harness refused its answer.
    #[serde(rename = "failed")]
    Failed,
    /// The user sees it, the model does not.
    #[serde(rename = "message to the user")]
    Message,
}

impl Kind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Denied => "denied",
            Self::Asked => "asked",
            Self::Ran => "ran",
            Self::StopRefused => "stop refused",
            Self::Ignored => "ignored",
            Self::Failed => "failed",
            Self::Message => "message to the user",
        }
    }
}

/// How much of a text arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivered {
    /// All of it.
    Whole,
    /// Its beginning, and the rest in a file.
    Preview,
    /// Parts of it.
    Cut,
    /// Nothing.
    Ignored,
}

/// One thing that came of a firing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// What it is.
    pub kind: Kind,
    /// A reason: of a denial or a refusal the hook's, of what was ignored or failed the harness's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Bytes that the hook meant for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// How much of them arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Delivered>,
    /// The text as its reader would get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Which of the firing's commands it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<usize>,
    /// What becomes of the tool is not known.
    #[serde(skip)]
    pub(crate) outcome_unknown: bool,
}

impl Effect {
    /// An effect without anything to it.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            why: None,
            bytes: None,
            delivered: None,
            text: None,
            command: None,
            outcome_unknown: false,
        }
    }

    /// Text for the model that arrives whole.
    pub(crate) fn context(text: impl Into<String>) -> Self {
        let text = text.into();
        let bytes = Some(text.len());
        Self { bytes, delivered: Some(Delivered::Whole), text: Some(text), ..Self::new(Kind::Context) }
    }

    /// With a reason.
    pub(crate) fn because(kind: Kind, why: impl Into<String>) -> Self {
        Self { why: Some(why.into()), ..Self::new(kind) }
    }

    /// Output that the harness does not read.
    pub(crate) fn ignored(why: impl Into<String>, bytes: usize) -> Self {
        Self { bytes: Some(bytes), delivered: Some(Delivered::Ignored), ..Self::because(Kind::Ignored, why) }
    }

    /// A text that only the user sees.
    pub(crate) fn message(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::new(Kind::Message) }
    }

    /// Nobody knows what becomes of the tool then.
    pub(crate) fn with_unknown_outcome(self) -> Self {
        Self { outcome_unknown: true, ..self }
    }
}

/// A process that was still there after the hook had returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Survivor {
    /// Its id.
    pub pid: i32,
    /// Its start time, in clock ticks since boot.
    pub start_time: u64,
    /// The command's name.
    pub name: String,
    /// Its command line.
    pub command_line: String,
    /// Whether an identity file names it (or its supervisor): then it is no leak.
    pub declared: bool,
    /// Whether it holds the hook's stdout.
    pub holds_stdout: bool,
}

/// How a note begins that only says what the simulator takes for granted.
pub(crate) const GRANTED: &str = "taken as trusted: ";

/// One event, fired at every hook that takes it.
#[derive(Debug, Clone, Serialize)]
pub struct Firing {
    /// The event, as the harness calls it.
    pub event: String,
    /// The harness.
    pub harness: Harness,
    /// Its version.
    pub version: String,
    /// The recording.
    pub recording: String,
    /// Whether the recording was seen or written from documentation.
    pub how: How,
    /// Set where there is nothing to fire, with the reason; then no hook was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<String>,
    /// Set where it could not be run here, with the reason. That is never a pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// What was run.
    pub commands: Vec<HookRun>,
    /// What came of it.
    pub effects: Vec<Effect>,
    /// What was left behind.
    pub survivors: Vec<Survivor>,
    /// What a person should know: about registrations, matchers, trust.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Wall time of the whole event.
    #[serde(rename = "ms", serialize_with = "as_milliseconds")]
    pub elapsed: Duration,
    /// Where the recording came from.
    pub provenance: Provenance,
}

impl Firing {
    /// What came of it.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// The effects of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Effect> {
        self.effects.iter().filter(move |effect| effect.kind == kind)
    }

    /// Whether there is an effect of this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.of(kind).next().is_some()
    }

    /// Everything that the model would get, as it would get it.
    pub fn context(&self) -> String {
        let texts: Vec<&str> = self.of(Kind::Context).filter_map(|effect| effect.text.as_deref()).collect();
        texts.join("\n")
    }

    /// The survivors that nobody declared.
    pub fn leaks(&self) -> impl Iterator<Item = &Survivor> {
        self.survivors.iter().filter(|survivor| !survivor.declared)
    }

    /// Whether every hook did its work: none failed, none leaked.
    pub fn is_clean(&self) -> bool {
        self.not_run.is_none() && !self.has(Kind::Failed) && self.leaks().next().is_none()
    }

    /// The notes that say what may be wrong, and not what is taken for granted.
    pub(crate) fn doubts(&self) -> impl Iterator<Item = &String> {
        self.warnings.iter().filter(|warning| !warning.starts_with(GRANTED))
    }

    /// Whether something may be wrong where nothing failed: a note, or something that the harness does not read.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.doubts().next().is_some() || self.has(Kind::Ignored)
    }

    /// # Panics
    /// Unless the model would see this text.
    #[track_caller]
    pub fn assert_context(&self, part: &str) -> &Self {
        assert!(self.context().contains(part), "the model does not see {part:?}:\n{self}");
        self
    }

    /// # Panics
    /// Unless the call was denied with a reason that has this in it.
    #[track_caller]
    pub fn assert_denied(&self, part: &str) -> &Self {
        let denied =
            self.of(Kind::Denied).any(|effect| effect.why.as_deref().unwrap_or_default().contains(part));
        assert!(denied, "not denied for {part:?}:\n{self}");
        self
    }

    /// # Panics
    /// Unless the tool ran.
    #[track_caller]
    pub fn assert_ran(&self) -> &Self {
        assert!(self.has(Kind::Ran), "the tool did not run:\n{self}");
        self
    }

    /// # Panics
    /// If a hook failed or left a process behind.
    #[track_caller]
    pub fn assert_clean(&self) -> &Self {
        assert!(self.is_clean(), "a hook failed or leaked:\n{self}");
        self
    }

    /// Files of registrations that the harness rejects, where there is no hook besides: that is why there is none.
    pub(crate) fn reject(&mut self, rejected: impl Iterator<Item = String>) {
        for why in rejected {
            self.warnings.retain(|warning| *warning != why);
            self.effects.push(Effect::because(Kind::Failed, format!("rejected: {why}")));
        }
    }

    /// Numbers the effects of one command.
    pub(crate) fn add(&mut self, command: usize, effects: Vec<Effect>) {
        self.effects.extend(effects.into_iter().map(|effect| Effect { command: Some(command), ..effect }));
    }
}

impl std::fmt::Display for Firing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        write_firing(&mut text, self);
        f.write_str(&anstream::adapter::strip_str(&text).to_string())
    }
}

/// Milliseconds, as a whole number.
pub(crate) fn as_milliseconds<S: serde::Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// A duration for people: `12 ms`, `1.5 s`, `83 min`.
pub(crate) fn duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms < 1000 {
        format!("{ms} ms")
    } else if ms < 120_000 {
        let seconds = duration.as_secs_f64();
        if duration.subsec_millis() == 0 { format!("{seconds:.0} s") } else { format!("{seconds:.1} s") }
    } else {
        format!("{} min", ms / 60_000)
    }
}

/// A survivor out of what `/proc` says.
pub(crate) fn survivor(process: &Process, declared: bool, holds_stdout: bool) -> Survivor {
    Survivor {
        pid: process.pid,
        start_time: process.start_time,
        name: process.name.clone(),
        command_line: process.command_line.clone(),
        declared,
        holds_stdout,
    }
}
