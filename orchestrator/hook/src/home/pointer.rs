//! `pointer.md`: the hand-over note from one session to the next. People and models edit it by hand, so it is read by
//! its headings, and order, near-names, extras and gaps are tolerated. Text that has no place is kept apart, never lost.

use std::ops::Range;
use std::path::Path;

use jiff::ZonedDateTime;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use self::outline::{Outline, Section};
use self::walk::Place;
use super::read::{self, ReadError};
use crate::text::{LINE_CHARS, clean, line, redact, shorten};

mod outline;
mod walk;

/// The pointer's name within a home.
pub const FILE_NAME: &str = "pointer.md";
/// A pointer larger than this is not read: it is a note, not an archive.
pub const LIMIT_BYTES: u64 = 64 * 1024;
/// How much is kept of what stands where a date should.
const DATE_CHARS: usize = 30;

/// What a pointer says. Sections hold the text as it was written, cleaned, without HTML comments, each line at most
/// [`LINE_CHARS`] characters; a section that is missing or has nothing to read in it is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pointer {
    /// When it was written, from its first `Date:` line that holds a date.
    pub date: Option<Written>,
    /// What its first `Date:` line holds where none holds a date; one short line.
    pub date_not_understood: Option<String>,
    /// What the work is about, and what not.
    pub scope: Option<String>,
    /// What to do next.
    pub next_action: Option<String>,
    /// What stands in the way.
    pub blockers: Option<String>,
    /// What to read before going on.
    pub reading_list: Option<String>,
    /// Where the last session stopped.
    pub resume_note: Option<String>,
    /// Text that belongs to none of these.
    pub other: Option<Other>,
}

/// Text of a pointer that stands in no section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Other {
    /// The titles of the headings that it stands below, each one line; empty for text below no heading.
    pub headings: Vec<String>,
    /// The text with these headings, as a section holds its own.
    pub text: String,
}

/// When a pointer was written, as exactly as it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// An RFC 3339 timestamp.
    At(jiff::Timestamp),
    /// A date and a time without an offset: local time.
    Local(DateTime),
    /// A bare day: it covers the day to its end, in local time.
    Day(Date),
}

impl Pointer {
    /// Reads the pointer of the home at `home`; `None` if there is none.
    ///
    /// # Errors
    /// If there is something that cannot be read as a pointer: no regular file, too large, not UTF-8, no permission.
    pub fn read(home: &Path) -> Result<Option<Self>, ReadError> {
        match read::text(&home.join(FILE_NAME), LIMIT_BYTES) {
            Ok(text) => Ok(Some(Self::parse(&text))),
            Err(ReadError::Missing) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a pointer from its Markdown. Every text is a pointer; what stands below no known heading is its
    /// [`Pointer::other`].
    pub fn parse(markdown: &str) -> Self {
        let source = clean(markdown);
        let outline = Outline::of(&source);
        let dates = walk::dates(&source, &outline);
        let mut pointer = Self {
            date: dates.understood.as_ref().map(|(written, _)| *written),
            date_not_understood: dates.other.map(|value| shorten(&line(&value), DATE_CHARS).into_owned()),
            ..Self::default()
        };
        let mut other = Other::default();
        let mut last = None;
        for chunk in walk::chunks(&source, &outline, dates.understood.as_ref().map(|(_, line)| line)) {
            let Some(text) = says(&chunk.text) else { continue };
            match chunk.place {
                // A section that is there twice: often an empty one from the template and one that was added below.
                Place::In(section) => join(pointer.section(section), &text),
                Place::Below(heading) => {
                    if let Some(heading) = heading.filter(|_| heading != last) {
                        other.add_heading(&source, &outline, heading);
                    }
                    last = heading;
                    other.add(&text);
                }
            }
        }
        if other.text.is_empty() && pointer.says_nothing() {
            // Whoever says all in headings has said it all the same.
            let untouched = |title: &str| title.eq_ignore_ascii_case("pointer") || walk::is_date(title);
            for (at, heading) in outline.headings.iter().enumerate() {
                if heading.section.is_none() && !untouched(&heading.title) {
                    other.add_heading(&source, &outline, at);
                }
            }
        }
        pointer.other = (!other.text.is_empty()).then_some(other);
        pointer
    }

    /// Whether there is nothing to read in it. A date alone is nothing to go by.
    pub const fn says_nothing(&self) -> bool {
        self.scope.is_none()
            && self.next_action.is_none()
            && self.blockers.is_none()
            && self.reading_list.is_none()
            && self.resume_note.is_none()
            && self.other.is_none()
    }

    /// The step to begin with: the first open box if there are boxes, else the first line that is not ticked off; `None`
    /// if there is no next action or none is left. One line, without its list marker.
    pub fn next_step(&self) -> Option<String> {
        let action = self.next_action.as_deref().filter(|text| !says_none(text))?;
        let mut steps = Vec::new();
        let mut has_box = false;
        let mut in_code = false;
        for line in action.lines() {
            let (mark, text) = bare_item(line);
            if text.starts_with("```") {
                in_code = !in_code;
            } else if text.contains(char::is_alphanumeric) {
                has_box |= mark.is_some();
                steps.push((mark, text, in_code));
            }
        }
        let open_box = steps.iter().find(|(mark, ..)| *mark == Some(Mark::Open));
        let plain = || {
            // Where all boxes are ticked a line like "To do:" is no step.
            let is_step = |text: &str| !has_box || !text.ends_with(':');
            // A sentence before the code is the step, code alone is one too.
            let lines = || steps.iter().filter(|(mark, text, _)| mark.is_none() && is_step(text));
            lines().find(|(.., in_code)| !in_code).or_else(|| lines().next())
        };
        open_box.or_else(plain).map(|(_, text, _)| line(text))
    }

    /// Whether anything stands in the way: more than "none" or ticked boxes.
    pub fn is_blocked(&self) -> bool {
        self.blockers.as_deref().is_some_and(|text| !says_none(text))
    }

    const fn section(&mut self, section: Section) -> &mut Option<String> {
        match section {
            Section::Scope => &mut self.scope,
            Section::NextAction => &mut self.next_action,
            Section::Blockers => &mut self.blockers,
            Section::ReadingList => &mut self.reading_list,
            Section::ResumeNote => &mut self.resume_note,
        }
    }
}

impl Other {
    fn add(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn add_heading(&mut self, source: &str, outline: &Outline, at: usize) {
        let heading = &outline.headings[at];
        self.headings.push(line(&heading.title));
        if let Some(text) = says(source.get(heading.range.clone()).unwrap_or_default()) {
            self.add(&text);
        }
    }
}

impl Written {
    /// Reads a date as people write it: RFC 3339, with `T` or a blank, with or without an offset, or a bare day. What
    /// stands behind a day and is no time is ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(at) = text.parse() {
            return Some(Self::At(at));
        }
        let day = leading_day(text)?;
        match text.parse() {
            Ok(local) if text.len() > DAY_BYTES => Some(Self::Local(local)),
            _ => Some(Self::Day(day)),
        }
    }

    /// The last moment that the date covers, in `zone`; `None` at the ends of time.
    pub fn until(self, zone: &TimeZone) -> Option<ZonedDateTime> {
        match self {
            Self::At(at) => Some(at.to_zoned_datetime(zone.clone())),
            Self::Local(local) => local.to_zoned_datetime(zone.clone()).ok(),
            Self::Day(day) => day.to_zoned_datetime(zone.clone()).and_then(|start| start.end_of_day()).ok(),
        }
    }
}

const DAY_BYTES: usize = "2026-11-30".len();

/// The day that `text` begins with, `2026-11-30`, if no digit or letter but a time's `T` follows it.
pub(super) fn leading_day(text: &str) -> Option<Date> {
    let (day, behind) = text.split_at_checked(DAY_BYTES)?;
    let digits = |range: Range<usize>| day.as_bytes()[range].iter().all(u8::is_ascii_digit);
    let shape = digits(0..4) && digits(5..7) && digits(8..10) && &day[4..5] == "-" && &day[7..8] == "-";
    let mut next = behind.chars();
    let ends = match next.next() {
        Some('T' | 't') => next.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => !c.is_alphanumeric() && c != '-',
        None => true,
    };
    if shape && ends { day.parse().ok() } else { None }
}

/// The box of a list item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// `[ ]`, `[]`
    Open,
    /// `[x]`
    Ticked,
}

/// A line without what makes it a list item, a quote or a heading, and its box if it has one.
pub fn bare_item(line: &str) -> (Option<Mark>, &str) {
    let mut bare = line.trim_start();
    // `**strong** text` is no list item.
    while let Some(rest) = bare.strip_prefix(['-', '*', '+', '>', '#']) {
        let rest = if bare.starts_with('#') { rest.trim_start_matches('#') } else { rest };
        if !rest.starts_with(char::is_whitespace) {
            break;
        }
        bare = rest.trim_start();
    }
    bare = match bare.split_once(['.', ')']) {
        Some((number, rest)) if is_number(number) && rest.starts_with(' ') => rest.trim_start(),
        _ => bare,
    };
    for (written, mark) in
        [("[ ]", Mark::Open), ("[]", Mark::Open), ("[x]", Mark::Ticked), ("[X]", Mark::Ticked)]
    {
        if let Some(rest) = bare.strip_prefix(written).filter(|rest| !rest.starts_with('(')) {
            return (Some(mark), rest.trim());
        }
    }
    (None, bare.trim())
}

fn is_number(text: &str) -> bool {
    (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is a way to say that there is nothing: `none`, `- n/a`, only ticked boxes.
fn says_none(text: &str) -> bool {
    let mut lines = text.lines().map(bare_item).filter(|(_, text)| text.contains(char::is_alphanumeric));
    lines.all(|(mark, text)| {
        let word = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let word = word.trim_start_matches("currently ").trim_end_matches(" currently");
        let is_none = matches!(
            word,
            "none"
                | "no"
                | "nothing"
                | "nil"
                | "n/a"
                | "na"
                | "no blockers"
                | "none known"
                | "none at the moment"
        );
        mark == Some(Mark::Ticked) || is_none || word == "none right now" || word == "none so far"
    })
}

fn join(slot: &mut Option<String>, text: &str) {
    match slot {
        Some(before) => before.extend(["\n", text]),
        None => *slot = Some(text.to_owned()),
    }
}

/// The lines of a text, or `None` if nothing is there to read: blanks, list markers, empty boxes.
fn says(kept: &str) -> Option<String> {
    if !kept.contains(char::is_alphanumeric) {
        return None;
    }
    let mut text = String::with_capacity(kept.len());
    let mut gap = false;
    for line in kept.lines() {
        let line = line.trim_end();
        if line.is_empty() {
            gap = !text.is_empty();
            continue;
        }
        if !text.is_empty() {
            text.push_str(if gap { "\n\n" } else { "\n" });
        }
        gap = false;
        text.push_str(&shorten(&redact(line), LINE_CHARS));
    }
    Some(text)
}

#[cfg(test)]
mod tests;
