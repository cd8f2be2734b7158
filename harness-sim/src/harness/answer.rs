//! Reading a JSON answer: which field has the wrong shape, and what else may be wrong with the text around it.

use serde_json::{Map, Value};

/// A field that has not the shape which the harness reads.
pub(crate) type Wrong = String;

/// An object of an answer, with its place in the whole for messages.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    map: &'a Map<String, Value>,
    place: &'static str,
}

impl<'a> Fields<'a> {
    /// The whole answer.
    pub(crate) fn of(value: &'a Value) -> Result<Self, Wrong> {
        match value {
            Value::Object(map) => Ok(Self { map, place: "" }),
            other => Err(format!("the answer is {}, not an object", kind(other))),
        }
    }

    /// The field's full name.
    fn full(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>, Wrong> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("{} is {}, not a text", self.full(key), kind(other))),
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, Wrong> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(format!("{} is {}, not true or false", self.full(key), kind(other))),
        }
    }

    pub(crate) fn object(&self, key: &str, place: &'static str) -> Result<Option<Fields<'a>>, Wrong> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Fields { map, place })),
            Some(other) => Err(format!("{} is {}, not an object", self.full(key), kind(other))),
        }
    }

    /// One word of a closed list.
    pub(crate) fn word(&self, key: &str, words: &[&str]) -> Result<Option<&'a str>, Wrong> {
        match self.text(key)? {
            Some(word) if !words.contains(&word) => {
                Err(format!("{} is {word:?}, not one of {}", self.full(key), words.join(", ")))
            }
            word => Ok(word),
        }
    }

    /// The fields themselves, and the place that they stand at.
    pub(crate) fn all(&self) -> (&'a Map<String, Value>, &'static str) {
        (self.map, self.place)
    }
}

/// The shape of a value, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The text before a JSON object that is otherwise whole, as a log line leaves it.
pub(crate) fn before_json(text: &str) -> Option<&str> {
    let (before, _) = text
        .match_indices('{')
        .map(|(at, _)| text.split_at(at))
        .find(|(_, rest)| serde_json::from_str::<Value>(rest).is_ok())?;
    // Not the beginning of a list.
    before.contains(char::is_alphabetic).then_some(before)
}

/// What is wrong with a text that was to be one JSON document.
pub(crate) fn diagnose(text: &str) -> String {
    let text = text.trim();
    let documents =
        serde_json::Deserializer::from_str(text).into_iter::<Value>().map_while(Result::ok).count();
    if documents > 1 && text.starts_with(['{', '[']) {
        return format!("{documents} JSON documents on stdout, where one is read");
    }
    if let Some(before) = before_json(text) {
        return format!("{} bytes of text before the JSON document", before.len());
    }
    if documents == 1 {
        return "text after the JSON document".to_owned();
    }
    match serde_json::from_str::<Value>(text) {
        Err(error) => format!("not valid JSON: {error}"),
        Ok(_) => "valid JSON".to_owned(),
    }
}

/// The first line of stderr, for a message.
pub(crate) fn first_line(stderr: &[u8]) -> String {
    String::from_utf8_lossy(stderr)
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("")
        .to_owned()
}

/// `: ` and the first line of stderr, if there is one.
pub(crate) fn with_stderr(why: String, stderr: &[u8]) -> String {
    let line = first_line(stderr);
    if line.is_empty() { why } else { format!("{why}: {line}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_is_wrong_around_the_json() {
        assert!(diagnose("{}{}").starts_with("2 JSON documents"));
        assert!(diagnose("note\n{}").contains("before the JSON"));
        assert!(diagnose("[info] {x}\n{}").contains("before the JSON"));
        assert!(!diagnose("[{}").contains("before the JSON"));
        assert!(diagnose("{} done").contains("after the JSON"));
        assert!(diagnose("{\"a\":").contains("not valid JSON"));
    }

    #[test]
    fn a_wrong_field_is_named_with_its_place() {
        let value = serde_json::json!({"hookSpecificOutput": {"additionalContext": 5}});
        let fields = Fields::of(&value).unwrap();
        let inner = fields.object("hookSpecificOutput", "hookSpecificOutput").unwrap().unwrap();
        assert_eq!(
            inner.text("additionalContext").unwrap_err(),
            "hookSpecificOutput.additionalContext is a number, not a text"
        );
    }
}
