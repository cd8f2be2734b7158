//! The torture set: what is done to a hook, and what is expected of it in words.

use nix::libc::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
use serde_json::{Map, Value, json};

use crate::launch::{Feed, Reader};

/// One way to treat a hook badly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) expectation: &'static str,
    pub(super) ordeal: Ordeal,
    pub(super) on: &'static [On],
    pub(super) must: Must,
}

/// The event that it happens at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// A session opens.
    Open,
    /// A person asks.
    Prompt,
    /// A tool is about to run.
    Tool,
    /// A turn ends.
    Stop,
    /// Whichever of these the hook prints most at.
    Loudest,
}

impl On {
    /// Those that are events.
    pub(super) const EVENTS: [Self; 4] = [Self::Open, Self::Prompt, Self::Tool, Self::Stop];
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Ordeal {
    /// None: the payload as it was recorded.
    None,
    Feed(Feed),
    /// One firing for each of these on stdin.
    Stdin(fn(&Value) -> Vec<Vec<u8>>),
    Reader(Reader),
    Signal(i32),
    /// So many at once: the same event, or all that there are in turn.
    AtOnce {
        count: usize,
        same: bool,
    },
    FullDisk,
    ReadOnly,
    /// The clocks that count from the machine's start are hours ahead.
    ClocksAhead,
}

/// What is expected of the answer, beside that the hook ends within the bound, does not crash, and leaves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Must {
    /// The harness takes it, and it blocks nothing unless the event asks for permission and a reason is given.
    BeTaken,
    /// Nothing: who is killed or not listened to may fail.
    BeAnything,
}

/// More than any pipe holds.
const MEBIBYTE: usize = 1024 * 1024;
const MARK: &[u8] = "\u{feff}".as_bytes();
const WITH_TOOL: &[On] = &[On::Open, On::Tool];
const TAKEN: &str =
    "ends within the bound, with an answer that the harness takes and that blocks nothing; leaves nothing";
const ANYTHING: &str = "ends within the bound, does not crash, leaves nothing";

const fn taken(name: &'static str, ordeal: Ordeal, on: &'static [On]) -> Case {
    Case { name, expectation: TAKEN, ordeal, on, must: Must::BeTaken }
}

const fn ends(name: &'static str, ordeal: Ordeal) -> Case {
    Case { name, expectation: ANYTHING, ordeal, on: &[On::Loudest], must: Must::BeAnything }
}

const fn killed(name: &'static str, signal: i32) -> Case {
    ends(name, Ordeal::Signal(signal))
}

pub(super) const CASES: &[Case] = &[
    taken("as recorded", Ordeal::None, &On::EVENTS),
    taken("no end of stdin", Ordeal::Feed(Feed::NoEnd), WITH_TOOL),
    taken("stdin closed at once", Ordeal::Feed(Feed::ClosedAtOnce), WITH_TOOL),
    taken("a payload of 1 MiB", Ordeal::Stdin(large), WITH_TOOL),
    taken("a byte-order mark", Ordeal::Stdin(|payload| vec![marked(1, payload)]), WITH_TOOL),
    taken("two byte-order marks", Ordeal::Stdin(|payload| vec![marked(2, payload)]), WITH_TOOL),
    taken("a byte-order mark and nothing", Ordeal::Stdin(|_| vec![MARK.to_vec()]), WITH_TOOL),
    taken("invalid UTF-8", Ordeal::Stdin(invalid), WITH_TOOL),
    taken("empty arrays", Ordeal::Stdin(empty_arrays), WITH_TOOL),
    taken("unknown fields", Ordeal::Stdin(unknown_fields), WITH_TOOL),
    taken("unknown events", Ordeal::Stdin(unknown_events), &[On::Open]),
    taken("no source", Ordeal::Stdin(no_source), &[On::Open]),
    taken("odd sources", Ordeal::Stdin(odd_sources), &[On::Open]),
    taken("the same event twice at once", Ordeal::AtOnce { count: 2, same: true }, &[On::Open]),
    taken("200 events at once", Ordeal::AtOnce { count: 200, same: false }, &[On::Open]),
    ends("stdout closed early", Ordeal::Reader(Reader::ClosesAfter(1))),
    Case { on: &[On::Loudest], ..taken("a slow reader", Ordeal::Reader(Reader::Slow), &[]) },
    killed("TERM in mid-print", SIGTERM),
    killed("INT in mid-print", SIGINT),
    killed("HUP in mid-print", SIGHUP),
    Case { expectation: "leaves nothing", ..killed("KILL in mid-print", SIGKILL) },
    taken("a full disk", Ordeal::FullDisk, WITH_TOOL),
    taken("a read-only project and home", Ordeal::ReadOnly, WITH_TOOL),
    Case {
        expectation: "does the same whatever the clocks say",
        ..taken("a clock that jumps", Ordeal::ClocksAhead, WITH_TOOL)
    },
];

fn bytes(payload: &Value) -> Vec<u8> {
    payload.to_string().into_bytes()
}

/// The payload's fields behind another one.
fn behind(key: &str, value: Value, payload: &Value) -> Value {
    let mut map = Map::new();
    map.insert(key.to_owned(), value);
    if let Value::Object(fields) = payload {
        map.extend(fields.clone());
    }
    Value::Object(map)
}

fn large(payload: &Value) -> Vec<Vec<u8>> {
    // In front, so that what counts comes after it, and where a payload is large in earnest.
    let filler = "x".repeat(MEBIBYTE);
    let mut large = behind("filler", json!(filler), payload);
    if let Some(prompt) = large.get_mut("prompt") {
        *prompt = json!(filler);
    }
    vec![bytes(&large)]
}

fn marked(marks: usize, payload: &Value) -> Vec<u8> {
    let mut all = MARK.repeat(marks);
    all.extend(bytes(payload));
    all
}

fn invalid(payload: &Value) -> Vec<Vec<u8>> {
    const PLACE: &str = "<not-utf-8>";
    // A lone continuation byte, an overlong form, half a character.
    const BROKEN: &[u8] = b"\x80 \xc0\xaf \xe2\x82";
    let text = behind("note", json!(PLACE), payload).to_string();
    let (before, after) = text.split_once(PLACE).unwrap_or((&text, ""));
    vec![[before.as_bytes(), BROKEN, after.as_bytes()].concat()]
}

fn empty_arrays(payload: &Value) -> Vec<Vec<u8>> {
    let mut emptied = payload.clone();
    if let Value::Object(fields) = &mut emptied {
        for value in fields.values_mut().filter(|value| value.is_array() || value.is_object()) {
            *value = json!([]);
        }
        fields.insert("workspace_roots".to_owned(), json!([]));
    }
    vec![bytes(&emptied), b"[]".to_vec()]
}

fn unknown_fields(payload: &Value) -> Vec<Vec<u8>> {
    let mut more = behind("unheardOf", json!({"a": [1, null, {"b": "c"}]}), payload);
    more["un_heard_of"] = json!([[], {}, ""]);
    vec![bytes(&more)]
}

fn unknown_events(payload: &Value) -> Vec<Vec<u8>> {
    ["SomethingNew", "", "session start"]
        .into_iter()
        .map(|name| {
            let mut other = payload.clone();
            for key in ["hook_event_name", "hookEventName", "event"] {
                if let Some(event) = other.get_mut(key) {
                    *event = json!(name);
                }
            }
            bytes(&other)
        })
        .collect()
}

fn no_source(payload: &Value) -> Vec<Vec<u8>> {
    let mut without = payload.clone();
    if let Value::Object(fields) = &mut without {
        fields.shift_remove("source");
    }
    vec![bytes(&without)]
}

fn odd_sources(payload: &Value) -> Vec<Vec<u8>> {
    [json!("warp"), json!(""), json!(7), json!(null), json!({"source": "startup"}), json!(["startup"])]
        .into_iter()
        .map(|source| {
            let mut other = payload.clone();
            other["source"] = source;
            bytes(&other)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_payload_is_as_odd_as_its_name_says() {
        let payload = json!({"hook_event_name": "SessionStart", "source": "startup", "tool_input": {"a": 1}});
        assert!(large(&payload)[0].len() > MEBIBYTE);
        assert!(marked(2, &payload).starts_with("\u{feff}\u{feff}{".as_bytes()));
        assert!(std::str::from_utf8(&invalid(&payload)[0]).is_err());
        assert!(String::from_utf8_lossy(&invalid(&payload)[0]).ends_with(r#""tool_input":{"a":1}}"#));
        let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        assert_eq!(read(&empty_arrays(&payload)[0])["tool_input"], json!([]));
        assert_eq!(read(&no_source(&payload)[0]).get("source"), None);
        assert_eq!(read(&odd_sources(&payload)[2])["source"], 7);
        assert_eq!(read(&unknown_events(&payload)[0])["hook_event_name"], "SomethingNew");
    }
}
