//! `pointer.md`: the hand-over note from one session to the next. People and models edit it by hand, so it is read by
//! its headings, and order, extras and gaps are tolerated.

use std::ops::Range;
use std::path::Path;

use jiff::ZonedDateTime;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use super::read::{self, ReadError};
use crate::text::{LINE_CHARS, clean, shorten};

/// The pointer's name within a home.
pub const FILE_NAME: &str = "pointer.md";
/// A pointer larger than this is not read: it is a note, not an archive.
pub const LIMIT_BYTES: u64 = 64 * 1024;

/// What a pointer says. Sections hold the text as it was written, cleaned, without HTML comments, each line at most
/// [`LINE_CHARS`] characters; a section that is missing or has nothing to read in it is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pointer {
    /// When it was written, from its first `Date:` line that holds a date.
    pub date: Option<Written>,
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

    /// Reads a pointer from its Markdown. Every text is a pointer; one without a known heading says nothing.
    pub fn parse(markdown: &str) -> Self {
        let source = clean(markdown);
        let mut outline = Outline::of(&source);
        let mut pointer = Self::default();
        if let Some((written, line)) = find_date(&source, &outline) {
            pointer.date = Some(written);
            outline.holes.push(line);
        }
        for (section, range) in outline.sections(source.len()) {
            let Some(text) = says(&source, range, &outline.holes) else { continue };
            let slot = match section {
                Section::Scope => &mut pointer.scope,
                Section::NextAction => &mut pointer.next_action,
                Section::Blockers => &mut pointer.blockers,
                Section::ReadingList => &mut pointer.reading_list,
                Section::ResumeNote => &mut pointer.resume_note,
            };
            // A heading that is there twice: often an empty one from the template and one that was added below.
            match slot {
                Some(before) => {
                    before.push('\n');
                    before.push_str(&text);
                }
                None => *slot = Some(text),
            }
        }
        pointer
    }

    /// Whether no section says anything. A date alone is nothing to go by.
    pub const fn says_nothing(&self) -> bool {
        self.scope.is_none()
            && self.next_action.is_none()
            && self.blockers.is_none()
            && self.reading_list.is_none()
            && self.resume_note.is_none()
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Scope,
    NextAction,
    Blockers,
    ReadingList,
    ResumeNote,
}

impl Section {
    /// The section that a heading opens. `## 2. Next actions:` is as good as `# Next action`.
    fn of(title: &str) -> Option<Self> {
        let words = title
            .trim_start_matches(|c: char| !c.is_alphabetic())
            .trim_end_matches(|c: char| !c.is_alphabetic());
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        match words.strip_suffix('s').unwrap_or(&words) {
            "scope" => Some(Self::Scope),
            "next action" => Some(Self::NextAction),
            "blocker" => Some(Self::Blockers),
            "reading list" => Some(Self::ReadingList),
            "resume note" => Some(Self::ResumeNote),
            _ => None,
        }
    }
}

/// Where a document's own headings stand, and what in it is not to be read. Headings inside of quotes and lists are
/// content.
#[derive(Debug, Default)]
struct Outline {
    headings: Vec<Heading>,
    /// HTML comments; the date.
    holes: Vec<Range<usize>>,
    /// Code blocks, which may show a `Date:` line without meaning it.
    code: Vec<Range<usize>>,
}

#[derive(Debug)]
struct Heading {
    range: Range<usize>,
    level: HeadingLevel,
    section: Option<Section>,
}

impl Outline {
    fn of(source: &str) -> Self {
        let mut outline = Self::default();
        let mut depth = 0_usize;
        let mut open: Option<(Heading, String)> = None;
        for (event, range) in Parser::new(source).into_offset_iter() {
            match event {
                Event::Start(tag) => {
                    match tag {
                        Tag::Heading { level, .. } if depth == 0 => {
                            open = Some((Heading { range, level, section: None }, String::new()));
                        }
                        Tag::HtmlBlock => outline.holes.extend(comments(source, range)),
                        Tag::CodeBlock(_) => outline.code.push(range),
                        _ => {}
                    }
                    depth += 1;
                }
                Event::End(end) => {
                    depth = depth.saturating_sub(1);
                    if depth == 0
                        && matches!(end, TagEnd::Heading(_))
                        && let Some((mut heading, title)) = open.take()
                    {
                        heading.section = Section::of(&title);
                        outline.headings.push(heading);
                    }
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some((_, title)) = &mut open {
                        title.push_str(&text);
                    }
                }
                Event::InlineHtml(html) if html.starts_with("<!--") => outline.holes.push(range),
                _ => {}
            }
        }
        outline
    }

    /// The known sections: from behind their heading to the next heading that is known, or not deeper.
    fn sections(&self, end: usize) -> Vec<(Section, Range<usize>)> {
        let mut sections = Vec::new();
        for (at, heading) in self.headings.iter().enumerate() {
            let Some(section) = heading.section else { continue };
            let next = self.headings[at + 1..]
                .iter()
                .find(|next| next.section.is_some() || next.level <= heading.level);
            sections.push((section, heading.range.end..next.map_or(end, |next| next.range.start)));
        }
        sections
    }
}

/// The comments of an HTML block. One that is not closed hides the rest of the block, as it does in a browser.
fn comments(source: &str, block: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = block.start;
    while let Some(start) = source[at..block.end].find("<!--").map(|offset| at + offset) {
        // `<!-->` and `<!--->` are whole comments, so the end may share hyphens with the beginning.
        let end = source[start + 2..block.end].find("-->").map_or(block.end, |offset| start + 2 + offset + 3);
        found.push(start..end);
        at = end;
    }
    found
}

/// The first line outside of comments and code that reads `Date: …` and holds a date, and where it stands.
fn find_date(source: &str, outline: &Outline) -> Option<(Written, Range<usize>)> {
    let hidden = |at: usize| outline.holes.iter().chain(&outline.code).any(|range| range.contains(&at));
    let mut end = 0;
    for line in source.split_inclusive('\n') {
        let start = end;
        end += line.len();
        // `**Date:** 2026-11-30`, `- Date: …`, `## Date: …` are what people and models write, too.
        let bare = line.trim_matches(|c: char| c.is_whitespace() || "*_-#>`".contains(c));
        let Some((key, value)) = bare.split_once(':') else { continue };
        if key.eq_ignore_ascii_case("date")
            && !hidden(start + line.len() - line.trim_start().len())
            && let Some(written) =
                Written::parse(value.trim_matches(|c: char| c.is_whitespace() || "*_`".contains(c)))
        {
            return Some((written, start..end));
        }
    }
    None
}

/// The text of a section without its holes, or `None` if nothing is left to read: blanks, list markers, empty boxes.
fn says(source: &str, range: Range<usize>, holes: &[Range<usize>]) -> Option<String> {
    let mut kept = String::new();
    let mut at = range.start;
    let mut holes: Vec<_> =
        holes.iter().filter(|hole| hole.start < range.end && hole.end > range.start).collect();
    holes.sort_by_key(|hole| hole.start);
    for hole in holes {
        kept.push_str(source.get(at..hole.start).unwrap_or_default());
        at = at.max(hole.end);
    }
    kept.push_str(source.get(at..range.end).unwrap_or_default());
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
        text.push_str(&shorten(line, LINE_CHARS));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::text::is_forbidden;

    fn day(text: &str) -> Written {
        Written::Day(text.parse().unwrap())
    }

    #[test]
    fn reads_a_whole_pointer() {
        let pointer = Pointer::parse(
            "# Pointer\n\nDate: 2026-11-30T14:00:00Z\n\n## Scope\n\nThe `parser`, *not* the lexer.\n\n\
             ## Next action\n\n1. Fix [the cut](src/cut.rs)\n2. Run it\n\n## Blockers\nnone\n\
             ## Reading list\n- a.md\n\n\n- b.md\n## Resume note\n\n```\n# no heading\n<!-- kept -->\n```\n",
        );
        assert_eq!(
            pointer,
            Pointer {
                date: Some(Written::At("2026-11-30T14:00:00Z".parse().unwrap())),
                scope: Some("The `parser`, *not* the lexer.".into()),
                next_action: Some("1. Fix [the cut](src/cut.rs)\n2. Run it".into()),
                blockers: Some("none".into()),
                reading_list: Some("- a.md\n\n- b.md".into()),
                resume_note: Some("```\n# no heading\n<!-- kept -->\n```".into()),
            }
        );
    }

    #[rstest]
    #[case::empty("")]
    #[case::headings_only("# Scope\n# Next action\n## Blockers\n")]
    #[case::template(
        "# Pointer\n\nDate:\n\n## Scope\n\n<!-- What is it\nabout? -->\n\n## Next action\n<!-- one -->\n"
    )]
    #[case::comment_in_a_list("## Blockers\n- <!-- what? -->\n- [ ]\n")]
    #[case::inline_comment("## Scope\n- * <!-- a --> <!-- b -->\n")]
    #[case::shortest_comments("## Scope\n<!-->\n<!--->\n")]
    #[case::comment_never_closed("## Scope\n<!-- a\n\n## Blockers\nb\n")]
    #[case::headings_in_a_comment("<!--\n## Scope\nx\n-->\n")]
    #[case::headings_in_a_code_block("```\n## Scope\nx\n```\n")]
    #[case::other_headings("# Ideas\nmany\n")]
    #[case::no_heading("just text, Scope: x\n")]
    fn says_nothing(#[case] text: &str) {
        let pointer = Pointer::parse(text);
        assert!(pointer.says_nothing(), "{pointer:?}");
    }

    #[rstest]
    #[case::level("###### Scope\nx")]
    #[case::underlined("Scope\n-----\nx")]
    #[case::case_and_blanks("#  sCoPe  \nx")]
    #[case::closed("## Scope ##\nx")]
    #[case::emphasis("## **Scope**:\nx")]
    #[case::numbered("## 1. Scope\nx")]
    #[case::byte_order_mark("\u{FEFF}# Scope\nx")]
    #[case::windows("# Scope\r\n\r\nx\r\n")]
    #[case::after_an_empty_one("# Scope\n\n# Blockers\n\n# Scope\nx")]
    #[case::comment_around("# Scope\n<!-- a -->\nx\n<!-- b -->\n")]
    #[case::comment_in_a_line("# Scope\nx <!-- a -->")]
    #[case::comment_within("# Scope\n<!-- a\n\nb -->x\n")]
    #[case::ended_by_an_equal_heading("## Scope\nx\n## Ideas\ny")]
    #[case::ended_by_a_higher_heading("## Scope\nx\n# Ideas\ny")]
    #[case::with_its_date("## Scope\nDate: 2026-11-30\n\nx")]
    fn finds_the_scope(#[case] text: &str) {
        assert_eq!(Pointer::parse(text).scope.as_deref(), Some("x"));
    }

    #[test]
    fn a_deeper_heading_that_is_not_ours_is_content() {
        let pointer = Pointer::parse("## Next actions\n### First\na\n### Blockers\nb\n> ## Scope\n> c\n");
        assert_eq!(pointer.next_action.as_deref(), Some("### First\na"));
        assert_eq!(pointer.blockers.as_deref(), Some("b\n> ## Scope\n> c"));
        assert_eq!(pointer.scope, None);
    }

    #[test]
    fn lines_are_cleaned_and_short() {
        let long = "y".repeat(300);
        let pointer = Pointer::parse(&format!("# Scope\na\u{1B}[31mb\u{2063}\n{long}\n"));
        let scope = pointer.scope.unwrap();
        assert_eq!(scope, format!("ab\n{}…", "y".repeat(199)));
    }

    #[rstest]
    #[case::plain("Date: 2026-11-30", day("2026-11-30"))]
    #[case::lower_case("date:2026-11-30", day("2026-11-30"))]
    #[case::strong("**Date:** 2026-11-30", day("2026-11-30"))]
    #[case::strong_all("**Date: 2026-11-30**", day("2026-11-30"))]
    #[case::item("- Date: `2026-11-30`", day("2026-11-30"))]
    #[case::heading("# Pointer\n## Date: 2026-11-30\n# Scope", day("2026-11-30"))]
    #[case::front_matter("---\nDate: 2026-11-30\n---\n# Scope", day("2026-11-30"))]
    #[case::with_words("Date: 2026-11-30 (evening)", day("2026-11-30"))]
    #[case::first_that_holds_one("Date: soon\nDate: 2026-11-30\nDate: 2026-12-01", day("2026-11-30"))]
    #[case::not_the_comment("<!-- x\nDate: 2026-01-01\n-->\nDate: 2026-11-30", day("2026-11-30"))]
    #[case::not_the_inline_comment("<!-- Date: 2026-01-01 -->\nDate: 2026-11-30", day("2026-11-30"))]
    #[case::not_the_code("```\nDate: 2026-01-01\n```\nDate: 2026-11-30", day("2026-11-30"))]
    #[case::minutes("Date: 2026-11-30 14:00", Written::Local("2026-11-30T14:00".parse().unwrap()))]
    #[case::seconds("Date: 2026-11-30T14:00:05", Written::Local("2026-11-30T14:00:05".parse().unwrap()))]
    #[case::offset("Date: 2026-11-30T14:00:00+02:00", Written::At("2026-11-30T12:00:00Z".parse().unwrap()))]
    #[case::blank_and_zulu("Date: 2026-11-30 14:00:00Z", Written::At("2026-11-30T14:00:00Z".parse().unwrap()))]
    fn finds_the_date(#[case] text: &str, #[case] expected: Written) {
        assert_eq!(Pointer::parse(text).date, Some(expected));
    }

    #[rstest]
    #[case::none("# Scope\nx")]
    #[case::empty("Date:")]
    #[case::no_day("Date: 2026-11-31")]
    #[case::longer_number("Date: 2026-11-305")]
    #[case::no_date("Dates: 2026-11-30")]
    #[case::in_a_sentence("The Date: 2026-11-30")]
    #[case::words("Date: tomorrow")]
    fn finds_no_date(#[case] text: &str) {
        assert_eq!(Pointer::parse(text).date, None);
    }

    #[rstest]
    #[case("2026-11-30", "2026-11-30T23:59:59.999999999-05:00[America/New_York]")]
    #[case("2026-11-30 14:00", "2026-11-30T14:00:00-05:00[America/New_York]")]
    #[case("2026-11-30T14:00:00Z", "2026-11-30T09:00:00-05:00[America/New_York]")]
    fn a_date_covers(#[case] text: &str, #[case] until: &str) {
        // Spelt as a rule, so that the test needs no time-zone database.
        let zone = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        let until: jiff::Timestamp = until.split('[').next().unwrap().parse().unwrap();
        assert_eq!(Written::parse(text).unwrap().until(&zone).unwrap().timestamp(), until);
    }

    #[test]
    fn the_ends_of_time_are_no_panic() {
        for text in ["9999-12-31", "9999-12-31 23:59", "0000-01-01", "9999-12-30T22:00:00Z"] {
            let written = Written::parse(text);
            let _ = written.and_then(|written| written.until(&TimeZone::fixed(jiff::tz::offset(-12))));
            let _ = written.and_then(|written| written.until(&TimeZone::fixed(jiff::tz::offset(12))));
        }
    }

    #[test]
    fn deep_nesting_is_no_harm() {
        for piece in ["> ", "- ", "[", "*a _b ", "<!--", "`a", "# Scope\n> ", "\\", "<a "] {
            let text = piece.repeat(usize::try_from(LIMIT_BYTES).unwrap() / piece.len());
            let _ = Pointer::parse(&format!("# Scope\n{text}"));
        }
    }

    #[test]
    fn a_home_without_a_pointer_has_none() {
        let home = tempfile::tempdir().unwrap();
        assert!(Pointer::read(home.path()).unwrap().is_none());
        std::fs::write(home.path().join(FILE_NAME), "# Scope\nx").unwrap();
        assert_eq!(Pointer::read(home.path()).unwrap().unwrap().scope.as_deref(), Some("x"));
    }

    proptest! {
        #[test]
        fn takes_any_text(text in "(#{1,3} (Scope|Blockers|x)\n|<!--|-->|Date: 2026-1[12]-3[01]|[\n >#*`-]|\\PC|\u{2063}|\u{1B}){0,60}") {
            let pointer = Pointer::parse(&text);
            for section in [&pointer.scope, &pointer.blockers].into_iter().flatten() {
                prop_assert!(!section.contains(is_forbidden));
                prop_assert!(section.contains(char::is_alphanumeric));
                prop_assert!(section.lines().all(|line| line.chars().count() <= LINE_CHARS));
            }
        }

        #[test]
        fn takes_any_date(text in "[0-9]{4}-[0-9]{2}-[0-9]{2}[ Tt:.0-9Z+-]{0,20}|\\PC{0,20}") {
            let _ = Written::parse(&text).and_then(|written| written.until(&TimeZone::UTC));
        }
    }
}
