//! `welcomed` in dogwatch's own folder: the person has been welcomed.

use std::path::Path;

use super::state::Folder;

const FILE_NAME: &str = "welcomed";

/// Whether the welcome was given. Where that cannot be remembered it counts as given: better never than every time.
pub fn was_given(own_folder: Option<&Path>) -> bool {
    own_folder.is_none_or(|folder| folder.join(FILE_NAME).exists())
}

/// Remembers that it was.
pub fn remember(own_folder: Option<&Path>) {
    if let Some(folder) = own_folder {
        // If it cannot be remembered the welcome comes once more, which harms nobody.
        let _ = Folder::private(folder).and_then(|folder| folder.write_atomic(FILE_NAME, b""));
    }
}
