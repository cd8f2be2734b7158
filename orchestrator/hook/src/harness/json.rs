//! The JSON of a payload: parsed within bounds, and hashed in canonical form.

use std::io::{self, Write};

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::fields::Object;

/// UTF-8's byte-order mark.
pub(super) const MARK: &[u8; 3] = b"\xEF\xBB\xBF";

/// What is wrong with a payload, as a fragment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) &'static str);

/// The object that a payload is. serde_json bounds the nesting at 128 levels; of keys that come twice the last counts,
/// as in JavaScript.
pub(super) fn object(bytes: &[u8]) -> Result<Object, Unreadable> {
    let bytes = without_marks(bytes);
    if bytes.is_empty() {
        return Err(Unreadable("empty"));
    }
    let parsed = first_document(bytes).or_else(|error| match without_lone_surrogates(bytes) {
        Some(mended) => first_document(&mended),
        None => Err(error),
    });
    match parsed {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Unreadable("no JSON object")),
        Err(error) if error.is_eof() => Err(Unreadable("cut off")),
        Err(_) if std::str::from_utf8(bytes).is_err() => Err(Unreadable("not UTF-8")),
        Err(error) if error.to_string().starts_with("recursion limit") => {
            Err(Unreadable("nested too deeply"))
        }
        Err(_) => Err(Unreadable("no valid JSON")),
    }
}

/// The SHA-256 of an object with its keys sorted and without blanks, leaving out `timestamp`, which differs between two
/// firings of one event.
pub(super) fn hash(object: &Object) -> [u8; 32] {
    let mut sink = Sink(Sha256::new());
    write_object(&mut sink, object, Some("timestamp")).expect("a hash takes every byte");
    sink.0.finalize().into()
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

fn first_document(bytes: &[u8]) -> serde_json::Result<Value> {
    Value::deserialize(&mut serde_json::Deserializer::from_slice(bytes))
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

fn write_object(sink: &mut Sink, object: &Object, without: Option<&str>) -> io::Result<()> {
    let mut entries: Vec<(&String, &Value)> =
        object.iter().filter(|(key, _)| Some(key.as_str()) != without).collect();
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
        Value::Object(object) => write_object(sink, object, None),
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
