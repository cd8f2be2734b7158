//! Finds the end of the first JSON document in bytes as they come. It follows brackets and strings and checks nothing
//! else; it holds a count, whatever the nesting.

use super::super::json::MARK;

#[derive(Debug, Default)]
pub(super) struct Scanner {
    state: State,
    /// How many brackets are open.
    depth: usize,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    /// Nothing but blanks and byte-order marks so far.
    #[default]
    Before,
    /// So many bytes of a byte-order mark.
    Mark(usize),
    /// Within brackets.
    Within,
    /// In a string.
    String,
    /// Behind a backslash in a string.
    Escape,
    /// In a number, `true`, `false` or `null` that stands alone.
    Scalar,
}

impl Scanner {
    /// Takes the next bytes. If the document ends in them: how many of them belong to it.
    pub(super) fn end_in(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            self.state = match (self.state, byte) {
                (State::Before, b' ' | b'\t' | b'\r' | b'\n') => State::Before,
                (State::Before, _) if *byte == MARK[0] => State::Mark(1),
                (State::Mark(known), _) if *byte == MARK[known] => {
                    if known + 1 == MARK.len() {
                        State::Before
                    } else {
                        State::Mark(known + 1)
                    }
                }
                (State::Before | State::Within, b'{' | b'[') => {
                    self.depth += 1;
                    State::Within
                }
                (State::Before | State::Within, b'"') => State::String,
                (State::Before, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => State::Scalar,
                // Nothing that begins so can become a document.
                (State::Before | State::Mark(_), _) => return Some(at + 1),
                (State::Within, b'}' | b']') => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                    State::Within
                }
                (State::String, b'\\') => State::Escape,
                (State::String, b'"') if self.depth == 0 => return Some(at + 1),
                (State::String, b'"') | (State::Within, _) => State::Within,
                (State::String | State::Escape, _) => State::String,
                (State::Scalar, b' ' | b'\t' | b'\r' | b'\n') => return Some(at),
                (State::Scalar, _) => State::Scalar,
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn end(bytes: &[u8]) -> Option<usize> {
        Scanner::default().end_in(bytes)
    }

    #[rstest]
    #[case::object(br#"{"a": 1}"#, 8)]
    #[case::array(b"[]", 2)]
    #[case::nested(br#"{"a": [{"b": []}]}"#, 18)]
    #[case::brackets_in_a_string(br#"{"a": "}]"}"#, 11)]
    #[case::an_escaped_quote(br#"{"a": "\"}"}"#, 12)]
    #[case::an_escaped_backslash(br#"{"a": "\\"}"#, 11)]
    #[case::a_string(br#""}""#, 3)]
    #[case::a_number(b"12 ", 2)]
    #[case::two_documents(br#"{}{"a": 1}"#, 2)]
    #[case::blanks_in_front(b" \r\n\t{}", 6)]
    #[case::marks_in_front(b"\xEF\xBB\xBF \xEF\xBB\xBF{}", 9)]
    #[case::no_document(b"hello", 1)]
    #[case::half_a_mark(b"\xEF\xBB{}", 3)]
    fn the_document_ends_there(#[case] bytes: &[u8], #[case] expected: usize) {
        assert_eq!(end(bytes), Some(expected));
        for at in 0..expected {
            assert_eq!(end(&bytes[..at]), None, "after {at} bytes");
        }
    }

    #[rstest]
    #[case::nothing(b"")]
    #[case::blanks(b"  \n")]
    #[case::a_mark(b"\xEF\xBB\xBF")]
    #[case::an_open_string(br#"{"a": "}"#)]
    #[case::an_escape_at_the_end(br#"{"a": "\"#)]
    #[case::a_number_that_may_go_on(b"12")]
    fn there_is_no_end_yet(#[case] bytes: &[u8]) {
        assert_eq!(end(bytes), None);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_the_bytes_come(bytes in "[{}\\[\\]\"\\\\ a1]{0,40}", cut in 0_usize..40) {
            let bytes = bytes.as_bytes();
            let cut = cut.min(bytes.len());
            let mut scanner = Scanner::default();
            let first = scanner.end_in(&bytes[..cut]);
            let in_parts = first.or_else(|| scanner.end_in(&bytes[cut..]).map(|length| cut + length));
            prop_assert_eq!(in_parts, end(bytes));
        }

        #[test]
        fn it_agrees_with_serde_json(key in ".{0,8}", text in ".{0,40}", behind in ".{0,8}") {
            let document = serde_json::json!({ key: [text] }).to_string();
            let input = format!("{document}{behind}");
            prop_assert_eq!(end(input.as_bytes()), Some(document.len()));
        }
    }
}
