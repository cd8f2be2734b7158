//! Reading a TOML document key by key: what was not asked for is reported, and so is what does not fit, all of it.
//!
//! Knows nothing of dogwatch's own keys; those are in `schema.rs`.

use std::ops::Range;
use std::path::PathBuf;

use toml_edit::{Document, Item, TableLike, Value};

use super::problem::{Position, Problem, printable};
use crate::text::redact;

/// Past so many problems no more are kept: nobody reads them, and the file may be hostile.
const MOST_PROBLEMS: usize = 100;

/// What a value was wrong in. Several, because an array can be wrong in several places.
pub(super) struct Wrong {
    pub(super) index: Option<usize>,
    pub(super) span: Option<Range<usize>>,
    pub(super) message: String,
}

impl Wrong {
    /// `expected …, found …`.
    pub(super) fn value(value: &Value, expected: &str) -> Wrong {
        Wrong {
            index: None,
            span: value.span(),
            message: format!("expected {expected}, found {}", found(value)),
        }
    }
}

/// What a parser of one value gives.
pub(super) type Parsed<T> = Result<T, Vec<Wrong>>;

/// Parses the text, hands its top table to `read`, and collects every problem on the way.
pub(super) fn document(file: PathBuf, text: &str, read: impl FnOnce(&mut Table<'_, '_>)) -> Vec<Problem> {
    let mut report = Report { file, text, problems: Vec::new(), unknown: Vec::new(), tables: Vec::new() };
    match Document::parse(text) {
        Ok(document) => {
            let top: &dyn TableLike = document.as_table();
            let mut table = Table {
                report: &mut report,
                like: Some(top),
                path: String::new(),
                joint: "",
                offset: None,
                known: Vec::new(),
            };
            read(&mut table);
            table.finish("");
            report.tell_unknown();
        }
        Err(error) => {
            let offset = error.span().map_or(0, |span| span.start);
            report.add(Some(offset), "", format!("not valid TOML: {}", error.message()));
        }
    }
    report.problems
}

struct Report<'t> {
    file: PathBuf,
    text: &'t str,
    problems: Vec<Problem>,
    /// Keys that nobody asked for. What is said of them depends on the tables that come later.
    unknown: Vec<Unknown>,
    /// The tables that were asked for, there or not: how a line of the file names each, and its keys.
    tables: Vec<(String, Vec<&'static str>)>,
}

struct Unknown {
    offset: Option<usize>,
    path: String,
    key: String,
    kind: &'static str,
    /// What it should have been one of.
    known: Vec<&'static str>,
}

impl Report<'_> {
    fn add(&mut self, offset: Option<usize>, key: &str, message: String) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem {
                file: self.file.clone(),
                position: offset.map(|offset| Position::of(self.text, offset)),
                key: key.to_owned(),
                message,
            });
        }
    }

    fn tell_unknown(&mut self) {
        for Unknown { offset, path, key, kind, known } in std::mem::take(&mut self.unknown) {
            // Of a table it is the line that begins it, of a key that of the outermost table that has one, a table of the
            // same family before others.
            let begins = |line: &&str| {
                let names = line.trim_matches(['[', ']']);
                names
                    .rsplit_once('.')
                    .is_some_and(|(_, last)| key == last || key.strip_suffix('s') == Some(last))
            };
            let mut lines = self.tables.iter().map(|(line, _)| line.as_str());
            let table = if kind == "table" { lines.find(begins) } else { None };
            let holders = self.tables.iter().filter(|(_, keys)| keys.contains(&key.as_str()));
            let family =
                |line: &str| line.trim_matches(['[', ']']).split('.').next() == path.split('.').next();
            let advice = match (table, holders.min_by_key(|(line, _)| (!family(line), line.len()))) {
                (Some(line), _) => format!("did you mean {line}?"),
                (None, Some((line, _))) => format!("put it below {line}"),
                (None, None) => suggestion(&key, &known),
            };
            self.add(offset, &path, format!("unknown {kind}; {advice}"));
        }
    }
}

/// One table of an array of tables, and where it stands.
type Entry<'a> = (&'a dyn TableLike, Option<Range<usize>>);

/// One table of the document. It remembers which keys it was asked for; the others are unknown.
pub(super) struct Table<'r, 't> {
    report: &'r mut Report<'t>,
    /// `None` where the document has no such table: every key is absent then.
    like: Option<&'r dyn TableLike>,
    path: String,
    /// What stands between the path and a key.
    joint: &'static str,
    /// Where the table begins, for what is missing in it.
    offset: Option<usize>,
    known: Vec<&'static str>,
}

impl<'r, 't> Table<'r, 't> {
    /// The value of a key, if it is there and fits.
    pub(super) fn value<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&Value) -> Parsed<T>,
    ) -> Option<T> {
        let item = self.ask(key)?;
        let parsed = match item {
            Item::Value(value) => parse(value),
            // A parser says itself what it expects, so it is shown an empty inline table for a table.
            other => parse(&Value::InlineTable(toml_edit::InlineTable::new())).map_err(|mut wrong| {
                for wrong in &mut wrong {
                    wrong.span = other.span();
                }
                wrong
            }),
        };
        match parsed {
            Ok(value) => Some(value),
            Err(wrong) => {
                for Wrong { index, span, message } in wrong {
                    let path = self.path_of(key);
                    let path = index.map_or_else(|| path.clone(), |index| format!("{path}[{index}]"));
                    let offset = span.map(|span| span.start).or_else(|| self.offset_of(key));
                    self.report.add(offset, &path, message);
                }
                None
            }
        }
    }

    /// As [`Table::value`], where the key must be there.
    pub(super) fn required<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&Value) -> Parsed<T>,
    ) -> Option<T> {
        let value = self.value(key, parse);
        if !self.has(key) {
            let path = self.path_of(key);
            self.report.add(self.offset, &path, "missing".to_owned());
        }
        value
    }

    /// A table within this one. Where the document has none, `read` sees an empty one.
    pub(super) fn table<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Table<'_, 't>) -> T,
    ) -> Option<T> {
        let path = self.path_of(key);
        let item = self.ask(key);
        let like = item.and_then(Item::as_table_like);
        if let (Some(item), None) = (item, like) {
            let message = format!("expected a table, found {}", found_item(item));
            self.refuse(key, message);
            return None;
        }
        let offset = self.offset_of(key);
        let line = format!("[{path}]");
        let mut table =
            Table { report: &mut *self.report, like, path, joint: ".", offset, known: Vec::new() };
        let value = read(&mut table);
        table.finish(&line);
        Some(value)
    }

    /// The tables `[[key]]`, at most `most` of them. In what is said of one it goes by the text of its key `named_by`.
    pub(super) fn tables<T>(
        &mut self,
        key: &'static str,
        named_by: &str,
        most: usize,
        mut read: impl FnMut(&mut Table<'_, 't>) -> Option<T>,
    ) -> Vec<T> {
        let path = self.path_of(key);
        let line = format!("[[{path}]]");
        let Some(item) = self.ask(key) else {
            // Its keys are known all the same; that the required ones are missing is nothing to tell.
            let told = self.report.problems.len();
            let mut table = Table {
                report: &mut *self.report,
                like: None,
                path,
                joint: ".",
                offset: None,
                known: Vec::new(),
            };
            let _ = read(&mut table);
            table.finish(&line);
            self.report.problems.truncate(told);
            return Vec::new();
        };
        let key_offset = self.offset_of(key);
        let entries: Option<Vec<Entry<'_>>> = match item {
            Item::ArrayOfTables(tables) => {
                Some(tables.iter().map(|table| (table as &dyn TableLike, table.span())).collect())
            }
            Item::Value(Value::Array(array)) => array
                .iter()
                .map(|value| value.as_inline_table().map(|table| (table as &dyn TableLike, table.span())))
                .collect(),
            _ => None,
        };
        let Some(entries) = entries else {
            let message = format!("expected tables, each below a line {line}, found {}", found_item(item));
            self.report.add(key_offset, &path, message);
            return Vec::new();
        };
        if let Some((_, span)) = entries.get(most) {
            let message = format!("expected at most {most} of them, found {}", entries.len());
            self.report.add(span.as_ref().map(|span| span.start).or(key_offset), &path, message);
        }
        let mut values = Vec::new();
        for (index, (like, span)) in entries.into_iter().enumerate().take(most) {
            let name = like.get(named_by).and_then(Item::as_str).filter(|name| !name.trim().is_empty());
            let mut table = Table {
                report: &mut *self.report,
                like: Some(like),
                path: match name {
                    Some(name) => format!("{path} \"{}\"", printable(name, 40)),
                    None => format!("{path}[{index}]"),
                },
                joint: if name.is_some() { ": " } else { "." },
                offset: span.map(|span| span.start).or(key_offset),
                known: Vec::new(),
            };
            values.extend(read(&mut table));
            table.finish(&line);
        }
        values
    }

    /// Whether the document has the key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.like.is_some_and(|like| like.contains_key(key))
    }

    /// Whether the key stands for tables: `[[key]]`, `[key]` or inline ones.
    pub(super) fn has_tables(&self, key: &str) -> bool {
        self.like.and_then(|like| like.get(key)).is_some_and(|item| match item {
            Item::Value(Value::Array(array)) => array.iter().any(Value::is_inline_table),
            item => item.is_table_like() || item.is_array_of_tables(),
        })
    }

    /// Takes note of a key that is not read.
    pub(super) fn pass_over(&mut self, key: &'static str) {
        self.known.push(key);
    }

    /// Reports something about a key that fits by itself.
    pub(super) fn refuse(&mut self, key: &'static str, message: String) {
        let path = self.path_of(key);
        let offset = self.offset_of(key);
        self.report.add(offset, &path, message);
    }

    fn ask(&mut self, key: &'static str) -> Option<&'r Item> {
        self.known.push(key);
        self.like?.get(key)
    }

    fn path_of(&self, key: &str) -> String {
        format!("{}{}{key}", self.path, self.joint)
    }

    /// Where a key stands; for one that is absent, where its table does.
    fn offset_of(&self, key: &str) -> Option<usize> {
        let span = self.like.and_then(|like| {
            like.key(key).and_then(toml_edit::Key::span).or_else(|| like.get(key).and_then(Item::span))
        });
        span.map(|span| span.start).or(self.offset)
    }

    /// Takes note of every key that nobody asked for, and of the table's own as those of the one that `line` begins.
    fn finish(self, line: &str) {
        let unknown = self.like.into_iter().flat_map(TableLike::iter);
        for (key, item) in unknown.filter(|(key, _)| !self.known.contains(key)).take(MOST_PROBLEMS) {
            let kind = if item.is_table_like() || item.is_array_of_tables() { "table" } else { "key" };
            let (offset, path, key) = (self.offset_of(key), self.path_of(key), key.to_owned());
            let known = self.known.clone();
            if self.report.unknown.len() < MOST_PROBLEMS {
                self.report.unknown.push(Unknown { offset, path, key, kind, known });
            }
        }
        let tables = &mut self.report.tables;
        if !line.is_empty() && !tables.iter().any(|(known, _)| known == line) {
            tables.push((line.to_owned(), self.known));
        }
    }
}

/// `did you mean "…"?`, or what there is when nothing is near.
pub(super) fn suggestion(word: &str, known: &[&str]) -> String {
    // A similarity of words that are longer than any of ours means nothing, and costs.
    let word: String = word.chars().take(64).collect();
    let nearest = known
        .iter()
        .map(|known| (strsim::jaro_winkler(&word.to_lowercase(), known), known))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match nearest {
        Some((similarity, known)) if similarity > 0.8 => format!("did you mean \"{known}\"?"),
        _ => format!("expected one of {}", known.join(", ")),
    }
}

/// What a value is, for a message.
fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the text \"{}\"", printable(&redact(text.value()), 40)),
        Value::Integer(number) => format!("the number {}", number.value()),
        Value::Float(number) => format!("the number {}", number.value()),
        Value::Boolean(truth) => truth.value().to_string(),
        Value::Datetime(_) => "a date".to_owned(),
        Value::Array(array) if array.is_empty() => "an empty array".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::InlineTable(_) => "a table".to_owned(),
    }
}

fn found_item(item: &Item) -> String {
    match item {
        Item::Value(value) => found(value),
        Item::ArrayOfTables(_) => "an array of tables".to_owned(),
        Item::Table(_) | Item::None => "a table".to_owned(),
    }
}
