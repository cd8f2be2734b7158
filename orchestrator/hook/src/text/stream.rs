//! Cleaning text as it comes, in pieces that were cut anywhere.

use super::{clean_bytes, redact, redact_cut};

/// How much of a line is held back until its end comes.
const LONGEST_LINE: usize = 64 * 1024;
/// How much of a word is held back then: more than the whole of a digest may be.
const LONGEST_WORD: usize = 1024 * 1024;

/// Cleans a stream of bytes line by line and takes the credentials out of its URLs, so that no character, no URL and
/// hardly an escape sequence is seen in halves. A line of more than 64 KiB goes out in pieces that end between words.
#[derive(Debug, Default)]
pub struct Cleaner {
    held: Vec<u8>,
    /// Cleaned text whose last word has not ended yet.
    word: String,
    /// Whether the rest of a word is left out that was too long to be looked at as a whole.
    is_skipping: bool,
}

impl Cleaner {
    /// Takes the next piece; gives the lines that are whole by now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let whole = match self.held.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => last + 1,
            None if self.held.len() > LONGEST_LINE => last_character_start(&self.held),
            None => return String::new(),
        };
        let rest = self.held.split_off(whole);
        let text = clean_bytes(&std::mem::replace(&mut self.held, rest));
        self.words(&text)
    }

    /// The last line, ended if it was not. `is_cut`: more would have come.
    pub fn finish(&mut self, is_cut: bool) -> String {
        let text = clean_bytes(&std::mem::take(&mut self.held));
        let mut out = self.words(&text);
        let word = std::mem::take(&mut self.word);
        out.push_str(&if is_cut { redact_cut(&word) } else { redact(&word) });
        let is_ended = out.is_empty() || out.ends_with('\n');
        if !is_ended {
            out.push('\n');
        }
        out
    }

    /// Takes the next cleaned text; gives it up to the end of the last word that has one.
    fn words(&mut self, text: &str) -> String {
        let text = if self.is_skipping {
            let Some(end) = text.find(char::is_whitespace) else { return String::new() };
            self.is_skipping = false;
            &text[end..]
        } else {
            text
        };
        let open = text.rfind(char::is_whitespace).map(|at| &text[at..]);
        let Some(open) = open.map(|open| open.trim_start_matches(char::is_whitespace)) else {
            self.word.push_str(text);
            return if self.word.len() > LONGEST_WORD { self.give_up() } else { String::new() };
        };
        let mut out = std::mem::take(&mut self.word);
        out.push_str(&text[..text.len() - open.len()]);
        open.clone_into(&mut self.word);
        redact(&out).into_owned()
    }

    /// A word so long is none; what of it could still be a credential goes.
    fn give_up(&mut self) -> String {
        self.is_skipping = true;
        format!("{}…", redact_cut(&std::mem::take(&mut self.word)))
    }
}

/// Where a character begins that may be cut at the end of `bytes`.
fn last_character_start(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(4);
    let start = bytes[tail..].iter().rposition(|byte| (*byte & 0b1100_0000) != 0b1000_0000);
    start.map_or(bytes.len(), |offset| tail + offset).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::clean;

    fn in_pieces(text: &str, size: usize) -> String {
        let mut cleaner = Cleaner::default();
        let mut out: String = text.as_bytes().chunks(size).map(|piece| cleaner.push(piece)).collect();
        out.push_str(&cleaner.finish(false));
        out
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(
            text in "(\\PC|\\n|\u{1b}\\[[0-9;]{0,4}m|https://[a-z:]{1,5}@|[?]token=){0,80}", cut in 1_usize..7,
        ) {
            let mut whole = redact(&clean(&text)).into_owned();
            if !whole.is_empty() && !whole.ends_with('\n') {
                whole.push('\n');
            }
            prop_assert_eq!(in_pieces(&text, cut), whole);
        }
    }

    #[test]
    fn a_line_without_end_goes_out_in_pieces_and_cuts_no_character() {
        let mut cleaner = Cleaner::default();
        let text = "ä".repeat(100_000);
        let mut out = String::new();
        for piece in text.as_bytes().chunks(4097) {
            out.push_str(&cleaner.push(piece));
            assert!(cleaner.held.len() <= LONGEST_LINE + 4097);
        }
        out.push_str(&cleaner.finish(false));
        assert_eq!(out, text + "\n");
    }

    #[test]
    fn a_long_line_goes_out_while_it_comes_and_shows_no_half_of_a_credential() {
        for before in LONGEST_LINE - 40..LONGEST_LINE + 2 {
            let text = format!("{} https://user:s3cret@host/ {}", "x".repeat(before), "y ".repeat(40_000));
            let mut cleaner = Cleaner::default();
            let mut out = cleaner.push(&text.as_bytes()[..=LONGEST_LINE]);
            out.push_str(&cleaner.push(&text.as_bytes()[LONGEST_LINE + 1..]));
            assert!(out.len() > text.len() - 20, "{} of {}", out.len(), text.len());
            out.push_str(&cleaner.finish(false));
            assert_eq!(out, text.replace("user:s3cret", "***") + "\n");
        }
    }

    #[test]
    fn a_word_without_end_is_bounded_and_its_credentials_are_gone() {
        let mut cleaner = Cleaner::default();
        let mut out = cleaner.push(b"first https://user:");
        for _ in 0..100 {
            out.push_str(&cleaner.push(&[b's'; 20_000]));
            assert!(
                cleaner.word.len() <= LONGEST_WORD + LONGEST_LINE && cleaner.held.len() <= 2 * LONGEST_LINE
            );
        }
        out.push_str(&cleaner.push(b"secret@host/ next\n"));
        assert_eq!(out, "first https://***… next\n");
    }

    #[test]
    fn the_last_word_of_a_text_that_was_cut_is_half_a_word() {
        for (is_cut, expected) in [(true, "see https://***\n"), (false, "see https://user:pa\n")] {
            let mut cleaner = Cleaner::default();
            assert_eq!(cleaner.push(b"see https://user:pa"), "");
            assert_eq!(cleaner.finish(is_cut), expected);
        }
    }
}
