//! How rows are stored: one JSON object with a `version`, put there whole.
//!
//! A reader tolerates fields that it does not know, so that an older dogwatch gets on with what a newer one wrote.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::state::{Folder, StateError};

/// The version that this program writes.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    value: T,
}

/// What a file held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stored<T> {
    /// There is no such file.
    Missing,
    /// There is something that no dogwatch wrote: empty, cut, too large, no regular file.
    Garbage,
    /// A row.
    Row(T),
}

impl<T> Stored<T> {
    pub(super) fn row(self) -> Option<T> {
        match self {
            Stored::Row(row) => Some(row),
            Stored::Missing | Stored::Garbage => None,
        }
    }
}

/// Reads a row of at most `limit_bytes`.
///
/// # Errors
/// Where the operating system says no: then nothing is known of the row.
pub(super) fn read<T: DeserializeOwned>(
    folder: &Folder,
    name: &str,
    limit_bytes: u64,
) -> Result<Stored<T>, StateError> {
    match folder.read(name, limit_bytes) {
        Ok(None) => Ok(Stored::Missing),
        Ok(Some(bytes)) => Ok(match serde_json::from_slice::<Versioned<T>>(&bytes) {
            Ok(versioned) => Stored::Row(versioned.value),
            Err(_) => Stored::Garbage,
        }),
        Err(StateError::NotRegular(_) | StateError::TooLarge { .. }) => Ok(Stored::Garbage),
        Err(error) => Err(error),
    }
}

/// Puts a row there whole.
pub(super) fn write<T: Serialize>(folder: &Folder, name: &str, value: &T) -> Result<(), StateError> {
    let mut bytes = serde_json::to_vec(&Versioned { version: VERSION, value })
        .expect("a row holds strings, numbers and lists under string keys, which JSON can express");
    bytes.push(b'\n');
    folder.write_atomic(name, &bytes)
}
