//! Texts whose way to the model can be followed: every part of one stands in it once, and it has exactly its size.

use std::fmt::Write as _;

/// So many ASCII characters.
pub(crate) fn plain(characters: usize) -> String {
    let mut text = "FIDELITY".to_owned();
    for number in 0.. {
        if text.len() >= characters {
            break;
        }
        let _ = write!(text, "|{number:05}");
    }
    text.truncate(characters);
    text
}

/// So many UTF-16 units, two of them a character that has four bytes; a cut at an even unit or byte falls into the middle
/// of one. Its end is another.
pub(crate) fn wide_units(units: usize) -> String {
    filled(&"😀".repeat((units - 2) / 2), |text| text.encode_utf16().count(), units)
}

/// The same in bytes.
pub(crate) fn wide_bytes(bytes: usize) -> String {
    filled(&"😀".repeat((bytes - 2) / 4), str::len, bytes)
}

fn filled(middle: &str, size: fn(&str) -> usize, wanted: usize) -> String {
    let mut text = format!("F{middle}");
    while size(&text) < wanted {
        text.push('z');
    }
    text
}
