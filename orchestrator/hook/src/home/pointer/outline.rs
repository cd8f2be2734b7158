//! The shape of a pointer's Markdown: its headings, the words that name a section, and what is not to be read.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Scope,
    NextAction,
    Blockers,
    ReadingList,
    ResumeNote,
}

impl Section {
    /// The section that a heading or a label names. `## 2. Next steps (v2):` is as good as `# Next action`.
    pub(super) fn of(title: &str) -> Option<Self> {
        let words = title.trim_start_matches(|c: char| !c.is_alphabetic());
        let words = words.split(['(', '[']).next().unwrap_or_default();
        let words = words.trim_end_matches(|c: char| !c.is_alphabetic());
        // Longer than any of ours.
        if words.len() > 40 {
            return None;
        }
        let words = words.replace(['-', '_'], " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        match words.strip_suffix('s').unwrap_or(&words) {
            "scope" | "current scope" => Some(Self::Scope),
            "next" | "next action" | "next step" | "next up" => Some(Self::NextAction),
            "blocker" | "blocked" | "blocked by" | "blocked on" => Some(Self::Blockers),
            "reading" | "reading list" | "to read" | "read first" => Some(Self::ReadingList),
            "resume" | "resume note" | "resume here" => Some(Self::ResumeNote),
            _ => None,
        }
    }

    /// As [`Section::of`], for words that may go on: `Next action: fix it`. What stands behind the colon is text.
    pub(super) fn with_text(words: &str) -> Option<(Self, &str)> {
        if let Some(section) = Self::of(words) {
            return Some((section, ""));
        }
        let (name, text) = words.split_once(':')?;
        Some((Self::of(name)?, text.trim()))
    }
}

/// Where a document's own headings stand, and what in it is not to be read. Headings inside of quotes and lists are
/// content. All in the order of the document.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) headings: Vec<Heading>,
    comments: Vec<Range<usize>>,
    /// Code blocks, which may show a `Date:` line or a label without meaning it.
    code: Vec<Range<usize>>,
}

#[derive(Debug)]
pub(super) struct Heading {
    pub(super) range: Range<usize>,
    pub(super) level: HeadingLevel,
    pub(super) title: String,
    /// The section that it opens, and the text that its own line already has of it.
    pub(super) section: Option<(Section, String)>,
}

impl Outline {
    pub(super) fn of(source: &str) -> Self {
        let mut outline = Self::default();
        let mut depth = 0_usize;
        let mut open: Option<Heading> = None;
        for (event, range) in Parser::new(source).into_offset_iter() {
            match event {
                Event::Start(tag) => {
                    match tag {
                        Tag::Heading { level, .. } if depth == 0 => {
                            open = Some(Heading { range, level, title: String::new(), section: None });
                        }
                        Tag::HtmlBlock => outline.comments.extend(comments(source, range)),
                        Tag::CodeBlock(_) => outline.code.push(range),
                        _ => {}
                    }
                    depth += 1;
                }
                Event::End(end) => {
                    depth = depth.saturating_sub(1);
                    if depth == 0
                        && matches!(end, TagEnd::Heading(_))
                        && let Some(mut heading) = open.take()
                    {
                        heading.section = Section::with_text(&heading.title)
                            .map(|(section, text)| (section, text.to_owned()));
                        if !is_text_above_a_rule(&source[heading.range.clone()], &heading) {
                            outline.headings.push(heading);
                        }
                    }
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut open {
                        heading.title.push_str(&text);
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some(heading) = &mut open {
                        heading.title.push('\n');
                    }
                }
                Event::InlineHtml(html) if html.starts_with("<!--") => outline.comments.push(range),
                _ => {}
            }
        }
        outline
    }

    /// Whether a place of the source lies within a code block.
    pub(super) fn is_code(&self, at: usize) -> bool {
        let next = self.code.partition_point(|code| code.end <= at);
        self.code.get(next).is_some_and(|code| code.start <= at)
    }

    /// The source at `range` without comments.
    pub(super) fn without_comments(&self, source: &str, range: Range<usize>) -> String {
        let mut kept = String::new();
        let mut at = range.start;
        let first = self.comments.partition_point(|comment| comment.end <= range.start);
        for comment in self.comments[first..].iter().take_while(|comment| comment.start < range.end) {
            kept.push_str(source.get(at..comment.start).unwrap_or_default());
            at = at.max(comment.end);
        }
        kept.push_str(source.get(at..range.end).unwrap_or_default());
        kept
    }
}

/// Text with `---` on the next line is a heading to Markdown, and mostly a text with a line below it to whoever wrote
/// it: a heading has one line, and words that we know or an underline of some length.
fn is_text_above_a_rule(source: &str, heading: &Heading) -> bool {
    if source.trim_start().starts_with('#') {
        return false;
    }
    let underline = source.trim_end().lines().last().unwrap_or_default().trim();
    heading.title.contains('\n') || heading.section.is_none() && underline == "---"
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
