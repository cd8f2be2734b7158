//! Looking at processes: who is below whom, who holds a pipe.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
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
    let Stat { parent, start_time, name } = stat(pid)?;
    let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command_line: Vec<String> = command_line
        .split(|byte| *byte == 0)
        .filter(|argument| !argument.is_empty())
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect();
    let command_line = if command_line.is_empty() { format!("[{name}]") } else { command_line.join(" ") };
    Some(Process { pid, parent, start_time, name, command_line })
}

/// The part of it that is cheap.
struct Stat {
    parent: i32,
    start_time: u64,
    name: String,
}

fn stat(pid: i32) -> Option<Stat> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name stands in brackets and may hold anything, brackets too.
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    let mut fields = stat[close + 1..].split_whitespace();
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    // The 22nd field of the line, and the name is the second.
    let start_time = fields.nth(17)?.parse().ok()?;
    Some(Stat { parent, start_time, name: stat[open + 1..close].to_owned() })
}

/// Whether it is still that very process.
pub(crate) fn is_still(pid: i32, start_time: u64) -> bool {
    stat(pid).is_some_and(|stat| stat.start_time == start_time)
}

/// The list of a process's children, kept open: where the kernel keeps that list (`CONFIG_PROC_CHILDREN`). Exact for a
/// process with one thread, which hosts and supervisors are.
#[derive(Debug)]
pub(crate) struct Children(File);

impl Children {
    pub(crate) fn of(pid: i32) -> Option<Self> {
        File::open(format!("/proc/{pid}/task/{pid}/children")).ok().map(Self)
    }

    /// Who they are now, a zombie too. `None` if there are more than anybody can have who left nothing behind.
    pub(crate) fn few(&self) -> Option<Vec<i32>> {
        let mut buffer = [0; 256];
        let bytes = self.0.read_at(&mut buffer, 0).ok().filter(|bytes| *bytes < buffer.len())?;
        Some(ids(&buffer[..bytes]).collect())
    }
}

fn ids(list: &[u8]) -> impl Iterator<Item = i32> {
    list.split(u8::is_ascii_whitespace).filter_map(|id| std::str::from_utf8(id).ok()?.parse().ok())
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
    let mut found = Vec::new();
    let mut parents = vec![root];
    let mut table = None;
    while let Some(parent) = parents.pop() {
        let children = children(parent).unwrap_or_else(|| {
            let table = table.get_or_insert_with(by_parent);
            table.remove(&parent).unwrap_or_default()
        });
        for process in children.into_iter().filter_map(living) {
            parents.push(process.pid);
            found.push(process);
        }
    }
    found
}

/// The children of all threads of a process; `None` where the kernel keeps no such list.
fn children(pid: i32) -> Option<Vec<i32>> {
    let mut all = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        match fs::read(thread.path().join("children")) {
            Ok(list) => all.extend(ids(&list)),
            // The thread has ended meanwhile, or the list does not exist.
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(all)
}

fn by_parent() -> HashMap<i32, Vec<i32>> {
    let mut table: HashMap<i32, Vec<i32>> = HashMap::new();
    for pid in all() {
        if let Some(stat) = stat(pid) {
            table.entry(stat.parent).or_default().push(pid);
        }
    }
    table
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
        .filter_map(|pid| stat(pid).map(|stat| Holder { pid, name: stat.name }))
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
