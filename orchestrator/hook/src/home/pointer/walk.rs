//! The way through a pointer, line by line: which text belongs where, and which line holds the date.

use std::ops::Range;

use pulldown_cmark::HeadingLevel;

use super::Written;
use super::outline::{Outline, Section};

/// Where a text belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    In(Section),
    /// Below this heading, which is not known, or above the first one.
    Below(Option<usize>),
}

/// A piece of text of one place.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) place: Place,
    pub(super) text: String,
}

/// What the `Date:` lines hold.
#[derive(Debug, Default)]
pub(super) struct Dates {
    /// The first date that is understood, and its line.
    pub(super) understood: Option<(Written, Range<usize>)>,
    /// The first of what is not, where nothing is understood.
    pub(super) other: Option<String>,
}

/// Looks for the line that reads `Date: …`, or stands below a heading `Date`, outside of comments and code.
pub(super) fn dates(source: &str, outline: &Outline) -> Dates {
    let mut dates = Dates::default();
    let mut is_below_heading = false;
    for range in lines(source) {
        if outline.is_code(ink(source, &range)) {
            continue;
        }
        let text = outline.without_comments(source, range.clone());
        let bare = unmarked(&text);
        let value = match date_value(bare) {
            Some(value) => value,
            None if is_below_heading && !bare.is_empty() => bare,
            None => {
                is_below_heading |= text.starts_with('#') && bare.eq_ignore_ascii_case("date");
                continue;
            }
        };
        is_below_heading = false;
        if let Some(written) = Written::parse(value) {
            return Dates { understood: Some((written, range)), other: None };
        }
        if dates.other.is_none() && value.contains(char::is_alphanumeric) {
            dates.other = Some(value.to_owned());
        }
    }
    dates
}

/// Whether a line is a `Date:` line, whatever it holds.
pub(super) fn is_date(line: &str) -> bool {
    let bare = unmarked(line);
    date_value(bare).is_some() || bare.eq_ignore_ascii_case("date")
}

/// `**Date:** 2026-11-30`, `- Date: …`, `## Date: …` are what people and models write, too.
fn unmarked(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || "*_-#>`".contains(c))
}

fn date_value(bare: &str) -> Option<&str> {
    let is_mark = |c: char| c.is_whitespace() || "*_`\"'".contains(c);
    let (key, value) = bare.split_once(':')?;
    key.trim_matches(is_mark).eq_ignore_ascii_case("date").then(|| value.trim_matches(is_mark))
}

/// The text of the document, piece by piece, without comments and without the line of the date.
pub(super) fn chunks(source: &str, outline: &Outline, date_line: Option<&Range<usize>>) -> Vec<Chunk> {
    let mut walk = Walk {
        place: Place::Below(None),
        level: HeadingLevel::H1,
        label: None,
        chunks: vec![Chunk { place: Place::Below(None), text: String::new() }],
    };
    let mut headings = outline.headings.iter().enumerate().peekable();
    let mut end_of_heading = 0;
    for range in lines(source) {
        if range.start < end_of_heading {
            continue;
        }
        if let Some((at, heading)) = headings.next_if(|(_, heading)| heading.range.start < range.end) {
            end_of_heading = heading.range.end;
            let is_date_line = date_line.is_some_and(|date| date.start == range.start);
            match (&heading.section, walk.place) {
                (Some((section, text)), _) => walk.open(Place::In(*section), heading.level, text),
                // A deeper heading that is not ours is content.
                (None, Place::In(_)) if heading.level > walk.level && !is_date_line => {
                    walk.end_label();
                    walk.push(source.get(heading.range.clone()).unwrap_or_default());
                }
                (None, _) => walk.open(Place::Below(Some(at)), heading.level, ""),
            }
        } else if date_line.is_none_or(|date| date.start != range.start) {
            let is_code = outline.is_code(ink(source, &range));
            walk.line(&outline.without_comments(source, range), is_code);
        }
    }
    walk.chunks
}

struct Walk {
    /// Where text belongs by the headings.
    place: Place,
    /// The level of the heading that says so.
    level: HeadingLevel,
    /// How far a label goes that overrides it, if one does.
    label: Option<Reach>,
    chunks: Vec<Chunk>,
}

/// How far a label reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It has text on its own line.
    Paragraph,
    /// It stands alone, as a heading does.
    NextLabel,
}

impl Walk {
    fn open(&mut self, place: Place, level: HeadingLevel, text: &str) {
        (self.place, self.level, self.label) = (place, level, None);
        self.chunk(place, text);
    }

    fn chunk(&mut self, place: Place, text: &str) {
        self.chunks.push(Chunk { place, text: String::new() });
        self.push(text);
    }

    fn end_label(&mut self) {
        if self.label.take().is_some() {
            self.chunk(self.place, "");
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.text.extend([text.trim_end(), "\n"]);
        }
    }

    fn line(&mut self, text: &str, is_code: bool) {
        if is_code {
            return self.push(text);
        }
        let is_ours = matches!(self.place, Place::In(_));
        if let Some((section, text)) = label(text, !is_ours) {
            self.label = Some(if text.is_empty() { Reach::NextLabel } else { Reach::Paragraph });
            return self.chunk(Place::In(section), &text);
        }
        if self.label == Some(Reach::Paragraph) && text.trim().is_empty() {
            return self.end_label();
        }
        // A date that is not understood is told as that; between the sections it says nothing else.
        if !is_rule(text) && (is_ours || self.label.is_some() || !is_date(text)) {
            self.push(text);
        }
    }
}

/// The section that a line such as `**Next action:** text` or `**Next action**` names, and its text. `plain_too`:
/// without emphasis or as a list item, too, which within a section is more likely text.
fn label(line: &str, plain_too: bool) -> Option<(Section, String)> {
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let item = line.strip_prefix(['-', '*', '+']).and_then(|rest| rest.strip_prefix(' '));
    let bare = item.unwrap_or(line).trim();
    if item.is_some() && !plain_too {
        return None;
    }
    for mark in ["**", "__"] {
        let Some((words, behind)) = bare.strip_prefix(mark).and_then(|inner| inner.split_once(mark)) else {
            continue;
        };
        let (section, text) = Section::with_text(words)?;
        let behind = behind.trim();
        // `**Next** week` is prose: the colon stands within or right behind, or nothing follows.
        let behind = match behind.strip_prefix(':') {
            Some(behind) => behind.trim(),
            None if behind.is_empty() || words.contains(':') => behind,
            None => return None,
        };
        let blank = if text.is_empty() || behind.is_empty() { "" } else { " " };
        return Some((section, format!("{text}{blank}{behind}")));
    }
    let (name, text) = bare.split_once(':').filter(|_| plain_too)?;
    let text = text.trim_start_matches(['*', '_', '`']).trim();
    Some((Section::of(name)?, text.to_owned()))
}

/// A line across the page.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let mut marks = line.chars();
    line.len() >= 3 && marks.next().is_some_and(|first| "-*_=".contains(first) && marks.all(|c| c == first))
}

/// Where the first character of a line stands that is no blank.
fn ink(source: &str, line: &Range<usize>) -> usize {
    let text = source.get(line.clone()).unwrap_or_default();
    line.start + text.len() - text.trim_start().len()
}

/// The lines of a text, each with its end.
fn lines(source: &str) -> impl Iterator<Item = Range<usize>> {
    source.split_inclusive('\n').scan(0, |end, line| {
        let start = *end;
        *end += line.len();
        Some(start..*end)
    })
}
