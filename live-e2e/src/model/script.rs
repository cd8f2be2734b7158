//! What the model does: the directives in a prompt, and the turn that is due.

use std::time::Duration;

use serde_json::Value;

use super::request::{Item, Role};
use super::{DONE, SUMMARY};

/// Nothing takes longer than this, whatever a prompt asks for.
pub(super) const LONGEST: Duration = Duration::from_mins(2);

/// By these a CLI asks for a summary of the session.
const SUMMARY_PROMPTS: &[&str] = &[
    // Claude Code.
    "create a detailed summary",
    "CRITICAL: Respond with TEXT ONLY",
    // Codex.
    "CONTEXT CHECKPOINT COMPACTION",
    // Pi.
    "are a conversation to summarize",
    // OpenCode.
    "Create a new anchored summary",
];

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    /// An object; a string for a tool that takes free text.
    pub(super) arguments: Value,
}

/// One answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) calls: Vec<Call>,
    pub(super) text: String,
    pub(super) before: Duration,
    pub(super) within: Duration,
    /// Until the test lets this go.
    pub(super) hold: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) input_tokens: u64,
}

/// The turn that is due in a conversation. Nothing is remembered: a session that was taken up again or compacted is
/// answered by what it holds.
pub(super) fn due(items: &[Item], offers_tools: bool) -> Turn {
    let users: Vec<(usize, &str)> = items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| match item {
            Item::Text(text) if text.role == Role::User => Some((at, text.text.as_str())),
            _ => None,
        })
        .collect();
    if users.last().is_some_and(|(_, text)| SUMMARY_PROMPTS.iter().any(|prompt| text.contains(prompt))) {
        return Turn { text: format!("<summary>{SUMMARY}</summary>"), ..Turn::default() };
    }
    // What a hook or the CLI adds may stand behind the prompt, and a reminder may quote it.
    let scripted =
        users.iter().rev().find(|(_, text)| text.contains("@@") && !text.starts_with("<system-reminder"));
    let Some((at, text)) = scripted else { return Turn::default() };
    let script = Script::parse(text);
    let done = items[at + 1..].iter().filter(|item| matches!(item, Item::Result(_))).count();
    let mut turn = script.turn;
    if done > 0 {
        turn.status = None;
    }
    let mut before = 0;
    for calls in script.calls {
        if done <= before && offers_tools {
            turn.calls = calls;
            break;
        }
        before += calls.len();
    }
    // A title is no turn of the conversation.
    if !offers_tools || !turn.calls.is_empty() {
        turn.hold = None;
    }
    turn
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            text: DONE.to_owned(),
            before: Duration::ZERO,
            within: Duration::ZERO,
            hold: None,
            status: None,
            input_tokens: 100,
        }
    }
}

/// The directives of one prompt.
struct Script {
    /// By turn.
    calls: Vec<Vec<Call>>,
    turn: Turn,
}

impl Script {
    fn parse(text: &str) -> Self {
        let mut script = Self { calls: Vec::new(), turn: Turn::default() };
        let mut rest = text;
        while let Some((_, behind)) = rest.split_once("@@") {
            let Some((directive, after)) = behind.split_once("@@") else { break };
            // Behind what is no directive the next one may begin at once.
            rest = if script.take(directive) { after } else { behind };
        }
        script
    }

    /// Whether it is a directive.
    fn take(&mut self, directive: &str) -> bool {
        let Some((kind, value)) = directive.split_once(char::is_whitespace) else { return false };
        let value = value.trim();
        match kind {
            "tool" | "ptool" => {
                let call = call(value);
                match self.calls.last_mut() {
                    Some(turn) if kind == "ptool" => turn.push(call),
                    _ => self.calls.push(vec![call]),
                }
            }
            "say" => self.turn.text = value.to_owned(),
            "sleep" => self.turn.before = seconds(value),
            "pause" => self.turn.within = seconds(value),
            "hold" => self.turn.hold = Some(value.to_owned()),
            "status" => self.turn.status = value.parse().ok(),
            "usage" => self.turn.input_tokens = value.parse().unwrap_or(100),
            _ => return false,
        }
        true
    }
}

fn call(value: &str) -> Call {
    let (name, arguments) = value.split_once(char::is_whitespace).unwrap_or((value, "{}"));
    let arguments = arguments.trim();
    let free = || Value::String(arguments.to_owned());
    Call { name: name.to_owned(), arguments: serde_json::from_str(arguments).unwrap_or_else(|_| free()) }
}

fn seconds(value: &str) -> Duration {
    let seconds = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.unwrap_or_default().min(LONGEST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::request::Text;
    use super::*;

    fn user(text: &str) -> Item {
        Item::Text(Text { role: Role::User, text: text.to_owned() })
    }

    fn result() -> Item {
        Item::Result("out".to_owned())
    }

    fn names(turn: &Turn) -> Vec<&str> {
        turn.calls.iter().map(|call| call.name.as_str()).collect()
    }

    const PROMPT: &str = "go @@tool a {\"x\":1}@@ and @@ptool b {}@@ then @@tool c free text@@ @@say END@@";

    #[test]
    fn calls_are_made_one_turn_after_the_other_and_then_the_text_is_said() {
        let turn = due(&[user(PROMPT)], true);
        assert_eq!(names(&turn), ["a", "b"]);
        assert_eq!(turn.calls[0].arguments, json!({"x": 1}));
        let turn = due(&[user(PROMPT), result(), result()], true);
        assert_eq!(names(&turn), ["c"]);
        assert_eq!(turn.calls[0].arguments, json!("free text"));
        let turn = due(&[user(PROMPT), result(), result(), result()], true);
        assert!(turn.calls.is_empty());
        assert_eq!(turn.text, "END");
    }

    #[test]
    fn what_a_hook_adds_behind_the_prompt_hides_no_directive() {
        let added =
            [user(PROMPT), user("# a digest"), user("<system-reminder>@@tool z {}@@</system-reminder>")];
        assert_eq!(names(&due(&added, true)), ["a", "b"]);
    }

    #[test]
    fn the_last_prompt_counts_and_only_results_behind_it() {
        let items = [user(PROMPT), result(), result(), result(), user("@@tool d {}@@")];
        assert_eq!(names(&due(&items, true)), ["d"]);
    }

    #[test]
    fn without_tools_there_is_no_call() {
        let turn = due(&[user(PROMPT)], false);
        assert!(turn.calls.is_empty());
        assert_eq!(turn.text, "END");
    }

    #[test]
    fn an_error_is_answered_once() {
        let prompt = "@@status 529@@ @@tool a {}@@ @@sleep 0.5@@ @@usage 7@@ @@pause 9999@@";
        let turn = due(&[user(prompt)], true);
        assert_eq!((turn.status, turn.before, turn.input_tokens), (Some(529), Duration::from_millis(500), 7));
        assert_eq!(turn.within, LONGEST);
        assert_eq!(due(&[user(prompt), result()], true).status, None);
    }

    #[test]
    fn the_last_turn_is_held_and_no_other() {
        let prompt = "@@tool a {}@@ @@hold x@@";
        assert_eq!(due(&[user(prompt)], true).hold, None);
        assert_eq!(due(&[user(prompt)], false).hold, None);
        assert_eq!(due(&[user(prompt), result()], true).hold.as_deref(), Some("x"));
    }

    #[test]
    fn what_only_looks_like_a_directive_takes_no_other_with_it() {
        let turn = due(&[user("5 @@ a metre, @@say END@@")], true);
        assert_eq!(turn.text, "END");
    }

    #[test]
    fn a_summary_is_asked_for_by_the_last_text() {
        let asked = "Your task is to create a detailed summary of the conversation so far";
        assert!(due(&[user(PROMPT), user(asked)], true).text.contains(SUMMARY));
        assert_eq!(names(&due(&[user(asked), user(PROMPT)], true)), ["a", "b"]);
    }
}
