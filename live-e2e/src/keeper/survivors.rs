//! Who is still there when a CLI has ended: everybody below the engine's supervisor, to whom orphans come.
//!
//! Somebody is declared who is named in an identity file: JSON in which an object has `pid` and `start_time`, as the
//! engine's detached runs write it. So is who was started by them.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LINGER;

/// How often it is looked: the end of a process that is nobody's child gives no sign.
const LOOK: Duration = Duration::from_millis(20);

/// A process that outlived the CLI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// Its process id.
    pub pid: i32,
    /// Its command line, or its name where it has none.
    pub command: String,
    /// Whether an identity file names it, or somebody above it.
    pub declared: bool,
    /// Whether it ended by itself while it was waited for.
    pub ended: bool,
}

/// A living process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Process {
    pid: i32,
    parent: i32,
    start_time: u64,
    name: String,
}

/// Waits for those who were declared, at most so long, and a moment for the others; whoever was there longer than that
/// moment, and whether they have ended.
pub(super) fn after_the_end(declared: &[PathBuf], patience: Duration) -> Vec<Survivor> {
    let begun = Instant::now();
    let mut outlived: Vec<(Process, String)> = Vec::new();
    // Who was ever named stays so: the file may go with the one it names.
    let mut named = HashSet::new();
    let mut kin: HashSet<(i32, u64)> = HashSet::new();
    loop {
        let now = below_supervisor();
        named.extend(identities(declared));
        for process in &now {
            if is_declared(process, &now, &named) {
                kin.insert((process.pid, process.start_time));
            }
        }
        let (of_kin, others): (Vec<&Process>, Vec<&Process>) =
            now.iter().partition(|process| kin.contains(&(process.pid, process.start_time)));
        let lingers = !others.is_empty() && begun.elapsed() < LINGER;
        for process in &of_kin {
            remember(&mut outlived, process);
        }
        if lingers || (!of_kin.is_empty() && begun.elapsed() < patience) {
            std::thread::sleep(LOOK);
            continue;
        }
        for process in others {
            remember(&mut outlived, process);
        }
        let is_there = |process: &Process| now.iter().any(|other| is_same(other, process));
        let survivor = |(process, command): (Process, String)| Survivor {
            pid: process.pid,
            command,
            declared: kin.contains(&(process.pid, process.start_time)),
            ended: !is_there(&process),
        };
        return outlived.into_iter().map(survivor).collect();
    }
}

fn remember(outlived: &mut Vec<(Process, String)>, process: &Process) {
    if !outlived.iter().any(|(known, _)| is_same(known, process)) {
        outlived.push((process.clone(), command_line(process)));
    }
}

fn is_same(one: &Process, other: &Process) -> bool {
    (one.pid, one.start_time) == (other.pid, other.start_time)
}

fn command_line(process: &Process) -> String {
    let words = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    let words: Vec<_> = words.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return format!("[{}]", process.name);
    }
    words.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ")
}

/// Everybody below the supervisor, without this process.
fn below_supervisor() -> Vec<Process> {
    let (own, supervisor) = (nix::unistd::getpid().as_raw(), nix::unistd::getppid().as_raw());
    let all: Vec<Process> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| living(entry.file_name().to_str()?.parse().ok()?))
        .collect();
    let mut below = vec![supervisor];
    let mut at = 0;
    while let Some(parent) = below.get(at).copied() {
        below.extend(all.iter().filter(|process| process.parent == parent).map(|process| process.pid));
        at += 1;
    }
    all.into_iter().filter(|process| below[1..].contains(&process.pid) && process.pid != own).collect()
}

/// What `/proc/<pid>/stat` says; `None` where there is only a zombie, or nothing.
fn living(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name stands in brackets and may hold anything, brackets too.
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    let mut fields = stat[close + 1..].split_whitespace();
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    // The 22nd field of the line; the fourth has been taken.
    let start_time = fields.nth(17)?.parse().ok()?;
    Some(Process { pid, parent, start_time, name: stat[open + 1..close].to_owned() })
}

fn is_declared(process: &Process, all: &[Process], named: &HashSet<(i32, u64)>) -> bool {
    let mut at = Some(process);
    // As many steps as there are processes, should the table be torn and go round in circles.
    for _ in 0..=all.len() {
        let Some(process) = at else { return false };
        if named.contains(&(process.pid, process.start_time)) {
            return true;
        }
        at = all.iter().find(|other| other.pid == process.parent);
    }
    false
}

fn identities(files: &[PathBuf]) -> HashSet<(i32, u64)> {
    let mut named = HashSet::new();
    for file in files {
        if let Some(value) = fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            collect(&value, &mut named);
        }
    }
    named
}

fn collect(value: &Value, named: &mut HashSet<(i32, u64)>) {
    match value {
        Value::Object(map) => {
            let number = |key: &str| map.get(key).and_then(Value::as_u64);
            if let (Some(pid), Some(start_time)) = (number("pid"), number("start_time"))
                && let Ok(pid) = i32::try_from(pid)
            {
                named.insert((pid, start_time));
            }
            map.values().for_each(|value| collect(value, named));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, named)),
        _ => {}
    }
}
