//! The fields that a harness reads in an answer: which, of what shape, at which events. What an answer has beside them is
//! lost without a word in most harnesses; here it gets one.

mod review;

use serde_json::{Map, Value};

use super::Harness;
use super::answer::{Wrong, kind};

pub(crate) use review::Review;

/// How much a name has to be like a known one to be taken for a slip of the pen.
const LIKE: f64 = 0.7;

/// The shape of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Takes {
    Text,
    Flag,
    Number,
    Object,
    List,
    Words(&'static [&'static str]),
    Anything,
}

/// What a field is for. Fields of two harnesses with the same role do the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Whether something may happen.
    Decides,
    /// Why: for the model or the user.
    Reason,
    /// Whether the turn goes on.
    GoesOn,
    /// What the model is told at a stop, and then goes on with.
    FollowUp,
    /// Text for the model.
    Context,
    /// Text for the user.
    Message,
    /// Another input or output of a tool.
    Rewrites,
    /// What holds other fields, or names the event.
    Frame,
    /// What changes nothing of the above.
    Other,
}

/// A field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// Its full name: `hookSpecificOutput.additionalContext`.
    path: &'static str,
    takes: Takes,
    role: Role,
    /// The events at which it is read; none means all.
    at: &'static [&'static str],
}

/// A field that is read at these events; none means all.
pub(crate) const fn field(
    path: &'static str,
    takes: Takes,
    role: Role,
    at: &'static [&'static str],
) -> Field {
    Field { path, takes, role, at }
}

/// What a harness reads.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    pub(crate) harness: Harness,
    pub(crate) fields: &'static [Field],
    /// Whether it is known that it reads nothing else.
    pub(crate) is_certain: bool,
}

impl Takes {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Object => value.is_object(),
            Self::List => value.is_array(),
            Self::Words(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Anything => true,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Object => "an object".to_owned(),
            Self::List => "a list".to_owned(),
            Self::Words(words) => format!("one of {}", words.join(", ")),
            Self::Anything => "any value".to_owned(),
        }
    }
}

impl Role {
    /// What does the same in another harness, the nearest first.
    fn like(self) -> &'static [Self] {
        match self {
            Self::Decides => &[Self::Decides, Self::GoesOn, Self::FollowUp],
            Self::GoesOn => &[Self::GoesOn, Self::Decides],
            Self::FollowUp => &[Self::FollowUp, Self::Decides],
            Self::Reason => &[Self::Reason, Self::Message],
            Self::Message => &[Self::Message, Self::Reason],
            Self::Context => &[Self::Context],
            Self::Rewrites => &[Self::Rewrites],
            Self::Frame | Self::Other => &[],
        }
    }

    fn decides(self) -> bool {
        matches!(self, Self::Decides | Self::GoesOn | Self::FollowUp)
    }
}

impl Field {
    fn is_read_at(&self, event: &str) -> bool {
        self.at.is_empty() || self.at.contains(&event)
    }

    fn leaf(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, leaf)| leaf)
    }

    fn parent(&self) -> &'static str {
        parent(self.path)
    }
}

impl Vocabulary {
    /// That a field of this name has no effect.
    fn not_read(&self, path: &str) -> String {
        let by = if self.is_certain { "is not read by" } else { "is not known to be read by" };
        format!("{path} {by} {}", self.harness.name())
    }

    /// The field of this name.
    fn field(&self, path: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.path == path)
    }

    /// The first field that is not of the shape which is read here.
    pub(crate) fn wrong(&self, event: &str, value: &Value) -> Result<(), Wrong> {
        for field in self.fields.iter().filter(|field| field.is_read_at(event)) {
            let found = field.path.split('.').try_fold(value, |value, key| value.get(key));
            if let Some(found) = found.filter(|found| !found.is_null() && !field.takes.fits(found)) {
                return Err(misfit(field, found));
            }
        }
        Ok(())
    }

    /// The first field that is not read here, with what was perhaps meant.
    pub(crate) fn stranger(&self, event: &str, fields: &Map<String, Value>, place: &str) -> Option<String> {
        let path = fields
            .keys()
            .map(|key| full(place, key))
            .find(|path| !self.field(path).is_some_and(|field| field.is_read_at(event)))?;
        let hint = match self.field(&path) {
            Some(field) => Some(format!("it is read at {} only", field.at.join(", "))),
            None => self.hint(event, &path).map(|(hint, _)| hint),
        };
        Some(hint.map_or_else(|| path.clone(), |hint| format!("{path}: {hint}")))
    }

    /// What was perhaps meant by a field that is not known, and whether more than an ornament is lost.
    fn hint(&self, event: &str, path: &str) -> Option<(String, bool)> {
        let name = self.harness.name();
        let (above, leaf) = (parent(path), path.rsplit_once('.').map_or(path, |(_, leaf)| leaf));
        // Right but for its place.
        let elsewhere = |field: &&Field| field.leaf() == leaf && field.role != Role::Frame;
        let elsewhere = self.fields.iter().filter(elsewhere);
        if let Some(field) = elsewhere.max_by_key(|field| field.is_read_at(event)) {
            let place = match field.parent() {
                "" => "at the top of the answer".to_owned(),
                parent => format!("inside {parent}"),
            };
            let place = if field.parent() == "hookSpecificOutput" && above.is_empty() {
                format!("{place}, beside hookEventName")
            } else {
                place
            };
            let only = if field.is_read_at(event) {
                String::new()
            } else {
                format!(", and at {} only", field.at.join(", "))
            };
            return Some((format!("{leaf} belongs {place}{only}"), field.role != Role::Other));
        }
        // Another harness's word.
        let others: Vec<(Harness, &Field)> = Harness::ALL
            .into_iter()
            .filter(|harness| *harness != self.harness)
            .filter_map(|harness| Some((harness, harness.account()?.vocabulary())))
            .filter_map(|(harness, other)| {
                let found = other.field(path);
                Some((harness, found.or_else(|| other.fields.iter().find(|field| field.leaf() == leaf))?))
            })
            .collect();
        if let Some((_, field)) = others.first() {
            let owners: Vec<String> = others.iter().map(|(owner, _)| format!("{}'s", owner.name())).collect();
            let owners = listed(&owners, "and");
            let hint = match self.same(event, field.role) {
                Some(own) => format!("it is {owners}; {name} reads {own}"),
                None => format!("it is {owners}; {name} has nothing like it"),
            };
            return Some((hint, field.role != Role::Other));
        }
        self.nearest(event, above, leaf).map(|field| {
            let meant = if field.parent() == above { field.leaf() } else { field.path };
            let only = if field.is_read_at(event) {
                String::new()
            } else {
                format!("; it is read at {} only", field.at.join(", "))
            };
            (format!("did you mean {meant} ({})?{only}", field.takes.name()), field.role != Role::Other)
        })
    }

    /// The fields that do the same here, at this event or, failing that, at others.
    fn same(&self, event: &str, role: Role) -> Option<String> {
        for role in role.like() {
            let here: Vec<String> = self
                .fields
                .iter()
                .filter(|field| field.role == *role && field.is_read_at(event))
                .map(|field| field.path.to_owned())
                .collect();
            if !here.is_empty() {
                return Some(listed(&here, "or"));
            }
        }
        let elsewhere =
            role.like().iter().find_map(|role| self.fields.iter().find(|field| field.role == *role));
        elsewhere.map(|field| format!("{}, at {} only", field.path, field.at.join(", ")))
    }

    /// The field whose name is most like this one; one that is read here and stands at the same place comes first.
    fn nearest(&self, event: &str, above: &str, leaf: &str) -> Option<&'static Field> {
        let plain = plain(leaf);
        let scored = self.fields.iter().filter_map(|field| {
            let same_place = field.parent() == above;
            let like = strsim::normalized_damerau_levenshtein(&self::plain(field.leaf()), &plain);
            if like < LIKE || (field.role == Role::Frame && !same_place) {
                return None;
            }
            let nearer = f64::from(u8::from(same_place)) + f64::from(u8::from(field.is_read_at(event)));
            Some((like + nearer * 0.1, field))
        });
        scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, field)| field)
    }

    /// Whether there are fields inside this one.
    fn holds(&self, path: &str) -> bool {
        self.fields.iter().any(|field| field.parent() == path)
    }

    /// The fields that are read at this event and matter, without those that hold others.
    fn here(&self, event: &str) -> String {
        let names: Vec<&str> = self
            .fields
            .iter()
            .filter(|field| field.is_read_at(event) && !matches!(field.role, Role::Frame | Role::Other))
            .map(|field| field.path)
            .collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
    }
}

fn misfit(field: &Field, value: &Value) -> String {
    match (field.takes, value) {
        (Takes::Words(words), Value::String(word)) => {
            format!("{} is {word:?}, not one of {}", field.path, words.join(", "))
        }
        _ => format!("{} is {}, not {}", field.path, kind(value), field.takes.name()),
    }
}

/// A name without what people write in different ways.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

fn full(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}

fn listed(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}
