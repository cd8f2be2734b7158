//! The plugin that OpenCode loads. Seen with 1.18.33.

use super::super::consent::Consent;
use super::super::registration::{Form, Registration, Then, UserFolder};

pub(super) static REGISTRATION: Registration = Registration {
    user: UserFolder {
        // OPENCODE_CONFIG_DIR adds a folder and replaces none.
        variables: &[("XDG_CONFIG_HOME", "opencode")],
        default: ".config/opencode",
    },
    user_file: "plugins/dogwatch.js",
    project_file: ".opencode/plugins/dogwatch.js",
    form: Form::Shim { program: include_str!("../../../assets/opencode-plugin.js") },
    instructions: Some("AGENTS.md"),
    instructions_variable: Some("OPENCODE_CONFIG_DIR"),
    then: Then { user: &[], project: &[] },
    consent: |_| Consent::Given,
};
