//! OpenCode: plugins in its own process. The events and hooks of OpenCode 1.18.33 as orders to `hosts/opencode-host.mjs`.

mod rules;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::hosted::{Hosted, Modules, Play, SHARED, Scene, common, text_of};
use super::{Harness, Place, Rule};
use crate::report::{Effect, Kind};

const HOST: &str = include_str!("../../../hosts/opencode-host.mjs");
const ENDINGS: &[&str] = &["ts", "js"];
/// What the host's requests have for a system prompt, beside what plugins add.
const SYSTEM: &str = "SYSTEM";
const PROMPT: &str = "hello";

pub(crate) struct OpenCode;

impl Hosted for OpenCode {
    fn rules(&self) -> &'static [Rule] {
        rules::RULES
    }

    fn modules(&self, place: Place<'_>, variable: &dyn Fn(&str) -> Option<OsString>) -> Modules {
        let mut modules = Modules::default();
        let mut folders = Vec::new();
        if let Some(home) = place.home {
            let config = variable("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
            folders.push(config.join("opencode"));
        }
        if variable("OPENCODE_DISABLE_PROJECT_CONFIG").is_none() {
            let top = worktree(place.project);
            let above = place.project.ancestors().take_while(|folder| folder.starts_with(&top));
            folders.extend(above.map(|folder| folder.join(".opencode")));
        }
        folders.extend(place.home.map(|home| home.join(".opencode")));
        folders.extend(variable("OPENCODE_CONFIG_DIR").map(PathBuf::from));
        for folder in folders {
            for name in ["plugin", "plugins"] {
                for file in modules.files_of(&folder.join(name), ENDINGS) {
                    modules.add(file);
                }
            }
        }
        modules
    }

    fn program(&self, _version: &str) -> Vec<(String, String)> {
        vec![
            ("node_modules/opencode-ai/bin/opencode.mjs".to_owned(), HOST.to_owned()),
            ("node_modules/opencode-ai/bin/shared.mjs".to_owned(), SHARED.to_owned()),
        ]
    }

    fn arguments(&self, _scene: Scene<'_>) -> Vec<String> {
        Vec::new()
    }

    fn play(&self, scene: Scene<'_>) -> Result<Play, String> {
        let session = scene.session;
        let start = json!({
            "do": "start",
            "plugins": scene.files,
            "mode": mode(scene),
            "directory": scene.project,
            "worktree": worktree(scene.project),
        });
        let created = json!({"do": "session", "session": session});
        let mut before = Vec::new();
        if !scene.begun.process {
            before.push(start.clone());
        }
        if !scene.begun.session {
            before.push(created.clone());
        }
        let own = scene.payload;
        let mut ends = false;
        let order = match scene.recording.event.as_str() {
            "plugin" | "hook.config" => {
                before.clear();
                start
            }
            "event.session.created" => {
                before.retain(|order| order["do"] == "start");
                created
            }
            "hook.chat.message"
            | "hook.chat.params"
            | "hook.chat.headers"
            | "hook.experimental.chat.system.transform"
            | "event.session.idle" => json!({"do": "prompt", "session": session, "text": PROMPT}),
            "hook.tool.execute.before" | "hook.tool.execute.after" => {
                let args = [&own["output_before_plugin_mutation"]["args"], &own["input"]["args"]];
                let args =
                    args.into_iter().find(|args| !args.is_null()).cloned().unwrap_or_else(|| json!({}));
                json!({
                    "do": "tool",
                    "session": session,
                    "name": own["input"]["tool"],
                    "input": args,
                    "id": own["input"]["callID"].as_str().unwrap_or("call_1"),
                })
            }
            "hook.experimental.session.compacting" | "event.session.compacted" => {
                json!({"do": "compact", "session": session})
            }
            "hook.dispose" => {
                ends = true;
                json!({"do": "dispose"})
            }
            name if name.starts_with("event.") => {
                let mut event = own["event"].clone();
                if event["properties"]["sessionID"].is_string() {
                    event["properties"]["sessionID"] = json!(session);
                }
                json!({"do": "event", "event": event})
            }
            other => return Err(format!("the simulator's host does not play {other}")),
        };
        Ok(Play { before, order, ends })
    }

    fn read(&self, _scene: Scene<'_>, lines: &[Value]) -> Vec<Effect> {
        let requests: Vec<&Value> = lines
            .iter()
            .filter_map(|line| line.get("provider_call"))
            .filter(|call| call["for"] == "turn")
            .collect();
        let mut effects = Vec::new();
        let mut system: Vec<String> = Vec::new();
        for line in lines {
            effects.extend(common(Harness::OpenCode, line));
            if let Some(message) = line.get("message") {
                for text in message["texts"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    // The person's own prompt is not a plugin's doing.
                    if text == PROMPT {
                        continue;
                    }
                    let mut effect = Effect::context(text);
                    let is_sent = |call: &&Value| {
                        let messages = call["messages"].as_array().into_iter().flatten();
                        messages.into_iter().any(|message| text_of(&message["content"]).contains(text))
                    };
                    if !requests.iter().any(is_sent) {
                        effect.why = Some("a part of the session; it goes with the next request".to_owned());
                    }
                    effects.push(effect);
                }
            }
            if let Some(call) = line.get("provider_call").filter(|call| call["for"] == "turn") {
                for text in call["system"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if text != SYSTEM && !system.iter().any(|known| known == text) {
                        system.push(text.to_owned());
                        let why = "a system message of the request".to_owned();
                        effects.push(Effect { why: Some(why), ..Effect::context(text) });
                    }
                }
            }
            if line.get("dangling").is_some() {
                effects.push(Effect::ignored(
                    "the prompt came when `opencode run` was leaving: no request follows",
                    0,
                ));
            }
            if let Some(blocked) = line.get("blocked") {
                effects.push(Effect::because(Kind::Denied, blocked["reason"].as_str().unwrap_or_default()));
            }
            if line.get("ran").is_some() {
                effects.push(Effect::new(Kind::Ran));
            }
            if let Some(text) = line.get("tool_result").and_then(Value::as_str) {
                let why = "a handler threw; its words stand in the place of the tool's result".to_owned();
                effects.push(Effect { why: Some(why), ..Effect::context(text) });
            }
        }
        effects
    }
}

/// How OpenCode ran when this was recorded; where that was not noted, as most people run it.
fn mode(scene: Scene<'_>) -> &str {
    let recorded = scene.recording.provenance.mode.as_str();
    ["run", "serve", "tui"].into_iter().find(|mode| *mode == recorded).unwrap_or("tui")
}

/// The top of the repository that a folder is in, or the folder.
fn worktree(folder: &Path) -> PathBuf {
    folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder).to_owned()
}
