//! Putting dogwatch's entries into the files that harnesses read, and taking them out again: parse as the harness does,
//! edit in place, diff, back up. What an entry says comes from the harness's folder.

mod apply;
mod block;
pub mod diff;
mod file;
pub mod json;
mod look;
pub mod own;
mod part;
pub mod places;
mod shim;
mod store;

pub use apply::{ApplyError, Change, install, uninstall};
pub use block::is_there as has_instructions;
pub use file::{FileError, Snapshot};
pub use look::{Registered, Seen, look};
pub use part::{Part, PartError};
pub use store::Store;
