//! Results that arrived after the digest: told by the next event of the session in charge whose answer reaches its model.

use std::sync::{Arc, Mutex, PoisonError};

use super::call::{Call, Out};
use super::place::Home;
use super::{answer, say, session};
use crate::harness::{Budget, Event, EventKind, Reply, carries_context};
use crate::home::helm;
use crate::home::trace::Firing;
use crate::home::wakes::{self, Claimed, Wake};
use crate::text::operational;

/// How much is told at once where the harness itself sets no limit. The rest waits for the next event.
const MOST_BYTES: usize = 16 * 1024;

/// Answers with what waits, else neutrally.
pub(super) fn tell(
    call: &Call,
    event: &Event,
    home: &Home,
    kind: EventKind,
    firing: &mut Firing,
    out: &mut dyn Out,
) -> u8 {
    let Some(claimed) = claim(call, event, home, kind) else { return answer(call, Some(event), out) };
    let (text, told) = compose(call.harness.budget, &home.config.operational.label, claimed.wakes());
    firing.decision = "wake".to_owned();
    let (code, is_delivered) = say(call, event, kind, &Reply::Context(text), out);
    // Only now: whoever is killed before this has told nothing, as far as anybody knows.
    claimed.acknowledge(|wake| is_delivered && told.contains(&wake.name));
    code
}

/// What waits, if this event may bring it. The usual case costs one look at a folder.
fn claim(call: &Call, event: &Event, home: &Home, kind: EventKind) -> Option<Claimed> {
    let brings = matches!(kind, EventKind::Prompt | EventKind::AfterTool | EventKind::Stop)
        && carries_context(call.harness, event.name.as_deref(), Some(kind));
    let state = home.usable_state().filter(|state| brings && wakes::may_be_pending(state))?;
    // A session that only reads, or that nobody can tell, is told nothing.
    helm::is_mine(state, &session::me(call, event)).then(|| wakes::claim(state, |_| true))?
}

/// As many as fit, the oldest first, and their names.
fn compose(budget: Budget, label: &str, wakes: &[Wake]) -> (String, Vec<String>) {
    let most = budget.limit().filter(|limit| *limit > 0).unwrap_or(MOST_BYTES);
    let mut text = operational::header(label, operational::Kind::Wake);
    let mut told = Vec::new();
    for wake in wakes {
        let more = if told.is_empty() { wake.text.clone() } else { format!("\n\n{}", wake.text) };
        // The first is told in any case: it is far below every limit.
        if !told.is_empty() && budget.measure(&text) + budget.measure(&more) > most {
            break;
        }
        text.push_str(&more);
        told.push(wake.name.clone());
    }
    (text, told)
}

/// The wakes that a digest is about to tell.
#[derive(Debug, Clone, Default)]
pub(super) struct Harvest(Arc<Mutex<Vec<Claimed>>>);

impl Harvest {
    /// Takes what waits now; what it says.
    pub(super) fn take(&self, state: &crate::home::state::Folder) -> Vec<Wake> {
        let Some(claimed) = wakes::claim(state, |_| true) else { return Vec::new() };
        let told = claimed.wakes().to_vec();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(claimed);
        told
    }

    /// The digest has been said: what stood whole in the visible text is gone, the rest waits again.
    pub(super) fn settle(&self, visible: Option<&str>) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for claimed in all {
            claimed.acknowledge(|wake| visible.is_some_and(|visible| visible.contains(&wake.text)));
        }
    }
}

#[cfg(test)]
mod tests;
