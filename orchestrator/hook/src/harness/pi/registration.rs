//! The extension that Pi loads. Seen with 1.6.0.

use super::super::consent::{self, Asked, Consent};
use super::super::registration::{Form, Registration, Then, UserFolder};

pub(super) static REGISTRATION: Registration = Registration {
    user: UserFolder { variables: &[("PI_CODING_AGENT_DIR", "")], default: ".pi/agent" },
    user_file: "extensions/dogwatch.js",
    project_file: ".pi/extensions/dogwatch.js",
    form: Form::Shim { program: include_str!("../../../assets/pi-extension.js") },
    instructions: Some("AGENTS.md"),
    instructions_variable: None,
    then: Then {
        user: &[],
        project: &[
            "Pi loads a project's extensions only where you trust the project: say yes when it asks, or start it with -a.",
        ],
    },
    consent,
};

fn consent(asked: &Asked<'_>) -> Consent {
    if !asked.is_project {
        return Consent::Given;
    }
    let trust = consent::json(&asked.user_folder.join("trust.json")).unwrap_or_default();
    let said = asked.root.ancestors().find_map(|folder| trust[folder.to_string_lossy().as_ref()].as_bool());
    let settings = consent::json(&asked.user_folder.join("settings.json")).unwrap_or_default();
    match (said, settings["defaultProjectTrust"].as_str()) {
        (Some(true), _) | (None, Some("always")) => Consent::Given,
        (None, Some("never")) => Consent::Missing(
            "defaultProjectTrust is \"never\" in Pi's settings; start it with -a, or trust this project in it",
        ),
        (Some(false), _) => {
            Consent::Missing("you told Pi not to trust this project; start it with -a, or tell it anew")
        }
        (None, _) => {
            Consent::Missing("Pi does not trust this project yet: say yes when it asks, or start it with -a")
        }
    }
}
