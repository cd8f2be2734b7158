//! What stands in Claude Code's settings. Seen with 2.1.332: hooks in `settings.json`, timeouts in seconds, a group
//! without a matcher is called for every source and tool.

use std::path::Path;

use super::super::consent::{self, Asked, Consent};
use super::super::event::EventKind;
use super::super::registration::{Dialect, Form, Hook, Registration, Shape, Then, UserFolder};

pub(super) static REGISTRATION: Registration = Registration {
    user: UserFolder { variables: &[("CLAUDE_CONFIG_DIR", "")], default: ".claude" },
    user_file: "settings.json",
    project_file: ".claude/settings.json",
    form: Form::Hooks {
        shape: Shape::Nested,
        dialect: Dialect {
            comments: false,
            trailing_commas: false,
            byte_order_mark: true,
            root_keys: None,
            handler_types: None,
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
            Hook { event: "PostToolUseFailure", kind: EventKind::AfterTool, options: &[], timeout: 30 },
            Hook { event: "SessionEnd", kind: EventKind::End, options: &[], timeout: 10 },
        ],
        forbidden: &[],
    },
    instructions: Some("CLAUDE.md"),
    instructions_variable: None,
    then: Then {
        user: &[],
        project: &[
            "Claude Code asks in its terminal program whether you trust the folder; its hooks run after a yes.",
        ],
    },
    consent,
};

fn consent(asked: &Asked<'_>) -> Consent {
    let project = asked.root.join(".claude");
    let files = [
        asked.user_folder.join("settings.json"),
        project.join("settings.json"),
        project.join("settings.local.json"),
    ];
    let is_off = files
        .iter()
        .any(|file| consent::json(file).is_some_and(|settings| settings["disableAllHooks"] == true));
    if is_off {
        return Consent::Missing(
            "disableAllHooks is set in a settings file here, which silences every hook; remove it",
        );
    }
    if !asked.is_project {
        return Consent::Given;
    }
    // Beside the person's folder, or in it where a variable has moved it.
    let beside = asked.home_folder.filter(|home| home.join(".claude") == asked.user_folder);
    let state = consent::json(&beside.unwrap_or(asked.user_folder).join(".claude.json")).unwrap_or_default();
    let is_trusted = |folder: &Path| {
        state["projects"][folder.to_string_lossy().as_ref()]["hasTrustDialogAccepted"] == true
    };
    if consent::folders(asked.root).into_iter().any(is_trusted) {
        Consent::Given
    } else {
        Consent::Unknown(
            "in its terminal program it first asks you to trust the folder; `claude -p` does not ask",
        )
    }
}
