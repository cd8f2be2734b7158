//! Putting a part into a file and taking it out again, with backup and record.
//!
//! In this order, so that a kill leaves nothing that cannot be undone: the backup, the record, the file. What is written
//! is what the file would have become at the last look: if somebody else writes it in between, it is read again.

use std::path::{Path, PathBuf};

use super::file::{FileError, Snapshot, Written, remove_folders};
use super::json::Made;
use super::part::{Part, PartError};
use super::store::{Kept, Record, Store, digest};
use crate::home::state::StateError;

/// How often a file may change under us.
const TRIES: usize = 5;

/// Why a file was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// What it holds is nothing that we may edit.
    #[error("{}: {source}", .path.display())]
    Part {
        /// The file.
        path: PathBuf,
        /// Why.
        source: PartError,
    },
    /// Neither backup nor record can be kept.
    #[error("{}: left alone, because its backup cannot be kept: {source}", .path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        source: StateError,
    },
}

/// What became, or would become, of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// What it held.
    pub before: Option<Vec<u8>>,
    /// What it holds now, or would.
    pub after: Option<Vec<u8>>,
    /// A backup that was made.
    pub backup: Option<PathBuf>,
}

impl Change {
    /// Whether anything is different.
    pub fn is_one(&self) -> bool {
        self.before != self.after
    }
}

/// Puts a part into a file. `dry`: only says what would be.
pub fn install(part: &Part, path: &Path, store: &Store, dry: bool) -> Result<Change, ApplyError> {
    for _ in 0..TRIES {
        let now = Snapshot::read(path)?;
        let of_part = |source| ApplyError::Part { path: path.to_owned(), source };
        let of_store = |source| ApplyError::Store { path: path.to_owned(), source };
        let old = store.find(path);
        let before = Before::of(part, now.content.as_deref(), old.as_ref()).map_err(of_part)?;
        let with = part.with(now.content.as_deref(), before.made.as_ref()).map_err(of_part)?;
        let mut change = Change {
            path: path.to_owned(),
            before: now.content.clone(),
            after: Some(with.content.clone()),
            backup: None,
        };
        if change.is_one() {
            now.check_writable()?;
        }
        if dry || !change.is_one() {
            return Ok(change);
        }
        let record = Record {
            version: 1,
            path: path.display().to_string(),
            existed: before.content.is_some(),
            after: digest(&with.content),
            earlier: old
                .as_ref()
                .zip(now.content.as_deref())
                .and_then(|(old, content)| old.is_as_written(content).then(|| digest(content))),
            folders: now.missing_folders().max(old.as_ref().map_or(0, |old| old.record.folders)),
            made: with.made,
        };
        let kept = Kept { record, before: before.content };
        if let Some(content) = &now.content {
            let is_known = old.as_ref().is_some_and(|old| old.is_as_written(content));
            // The first time, and where an edit of somebody else's goes with a program of ours.
            if old.is_none() || (part.is_whole_file() && !is_known) {
                change.backup = Some(store.back_up(path, content).map_err(of_store)?);
            }
        }
        store.keep(path, &kept).map_err(of_store)?;
        if now.replace(&with.content)? == Written::Done {
            return Ok(change);
        }
    }
    Err(FileError::Contended(path.to_owned()).into())
}

/// What a file would be without us, and what of it is known to have come with us.
struct Before {
    content: Option<Vec<u8>>,
    made: Option<Made>,
}

impl Before {
    fn of(part: &Part, current: Option<&[u8]>, old: Option<&Kept>) -> Result<Before, PartError> {
        let Some(current) = current else { return Ok(Before { content: None, made: None }) };
        let made = old.and_then(|old| old.record.made.clone());
        if let Some(old) = old.filter(|old| old.is_as_written(current)) {
            // Made new by an upgrade: what was before is still what was before.
            return Ok(Before { content: old.before.clone(), made });
        }
        // Edited by others since, or there without a record.
        let without = part.without(current, made.as_ref())?;
        if without.was_there {
            return Ok(Before { content: without.content, made });
        }
        // An old record is then of another file of that name.
        Ok(Before { content: Some(current.to_owned()), made: None })
    }
}

/// Takes a part out of a file. `dry`: only says what would be.
pub fn uninstall(part: &Part, path: &Path, store: &Store, dry: bool) -> Result<Change, ApplyError> {
    for _ in 0..TRIES {
        let now = Snapshot::read(path)?;
        let of_part = |source| ApplyError::Part { path: path.to_owned(), source };
        let of_store = |source| ApplyError::Store { path: path.to_owned(), source };
        let kept = store.find(path);
        let mut change = Change {
            path: path.to_owned(),
            before: now.content.clone(),
            after: now.content.clone(),
            backup: None,
        };
        let mut is_edited = false;
        if let Some(current) = &now.content {
            if let Some(kept) = kept.as_ref().filter(|kept| kept.is_as_written(current)) {
                change.after = kept.before.clone();
            } else {
                let made = kept.as_ref().and_then(|kept| kept.record.made.as_ref());
                let without = part.without(current, made).map_err(of_part)?;
                if without.was_there {
                    is_edited = part.is_whole_file();
                    // Where nothing is left, a file that was there blank is there again; what a person has taken out since
                    // stays out.
                    let before = kept.as_ref().and_then(|kept| kept.before.as_ref());
                    let blank = before.filter(|before| before.iter().all(u8::is_ascii_whitespace));
                    change.after = without.content.or_else(|| blank.cloned());
                }
            }
        }
        if change.is_one() {
            now.check_writable()?;
            if now.is_link() && change.after.is_none() {
                // Somebody put it there after us, and its target is theirs: it is emptied, not removed.
                change.after = Some(Vec::new());
            }
        }
        if dry {
            return Ok(change);
        }
        if change.is_one() {
            if let (true, Some(current)) = (is_edited, &now.content) {
                change.backup = Some(store.back_up(path, current).map_err(of_store)?);
            }
            let is_done = match &change.after {
                Some(after) => now.replace(after)? == Written::Done,
                None => now.remove()?,
            };
            if !is_done {
                continue;
            }
        }
        if let Some(kept) = kept {
            remove_folders(path, kept.record.folders);
            store.forget(path).map_err(of_store)?;
        }
        return Ok(change);
    }
    Err(FileError::Contended(path.to_owned()).into())
}
