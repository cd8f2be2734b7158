//! Whether a person has allowed a harness to run what is registered, as far as the harness's own files tell. Only looks;
//! what cannot be read tells nothing.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::home::root::GitPlace;

/// The most bytes that are read of a harness's file.
const LIMIT_BYTES: u64 = 16 * 1024 * 1024;

/// What a look at a person's consent goes by.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Whether it is the project's registration, rather than the person's own.
    pub is_project: bool,
    /// Where the harness keeps a person's files.
    pub user_folder: &'a Path,
    /// The person's home folder.
    pub home_folder: Option<&'a Path>,
    /// The project's root.
    pub root: &'a Path,
    /// The file of the registration.
    pub file: &'a Path,
}

/// Whether a person has allowed a harness to run what is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// It runs it.
    Given,
    /// It does not: why, and what to do.
    Missing(&'static str),
    /// Its files do not tell: what it wants.
    Unknown(&'static str),
}

/// The folders whose trust covers a project: its root and those above it, up to the top of the git checkout, if it is in
/// one.
pub(super) fn folders(root: &Path) -> Vec<&Path> {
    let top = GitPlace::find(root).map(|git| git.top);
    let mut folders = Vec::new();
    for folder in root.ancestors() {
        folders.push(folder);
        if top.as_deref() == Some(folder) {
            break;
        }
    }
    folders
}

/// A JSON file of a harness's.
pub(super) fn json(path: &Path) -> Option<Value> {
    let text = text(path)?;
    serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(&text)).ok()
}

/// A TOML file of a harness's.
pub(super) fn toml(path: &Path) -> Option<toml_edit::DocumentMut> {
    text(path)?.parse().ok()
}

fn text(path: &Path) -> Option<String> {
    // A FIFO would wait for a writer.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(LIMIT_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}
