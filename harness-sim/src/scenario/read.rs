//! A TOML file read field by field: what has the wrong shape, or is no field at all, is noted with its line and column.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use thiserror::Error;
use toml_edit::{Item, TableLike, Value};

/// Something in a scenario's file that cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The character of that line, from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.text)
    }
}

/// Why a scenario cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        why: String,
    },
    /// Everything that is wrong in it.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Problems(Vec<Problem>),
    /// It is written for somebody's program, and nobody said where that is.
    #[error("{scenario} needs a value for {{{name}}}: give --define {name}=VALUE")]
    Undefined {
        /// The scenario.
        scenario: String,
        /// The name.
        name: String,
    },
}

/// A file that is being read.
pub(super) struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    problems: RefCell<Vec<Problem>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, problems: RefCell::new(Vec::new()) }
    }

    /// Notes a problem.
    pub(super) fn problem(&self, span: Option<Range<usize>>, text: impl Into<String>) {
        let (line, column) = self.position(span.map_or(0, |span| span.start));
        self.problems.borrow_mut().push(Problem {
            file: self.file.to_owned(),
            line,
            column,
            text: text.into(),
        });
    }

    /// Line and column of a byte, both from 1.
    pub(super) fn position(&self, at: usize) -> (usize, usize) {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// Everything that was noted, in the order of the file.
    pub(super) fn finish(self) -> Result<(), ScenarioError> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        if problems.is_empty() { Ok(()) } else { Err(ScenarioError::Problems(problems)) }
    }
}

/// A table of the file. What was not asked for when it is dropped by [`done`](Self::done) is no field.
pub(super) struct Fields<'a> {
    pub(super) reader: &'a Reader<'a>,
    table: &'a dyn TableLike,
    /// Its name for messages; empty for the whole file.
    place: String,
    pub(super) span: Option<Range<usize>>,
    known: RefCell<Vec<&'static str>>,
}

/// A field's value.
pub(super) struct Field<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) name: String,
    pub(super) item: &'a Item,
    pub(super) span: Option<Range<usize>>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(reader: &'a Reader<'a>, item: &'a Item, place: &str) -> Option<Self> {
        let table = item.as_table_like()?;
        let known = RefCell::new(Vec::new());
        Some(Self { reader, table, place: place.to_owned(), span: item.span(), known })
    }

    fn name(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    pub(super) fn get(&self, key: &'static str) -> Option<Field<'a>> {
        self.known.borrow_mut().push(key);
        let (found, item) = self.table.get_key_value(key)?;
        let span = item.span().or_else(|| found.span());
        Some(Field { reader: self.reader, name: self.name(key), item, span })
    }

    pub(super) fn text(&self, key: &'static str) -> Option<String> {
        self.get(key)?.text()
    }

    pub(super) fn flag(&self, key: &'static str) -> Option<bool> {
        self.get(key)?.typed("true or false", Item::as_bool)
    }

    pub(super) fn count(&self, key: &'static str) -> Option<usize> {
        self.get(key)?.count()
    }

    pub(super) fn duration(&self, key: &'static str) -> Option<Duration> {
        self.get(key)?.duration()
    }

    /// A text, or a list of them.
    pub(super) fn texts(&self, key: &'static str) -> Option<Vec<String>> {
        self.get(key)?.texts()
    }

    /// A table within this one.
    pub(super) fn table(&self, key: &'static str) -> Option<Fields<'a>> {
        self.get(key)?.table()
    }

    /// A list of tables, in either form.
    pub(super) fn tables(&self, key: &'static str) -> Option<Vec<Fields<'a>>> {
        let field = self.get(key)?;
        if let Some(tables) = field.item.as_array_of_tables() {
            let of = |(at, table): (usize, &'a toml_edit::Table)| Fields {
                reader: field.reader,
                table,
                place: format!("{}[{at}]", field.name),
                span: table.span(),
                known: RefCell::new(Vec::new()),
            };
            return Some(tables.iter().enumerate().map(of).collect());
        }
        let items = field.typed("a list of tables", Item::as_array)?;
        let mut tables = Vec::new();
        for (at, value) in items.iter().enumerate() {
            let name = format!("{}[{at}]", field.name);
            match value {
                Value::InlineTable(table) => tables.push(Fields {
                    reader: field.reader,
                    table,
                    place: name,
                    span: table.span(),
                    known: RefCell::new(Vec::new()),
                }),
                other => field
                    .reader
                    .problem(other.span(), format!("{name} is {}, not a table", kind_of_value(other))),
            }
        }
        Some(tables)
    }

    /// Every pair of a table whose keys are not ours to know.
    pub(super) fn pairs(&self) -> Vec<(String, Field<'a>)> {
        self.table
            .iter()
            .map(|(key, item)| {
                let span = item.span().or_else(|| self.table.key(key).and_then(toml_edit::Key::span));
                (key.to_owned(), Field { reader: self.reader, name: self.name(key), item, span })
            })
            .collect()
    }

    /// Whether it has this key, without asking for it.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Notes the keys that were not asked for.
    pub(super) fn done(&self) {
        let known = self.known.borrow();
        for (key, item) in self.table.iter() {
            if known.contains(&key) {
                continue;
            }
            let span = self.table.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
            let hint = nearest(key, known.iter().copied()).map_or_else(
                || format!("there are: {}", known.join(", ")),
                |near| format!("did you mean {near}?"),
            );
            self.reader.problem(span, format!("there is no key {:?}; {hint}", self.name(key)));
        }
    }
}

impl<'a> Field<'a> {
    pub(super) fn problem(&self, text: impl Into<String>) {
        self.reader.problem(self.span.clone(), text);
    }

    pub(super) fn wrong(&self, wanted: &str) {
        self.problem(format!("{} is {}, not {wanted}", self.name, kind(self.item)));
    }

    fn typed<T>(&self, wanted: &str, get: impl Fn(&'a Item) -> Option<T>) -> Option<T> {
        let value = get(self.item);
        if value.is_none() {
            self.wrong(wanted);
        }
        value
    }

    pub(super) fn text(&self) -> Option<String> {
        self.typed("a text", Item::as_str).map(str::to_owned)
    }

    pub(super) fn count(&self) -> Option<usize> {
        self.typed("a whole number from 0", |item| {
            item.as_integer().and_then(|number| number.try_into().ok())
        })
    }

    pub(super) fn number(&self) -> Option<f64> {
        self.typed("a number", as_number)
    }

    /// `"250ms"`, or a number of seconds.
    pub(super) fn duration(&self) -> Option<Duration> {
        self.time(crate::cli::values::duration)
    }

    /// The same, or 0.
    pub(super) fn patience(&self) -> Option<Duration> {
        self.time(crate::cli::values::patience)
    }

    fn time(&self, read: fn(&str) -> Result<Duration, String>) -> Option<Duration> {
        let text = self.typed("a time, as \"250ms\" or a number of seconds", |item| {
            item.as_str().map(str::to_owned).or_else(|| as_number(item).map(|seconds| seconds.to_string()))
        })?;
        read(&text).map_err(|why| self.problem(format!("{} is no time: {why}", self.name))).ok()
    }

    pub(super) fn texts(&self) -> Option<Vec<String>> {
        if let Some(text) = self.item.as_str() {
            return Some(vec![text.to_owned()]);
        }
        let list = self.typed("a text, or a list of texts", Item::as_array)?;
        let texts: Option<Vec<String>> = list.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        if texts.is_none() {
            self.problem(format!("{} has something in it that is no text", self.name));
        }
        texts
    }

    pub(super) fn table(&self) -> Option<Fields<'a>> {
        let table = Fields::of(self.reader, self.item, &self.name);
        if table.is_none() {
            self.wrong("a table");
        }
        table.map(|table| Fields { span: table.span.or_else(|| self.span.clone()), ..table })
    }

    /// One word of a closed list.
    pub(super) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.problem(format!("{} is {text:?}; there are: {}", self.name, known.join(", ")));
        }
        found
    }
}

fn as_number(item: &Item) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "seconds and factors are small")]
    item.as_float().or_else(|| item.as_integer().map(|number| number as f64))
}

/// The known word that is most like this one, if one is.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (strsim::jaro_winkler(known, word), known))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

fn kind(item: &Item) -> &'static str {
    match item {
        Item::None => "nothing",
        Item::Table(_) => "a table",
        Item::ArrayOfTables(_) => "a list of tables",
        Item::Value(value) => kind_of_value(value),
    }
}

fn kind_of_value(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::InlineTable(_) => "a table",
    }
}
