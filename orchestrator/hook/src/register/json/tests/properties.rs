//! Any document, laid out in any way: in and out is the identity, nothing foreign is touched, nothing that is no JSON is
//! edited.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// A document and the way it is written.
#[derive(Debug, Clone)]
struct Written {
    harness: &'static str,
    loose: bool,
    text: String,
}

impl Written {
    fn harness(&self) -> Harness {
        let name = if self.loose { "comments-and-trailing-commas" } else { "" };
        let mut harness = Harness::that_reads(self.harness, name);
        // Handlers of others may be anything here.
        harness.dialect.handler_types = None;
        harness
    }
}

/// A value with keys in any order, twice if need be.
#[derive(Debug, Clone)]
enum Json {
    /// As it stands in the text.
    Scalar(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

fn text(text: &str) -> Json {
    Json::Scalar(Value::from(text).to_string())
}

/// Writes tokens with what comes from `noise` between them, over and over.
struct Writer<'a> {
    noise: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    loose: bool,
    text: String,
}

impl Writer<'_> {
    fn next(&mut self) -> u8 {
        self.noise.next().copied().unwrap_or_default()
    }

    fn white(&mut self) {
        const WHITE: [&str; 9] = ["", "", "", " ", "\n", "\n  ", "\r\n\t", "\n\n    ", " \t "];
        const COMMENTS: [&str; 6] =
            ["/* c */", "// c\n", "/* \n c , \" */", "// { \" }\r\n", "//\n", "/**//* , */"];
        let choice = usize::from(self.next());
        self.text.push_str(WHITE[choice % WHITE.len()]);
        if self.loose && choice.is_multiple_of(7) {
            let comment = usize::from(self.next());
            self.text.push_str(COMMENTS[comment % COMMENTS.len()]);
            self.text.push_str(WHITE[choice / 7 % WHITE.len()]);
        }
    }

    fn value(&mut self, value: &Json) {
        match value {
            Json::Scalar(scalar) => self.text.push_str(scalar),
            Json::List(elements) => self.within('[', elements, ']', Self::value),
            Json::Object(members) => self.within('{', members, '}', |writer, (key, value)| {
                writer.text.push_str(&Value::from(key.as_str()).to_string());
                writer.white();
                writer.text.push(':');
                writer.white();
                writer.value(value);
            }),
        }
    }

    fn within<T>(&mut self, open: char, pieces: &[T], close: char, write: impl Fn(&mut Self, &T)) {
        self.text.push(open);
        for (index, piece) in pieces.iter().enumerate() {
            self.white();
            write(self, piece);
            self.white();
            if index + 1 < pieces.len() || self.loose && self.next().is_multiple_of(2) {
                self.text.push(',');
            }
        }
        self.white();
        self.text.push(close);
    }
}

fn foreign() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        select(vec!["null", "true", "0", "-1.50", "1e3", "\"\\u0041\\n\"", "\"a//b/*c*/\"", "\"{,]\""])
            .prop_map(|scalar| Json::Scalar(scalar.to_owned())),
        "\\PC{0,6}".prop_map(|scalar| text(&scalar)),
    ];
    scalar.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::List),
            vec((key(), inner), 0..3).prop_map(Json::Object),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec!["command", "SessionStart", "sessionStart", "matcher", "", "größer"])
            .prop_map(str::to_owned),
        "[a-z]{1,3}",
    ]
}

/// A handler, of ours with `share` in a hundred.
fn handler(harness: &'static str, share: u32) -> impl Strategy<Value = Json> {
    let commands = ["echo x", "dogwatch", "'/a b/dogwatch' run", ""];
    let foreign = (proptest::option::of(select(commands.to_vec())), vec((key(), foreign()), 0..2)).prop_map(
        |(command, mut members)| {
            members.retain(|(key, _)| key != "command");
            members.extend(command.map(|command| ("command".to_owned(), text(command))));
            Json::Object(members)
        },
    );
    let ours = (
        select(vec!["/usr/local/bin/dogwatch", "'/old one/dogwatch'"]),
        select(vec!["session-open", "end", "gone"]),
        proptest::option::of(select(vec!["5", "30", "\"x\""])),
        any::<bool>(),
    )
        .prop_map(move |(program, event, timeout, more)| {
            let command = format!("{program} hook {harness} {event}");
            let mut members = vec![("command".to_owned(), text(&command))];
            members.extend(timeout.map(|timeout| ("timeout".to_owned(), Json::Scalar(timeout.to_owned()))));
            members.extend(more.then(|| ("x".to_owned(), Json::List(Vec::new()))));
            Json::Object(members)
        });
    prop_oneof![100 - share => foreign, share => ours]
}

fn group(harness: &'static str, share: u32) -> impl Strategy<Value = Json> {
    let handlers = proptest::option::weighted(0.9, vec(handler(harness, share), 0..3));
    let others = vec((select(vec!["matcher", "note"]), foreign()), 0..2);
    (handlers, others, any::<bool>()).prop_map(|(handlers, others, handlers_first)| {
        let mut members: Vec<_> = others.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        if let Some(handlers) = handlers {
            let at = if handlers_first { 0 } else { members.len() };
            members.insert(at, ("hooks".to_owned(), Json::List(handlers)));
        }
        Json::Object(members)
    })
}

fn document(harness: &'static str, share: u32) -> impl Strategy<Value = Json> {
    let is_flat = harness == "cursor";
    let element = if is_flat { handler(harness, share).boxed() } else { group(harness, share).boxed() };
    let events = if is_flat { FLAT_EVENTS } else { NESTED_EVENTS };
    let mut names = events.to_vec();
    names.extend(["Stop", "größer"]);
    let hooks = (proptest::sample::subsequence(names, 0..5), vec(vec(element, 0..3), 5)).prop_map(
        |(names, lists)| {
            let lists = lists.into_iter().map(Json::List);
            Json::Object(names.into_iter().map(str::to_owned).zip(lists).collect())
        },
    );
    let others = vec((key(), foreign()), 0..3);
    (others, proptest::option::weighted(0.8, hooks), any::<bool>(), 0..4_usize, 0..4_usize).prop_map(
        move |(others, hooks, has_version, hooks_at, version_at)| {
            let mut members = if harness == "codex" { Vec::new() } else { others };
            if let Some(hooks) = hooks {
                members.insert(hooks_at.min(members.len()), ("hooks".to_owned(), hooks));
            }
            if is_flat && has_version {
                let version = ("version".to_owned(), Json::Scalar("1".to_owned()));
                members.insert(version_at.min(members.len()), version);
            }
            Json::Object(members)
        },
    )
}

fn written(share: u32) -> impl Strategy<Value = Written> {
    (select(HARNESSES.to_vec()), any::<bool>())
        .prop_flat_map(move |(harness, loose)| {
            (Just(harness), Just(loose), document(harness, share), noise())
        })
        .prop_map(|(harness, loose, document, noise)| {
            let mut writer = Writer { noise: noise.iter().cycle(), loose, text: String::new() };
            writer.white();
            writer.value(&document);
            writer.white();
            Written { harness, loose, text: writer.text }
        })
}

/// Mostly short, so that there are documents that are written evenly.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 1..3), vec(any::<u8>(), 1..40)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_and_out_is_the_identity(written in written(0), has_record in any::<bool>()) {
        let harness = written.harness();
        // Of a file that was there before this one.
        let stale = harness.add("").made;
        let added = harness.add_after(&written.text, has_record.then_some(&stale));
        harness.assert_has_what_is_wanted(&added.text);
        prop_assert_eq!(harness.foreign(&added.text), harness.foreign(&written.text));
        for found in harness.find(&added.text) {
            let list = &read(&added.text)["hooks"][&found.event];
            prop_assert_eq!(Some(found.group + 1), list.as_array().map(Vec::len));
        }
        let removed = harness.remove(&added.text, Some(&added.made));
        prop_assert_eq!(removed.text, written.text);
        prop_assert!(!removed.is_bare);
    }

    #[test]
    fn what_was_there_of_ours_is_brought_up_to_date(written in written(40)) {
        let harness = written.harness();
        let added = harness.add(&written.text);
        harness.assert_has_what_is_wanted(&added.text);
        prop_assert_eq!(harness.foreign(&added.text), harness.foreign(&written.text), "{}", added.text);
        let again = harness.add_after(&added.text, Some(&added.made));
        prop_assert_eq!(&again.changes, &[]);
        prop_assert_eq!((&again.text, &again.made), (&added.text, &added.made));
        prop_assert_eq!(harness.add(&added.text).text, added.text);
    }

    #[test]
    fn only_ours_goes(written in written(40), made in (any::<[bool; 3]>(), any::<bool>())) {
        let ([version, hooks, all_events], has_record) = made;
        let harness = written.harness();
        let events = harness.entries.iter().map(|entry| entry.event.to_owned());
        let events = events.filter(|_| all_events).collect();
        let made = Made { version, hooks, events, ..Made::default() };
        let removed = harness.remove(&written.text, has_record.then_some(&made));
        prop_assert_eq!(harness.foreign(&removed.text), harness.foreign(&written.text), "{}", removed.text);
        prop_assert_eq!(harness.find(&removed.text), []);
        prop_assert_eq!(harness.remove(&removed.text, None).text, removed.text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    /// Pieces of JSON and of what passes for it elsewhere, in any order.
    #[test]
    fn what_is_no_json_is_not_edited(
        pieces in vec(select(vec![
            "{", "}", "[", "]", ",", ":", "\"hooks\"", "\"a\"", "1", "0", "-", ".5", "+1", "0x1", "01", "1e5", "NaN", "'a'", "a",
            "null", "nul", "\"\\x41\"", "\"\\ud83d\"", "\"\t\"", "\"\\", " ", "\n", "\u{a0}", "\u{b}", "\u{feff}", "//", "/*", "*/", "\0",
        ]), 0..9),
        wrapped in any::<bool>(),
    ) {
        let text = pieces.concat();
        let text = if wrapped { format!("{{\"a\":{text}}}") } else { text };
        let harness = Harness::new("claude");
        if let Ok(added) = harness.try_add(&text, None) {
            prop_assert!(is_blank(&text) || is_json(&text), "{}", text);
            prop_assert!(is_json(&added.text), "{}", text);
        } else if let Ok(Value::Object(value)) = serde_json::from_str::<Value>(&text) {
            // Refused for what it says, not for how it is written.
            prop_assert!(value.get("hooks").is_some_and(|hooks| !hooks.is_object()), "{}", text);
        }
        let mut loose = harness;
        loose.dialect = Dialect { comments: true, trailing_commas: true, byte_order_mark: true, root_keys: None, handler_types: None };
        if let Ok(added) = loose.try_add(&text, None) {
            prop_assert!(loose.try_add(&added.text, Some(&added.made)).is_ok(), "{}", text);
        }
    }
}

/// Whatever the numbers come to.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn is_blank(text: &str) -> bool {
    text.trim_matches([' ', '\t', '\n', '\r']).is_empty()
}
