//! The ways in which harnesses read a matcher.

use regex::Regex;

/// What is wrong with an expression that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It is none, anywhere.
    Invalid(String),
    /// It may be one where the harness is; the simulator's expressions do not have it.
    NotPlayed(String),
}

/// Whether it takes everything: absent, empty, or a star.
pub(crate) fn takes_all(matcher: &str) -> bool {
    matcher.is_empty() || matcher == "*"
}

/// Names, apart by `|` (and by what else separates); each has to be the whole value.
pub(crate) fn one_of(matcher: &str, separators: &[char], values: &[String]) -> bool {
    matcher.split(separators).map(str::trim).any(|name| values.iter().any(|value| value == name))
}

/// A regular expression that may match anywhere in the value. One that does not compile takes nothing.
pub(crate) fn pattern(matcher: &str, values: &[String]) -> bool {
    compile(matcher).is_some_and(|regex| values.iter().any(|value| regex.is_match(value)))
}

/// Why an expression cannot be read.
pub(crate) fn unreadable(matcher: &str) -> Option<Unreadable> {
    const INVALID: &[&str] = &["unclosed", "unopened", "repetition operator missing expression"];
    let Err(error) = Regex::new(matcher) else { return None };
    let error = error.to_string();
    let why = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
    Some(if INVALID.iter().any(|known| why.contains(known)) {
        Unreadable::Invalid(why)
    } else {
        Unreadable::NotPlayed(why)
    })
}

/// Why a JavaScript program cannot read it, as a sentence that `then` ends.
pub(crate) fn unreadable_in_javascript(matcher: &str, then: &str) -> Option<String> {
    Some(match unreadable(matcher)? {
        Unreadable::Invalid(why) => format!("is no regular expression ({why}): {then}"),
        Unreadable::NotPlayed(why) => {
            format!("has what the simulator does not play ({why}); it is taken as matching nothing")
        }
    })
}

/// That a matcher does not take these values.
pub(crate) fn missed(matcher: &str, values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("matcher {matcher:?} does not match {}", values.join(" or "))
}

/// JavaScript's and Rust's expressions are the same in what matchers use. Look-around and back-references are not
/// known here; a matcher with them counts as one that does not compile, and the report says so.
pub(crate) fn compile(matcher: &str) -> Option<Regex> {
    Regex::new(matcher).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_and_patterns_are_not() {
        let value = ["BashOutput".to_owned()];
        assert!(!one_of("Bash|Edit", &['|'], &value));
        assert!(one_of("Edit|BashOutput", &['|'], &value));
        assert!(pattern("Bash", &value));
        assert!(!pattern("^Bash$", &value));
        assert!(!pattern("(", &value));
    }

    #[test]
    fn what_is_no_expression_anywhere_is_told_from_what_is_none_here() {
        for matcher in ["(", "Bash)", "[a", "*.ts"] {
            assert!(matches!(unreadable(matcher), Some(Unreadable::Invalid(_))), "{matcher}");
        }
        for matcher in ["(?!Bash)", r"(a)\1"] {
            assert!(matches!(unreadable(matcher), Some(Unreadable::NotPlayed(_))), "{matcher}");
        }
        assert_eq!(unreadable("^Bash|Edit$"), None);
    }
}
