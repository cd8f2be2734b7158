//! A number of seconds that bounds something: once it exists, it is valid.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Whole seconds, from 1 to [`Seconds::MAX`]. There is no zero: nothing switches a bound off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds(u32);

impl Seconds {
    /// A day.
    pub const MAX: Seconds = Seconds(86_400);

    /// The number as a bound, if it can be one.
    ///
    /// ```
    /// # use dogwatch::config::Seconds;
    /// assert!(Seconds::new(86_400).is_some());
    /// assert!(Seconds::new(0).is_none());
    /// assert!(Seconds::new(86_401).is_none());
    /// ```
    pub const fn new(seconds: u32) -> Option<Seconds> {
        if seconds == 0 || seconds > Self::MAX.0 { None } else { Some(Seconds(seconds)) }
    }

    /// A bound that is known when this is compiled.
    ///
    /// # Panics
    /// If the number is not from 1 to 86,400.
    pub(crate) const fn fixed(seconds: u32) -> Seconds {
        match Self::new(seconds) {
            Some(seconds) => seconds,
            None => panic!("a fixed number of seconds is from 1 to 86,400"),
        }
    }

    /// Reads ASCII digits and nothing else; leading zeros are allowed (`08` is 8).
    ///
    /// ```
    /// # use dogwatch::config::Seconds;
    /// assert_eq!(Seconds::from_digits(b"08"), Seconds::new(8));
    /// for not_seconds in ["", "0", "00", "-1", "+5", "1e9", "1.5", " 5", "5s", "86401", "99999999999999999999"] {
    ///     assert_eq!(Seconds::from_digits(not_seconds.as_bytes()), None, "{not_seconds}");
    /// }
    /// ```
    pub fn from_digits(digits: &[u8]) -> Option<Seconds> {
        let mut seconds: u32 = 0;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            seconds = seconds.checked_mul(10)?.checked_add(u32::from(digit - b'0'))?;
        }
        Self::new(seconds)
    }

    /// The bound that the variable `name` asks for, else `fallback`. The text is one line that says so when the value
    /// was no number of seconds; it does not quote the value, because it is bound for places that are kept.
    pub fn from_environment(
        name: &str,
        value: Option<&OsStr>,
        fallback: Seconds,
    ) -> (Seconds, Option<String>) {
        let Some(value) = value else { return (fallback, None) };
        if let Some(seconds) = Self::from_digits(value.as_bytes()) {
            return (seconds, None);
        }
        let max = Self::MAX.0;
        (
            fallback,
            Some(format!("{name} is not a whole number of seconds from 1 to {max}; {fallback} is used")),
        )
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The bound as a duration.
    pub const fn duration(self) -> Duration {
        Duration::from_secs(self.0 as u64)
    }
}

impl From<Seconds> for Duration {
    fn from(seconds: Seconds) -> Duration {
        seconds.duration()
    }
}

/// `30 s`.
impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const FALLBACK: Seconds = Seconds::fixed(120);

    fn read(value: &[u8]) -> (u32, bool) {
        let (seconds, note) = Seconds::from_environment("X", Some(OsStr::from_bytes(value)), FALLBACK);
        (seconds.get(), note.is_some())
    }

    #[rstest]
    #[case(b"1", 1)]
    #[case(b"08", 8)]
    #[case(b"0000000000000000000000000000000000000030", 30)]
    #[case(b"86400", 86_400)]
    fn digits_are_taken(#[case] value: &[u8], #[case] seconds: u32) {
        assert_eq!(read(value), (seconds, false));
    }

    #[rstest]
    #[case(b"")]
    #[case(b"0")]
    #[case(b"00")]
    #[case(b"-1")]
    #[case(b"+1")]
    #[case(b" 1")]
    #[case(b"1 ")]
    #[case(b"1e9")]
    #[case(b"1.5")]
    #[case(b"30s")]
    #[case(b"0x10")]
    #[case(b"86401")]
    #[case(b"4294967297")]
    #[case(b"18446744073709551617")]
    #[case("٣".as_bytes())]
    #[case(b"3\xff")]
    fn anything_else_is_the_fallback_and_a_line(#[case] value: &[u8]) {
        assert_eq!(read(value), (120, true));
    }

    #[test]
    fn a_variable_that_is_not_set_is_the_fallback_without_a_line() {
        assert_eq!(Seconds::from_environment("X", None, FALLBACK), (FALLBACK, None));
    }

    #[test]
    fn the_line_names_the_variable_and_not_its_value() {
        let (_, note) = Seconds::from_environment("X", Some(OsStr::new("hunter2")), FALLBACK);
        insta::assert_snapshot!(note.unwrap(), @"X is not a whole number of seconds from 1 to 86400; 120 s is used");
    }
}
