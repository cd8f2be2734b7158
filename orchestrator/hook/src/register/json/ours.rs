//! Where our handlers stand in a document, and the edits that take them out or bring them up to date.

use jsonc_parser::ast::{Array, NumberLit, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged as _;
use serde_json::json;

use super::document::Document;
use super::splice::{Container, Edit, append, take_out};
use super::style::Style;
use super::{Found, IsOurs, Made};
use crate::harness::registration::{Entry, Shape};

/// The path of `hooks` among [`Made::blanks`].
pub(super) const HOOKS: &str = "hooks";

/// The path of an event's list among [`Made::blanks`].
pub(super) fn path_of(event: &str) -> String {
    format!("{HOOKS}.{event}")
}

/// One of our handlers and where it stands.
pub(super) struct Ours<'d> {
    event: &'d ObjectProp<'d>,
    list: &'d Array<'d>,
    /// Its place in the list, or that of its group.
    index: usize,
    group: Option<Group<'d>>,
    handler: &'d Object<'d>,
    command: &'d str,
}

/// What a handler in the nested shape stands in.
#[derive(Clone, Copy)]
struct Group<'d> {
    object: &'d Object<'d>,
    handlers: &'d Array<'d>,
    index: usize,
}

/// All handlers of ours, in the order of the text. What has another type than it should cannot hold one.
pub(super) fn all<'d>(document: &'d Document<'_>, shape: Shape, is_ours: IsOurs<'_>) -> Vec<Ours<'d>> {
    let mut found = Vec::new();
    let hooks = document.root.get_object(HOOKS);
    for event in hooks.iter().flat_map(|hooks| &hooks.properties) {
        let Value::Array(list) = &event.value else { continue };
        for (index, element) in list.elements.iter().enumerate() {
            let Value::Object(element) = element else { continue };
            let mut look = |handler: &'d Object<'d>, group| {
                let command = handler.get_string("command").map(|command| command.value.as_ref());
                if let Some(command) = command.filter(|command| is_ours(command)) {
                    found.push(Ours { event, list, index, group, handler, command });
                }
            };
            match shape {
                Shape::Flat => look(element, None),
                Shape::Nested => {
                    let Some(handlers) = element.get_array(HOOKS) else { continue };
                    for (index, handler) in handlers.elements.iter().enumerate() {
                        let Value::Object(handler) = handler else { continue };
                        look(handler, Some(Group { object: element, handlers, index }));
                    }
                }
            }
        }
    }
    found
}

impl Ours<'_> {
    pub(super) fn event(&self) -> &str {
        self.event.name.as_str()
    }

    /// The edits that take it out, with its group if there was nothing else in it. What a matcher selects for a handler of
    /// ours is nothing without it.
    pub(super) fn take_out(&self, document: &Document<'_>, made: &Made) -> Vec<Edit> {
        if let Some(Group { object, handlers, index }) = self.group {
            let is_ours_alone = handlers.elements.len() == 1
                && object.properties.iter().all(|key| matches!(key.name.as_str(), HOOKS | "matcher"));
            if !is_ours_alone {
                return take_out(document, &Container::of_array(handlers), index, None);
            }
        }
        let blank = made.blanks.get(&path_of(self.event()));
        take_out(document, &Container::of_array(self.list), self.index, blank.map(String::as_str))
    }

    /// The edits of the next value that differs from the entry's; the other keys stay as they are.
    pub(super) fn rewrite(
        &self,
        document: &Document<'_>,
        style: &Style,
        shape: Shape,
        entry: &Entry,
    ) -> Option<Vec<Edit>> {
        let is_type = |value: &Value<'_>| value.as_string_lit().is_some_and(|text| text.value == "command");
        let is_timeout = |value: &Value<'_>| value.as_number_lit().is_some_and(|it| is(it, entry.timeout));
        let values = [
            ("type", json!("command"), shape == Shape::Flat || self.has("type", is_type)),
            ("command", json!(entry.command), self.command == entry.command),
            ("timeout", json!(entry.timeout), self.has("timeout", is_timeout)),
        ];
        let (key, value, _) = values.into_iter().find(|(.., is_right)| !is_right)?;
        Some(if let Some(property) = self.handler.get(key) {
            let place = property.value.start()..property.value.end();
            vec![Edit::replace(place, value.to_string())]
        } else {
            let container = Container::of_object(self.handler);
            append(document, style, &container, |indent| style.property(key, &value, indent)).0
        })
    }

    pub(super) fn found(&self, document: &Document<'_>) -> Found {
        let restricted = self.group.map_or(self.handler, |group| group.object);
        let matcher = restricted.get("matcher").map(|matcher| match &matcher.value {
            Value::StringLit(text) => text.value.to_string(),
            other => other.text(document.text).to_owned(),
        });
        let is_other = |key: &str| match key {
            "command" | "timeout" => false,
            "type" => self.group.is_none(),
            "matcher" => self.group.is_some(),
            _ => true,
        };
        let keys = self.handler.properties.iter().map(|property| property.name.as_str());
        Found {
            event: self.event().to_owned(),
            group: self.index,
            handler: self.group.map_or(0, |group| group.index),
            command: self.command.to_owned(),
            timeout: self.handler.get_number("timeout").and_then(|timeout| timeout.value.parse().ok()),
            matcher,
            other_keys: keys.filter(|key| is_other(key)).map(str::to_owned).collect(),
        }
    }

    fn has(&self, key: &str, is_right: impl Fn(&Value<'_>) -> bool) -> bool {
        self.handler.get(key).is_some_and(|property| is_right(&property.value))
    }
}

/// Whether a number of the text is this one, however it is written.
fn is(number: &NumberLit<'_>, wanted: u32) -> bool {
    number.value.parse::<f64>().is_ok_and(|number| number.total_cmp(&f64::from(wanted)).is_eq())
}

/// Takes out the key of an event that `goes` and whose list has nothing in it.
pub(super) fn take_out_empty_list(
    document: &Document<'_>,
    goes: &dyn Fn(&str) -> bool,
    made: &Made,
) -> Option<(String, Vec<Edit>)> {
    let hooks = document.root.get_object(HOOKS)?;
    let (index, event) = hooks.properties.iter().enumerate().rev().find(|(_, event)| {
        let Value::Array(list) = &event.value else { return false };
        goes(event.name.as_str()) && is_empty(document, &Container::of_array(list))
    })?;
    let blank = made.blanks.get(HOOKS).map(String::as_str);
    let edits = take_out(document, &Container::of_object(hooks), index, blank);
    Some((event.name.as_str().to_owned(), edits))
}

/// Takes out the key `hooks` if there is nothing in it.
pub(super) fn take_out_empty_hooks(document: &Document<'_>, made: &Made) -> Option<Vec<Edit>> {
    let is_empty_object = |value: &Value<'_>| {
        value.as_object().is_some_and(|hooks| is_empty(document, &Container::of_object(hooks)))
    };
    take_out_of_root(document, made, HOOKS, is_empty_object)
}

/// Takes out the key `version` if it says what we put there.
pub(super) fn take_out_version(document: &Document<'_>, made: &Made) -> Option<Vec<Edit>> {
    take_out_of_root(document, made, "version", is_first_version)
}

fn take_out_of_root(
    document: &Document<'_>,
    made: &Made,
    key: &str,
    goes: impl Fn(&Value<'_>) -> bool,
) -> Option<Vec<Edit>> {
    let root = &document.root;
    let index = root.properties.iter().position(|it| it.name.as_str() == key && goes(&it.value))?;
    let blank = made.blanks.get("").map(String::as_str);
    Some(take_out(document, &Container::of_object(root), index, blank))
}

/// Nothing in it, and no comment either: that is somebody's word.
fn is_empty(document: &Document<'_>, container: &Container) -> bool {
    container.children.is_empty() && !document.has_comment(container.inner.clone())
}

pub(super) fn is_first_version(value: &Value<'_>) -> bool {
    value.as_number_lit().is_some_and(|version| is(version, 1))
}
