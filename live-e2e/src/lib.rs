//! The real CLIs, offline.
//!
//! `live-e2e` will drive the real coding-agent CLIs against a model server on loopback, opt-in by
//! `DOGWATCH_LIVE_E2E`, and prove that the simulator tells the truth about them.
//!
//! Nothing of it is built yet; this crate holds its place in the workspace.
