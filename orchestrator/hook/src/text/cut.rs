//! Cutting text to a budget, on a character boundary.

/// The longest beginning of `text` that has at most `budget` bytes.
pub fn cut_bytes(text: &str, budget: usize) -> &str {
    &text[..text.floor_char_boundary(budget)]
}

/// The longest beginning of `text` that has at most `budget` UTF-16 units, as harnesses written in JavaScript count.
pub fn cut_utf16(text: &str, budget: usize) -> &str {
    let mut left = budget;
    for (at, c) in text.char_indices() {
        match left.checked_sub(c.len_utf16()) {
            Some(rest) => left = rest,
            None => return &text[..at],
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
    #[case("abc", 5, "abc")]
    #[case("abc", 2, "ab")]
    #[case("aä", 2, "a")]
    #[case("aä", 3, "aä")]
    #[case("🙂", 3, "")]
    fn bytes(#[case] text: &str, #[case] budget: usize, #[case] expected: &str) {
        assert_eq!(cut_bytes(text, budget), expected);
    }

    #[rstest]
    #[case("aä€", 3, "aä€")]
    #[case("a🙂b", 2, "a")]
    #[case("a🙂b", 3, "a🙂")]
    #[case("a🙂b", 0, "")]
    fn utf16(#[case] text: &str, #[case] budget: usize, #[case] expected: &str) {
        assert_eq!(cut_utf16(text, budget), expected);
    }

    proptest! {
        #[test]
        fn a_cut_never_exceeds_its_budget(text in ".*", budget in 0_usize..80) {
            let by_bytes = cut_bytes(&text, budget);
            prop_assert!(by_bytes.len() <= budget && text.starts_with(by_bytes));
            let by_units = cut_utf16(&text, budget);
            prop_assert!(by_units.encode_utf16().count() <= budget && text.starts_with(by_units));
        }

        #[test]
        fn a_cut_takes_all_that_fits(text in ".*", budget in 0_usize..80) {
            let next = |cut: &str| text[cut.len()..].chars().next();
            let cut = cut_bytes(&text, budget);
            prop_assert!(next(cut).is_none_or(|c| cut.len() + c.len_utf8() > budget));
            let cut = cut_utf16(&text, budget);
            prop_assert!(next(cut).is_none_or(|c| cut.encode_utf16().count() + c.len_utf16() > budget));
        }
    }
}
