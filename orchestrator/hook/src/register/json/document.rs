//! A text as its harness parses it: the syntax tree and the tokens with their places, and the error that says where it is
//! not what it has to be.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::Token as Scanned;
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, ParseStringErrorKind, parse_to_ast,
};

use crate::config::{Position, printable};
use crate::harness::registration::Dialect;

const MARK: char = '\u{feff}';
/// What JSON takes for white space. Everything else between two tokens is an error to a harness.
const WHITE: [char; 4] = [' ', '\t', '\n', '\r'];
const INVALID_ESCAPE: &str = "an invalid escape in a string";

/// A text that is not edited. Reads on after the name of its file: `line 3, column 7: expected an object under "hooks",
/// found a list`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct Rejected {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// What was expected and what was found. It may hold keys of the file, cleaned for a terminal.
    pub message: String,
}

impl Rejected {
    pub(super) fn at(text: &str, offset: usize, message: impl AsRef<str>) -> Self {
        let Position { line, column } = Position::of(text, offset);
        Self { line, column, message: printable(message.as_ref(), 300) }
    }
}

/// A piece of the text that is no white space.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Comma,
    /// It ends where its line does: nothing may be put behind it on that line.
    LineComment,
    BlockComment,
    String,
    Other,
}

impl Kind {
    pub(super) fn is_comment(self) -> bool {
        matches!(self, Self::LineComment | Self::BlockComment)
    }
}

/// A text without its byte-order mark, parsed.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    pub(super) root: Object<'a>,
    tokens: Vec<Token>,
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str, dialect: &Dialect) -> Result<Self, Rejected> {
        let comments = if dialect.comments {
            CommentCollectionStrategy::AsTokens
        } else {
            CommentCollectionStrategy::Off
        };
        let collect = CollectOptions { comments, tokens: true };
        let parsed = parse_to_ast(text, &collect, &options(dialect)).map_err(|e| not_json(text, &e))?;
        let tokens: Vec<Token> = parsed
            .tokens
            .unwrap_or_default()
            .into_iter()
            .map(|token| Token { kind: kind(&token.token), range: token.range.start..token.range.end })
            .collect();
        check_strictly(text, &tokens)?;
        let start = tokens.iter().find(|token| !token.kind.is_comment()).map_or(0, |token| token.range.start);
        match parsed.value {
            Some(Value::Object(root)) => Ok(Self { text, root, tokens }),
            other => {
                let found = other.as_ref().map_or("nothing", name_of);
                Err(Rejected::at(text, start, format!("expected an object at the top, found {found}")))
            }
        }
    }

    /// The tokens that lie within a range of the text, comments among them.
    pub(super) fn tokens(&self, within: Range<usize>) -> &[Token] {
        let first = self.tokens.partition_point(|token| token.range.start < within.start);
        let behind = self.tokens.partition_point(|token| token.range.end <= within.end);
        self.tokens.get(first..behind).unwrap_or_default()
    }

    /// The last token that ends at `offset` or before.
    pub(super) fn token_before(&self, offset: usize) -> Option<&Token> {
        self.tokens[..self.tokens.partition_point(|token| token.range.end <= offset)].last()
    }

    pub(super) fn has_comment(&self, within: Range<usize>) -> bool {
        self.tokens(within).iter().any(|token| token.kind.is_comment())
    }

    /// Nothing but an empty object.
    pub(super) fn is_bare(&self) -> bool {
        self.tokens.len() == 2
    }

    pub(super) fn rejected(&self, offset: usize, message: impl AsRef<str>) -> Rejected {
        Rejected::at(self.text, offset, message)
    }
}

/// The byte-order mark of a text, if its harness takes one, and what follows.
pub(super) fn split_mark<'a>(text: &'a str, dialect: &Dialect) -> Result<(&'a str, &'a str), Rejected> {
    if !text.starts_with(MARK) {
        return Ok(("", text));
    }
    if !dialect.byte_order_mark {
        return Err(Rejected::at(text, 0, "a byte-order mark, which the harness does not read"));
    }
    Ok(text.split_at(MARK.len_utf8()))
}

pub(super) fn is_blank(text: &str) -> bool {
    text.trim_matches(WHITE).is_empty()
}

pub(super) fn has_newline(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// A value by its type, as an error names it.
pub(super) fn name_of(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "a boolean",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}

fn options(dialect: &Dialect) -> ParseOptions {
    ParseOptions {
        allow_comments: dialect.comments,
        allow_trailing_commas: dialect.trailing_commas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn kind(token: &Scanned<'_>) -> Kind {
    match token {
        Scanned::Comma => Kind::Comma,
        Scanned::CommentLine(_) => Kind::LineComment,
        Scanned::CommentBlock(_) => Kind::BlockComment,
        Scanned::String(_) => Kind::String,
        _ => Kind::Other,
    }
}

fn not_json(text: &str, error: &ParseError) -> Rejected {
    use ParseErrorKind as Error;
    let message = match error.kind() {
        Error::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
            "a string without an end".to_owned()
        }
        Error::String(_) => INVALID_ESCAPE.to_owned(),
        Error::ExpectedColonAfterObjectKey => "expected a colon behind the key".to_owned(),
        Error::ExpectedStringObjectProperty => "expected a key in double quotes".to_owned(),
        Error::MultipleRootJsonValues => "expected the end behind the first value".to_owned(),
        // The parser's messages are sentences; ours reads on behind a place.
        other => {
            let mut sentence = other.to_string();
            if let Some(first) = sentence.get_mut(..1) {
                first.make_ascii_lowercase();
            }
            sentence
        }
    };
    Rejected::at(text, error.range().start, message)
}

/// What the parser lets pass with everything switched off: other white space, and strings that JSON does not have.
fn check_strictly(text: &str, tokens: &[Token]) -> Result<(), Rejected> {
    let mut at = 0;
    let ends = text.len()..text.len();
    for range in tokens.iter().map(|token| &token.range).chain([&ends]) {
        let between = &text[at..range.start];
        if let Some(wrong) = between.find(|character| !WHITE.contains(&character)) {
            let found = between[wrong..].chars().next().unwrap_or_default().escape_unicode();
            return Err(Rejected::at(text, at + wrong, format!("{found} is no white space of JSON")));
        }
        at = range.end;
    }
    for string in tokens.iter().filter(|token| token.kind == Kind::String) {
        let quoted = &text[string.range.clone()];
        if let Some(control) = quoted.find(|character| character < ' ') {
            let place = string.range.start + control;
            return Err(Rejected::at(text, place, "a control character in a string has to be escaped"));
        }
        if serde_json::from_str::<String>(quoted).is_err() {
            return Err(Rejected::at(text, string.range.start, INVALID_ESCAPE));
        }
    }
    Ok(())
}
