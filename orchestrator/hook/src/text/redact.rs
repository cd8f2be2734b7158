//! Credentials in URLs are taken out of a text, wherever it holds some.
//!
//! Programs and git tell the URLs that they were given, passwords and tokens included. What a URL may hold is RFC 3986;
//! where a text is broken, rather too much is taken out than too little.

use std::borrow::Cow;
use std::ops::Range;

/// What stands in place of a credential.
const MASK: &str = "***";
/// No key of a query is longer.
const LONGEST_KEY: usize = 96;
/// No scheme is longer.
const LONGEST_SCHEME: usize = 32;

/// Keys of a query or a fragment whose value is a credential, if they end so; without anything but letters and digits.
const SECRET_ENDINGS: &[&str] = &[
    "accesskey",
    "accesskeyid",
    "apikey",
    "assertion",
    "authkey",
    "authorization",
    "credential",
    "credentials",
    "googleaccessid",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "sessionid",
    "signature",
    "subscriptionkey",
    "token",
];
/// Keys whose value is one if there is nothing more to them.
const SECRET_KEYS: &[&str] = &[
    "auth",
    "bearer",
    "code",
    "codeverifier",
    "jwt",
    "key",
    "pass",
    "pin",
    "otp",
    "pwd",
    "sas",
    "sid",
    "sig",
    "ticket",
];

/// The text with `***` in place of every credential in a URL:
///
/// - user and password (`https://user:pass@host` becomes `https://***@host`), and a user alone, which may be a token;
///   only `ssh://git@host` and its like keep it, and so does `git@host:path`;
/// - the values of keys of a query or a fragment that carry secrets (`access_token`, `sig`, `X-Amz-Signature`, …).
///
/// Linear in the text's length. To be given text that is whole and cleaned: an escape sequence or a cut in the middle
/// of a URL hides what it is ([`redact_cut`] is for the latter).
pub fn redact(text: &str) -> Cow<'_, str> {
    redact_words(text, false)
}

/// [`redact`] for a text that was cut off at its end, where a password may have lost the `@` that tells it from a host.
pub fn redact_cut(text: &str) -> Cow<'_, str> {
    redact_words(text, true)
}

fn redact_words(text: &str, is_cut: bool) -> Cow<'_, str> {
    let mut hidden: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        let place = start..start + word.len();
        let is_last = place.end == text.len();
        Word::new(word.as_bytes(), is_cut && is_last).scan(|range| {
            hidden.push(place.start + range.start..place.start + range.end);
        });
        // The character behind it; nothing at the end.
        start = place.end + text[place.end..].chars().next().map_or(0, char::len_utf8);
    }
    if hidden.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for range in hidden {
        out.push_str(&text[copied..range.start]);
        out.push_str(MASK);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// How a URL's `://` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    /// In a JSON text of some programs: `:\/\/`.
    Escaped,
    /// Within another URL: `%3A%2F%2F`.
    Percent,
}

impl Form {
    fn at(bytes: &[u8]) -> Option<(Form, usize)> {
        match bytes.first()? {
            b':' if bytes.starts_with(b"://") => Some((Form::Plain, 3)),
            b':' if bytes.starts_with(br":\/\/") => Some((Form::Escaped, 5)),
            b'%' if starts_with(bytes, b"%3a%2f%2f") => Some((Form::Percent, 9)),
            _ => None,
        }
    }
}

/// A stretch of text without white space.
struct Word<'a> {
    bytes: &'a [u8],
    /// Where its last `@` is.
    last_at: Option<usize>,
    /// Whether more of it is missing.
    is_cut: bool,
    /// What ends the URL that is being read, because it was opened just before it: `(https://…)`.
    closer: Option<u8>,
    /// Whether a query or a fragment has begun.
    in_query: bool,
}

impl<'a> Word<'a> {
    fn new(bytes: &'a [u8], is_cut: bool) -> Self {
        Word {
            bytes,
            last_at: bytes.iter().rposition(|byte| *byte == b'@'),
            is_cut,
            closer: None,
            in_query: false,
        }
    }

    /// Tells what is to be hidden, in order. Every step goes on behind what the one before looked at.
    fn scan(mut self, mut hide: impl FnMut(Range<usize>)) {
        let (mut at, mut floor) = (0, 0);
        while at < self.bytes.len() {
            if let Some((form, len)) = Form::at(&self.bytes[at..]) {
                let scheme = self.scheme(floor, at);
                let before = (scheme.start > floor).then(|| self.bytes[scheme.start - 1]);
                // A URL within another ends where the outer one does.
                self.closer = before.and_then(closing).or(self.closer);
                let begin = at + len;
                at = begin;
                let is_ssh = is_like_ssh(&self.bytes[scheme]);
                if let Some(user) = self.user(begin, form, is_ssh) {
                    at = user.end;
                    // Where it runs to the end of a text that was cut, what it is cannot be told.
                    let is_named_only =
                        is_ssh_user(&self.bytes[user.clone()], is_ssh) && at < self.bytes.len();
                    if !is_named_only && !is_hidden(&self.bytes[user.clone()]) {
                        hide(user);
                    }
                }
                floor = at;
            } else if let Some(len) = self.mark(at, self.in_query) {
                self.in_query = true;
                at += len;
                if let Some(value) = self.secret_value(at) {
                    at = value.end;
                    // What is hidden is no part of what follows.
                    floor = at;
                    if !is_hidden(&self.bytes[value.clone()]) {
                        hide(value);
                    }
                }
            } else {
                if self.closer == Some(self.bytes[at]) {
                    self.closer = None;
                }
                at += 1;
            }
        }
    }

    /// The scheme in front of a `://`.
    fn scheme(&self, floor: usize, end: usize) -> Range<usize> {
        let floor = floor.max(end.saturating_sub(LONGEST_SCHEME));
        let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let len = self.bytes[floor..end].iter().rev().take_while(|byte| is_inner(byte)).count();
        end - len..end
    }

    /// What stands between `://` and `@`: a credential, or the user name of ssh.
    fn user(&self, begin: usize, form: Form, is_ssh: bool) -> Option<Range<usize>> {
        let mut in_query = self.in_query;
        let end = (begin..self.bytes.len()).find(|at| {
            let mark = self.mark(*at, in_query);
            // As the scan is going to see it, which goes on behind the user.
            in_query = if self.bytes[*at] == b'@' { self.in_query } else { in_query || mark.is_some() };
            self.ends_authority(*at, form, mark)
        });
        let is_open = end.is_none() && self.is_cut;
        let end = end.unwrap_or(self.bytes.len());
        let authority = &self.bytes[begin..end];
        if is_open {
            // It may be a password whose `@` is gone, or the first half of one.
            return (!authority.is_empty()).then_some(begin..end);
        }
        let (at, at_len) = match form {
            Form::Percent => (last_percent_at(authority), 3),
            _ => (authority.iter().rposition(|byte| *byte == b'@'), 1),
        };
        let host_is_missing = at.is_some_and(|at| begin + at + at_len == end);
        let is_odd = match at {
            None => self.is_no_port(begin, end),
            Some(0) => false,
            Some(_) => host_is_missing,
        };
        // Not what a URL can be; but a password may hold any character, where nobody encoded it.
        if is_odd && !is_ssh_user(authority, is_ssh) && form != Form::Percent {
            if self.is_cut {
                return Some(begin..self.bytes.len());
            }
            if let Some(last) = self.last_at.filter(|last| *last >= end) {
                let is_entangled = self.bytes[begin..last].contains(&b'=');
                return Some(begin..if is_entangled { self.trim(end, self.bytes.len()) } else { last });
            }
        }
        Some(begin..begin + at.filter(|at| *at > 0)?)
    }

    fn ends_authority(&self, at: usize, form: Form, mark: Option<usize>) -> bool {
        match self.bytes[at] {
            b'/' | b'?' | b'#' | b'<' | b'>' | b'\\' | b'|' => true,
            b'&' if form == Form::Percent => true,
            b'%' if form == Form::Percent && self.is_encoded_end(at) => true,
            // The next key of the query that this URL stands in.
            b'&' | b';' | b'%' if mark.is_some_and(|len| self.secret_value(at + len).is_some()) => true,
            _ => self.ends_url(at),
        }
    }

    fn is_encoded_end(&self, at: usize) -> bool {
        [b"%2f", b"%3f", b"%23"].iter().any(|mark| starts_with(&self.bytes[at..], *mark))
    }

    /// Whether a closing quote or bracket stands here.
    fn ends_url(&self, at: usize) -> bool {
        match self.bytes[at] {
            // One in the middle of a password is not followed by what follows a quoted text.
            b'"' | b'`' => self.is_left_at(at),
            byte => self.closer == Some(byte),
        }
    }

    fn is_left_at(&self, at: usize) -> bool {
        self.bytes.get(at + 1).is_none_or(|next| !next.is_ascii_alphanumeric() && *next != b'@')
    }

    /// Whether an authority without `@` has something behind its `:` that is no port.
    fn is_no_port(&self, begin: usize, end: usize) -> bool {
        let authority = &self.bytes[begin..end];
        let Some(colon) = authority.iter().position(|byte| *byte == b':') else { return false };
        if authority.starts_with(b"[") {
            return false;
        }
        if !authority[colon + 1..].iter().all(u8::is_ascii_digit) {
            return true;
        }
        match self.bytes.get(end) {
            None | Some(b'/' | b'?' | b'#' | b'<' | b'>') => false,
            Some(_) => !self.is_left_at(end),
        }
    }

    /// How long the mark is that begins a key here, if one does.
    fn mark(&self, at: usize, in_query: bool) -> Option<usize> {
        let rest = &self.bytes[at..];
        match rest[0] {
            b'?' | b'#' => Some(1),
            b'&' if in_query => Some(if rest.starts_with(b"&amp;") { 5 } else { 1 }),
            b';' if in_query => Some(1),
            b'\\' if in_query && rest.starts_with(br"\u0026") => Some(6),
            b'%' if starts_with(rest, b"%3f") || starts_with(rest, b"%23") => Some(3),
            b'%' if in_query && starts_with(rest, b"%26") => Some(3),
            _ => None,
        }
    }

    /// The value of the key that begins here, if the key carries secrets.
    fn secret_value(&self, key: usize) -> Option<Range<usize>> {
        let rest = &self.bytes[key..];
        let mut end = 0;
        let (start, is_percent) = loop {
            match rest.get(end)? {
                b'=' => break (key + end + 1, false),
                b'%' if starts_with(&rest[end..], b"%3d") => break (key + end + 3, true),
                byte if end < LONGEST_KEY
                    && (byte.is_ascii_alphanumeric() || b"_-.[]%~+$:".contains(byte)) =>
                {
                    end += 1;
                }
                _ => return None,
            }
        };
        if !is_secret(&rest[..end]) {
            return None;
        }
        let end = (start..self.bytes.len()).find(|at| self.ends_value(*at, is_percent));
        let end = self.trim(start, end.unwrap_or(self.bytes.len()));
        (end > start).then_some(start..end)
    }

    fn ends_value(&self, at: usize, is_percent: bool) -> bool {
        let rest = &self.bytes[at..];
        match rest[0] {
            b'&' | b'#' | b'<' | b'>' => true,
            // Of a text in JSON.
            b'\\' => rest.get(1).is_some_and(|next| br#""'nrtu/\"#.contains(next)),
            b'%' if is_percent => starts_with(rest, b"%26") || starts_with(rest, b"%23"),
            _ => self.ends_url(at),
        }
    }

    /// The end without what rather belongs to the sentence.
    fn trim(&self, start: usize, end: usize) -> usize {
        let is_of_sentence = |byte: &&u8| b".,;:!|)]}'\"`".contains(byte);
        end - self.bytes[start..end].iter().rev().take_while(is_of_sentence).count()
    }
}

/// The user name of ssh is no credential.
fn is_ssh_user(user: &[u8], is_ssh: bool) -> bool {
    is_ssh && !user.contains(&b':') && !user.windows(3).any(|three| three.eq_ignore_ascii_case(b"%3a"))
}

fn is_like_ssh(scheme: &[u8]) -> bool {
    let like: [&[u8]; 4] = [b"ssh", b"sftp", b"scp", b"rsync"];
    scheme
        .split(|byte| b"+-.".contains(byte))
        .any(|part| like.iter().any(|ssh| part.eq_ignore_ascii_case(ssh)))
}

fn last_percent_at(authority: &[u8]) -> Option<usize> {
    authority.windows(3).rposition(|three| three.eq_ignore_ascii_case(b"%40"))
}

fn closing(opening: u8) -> Option<u8> {
    match opening {
        b'(' => Some(b')'),
        b'[' => Some(b']'),
        b'{' => Some(b'}'),
        b'\'' => Some(b'\''),
        _ => None,
    }
}

/// Whether a key carries secrets, whatever its separators, its letters and its encoding.
fn is_secret(key: &[u8]) -> bool {
    let mut name = String::new();
    let mut rest = key;
    while let Some((first, after)) = rest.split_first() {
        let (byte, after) = match (first, hex(after)) {
            (b'%', Some(byte)) => (byte, &after[2..]),
            _ => (*first, after),
        };
        if byte.is_ascii_alphanumeric() {
            name.push(char::from(byte.to_ascii_lowercase()));
        }
        rest = after;
    }
    SECRET_KEYS.contains(&name.as_str()) || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn hex(bytes: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(bytes.first()?)? * 16 + digit(bytes.get(1)?)?)
}

/// Whether it has been hidden before, and perhaps cut since.
fn is_hidden(secret: &[u8]) -> bool {
    std::str::from_utf8(secret).is_ok_and(|secret| secret.chars().all(|c| matches!(c, '*' | '…')))
}

fn starts_with(bytes: &[u8], lower_case: &[u8]) -> bool {
    bytes.get(..lower_case.len()).is_some_and(|start| start.eq_ignore_ascii_case(lower_case))
}

#[cfg(test)]
mod tests;
