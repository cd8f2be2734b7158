//! The JSON of a payload: parsed within bounds, and hashed in canonical form.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::fields::Object;

/// UTF-8's byte-order mark.
pub(super) const MARK: &[u8; 3] = b"\xEF\xBB\xBF";

/// What is wrong with a payload, as a fragment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) &'static str);

/// The most bytes of one value at the top of a payload that is taken apart. A larger one counts as missing: nothing that a
/// session is told by is so large, and a value of small pieces takes many times its text in memory.
const LARGEST_VALUE: usize = 256 * 1024;

/// A payload, read: what it says, and its hash.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) object: Object,
    /// SHA-256 of the object with its keys sorted and without blanks, leaving out `timestamp`, which differs between two
    /// firings of one event.
    pub(super) hash: [u8; 32],
}

/// The object that a payload is. Nesting is bounded at 128 levels; of keys that come twice the last counts, as in
/// JavaScript.
pub(super) fn document(bytes: &[u8]) -> Result<Document, Unreadable> {
    let bytes = without_marks(bytes);
    if bytes.is_empty() {
        return Err(Unreadable("empty"));
    }
    let parsed = take_apart(bytes).or_else(|error| match without_lone_surrogates(bytes) {
        Some(mended) => take_apart(&mended),
        None => Err(error),
    });
    parsed.map_err(|error| {
        if error.is_eof() {
            Unreadable("cut off")
        } else if std::str::from_utf8(bytes).is_err() {
            Unreadable("not UTF-8")
        } else if error.to_string().starts_with("recursion limit") {
            Unreadable("nested too deeply")
        } else if first_value(bytes).is_ok() {
            Unreadable("no JSON object")
        } else {
            Unreadable("no valid JSON")
        }
    })
}

fn take_apart(bytes: &[u8]) -> serde_json::Result<Document> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let values = BTreeMap::<String, &RawValue>::deserialize(&mut reader)?;
    let mut sink = Sink(Sha256::new());
    let mut object = Object::new();
    sink.0.update(b"{");
    let mut is_first = true;
    for (key, raw) in values {
        let text = raw.get();
        let value =
            if text.len() <= LARGEST_VALUE { Some(serde_json::from_str::<Value>(text)?) } else { None };
        if key != "timestamp" {
            if !std::mem::take(&mut is_first) {
                sink.0.update(b",");
            }
            serde_json::to_writer(&mut sink, &key)?;
            sink.0.update(b":");
            match &value {
                Some(value) => write_value(&mut sink, value).expect("a hash takes every byte"),
                None => sink.0.update(text),
            }
        }
        if let Some(value) = value {
            object.insert(key, value);
        }
    }
    sink.0.update(b"}");
    Ok(Document { object, hash: sink.0.finalize().into() })
}

/// The first document, whatever it is.
fn first_value(bytes: &[u8]) -> serde_json::Result<IgnoredAny> {
    IgnoredAny::deserialize(&mut serde_json::Deserializer::from_slice(bytes))
}

/// Without byte-order marks and blanks in front. On Windows a harness may put one mark, and its shell another.
fn without_marks(mut bytes: &[u8]) -> &[u8] {
    loop {
        bytes = bytes.trim_ascii_start();
        match bytes.strip_prefix(MARK) {
            Some(rest) => bytes = rest,
            None => return bytes,
        }
    }
}

/// With U+FFFD in place of each half of a surrogate pair; `None` if there is no such half. JavaScript cuts strings by
/// UTF-16 units and writes the half that is left as an escape, which no Rust string can hold.
fn without_lone_surrogates(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut mended = bytes.to_vec();
    let mut found = false;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        at += match (escaped_unit(bytes, at), escaped_unit(bytes, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended[at + 2..at + 6].copy_from_slice(b"fffd");
                found = true;
                6
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
    }
    found.then_some(mended)
}

/// The UTF-16 unit of a `\uXXXX` that begins there.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

struct Sink(Sha256);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_object(sink: &mut Sink, object: &Object) -> io::Result<()> {
    let mut entries: Vec<(&String, &Value)> = object.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    sink.write_all(b"{")?;
    for (at, (key, value)) in entries.into_iter().enumerate() {
        if at > 0 {
            sink.write_all(b",")?;
        }
        serde_json::to_writer(&mut *sink, key)?;
        sink.write_all(b":")?;
        write_value(sink, value)?;
    }
    sink.write_all(b"}")
}

/// As deep as what was parsed, which is bounded.
fn write_value(sink: &mut Sink, value: &Value) -> io::Result<()> {
    match value {
        Value::Object(object) => write_object(sink, object),
        Value::Array(values) => {
            sink.write_all(b"[")?;
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    sink.write_all(b",")?;
                }
                write_value(sink, value)?;
            }
            sink.write_all(b"]")
        }
        other => Ok(serde_json::to_writer(&mut *sink, other)?),
    }
}
