//! Putting an element into a list or an object, and taking one out, as edits of the text. The two are inverses of each
//! other: what [`append`] or [`prepend`] put in, [`take_out`] takes out to the byte.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object};
use jsonc_parser::common::Ranged as _;

use super::document::{Document, Kind, has_newline};
use super::style::{Style, indentation, start_of_line};

/// One piece of the text and what stands in its place.
#[derive(Debug)]
pub(super) struct Edit {
    range: Range<usize>,
    text: String,
}

impl Edit {
    pub(super) fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }

    fn insert(at: usize, text: impl Into<String>) -> Self {
        Self::replace(at..at, text)
    }

    fn delete(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }
}

/// The text with all edits made. They must not overlap.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut edited =
        String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut at = 0;
    for edit in edits {
        edited.push_str(&text[at..edit.range.start]);
        edited.push_str(&edit.text);
        at = edit.range.end;
    }
    edited.push_str(&text[at..]);
    edited
}

/// A list or an object by its places.
#[derive(Debug)]
pub(super) struct Container {
    /// What is between the brackets.
    pub(super) inner: Range<usize>,
    /// The elements or the properties.
    pub(super) children: Vec<Range<usize>>,
    is_object: bool,
}

impl Container {
    pub(super) fn of_object(object: &Object<'_>) -> Self {
        let children = object.properties.iter().map(|property| property.range.start..property.range.end);
        Self {
            inner: object.range.start + 1..object.range.end - 1,
            children: children.collect(),
            is_object: true,
        }
    }

    pub(super) fn of_array(array: &Array<'_>) -> Self {
        let children = array.elements.iter().map(|element| element.start()..element.end());
        Self {
            inner: array.range.start + 1..array.range.end - 1,
            children: children.collect(),
            is_object: false,
        }
    }
}

/// Puts a piece behind all that a container has: a comma directly behind the last child, the piece behind the comments that
/// follow it, so that a comment stays with what it is about. `piece` is asked for its text with the indentation to
/// break its lines by, or none.
///
/// The second result is the white space of a container that had nothing else, which the piece took the place of.
pub(super) fn append(
    document: &Document<'_>,
    style: &Style,
    container: &Container,
    piece: impl Fn(Option<&str>) -> String,
) -> (Vec<Edit>, Option<String>) {
    let text = document.text;
    let inner = &container.inner;
    let outer = indentation(text, inner.start);
    let Some(last) = container.children.last() else {
        return append_to_empty(document, style, container, outer, piece);
    };
    let behind = document.tokens(last.end..inner.end);
    let has_trailing_comma = behind.iter().any(|token| token.kind == Kind::Comma);
    let anchor = behind.last().map_or(last.end, |token| token.range.end);
    let must_break = behind.last().is_some_and(|token| token.kind == Kind::LineComment);

    let own_line = begins_its_line(document, last.start);
    let indent = if own_line || !must_break {
        indentation(text, last.start).to_owned()
    } else {
        format!("{outer}{}", style.unit)
    };
    let is_broken = match shape_of(&text[last.clone()]) {
        Sample::Broken => true,
        Sample::OneLine => false,
        Sample::Nothing => own_line,
    };
    let separator =
        if own_line || must_break { format!("{}{indent}", style.newline) } else { style.gap.to_owned() };
    let piece = piece(is_broken.then_some(&indent));
    let edits = if has_trailing_comma {
        vec![Edit::insert(anchor, format!("{separator}{piece},"))]
    } else if anchor == last.end {
        vec![Edit::insert(anchor, format!(",{separator}{piece}"))]
    } else {
        vec![Edit::insert(last.end, ","), Edit::insert(anchor, format!("{separator}{piece}"))]
    };
    (edits, None)
}

fn append_to_empty(
    document: &Document<'_>,
    style: &Style,
    container: &Container,
    outer: &str,
    piece: impl Fn(Option<&str>) -> String,
) -> (Vec<Edit>, Option<String>) {
    let inner = container.inner.clone();
    let indent = format!("{outer}{}", style.unit);
    if let Some(comment) = document.tokens(inner.clone()).last() {
        let anchor = comment.range.end;
        // Before a line break that is there already, or that ends the comment.
        let own_line = has_newline(&document.text[anchor..inner.end]);
        let separator = if own_line { format!("{}{indent}", style.newline) } else { " ".to_owned() };
        let piece = piece(own_line.then_some(&indent));
        return (vec![Edit::insert(anchor, format!("{separator}{piece}"))], None);
    }
    let blank = document.text[inner.clone()].to_owned();
    let filled = if style.is_multiline {
        format!("{newline}{indent}{}{newline}{outer}", piece(Some(&indent)), newline = style.newline)
    } else {
        let padding = if container.is_object { style.padding.as_str() } else { "" };
        format!("{padding}{}{padding}", piece(None))
    };
    (vec![Edit::replace(inner, filled)], Some(blank))
}

/// Puts a property in front of all that an object has; there must be one. A comment on the line of the brace stays there.
pub(super) fn prepend(
    document: &Document<'_>,
    style: &Style,
    container: &Container,
    property: &str,
) -> Vec<Edit> {
    let text = document.text;
    let first = container.children.first().map_or(container.inner.end, |first| first.start);
    let mut at = container.inner.start;
    let mut next = first;
    for comment in document.tokens(container.inner.start..first) {
        if has_newline(&text[at..comment.range.start]) {
            next = comment.range.start;
            break;
        }
        at = comment.range.end;
    }
    if has_newline(&text[at..next]) {
        let indent = indentation(text, first);
        vec![Edit::insert(at, format!("{}{indent}{property},", style.newline))]
    } else {
        vec![Edit::insert(first, format!("{property},{}", style.gap))]
    }
}

/// Takes one child out of a container, with the comma and the white space that came with it. Comments around it stay.
/// `blank` is what goes between the brackets if nothing else is there.
pub(super) fn take_out(
    document: &Document<'_>,
    container: &Container,
    index: usize,
    blank: Option<&str>,
) -> Vec<Edit> {
    let text = document.text;
    let inner = &container.inner;
    let Some(child) = container.children.get(index).cloned() else { return Vec::new() };
    let before = document.token_before(child.start).filter(|token| token.range.end >= inner.start);
    let behind = document.tokens(child.end..inner.end);
    let comma_behind = behind.iter().find(|token| !token.kind.is_comment()).map(|token| token.range.clone());
    let is_last = index + 1 == container.children.len();

    let is_alone = container.children.len() == 1;
    let comments = [inner.start..child.start, child.end..inner.end];
    if is_alone && !comments.iter().any(|around| document.has_comment(around.clone())) {
        let blank = blank.unwrap_or_default();
        // Where everything stands on one line by now, a line break would be the only one.
        let fits = !has_newline(blank) || has_newline(&text[inner.start..child.start]);
        return vec![Edit::replace(inner.clone(), if fits { blank } else { "" })];
    }

    // What follows the child once its comma is gone: a line comment before it must still end there.
    let comma_end = comma_behind.as_ref().map_or(child.end, |comma| {
        let is_next = text[child.end..comma.start].trim_matches([' ', '\t']).is_empty();
        if is_next { comma.end } else { child.end }
    });
    let breaks = text[comma_end..].trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
    let with_white = match before {
        Some(token) if breaks || token.kind != Kind::LineComment => token.range.end..child.end,
        _ => child.clone(),
    };

    if !is_last && let Some(comma) = comma_behind {
        let next = document.tokens(comma.end..inner.end).first().map_or(comma.end, |next| next.range.start);
        return if has_newline(&text[comma.end..next]) {
            vec![Edit::delete(with_white), Edit::delete(comma)]
        } else if document.has_comment(child.end..comma.start) {
            vec![Edit::delete(child), Edit::delete(comma.start..next)]
        } else {
            vec![Edit::delete(child.start..next)]
        };
    }
    let comma_before = || {
        let tokens = document.tokens(inner.start..child.start);
        tokens.iter().rfind(|token| token.kind == Kind::Comma).map(|token| token.range.clone())
    };
    // A trailing comma goes and leaves the one before as the trailing one.
    let comma = comma_behind.or_else(|| if is_alone { None } else { comma_before() });
    let mut edits = vec![Edit::delete(with_white)];
    edits.extend(comma.map(Edit::delete));
    edits
}

/// Whether nothing but comments stands before it on its line.
fn begins_its_line(document: &Document<'_>, offset: usize) -> bool {
    let line = start_of_line(document.text, offset);
    document.tokens(line..offset).iter().all(|token| token.kind.is_comment())
}

/// What a value shows of how its like is written.
enum Sample {
    Broken,
    OneLine,
    /// It has nothing within.
    Nothing,
}

fn shape_of(element: &str) -> Sample {
    if has_newline(element) {
        return Sample::Broken;
    }
    match element.strip_suffix([']', '}']).map(str::trim_end) {
        Some(filled) if !filled.ends_with(['[', '{']) => Sample::OneLine,
        _ => Sample::Nothing,
    }
}
