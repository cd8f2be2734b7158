//! Lines that a repository brought along, shown as data.

use std::borrow::Cow;

use super::clean::{clean, clean_bytes};
use super::redact::redact;

/// How many characters a line taken from a repository may have.
pub const LINE_CHARS: usize = 200;

/// One line of data: cleaned, without credentials in URLs, white space folded to single blanks, at most [`LINE_CHARS`]
/// characters with `…` at the cut.
pub fn line(text: &str) -> String {
    fold(&clean(text))
}

/// [`line()`] for bytes; what is not UTF-8 becomes U+FFFD.
pub fn line_bytes(bytes: &[u8]) -> String {
    fold(&clean_bytes(bytes))
}

/// At most `chars` characters of `text`, with `…` as the last of them if anything was cut.
pub fn shorten(text: &str, chars: usize) -> Cow<'_, str> {
    if text.char_indices().nth(chars).is_none() {
        return Cow::Borrowed(text);
    }
    let Some(kept) = chars.checked_sub(1) else { return Cow::Borrowed("") };
    let end = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
    Cow::Owned(format!("{}…", text[..end].trim_end()))
}

fn fold(cleaned: &str) -> String {
    // Before the cut, which could leave half a credential.
    let cleaned = redact(cleaned);
    let mut out = String::with_capacity(cleaned.len().min(4 * LINE_CHARS));
    for word in cleaned.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    shorten(&out, LINE_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::text::is_forbidden;

    #[rstest]
    #[case::folds("  a \t\n b\u{2028}c\u{A0}d  ", "a b c d")]
    #[case::cleans("a\u{1B}[31mb\u{2063}c", "abc")]
    #[case::two_lines("a\r\nREAD-ONLY", "a READ-ONLY")]
    #[case::empty(" \u{202E}\n", "")]
    #[case::credential("a https://u:p\u{1B}[0m@h b", "a https://***@h b")]
    fn one_line(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(line(text), expected);
    }

    #[rstest]
    #[case("abc", 3, "abc")]
    #[case("abcd", 3, "ab…")]
    #[case("äöüß", 3, "äö…")]
    #[case("ab cd", 4, "ab…")]
    #[case("abc", 1, "…")]
    #[case("abc", 0, "")]
    fn shortens(#[case] text: &str, #[case] chars: usize, #[case] expected: &str) {
        assert_eq!(shorten(text, chars), expected);
    }

    #[test]
    fn a_long_line_shows_its_cut() {
        let cut = line(&"ä".repeat(201));
        assert_eq!(cut.chars().count(), LINE_CHARS);
        assert!(cut.ends_with("ä…"));
        assert_eq!(line(&"ä".repeat(200)), "ä".repeat(200));
    }

    #[test]
    fn a_cut_leaves_no_half_of_a_credential() {
        for chars in 170..200 {
            let cut = line(&format!("{} https://user:s3cret@host/", "ä".repeat(chars)));
            assert!(!cut.contains("user"), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn stays_one_short_clean_line(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let line = line_bytes(&bytes);
            prop_assert!(line.chars().count() <= LINE_CHARS);
            prop_assert!(!line.contains(|c| is_forbidden(c) || c == '\n' || c == '\t'));
            prop_assert_eq!(super::line(&line), line);
        }

        #[test]
        fn stays_the_same_where_it_holds_urls(text in "( ?(https://|[a-z]{1,3}:[a-z]{1,3}@|[?]token=|&key=|h/|…|[*]|[a-z]{20})){0,40}") {
            let line = line(&text);
            prop_assert_eq!(super::line(&line), line);
        }
    }
}
