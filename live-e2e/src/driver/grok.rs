//! Grok 1.0.41. `--trust` trusts the project.

use std::io;

use super::{Driver, Interactive, Opens, Place, strings, write};

pub(super) struct Grok;

impl Driver for Grok {
    fn prepare(&self, place: &Place) -> io::Result<()> {
        let url = &place.model_url;
        let settings = format!(
            r#"[cli]
auto_update = false
[features]
telemetry = false
remote_fetch = false
[telemetry]
trace_upload = false
[models]
default = "fake"
[model.fake]
model = "fake-1"
base_url = "{url}/v1"
name = "fake"
env_key = "FAKE_KEY"
api_backend = "chat_completions"
context_window = 200000
"#
        );
        write(&place.home.join(".grok/config.toml"), &settings)
    }

    fn environment(&self, _: &Place) -> Vec<(&'static str, String)> {
        vec![("FAKE_KEY", "made-up".to_owned()), ("XAI_API_KEY", "made-up".to_owned())]
    }

    fn headless(&self, _: &Place, opens: Opens, prompt: &str) -> io::Result<Vec<String>> {
        let mut arguments = strings(["--trust", "--always-approve"]);
        arguments.extend(session(opens));
        arguments.extend(["-p".to_owned(), prompt.to_owned()]);
        Ok(arguments)
    }

    fn shell(&self) -> (&'static str, &'static str) {
        ("run_terminal_command", "command")
    }

    fn interactive(&self, opens: Opens) -> Interactive {
        // The full screen is drawn anew all the time.
        let mut arguments = strings(["--trust", "--always-approve", "--minimal"]);
        arguments.extend(session(opens));
        Interactive::Terminal(arguments)
    }
}

fn session(opens: Opens) -> Vec<String> {
    match opens {
        Opens::New => Vec::new(),
        Opens::Continued => strings(["--continue"]),
        Opens::Forked => strings(["--continue", "--fork-session"]),
    }
}
