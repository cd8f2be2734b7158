//! What is wrong with a config file, and where: one line each.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

/// One thing that is wrong with `config.toml`. Displays as one line without control characters:
/// `.dogwatch/config.toml:12:3: digest.deadlin: unknown key; did you mean "deadline"?`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as a person would name it from the project's root.
    pub file: PathBuf,
    /// Where in the file; `None` where the file as a whole is meant.
    pub position: Option<Position>,
    /// The path of the key (`digest.deadline`, `digest.stage "lint": on`, `digest.stage[2].name`); empty where none is meant. It is text of the file.
    pub key: String,
    /// What was expected and what was found. It may hold text of the file.
    pub message: String,
}

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
}

impl Position {
    /// The place of a byte offset. An offset past the end or within a character is moved back onto one.
    pub(crate) fn of(text: &str, offset: usize) -> Position {
        let before = &text[..text.floor_char_boundary(offset)];
        let start_of_line = before.rfind('\n').map_or(0, |at| at + 1);
        Position {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[start_of_line..].chars().count() + 1,
        }
    }
}

impl Problem {
    /// File, line and column alone: `.dogwatch/config.toml:12:3`. Holds no text of the file, so it may be shown where
    /// an untrusted file's words may not.
    pub fn place(&self) -> String {
        let file = self.file.display();
        match self.position {
            Some(Position { line, column }) => format!("{file}:{line}:{column}"),
            None => file.to_string(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())?;
        // Of the file as a whole the message is a sentence: `.dogwatch/config.toml cannot be read: …`.
        f.write_str(if self.position.is_none() && self.key.is_empty() { " " } else { ": " })?;
        if !self.key.is_empty() {
            write!(f, "{}: ", printable(&self.key, 120))?;
        }
        f.write_str(&printable(&self.message, 400))
    }
}

/// The text on one line, without characters that a terminal acts on or that do not show, cut to `limit` characters.
pub(crate) fn printable(text: &str, limit: usize) -> String {
    let mut shown = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == limit {
            shown.push('…');
            break;
        }
        if is_invisible(character) {
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_counts_lines_and_characters_from_one() {
        let text = "a\r\nöé = 1\n";
        assert_eq!(Position::of(text, 0), Position { line: 1, column: 1 });
        assert_eq!(Position::of(text, text.find('=').unwrap()), Position { line: 2, column: 4 });
        assert_eq!(Position::of(text, text.len()), Position { line: 3, column: 1 });
        assert_eq!(
            Position::of(text, 4),
            Position { line: 2, column: 1 },
            "within the first character of the line"
        );
        assert_eq!(Position::of(text, 999), Position { line: 3, column: 1 });
    }

    #[test]
    fn a_problem_is_one_line_whatever_the_file_holds() {
        let problem = Problem {
            file: PathBuf::from(".dogwatch/config.toml"),
            position: Some(Position { line: 12, column: 3 }),
            key: "digest.\u{1b}[31m\nx\u{202e}".to_owned(),
            message: "unknown key".to_owned(),
        };
        insta::assert_snapshot!(problem.to_string(), @r".dogwatch/config.toml:12:3: digest.\u{1b}[31m\u{a}x\u{202e}: unknown key");
    }
}
