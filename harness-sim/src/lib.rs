//! A harness without its CLI.
//!
//! `harness-sim` will read the hooks that a project has registered, fire recorded payloads at them exactly as the
//! named harness does at the named version, and report what the model would have seen, what would have been blocked
//! and what leaked. It depends on the process engine alone and keeps its own account of every harness, so that it can
//! contradict dogwatch.
//!
//! Nothing of it is built yet; this crate holds its place in the workspace.
