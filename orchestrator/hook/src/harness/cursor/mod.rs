//! Cursor, its editor and its command line program. **Not run here**: everything on it is documented by Cursor, or was
//! captured by others on its 2026.07 to 2026.10 command line programs and its 3.9 to 3.23 editors.
//!
//! It also runs the hooks in `.claude/settings.json`, with its own payload and reading the answer in its own way.

mod payload;
mod registration;
mod reply;

use std::time::Duration;

use super::{Budget, Harness, Tier, Timeout};

pub(super) static HARNESS: Harness = Harness {
    id: "cursor",
    name: "Cursor",
    aliases: &[],
    tier: Tier::Run,
    // Not known for a session open. A prompt's context has 10,000 characters in the editor; so many bytes are within
    // that in whatever unit it counts.
    budget: Budget::Bytes(10_000),
    timeout: Timeout::Seconds { default: Duration::from_secs(60), exceptions: &[] },
    shared_process: true,
    shows_capabilities: false,
    root_variables: &["CURSOR_PROJECT_DIR"],
    stale_carries: &[],
    programs: &["cursor", "Cursor", "cursor-agent"],
    packages: &[],
    versioned: Some("cursor-agent"),
    server: Some(".cursor-server"),
    registration: &registration::REGISTRATION,
    events: payload::EVENTS,
    claims: payload::claims,
    fields: payload::fields,
    carries_context: reply::carries_context,
    context: reply::context,
    neutral: reply::neutral,
};
