//! The program as a person starts it.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

mod credentials;
mod crowd;
mod hook;
mod init_and_trust;
mod install;
mod network;
mod open;
mod quiet;
mod recordings;
mod run;
mod status;
mod support;
