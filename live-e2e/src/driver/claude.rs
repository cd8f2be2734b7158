//! Claude Code 2.1.332. `-p` asks for no trust; the terminal program does, and for a theme and the key.

use std::io;

use serde_json::json;

use super::{Driver, Interactive, KEY, Opens, Place, strings, write};

pub(super) struct Claude;

impl Driver for Claude {
    fn prepare(&self, place: &Place) -> io::Result<()> {
        // It knows a key again by its last 20 characters.
        let approved = &KEY[KEY.len() - 20..];
        let mut projects = json!({});
        projects[place.project.to_string_lossy().as_ref()] =
            json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
        let state = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "projects": projects,
            "customApiKeyResponses": {"approved": [approved], "rejected": []},
        });
        write(&place.home.join(".claude.json"), &state.to_string())
    }

    fn environment(&self, place: &Place) -> Vec<(&'static str, String)> {
        let on = |name| (name, "1".to_owned());
        vec![
            ("ANTHROPIC_BASE_URL", place.model_url.clone()),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            on("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"),
            on("DISABLE_AUTOUPDATER"),
            on("DISABLE_TELEMETRY"),
            on("DISABLE_ERROR_REPORTING"),
            // Root may let it use its tools only where it believes itself in a sandbox.
            on("IS_SANDBOX"),
        ]
    }

    fn headless(&self, _: &Place, opens: Opens, prompt: &str) -> io::Result<Vec<String>> {
        let mut arguments = strings(["-p", "--permission-mode", "bypassPermissions"]);
        arguments.extend(session(opens));
        arguments.push(prompt.to_owned());
        Ok(arguments)
    }

    fn shell(&self) -> (&'static str, &'static str) {
        ("Bash", "command")
    }

    fn interactive(&self, opens: Opens) -> Interactive {
        Interactive::Terminal(session(opens))
    }
}

fn session(opens: Opens) -> Vec<String> {
    match opens {
        Opens::New => Vec::new(),
        Opens::Continued => strings(["--continue"]),
        Opens::Forked => strings(["--continue", "--fork-session"]),
    }
}
