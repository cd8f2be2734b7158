//! One look through an answer: what it holds and nobody reads.

use serde_json::{Map, Value};

use super::super::Harness;
use super::{Field, Role, Vocabulary, full, misfit};

/// What an answer holds and nobody reads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Review {
    /// A decision, a reason, or text for somebody that is lost; or the whole answer.
    pub(crate) lost: Vec<String>,
    /// What does no harm.
    pub(crate) notes: Vec<String>,
}

impl Vocabulary {
    /// What nobody reads of an answer to this event. Of the fields in `handled` somebody else speaks. `decided`: the
    /// decision came with the exit code.
    pub(crate) fn review(&self, event: &str, answer: &Value, handled: &[&str], decided: bool) -> Review {
        let Some(map) = answer.as_object().filter(|map| !map.is_empty()) else { return Review::default() };
        let mut walk = Walk {
            vocabulary: self,
            event,
            handled,
            decided,
            review: Review::default(),
            strangers: Vec::new(),
            reason: None,
            is_read: false,
        };
        walk.fields(map, "");
        walk.done()
    }
}

/// One look through an answer.
struct Walk<'a> {
    vocabulary: &'a Vocabulary,
    event: &'a str,
    handled: &'a [&'a str],
    decided: bool,
    review: Review,
    /// Fields that nobody knows.
    strangers: Vec<String>,
    /// A reason that is there.
    reason: Option<&'static str>,
    /// Something is read here.
    is_read: bool,
}

impl Walk<'_> {
    fn fields(&mut self, map: &Map<String, Value>, place: &str) {
        for (key, value) in map {
            let path = full(place, key);
            if self.handled.contains(&path.as_str()) {
                self.is_read = true;
            } else if let Some(field) = self.vocabulary.field(&path) {
                self.known(field, value);
            } else {
                self.unknown(&path, value);
            }
        }
    }

    fn known(&mut self, field: &'static Field, value: &Value) {
        if value.is_null() {
            return;
        }
        let (path, matters) = (field.path, field.role != Role::Other);
        if !field.is_read_at(self.event) {
            let text = format!("{path} is read at {} only, not at {}", field.at.join(", "), self.event);
            self.say(text, matters && !is_neutral(value));
        } else if !field.takes.fits(value) {
            let then =
                if self.vocabulary.is_certain { "it is not read" } else { "what comes of it is not known" };
            self.say(format!("{}: {then}", misfit(field, value)), matters);
        } else {
            self.decided |= field.role.decides();
            match (field.role, value) {
                (Role::Frame, Value::Object(inner)) => self.fields(inner, path),
                (Role::Frame, named) if path.ends_with(".hookEventName") && named != self.event => {
                    let text = format!("{path} is {named}, and this is {}", self.event);
                    self.say(format!("{text}; what becomes of it is not known"), false);
                }
                (Role::Frame, _) => {}
                (Role::Reason, _) => self.reason = Some(path),
                (_, Value::Object(inner)) if self.vocabulary.holds(path) => {
                    self.is_read = true;
                    self.fields(inner, path);
                }
                _ => self.is_read = true,
            }
        }
    }

    fn unknown(&mut self, path: &str, value: &Value) {
        // What stands inside another harness's frame is what its words are about.
        let foreign = |harness: &Harness| harness.account().is_some_and(|it| it.vocabulary().holds(path));
        if let Some(inner) = value.as_object()
            && Harness::ALL.iter().any(foreign)
        {
            let before = (self.review.lost.len(), self.review.notes.len());
            let named = inner.iter().filter(|(key, _)| *key != "hookEventName");
            self.fields(&named.map(|(key, value)| (key.clone(), value.clone())).collect(), path);
            if before != (self.review.lost.len(), self.review.notes.len()) {
                return;
            }
        }
        match self.vocabulary.hint(self.event, path) {
            Some((hint, matters)) => {
                let text = format!("{}: {hint}", self.vocabulary.not_read(path));
                self.say(text, matters);
            }
            None => self.strangers.push(path.to_owned()),
        }
    }

    fn say(&mut self, text: String, matters: bool) {
        let to = if matters { &mut self.review.lost } else { &mut self.review.notes };
        to.push(text);
    }

    fn done(mut self) -> Review {
        let (name, event) = (self.vocabulary.harness.name(), self.event);
        if !self.strangers.is_empty() {
            let text = format!(
                "unknown fields: {}; at {event} {name} reads {}",
                self.strangers.join(", "),
                self.vocabulary.here(event)
            );
            self.say(text, false);
        }
        if !self.is_read && self.reason.is_none() {
            if self.review == Review::default() {
                self.say(format!("the answer says nothing that {name} reads at {event}"), true);
            } else {
                self.review.lost.append(&mut self.review.notes);
            }
        }
        if let Some(reason) = self.reason.filter(|_| !self.decided && self.review.lost.is_empty()) {
            self.say(format!("{reason} is the reason of a decision, and there is no decision"), true);
        }
        self.review
    }
}

/// A value that says what would be without it.
fn is_neutral(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => *flag,
        Value::String(word) => ["", "allow", "approve", "defer"].contains(&word.as_str()),
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Number(_) => false,
    }
}
