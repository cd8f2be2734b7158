//! Whether dogwatch acts in a place at all: one predicate for every moment except the floor.
//!
//! It only looks. The state folder is made by whoever goes on ([`Folder::state_of`](super::state::Folder::state_of)); a
//! home whose state folder cannot be made or written is in scope, so that the digest can say that it only reads. Standing
//! down would say nothing.

use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::read;
use super::root::Root;

/// The name of the file that puts a linked work tree in scope.
pub const MARKER: &str = ".dogwatch-home";
/// The most bytes of a marker's first line.
const MARKER_LIMIT_BYTES: u64 = 1024;

/// What a place is judged by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeRules {
    /// Variables that a gate agent has in its environment.
    pub gate_variables: Vec<String>,
    /// Globs for the real path of a gate agent's git common dir; `*` stands for any characters, `/` included.
    pub gate_common_dirs: Vec<String>,
    /// Paths, from the root, that must be there.
    pub require: Vec<PathBuf>,
}

impl Default for ScopeRules {
    fn default() -> Self {
        ScopeRules {
            gate_variables: vec!["DOGWATCH_GATE".to_owned(), "NO_MISTAKES_GATE".to_owned()],
            gate_common_dirs: vec!["*/.no-mistakes/repos/*.git".to_owned()],
            require: Vec::new(),
        }
    }
}

/// Whether dogwatch acts here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// It does.
    In,
    /// It stands down. Says why, as a fragment.
    Out(&'static str),
}

/// Judges a place. `is_set` says whether a variable is in the environment, be it empty.
pub fn scope(root: &Root, rules: &ScopeRules, is_set: impl Fn(&str) -> bool) -> Scope {
    // The gate first: it wins over a marker.
    if rules.gate_variables.iter().any(|variable| is_set(variable)) {
        return Scope::Out("a gate variable is set");
    }
    if let Some(git) = &root.git {
        let common_dir = git.common_dir.as_os_str().as_bytes();
        if rules.gate_common_dirs.iter().any(|glob| matches(glob.as_bytes(), common_dir)) {
            return Scope::Out("the git common dir is a gate's");
        }
    }
    let Some(home) = root.home() else { return Scope::Out("no home") };
    if !fs::symlink_metadata(home).is_ok_and(|home| home.is_dir()) {
        return Scope::Out("no home");
    }
    if let Some(git) = &root.git
        && git.is_linked()
        && !is_marked(&git.top)
        && !is_marked(&root.path)
    {
        return Scope::Out("a linked work tree without a marker");
    }
    if rules.require.iter().any(|path| fs::metadata(root.path.join(path)).is_err()) {
        return Scope::Out("a path that scope.require names is missing");
    }
    Scope::In
}

/// Whether the folder holds a valid marker: a regular file whose first line, blanks stripped, is a name.
fn is_marked(folder: &Path) -> bool {
    let Ok(file) = read::open_regular(&folder.join(MARKER)) else { return false };
    let mut bytes = Vec::new();
    if file.take(MARKER_LIMIT_BYTES).read_to_end(&mut bytes).is_err() {
        return false;
    }
    // A line that does not end within the limit is longer than any name.
    let is_whole = bytes.contains(&b'\n') || (bytes.len() as u64) < MARKER_LIMIT_BYTES;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    is_whole
        && !line.is_empty()
        && line.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}

/// Whether a glob with `*` matches the whole of a text. Goes back to the last `*` only, so its time is bounded by the
/// product of the two lengths.
fn matches(glob: &[u8], text: &[u8]) -> bool {
    let (mut at, mut in_glob) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match glob.get(in_glob) {
            Some(b'*') => {
                star = Some((in_glob + 1, at));
                in_glob += 1;
            }
            Some(byte) if *byte == text[at] => (at, in_glob) = (at + 1, in_glob + 1),
            _ => {
                let Some((after_star, taken)) = star else { return false };
                star = Some((after_star, taken + 1));
                (at, in_glob) = (taken + 1, after_star);
            }
        }
    }
    glob[in_glob..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests;
