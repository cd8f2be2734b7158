//! What runs inside a harness's own process, in a fake of that process, run by `node`.
//!
//! Without `node` on PATH nothing is run and each test says so; with `DOGWATCH_TESTS_NEED_NODE` set each fails instead.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

mod opencode;
mod pi;
mod support;
