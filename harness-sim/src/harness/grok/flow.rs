//! What leads to what in Grok 1.0.41.

use super::super::flow::{Again, Flow, source};

pub(super) static FLOW: Flow = Flow {
    again: Again::Flags(&["stopHookActive", "stop_hook_active"]),
    caps_foreign: true,
    // A compaction fires PreCompact only.
    after_compaction: |_| &[],
    first: &[],
    // A session open is not waited for, and runs beside the first prompt.
    awaits_open: |_| false,
    is_new_session: |recording| source(recording) == "new",
};
