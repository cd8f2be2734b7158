//! What stands in Codex's `hooks.json`. Seen with 0.171.0: the root of the file may hold `description` and `hooks` and
//! nothing else; a person's trust in a hook is kept by its place in the file and a hash of it, so ours goes last, never
//! moves and never changes.

use std::path::Path;

use serde_json::Value;
use toml_edit::Item;

use super::super::consent::{self, Asked, Consent};
use super::super::event::EventKind;
use super::super::registration::{Dialect, Form, Hook, Registration, Shape, Then, UserFolder};

pub(super) static REGISTRATION: Registration = Registration {
    user: UserFolder { variables: &[("CODEX_HOME", "")], default: ".codex" },
    user_file: "hooks.json",
    project_file: ".codex/hooks.json",
    form: Form::Hooks {
        shape: Shape::Nested,
        dialect: Dialect {
            comments: false,
            trailing_commas: false,
            byte_order_mark: false,
            root_keys: Some(&["description", "hooks"]),
            handler_types: Some(&["command", "mcp_tool", "prompt", "agent"]),
        },
        hooks: &[
            Hook {
                event: "SessionStart",
                kind: EventKind::SessionOpen,
                options: &["--limit", "180s"],
                timeout: 180,
            },
            Hook { event: "UserPromptSubmit", kind: EventKind::Prompt, options: &[], timeout: 30 },
            Hook { event: "PostToolUse", kind: EventKind::AfterTool, options: &[], timeout: 30 },
            // The most that it grants at the end of a session.
            Hook { event: "SessionEnd", kind: EventKind::End, options: &[], timeout: 3 },
        ],
        forbidden: &[],
    },
    instructions: Some("AGENTS.md"),
    instructions_variable: None,
    then: Then {
        user: &[
            "Codex runs a hook only after you have reviewed it: start `codex` and answer its question, or open /hooks there.",
        ],
        project: &[
            "Codex runs a project's hooks only where you trust the project and have reviewed them: start `codex` here and answer its two questions.",
        ],
    },
    consent,
};

fn consent(asked: &Asked<'_>) -> Consent {
    let config = consent::toml(&asked.user_folder.join("config.toml"));
    let table = |keys: &[&str]| {
        let top = config.as_ref().map(toml_edit::DocumentMut::as_item);
        keys.iter().fold(top, |item, key| item?.get(key))
    };
    if asked.is_project {
        let is_trusted = |folder: &Path| {
            let level = table(&["projects", folder.to_str()?, "trust_level"])?.as_str()?;
            Some(level == "trusted")
        };
        if consent::folders(asked.root).into_iter().find_map(is_trusted) != Some(true) {
            return Consent::Missing(
                "Codex does not trust this project yet: start `codex` here and say yes when it asks",
            );
        }
    }
    let mut is_reviewed = true;
    for place in places(asked.file) {
        match table(&["hooks", "state", &place]) {
            Some(state) if state.get("enabled").and_then(Item::as_bool) == Some(false) => {
                return Consent::Missing("a hook of dogwatch is switched off in Codex: open /hooks there");
            }
            Some(state) => is_reviewed &= state.get("trusted_hash").is_some(),
            None => is_reviewed = false,
        }
    }
    if is_reviewed {
        Consent::Unknown(
            "you have reviewed it; should it have changed since, Codex skips it, and /hooks says so",
        )
    } else {
        Consent::Missing("Codex skips hooks that you have not reviewed: start `codex`, or open /hooks there")
    }
}

/// Where our handlers stand, as Codex keeps a person's word for them: `<file>:<event>:<group>:<handler>`. Whether the
/// word was for what stands there now only Codex can tell.
fn places(file: &Path) -> Vec<String> {
    let hooks = consent::json(file).unwrap_or_default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut places = Vec::new();
    for (event, groups) in hooks["hooks"].as_object().into_iter().flatten() {
        for (group, value) in list(groups).iter().enumerate() {
            for (handler, value) in list(&value["hooks"]).iter().enumerate() {
                if value["command"].as_str().is_some_and(|command| command.contains(" hook codex ")) {
                    places.push(format!("{}:{}:{group}:{handler}", file.display(), snake_case(event)));
                }
            }
        }
    }
    places
}

fn snake_case(event: &str) -> String {
    let mut text = String::new();
    for (at, letter) in event.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}
