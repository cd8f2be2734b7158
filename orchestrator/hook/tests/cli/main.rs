//! The program as a person starts it.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

mod hook;
mod init_and_trust;
mod open;
mod recordings;
mod run;
mod support;
