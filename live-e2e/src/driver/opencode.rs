//! OpenCode 1.18.33. It asks for no trust. Without a registry it would look for its plugin package for a while.

use std::io;

use serde_json::json;

use super::{Driver, Interactive, Opens, Place, strings, write};

pub(super) struct OpenCode;

impl Driver for OpenCode {
    fn prepare(&self, place: &Place) -> io::Result<()> {
        let limit = json!({"context": 200_000, "output": 4000});
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible", "name": "fake",
            "options": {"baseURL": format!("{}/v1", place.model_url), "apiKey": "made-up"},
            "models": {"fake-1": {"name": "fake", "limit": limit, "tool_call": true}},
        });
        let settings = json!({
            "model": "fake/fake-1", "small_model": "fake/fake-1", "autoupdate": false, "permission": "allow",
            "enabled_providers": ["fake"], "provider": {"fake": provider},
        });
        write(&place.home.join(".config/opencode/opencode.json"), &settings.to_string())
    }

    fn environment(&self, _: &Place) -> Vec<(&'static str, String)> {
        let off = [
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
            "OPENCODE_DISABLE_SHARE",
        ];
        let off = off.into_iter().map(|name| (name, "1".to_owned()));
        off.chain([("npm_config_fetch_retries", "0".to_owned())]).collect()
    }

    fn headless(&self, _: &Place, opens: Opens, prompt: &str) -> io::Result<Vec<String>> {
        let mut arguments = strings(["run"]);
        arguments.extend(session(opens));
        // Word by word: a word with a blank in it would be put in quotes, and those inside it escaped.
        arguments.push("--".to_owned());
        arguments.extend(prompt.split(' ').map(str::to_owned));
        Ok(arguments)
    }

    fn shell(&self) -> (&'static str, &'static str) {
        ("bash", "command")
    }

    fn interactive(&self, opens: Opens) -> Interactive {
        Interactive::Terminal(session(opens))
    }
}

fn session(opens: Opens) -> Vec<String> {
    match opens {
        Opens::New => Vec::new(),
        Opens::Continued => strings(["--continue"]),
        Opens::Forked => strings(["--continue", "--fork"]),
    }
}
