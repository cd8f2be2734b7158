//! What may not reach a model is taken out: escape sequences as a whole, control characters, marks that reorder or
//! hide text.

const ESC: char = '\u{1B}';

/// Whether `c` may never stand in text for a model.
///
/// Forbidden are C0 other than tab and newline, DEL, C1, the bidirectional controls, the byte-order mark, the invisible
/// operators U+2060–2064 (U+2063 begins an operational message, so only this program may write it) and the tag
/// characters U+E0000–E007F, which carry text that no person sees.
pub const fn is_forbidden(c: char) -> bool {
    match c {
        '\t' | '\n' => false,
        '\0'..='\u{1F}'
        | '\u{7F}'..='\u{9F}'
        | '\u{61C}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}'
        | '\u{FEFF}'
        | '\u{E0000}'..='\u{E007F}' => true,
        _ => false,
    }
}

/// Text without anything that [`is_forbidden`], with `\n` as its only line ending.
///
/// Escape sequences go as a whole, so that no `[31m` or window title stays behind. A lone carriage return ends a line:
/// what it would have overwritten on a screen stays readable. Cleaning twice changes nothing more.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\r' => {
                let next = after.trim_start_matches('\r');
                out.push('\n');
                next.strip_prefix('\n').unwrap_or(next)
            }
            ESC => after_escape(after),
            '\u{9B}' => after_control_sequence(after),
            '\u{90}' | '\u{98}' | '\u{9D}'..='\u{9F}' => after_control_string(after),
            _ => {
                if !is_forbidden(c) {
                    out.push(c);
                }
                after
            }
        };
    }
    out
}

/// [`clean`] for bytes; what is not UTF-8 becomes U+FFFD.
pub fn clean_bytes(bytes: &[u8]) -> String {
    clean(&String::from_utf8_lossy(bytes))
}

/// What follows an escape sequence whose ESC stood just before `text` (ECMA-48, section 5).
fn after_escape(text: &str) -> &str {
    match text.chars().next() {
        Some('[') => after_control_sequence(&text[1..]),
        Some(']' | 'P' | 'X' | '^' | '_') => after_control_string(&text[1..]),
        _ => {
            let last = text.trim_start_matches(|c| matches!(c, ' '..='/'));
            // Cut off in the middle or malformed: only the ESC goes, the text behind it is text.
            last.strip_prefix(|c| matches!(c, '0'..='~')).unwrap_or(text)
        }
    }
}

/// What follows a control sequence: parameters, intermediates, one final character.
fn after_control_sequence(text: &str) -> &str {
    let rest =
        text.trim_start_matches(|c| matches!(c, '0'..='?')).trim_start_matches(|c| matches!(c, ' '..='/'));
    rest.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(rest)
}

/// What follows a control string (a title, a hyperlink, an image), which BEL or ST ends.
///
/// One that is never ended loses its introducer only: it must not swallow the text after it. The search stops at any
/// other control character, which also keeps it linear over text that is full of introducers.
fn after_control_string(text: &str) -> &str {
    let Some(end) = text.find(|c: char| c.is_control() && c != '\t') else { return text };
    let rest = &text[end..];
    for terminator in ["\u{7}", "\u{1B}\\", "\u{9C}"] {
        if let Some(after) = rest.strip_prefix(terminator) {
            return after;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("plain\ttext\n", "plain\ttext\n")]
    #[case::crlf("a\r\nb\r\r\nc", "a\nb\nc")]
    #[case::lone_carriage_return("10%\r20%\r", "10%\n20%\n")]
    #[case::colour("\u{1B}[1;31mred\u{1B}[0m", "red")]
    #[case::c1_colour("\u{9B}1;31mred", "red")]
    #[case::private_mode("\u{1B}[?25lx", "x")]
    #[case::title_bel("\u{1B}]0;title\u{7}x", "x")]
    #[case::hyperlink_st("\u{1B}]8;;http://a\u{1B}\\link\u{1B}]8;;\u{1B}\\", "link")]
    #[case::c1_title("\u{9D}0;title\u{9C}x", "x")]
    #[case::device_string("\u{1B}Pq#0\u{1B}\\x", "x")]
    #[case::unended_title("\u{1B}]0;title\nx", "0;title\nx")]
    #[case::unended_at_the_end("\u{1B}]0;title", "0;title")]
    #[case::title_broken_by_another("\u{1B}]0;a\u{1B}[31mb\u{7}", "0;ab")]
    #[case::charset("\u{1B}(Bx", "x")]
    #[case::reset("\u{1B}cx", "x")]
    #[case::lone_escape("a\u{1B}", "a")]
    #[case::escape_before_umlaut("\u{1B}ä", "ä")]
    #[case::control_sequence_cut_off("\u{1B}[31", "")]
    #[case::controls("a\0\u{8}\u{B}\u{7F}\u{85}b", "ab")]
    #[case::bidirectional("a\u{61C}\u{200E}\u{200F}\u{202A}\u{202E}\u{2066}\u{2069}b", "ab")]
    #[case::invisible("\u{FEFF}a\u{2060}\u{2063}\u{2064}\u{E0041}\u{E007F}b", "ab")]
    #[case::marker("\u{2063}DOGWATCH_OP: v1 wake: x", "DOGWATCH_OP: v1 wake: x")]
    #[case::joiners_stay("👩\u{200D}💻", "👩\u{200D}💻")]
    fn cleans(#[case] text: &str, #[case] cleaned: &str) {
        assert_eq!(clean(text), cleaned);
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(clean_bytes(b"a\xFF\xFEb\x1b[0m"), "a\u{FFFD}\u{FFFD}b");
    }

    #[test]
    fn introducers_without_an_end_cost_linear_time() {
        let many = "\u{1B}]\u{9D}\u{1B}P".repeat(200_000);
        assert_eq!(clean(&many), "");
    }

    /// Text that is dense in what matters here.
    fn nasty() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            (0_u32..0xA0).prop_map(|c| char::from_u32(c).unwrap().to_string()),
            (0x2000_u32..0x2070).prop_map(|c| char::from_u32(c).unwrap().to_string()),
            (0xE0000_u32..0xE0080).prop_map(|c| char::from_u32(c).unwrap().to_string()),
            "\u{1B}[\\[\\]P_^X][0-9;]{0,3}[a-z\u{7}\u{9C}]?",
        ];
        proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn never_lets_a_forbidden_character_through(text in nasty()) {
            prop_assert!(!clean(&text).contains(is_forbidden));
        }

        #[test]
        fn cleaning_twice_changes_nothing(text in nasty()) {
            let once = clean(&text);
            prop_assert_eq!(clean(&once), once);
        }

        #[test]
        fn takes_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(!clean_bytes(&bytes).contains(is_forbidden));
        }

        #[test]
        fn leaves_harmless_text_alone(text in "[a-zA-Z0-9äöü€🙂 \t\n.,`#-]{0,80}") {
            prop_assert_eq!(clean(&text), text);
        }
    }
}
