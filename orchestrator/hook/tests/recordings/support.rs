//! Finding the recordings, and reading one as it would come through its registration.

use std::fs;
use std::path::Path;

use dogwatch::harness::{Event, Harness, Payload, read};
use serde_json::Value;

/// What stands behind the name of a recording that came through Claude Code's registration.
const FROM_CLAUDE: &str = "-from-claude-settings";

pub(crate) struct Recording {
    pub(crate) harness: &'static Harness,
    /// `<version>/<event>-<variant>`.
    pub(crate) name: String,
    /// The payload.
    pub(crate) bytes: Vec<u8>,
}

/// Every recording of a harness, in order.
pub(crate) fn recordings(harness: &str) -> Vec<Recording> {
    let (harness, _) = Harness::by_name(harness).unwrap();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../harness-sim/recordings").join(harness.id);
    let mut recordings = Vec::new();
    for version in fs::read_dir(&top).unwrap() {
        let version = version.unwrap().path();
        for file in fs::read_dir(&version).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let recording: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            recordings.push(Recording {
                harness,
                name: format!("{}/{}", name(&version), name(&file).trim_end_matches(".json")),
                bytes: recording["payload"].to_string().into_bytes(),
            });
        }
    }
    recordings.sort_by(|a, b| a.name.cmp(&b.name));
    recordings
}

/// Reads a recording through the registration that it came through.
pub(crate) fn event(recording: &Recording) -> Event {
    let registered = if recording.name.ends_with(FROM_CLAUDE) { "claude" } else { recording.harness.id };
    let (registered, _) = Harness::by_name(registered).unwrap();
    // The hooks of an OpenCode plugin do not say which they are; the plugin's registration does.
    let canonical = recording.name.split_once("/hook.").and_then(|(_, hook)| {
        let (hook, _variant) = hook.rsplit_once('-')?;
        recording.harness.event(hook)
    });
    match read(registered, canonical, &recording.bytes) {
        Payload::Whole(event) => event,
        Payload::Unreadable { why } => panic!("{}: {why}", recording.name),
    }
}
