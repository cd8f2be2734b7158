//! Cleaning text as it comes, in pieces that were cut anywhere.

use super::clean_bytes;

/// How much of a line is held back until its end comes.
const LONGEST_LINE: usize = 64 * 1024;

/// Cleans a stream of bytes line by line, so that no character and hardly an escape sequence is seen in halves. A line
/// of more than 64 KiB goes out in pieces.
#[derive(Debug, Default)]
pub struct Cleaner {
    held: Vec<u8>,
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
        clean_bytes(&std::mem::replace(&mut self.held, rest))
    }

    /// The last line, ended if it was not.
    pub fn finish(&mut self) -> String {
        let mut text = clean_bytes(&std::mem::take(&mut self.held));
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text
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

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(text in "(\\PC|\\n|\u{1b}\\[[0-9;]{0,4}m){0,80}", cut in 1_usize..7) {
            let mut cleaner = Cleaner::default();
            let mut out: String = text.as_bytes().chunks(cut).map(|piece| cleaner.push(piece)).collect();
            out.push_str(&cleaner.finish());
            let mut whole = super::super::clean(&text);
            if !whole.is_empty() && !whole.ends_with('\n') {
                whole.push('\n');
            }
            prop_assert_eq!(out, whole);
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
        out.push_str(&cleaner.finish());
        assert_eq!(out, text + "\n");
    }
}
