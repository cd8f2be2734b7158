//! Which session a call belongs to, and the plain upkeep of its row.

use dogwatch_engine::process::Identity;

use super::call::Call;
use super::place::{Home, Place};
use crate::harness::Event;
use crate::harness::ancestry::{self, Ancestry, SESSION_DEPTH};
use crate::home::helm::{self, Me};
use crate::home::rows::{self, Lifecycle};
use crate::home::trace::Firing;

/// Who this call's session is: its harness's process, and where sessions share one, its id.
pub(super) fn me(call: &Call, event: &Event) -> Me {
    look(call, event).0
}

/// The same, and whether the process alone tells the session: it is a harness that is recognised and serves one.
pub(super) fn look(call: &Call, event: &Event) -> (Me, bool) {
    let (pid, is_recognised) = match ancestry::of_this_process(SESSION_DEPTH) {
        Ancestry::Below(ancestor) => (Some(ancestor.id), true),
        // A wrapped or renamed CLI: whoever started us, shells and the like aside.
        Ancestry::Clear | Ancestry::Unknown => (ancestry::starter_of_this_process(SESSION_DEPTH), false),
    };
    let shared_process = call.harness.shared_process;
    let me = Me {
        process: pid.and_then(|pid| Identity::of(pid.cast_signed()).ok()),
        harness: call.harness.id.to_owned(),
        session: event.session_id.clone(),
        shared_process,
    };
    (me, is_recognised && !shared_process)
}

/// A sign of life, where the session and not its process holds the helm.
pub(super) fn touch(call: &Call, event: &Event, place: &Place, home: &Home) {
    if let (true, Some(state)) = (call.harness.shared_process, home.usable_state()) {
        let me = me(call, event);
        helm::touch(state, &me, place.now);
        if let Some(session) = event.session_id.as_deref() {
            // By its events it is told whether such a session is still there; without a row there is nothing to keep.
            let _ = rows::update(state, call.harness.id, session, |row| row.saw_event(&me, place.now));
        }
    }
}

/// After a clear a process goes on with a session of another id, and nobody is told that the one before has ended. Where
/// several sessions share the process that one is known only if there is no other of them.
pub(super) fn succeed(me: &Me, state: &crate::home::state::Folder, now: jiff::Timestamp) {
    if !me.shared_process {
        return;
    }
    let mut of_process = rows::live_others(state, me)
        .into_iter()
        .filter(|row| row.process == me.process && row.harness == me.harness);
    if let (Some(before), None) = (of_process.next(), of_process.next()) {
        helm::hand_over(state, &before.session, me, now);
        // What cannot be written counts as ended once it has been silent.
        let _ = rows::update(state, &before.harness, &before.session, |row| row.lifecycle = Lifecycle::Ended);
    }
}

/// The session ends: its row is closed; the helm is released only where the process goes on without it.
pub(super) fn end(call: &Call, event: &Event, place: &Place, home: &Home, firing: &mut Firing) {
    let Some(state) = home.usable_state() else { return };
    let goes_on = matches!(event.reason.as_deref(), Some("clear" | "resume" | "compact"));
    if goes_on {
        return;
    }
    if call.harness.shared_process && helm::release(state, &me(call, event)) {
        firing.decision = "released".to_owned();
    }
    if let Some(session) = event.session_id.as_deref() {
        let me = me(call, event);
        // A row that cannot be closed counts as ended once its process has.
        let _ = rows::update(state, call.harness.id, session, |row| {
            row.saw_event(&me, place.now);
            row.lifecycle = Lifecycle::Ended;
        });
        if let Some(own_folder) = &place.own_folder {
            let _ = crate::home::roots::forget(own_folder, call.harness.id, session);
        }
    }
}
