//! `follow-ups.md`: things to come back to, each a list item that begins with its date.

use std::ops::Range;
use std::path::Path;

use jiff::civil::Date;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::pointer::leading_day;
use super::read::{self, ReadError};
use crate::text::{clean, line};

/// The file's name within a home.
pub const FILE_NAME: &str = "follow-ups.md";
/// A file larger than this is not read.
pub const LIMIT_BYTES: u64 = 256 * 1024;

/// One thing to come back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUp {
    /// The day on which it comes due.
    pub date: Date,
    /// What it is about, as one line of data.
    pub text: String,
    /// Whether its box is ticked.
    pub done: bool,
}

impl FollowUp {
    /// Whether it waits to be done on the day `today`.
    pub fn is_due(&self, today: Date) -> bool {
        !self.done && self.date <= today
    }
}

/// What a file of follow-ups holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowUps {
    /// The follow-ups, in the order of the file.
    pub items: Vec<FollowUp>,
    /// The lines, from 1, of the items without a date that is understood: those that are not ticked off, and are
    /// neither above an item with a date nor a part of one.
    pub undated: Vec<usize>,
}

/// Reads the follow-ups of the home at `home`; none if there is no such file.
///
/// # Errors
/// If there is something that cannot be read: no regular file, too large, not UTF-8, no permission.
pub fn read(home: &Path) -> Result<FollowUps, ReadError> {
    match read::text(&home.join(FILE_NAME), LIMIT_BYTES) {
        Ok(text) => Ok(parse(&text)),
        Err(ReadError::Missing) => Ok(FollowUps::default()),
        Err(error) => Err(error),
    }
}

/// Reads follow-ups from Markdown: list items of any kind and depth that begin with a date, with or without a box.
/// Comments and code hold none.
pub fn parse(markdown: &str) -> FollowUps {
    let source = clean(markdown);
    let items = items(&source);
    let read: Vec<_> = items.iter().map(|item| follow_up(&item.source(&source))).collect();
    // Whether an item has to do with a date: its own, that of an item above it, or of one inside of it.
    let mut is_dated: Vec<bool> = read.iter().map(|read| matches!(read, Read::Dated(_))).collect();
    let mut holds_dated = is_dated.clone();
    for (at, item) in items.iter().enumerate() {
        is_dated[at] |= item.parent.is_some_and(|parent| is_dated[parent]);
    }
    for (at, item) in items.iter().enumerate().rev() {
        if let Some(parent) = item.parent {
            holds_dated[parent] |= holds_dated[at];
        }
    }
    let mut found = FollowUps::default();
    let mut line = 1;
    let mut counted = 0;
    for (at, (item, read)) in items.iter().zip(read).enumerate() {
        match read {
            Read::Dated(follow_up) => found.items.push(follow_up),
            Read::Undated if !is_dated[at] && !holds_dated[at] => {
                line += source[counted..item.start].matches('\n').count();
                counted = item.start;
                found.undated.push(line);
            }
            Read::Undated | Read::Nothing => {}
        }
    }
    found
}

/// An item whose first paragraph is still being read, or has been.
#[derive(Debug, Default)]
struct Item {
    start: usize,
    /// The item that it stands in; always one before it.
    parent: Option<usize>,
    paragraph: Option<Range<usize>>,
    comments: Vec<Range<usize>>,
    complete: bool,
}

/// The list items, in the order of the document, each with its first paragraph.
fn items(source: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    // Indices of the items that are open, the innermost last: an item comes before the items inside of it.
    let mut open: Vec<usize> = Vec::new();
    for (event, range) in Parser::new(source).into_offset_iter() {
        match event {
            Event::Start(Tag::Item) => {
                let parent = open.last().copied();
                open.push(items.len());
                items.push(Item { start: range.start, parent, ..Item::default() });
                continue;
            }
            Event::End(TagEnd::Item) => {
                open.pop();
                continue;
            }
            _ => {}
        }
        let Some(item) = open.last().and_then(|&at| items.get_mut(at)).filter(|item| !item.complete) else {
            continue;
        };
        match event {
            Event::Start(Tag::Paragraph) if item.paragraph.is_none() => {}
            Event::Start(
                Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. },
            )
            | Event::Text(_)
            | Event::Code(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::InlineHtml(_)
            | Event::End(
                TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image,
            ) => {
                if matches!(&event, Event::InlineHtml(html) if html.starts_with("<!--")) {
                    item.comments.push(range.clone());
                }
                let paragraph = item.paragraph.get_or_insert(range.clone());
                paragraph.start = paragraph.start.min(range.start);
                paragraph.end = paragraph.end.max(range.end);
            }
            // Another block: whatever stands in it is not what the item begins with.
            _ => item.complete = true,
        }
    }
    items
}

impl Item {
    /// The source text of the first paragraph, without comments.
    fn source(&self, source: &str) -> String {
        let Some(paragraph) = &self.paragraph else { return String::new() };
        let mut text = String::new();
        let mut at = paragraph.start;
        for comment in &self.comments {
            text.push_str(source.get(at..comment.start).unwrap_or_default());
            at = comment.end;
        }
        text.push_str(source.get(at..paragraph.end).unwrap_or_default());
        text
    }
}

/// What an item says.
enum Read {
    Dated(FollowUp),
    /// Something to do, and no date that is understood.
    Undated,
    /// It is ticked off, or there is nothing to read.
    Nothing,
}

fn follow_up(item: &str) -> Read {
    let (done, text) = after_box(item.trim_start());
    // `**2026-11-30** …` is as good as `2026-11-30 …`.
    let text = text.trim_start_matches(['*', '_', '`']);
    let Some(date) = leading_day(text) else {
        return if done || !text.contains(char::is_alphanumeric) { Read::Nothing } else { Read::Undated };
    };
    let behind = text.get("2026-11-30".len()..).unwrap_or_default();
    // A time is more than a follow-up needs.
    let behind = match behind.strip_prefix(['T', 't']) {
        Some(time) => time.split_once(char::is_whitespace).map_or("", |(_, rest)| rest),
        None => behind,
    };
    let behind = behind.trim_start_matches(|c: char| c.is_whitespace() || "*_`:,;.–—-".contains(c));
    Read::Dated(FollowUp { date, text: line(behind), done })
}

/// Whether the item's box is ticked, and what follows the box.
fn after_box(item: &str) -> (bool, &str) {
    let mut chars = item.chars();
    if let (Some('['), Some(mark), Some(']')) = (chars.next(), chars.next(), chars.next()) {
        return (matches!(mark, 'x' | 'X'), chars.as_str().trim_start());
    }
    (false, item.strip_prefix("[]").map_or(item, str::trim_start))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::text::{LINE_CHARS, is_forbidden};

    fn show(text: &str) -> Vec<String> {
        parse(text)
            .items
            .iter()
            .map(|item| format!("{} {} {}", if item.done { "done" } else { "open" }, item.date, item.text))
            .collect()
    }

    #[rstest]
    #[case::plain("- 2026-11-30 call them")]
    #[case::boxed("- [ ] 2026-11-30: call them")]
    #[case::empty_box("- [] 2026-11-30 - call them")]
    #[case::star("* 2026-11-30, call them")]
    #[case::numbered("7. 2026-11-30 call them")]
    #[case::strong("- **2026-11-30**: call them")]
    #[case::strong_colon("- [ ] **2026-11-30:** call them")]
    #[case::timestamp("- 2026-11-30T10:00:00Z call them")]
    #[case::two_lines("- 2026-11-30 call\n  them\n")]
    #[case::two_paragraphs("- 2026-11-30 call them\n\n  details\n\n- later\n")]
    #[case::comment_within("- 2026-11-30 call <!-- not\nmail --> them")]
    #[case::hostile("- 2026-11-30 call\u{1B}[31m th\u{2063}em")]
    #[case::nested("- later\n  - 2026-11-30 call them\n")]
    #[case::quoted("> - 2026-11-30 call them\n")]
    fn one_open(#[case] text: &str) {
        assert_eq!(show(text), ["open 2026-11-30 call them"]);
    }

    #[rstest]
    #[case::empty("")]
    #[case::no_item("2026-11-30 call them")]
    #[case::date_later("- on 2026-11-30 call them")]
    #[case::no_day("- 2026-02-30 call them")]
    #[case::longer("- 2026-11-301 call them")]
    #[case::a_name("- 2026-11-30-notes.md")]
    #[case::comment("<!--\n- 2026-11-30 call them\n-->\n")]
    #[case::comment_in_an_item("- <!-- 2026-11-30 call them -->\n")]
    #[case::code("```\n- 2026-11-30 call them\n```\n")]
    #[case::indented_code("text\n\n    - 2026-11-30 call them\n")]
    #[case::code_in_an_item("- ```\n  2026-11-30 call them\n  ```\n")]
    #[case::second_paragraph("- call them\n\n  2026-11-30\n")]
    fn none(#[case] text: &str) {
        assert_eq!(show(text), [""; 0]);
    }

    #[test]
    fn every_item_counts_for_itself() {
        let text = "# Follow-ups\n- [x] 2026-11-01 a\n  - [ ] 2026-11-02 see [b](http://b/)\n- [X] 2026-11-03 c\n- 2026-11-04\n";
        assert_eq!(
            show(text),
            [
                "done 2026-11-01 a",
                "open 2026-11-02 see [b](http://b/)",
                "done 2026-11-03 c",
                "open 2026-11-04 "
            ]
        );
    }

    #[rstest]
    #[case::forms("- 30.11.2026 a\n- [ ] 11/30/2026 b\n* Nov 30, 2026 c\n1. 2026-02-30 d\n- e\n", &[1, 2, 3, 4, 5])]
    #[case::lines("# Follow-ups\r\n\r\n<!-- a\nb -->\n\n- a\n  b\n- 2026-11-30 c\n\n- d\n", &[6, 10])]
    #[case::done("- [x] a\n- [ ]\n- <!-- b -->\n", &[])]
    #[case::details("- 2026-11-30 a\n  - detail\n    - detail\n- b\n  - c\n", &[4, 5])]
    #[case::a_group("- a\n  - b\n    - 2026-11-30 c\n  - d\n", &[4])]
    #[case::no_item("2026-11-30 a\n\n    - code\n", &[])]
    #[case::date_later("- call them on 2026-11-30\n", &[1])]
    fn undated(#[case] text: &str, #[case] expected: &[usize]) {
        assert_eq!(parse(text).undated, expected);
    }

    #[rstest]
    #[case("- 2026-11-30 a", "2026-11-29", false)]
    #[case("- 2026-11-30 a", "2026-11-30", true)]
    #[case("- 2026-11-30 a", "2027-01-01", true)]
    #[case("- [x] 2026-11-30 a", "2026-11-30", false)]
    fn due(#[case] text: &str, #[case] today: &str, #[case] expected: bool) {
        assert_eq!(parse(text).items[0].is_due(today.parse().unwrap()), expected);
    }

    proptest! {
        #[test]
        fn takes_any_text(text in "(- |\\[[ x]\\] ?|2026-1[12]-3[01]|<!--|-->|```|    |[\n>*:T]|\\PC|\u{2063}|\u{1B}){0,60}") {
            for item in parse(&text).items {
                prop_assert!(item.text.chars().count() <= LINE_CHARS);
                prop_assert!(!item.text.contains(|c| is_forbidden(c) || c == '\n'));
            }
        }
    }
}
