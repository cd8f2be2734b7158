//! Whether a document is one that ours can be added to: the way to them is `hooks` → event → group → handler. What stands
//! beside it is judged only where the harness would refuse the whole file for it.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::document::{Document, Rejected, name_of};
use super::ours::{HOOKS, is_first_version};
use crate::config::Position;
use crate::harness::registration::{Dialect, Shape};

/// Whether the lists of these events can be added to: the root is one that the harness reads, and everything on the way has
/// the type that it must have.
pub(super) fn judge(
    document: &Document<'_>,
    shape: Shape,
    dialect: &Dialect,
    events: &[&str],
) -> Result<(), Rejected> {
    if let Some(known) = dialect.root_keys {
        let unknown = document.root.properties.iter().find(|key| !known.contains(&key.name.as_str()));
        if let Some(key) = unknown {
            let known: Vec<String> = known.iter().map(|key| format!("\"{key}\"")).collect();
            let message = format!(
                "unknown key \"{}\"; at the top there may only be {}",
                key.name.as_str(),
                known.join(" and ")
            );
            return Err(document.rejected(key.range.start, message));
        }
    }
    if shape == Shape::Flat {
        once(document, &document.root, "version")?;
        if let Some(version) = document.root.get("version").filter(|it| !is_first_version(&it.value)) {
            let found = match &version.value {
                Value::NumberLit(number) => number.value,
                other => name_of(other),
            };
            let message = format!("expected \"version\" to be 1, found {found}");
            return Err(document.rejected(version.value.start(), message));
        }
    }
    hooks_once(document)?;
    let Some(hooks) = document.root.get(HOOKS) else { return Ok(()) };
    let Value::Object(hooks) = &hooks.value else {
        return Err(wrong(document, &hooks.value, "an object under \"hooks\""));
    };
    let every: Vec<&str> = hooks.properties.iter().map(|key| key.name.as_str()).collect();
    let events = if dialect.handler_types.is_some() { &every } else { events };
    for event in events {
        once(document, hooks, event)?;
        let Some(list) = hooks.get(event) else { continue };
        let Value::Array(list) = &list.value else {
            return Err(wrong(document, &list.value, &format!("a list under \"{event}\"")));
        };
        for (index, element) in list.elements.iter().enumerate() {
            let number = index + 1;
            match shape {
                Shape::Flat => {
                    judge_handler(document, dialect, element, &format!("{number} of \"{event}\""))?;
                }
                Shape::Nested => {
                    judge_group(document, dialect, element, &format!("{number} of \"{event}\""))?;
                }
            }
        }
    }
    Ok(())
}

/// With two of them it is not for us to say which one counts.
pub(super) fn hooks_once(document: &Document<'_>) -> Result<(), Rejected> {
    once(document, &document.root, HOOKS)
}

fn once(document: &Document<'_>, object: &Object<'_>, key: &str) -> Result<(), Rejected> {
    let mut places = object.properties.iter().filter(|it| it.name.as_str() == key).map(|it| it.range.start);
    match (places.next(), places.next()) {
        (Some(first), Some(second)) => {
            let line = Position::of(document.text, first).line;
            let message = format!("a second \"{key}\"; the first is on line {line}");
            Err(document.rejected(second, message))
        }
        _ => Ok(()),
    }
}

fn judge_group(
    document: &Document<'_>,
    dialect: &Dialect,
    group: &Value<'_>,
    name: &str,
) -> Result<(), Rejected> {
    let Value::Object(group) = group else {
        return Err(wrong(document, group, &format!("an object as group {name}")));
    };
    let Some(handlers) = group.get(HOOKS) else { return Ok(()) };
    let Value::Array(handlers) = &handlers.value else {
        return Err(wrong(document, &handlers.value, &format!("a list under \"hooks\" of group {name}")));
    };
    for (index, handler) in handlers.elements.iter().enumerate() {
        judge_handler(document, dialect, handler, &format!("{} in group {name}", index + 1))?;
    }
    Ok(())
}

fn judge_handler(
    document: &Document<'_>,
    dialect: &Dialect,
    handler: &Value<'_>,
    name: &str,
) -> Result<(), Rejected> {
    let Value::Object(handler) = handler else {
        return Err(wrong(document, handler, &format!("an object as handler {name}")));
    };
    if let Some(types) = dialect.handler_types {
        judge_whole_handler(document, types, handler, name)?;
    }
    match handler.get("command") {
        Some(command) if command.value.as_string_lit().is_none() => {
            Err(wrong(document, &command.value, &format!("a string under \"command\" of handler {name}")))
        }
        _ => Ok(()),
    }
}

/// What a harness that refuses the whole file for one handler wants of each.
fn judge_whole_handler(
    document: &Document<'_>,
    types: &[&str],
    handler: &Object<'_>,
    name: &str,
) -> Result<(), Rejected> {
    let kind = handler.get("type").map(|kind| &kind.value);
    let word = kind.and_then(|kind| kind.as_string_lit()).map(|kind| kind.value.as_ref());
    let Some(word) = word.filter(|word| types.contains(word)) else {
        let place = kind.map_or_else(|| handler.start(), Ranged::start);
        let message = format!("\"type\" of handler {name} has to be one of {}", types.join(", "));
        return Err(document.rejected(place, message));
    };
    if word == "command" && handler.get("command").is_none() {
        return Err(document.rejected(handler.start(), format!("no \"command\" in handler {name}")));
    }
    let is_seconds =
        |value: &Value<'_>| matches!(value, Value::NumberLit(number) if number.value.parse::<u64>().is_ok());
    match handler.get("timeout") {
        Some(timeout) if !is_seconds(&timeout.value) => {
            let message = format!("\"timeout\" of handler {name} has to be whole seconds");
            Err(document.rejected(timeout.value.start(), message))
        }
        _ => Ok(()),
    }
}

fn wrong(document: &Document<'_>, value: &Value<'_>, expected: &str) -> Rejected {
    document.rejected(value.start(), format!("expected {expected}, found {}", name_of(value)))
}
