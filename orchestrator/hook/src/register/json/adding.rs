//! The steps of [`add`](super::add): what is not wanted goes out, what is there is brought up to date, what is missing comes in.

use serde_json::json;

use super::document::{Document, Rejected, split_mark};
use super::ours::{self, Ours};
use super::splice::{self, Container, Edit};
use super::style::Style;
use super::{Change, IsOurs, Made, remove};
use crate::harness::registration::{Dialect, Entry, Shape};

/// An `add` in progress: every step is one splice, after which the text is parsed anew.
pub(super) struct Adding<'a> {
    pub(super) shape: Shape,
    pub(super) wanted: &'a [Entry],
    pub(super) is_ours: IsOurs<'a>,
    pub(super) style: Style,
    pub(super) made: Made,
    pub(super) changes: Vec<Change>,
}

impl Adding<'_> {
    /// The edits of the next step; none when all is as it should be.
    pub(super) fn next(&mut self, document: &Document<'_>) -> Vec<Edit> {
        let ours = ours::all(document, self.shape, self.is_ours);
        let steps = [
            Self::take_out_excess,
            Self::take_out_emptied,
            Self::rewrite,
            Self::put_version,
            Self::put_hooks,
            Self::put_entry,
        ];
        steps.into_iter().find_map(|step| step(self, document, &ours)).unwrap_or_default()
    }

    fn take_out_excess(&mut self, document: &Document<'_>, ours: &[Ours<'_>]) -> Option<Vec<Edit>> {
        let excess = ours.iter().enumerate().rev().find(|(index, one)| {
            let is_wanted = self.wanted.iter().any(|entry| entry.event == one.event());
            !is_wanted || ours[..*index].iter().any(|before| before.event() == one.event())
        });
        let (_, excess) = excess?;
        self.note(Change::Removed { event: excess.event().to_owned() });
        Some(excess.take_out(document, &self.made))
    }

    fn take_out_emptied(&mut self, document: &Document<'_>, _: &[Ours<'_>]) -> Option<Vec<Edit>> {
        let gone = |event: &str| {
            self.made.events.iter().any(|made| made == event)
                && !self.wanted.iter().any(|entry| entry.event == event)
        };
        let (event, edits) = ours::take_out_empty_list(document, &gone, &self.made)?;
        self.made.events.retain(|made| *made != event);
        self.note(Change::Removed { event });
        Some(edits)
    }

    fn rewrite(&mut self, document: &Document<'_>, ours: &[Ours<'_>]) -> Option<Vec<Edit>> {
        let (edits, change) = ours.iter().find_map(|one| {
            let entry = self.wanted.iter().find(|entry| entry.event == one.event())?;
            let edits = one.rewrite(document, &self.style, self.shape, entry)?;
            Some((edits, Change::Rewritten { event: entry.event.to_owned() }))
        })?;
        self.note(change);
        Some(edits)
    }

    fn put_version(&mut self, document: &Document<'_>, _: &[Ours<'_>]) -> Option<Vec<Edit>> {
        let root = &document.root;
        if self.shape != Shape::Flat || self.wanted.is_empty() || root.get("version").is_some() {
            return None;
        }
        self.made.version = true;
        self.note(Change::Version);
        let container = Container::of_object(root);
        if container.children.is_empty() {
            return Some(self.append(document, &container, "", Some("version"), &json!(1)));
        }
        let property = self.style.property("version", &json!(1), None);
        Some(splice::prepend(document, &self.style, &container, &property))
    }

    fn put_hooks(&mut self, document: &Document<'_>, _: &[Ours<'_>]) -> Option<Vec<Edit>> {
        if self.wanted.is_empty() || document.root.get("hooks").is_some() {
            return None;
        }
        self.made.hooks = true;
        Some(self.append(document, &Container::of_object(&document.root), "", Some("hooks"), &json!({})))
    }

    fn put_entry(&mut self, document: &Document<'_>, ours: &[Ours<'_>]) -> Option<Vec<Edit>> {
        let entry = self.wanted.iter().find(|entry| !ours.iter().any(|one| one.event() == entry.event))?;
        let Entry { event, command, timeout } = entry;
        let element = match self.shape {
            Shape::Nested => {
                json!({ "hooks": [{ "type": "command", "command": command, "timeout": timeout }] })
            }
            Shape::Flat => json!({ "command": command, "timeout": timeout }),
        };
        let hooks = document.root.get_object("hooks")?;
        self.note(Change::Added { event: (*event).to_owned() });
        if let Some(list) = hooks.get_array(event) {
            let path = ours::path_of(event);
            return Some(self.append(document, &Container::of_array(list), &path, None, &element));
        }
        if !self.made.events.iter().any(|made| made == event) {
            self.made.events.push((*event).to_owned());
        }
        let container = Container::of_object(hooks);
        Some(self.append(document, &container, ours::HOOKS, Some(event), &json!([element])))
    }

    /// Several edits for one thing are one change.
    fn note(&mut self, change: Change) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    /// Puts a value, with its key in an object, behind all that a container has, and keeps the white space that it had if
    /// it was empty.
    fn append(
        &mut self,
        document: &Document<'_>,
        container: &Container,
        path: &str,
        key: Option<&str>,
        value: &serde_json::Value,
    ) -> Vec<Edit> {
        let (edits, blank) = splice::append(document, &self.style, container, |indent| match key {
            Some(key) => self.style.property(key, value, indent),
            None => self.style.value(value, indent),
        });
        match blank {
            Some(blank) if !blank.is_empty() => {
                self.made.blanks.insert(path.to_owned(), blank);
            }
            Some(_) => {
                self.made.blanks.remove(path);
            }
            None => {}
        }
        edits
    }
}

/// What we must have made in a text that has handlers of ours and no record of how they came there.
pub(super) fn surmise(
    text: &str,
    shape: Shape,
    dialect: &Dialect,
    is_ours: IsOurs<'_>,
) -> Result<Made, Rejected> {
    let left = remove(text, shape, dialect, is_ours, None)?;
    if left.removed == 0 {
        return Ok(Made::default());
    }
    let before = Document::parse(split_mark(text, dialect)?.1, dialect)?;
    let after = Document::parse(split_mark(&left.text, dialect)?.1, dialect)?;
    let hooks = after.root.get_object("hooks");
    let lost = |event: &str| hooks.is_none_or(|hooks| hooks.get(event).is_none());
    let events = before.root.get_object("hooks").map_or_else(Vec::new, |hooks| {
        hooks.properties.iter().map(|event| event.name.as_str().to_owned()).collect()
    });
    Ok(Made {
        root: left.is_bare,
        hooks: hooks.is_none(),
        events: events.into_iter().filter(|event| lost(event)).collect(),
        ..Made::default()
    })
}
