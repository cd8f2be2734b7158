//! Ours in and out of other people's files. What the tests share: four harnesses as their files differ, the corpus, and a
//! second opinion on what a document means.

mod corpus;
mod merging;
mod properties;
mod removing;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;

/// A harness as far as this module sees one.
struct Harness {
    name: &'static str,
    shape: Shape,
    dialect: Dialect,
    entries: Vec<Entry>,
}

const STRICT: Dialect = Dialect {
    comments: false,
    trailing_commas: false,
    byte_order_mark: false,
    root_keys: None,
    handler_types: None,
};
const HARNESSES: [&str; 4] = ["claude", "codex", "cursor", "grok"];

impl Harness {
    fn new(name: &'static str) -> Self {
        let (shape, root_keys, events): (_, Option<&[&str]>, [_; 4]) = match name {
            "codex" => (Shape::Nested, Some(&["description", "hooks"]), NESTED_EVENTS),
            "cursor" => (Shape::Flat, None, FLAT_EVENTS),
            _ => (Shape::Nested, None, NESTED_EVENTS),
        };
        let ours = ["session-open", "prompt", "after-tool", "end"];
        let entry = |(event, ours)| Entry {
            event,
            command: format!("/usr/local/bin/dogwatch hook {name} {ours}"),
            timeout: 30,
        };
        let handler_types: Option<&[&str]> = (name == "codex").then_some(&["command", "prompt"]);
        let dialect = Dialect { root_keys, handler_types, ..STRICT };
        Self { name, shape, dialect, entries: events.into_iter().zip(ours).map(entry).collect() }
    }

    /// With what a file of the corpus needs by its name.
    fn that_reads(name: &'static str, file: &str) -> Self {
        let mut harness = Self::new(name);
        harness.dialect.comments = file.contains("comments");
        harness.dialect.trailing_commas = file.contains("trailing-commas");
        harness.dialect.byte_order_mark = file.contains("byte-order-mark");
        harness
    }

    fn is_ours(&self) -> impl Fn(&str) -> bool + use<> {
        let called = format!(" hook {} ", self.name);
        move |command| command.contains("dogwatch") && command.contains(&called)
    }

    fn add(&self, text: &str) -> Added {
        self.add_after(text, None)
    }

    fn add_after(&self, text: &str, earlier: Option<&Made>) -> Added {
        self.try_add(text, earlier).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn try_add(&self, text: &str, earlier: Option<&Made>) -> Result<Added, Rejected> {
        add(Some(text), self.shape, &self.dialect, &self.entries, &self.is_ours(), earlier)
    }

    fn remove(&self, text: &str, made: Option<&Made>) -> Removed {
        remove(text, self.shape, &self.dialect, &self.is_ours(), made)
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn find(&self, text: &str) -> Vec<Found> {
        find(text, self.shape, &self.dialect, &self.is_ours())
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// What a document means to everybody else: without handlers of ours, and without the containers that are empty.
    fn foreign(&self, text: &str) -> Value {
        let mut root = read(text);
        let is_ours = self.is_ours();
        let ours = |handler: &Value| handler["command"].as_str().is_some_and(&is_ours);
        if let Some(hooks) = root.get_mut("hooks").and_then(Value::as_object_mut) {
            for list in hooks.values_mut().filter_map(Value::as_array_mut) {
                list.retain_mut(|element| match self.shape {
                    Shape::Flat => !ours(element),
                    Shape::Nested => {
                        let Some(handlers) = element.get_mut("hooks").and_then(Value::as_array_mut) else {
                            return true;
                        };
                        let before = handlers.len();
                        handlers.retain(|handler| !ours(handler));
                        let is_emptied = handlers.is_empty() && before > 0;
                        let keys = element.as_object().unwrap().keys();
                        !is_emptied || keys.into_iter().any(|key| key != "hooks" && key != "matcher")
                    }
                });
            }
            hooks.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
        }
        if let Some(root) = root.as_object_mut() {
            root.retain(|key, value| match key.as_str() {
                "hooks" => value.as_object().is_none_or(|hooks| !hooks.is_empty()),
                "version" => self.shape == Shape::Nested,
                _ => true,
            });
        }
        root
    }

    /// Every wanted handler is there once, as wanted, and no other of ours.
    fn assert_has_what_is_wanted(&self, text: &str) {
        let found = self.find(text);
        for entry in &self.entries {
            let its: Vec<&Found> = found.iter().filter(|found| found.event == entry.event).collect();
            let [one] = its.as_slice() else { panic!("{}: {its:?}\n{text}", entry.event) };
            assert_eq!((one.command.as_str(), one.timeout), (entry.command.as_str(), Some(30.0)), "{text}");
        }
        assert_eq!(found.len(), self.entries.len(), "{found:?}\n{text}");
    }
}

const NESTED_EVENTS: [&str; 4] = ["SessionStart", "UserPromptSubmit", "PostToolUse", "SessionEnd"];
const FLAT_EVENTS: [&str; 4] = ["sessionStart", "beforeSubmitPrompt", "postToolUse", "sessionEnd"];

/// A file of the corpus.
struct File {
    name: String,
    text: String,
    harness: Harness,
}

impl File {
    /// Strict JSON, which tools that know no other may rewrite.
    fn is_strict(&self) -> bool {
        self.harness.dialect == Harness::new(self.harness.name).dialect
    }
}

/// The files of a harness, those that it reads; and by themselves those with handlers of ours.
fn corpus(name: &'static str, has_ours: bool) -> Vec<File> {
    let file = |path: PathBuf| {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let harness = Harness::that_reads(name, &stem);
        File { text: fs::read_to_string(&path).unwrap(), name: stem, harness }
    };
    let files = json_files(&top().join(name)).into_iter().map(file);
    files.filter(|file| file.name.starts_with("ours-") == has_ours).collect()
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/register/corpus")
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files
}

/// A document by `serde_json`, which knows strict JSON alone: comments and trailing commas are blanked out first.
fn read(text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    let plain = without_trailing_commas(&without_comments(text));
    serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let end = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").unwrap() + 2
        } else {
            let end = if next == '"' { end_of_string(rest) } else { next.len_utf8() };
            kept.push_str(&rest[..end]);
            end
        };
        rest = &rest[end..];
    }
    kept
}

fn without_trailing_commas(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let end = if next == '"' { end_of_string(rest) } else { next.len_utf8() };
        if next != ',' || !rest[1..].trim_start().starts_with([']', '}']) {
            kept.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    kept
}

fn end_of_string(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    panic!("a string without an end: {text}")
}
