//! `assets/opencode-plugin.js` in `harness-sim/hosts/opencode-host.mjs`: what the tests share, and the plugin's own text.
//!
//! Each test says what a made-up `dogwatch` does, what happens in OpenCode, and looks at what came of it.

mod guard;
mod idle;
mod leave;
mod open;
mod real;
mod told;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{BOUND, Desk, Host, checkout, node, wait_until};

const ASSET: &str = "orchestrator/hook/assets/opencode-plugin.js";

/// A plugin's text in which each of `changes` has taken the place of exactly one piece.
fn changed(changes: &[(&str, &str)]) -> String {
    let mut text = fs::read_to_string(checkout(ASSET)).unwrap();
    for (old, new) in changes {
        assert_eq!(text.matches(old).count(), 1, "{old:?} has to stand once in the plugin");
        text = text.replace(old, new);
    }
    text
}

/// What OpenCode is started with.
struct Setup<'a> {
    /// The made-up `dogwatch`, in POSIX shell; `$3` is the moment. It has read its payload to `$in`.
    script: &'a str,
    /// The program that stands in the plugin, where it is not that script.
    binary: Option<&'a Path>,
    /// Changes in the plugin's text.
    changes: &'a [(&'a str, &'a str)],
    mode: &'a str,
    argv: &'a [&'a str],
    /// How many copies of the plugin are loaded.
    copies: usize,
    /// Another plugin, loaded before ours.
    before: &'a str,
    /// Another plugin, loaded behind our first copy.
    behind: &'a str,
}

const SERVE: Setup<'_> = Setup {
    script: "",
    binary: None,
    changes: &[],
    mode: "serve",
    argv: &[],
    copies: 1,
    before: "",
    behind: "",
};

/// So that they do not end on a busy machine what has been heard of in time.
const LONG_WAITS: &[(&str, &str)] = &[
    ("const OPEN_WAIT_MS = 2_000;", "const OPEN_WAIT_MS = 50_000;"),
    ("const PROMPT_WAIT_MS = 1_000;", "const PROMPT_WAIT_MS = 50_000;"),
];

const NUDGE: &str = "\u{2063}NUDGE";
/// Answers a session open.
const NUDGES: &str = r"if [ $3 = session-open ]; then printf '\342\201\243NUDGE'; fi";

impl Setup<'_> {
    /// `None` where there is no `node`.
    fn start(&self) -> Option<OpenCode> {
        self.start_at(Desk::new())
    }

    fn start_at(&self, desk: Desk) -> Option<OpenCode> {
        let node = node()?;
        let reads = "IFS= read -r in; printf '%s\\n' \"$in\" >> \"$desk/payloads\"";
        let script = desk.script("dogwatch", &format!("{reads}\n{}", self.script));
        let binary = json!(self.binary.unwrap_or(&script)).to_string();
        let line = format!("const BINARY = {binary};");
        let mut changes = vec![("const BINARY = \"dogwatch\";", line.as_str())];
        let is_changed = |old: &str| self.changes.iter().any(|(changed, _)| *changed == old);
        changes.extend(LONG_WAITS.iter().filter(|(old, _)| !is_changed(old)));
        changes.extend(self.changes);
        let ours = changed(&changes);
        let mut texts = vec![ours.as_str(); self.copies];
        texts.insert(1, self.behind);
        texts.insert(0, self.before);
        let mut plugins = Vec::new();
        for (index, text) in texts.into_iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            let path = desk.path(&format!("plugin-{index}.js"));
            fs::write(&path, text).unwrap();
            plugins.push(path);
        }
        let host = host(&desk, &node);
        let mut open_code = OpenCode { host, desk };
        let mut order = json!({ "do": "start", "plugins": plugins, "mode": self.mode });
        if !self.argv.is_empty() {
            order["argv"] = json!(self.argv);
        }
        let lines = open_code.order(&order);
        assert!(lines.iter().all(|line| line.get("error").is_none()), "{lines:?}");
        Some(open_code)
    }
}

/// The host, where a hook that looks for its harness finds OpenCode.
fn host(desk: &Desk, node: &Path) -> Host {
    let folder = desk.path("node_modules/opencode-ai/bin");
    fs::create_dir_all(&folder).unwrap();
    let script = folder.join("opencode.mjs");
    fs::copy(checkout("harness-sim/hosts/opencode-host.mjs"), &script).unwrap();
    fs::copy(checkout("harness-sim/hosts/shared.mjs"), folder.join("shared.mjs")).unwrap();
    let mut command = Command::new(node);
    desk.prepare(command.arg(&script));
    Host::start(desk, &mut command)
}

/// A fake OpenCode that runs.
struct OpenCode {
    // Ends before the desk looks for what is left.
    host: Host,
    desk: Desk,
}

impl OpenCode {
    /// Has a command done; the lines up to its end.
    fn order(&mut self, order: &Value) -> Vec<Value> {
        self.host.order(order);
        self.host.until("done")
    }

    fn session(&mut self, id: &str) {
        self.order(&json!({ "do": "session", "session": id }));
    }

    fn prompt(&mut self, id: &str, text: &str) -> Vec<Value> {
        self.order(&json!({ "do": "prompt", "session": id, "text": text }))
    }

    fn tool(&mut self, id: &str) -> Vec<Value> {
        let input = json!({ "command": "true" });
        self.order(&json!({ "do": "tool", "session": id, "name": "bash", "input": input }))
    }

    /// An event with an id, as it is.
    fn event(&mut self, id: &str, name: &str, session: &str) -> Vec<Value> {
        let event = json!({ "id": id, "type": name, "properties": { "sessionID": session } });
        self.order(&json!({ "do": "event", "event": event }))
    }

    /// What is still said until no run of the binary is under way and nothing follows any more from what they said.
    fn settle(&mut self) -> Vec<Value> {
        let mut lines = Vec::new();
        let until = Instant::now() + BOUND;
        loop {
            assert!(Instant::now() < until, "it does not come to rest: {lines:?}");
            assert!(wait_until(|| !has_children(self.host.pid())), "a run of the binary does not end");
            // Each is a round of the host's event loop: an answer becomes a call, the call a message.
            let mut rounds = Vec::new();
            for _ in 0..4 {
                rounds.extend(self.order(&json!({ "do": "listeners" })));
            }
            rounds.retain(|line| line.get("listeners").is_none() && line["done"] != "listeners");
            if rounds.is_empty() && !has_children(self.host.pid()) {
                return lines;
            }
            lines.extend(rounds);
        }
    }

    /// The moments that the binary was called for.
    fn moments(&self) -> Vec<String> {
        let word = |call: &String| call.split(' ').nth(2).unwrap_or_default().to_owned();
        self.desk.calls().iter().map(word).collect()
    }

    fn count(&self, moment: &str) -> usize {
        self.moments().iter().filter(|word| *word == moment).count()
    }

    fn payloads(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.desk.path("payloads")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until a script has made that file.
    fn wait_for(&self, file: &str) {
        assert!(wait_until(|| self.desk.path(file).exists()), "{file} does not come");
    }
}

/// Whether a process has children, the ended ones that it has not yet noticed included.
fn has_children(pid: i32) -> bool {
    fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1));
        parent.and_then(|parent| parent.parse().ok()) == Some(pid)
    })
}

/// The values of a key, in those lines that have it.
fn all<'a>(lines: &'a [Value], key: &str) -> Vec<&'a Value> {
    lines.iter().filter_map(|line| line.get(key)).collect()
}

/// The texts of the prompts that the plugin sent.
fn sent(lines: &[Value]) -> Vec<&str> {
    all(lines, "prompt_async").iter().map(|call| call["body"]["parts"][0]["text"].as_str().unwrap()).collect()
}

/// The requests of turns.
fn requests(lines: &[Value]) -> Vec<&Value> {
    all(lines, "provider_call").into_iter().filter(|call| call["for"] == "turn").collect()
}

/// Every text of a request.
fn texts(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().unwrap();
    let parts = messages.iter().flat_map(|message| message["content"].as_array().unwrap());
    parts.map(|part| part.as_str().unwrap()).collect()
}

#[test]
fn the_plugins_text_is_what_install_and_open_code_expect() {
    let text = changed(&[]);
    let first = "// dogwatch: OpenCode plugin. Written by `dogwatch install`; edits are lost, `dogwatch uninstall` removes it.";
    assert_eq!(text.lines().next(), Some(first));
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).collect::<Vec<_>>();
    assert_eq!(lines("const BINARY"), ["const BINARY = \"dogwatch\";"]);
    // OpenCode calls every one.
    assert_eq!(lines("export"), ["export const Dogwatch = async ({ client, directory, worktree }) => {"]);
    for import in lines("import") {
        assert!(import.contains("from \"node:"), "{import}");
    }
}

fn plugin_path(open_code: &OpenCode) -> PathBuf {
    open_code.desk.path("plugin-1.js")
}
