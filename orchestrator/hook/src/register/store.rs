//! What dogwatch remembers of its registrations, in `installed/` of its own folder, and the backups of what it edited, in
//! `backups/`.
//!
//! A record holds what a file was before, so that `uninstall` gives it back byte for byte as long as nobody else has
//! edited it since. It is written before the file is: a record that says more than happened does no harm.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::json::Made;
use crate::config::sha256;
use crate::home::state::{Folder, Lock, StateError};
use crate::home::trust::hex;

const RECORDS: &str = "installed";
const BACKUPS: &str = "backups";
const LIMIT_BYTES: u64 = 32 * 1024 * 1024;
/// How long another `install` may take.
const LOCK_BOUND: Duration = Duration::from_secs(10);
/// How many digits of a hash tell one path from another.
const KEY_DIGITS: usize = 16;

/// What is kept of one file that was edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The form of the record.
    pub version: u32,
    /// The file, for a person who looks.
    pub path: String,
    /// Whether there was a file before.
    pub existed: bool,
    /// The SHA-256 of what was written last.
    pub after: String,
    /// The SHA-256 of what was written before that: a kill may have come between this record and the write.
    #[serde(default)]
    pub earlier: Option<String>,
    /// How many of the folders above it were made for it.
    #[serde(default)]
    pub folders: usize,
    /// What of the file's structure is ours.
    #[serde(default)]
    pub made: Option<Made>,
}

/// A record with the content that the file had before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The record.
    pub record: Record,
    /// What the file held before; `None` where there was none.
    pub before: Option<Vec<u8>>,
}

impl Kept {
    /// Whether this is what was written last.
    pub fn is_as_written(&self, content: &[u8]) -> bool {
        let digest = digest(content);
        self.record.after == digest || self.record.earlier.as_ref() == Some(&digest)
    }
}

/// The SHA-256 of a content, in hex.
pub(super) fn digest(content: &[u8]) -> String {
    hex(&sha256(content))
}

/// The records and the backups.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Those in dogwatch's own folder (`$XDG_STATE_HOME/dogwatch`), which need not exist.
    pub fn new(state_folder: &Path) -> Store {
        Store { folder: state_folder.to_owned() }
    }

    /// Keeps another `install` or `uninstall` away until it is dropped; `None` where one has been at work all the time.
    pub fn lock(&self) -> Result<Option<Lock>, StateError> {
        self.make(RECORDS)?.lock("lock", LOCK_BOUND)
    }

    /// What is kept of a file; what cannot be read counts as nothing, and the file is then told by itself.
    pub fn find(&self, path: &Path) -> Option<Kept> {
        let folder = Folder::open_private(&self.folder).ok()??.open_sub(RECORDS).ok()??;
        let bytes = folder.read(&record_name(path), LIMIT_BYTES).ok()??;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        let before =
            if record.existed { Some(folder.read(&before_name(path), LIMIT_BYTES).ok()??) } else { None };
        Some(Kept { record, before })
    }

    /// Keeps it.
    pub fn keep(&self, path: &Path, kept: &Kept) -> Result<(), StateError> {
        let folder = self.make(RECORDS)?;
        match &kept.before {
            Some(before) => folder.write_atomic(&before_name(path), before)?,
            None => {
                folder.remove(&before_name(path))?;
            }
        }
        let bytes = to_json(&kept.record);
        folder.write_atomic(&record_name(path), &bytes)
    }

    /// Forgets it.
    pub fn forget(&self, path: &Path) -> Result<(), StateError> {
        let folder = self.make(RECORDS)?;
        folder.remove(&record_name(path))?;
        folder.remove(&before_name(path))?;
        Ok(())
    }

    /// Backs up what a file holds, once for each content. Where the backup is.
    pub fn back_up(&self, path: &Path, content: &[u8]) -> Result<PathBuf, StateError> {
        let folder = self.make(BACKUPS)?;
        let name = format!("{}-{}-{}", key(path), &digest(content)[..8], file_name(path));
        if folder.look(&name)?.is_none() {
            folder.write_atomic(&name, content)?;
        }
        Ok(folder.path().join(name))
    }

    fn make(&self, name: &str) -> Result<Folder, StateError> {
        Folder::private(&self.folder)?.sub(name)
    }
}

fn to_json(record: &Record) -> Vec<u8> {
    serde_json::to_vec_pretty(record).expect("a record holds strings and flags, which JSON can express")
}

fn key(path: &Path) -> String {
    digest(path.as_os_str().as_bytes())[..KEY_DIGITS].to_owned()
}

fn record_name(path: &Path) -> String {
    format!("{}.json", key(path))
}

fn before_name(path: &Path) -> String {
    format!("{}.before", key(path))
}

/// The file's own name; all of ours are plain.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "file".to_owned(), |name| name.to_string_lossy().into_owned())
}
