//! Colours, where a terminal wants them.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style as Ansi};

/// Something that is missing, or forbidden.
const ALARM: Ansi = AnsiColor::Red.on_default().bold();

/// How text is shown; in a pipe not at all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    is_coloured: bool,
}

impl Style {
    pub(super) fn new(is_coloured: bool) -> Self {
        Self { is_coloured }
    }

    /// The digest's first lines: what it is, and lines about itself.
    pub(super) fn head(self, text: &str) -> String {
        self.lines(text, |line| match line {
            line if line.starts_with("===") => Some(ALARM),
            line if line.starts_with('#') => Some(Ansi::new().bold()),
            _ => Some(AnsiColor::Yellow.on_default()),
        })
    }

    /// A piece of it: the heading of a section, and where something is missing.
    pub(super) fn body(self, text: &str) -> String {
        let mut is_first = true;
        self.lines(text, |line| match line {
            line if line.starts_with("## ") && std::mem::take(&mut is_first) => {
                Some(AnsiColor::Cyan.on_default().bold())
            }
            line if line.starts_with("=== ") => Some(ALARM),
            _ => None,
        })
    }

    fn lines(self, text: &str, style_of: impl FnMut(&str) -> Option<Ansi>) -> String {
        let mut style_of = style_of;
        if !self.is_coloured {
            return text.to_owned();
        }
        let mut styled = String::new();
        for line in text.split_inclusive('\n') {
            let (words, end) = line.strip_suffix('\n').map_or((line, ""), |words| (words, "\n"));
            // Writing to a string does not fail.
            let _ = match style_of(words).filter(|_| !words.is_empty()) {
                Some(style) => write!(styled, "{style}{words}{style:#}{end}"),
                None => styled.write_str(line),
            };
        }
        styled
    }
}
