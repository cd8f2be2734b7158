//! A scenario: one agent, a few hooks that are wrong or at a limit, one event, and texts whose way is followed.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use live_e2e::Agent;
use serde_json::{Value, json};

/// One row of an agent's column.
pub(crate) struct Scenario {
    pub(crate) agent: Agent,
    pub(crate) name: &'static str,
    pub(crate) hooks: Hooks,
    /// Whether the project is a repository of git's.
    pub(crate) is_repository: bool,
    /// Whether the model asks for a tool, which leaves the word `tool` in the log.
    pub(crate) calls_tool: bool,
    /// What hooks say, to be looked for where the model is told things.
    pub(crate) texts: Vec<String>,
    /// What is looked for where the user reads.
    pub(crate) user: Option<String>,
    /// No order counts: what happens in it happens beside each other.
    pub(crate) beside: bool,
    /// Why the simulator may say something else, where that is known.
    pub(crate) known: Option<&'static str>,
}

/// What is registered.
pub(crate) enum Hooks {
    /// Commands, at one event.
    Commands(&'static str, Vec<Command>),
    /// Files that are loaded into the agent's process: name and text. `{log}` in it is the path of the log.
    Modules(Vec<(&'static str, String)>),
}

/// A command hook.
#[derive(Clone)]
pub(crate) struct Command {
    pub(crate) matcher: Option<&'static str>,
    /// In seconds.
    pub(crate) timeout: Option<u64>,
    /// The script that is registered again under this number; its own where there is none.
    pub(crate) same_as: Option<usize>,
    pub(crate) program: Program,
    /// The word that it leaves in the log.
    pub(crate) word: &'static str,
    /// Lines of shell before and behind what it prints; `{log}` is the path of the log, `$payload` what it was given.
    pub(crate) before: String,
    pub(crate) after: &'static str,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: u8,
}

/// What the registered program is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// A script that runs.
    Script,
    /// Not there.
    Missing,
    /// A file without the right to be run.
    NotExecutable,
}

/// A hook that prints this and ends well.
pub(crate) fn says(stdout: impl Into<String>) -> Command {
    Command {
        matcher: None,
        timeout: None,
        same_as: None,
        program: Program::Script,
        word: "hook",
        before: String::new(),
        after: "",
        stdout: stdout.into(),
        stderr: String::new(),
        exit: 0,
    }
}

impl Scenario {
    /// Variables of the agent. Codex puts what it cuts into a file there, for everybody and for ever.
    pub(crate) fn environment(&self, project: &Path) -> Vec<(&'static str, String)> {
        if self.agent != Agent::Codex {
            return Vec::new();
        }
        vec![("TMPDIR", project.join("tmp").to_string_lossy().into_owned())]
    }

    /// Writes hooks and registration into a project, with everything that they need, and tells where the log is.
    pub(crate) fn place(&self, project: &Path) -> io::Result<std::path::PathBuf> {
        let log = project.join("log");
        fs::write(&log, "")?;
        fs::create_dir(project.join("tmp"))?;
        if self.is_repository {
            for folder in ["objects", "refs"] {
                fs::create_dir_all(project.join(".git").join(folder))?;
            }
            fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        }
        let filled = |text: &str| text.replace("{log}", &log.to_string_lossy());
        match &self.hooks {
            Hooks::Commands(event, commands) => {
                let mut groups = Vec::new();
                for (number, command) in commands.iter().enumerate() {
                    let number = command.same_as.unwrap_or(number);
                    let script = project.join(format!("hook-{number}.sh"));
                    if command.program != Program::Missing && command.same_as.is_none() {
                        write_script(command, &script, &filled)?;
                    }
                    groups.push(registered(command, &script));
                }
                let mut events = serde_json::Map::new();
                events.insert((*event).to_owned(), Value::Array(groups));
                write(&project.join(commands_file(self.agent)), &json!({"hooks": events}).to_string())?;
            }
            Hooks::Modules(files) => {
                for (name, text) in files {
                    write(&project.join(modules_folder(self.agent)).join(name), &filled(text))?;
                }
            }
        }
        Ok(log)
    }
}

fn registered(command: &Command, script: &Path) -> Value {
    let mut handler = json!({"type": "command", "command": script.to_string_lossy()});
    if let Some(timeout) = command.timeout {
        handler["timeout"] = timeout.into();
    }
    let mut group = json!({"hooks": [handler]});
    if let Some(matcher) = command.matcher {
        group["matcher"] = matcher.into();
    }
    group
}

fn write_script(command: &Command, script: &Path, filled: &dyn Fn(&str) -> String) -> io::Result<()> {
    let beside = |ending: &str| script.with_extension(ending);
    let (stdout, stderr) = (beside("stdout"), beside("stderr"));
    fs::write(&stdout, &command.stdout)?;
    fs::write(&stderr, &command.stderr)?;
    let text = format!(
        "#!/bin/sh\npayload=$(cat)\necho {} >>'{{log}}'\n{}\ncat '{}'\ncat '{}' >&2\n{}\nexit {}\n",
        command.word,
        command.before,
        stdout.display(),
        stderr.display(),
        command.after,
        command.exit
    );
    fs::write(script, filled(&text))?;
    let mode = if command.program == Program::NotExecutable { 0o644 } else { 0o755 };
    fs::set_permissions(script, fs::Permissions::from_mode(mode))
}

fn commands_file(agent: Agent) -> &'static str {
    match agent {
        Agent::Codex => ".codex/hooks.json",
        Agent::Grok => ".grok/hooks/fidelity.json",
        _ => ".claude/settings.json",
    }
}

fn modules_folder(agent: Agent) -> &'static str {
    if agent == Agent::Pi { ".pi/extensions" } else { ".opencode/plugins" }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
