//! How a text is laid out, and our own values written in the same way.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged as _;

use super::document::{Document, has_newline};

/// The habits of a text, as far as they show; else those of a fresh one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) newline: &'static str,
    /// One step of indentation.
    pub(super) unit: String,
    /// Behind a comma that does not end its line.
    pub(super) gap: &'static str,
    /// Within the braces of an object that stands on one line.
    pub(super) padding: String,
    /// Whether anything is broken over lines at all.
    pub(super) is_multiline: bool,
    /// From a key to its value.
    colon: String,
}

impl Style {
    pub(super) fn of(document: &Document<'_>) -> Self {
        let text = document.text;
        let breaks = text.matches('\n').count();
        let newline = if breaks > 0 && text.matches("\r\n").count() * 2 > breaks { "\r\n" } else { "\n" };
        let mut seen = Seen { text, unit: None, padding: None };
        seen.object(&document.root);
        let colon = document.root.properties.first().and_then(|first| {
            let colon = &text[first.name.end()..first.value.start()];
            colon.trim_matches([' ', '\t']).eq(":").then(|| colon.to_owned())
        });
        let colon = colon.unwrap_or_else(|| ": ".to_owned());
        Self {
            newline,
            unit: seen.unit.unwrap_or_else(|| "  ".to_owned()),
            gap: if colon.ends_with(':') { "" } else { " " },
            padding: seen.padding.unwrap_or_default(),
            is_multiline: document.root.properties.is_empty() || has_newline(document.root.text(text)),
            colon,
        }
    }

    /// A value as text. `indent` is the indentation of the line that it begins on; without one, it stays on that line.
    pub(super) fn value(&self, value: &serde_json::Value, indent: Option<&str>) -> String {
        let inner = indent.map(|indent| format!("{indent}{}", self.unit));
        let inner = inner.as_deref();
        match value {
            serde_json::Value::Object(members) if !members.is_empty() => {
                let members = members.iter().map(|(key, value)| self.property(key, value, inner));
                self.within("{", members, "}", &self.padding, indent)
            }
            serde_json::Value::Array(elements) if !elements.is_empty() => {
                let elements = elements.iter().map(|value| self.value(value, inner));
                self.within("[", elements, "]", "", indent)
            }
            scalar_or_empty => scalar_or_empty.to_string(),
        }
    }

    /// A key and its value as text.
    pub(super) fn property(&self, key: &str, value: &serde_json::Value, indent: Option<&str>) -> String {
        format!("{}{}{}", serde_json::Value::from(key), self.colon, self.value(value, indent))
    }

    fn within(
        &self,
        open: &str,
        pieces: impl Iterator<Item = String>,
        close: &str,
        padding: &str,
        indent: Option<&str>,
    ) -> String {
        let pieces: Vec<String> = pieces.collect();
        let Self { newline, unit, gap, .. } = self;
        match indent {
            None => format!("{open}{padding}{}{padding}{close}", pieces.join(&format!(",{gap}"))),
            Some(indent) => {
                let lines = pieces.join(&format!(",{newline}{indent}{unit}"));
                format!("{open}{newline}{indent}{unit}{lines}{newline}{indent}{close}")
            }
        }
    }
}

/// The white space at the beginning of the line that `offset` lies on.
pub(super) fn indentation(text: &str, offset: usize) -> &str {
    let line = &text[start_of_line(text, offset)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

pub(super) fn start_of_line(text: &str, offset: usize) -> usize {
    text[..offset].rfind(['\n', '\r']).map_or(0, |at| at + 1)
}

/// What the containers of a text show, the first of each.
struct Seen<'a> {
    text: &'a str,
    unit: Option<String>,
    padding: Option<String>,
}

impl Seen<'_> {
    fn value(&mut self, value: &Value<'_>) {
        match value {
            Value::Object(object) => self.object(object),
            Value::Array(array) => {
                if let Some(first) = array.elements.first() {
                    self.first(array.range.start, first.start());
                }
                array.elements.iter().for_each(|element| self.value(element));
            }
            _ => {}
        }
    }

    fn object(&mut self, object: &Object<'_>) {
        if let Some(first) = object.properties.first() {
            let white = &self.text[object.range.start + 1..first.range.start];
            if self.padding.is_none() && white.chars().all(|character| character == ' ') {
                self.padding = Some(white.to_owned());
            }
            self.first(object.range.start, first.range.start);
        }
        object.properties.iter().for_each(|property| self.value(&property.value));
    }

    /// What the first thing in a container tells of the indentation, if it has a line of its own.
    fn first(&mut self, open: usize, first: usize) {
        let is_better = self.unit.as_deref().is_none_or(str::is_empty);
        if is_better && has_newline(&self.text[open..first]) {
            let outer = indentation(self.text, open);
            let unit = indentation(self.text, first).strip_prefix(outer).unwrap_or_default();
            self.unit = Some(unit.to_owned());
        }
    }
}
