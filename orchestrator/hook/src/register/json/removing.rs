//! The steps of [`remove`](super::remove): our handlers, and what is empty without them.

use super::document::Document;
use super::ours;
use super::splice::Edit;
use super::{IsOurs, Made};
use crate::harness::registration::Shape;

/// A `remove` in progress, which goes the way of an `add` backwards.
pub(super) struct Removing<'a> {
    pub(super) shape: Shape,
    pub(super) is_ours: IsOurs<'a>,
    pub(super) made: Option<&'a Made>,
    /// The events that lost a handler.
    pub(super) emptied: Vec<String>,
    pub(super) removed: usize,
}

impl Removing<'_> {
    /// The edits of the next step; none when all of ours is gone.
    pub(super) fn next(&mut self, document: &Document<'_>) -> Vec<Edit> {
        let none = Made::default();
        let made = self.made.unwrap_or(&none);
        let list_goes = |event: &str| {
            let events = self.made.map_or(&self.emptied, |made| &made.events);
            events.iter().any(|goes| goes == event)
        };
        if let Some((_, edits)) = ours::take_out_empty_list(document, &list_goes, made) {
            return edits;
        }
        if let Some(last) = ours::all(document, self.shape, self.is_ours).last() {
            self.emptied.push(last.event().to_owned());
            self.removed += 1;
            return last.take_out(document, made);
        }
        let hooks_go = self.made.map_or_else(|| !self.emptied.is_empty(), |made| made.hooks);
        let hooks = document.root.get("hooks");
        if hooks_go && let Some(edits) = ours::take_out_empty_hooks(document, made) {
            return edits;
        }
        // What others put below a `hooks` of ours still needs the version.
        let version_goes = self.shape == Shape::Flat && made.version && !(made.hooks && hooks.is_some());
        if version_goes && let Some(edits) = ours::take_out_version(document, made) {
            return edits;
        }
        Vec::new()
    }
}
