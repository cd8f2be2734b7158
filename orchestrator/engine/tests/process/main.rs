//! The guarantees of one bounded run, a file each. The misbehaving is done by the program `misbehave`.

// Helpers of tests may panic as the tests themselves may.
#![allow(clippy::unwrap_used)]

mod bounded_memory;
mod detached_runs;
mod dies_with_its_parent;
mod exit_is_exit;
mod group_without_init;
mod identities;
mod nothing_survives;
mod returns_in_time;
mod sessions;
mod sound_start;
mod support;
