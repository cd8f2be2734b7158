//! Making a text fit what a harness shows of it: parts in order of worth, each whole or cut with a line that says so.
//!
//! A harness that gets more than it shows cuts by its own rule, in the middle, without a word that a model would
//! understand. So nothing is ever handed over that is larger than the budget.

use super::{cut_bytes, cut_utf16};

/// How much of a text a harness shows, and how it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visible {
    /// Everything.
    All,
    /// So many bytes of UTF-8.
    Bytes(usize),
    /// So many UTF-16 code units.
    Utf16(usize),
}

impl Visible {
    fn limit(self) -> usize {
        match self {
            Self::All => usize::MAX,
            Self::Bytes(limit) | Self::Utf16(limit) => limit,
        }
    }

    /// The size of a text as this harness counts it.
    pub fn size(self, text: &str) -> usize {
        match self {
            Self::All => 0,
            Self::Bytes(_) => text.len(),
            Self::Utf16(_) => text.chars().map(char::len_utf16).sum(),
        }
    }

    fn cut(self, text: &str, budget: usize) -> &str {
        match self {
            Self::All => text,
            Self::Bytes(_) => cut_bytes(text, budget),
            Self::Utf16(_) => cut_utf16(text, budget),
        }
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is called where it is left out.
    pub name: String,
    /// Its text, line break and all.
    pub text: String,
}

/// A text to be made to fit.
#[derive(Debug, Clone, Copy)]
pub struct Composition<'a> {
    /// The first lines; always there.
    pub head: &'a str,
    /// The parts, in order of worth.
    pub parts: &'a [Part],
    /// The last lines; always there.
    pub tail: &'a str,
    /// Where the whole can be read: a path, or a command. Said in the first lines if anything is missing.
    pub whole_at: &'a str,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// The text; never larger than the budget.
    pub text: String,
    /// Whether anything is missing.
    pub is_cut: bool,
}

impl Composition<'_> {
    /// Composes the text for what is visible of it.
    pub fn fit(&self, visible: Visible) -> Composed {
        let whole = || self.parts.iter().map(|part| part.text.as_str());
        let size: usize =
            [self.head, self.tail].into_iter().chain(whole()).map(|text| visible.size(text)).sum();
        if size <= visible.limit() {
            let text = std::iter::once(self.head).chain(whole()).chain([self.tail]).collect();
            return Composed { text, is_cut: false };
        }
        let pointer = format!("Cut to fit. The whole text: {}\n", self.whole_at);
        let mut text = format!("{}{pointer}", self.head);
        let mut room = visible.limit().saturating_sub(visible.size(&text) + visible.size(self.tail));
        let mut left_out: Vec<&str> = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            // What may still have to be said after this part.
            let reserve = visible.size(&left_out_line(
                &self.parts[index + 1..].iter().map(|part| part.name.as_str()).collect::<Vec<_>>(),
            ));
            let size = visible.size(&part.text);
            if left_out.is_empty() && size + reserve <= room {
                text.push_str(&part.text);
                room -= size;
                continue;
            }
            let mark = format!("[{}: cut here]\n", part.name);
            let budget = room.saturating_sub(reserve + visible.size(&mark) + 1);
            // A stub of a few words helps nobody.
            if left_out.is_empty() && budget >= 200.min(size / 2) {
                let kept = whole_lines(visible.cut(&part.text, budget));
                text.push_str(kept);
                if !kept.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&mark);
                left_out.extend(self.parts[index + 1..].iter().map(|part| part.name.as_str()));
                break;
            }
            left_out.push(&part.name);
        }
        if !left_out.is_empty() {
            text.push_str(&left_out_line(&left_out));
        }
        text.push_str(self.tail);
        // Head and tail alone may be too much for a tiny budget.
        if visible.size(&text) > visible.limit() {
            text = visible.cut(&text, visible.limit()).to_owned();
        }
        Composed { text, is_cut: true }
    }
}

fn left_out_line(names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!("[left out: {}]\n", names.join(", ")) }
}

/// Up to the last line break, unless that would drop more than a quarter.
fn whole_lines(text: &str) -> &str {
    match text.rfind('\n') {
        Some(end) if end >= text.len() - text.len() / 4 => &text[..=end],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part(name: &str, text: &str) -> Part {
        Part { name: name.to_owned(), text: text.to_owned() }
    }

    fn fit(parts: &[Part], visible: Visible) -> Composed {
        Composition { head: "head\n", parts, tail: "tail\n", whole_at: "/the/file" }.fit(visible)
    }

    #[test]
    fn what_fits_is_whole_to_the_last_unit() {
        // 10 for head and tail, and a character of two UTF-16 units, four bytes.
        let parts = [part("a", "\u{1F6A2}\n")];
        for (visible, is_cut) in [
            (Visible::Utf16(13), false),
            (Visible::Utf16(12), true),
            (Visible::Bytes(15), false),
            (Visible::Bytes(14), true),
            (Visible::All, false),
        ] {
            assert_eq!(fit(&parts, visible).is_cut, is_cut, "{visible:?}");
        }
    }

    #[test]
    fn the_least_worth_goes_first_and_is_named() {
        let parts =
            [part("a", "a\n"), part("long", &"0123456789\n".repeat(100)), part("b", "b\n"), part("c", "c\n")];
        let composed = fit(&parts, Visible::Bytes(600));
        assert!(composed.is_cut && composed.text.len() <= 600);
        assert!(composed.text.starts_with("head\nCut to fit. The whole text: /the/file\na\n0123456789\n"));
        assert!(
            composed.text.ends_with("0123456789\n[long: cut here]\n[left out: b, c]\ntail\n"),
            "{}",
            composed.text
        );
    }

    proptest! {
        #[test]
        fn nothing_is_larger_than_the_budget(
            texts in proptest::collection::vec("(\\PC|\\n){0,400}", 0..8), limit in 0_usize..2000, bytes: bool,
        ) {
            let parts: Vec<Part> = texts.iter().enumerate().map(|(n, text)| part(&format!("part-{n}"), text)).collect();
            let visible = if bytes { Visible::Bytes(limit) } else { Visible::Utf16(limit) };
            let composed = fit(&parts, visible);
            prop_assert!(visible.size(&composed.text) <= limit);
            if composed.is_cut && limit > 300 {
                prop_assert!(composed.text.contains("/the/file") && composed.text.ends_with("tail\n"));
            }
        }
    }
}
