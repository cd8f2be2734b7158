//! What a scenario expects of a step: reading it from the file. Whether it came so is `check.rs`.

use std::time::Duration;

use toml_edit::Item;

use super::read::{Field, Fields};
use crate::report::{Delivered, Kind};
use crate::sequence::Ends;

/// What a step is to come to. What it does not speak of is not looked at, with three exceptions: no hook may fail, none
/// may leave a process behind, and there has to be one.
#[derive(Debug, Clone, Default)]
pub(super) struct Expect {
    pub(super) line: usize,
    /// How many hooks take the event.
    pub(super) commands: Option<usize>,
    /// How each of them ends: one for all, or one for each.
    pub(super) exit: Option<Vec<ExitIs>>,
    pub(super) timed_out: Option<bool>,
    pub(super) stdout_eof: Option<bool>,
    pub(super) within: Option<Duration>,
    pub(super) at_least: Option<Duration>,
    /// Processes that were left behind, undeclared ones, and all.
    pub(super) leaks: Option<usize>,
    pub(super) survivors: Option<usize>,
    /// Nobody notices the hook.
    pub(super) silent: Option<bool>,
    /// Nothing comes of it but what is named.
    pub(super) only: bool,
    pub(super) kinds: Vec<(Kind, Wanted)>,
    /// A note of the report has this in it.
    pub(super) notes: Vec<String>,
    /// The events that the step comes to, in order.
    pub(super) events: Option<Vec<String>>,
    /// What is expected of the events that come of this one, in order.
    pub(super) then: Vec<Then>,
    pub(super) refused: Option<usize>,
    pub(super) ends: Option<Ends>,
    pub(super) beside: Option<bool>,
}

/// How a hook ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExitIs {
    Code(i32),
    /// A signal's name, or `not started`.
    Word(String),
}

/// What is expected of one kind of effect.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    pub(super) is_there: Option<bool>,
    pub(super) contains: Vec<String>,
    pub(super) lacks: Vec<String>,
    pub(super) why: Vec<String>,
    pub(super) delivered: Option<Delivered>,
    pub(super) bytes: Option<(usize, usize)>,
    pub(super) count: Option<usize>,
}

/// What is expected of an event that comes of the step's.
#[derive(Debug, Clone)]
pub(super) struct Then {
    pub(super) event: String,
    pub(super) expect: Expect,
}

/// The kinds of effects, as they are called in a scenario.
pub(super) const KINDS: &[(&str, Kind)] = &[
    ("context", Kind::Context),
    ("denied", Kind::Denied),
    ("asked", Kind::Asked),
    ("ran", Kind::Ran),
    ("stop_refused", Kind::StopRefused),
    ("ignored", Kind::Ignored),
    ("failed", Kind::Failed),
    ("message", Kind::Message),
];

const DELIVERED: &[(&str, Delivered)] = &[
    ("whole", Delivered::Whole),
    ("preview", Delivered::Preview),
    ("cut", Delivered::Cut),
    ("ignored", Delivered::Ignored),
];

const ENDS: &[(&str, Ends)] = &[("allowed", Ends::Allowed), ("capped", Ends::Capped), ("never", Ends::Never)];

impl Expect {
    pub(super) fn of(fields: &Fields<'_>) -> Self {
        let expect = Self::read(fields);
        fields.done();
        expect
    }

    fn read(fields: &Fields<'_>) -> Self {
        let line = fields.reader.position(fields.span.clone().map_or(0, |span| span.start)).0;
        let kinds =
            KINDS.iter().filter_map(|(name, kind)| Some((*kind, Wanted::of(&fields.get(name)?)))).collect();
        let then = fields.tables("then").unwrap_or_default();
        Self {
            line,
            commands: fields.count("commands"),
            exit: fields.get("exit").and_then(|field| exits(&field)),
            timed_out: fields.flag("timed_out"),
            stdout_eof: fields.flag("stdout_eof"),
            within: fields.duration("within"),
            at_least: fields.duration("at_least"),
            leaks: fields.count("leaks"),
            survivors: fields.count("survivors"),
            silent: fields.flag("silent"),
            only: fields.flag("only").unwrap_or(false),
            kinds,
            notes: fields.texts("note").unwrap_or_default(),
            events: fields.texts("events"),
            then: then.iter().map(Then::of).collect(),
            refused: fields.count("refused"),
            ends: fields.get("ends").and_then(|field| field.word(ENDS)),
            beside: fields.flag("beside"),
        }
    }

    /// What is expected of this kind, if anything is.
    pub(super) fn of_kind(&self, kind: Kind) -> Option<&Wanted> {
        self.kinds.iter().find(|(of, _)| *of == kind).map(|(_, wanted)| wanted)
    }
}

impl Then {
    fn of(fields: &Fields<'_>) -> Self {
        let event = fields.text("event");
        if !fields.has("event") {
            fields
                .reader
                .problem(fields.span.clone(), "an entry of `then` has no `event`: which one is meant?");
        }
        let expect = Expect::read(fields);
        for key in ["then", "events", "refused", "ends"] {
            if fields.has(key) {
                fields
                    .reader
                    .problem(fields.span.clone(), format!("`{key}` belongs into the step's own `expect`"));
            }
        }
        fields.done();
        Self { event: event.unwrap_or_default(), expect }
    }
}

impl Wanted {
    /// `true`, `false`, a text, or a table.
    fn of(field: &Field<'_>) -> Self {
        if let Some(is_there) = field.item.as_bool() {
            return Self { is_there: Some(is_there), ..Self::default() };
        }
        if field.item.as_str().is_some() || field.item.is_array() {
            return Self { contains: field.texts().unwrap_or_default(), ..Self::default() };
        }
        let Some(fields) = Fields::of(field.reader, field.item, &field.name) else {
            field.wrong("true, false, a text or a table");
            return Self::default();
        };
        let wanted = Self {
            is_there: None,
            contains: fields.texts("contains").unwrap_or_default(),
            lacks: fields.texts("lacks").unwrap_or_default(),
            why: fields.texts("why").unwrap_or_default(),
            delivered: fields.get("delivered").and_then(|field| field.word(DELIVERED)),
            bytes: fields.get("bytes").and_then(|field| range(&field)),
            count: fields.count("count"),
        };
        fields.done();
        wanted
    }
}

/// A number, or a table of `least` and `most`.
fn range(field: &Field<'_>) -> Option<(usize, usize)> {
    if field.item.is_integer() {
        return field.count().map(|bytes| (bytes, bytes));
    }
    let Some(fields) = Fields::of(field.reader, field.item, &field.name) else {
        field.wrong("a number, or a table of `least` and `most`");
        return None;
    };
    let range = (fields.count("least").unwrap_or(0), fields.count("most").unwrap_or(usize::MAX));
    fields.done();
    if range.0 > range.1 {
        field.problem(format!("{} has a least that is more than the most", field.name));
    }
    Some(range)
}

fn exits(field: &Field<'_>) -> Option<Vec<ExitIs>> {
    let one = |number: Option<i64>, text: Option<&str>| match (number, text) {
        (Some(code), _) => i32::try_from(code).ok().map(ExitIs::Code),
        (None, Some("not started")) => Some(ExitIs::Word("not started".to_owned())),
        (None, Some(name)) if name.starts_with("SIG") => Some(ExitIs::Word(name.to_owned())),
        (None, _) => None,
    };
    let found: Option<Vec<ExitIs>> = match field.item {
        Item::Value(toml_edit::Value::Array(list)) => {
            list.iter().map(|value| one(value.as_integer(), value.as_str())).collect()
        }
        item => one(item.as_integer(), item.as_str()).map(|exit| vec![exit]),
    };
    if found.is_none() {
        field.problem(format!(
            "{} is no end of a hook: an exit code, a signal as \"SIGKILL\", \"not started\", or a list with one for each",
            field.name
        ));
    }
    found
}
