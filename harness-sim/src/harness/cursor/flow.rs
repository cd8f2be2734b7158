//! What leads to what in Cursor, as documented and reported.

use super::super::flow::{Again, Flow};
use super::is_editor;

pub(super) static FLOW: Flow = Flow {
    again: Again::Count("loop_count"),
    // Stop hooks in Claude Code's form were reported to have no limit.
    caps_foreign: false,
    // preCompact can bring nothing to the model, and no session opens after it.
    after_compaction: |_| &[],
    // A file is read before it is written.
    first: &[("preToolUse-Write", "preToolUse-Read-before-Write")],
    // In the editor the two run beside each other; the command line program fires no prompt in print mode.
    awaits_open: |version| !is_editor(version),
    // The payload has no source: a recording's name has.
    is_new_session: |recording| recording.name.contains("startup"),
};
