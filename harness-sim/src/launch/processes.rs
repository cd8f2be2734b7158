//! Looking at processes: who is below whom, who holds a pipe.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::Holder;

/// A process, as `/proc` tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) start_time: u64,
    pub(crate) name: String,
    pub(crate) command_line: String,
}

/// What `/proc/<pid>/stat` says. `None` where there is no such process, or only its zombie.
pub(crate) fn living(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything, brackets too.
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    let fields: Vec<&str> = stat[close + 1..].split_whitespace().collect();
    if matches!(*fields.first()?, "Z" | "X" | "x") {
        return None;
    }
    let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let name = stat[open + 1..close].to_owned();
    let command_line: Vec<String> = command_line
        .split(|byte| *byte == 0)
        .filter(|argument| !argument.is_empty())
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        start_time: fields.get(19)?.parse().ok()?,
        command_line: if command_line.is_empty() { format!("[{name}]") } else { command_line.join(" ") },
        name,
    })
}

/// The ids of a process's children, where the kernel keeps that list (`CONFIG_PROC_CHILDREN`). Exact for a process
/// with one thread, which hosts and supervisors are.
pub(crate) fn children(pid: i32) -> Option<Vec<i32>> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    Some(list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

/// The ids of a process's children, those included that have ended and were not noticed yet.
pub(crate) fn children_with_zombies(parent: i32) -> Vec<i32> {
    all()
        .filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
            fields.nth(1).and_then(|id| id.parse().ok()) == Some(parent)
        })
        .collect()
}

/// Everything that lives below a process, without it.
pub(crate) fn below(root: i32) -> Vec<Process> {
    let mut by_parent: HashMap<i32, Vec<Process>> = HashMap::new();
    for pid in all() {
        if let Some(process) = living(pid) {
            by_parent.entry(process.parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for process in by_parent.remove(&parent).unwrap_or_default() {
            parents.push(process.pid);
            found.push(process);
        }
    }
    found
}

/// Who has a pipe open, by the pipe's inode; without ourselves.
pub(crate) fn holders(inode: u64) -> Vec<Holder> {
    let us = nix::unistd::getpid().as_raw();
    let pipe = format!("pipe:[{inode}]");
    all()
        .filter(|pid| *pid != us)
        .filter(|pid| {
            fs::read_dir(format!("/proc/{pid}/fd"))
                .into_iter()
                .flatten()
                .flatten()
                .any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == Path::new(&pipe)))
        })
        .filter_map(|pid| living(pid).map(|process| Holder { pid, name: process.name }))
        .collect()
}

/// Whether a process waits for room in a pipe that is its stdout.
pub(crate) fn waits_to_write(pid: i32, inode: u64) -> bool {
    fs::read_link(format!("/proc/{pid}/fd/1"))
        .is_ok_and(|target| target == Path::new(&format!("pipe:[{inode}]")))
        && fs::read_to_string(format!("/proc/{pid}/wchan")).is_ok_and(|place| place.contains("pipe_write"))
}

/// How often a sleeping process has been switched to so far; `None` for one that does not sleep.
pub(crate) fn switches_in_sleep(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if !field("State:")?.starts_with('S') {
        return None;
    }
    field("voluntary_ctxt_switches:")?.parse().ok()
}

fn all() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
