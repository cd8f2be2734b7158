//! What leads to what in Codex 0.171.0.

use super::super::flow::{Again, Flow, Follow, When, source};

const DONE: Follow =
    Follow { event: "PostCompact", with: None, when: When::AtOnce, why: "the compaction is done" };
const OPEN: Follow = Follow {
    event: "SessionStart",
    with: Some(("source", "compact")),
    when: When::AtOnce,
    why: "after an automatic compaction the session opens again in the same turn",
};
const OPEN_LATER: Follow = Follow {
    when: When::AtNextPrompt,
    why: "after a manual compaction the session opens again at the next prompt",
    ..OPEN
};

pub(super) static FLOW: Flow = Flow {
    again: Again::Flags(&["stop_hook_active"]),
    caps_foreign: true,
    after_compaction: |trigger| {
        if trigger == "manual" { &[DONE, OPEN_LATER] } else { &[DONE, OPEN] }
    },
    first: &[],
    awaits_open: |_| true,
    is_new_session: |recording| matches!(source(recording), "startup" | "clear" | "fork"),
};
