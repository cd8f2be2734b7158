//! Colours, where a terminal wants them.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style as Ansi};

/// How text is shown; in a pipe not at all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    is_coloured: bool,
}

impl Style {
    pub(super) fn new(is_coloured: bool) -> Self {
        Self { is_coloured }
    }

    /// The digest's first line.
    pub(super) fn title(self, text: &str) -> String {
        self.lines(text, Ansi::new().bold(), |_| true)
    }

    /// A line about the digest itself.
    pub(super) fn note(self, text: &str) -> String {
        self.lines(text, AnsiColor::Yellow.on_default(), |_| true)
    }

    /// Something that is missing.
    pub(super) fn alarm(self, text: &str) -> String {
        self.lines(text, AnsiColor::Red.on_default().bold(), |line| line.starts_with("==="))
    }

    /// A stage's section: its heading.
    pub(super) fn section(self, text: &str) -> String {
        let mut is_first = true;
        self.lines(text, AnsiColor::Cyan.on_default().bold(), |line| {
            line.starts_with("## ") && std::mem::take(&mut is_first)
        })
    }

    fn lines(self, text: &str, style: Ansi, mut is_styled: impl FnMut(&str) -> bool) -> String {
        if !self.is_coloured {
            return text.to_owned();
        }
        let mut styled = String::new();
        for line in text.split_inclusive('\n') {
            let (words, end) = line.strip_suffix('\n').map_or((line, ""), |words| (words, "\n"));
            // Writing to a string does not fail.
            let _ = if words.is_empty() || !is_styled(words) {
                styled.write_str(line)
            } else {
                write!(styled, "{style}{words}{style:#}{end}")
            };
        }
        styled
    }
}
