//! `assets/pi-extension.js` in `harness-sim/hosts/pi-host.mjs`, which plays Pi.

mod calls;
mod compactions;
mod deliveries;
mod ends;
mod real;
mod starts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Desk, Host, checkout, node, wait_until};

/// How an operational message that opens a session begins.
const PROVENANCE: &str = "\u{2063}DOGWATCH_OP: v1 session-start: ";
/// Older than any process of the tests.
const LONG_AGO: &str = "2020-01-01T00:00:00.000Z";

/// What the model is told where it has to run the digest itself.
fn instruction(program: &str) -> String {
    format!("{PROVENANCE}Run `{program} open` now, exactly once, before executing any other instructions.")
}

/// The extension as it is installed, with lines of its own replaced.
struct Extension {
    text: String,
}

impl Extension {
    fn calling(binary: &str) -> Extension {
        let text = fs::read_to_string(checkout("orchestrator/hook/assets/pi-extension.js")).unwrap();
        let extension = Extension { text };
        extension.with("const BINARY = \"dogwatch\";", &format!("const BINARY = {};", json!(binary)))
    }

    fn with(self, line: &str, other: &str) -> Extension {
        let is_one = self.text.lines().filter(|candidate| *candidate == line).count() == 1;
        assert!(is_one, "{line:?} is no line of the extension");
        let lines = self.text.lines().map(|candidate| if candidate == line { other } else { candidate });
        Extension { text: lines.collect::<Vec<_>>().join("\n") + "\n" }
    }

    /// At an end it waits for a machine that is busy.
    fn patient(self) -> Extension {
        self.with("const END_BOUND_MS = 2_000;", "const END_BOUND_MS = 50_000;")
            .with("const SHUTDOWN_MS = 3_800;", "const SHUTDOWN_MS = 55_000;")
    }

    fn write(&self, desk: &Desk, name: &str) -> PathBuf {
        fs::write(desk.path(name), &self.text).unwrap();
        desk.path(name)
    }
}

/// A running fake Pi. It is gone before its desk is.
struct Pi {
    host: Host,
    extensions: Vec<PathBuf>,
}

impl Pi {
    /// Pi 1.6.0 with the extension, which calls that program; `None` without node.
    fn new(desk: &Desk, program: &Path) -> Option<Pi> {
        Pi::of_version(desk, "1.6.0", program)
    }

    /// The same with the extension's own bounds, where the time that they leave is what a test is about.
    fn as_installed(desk: &Desk, program: &Path) -> Option<Pi> {
        let extension = Extension::calling(program.to_str().unwrap()).write(desk, "dogwatch.js");
        Pi::with(desk, "1.6.0", &[], vec![extension])
    }

    /// 0.73.1 replaces a session while a handler of it is still under way; 1.6.0 waits.
    fn of_version(desk: &Desk, version: &str, program: &Path) -> Option<Pi> {
        let extension = Extension::calling(program.to_str().unwrap()).patient().write(desk, "dogwatch.js");
        Pi::with(desk, version, &[], vec![extension])
    }

    fn with(desk: &Desk, version: &str, flags: &[&str], extensions: Vec<PathBuf>) -> Option<Pi> {
        let node = node()?;
        let package = desk.path("node_modules/@earendil-works/pi-coding-agent");
        fs::create_dir_all(package.join("dist/bundle")).unwrap();
        let about = json!({"name": "@earendil-works/pi-coding-agent", "version": version, "type": "module"});
        fs::write(package.join("package.json"), about.to_string()).unwrap();
        let main = package.join("dist/bundle/cli.js");
        fs::copy(checkout("harness-sim/hosts/pi-host.mjs"), &main).unwrap();
        fs::copy(checkout("harness-sim/hosts/shared.mjs"), package.join("dist/bundle/shared.mjs")).unwrap();
        let mut command = Command::new(node);
        desk.prepare(command.arg(main).args(flags));
        Some(Pi { host: Host::start(desk, &mut command), extensions })
    }

    /// Gives a command and waits until it is done; what happened meanwhile.
    fn does(&mut self, command: &Value) -> Seen {
        self.begins(command);
        self.finishes(command["do"].as_str().unwrap())
    }

    fn begins(&mut self, command: &Value) {
        self.host.order(command);
    }

    fn finishes(&mut self, name: &str) -> Seen {
        let mut lines = Vec::new();
        loop {
            lines.extend(self.host.until("done"));
            if lines.last().unwrap()["done"] == name {
                let seen = Seen(lines);
                assert_eq!(seen.all("crash"), [] as [&Value; 0]);
                return seen;
            }
        }
    }

    /// A start as Pi calls it, of a session that was created just now.
    fn starts(&mut self) -> Seen {
        self.starts_with(&json!({}))
    }

    fn starts_with(&mut self, session: &Value) -> Seen {
        let order = json!({"do": "start", "extensions": self.extensions, "session": session});
        self.does(&order)
    }

    fn is_asked(&mut self, text: &str) -> Seen {
        self.does(&json!({"do": "prompt", "text": text}))
    }

    fn is_replaced(&mut self, reason: &str) -> Seen {
        self.does(&json!({"do": "replace", "reason": reason}))
    }

    fn compacts(&mut self, when: &str) -> Seen {
        self.does(&json!({"do": "compact", "when": when}))
    }

    /// Has it answer so often that what is on its way has had its time; what it said meanwhile.
    fn lets_time_pass(&mut self) -> Seen {
        let mut lines = Vec::new();
        for _ in 0..100 {
            lines.extend(self.does(&json!({"do": "listeners"})).0);
        }
        Seen(lines)
    }

    /// Quits, and waits for its end; how long the quitting took, in milliseconds.
    fn quits(mut self) -> u64 {
        let seen = self.does(&json!({"do": "shutdown"}));
        let milliseconds = seen.0.last().unwrap()["milliseconds"].as_u64().unwrap();
        assert_eq!(self.host.end().code(), Some(0));
        milliseconds
    }
}

/// What a fake Pi has told.
#[derive(Debug)]
struct Seen(Vec<Value>);

impl Seen {
    fn all(&self, key: &str) -> Vec<&Value> {
        self.0.iter().filter_map(|line| line.get(key)).collect()
    }

    /// Where in it a line with that key stands for the first time.
    fn at(&self, key: &str) -> usize {
        self.0.iter().position(|line| line.get(key).is_some()).unwrap_or_else(|| panic!("{key}: {self:?}"))
    }

    /// What became a part of a session.
    fn messages(&self) -> Vec<&str> {
        self.all("message").iter().map(|message| message["content"].as_str().unwrap()).collect()
    }

    /// What the model was sent in the only request.
    fn request(&self) -> Vec<&str> {
        let [call] = self.all("provider_call")[..] else { panic!("{self:?}") };
        call["messages"].as_array().unwrap().iter().map(|part| part["content"].as_str().unwrap()).collect()
    }
}

/// The payloads of a moment, which a program keeps by [`KEEP`].
fn payloads(desk: &Desk, moment: &str) -> Vec<Value> {
    let text = fs::read_to_string(desk.path(&format!("{moment}.jsonl"))).unwrap_or_default();
    // Its last line may be about to be written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits until a moment has had so many calls, whose payloads are kept.
fn wait_for(desk: &Desk, moment: &str, count: usize) -> Vec<Value> {
    assert!(wait_until(|| payloads(desk, moment).len() >= count), "{moment}: {:?}", payloads(desk, moment));
    payloads(desk, moment)
}

/// Waits until a script has made a file.
fn wait_for_file(desk: &Desk, name: &str) -> String {
    assert!(wait_until(|| desk.path(name).exists()), "no {name}");
    fs::read_to_string(desk.path(name)).unwrap()
}

/// Begins a script: keeps the payload and goes by the moment, `$3`.
const KEEP: &str =
    "cat > \"$desk/said-$$\"; echo >> \"$desk/said-$$\"; cat \"$desk/said-$$\" >> \"$desk/$3.jsonl\"\n";

/// How often each moment was called.
fn count(desk: &Desk, moment: &str) -> usize {
    desk.calls().iter().filter(|call| call.split(' ').nth(2) == Some(moment)).count()
}
