//! What to do with an event: one file per moment.
//!
//! The way of one call: the payload's bytes become an event, the event finds its project and its scope, the moment
//! decides, the harness's own words go out, one line is traced. Everything here fails open: an error costs a line, never
//! a session.

mod agent_open;
mod call;
mod grok_nudge;
mod place;
mod route;
mod session;
mod session_open;
mod wake;

use std::time::Instant;

pub use agent_open::{AgentOpen, Prepared};
pub use call::{Call, Out};
pub use route::{Action, route};

use crate::harness::{self, Event, EventKind, Payload, Reply};
use crate::home::once;
use place::{Place, Standing};

/// The exit code of `--prerequisite` for a deliberate stand-down.
const NOT_ELIGIBLE: u8 = 3;

/// Handles one call: writes the answer, traces it, and returns the exit code.
pub fn handle(call: &Call, input: &[u8], out: &mut dyn Out) -> u8 {
    let started = Instant::now();
    match harness::read(call.harness, call.event, input) {
        Payload::Whole(event) => handle_event(call, &event, started, out),
        // Nothing is known of it; where the registration says that a session opens, it opens.
        Payload::Unreadable { why } if call.event == Some(EventKind::SessionOpen) => {
            out.note(&format!("the payload cannot be read ({why}); the session opens in full"));
            match harness::read(call.harness, call.event, b"{}") {
                Payload::Whole(event) => handle_event(call, &event, started, out),
                Payload::Unreadable { .. } => answer(call, None, out),
            }
        }
        Payload::Unreadable { why } => {
            out.note(&format!("the payload cannot be read ({why}); nothing was done"));
            answer(call, None, out)
        }
    }
}

fn handle_event(call: &Call, event: &Event, started: Instant, out: &mut dyn Out) -> u8 {
    let Some(kind) = event.kind else { return answer(call, Some(event), out) };
    if event.owner.id != call.harness.id {
        // Another harness runs this registration with its own payload, beside its own registration.
        return answer(call, Some(event), out);
    }
    let place = Place::find(call, event, kind);
    let mut firing = place.firing(call, event, kind);
    let mut usable_now = false;
    let code = match &place.standing {
        Standing::Out(why) => {
            firing.decision = "stand-down".to_owned();
            firing.rule = Some((*why).to_owned());
            let code = answer(call, Some(event), out);
            if call.prerequisite { NOT_ELIGIBLE } else { code }
        }
        Standing::In(home) if !is_first(event, kind, &place, home) => {
            firing.decision = "second".to_owned();
            answer(call, Some(event), out)
        }
        // A sub-agent's events take nothing and are given nothing.
        Standing::In(_) if event.agent_id.is_some() => answer(call, Some(event), out),
        Standing::In(home) => match kind {
            EventKind::SessionOpen => {
                session_open::handle(call, event, &place, home, &mut firing, &mut usable_now, out)
            }
            EventKind::End => {
                session::end(call, event, &place, home, &mut firing);
                answer(call, Some(event), out)
            }
            EventKind::BeforeTool | EventKind::AfterTool | EventKind::Prompt => {
                session::touch(call, event, &place, home);
                match grok_nudge::owed(call, event, home, kind) {
                    Some(nudge) => {
                        firing.decision = "nudge".to_owned();
                        say(call, event, kind, &Reply::Context(nudge), out).0
                    }
                    None => wake::tell(call, event, home, kind, &mut firing, out),
                }
            }
            EventKind::Reply | EventKind::BeforeCompact | EventKind::Stop => {
                session::touch(call, event, &place, home);
                wake::tell(call, event, home, kind, &mut firing, out)
            }
        },
    };
    firing.milliseconds = crate::digest::run::milliseconds(started.elapsed());
    firing.bytes = out.written();
    place.trace(&firing, usable_now);
    code
}

/// Whether this is the first firing of its event: two registrations get one answer. Tools are judged each time.
fn is_first(event: &Event, kind: EventKind, place: &Place, home: &place::Home) -> bool {
    let is_once = matches!(
        kind,
        EventKind::SessionOpen | EventKind::Prompt | EventKind::BeforeCompact | EventKind::Stop
    );
    // Without a session two firings of two sessions look alike.
    let (Some(session), Some(state), true) = (event.session_id.as_deref(), home.usable_state(), is_once)
    else {
        return true;
    };
    once::claim(state, session, kind.id(), &event.hash, place.now)
}

/// The neutral answer, in the words of whoever sent the payload.
fn answer(call: &Call, event: Option<&Event>, out: &mut dyn Out) -> u8 {
    let owner = event.map_or(call.harness, |event| event.owner);
    let name = event.and_then(|event| event.name.as_deref());
    let kind = event.and_then(|event| event.kind).or(call.event);
    out.write(harness::neutral(owner, name, kind));
    0
}

/// A reply in the harness's words: the exit code, and whether all of it went out.
fn say(call: &Call, event: &Event, kind: EventKind, reply: &Reply, out: &mut dyn Out) -> (u8, bool) {
    let written = harness::write(call.harness, event.name.as_deref(), Some(kind), reply);
    let is_delivered = out.write(&written.stdout);
    (written.exit_code, is_delivered)
}
