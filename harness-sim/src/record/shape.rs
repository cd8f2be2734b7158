//! The shape of payloads: which keys there are, and of what type. What a new version of a CLI changes shows there. What
//! stands in lists and in the arguments of tools is not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// Keys, as paths, with the types that were seen there.
pub(super) type Shape = BTreeMap<String, BTreeSet<&'static str>>;

/// What of a payload belongs to a tool, and differs from tool to tool.
const OF_A_TOOL: &[&str] =
    &["tool_input", "toolInput", "tool_response", "toolResponse", "tool_output", "input", "args", "details"];

/// What a recording has in the place of what was too long: it may have been anything.
const LEFT_OUT: &str = "left out";

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Change {
    /// No recording of the event has this key.
    Came {
        /// The event.
        event: String,
        /// The key, as a path.
        key: String,
        /// What it holds.
        now: String,
    },
    /// Every recording of the event has it, and none of the new ones.
    Went {
        /// The event.
        event: String,
        /// The key, as a path.
        key: String,
    },
    /// It holds something of another type.
    Type {
        /// The event.
        event: String,
        /// The key, as a path.
        key: String,
        /// What it held.
        before: String,
        /// What it holds.
        now: String,
    },
    /// There is no recording of this event.
    NewEvent {
        /// The event.
        event: String,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Came { event, key, now } => write!(f, "{event}: {key} came ({now})"),
            Change::Went { event, key } => write!(f, "{event}: {key} went"),
            Change::Type { event, key, before, now } => write!(f, "{event}: {key} was {before}, is {now}"),
            Change::NewEvent { event } => write!(f, "{event}: no recording of this event"),
        }
    }
}

/// How new payloads differ from the recordings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// The version of the recordings.
    pub version: String,
    /// The events that were compared.
    pub compared: Vec<String>,
    /// Events with recordings of which nothing new was taken.
    pub not_seen: Vec<String>,
    /// The differences.
    pub changes: Vec<Change>,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "compared with the recordings of {}: {} events, {} differences in shape",
            self.version,
            self.compared.len(),
            self.changes.len()
        )?;
        self.changes.iter().try_for_each(|change| writeln!(f, "  {change}"))?;
        if !self.not_seen.is_empty() {
            writeln!(f, "  not seen this time: {}", self.not_seen.join(", "))?;
        }
        Ok(())
    }
}

/// The shape of one payload.
pub(super) fn of(payload: &Value) -> Shape {
    let mut shape = Shape::new();
    walk(payload, "", &mut shape);
    shape
}

fn walk(value: &Value, path: &str, shape: &mut Shape) {
    if !path.is_empty() {
        shape.entry(path.to_owned()).or_default().insert(kind(value));
    }
    // What stands in a list differs from entry to entry: messages, parts, content.
    if let Value::Object(map) = value {
        for (key, value) in map {
            let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            if OF_A_TOOL.contains(&key.as_str()) {
                shape.entry(below).or_default().insert(kind(value));
            } else {
                walk(value, &below, shape);
            }
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(text) if text.starts_with('<') && text.ends_with("left out>") => LEFT_OUT,
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Compares event by event. A key that only some recordings have may be missing; below a key that is missing nothing is
/// missed.
pub(super) fn compare(version: &str, known: &[(&str, &Value)], new: &[(&str, &Value)]) -> Drift {
    let group = |all: &[(&str, &Value)]| {
        let mut groups: BTreeMap<String, Vec<Shape>> = BTreeMap::new();
        for (event, payload) in all {
            groups.entry((*event).to_owned()).or_default().push(of(payload));
        }
        groups
    };
    let (known, new) = (group(known), group(new));
    let mut changes = Vec::new();
    for (event, now) in &new {
        let Some(before) = known.get(event) else {
            changes.push(Change::NewEvent { event: event.clone() });
            continue;
        };
        differences(event, before, now, &mut changes);
    }
    let compared = new.keys().filter(|event| known.contains_key(*event)).cloned().collect();
    let not_seen = known.keys().filter(|event| !new.contains_key(*event)).cloned().collect();
    Drift { version: version.to_owned(), compared, not_seen, changes }
}

fn differences(event: &str, before: &[Shape], now: &[Shape], changes: &mut Vec<Change>) {
    let event = event.to_owned();
    let (had, has) = (union(before), union(now));
    let is_below = |key: &str, above: &str| key.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'));
    let is_known = |key: &str| {
        had.contains_key(key)
            || had.iter().any(|(above, kinds)| kinds.contains(LEFT_OUT) && is_below(key, above))
    };
    let came: Vec<&String> = has.keys().filter(|key| !is_known(key)).collect();
    for key in &came {
        if !came.iter().any(|above| is_below(key, above)) {
            let now = words(&has[*key]);
            changes.push(Change::Came { event: event.clone(), key: (*key).clone(), now });
        }
    }
    let always: Vec<&String> =
        had.keys().filter(|key| before.iter().all(|shape| shape.contains_key(*key))).collect();
    let is_left_out =
        |key: &str| has.iter().any(|(above, kinds)| kinds.contains(LEFT_OUT) && is_below(key, above));
    let went: Vec<&&String> =
        always.iter().filter(|key| !has.contains_key(**key) && !is_left_out(key)).collect();
    for key in &went {
        if !went.iter().any(|above| is_below(key, above)) {
            changes.push(Change::Went { event: event.clone(), key: (**key).clone() });
        }
    }
    for (key, now) in &has {
        if let Some(before) = had.get(key)
            && now.is_disjoint(before)
            && !before.contains(LEFT_OUT)
            && !now.contains(LEFT_OUT)
        {
            let (before, now) = (words(before), words(now));
            changes.push(Change::Type { event: event.clone(), key: key.clone(), before, now });
        }
    }
}

fn union(shapes: &[Shape]) -> Shape {
    let mut all = Shape::new();
    for shape in shapes {
        for (key, kinds) in shape {
            all.entry(key.clone()).or_default().extend(kinds.iter().copied());
        }
    }
    all
}

fn words(kinds: &BTreeSet<&'static str>) -> String {
    kinds.iter().copied().collect::<Vec<_>>().join(" or ")
}
