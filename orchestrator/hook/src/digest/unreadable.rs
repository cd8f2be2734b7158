//! The one line that stands for a file of the home that is there and cannot be read.

use crate::home::read::ReadError;
use crate::text::line;

/// Names the file, the cause, and what to do about it.
pub(super) fn unreadable(name: &str, error: &ReadError) -> String {
    let remedy = match error {
        ReadError::Missing => "create it",
        ReadError::NotRegular => "put a plain file in its place",
        ReadError::TooLarge { .. } => "shorten it",
        ReadError::NotText => "save it as UTF-8",
        ReadError::Io(_) => "check its permissions",
    };
    line(&format!("{name} cannot be read: {error}; {remedy}, then run `dogwatch open` again."))
}
