//! How much of a hook's text a model gets to see.

/// Text that was perhaps cut, and whether it was.
pub(crate) struct Cut {
    pub(crate) text: String,
    pub(crate) cut: bool,
}

/// The first so many UTF-16 units, on a character boundary.
pub(crate) fn first_units(text: &str, units: usize) -> &str {
    let mut count = 0;
    for (at, c) in text.char_indices() {
        count += c.len_utf16();
        if count > units {
            return &text[..at];
        }
    }
    text
}

/// The first so many bytes, on a character boundary.
pub(crate) fn first_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The last so many bytes, on a character boundary.
pub(crate) fn last_bytes(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// The first so many characters.
pub(crate) fn first_characters(text: &str, characters: usize) -> Cut {
    match text.char_indices().nth(characters) {
        Some((at, _)) => Cut { text: text[..at].to_owned(), cut: true },
        None => Cut { text: text.to_owned(), cut: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_cut_within_a_character() {
        assert_eq!(first_units("a😀b", 2), "a");
        assert_eq!(first_units("a😀b", 3), "a😀");
        assert_eq!(first_bytes("aé", 2), "a");
        assert_eq!(last_bytes("éa", 2), "a");
        assert!(!first_characters("éé", 2).cut);
    }
}
