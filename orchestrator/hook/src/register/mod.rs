//! Merging an entry into a file of a person's: parse as the harness does, edit in place, diff, back up. What the entry
//! says comes from the harness's folder.

pub mod json;
