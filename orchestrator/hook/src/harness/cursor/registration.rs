//! What stands in Cursor's `hooks.json`. Not run here: documented, or captured by others (2026.07 to 2026.10). A command
//! that holds `://` makes its command line program drop the whole file. Nothing is registered for `preCompact`, which can
//! bring nothing to the model.

use super::super::consent::Consent;
use super::super::event::EventKind;
use super::super::registration::{Dialect, Form, Hook, Registration, Shape, Then, UserFolder};

pub(super) static REGISTRATION: Registration = Registration {
    user: UserFolder { variables: &[], default: ".cursor" },
    user_file: "hooks.json",
    project_file: ".cursor/hooks.json",
    form: Form::Hooks {
        shape: Shape::Flat,
        dialect: Dialect {
            comments: false,
            trailing_commas: false,
            byte_order_mark: false,
            root_keys: None,
            handler_types: None,
        },
        hooks: &[
            Hook {
                event: "sessionStart",
                kind: EventKind::SessionOpen,
                // Its payload does not say why a session opens.
                options: &["--source", "startup", "--limit", "180s"],
                timeout: 180,
            },
            Hook { event: "beforeSubmitPrompt", kind: EventKind::Prompt, options: &[], timeout: 30 },
            Hook { event: "postToolUse", kind: EventKind::AfterTool, options: &[], timeout: 30 },
            Hook { event: "postToolUseFailure", kind: EventKind::AfterTool, options: &[], timeout: 30 },
            Hook { event: "sessionEnd", kind: EventKind::End, options: &[], timeout: 10 },
        ],
        forbidden: &["://"],
    },
    instructions: None,
    instructions_variable: None,
    then: Then {
        user: &[
            "Cursor's command line program refuses a folder that it does not trust; start it there with --trust.",
        ],
        project: &[
            "Cursor runs a project's hooks in a trusted folder only; start its command line program with --trust.",
        ],
    },
    consent: |_| {
        Consent::Unknown(
            "it runs hooks in a trusted folder only; whether this one is trusted cannot be told from here",
        )
    },
};
