//! The ways in which harnesses read a matcher.

use regex::Regex;

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
}
