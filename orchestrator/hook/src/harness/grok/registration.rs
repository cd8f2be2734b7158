//! What stands in a file of ours in Grok's `hooks` folder. Seen with 1.0.41: every `*.json` there is read, timeouts are
//! in seconds (5 without one), a matcher of a session start matches nothing that it sends.

use std::path::Path;

use super::super::consent::{self, Asked, Consent};
use super::super::event::EventKind;
use super::super::registration::{Dialect, Form, Hook, Registration, Shape, Then, UserFolder};

pub(super) static REGISTRATION: Registration = Registration {
    user: UserFolder { variables: &[("GROK_HOME", "")], default: ".grok" },
    user_file: "hooks/dogwatch.json",
    project_file: ".grok/hooks/dogwatch.json",
    form: Form::Hooks {
        shape: Shape::Nested,
        dialect: Dialect {
            comments: false,
            trailing_commas: false,
            byte_order_mark: false,
            root_keys: None,
            handler_types: None,
        },
        hooks: &[
            // It shows nothing of the answer to its model; the mark for the later nudge is quick.
            Hook { event: "SessionStart", kind: EventKind::SessionOpen, options: &[], timeout: 30 },
            Hook { event: "UserPromptSubmit", kind: EventKind::Prompt, options: &[], timeout: 30 },
            Hook { event: "PostToolUse", kind: EventKind::AfterTool, options: &[], timeout: 30 },
            Hook { event: "SessionEnd", kind: EventKind::End, options: &[], timeout: 10 },
        ],
        forbidden: &["$"],
    },
    instructions: Some("AGENTS.md"),
    instructions_variable: None,
    then: Then {
        user: &[],
        project: &[
            "Grok runs a project's hooks only where you trust the folder: start it there with --trust once.",
        ],
    },
    consent,
};

fn consent(asked: &Asked<'_>) -> Consent {
    if !asked.is_project {
        return Consent::Given;
    }
    let trusted = consent::toml(&asked.user_folder.join("trusted_folders.toml"));
    let is_trusted = |folder: &Path| {
        let folders = trusted.as_ref()?.get("folders")?;
        folders.get(folder.to_str()?)?.get("trusted")?.as_bool()
    };
    let config = consent::toml(&asked.user_folder.join("config.toml"));
    let asks = config.as_ref().and_then(|config| config.get("folder_trust")?.get("enabled")?.as_bool());
    if asks == Some(false) || consent::folders(asked.root).into_iter().find_map(is_trusted) == Some(true) {
        Consent::Given
    } else {
        Consent::Missing("Grok does not trust this folder yet: start it there with --trust once")
    }
}
