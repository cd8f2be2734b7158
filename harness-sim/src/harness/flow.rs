//! What leads to what: how a harness goes on after an event, and what it fires on its own account. The facts are each
//! harness's (`flow.rs` in its folder); playing them is `sequence/`.

use serde_json::{Map, Value};

use crate::recording::Recording;

/// What a harness does between events.
#[derive(Debug)]
pub(crate) struct Flow {
    /// What tells a hook that its refusal is why the stop comes again.
    pub(crate) again: Again,
    /// Whether the cap on refusals also holds for hooks of another harness's file.
    pub(crate) caps_foreign: bool,
    /// What comes of a compaction, by its trigger, in this order.
    pub(crate) after_compaction: fn(trigger: &str) -> &'static [Follow],
    /// Calls that it makes for another one, before it, as (call, first) by the names of recordings. They have one id, and
    /// who denies the first has denied the call.
    pub(crate) first: &'static [(&'static str, &'static str)],
    /// Whether a prompt waits for the hooks of the session's open.
    pub(crate) awaits_open: fn(version: &str) -> bool,
    /// Whether this session open begins a session that was not there before.
    pub(crate) is_new_session: fn(&Recording) -> bool,
}

/// What is different in the payload of a stop that was refused before.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Again {
    /// These keys are true, where the payload has them.
    Flags(&'static [&'static str]),
    /// This key counts the refusals.
    Count(&'static str),
}

impl Again {
    /// What the payload has after so many refusals.
    pub(crate) fn fields(self, refusals: u32, payload: &Value) -> Map<String, Value> {
        match self {
            Self::Flags(keys) => keys
                .iter()
                .filter(|key| payload.get(**key).is_some())
                .map(|key| ((*key).to_owned(), Value::Bool(refusals > 0)))
                .collect(),
            Self::Count(key) => payload
                .get(key)
                .and_then(Value::as_u64)
                .map(|first| (key.to_owned(), Value::from(first + u64::from(refusals))))
                .into_iter()
                .collect(),
        }
    }
}

/// An event that comes of another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Follow {
    /// Its name.
    pub(crate) event: &'static str,
    /// What its payload says.
    pub(crate) with: Option<(&'static str, &'static str)>,
    /// When.
    pub(crate) when: When,
    /// Why, in a sentence that follows a colon.
    pub(crate) why: &'static str,
}

/// When something comes of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Right after it.
    AtOnce,
    /// Before the session's next prompt is handed to the hooks.
    AtNextPrompt,
}

/// What an event is to the flow, whatever its harness calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Open,
    Prompt,
    BeforeTool,
    AfterTool,
    Compaction,
    Stop,
    Other,
}

impl Role {
    pub(crate) fn of(event: &str) -> Self {
        match event {
            "SessionStart" | "sessionStart" => Self::Open,
            "UserPromptSubmit" | "beforeSubmitPrompt" => Self::Prompt,
            "PreToolUse" | "preToolUse" => Self::BeforeTool,
            "PostToolUse" | "PostToolUseFailure" | "postToolUse" | "postToolUseFailure" => Self::AfterTool,
            "PreCompact" | "preCompact" => Self::Compaction,
            "Stop" | "SubagentStop" | "stop" | "subagentStop" => Self::Stop,
            _ => Self::Other,
        }
    }
}

/// The value of `source` in a session open.
pub(crate) fn source(recording: &Recording) -> &str {
    recording.payload().get("source").and_then(Value::as_str).unwrap_or_default()
}
