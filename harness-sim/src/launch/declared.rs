//! Declared survivors: processes that are meant to outlive their hook, because an identity file says who they are.
//!
//! An identity file is JSON; every object in it that has `pid`, `start_time` and (if it has one) this boot's `boot_id`
//! names a process. The engine's detached runs write such files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::Process;

/// A file of identities is small; what is larger is something else.
const LARGEST_BYTES: u64 = 64 * 1024;

/// In which `/proc/PID/stat` has a start; the kernel shows every program the same, whatever it counts in itself.
const TICKS_PER_SECOND: u64 = 100;

/// Where identity files are looked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Declared {
    /// Folders, of which every file counts.
    pub(crate) folders: Vec<PathBuf>,
    /// Patterns with `*` and `?` within a name, relative to the project.
    pub(crate) patterns: Vec<String>,
    /// How far the clocks are ahead by which those who are named tell their start.
    pub(crate) ahead: Duration,
}

impl Declared {
    /// Everyone who is named now.
    pub(crate) fn identities(&self, project: &Path) -> HashSet<(i32, u64)> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mut named = HashSet::new();
        let of_folders = self.folders.iter().flat_map(|folder| entries(folder));
        let of_patterns = self.patterns.iter().flat_map(|pattern| expand(&project.join(pattern)));
        for file in of_folders.chain(of_patterns) {
            if std::fs::metadata(&file).is_ok_and(|data| data.is_file() && data.len() <= LARGEST_BYTES)
                && let Ok(text) = std::fs::read_to_string(&file)
            {
                // Also one identity a line.
                for value in
                    serde_json::Deserializer::from_str(&text).into_iter::<Value>().map_while(Result::ok)
                {
                    collect(&value, boot.trim(), &mut named);
                }
            }
        }
        let ahead = self.ahead.as_secs() * TICKS_PER_SECOND;
        if ahead > 0 {
            named = named.into_iter().map(|(pid, start)| (pid, start.saturating_sub(ahead))).collect();
        }
        named
    }
}

/// Whether a process, or one above it, is named.
pub(crate) fn is_declared(process: &Process, all: &[Process], named: &HashSet<(i32, u64)>) -> bool {
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

fn collect(value: &Value, boot: &str, named: &mut HashSet<(i32, u64)>) {
    match value {
        Value::Object(map) => {
            let number = |key: &str| map.get(key).and_then(Value::as_u64);
            let same_boot = map.get("boot_id").and_then(Value::as_str).is_none_or(|id| id == boot);
            if let (Some(pid), Some(start), true) = (number("pid"), number("start_time"), same_boot)
                && let Ok(pid) = i32::try_from(pid)
            {
                named.insert((pid, start));
            }
            map.values().for_each(|value| collect(value, boot, named));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, boot, named)),
        _ => {}
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The files that a pattern names. `*` and `?` stand for parts of a single name; `**` is not known.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let name = part.as_os_str().to_string_lossy();
        found = if name.contains(['*', '?']) {
            found
                .iter()
                .flat_map(|folder| entries(folder))
                .filter(|path| path.file_name().is_some_and(|file| fits(&name, &file.to_string_lossy())))
                .collect()
        } else {
            found.into_iter().map(|path| path.join(part)).collect()
        };
    }
    found
}

/// Whether a name fits a pattern of `*`, `?` and letters.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        if p < pattern.len() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*' {
            p += 1;
            n += 1;
        } else if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, n));
            p += 1;
        } else if let Some((at, taken)) = star {
            p = at + 1;
            n = taken + 1;
            star = Some((at, taken + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_a_part_of_a_name() {
        for (pattern, name, does) in [
            ("*.pid", "worker.pid", true),
            ("*.pid", "worker.pids", false),
            ("a*b*c", "a-b-b-c", true),
            ("?", "", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, name), does, "{pattern} {name}");
        }
    }

    #[test]
    fn identities_are_found_wherever_they_stand_and_only_of_this_boot() {
        let mut named = HashSet::new();
        let value = serde_json::json!({
            "supervisor": {"pid": 7, "start_time": 70, "boot_id": "b"},
            "leader": [{"pid": 8, "start_time": 80}],
            "old": {"pid": 9, "start_time": 90, "boot_id": "another"},
        });
        collect(&value, "b", &mut named);
        assert_eq!(named, HashSet::from([(7, 70), (8, 80)]));
    }
}
