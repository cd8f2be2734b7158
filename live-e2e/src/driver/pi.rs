//! Pi 1.6.0. `-a` trusts the project; interactive it is spoken to in lines of JSON (`--mode rpc`).

use std::fs;
use std::io;

use serde_json::json;

use super::{Driver, Interactive, Opens, Place, strings, write};

pub(super) struct Pi;

impl Driver for Pi {
    fn prepare(&self, place: &Place) -> io::Result<()> {
        let folder = place.home.join(".pi/agent");
        let model = json!({"id": "fake-1", "contextWindow": 200_000, "maxTokens": 4000});
        let provider = json!({
            "baseUrl": place.model_url, "apiKey": "made-up", "api": "anthropic-messages", "models": [model],
        });
        write(&folder.join("models.json"), &json!({"providers": {"fake": provider}}).to_string())?;
        // Small, so that a short session can be compacted.
        let compaction = json!({"enabled": true, "reserveTokens": 1000, "keepRecentTokens": 1});
        let settings = json!({"defaultProvider": "fake", "defaultModel": "fake-1", "compaction": compaction});
        write(&folder.join("settings.json"), &settings.to_string())
    }

    fn environment(&self, _: &Place) -> Vec<(&'static str, String)> {
        let settings = [("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0"), ("PI_SKIP_VERSION_CHECK", "1")];
        settings.map(|(name, value)| (name, value.to_owned())).to_vec()
    }

    fn headless(&self, place: &Place, opens: Opens, prompt: &str) -> io::Result<Vec<String>> {
        let mut arguments = strings(["-a"]);
        match opens {
            Opens::New => {}
            Opens::Continued => arguments.push("-c".to_owned()),
            Opens::Forked => arguments.extend(["--fork".to_owned(), last_session(place)?]),
        }
        // The prompt is this flag's value.
        arguments.extend(["-p".to_owned(), prompt.to_owned()]);
        Ok(arguments)
    }

    fn shell(&self) -> (&'static str, &'static str) {
        ("bash", "command")
    }

    fn interactive(&self, opens: Opens) -> Interactive {
        let mut arguments = strings(["-a", "--mode", "rpc"]);
        if opens == Opens::Continued {
            arguments.push("-c".to_owned());
        }
        Interactive::Lines(arguments)
    }
}

/// The file of the last session.
fn last_session(place: &Place) -> io::Result<String> {
    let mut found = Vec::new();
    for folder in fs::read_dir(place.home.join(".pi/agent/sessions"))? {
        for file in fs::read_dir(folder?.path())? {
            found.push(file?.path());
        }
    }
    found.sort();
    let last = found.pop().ok_or_else(|| io::Error::other("Pi has kept no session"))?;
    Ok(last.to_string_lossy().into_owned())
}
