//! The recorder itself: what a harness starts as a hook.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// More than a harness was ever seen to hand over.
const LIMIT_BYTES: u64 = 32 * 1024 * 1024;

/// A payload as it came.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Raw {
    /// The event that it is registered for.
    pub(super) event: String,
    /// The names of the variables; never what they hold.
    pub(super) env: Vec<String>,
    pub(super) payload: Value,
}

/// Keeps one payload: stdin, for this event, in that folder. It is put there whole.
///
/// # Errors
/// Where it cannot be read or written.
pub(crate) fn take(event: &str, into: &Path, mut stdin: impl Read) -> io::Result<()> {
    let mut bytes = Vec::new();
    stdin.by_ref().take(LIMIT_BYTES).read_to_end(&mut bytes)?;
    let payload = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    let mut env = crate::env::names();
    env.sort();
    let raw = Raw { event: event.to_owned(), env, payload };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // In the order in which they come.
    let name = format!("{:020}-{}", now.as_nanos(), std::process::id());
    let aside = into.join(format!("{name}.tmp"));
    fs::write(&aside, serde_json::to_vec(&raw).map_err(io::Error::other)?)?;
    fs::rename(aside, into.join(format!("{name}.json")))
}
