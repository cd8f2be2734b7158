//! Which harness, if any, is among a process's ancestors.
//!
//! A process is taken for a harness by its executable's path, its `argv[0]` and, where it is a script interpreter, the
//! script's path; never by an environment variable, because children inherit those, and never by its other arguments.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::{Harness, TABLE};

/// How many ancestors are looked at to find the session that a hook belongs to.
pub const SESSION_DEPTH: usize = 16;
/// How many ancestors are looked at where it matters that there is no harness at all. A bound only against a source
/// that goes round in circles.
pub const EVERY_DEPTH: usize = 4096;
/// The most bytes that are read of a process's command line or environment.
const PROC_LIMIT_BYTES: u64 = 4 * 1024 * 1024;
/// Where Claude Code tells its children which session they belong to.
const CLAUDE_SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// What is known of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Process {
    /// Its parent's id; 0 where it has none that we can see.
    pub parent: u32,
    /// The id of its terminal session.
    pub session: u32,
    /// Its executable's path. `None` for a process of another user.
    pub executable: Option<PathBuf>,
    /// Its arguments, `argv[0]` first. Empty for a process that has none or has become a zombie.
    pub arguments: Vec<OsString>,
}

/// Where facts on processes come from: the system, or a test's fixture.
pub trait Processes {
    /// What is known of the process with that id; `None` if it cannot be seen.
    fn process(&self, id: u32) -> Option<Process>;

    /// The value of a variable in the environment that the process was started with.
    fn variable(&self, id: u32, name: &str) -> Option<OsString>;
}

/// A harness that was found among the ancestors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ancestor {
    /// Which harness.
    pub harness: &'static Harness,
    /// Its process.
    pub id: u32,
}

/// What a look at the ancestors gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ancestry {
    /// A harness is among them.
    Below(Ancestor),
    /// There is none.
    Clear,
    /// There is a parent, and nothing can be learned of it.
    Unknown,
}

/// The harness that the process `of` belongs to: the innermost one among at most `depth` ancestors. From a Claude Code
/// process the search goes on outward through Claude Code processes that are directly its parents (a launcher and its
/// worker are one session), up to where another session begins.
pub fn find(processes: &impl Processes, of: u32, depth: usize) -> Ancestry {
    let Some(start) = processes.process(of) else { return Ancestry::Unknown };
    let mut id = start.parent;
    for above in 0..depth {
        if id == 0 {
            return Ancestry::Clear;
        }
        let Some(process) = processes.process(id) else {
            return if above == 0 { Ancestry::Unknown } else { Ancestry::Clear };
        };
        if let Some(harness) = recognise(&process) {
            let id =
                if harness.id == "claude" { outermost(processes, id, process, depth - above) } else { id };
            return Ancestry::Below(Ancestor { harness, id });
        }
        id = process.parent;
    }
    Ancestry::Clear
}

/// As [`find`], for this process.
pub fn of_this_process(depth: usize) -> Ancestry {
    find(&System, std::process::id(), depth)
}

/// Programs that stand between a harness and its hook without being either.
const GO_BETWEENS: &[&str] = &[
    "ash", "bash", "busybox", "dash", "env", "fish", "ksh", "mksh", "nice", "nohup", "setsid", "sh",
    "timeout", "zsh",
];

/// Programs that take over the processes whose parent has ended. They started none of these.
const INITS: &[&str] =
    &["catatonit", "docker-init", "dumb-init", "init", "runit", "runsvdir", "s6-svscan", "systemd", "tini"];
/// The inode of the PID namespace that the machine itself begins with (`PROC_PID_INIT_INO`).
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// The nearest ancestor that is no shell and no launcher such as `env` or `timeout`: whoever started a hook whose harness
/// is not recognised, because it is wrapped or renamed. `None` where that one has ended, and an init has taken us over:
/// an init outlives every session.
pub fn starter(processes: &impl Processes, of: u32, depth: usize) -> Option<u32> {
    let mut id = processes.process(of)?.parent;
    for _ in 0..depth {
        let process = processes.process(id).filter(|_| id != 0)?;
        let started_as = process.arguments.first().map(|argument| Path::new(argument.as_os_str()));
        let names = [process.executable.as_deref().map(without_deleted), started_as.map(Path::to_owned)];
        let is_one_of = |known: &[&str]| {
            let mut names = names.iter().flatten().filter_map(|path| path.file_name()?.to_str());
            // A login shell's argv[0] begins with a dash.
            names.any(|name| known.contains(&name.trim_start_matches('-')))
        };
        if is_one_of(INITS) {
            return None;
        }
        if !is_one_of(GO_BETWEENS) {
            return Some(id);
        }
        id = process.parent;
    }
    None
}

/// The ids of this process's ancestors, the innermost first.
pub fn ancestors_of_this_process(depth: usize) -> Vec<u32> {
    let mut id = std::process::id();
    let mut ancestors = Vec::new();
    while let Some(parent) = System.process(id).map(|process| process.parent).filter(|parent| *parent != 0) {
        ancestors.push(parent);
        if ancestors.len() >= depth {
            break;
        }
        id = parent;
    }
    ancestors
}

/// As [`starter`], for this process.
pub fn starter_of_this_process(depth: usize) -> Option<u32> {
    // Of a container, process 1 can be the harness; of the machine, it is an init, whatever it is called.
    let is_machines =
        || fs::metadata("/proc/self/ns/pid").is_ok_and(|data| data.ino() == FIRST_PID_NAMESPACE);
    starter(&System, std::process::id(), depth).filter(|id| *id != 1 || !is_machines())
}

/// The harness that a process is.
pub fn recognise(process: &Process) -> Option<&'static Harness> {
    let executable = process.executable.as_deref().map(without_deleted);
    let started_as = process.arguments.first().map(|argument| Path::new(argument.as_os_str()));
    let is_interpreter = [executable.as_deref(), started_as].into_iter().flatten().any(is_interpreter);
    let script = if is_interpreter { script(&process.arguments) } else { None };
    TABLE.into_iter().find(|harness| {
        [executable.as_deref(), started_as].into_iter().flatten().any(|path| is_program(harness, path))
            || script.is_some_and(|script| is_script(harness, script))
    })
}

fn outermost(processes: &impl Processes, mut id: u32, mut process: Process, depth: usize) -> u32 {
    for _ in 1..depth {
        let parent_id = process.parent;
        let Some(parent) = processes.process(parent_id).filter(|_| parent_id != 0) else { break };
        let same_session = parent.session == process.session
            && processes.variable(parent_id, CLAUDE_SESSION) == processes.variable(id, CLAUDE_SESSION);
        if !same_session || recognise(&parent).is_none_or(|harness| harness.id != "claude") {
            break;
        }
        (id, process) = (parent_id, parent);
    }
    id
}

fn is_program(harness: &Harness, path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    harness.programs.iter().any(|program| is_named(name.as_bytes(), program))
        || harness.versioned.is_some_and(|folder| is_versioned(path, folder))
        || harness.server.is_some_and(|folder| {
            is_interpreter(path) && path.components().any(|component| component.as_os_str() == folder)
        })
}

fn is_script(harness: &Harness, script: &Path) -> bool {
    script.file_name().is_some_and(|name| harness.programs.iter().any(|program| name == *program))
        || harness.packages.iter().any(|package| is_in_package(script, package))
        || harness.versioned.is_some_and(|folder| is_versioned(script, folder))
}

/// The name itself, or as a release file bears it: `grok-1.0.41-linux-x86_64`, `codex-x86_64-unknown-linux-musl`.
fn is_named(name: &[u8], program: &str) -> bool {
    let Some(rest) = name.strip_prefix(program.as_bytes()) else { return false };
    let Some(release) = rest.strip_prefix(b"-") else { return rest.is_empty() };
    let begins = |text: &str| release.starts_with(text.as_bytes());
    release.first().is_some_and(u8::is_ascii_digit)
        || ["x86_64-", "aarch64-", "linux-x64", "linux-arm64", "linux-x86_64", "linux-aarch64"]
            .into_iter()
            .any(begins)
}

/// `…/<folder>/versions/<version>` or a file directly in that. A folder that merely bears such a name, without a
/// version below `versions`, does not count, nor does what lies deeper.
fn is_versioned(path: &Path, folder: &str) -> bool {
    let names: Vec<&[u8]> = path.components().map(|component| component.as_os_str().as_bytes()).collect();
    let is_version = |name: &[u8]| {
        name.first().is_some_and(u8::is_ascii_digit)
            && name.contains(&b'.')
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b".-+_".contains(byte))
    };
    let ends_so = |names: &[&[u8]]| match names {
        [.., parent, b"versions", version] => *parent == folder.as_bytes() && is_version(version),
        _ => false,
    };
    // The version is the program itself (Claude Code) or its folder (Cursor's, which brings its own interpreter).
    ends_so(&names) || (folder != "claude" && names.split_last().is_some_and(|(_, above)| ends_so(above)))
}

fn is_in_package(script: &Path, package: &str) -> bool {
    let wanted: Vec<&OsStr> =
        std::iter::once("node_modules").chain(package.split('/')).map(OsStr::new).collect();
    let names: Vec<&OsStr> = script.components().map(Component::as_os_str).collect();
    names.windows(wanted.len()).any(|window| window == wanted)
}

fn is_interpreter(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return false };
    let version = name
        .strip_prefix("python")
        .map(|version| version.trim_start_matches(['.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']));
    matches!(name, "node" | "nodejs" | "bun") || version == Some("")
}

/// The script that an interpreter runs: its first argument that is no option. `None` where it runs none.
fn script(arguments: &[OsString]) -> Option<&Path> {
    // Those of node, bun and python that take their value as the next argument.
    const WITH_VALUE: [&str; 12] = [
        "-r",
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
        "-C",
        "--conditions",
        "--env-file",
        "--preload",
        "--cwd",
        "-W",
        "-X",
    ];
    // The program is in the arguments itself, or is a module that is searched for.
    const NO_SCRIPT: [&str; 7] = ["-e", "--eval", "-p", "--print", "-c", "-m", "-pe"];
    let mut arguments = arguments.iter().skip(1);
    while let Some(argument) = arguments.next() {
        let Some(text) = argument.to_str() else { return Some(Path::new(argument)) };
        if NO_SCRIPT.contains(&text) {
            return None;
        } else if text == "--" || text == "run" {
            return arguments.next().map(Path::new);
        } else if WITH_VALUE.contains(&text) {
            arguments.next();
        } else if !text.starts_with('-') && !text.is_empty() {
            return Some(Path::new(text));
        }
    }
    None
}

/// Linux says ` (deleted)` behind the path of an executable that an update has replaced while it runs.
fn without_deleted(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    PathBuf::from(OsStr::from_bytes(bytes.strip_suffix(b" (deleted)").unwrap_or(bytes)))
}

/// The processes of this system, as `/proc` shows them (proc(5)).
#[derive(Debug, Clone, Copy)]
pub struct System;

impl Processes for System {
    fn process(&self, id: u32) -> Option<Process> {
        let stat = read(id, "stat")?;
        // The name in parentheses may hold anything, parentheses and blanks included; only the last one ends it.
        let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(&stat[end_of_name + 1..]).ok()?.split_ascii_whitespace();
        let (_state, parent, _group, session) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let mut arguments: Vec<OsString> = split_nul(&read(id, "cmdline").unwrap_or_default());
        // A program that gave itself a title leaves the rest of its arguments as empty ones.
        while arguments.last().is_some_and(|argument| argument.is_empty()) {
            arguments.pop();
        }
        Some(Process {
            parent: parent.parse().ok()?,
            // A session from outside of our PID namespace is told as 0, or as -1 where there is none.
            session: session.parse().unwrap_or(0),
            executable: fs::read_link(format!("/proc/{id}/exe")).ok(),
            arguments,
        })
    }

    fn variable(&self, id: u32, name: &str) -> Option<OsString> {
        let environment = read(id, "environ")?;
        split_nul(&environment).into_iter().find_map(|entry| {
            let value = entry.as_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(OsString::from_vec(value.to_vec()))
        })
    }
}

fn read(id: u32, file: &str) -> Option<Vec<u8>> {
    crate::home::read::bytes(Path::new(&format!("/proc/{id}/{file}")), PROC_LIMIT_BYTES).ok()
}

fn split_nul(bytes: &[u8]) -> Vec<OsString> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_vec())).collect()
}

#[cfg(test)]
mod tests;
