//! Pi: extensions in its own process. The events of Pi 1.6.0 as orders to `hosts/pi-host.mjs`.

mod rules;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::hosted::{Hosted, Modules, Play, SHARED, Scene, common, text_of};
use super::{Harness, Place, Rule};
use crate::report::{Effect, Kind};

const HOST: &str = include_str!("../../../hosts/pi-host.mjs");
const PACKAGE: &str = "node_modules/@earendil-works/pi-coding-agent";
const ENDINGS: &[&str] = &["ts", "js"];

/// How the recordings of a start end in which a session goes on that was there before.
const CONTINUED: &[&str] = &["-cli-continue", "-cli-fork", "-cli-session-file", "-cli-session-id"];

pub(crate) struct Pi;

impl Hosted for Pi {
    fn rules(&self) -> &'static [Rule] {
        rules::RULES
    }

    fn modules(&self, place: Place<'_>, variable: &dyn Fn(&str) -> Option<OsString>) -> Modules {
        let mut modules = Modules::default();
        // Handlers of the project come first in every event.
        let project = place.project.join(".pi/extensions");
        if place.trusted {
            extensions(&mut modules, &project);
        } else if project.is_dir() {
            modules.warnings.push(format!(
                "{}: the project is not trusted; its extensions are skipped, silently in print mode",
                project.display()
            ));
        }
        if let Some(home) = place.home {
            let agent = match variable("PI_CODING_AGENT_DIR") {
                None => home.join(".pi/agent"),
                Some(folder) => match folder.to_str().and_then(|path| path.strip_prefix("~/")) {
                    Some(rest) => home.join(rest),
                    None => PathBuf::from(folder),
                },
            };
            extensions(&mut modules, &agent.join("extensions"));
        }
        modules
    }

    fn program(&self, version: &str) -> Vec<(String, String)> {
        let package =
            json!({"name": "@earendil-works/pi-coding-agent", "version": version, "type": "module"});
        vec![
            (format!("{PACKAGE}/dist/bundle/cli.js"), HOST.to_owned()),
            (format!("{PACKAGE}/package.json"), package.to_string()),
            (format!("{PACKAGE}/dist/bundle/shared.mjs"), SHARED.to_owned()),
        ]
    }

    fn arguments(&self, scene: Scene<'_>) -> Vec<String> {
        let words: &[&str] = match mode(scene) {
            "print" => &["-p", "hello"],
            "rpc" => &["--mode", "rpc"],
            "json" => &["--mode", "json"],
            _ => &[],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn play(&self, scene: Scene<'_>) -> Result<Play, String> {
        let event = &scene.payload["event"];
        let reason = event["reason"].as_str().unwrap_or_default();
        let start = json!({
            "do": "start",
            "extensions": scene.files,
            "mode": mode(scene),
            "session": {"id": scene.session},
        });
        let mut before = if scene.begun.process { Vec::new() } else { vec![start.clone()] };
        let mut ends = false;
        let order = match (scene.recording.event.as_str(), reason) {
            ("session_start", "startup")
                if CONTINUED.iter().any(|part| scene.recording.name.ends_with(part)) =>
            {
                return Err("the simulator's host plays no session that was there before".to_owned());
            }
            ("session_start", "startup") => {
                before.clear();
                start
            }
            ("session_start" | "session_shutdown", "reload") => json!({"do": "reload"}),
            ("session_start" | "session_shutdown", "new" | "resume" | "fork") => {
                json!({"do": "replace", "reason": reason})
            }
            ("session_shutdown", _) => {
                ends = true;
                json!({"do": "shutdown"})
            }
            (
                "input"
                | "before_agent_start"
                | "agent_start"
                | "agent_end"
                | "agent_before_settle"
                | "agent_settled",
                _,
            ) => json!({"do": "prompt", "text": event["prompt"].as_str().unwrap_or("hello")}),
            ("tool_call" | "tool_result", _) => json!({
                "do": "tool",
                "name": event["toolName"],
                "input": event["input"],
                "id": event["toolCallId"].as_str().unwrap_or("call_1"),
            }),
            ("session_before_compact" | "session_compact", "threshold") => {
                json!({"do": "compact", "when": "middle"})
            }
            ("session_before_compact" | "session_compact", _) => json!({"do": "compact", "when": "idle"}),
            ("session_compact_failed", _) => json!({"do": "compact", "when": "idle", "fail": true}),
            (other, _) => return Err(format!("the simulator's host does not play {other}")),
        };
        Ok(Play { before, order, ends })
    }

    fn read(&self, _scene: Scene<'_>, lines: &[Value]) -> Vec<Effect> {
        let requests: Vec<String> = lines
            .iter()
            .filter_map(|line| line.get("provider_call"))
            .map(|call| call["messages"].to_string())
            .collect();
        let mut effects = Vec::new();
        for line in lines {
            effects.extend(common(Harness::Pi, line));
            if let Some(message) = line.get("message") {
                let text = text_of(&message["content"]);
                let quoted = Value::from(text.as_str()).to_string();
                let mut effect = Effect::context(text);
                if !requests.iter().any(|request| request.contains(&quoted)) {
                    effect.why = Some("a part of the session; it goes with the next request".to_owned());
                }
                effects.push(effect);
            }
            if let Some(blocked) = line.get("blocked") {
                let why = blocked["reason"].as_str().unwrap_or_default();
                effects.push(Effect::because(Kind::Denied, why));
            }
            if line.get("ran").is_some() {
                effects.push(Effect::new(Kind::Ran));
            }
        }
        effects
    }
}

/// How Pi ran when this was recorded.
fn mode(scene: Scene<'_>) -> &str {
    let recorded = scene.payload["ctx_observed"]["mode"].as_str().unwrap_or_default();
    ["print", "rpc", "json", "tui"].into_iter().find(|mode| *mode == recorded).unwrap_or("print")
}

/// What Pi loads of a folder `extensions`.
fn extensions(modules: &mut Modules, folder: &Path) {
    // Then it is an extension itself, and what is beside is not seen.
    if let Some(entries) = entries_of(folder) {
        modules.looked_at.push(folder.to_owned());
        modules.warnings.push(format!(
            "{}: the folder has an entry of its own; the files beside it are not loaded",
            folder.display()
        ));
        for entry in entries {
            modules.add(entry);
        }
        return;
    }
    let is_seen = |path: &Path| {
        path.file_name()
            .is_some_and(|name| !name.to_string_lossy().starts_with('.') && name != "node_modules")
    };
    let mut found = modules.files_of(folder, ENDINGS);
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    folders.sort();
    found.retain(|path| is_seen(path));
    for inner in folders.iter().filter(|path| is_seen(path)) {
        found.extend(entries_of(inner).unwrap_or_default());
    }
    for path in found {
        modules.add(path);
    }
}

/// What a folder is as an extension: what its `package.json` names, or its index.
fn entries_of(folder: &Path) -> Option<Vec<PathBuf>> {
    let package: Option<Value> = std::fs::read_to_string(folder.join("package.json"))
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok());
    if let Some(named) = package.as_ref().and_then(|package| package["pi"]["extensions"].as_array()) {
        let paths = named.iter().filter_map(Value::as_str).map(|path| folder.join(path));
        return Some(paths.filter(|path| path.is_file()).collect());
    }
    let index =
        ["index.ts", "index.js"].map(|name| folder.join(name)).into_iter().find(|path| path.is_file())?;
    Some(vec![index])
}
