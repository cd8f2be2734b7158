//! The real coding-agent CLIs, offline.
//!
//! Drives Claude Code, Codex, Pi, OpenCode and Grok against a [model server](model) on loopback, with hooks firing, under
//! the engine's whole-tree kill. Opt-in by `DOGWATCH_LIVE_E2E`; the programs come from `scripts/install-clis`.

pub mod model;
