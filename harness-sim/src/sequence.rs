//! Events one after the other, with what a harness does between them: a refused stop that comes again, a session that
//! opens again after a compaction, a read before a write. The facts are in `harness/`; here they are played.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::harness::{Account, Flow, Follow, Harness, Role, When};
use crate::recording::{self, Ids, Recording};
use crate::report::{Delivered, Effect, Firing, Kind};
use crate::simulator::{FireError, Options, Simulator};

/// A firing, and why it came where nobody asked for it.
#[derive(Debug, Clone, Serialize)]
pub struct Played {
    /// Why the harness fired it on its own account; `None` for the event that a step names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// What came of it.
    #[serde(flatten)]
    pub firing: Firing,
}

/// How a stop that was refused came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// The hook allowed it, at once or later.
    Allowed,
    /// The harness obeyed as many refusals as it does, and ended the turn over the next one.
    Capped,
    /// The hook refused as often as was played.
    Never,
}

/// What came of one step: the event, and what the harness fired for it.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    pub(crate) played: Vec<Played>,
    /// Which of them the step names.
    pub(crate) named: usize,
    pub(crate) notes: Vec<String>,
    pub(crate) refused: u32,
    pub(crate) ends: Option<Ends>,
    pub(crate) is_beside: bool,
}

/// One process of a harness, with its sessions.
#[derive(Debug)]
pub(crate) struct Sequence {
    simulator: Simulator,
    harness: Harness,
    sessions: HashMap<String, Session>,
}

#[derive(Debug, Clone, Default)]
struct Session {
    id: Option<String>,
    ids: Ids,
    /// Whether an event was fired in it.
    has_begun: bool,
    /// What comes at its next prompt.
    pending: Vec<Follow>,
    /// Whether the last tool that was asked for was denied.
    is_tool_denied: bool,
}

/// An event of a step: the recording, how its hooks are fed and bounded, how many refusals are played.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) recording: &'static Recording,
    pub(crate) options: Options,
    pub(crate) most_refusals: u32,
}

impl Course {
    fn of(firing: Firing) -> Self {
        Self {
            played: vec![Played { because: None, firing }],
            named: 0,
            notes: Vec::new(),
            refused: 0,
            ends: None,
            is_beside: false,
        }
    }
}

impl Sequence {
    pub(crate) fn new(simulator: Simulator, harness: Harness) -> Self {
        Self { simulator, harness, sessions: HashMap::new() }
    }

    pub(crate) fn simulator(&mut self) -> &mut Simulator {
        &mut self.simulator
    }

    /// Whether a prompt of this session runs beside the open that comes right before it.
    pub(crate) fn runs_beside(&self, open: &Recording, next: &Recording) -> bool {
        let awaits = self.flow().is_none_or(|flow| (flow.awaits_open)(open.version));
        !awaits && Role::of(&open.event) == Role::Open && Role::of(&next.event) == Role::Prompt
    }

    /// Plays an event of a session, and what comes of it.
    pub(crate) fn play(&mut self, session: &str, asked: &Asked) -> Result<Course, FireError> {
        let mut state = self.enter(session, asked.recording);
        let course = self.course(&mut state, asked);
        self.leave(session, state);
        course
    }

    /// Plays a session's open and its prompt beside each other.
    pub(crate) fn play_beside(
        &mut self,
        session: &str,
        open: &Asked,
        prompt: &Asked,
    ) -> Result<[Course; 2], FireError> {
        let state = self.enter(session, open.recording);
        self.simulator.ids().turn = None;
        let fired = self
            .simulator
            .fire_beside([(open.recording, &open.options), (prompt.recording, &prompt.options)]);
        self.leave(session, state);
        let mut courses = fired?.map(Course::of);
        for course in &mut courses {
            course.is_beside = true;
        }
        courses[1].notes.push(format!(
            "{} does not wait for the open: its hooks and the prompt's run beside each other",
            self.harness.name()
        ));
        Ok(courses)
    }

    fn flow(&self) -> Option<&'static Flow> {
        self.harness.account().map(Account::flow)
    }

    /// Makes this session the process's.
    fn enter(&mut self, session: &str, recording: &Recording) -> Session {
        let mut state = self.sessions.remove(session).unwrap_or_default();
        let is_new = self
            .flow()
            .is_some_and(|flow| Role::of(&recording.event) == Role::Open && (flow.is_new_session)(recording));
        if state.has_begun && is_new || state.id.is_none() && !self.sessions.is_empty() {
            self.simulator.renew_session();
            state = Session::default();
        } else if let Some(id) = &state.id {
            self.simulator.enter_session(id.clone(), state.ids.clone());
        }
        state.has_begun = true;
        state
    }

    fn leave(&mut self, session: &str, mut state: Session) {
        let (id, ids) = self.simulator.session();
        (state.id, state.ids) = (Some(id), ids);
        self.sessions.insert(session.to_owned(), state);
    }

    fn course(&mut self, state: &mut Session, asked: &Asked) -> Result<Course, FireError> {
        let Some(flow) = self.flow() else {
            return Ok(Course::of(self.simulator.fire_as(asked.recording, &asked.options)?));
        };
        let role = Role::of(&asked.recording.event);
        let mut before = Vec::new();
        let mut notes = Vec::new();
        match role {
            Role::Prompt => {
                self.simulator.ids().turn = None;
                for follow in std::mem::take(&mut state.pending) {
                    before.extend(self.follow(follow, asked.recording, &mut notes)?);
                }
            }
            Role::BeforeTool => {
                self.simulator.ids().tool = None;
                if let Some(course) = self.first(flow, asked, &mut before)? {
                    state.is_tool_denied = true;
                    return Ok(course);
                }
            }
            Role::AfterTool if state.is_tool_denied => {
                notes.push(format!("the tool was denied: {} fires nothing after it", self.harness.name()));
            }
            _ => {}
        }
        let firing = self.simulator.fire_as(asked.recording, &asked.options)?;
        let mut course = Course::of(firing);
        course.named = before.len();
        course.played.splice(0..0, before);
        course.notes = notes;
        let is_denied = course.played[course.named].firing.has(Kind::Denied);
        match role {
            Role::Stop => self.refusals(flow, asked, &mut course)?,
            Role::Compaction if is_denied => course.notes.push(format!(
                "the compaction was blocked: {} asks again at the next turn, so never block",
                self.harness.name()
            )),
            Role::Compaction => self.compaction(flow, state, asked, &mut course)?,
            Role::BeforeTool => state.is_tool_denied = is_denied,
            Role::AfterTool => {
                self.simulator.ids().tool = None;
                state.is_tool_denied = false;
            }
            Role::Open | Role::Prompt | Role::Other => {}
        }
        Ok(course)
    }

    /// The calls that the harness makes before this one. `Some` if one of them was denied: then that is all.
    fn first(
        &mut self,
        flow: &Flow,
        asked: &Asked,
        before: &mut Vec<Played>,
    ) -> Result<Option<Course>, FireError> {
        let recording = asked.recording;
        for (_, name) in flow.first.iter().filter(|(call, _)| *call == recording.name) {
            let Ok(first) = recording::find(recording.harness, recording.version, name) else { continue };
            let firing =
                self.simulator.fire_as(first, &Options { set: Map::new(), ..asked.options.clone() })?;
            let is_denied = firing.has(Kind::Denied);
            let because = format!("{} comes before {}, with its id", first.name, recording.name);
            before.push(Played { because: Some(because), firing });
            if is_denied {
                return Ok(Some(Course {
                    named: before.len() - 1,
                    played: std::mem::take(before),
                    notes: vec![format!("denied with it: {} is not fired any more", recording.name)],
                    refused: 0,
                    ends: None,
                    is_beside: false,
                }));
            }
        }
        Ok(None)
    }

    /// A stop that is refused comes again, until it is allowed or the harness has enough.
    fn refusals(&mut self, flow: &Flow, asked: &Asked, course: &mut Course) -> Result<(), FireError> {
        let name = &asked.recording.event;
        let limit = self.harness.account().and_then(|account| account.stop_limit(name));
        while let Some(firing) = course.played.last_mut().map(|played| &mut played.firing) {
            if !firing.has(Kind::StopRefused) {
                course.ends = Some(Ends::Allowed);
                break;
            }
            let limit = limit.filter(|_| flow.caps_foreign || !refused_by_foreign(&self.simulator, firing));
            if limit.is_some_and(|limit| course.refused >= limit) {
                give_up(self.harness, course.refused, firing);
                course.ends = Some(Ends::Capped);
                break;
            }
            course.refused += 1;
            if course.refused >= asked.most_refusals {
                let cap = limit.map_or_else(
                    || format!("{} has no limit", self.harness.name()),
                    |limit| format!("{} obeys {limit}", self.harness.name()),
                );
                course.notes.push(format!("refused {} times, and no more are played; {cap}", course.refused));
                course.ends = Some(Ends::Never);
                break;
            }
            let mut options = asked.options.clone();
            for (key, value) in flow.again.fields(course.refused, asked.recording.payload()) {
                options.set.insert(key, value);
            }
            let firing = self.simulator.fire_as(asked.recording, &options)?;
            let because =
                format!("the stop was refused: the model goes on and stops again ({})", course.refused);
            course.played.push(Played { because: Some(because), firing });
        }
        Ok(())
    }

    fn compaction(
        &mut self,
        flow: &Flow,
        state: &mut Session,
        asked: &Asked,
        course: &mut Course,
    ) -> Result<(), FireError> {
        let trigger = trigger(asked).to_owned();
        for follow in (flow.after_compaction)(&trigger) {
            if follow.when == When::AtNextPrompt {
                course.notes.push(follow.why.to_owned());
                state.pending.push(*follow);
                continue;
            }
            course.played.extend(self.follow_of(*follow, asked.recording, &trigger, &mut course.notes)?);
        }
        Ok(())
    }

    fn follow(
        &mut self,
        follow: Follow,
        base: &Recording,
        notes: &mut Vec<String>,
    ) -> Result<Option<Played>, FireError> {
        self.follow_of(follow, base, "", notes)
    }

    /// Fires what comes of an event; nothing where there is no recording of it, which a note says.
    fn follow_of(
        &mut self,
        follow: Follow,
        base: &Recording,
        trigger: &str,
        notes: &mut Vec<String>,
    ) -> Result<Option<Played>, FireError> {
        let Some(recording) = like(follow, base, trigger) else {
            notes.push(format!("{}: there is no recording of that {}", follow.why, follow.event));
            return Ok(None);
        };
        let mut options = Options::default();
        if recording.payload().get("trigger").is_some() {
            options.set.insert("trigger".to_owned(), Value::from(trigger));
        }
        let firing = self.simulator.fire_as(recording, &options)?;
        Ok(Some(Played { because: Some(follow.why.to_owned()), firing }))
    }
}

/// The trigger of a compaction, as this run's payload has it.
fn trigger(asked: &Asked) -> &str {
    let set = asked.options.set.get("trigger");
    set.or_else(|| asked.recording.payload().get("trigger")).and_then(Value::as_str).unwrap_or_default()
}

/// The recording of what comes of an event: the same trigger and the same mode, where there is one.
fn like(follow: Follow, base: &Recording, trigger: &str) -> Option<&'static Recording> {
    let text =
        |recording: &'static Recording, key: &str| recording.payload().get(key).and_then(Value::as_str);
    recording::all()
        .iter()
        .filter(|recording| (recording.harness, recording.version) == (base.harness, base.version))
        .filter(|recording| recording.event == follow.event && !recording.is_foreign())
        .filter(|recording| follow.with.is_none_or(|(key, value)| text(recording, key) == Some(value)))
        .min_by_key(|recording| {
            let other_trigger = text(recording, "trigger").is_some_and(|of| of != trigger);
            (other_trigger, recording.provenance.mode != base.provenance.mode, recording.name.len())
        })
}

fn refused_by_foreign(simulator: &Simulator, firing: &Firing) -> bool {
    let mut refusing = firing.of(Kind::StopRefused).filter_map(|effect| effect.command);
    refusing.any(|at| firing.commands.get(at).is_some_and(|run| simulator.is_foreign(&run.command)))
}

/// The refusal that is one too many.
fn give_up(harness: Harness, refused: u32, firing: &mut Firing) {
    for effect in firing.effects.iter_mut().filter(|effect| effect.kind == Kind::StopRefused) {
        let said = effect.why.take().unwrap_or_default();
        *effect = Effect {
            delivered: Some(Delivered::Ignored),
            command: effect.command,
            ..Effect::because(
                Kind::Ignored,
                format!(
                    "{} has obeyed {refused} refusals and ends the turn over this one: {said}",
                    harness.name()
                ),
            )
        };
    }
}
