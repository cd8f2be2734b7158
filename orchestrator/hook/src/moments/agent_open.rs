//! `dogwatch open` as an agent runs it, because it was nudged: it takes the helm for its session. A person's only reads.

use std::time::Instant;

use dogwatch_engine::process::{Engine, Identity};

use super::call::Call;
use super::place::{Place, Standing};
use super::session_open::Open;
use crate::digest::plan::Kind;
use crate::digest::run::{Opening, Told};
use crate::env;
use crate::harness::ancestry::{self, Ancestry, SESSION_DEPTH};
use crate::harness::{self, Event, EventKind, Harness, Payload};
use crate::home::helm::Me;
use crate::home::rows;
use crate::home::state::Folder;

/// An agent's open, in a home where it may speak.
pub struct AgentOpen {
    call: Call,
    event: Event,
    place: Place,
    me: Me,
}

/// What an agent's open has found out before its stages start.
pub struct Prepared<'a>(super::session_open::Prepared<'a>);

impl Prepared<'_> {
    /// The digest to make.
    pub fn opening(&self) -> &Opening {
        &self.0.opening
    }
}

impl AgentOpen {
    /// The session that this process belongs to: below a harness that is recognised, or below a process that a session
    /// of this home is known to have. `None` for a person's terminal, and where there is no home.
    pub fn find() -> Option<Self> {
        let ancestor = match ancestry::of_this_process(SESSION_DEPTH) {
            Ancestry::Below(ancestor) => Some(ancestor),
            Ancestry::Clear | Ancestry::Unknown => None,
        };
        let harness =
            ancestor.map_or_else(|| Harness::by_name("claude"), |found| Harness::by_name(found.harness.id));
        let (harness, name) = harness?;
        let folder = std::env::current_dir().ok()?;
        let event = Some(EventKind::SessionOpen);
        let mut call = Call {
            harness,
            name,
            event,
            root: Some(folder),
            source: None,
            limit: None,
            begun: Instant::now(),
            prerequisite: false,
        };
        let Payload::Whole(mut event) = harness::read(harness, event, b"{}") else { return None };
        let place = Place::find(&call, &event, EventKind::SessionOpen);
        let Standing::In(home) = &place.standing else { return None };
        let me = if let Some(ancestor) = ancestor {
            let process = Identity::of(ancestor.id.cast_signed()).ok();
            // Where several sessions share the process, it is the one that has just been nudged.
            let just_nudged = || newest_session(home.usable_state()?, |row| row.process == process);
            event.session_id = env::session_of(harness.id).or_else(|| just_nudged().map(|row| row.session));
            Me {
                process,
                harness: harness.id.to_owned(),
                session: event.session_id.clone(),
                shared_process: harness.shared_process,
            }
        } else {
            let ancestors = ancestry::ancestors_of_this_process(SESSION_DEPTH);
            let is_above = |process: &Identity| ancestors.contains(&process.pid.cast_unsigned());
            let row = newest_session(home.usable_state()?, |row| {
                row.process.as_ref().is_some_and(|process| is_above(process) && process.is_alive())
            })?;
            (call.harness, call.name) = Harness::by_name(&row.harness)?;
            event.session_id = Some(row.session.clone());
            Me {
                process: row.process,
                harness: row.harness,
                session: Some(row.session),
                shared_process: row.shared_process,
            }
        };
        Some(Self { call, event, place, me })
    }

    /// Takes the helm if it is to be had, and says what digest to make.
    pub async fn prepare(&self, engine: &Engine) -> Option<Prepared<'_>> {
        Some(Prepared(self.open()?.prepare(engine).await))
    }

    /// After the digest has been printed.
    pub fn conclude(&self, prepared: &Prepared<'_>, told: &Told, is_delivered: bool) {
        if let Some(open) = self.open() {
            open.conclude(&prepared.0, told, is_delivered, None);
        }
    }

    fn open(&self) -> Option<Open<'_>> {
        let Standing::In(home) = &self.place.standing else { return None };
        Some(Open {
            call: &self.call,
            event: &self.event,
            place: &self.place,
            home,
            me: self.me.clone(),
            kind: Kind::Full,
            source: None,
        })
    }
}

/// The live session of this home that fits, the one with the newest event of several.
fn newest_session(state: &Folder, fits: impl Fn(&rows::Row) -> bool) -> Option<rows::Row> {
    let nobody = Me { process: None, harness: String::new(), session: None, shared_process: false };
    rows::live_others(state, &nobody).into_iter().find(fits)
}
