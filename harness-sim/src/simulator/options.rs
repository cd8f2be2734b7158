//! How a hook is fed, read and bounded, and what is changed in its payload.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::launch::{Feed, Reader};

/// How a hook is fed, read and bounded, beside what the harness does.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How its stdin is fed.
    pub feed: Feed,
    /// How its stdout is read.
    pub reader: Reader,
    /// Its timeout, in the place of the registered or the harness's own.
    pub timeout: Option<Duration>,
    /// Its stdin, in the place of the payload.
    pub stdin: Option<Vec<u8>>,
    /// Sent to its process group when it begins to print.
    pub signal: Option<i32>,
    /// How long what it leaves behind may take to be gone before it counts as a survivor (100 ms).
    pub linger: Option<Duration>,
    /// Fields of the payload that are other than recorded. An object goes into the one that is there; anything else
    /// takes the place of what is there.
    pub set: Map<String, Value>,
    /// Fields that the payload does not have; `a.b` is a field of a field.
    pub unset: Vec<String>,
}

impl Options {
    pub(super) fn amend(&self, payload: &mut Value) {
        for path in &self.unset {
            let (above, key) = path.rsplit_once('.').map_or(("", path.as_str()), |(above, key)| (above, key));
            let above = above.split('.').filter(|key| !key.is_empty());
            let mut at = Some(&mut *payload);
            for key in above {
                at = at.and_then(|value| value.get_mut(key));
            }
            if let Some(Value::Object(map)) = at {
                map.shift_remove(key);
            }
        }
        for (key, value) in &self.set {
            merge(payload, key, value);
        }
    }
}

fn merge(into: &mut Value, key: &str, value: &Value) {
    let Value::Object(map) = into else { return };
    match (map.get_mut(key), value) {
        (Some(there @ Value::Object(_)), Value::Object(fields)) => {
            fields.iter().for_each(|(key, value)| merge(there, key, value));
        }
        _ => {
            map.insert(key.to_owned(), value.clone());
        }
    }
}
