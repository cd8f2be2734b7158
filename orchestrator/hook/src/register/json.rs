//! Hooks in a JSON file that others write, too: ours are added and taken out in place, and everything else stays byte for
//! byte. Text in, text out; which file it is, and who keeps the original, is the caller's business.
//!
//! Edits are splices of the text at places that the parser gives. Taking out is the exact inverse of adding: what
//! [`add`] made, [`remove`] unmakes to the byte, with [`Made`] for what the text itself cannot tell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::harness::registration::{Dialect, Entry, Shape};

mod adding;
mod document;
mod judge;
mod ours;
mod removing;
mod splice;
mod style;
#[cfg(test)]
mod tests;

pub use document::Rejected;

use adding::Adding;
use document::Document;
use judge::{hooks_once, judge};
use ours::Ours;
use removing::Removing;
use style::Style;

/// What a document that did not exist begins as.
const FRESH: &str = "{}\n";
/// One step is one handler or one value of it. A bound, so that no text can keep an install busy for ever.
const MOST_STEPS: usize = 200;

/// Tells whether a command is one of our handlers, for the harness at hand.
pub type IsOurs<'a> = &'a dyn Fn(&str) -> bool;

/// What an [`add`] made that was not there before, so that a later [`remove`] can take it out again. A record of it is
/// kept and handed to the next `add`, which returns it brought up to date.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Made {
    /// The whole document: the text was absent, empty or blank.
    pub root: bool,
    /// The key `version`.
    pub version: bool,
    /// The key `hooks`.
    pub hooks: bool,
    /// The keys of these events.
    pub events: Vec<String>,
    /// What stood between the brackets of a container that was there and empty, by its path: `""` (the root), `"hooks"`,
    /// `"hooks.<event>"`. Only white space, and only where there was any.
    pub blanks: BTreeMap<String, String>,
}

/// What [`add`] comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The text with ours in it; byte-identical where `changes` is empty.
    pub text: String,
    /// What of it has to go with ours.
    pub made: Made,
    /// What was done, in order. Empty: there was nothing to do.
    pub changes: Vec<Change>,
}

/// One thing that [`add`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The key `version` was put in.
    Version,
    /// A handler was added.
    Added {
        /// Its event.
        event: String,
    },
    /// The values of a handler of ours were brought up to date.
    Rewritten {
        /// Its event.
        event: String,
    },
    /// A handler of ours that is not wanted any more, or was there twice, was taken out.
    Removed {
        /// Its event.
        event: String,
    },
}

/// What [`remove`] comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The text without ours.
    pub text: String,
    /// Nothing is left but an empty document that ours alone had brought about: the caller puts the original back.
    pub is_bare: bool,
    /// How many handlers were taken out.
    pub removed: usize,
}

/// A handler of ours as it stands in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The harness's name of the event.
    pub event: String,
    /// Its place in the event's list, from 0.
    pub group: usize,
    /// Its place in its group, from 0; 0 in a flat list.
    pub handler: usize,
    /// What the harness's shell runs.
    pub command: String,
    /// In seconds, if it has one.
    pub timeout: Option<f64>,
    /// What it is restricted to: with one, it does not see every call.
    pub matcher: Option<String>,
    /// Keys of the handler that are none of ours.
    pub other_keys: Vec<String>,
}

/// Puts the `wanted` entries in, the first of each event, and takes handlers of ours that are not wanted out. A handler of ours
/// that is there stays where it is: only its values are brought up to date. A new one goes last in its event's list.
///
/// `earlier` is what earlier calls made. In a text that holds nothing of ours any more it is void; without it, in a text
/// that does, what holds nothing but ours counts as made by us.
///
/// # Errors
/// The text is none that the harness reads, or something else than hooks stands where ours would have to go.
///
/// ```
/// use dogwatch::harness::registration::{Dialect, Entry, Shape};
/// use dogwatch::register::json::{add, remove};
///
/// let strict = Dialect { comments: false, trailing_commas: false, byte_order_mark: false, root_keys: None, handler_types: None };
/// let command = "/usr/local/bin/dogwatch hook claude session-open".to_owned();
/// let entry = Entry { event: "SessionStart", command, timeout: 30 };
/// let is_ours = |command: &str| command.contains("dogwatch hook claude ");
///
/// let text = "{\n    \"model\": \"opus\"\n}";
/// let added = add(Some(text), Shape::Nested, &strict, &[entry], &is_ours, None)?;
/// assert!(added.text.starts_with("{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"SessionStart\": ["));
///
/// let removed = remove(&added.text, Shape::Nested, &strict, &is_ours, Some(&added.made))?;
/// assert_eq!(removed.text, text);
/// # Ok::<(), dogwatch::register::json::Rejected>(())
/// ```
pub fn add(
    text: Option<&str>,
    shape: Shape,
    dialect: &Dialect,
    wanted: &[Entry],
    is_ours: IsOurs<'_>,
    earlier: Option<&Made>,
) -> Result<Added, Rejected> {
    let original = text.unwrap_or_default();
    let (mut mark, body) = document::split_mark(original, dialect)?;
    let mut body = body.to_owned();
    let is_ours = |command: &str| is_ours(command) || wanted.iter().any(|entry| entry.command == command);

    let made = if !document::is_blank(&body) {
        let document = Document::parse(&body, dialect)?;
        let events: Vec<&str> = wanted.iter().map(|entry| entry.event).collect();
        judge(&document, shape, dialect, &events)?;
        match earlier {
            Some(earlier) if !ours::all(&document, shape, &is_ours).is_empty() => earlier.clone(),
            _ => adding::surmise(original, shape, dialect, &is_ours)?,
        }
    } else if wanted.is_empty() {
        return Ok(Added { text: original.to_owned(), made: Made::default(), changes: Vec::new() });
    } else {
        (mark, body) = ("", FRESH.to_owned());
        Made { root: true, ..Made::default() }
    };

    let style = Style::of(&Document::parse(&body, dialect)?);
    let mut adding = Adding { shape, wanted, is_ours: &is_ours, style, made, changes: Vec::new() };
    for _ in 0..MOST_STEPS {
        let edits = adding.next(&Document::parse(&body, dialect)?);
        if edits.is_empty() {
            let text = if adding.changes.is_empty() { original.to_owned() } else { format!("{mark}{body}") };
            return Ok(Added { text, made: adding.made, changes: adding.changes });
        }
        body = splice::apply(&body, edits);
    }
    Err(Rejected::at(original, 0, "it holds more hooks of dogwatch than can be brought up to date"))
}

/// Takes exactly our handlers out, and with them what `made` says was made for them and is empty now. Without `made`
/// a list and the key `hooks` go if they became empty by it.
///
/// # Errors
/// The text is no JSON of the harness, or has two keys `hooks`. Nothing else is judged: what keeps us from adding does not
/// keep us from leaving.
pub fn remove(
    text: &str,
    shape: Shape,
    dialect: &Dialect,
    is_ours: IsOurs<'_>,
    made: Option<&Made>,
) -> Result<Removed, Rejected> {
    let (mark, body) = document::split_mark(text, dialect)?;
    if document::is_blank(body) {
        let is_bare = made.is_some_and(|made| made.root);
        return Ok(Removed { text: text.to_owned(), is_bare, removed: 0 });
    }
    let mut body = body.to_owned();
    let mut removing = Removing { shape, is_ours, made, emptied: Vec::new(), removed: 0 };
    loop {
        let document = Document::parse(&body, dialect)?;
        hooks_once(&document)?;
        let edits = removing.next(&document);
        if edits.is_empty() {
            let is_bare = document.is_bare() && made.map_or_else(|| removing.removed > 0, |made| made.root);
            return Ok(Removed { is_bare, removed: removing.removed, text: format!("{mark}{body}") });
        }
        body = splice::apply(&body, edits);
    }
}

/// The handlers of ours that a text has, in its order.
///
/// # Errors
/// The harness does not read this text, or not the lists in which ours stand.
pub fn find(
    text: &str,
    shape: Shape,
    dialect: &Dialect,
    is_ours: IsOurs<'_>,
) -> Result<Vec<Found>, Rejected> {
    let (_, body) = document::split_mark(text, dialect)?;
    if document::is_blank(body) {
        return Ok(Vec::new());
    }
    let document = Document::parse(body, dialect)?;
    let ours = ours::all(&document, shape, is_ours);
    let events: Vec<&str> = ours.iter().map(Ours::event).collect();
    judge(&document, shape, dialect, &events)?;
    Ok(ours.iter().map(|ours| ours.found(&document)).collect())
}
