//! What leads to what in Claude Code 2.1.332.

use super::super::flow::{Again, Flow, Follow, When, source};

pub(super) static FLOW: Flow = Flow {
    again: Again::Flags(&["stop_hook_active"]),
    caps_foreign: true,
    after_compaction: |_| {
        &[
            Follow {
                event: "SubagentStop",
                with: Some(("agent_type", "")),
                when: When::AtOnce,
                why: "the summariser is a sub-agent without a type",
            },
            Follow {
                event: "SessionStart",
                with: Some(("source", "compact")),
                when: When::AtOnce,
                why: "the session opens again, with the same id",
            },
            // Which of the two comes first is not known.
            Follow { event: "PostCompact", with: None, when: When::AtOnce, why: "the compaction is done" },
        ]
    },
    first: &[],
    awaits_open: |_| true,
    is_new_session: |recording| matches!(source(recording), "startup" | "clear" | "fork"),
};
