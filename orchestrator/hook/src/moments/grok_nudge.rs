//! A nudge that could not be said at the session's open and is said with its first tool event.

use super::call::Call;
use super::place::Home;
use crate::harness::{Budget, Event, EventKind, carries_context};
use crate::home::rows;

/// The nudge that this session is owed, if this event can bring it; from then on it is owed no more.
pub(super) fn owed(call: &Call, event: &Event, home: &Home, kind: EventKind) -> Option<String> {
    // Only where the open's own answer is thrown away; every other harness's tool calls have no row to look at.
    if call.harness.budget != Budget::Discarded {
        return None;
    }
    let (state, session) = (home.usable_state()?, event.session_id.as_deref()?);
    if !carries_context(call.harness, event.name.as_deref(), Some(kind)) {
        return None;
    }
    let mut was_owed = false;
    rows::update(state, call.harness.id, session, |row| was_owed = std::mem::take(&mut row.nudge_owed))
        .ok()?;
    was_owed.then(|| super::session_open::nudge(home))
}
