//! What many processes at once do to the files of a home.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

mod crew;
mod helm;
mod once;
mod wakes;
