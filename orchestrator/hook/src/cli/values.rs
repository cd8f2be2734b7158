//! Values on the command line: durations and sizes.

use std::time::Duration;

/// The longest duration: a day.
const LONGEST: Duration = Duration::from_hours(24);

/// Reads a duration: a whole number with `ms`, `s` or `m`, or of seconds. Not zero, at most a day. For clap's
/// `value_parser`.
///
/// ```
/// # use std::time::Duration;
/// # use dogwatch::cli::values::duration;
/// assert_eq!(duration("120s"), Ok(Duration::from_secs(120)));
/// assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
/// assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
/// assert_eq!(duration("08"), Ok(Duration::from_secs(8)));
/// assert!(duration("0").is_err());
/// ```
pub fn duration(text: &str) -> Result<Duration, String> {
    let units = [("", 1000), ("ms", 1), ("s", 1000), ("m", 60 * 1000)];
    let milliseconds = match number(text, &units) {
        Number::Is(milliseconds) => milliseconds,
        Number::TooLarge => u64::MAX,
        Number::IsNot => {
            return Err("expected a whole number with ms, s or m, as in 500ms, 30s or 2m".to_owned());
        }
    };
    match Duration::from_millis(milliseconds) {
        Duration::ZERO => Err("expected more than zero: nothing switches a bound off".to_owned()),
        longer if longer > LONGEST => Err("expected at most a day, 86400s".to_owned()),
        duration => Ok(duration),
    }
}

/// Reads a size in bytes: a whole number of bytes, or with `KiB`, `MiB` or `GiB`. For clap's `value_parser`.
///
/// ```
/// # use dogwatch::cli::values::size;
/// assert_eq!(size("512KiB"), Ok(512 * 1024));
/// assert_eq!(size("0"), Ok(0));
/// assert!(size("1KB").is_err());
/// ```
pub fn size(text: &str) -> Result<u64, String> {
    match number(text, &[("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]) {
        Number::Is(bytes) => Ok(bytes),
        Number::TooLarge => Err("expected at most 16 EiB".to_owned()),
        Number::IsNot => {
            Err("expected a whole number of bytes, or with KiB, MiB or GiB, as in 512KiB".to_owned())
        }
    }
}

enum Number {
    Is(u64),
    TooLarge,
    IsNot,
}

/// ASCII digits and one of the units, as a number of the smallest unit.
fn number(text: &str, units: &[(&str, u64)]) -> Number {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else { return Number::IsNot };
    if digits.is_empty() {
        return Number::IsNot;
    }
    // Of digits alone, the only error that is left is the overflow.
    match digits.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor)) {
        Some(number) => Number::Is(number),
        None => Number::TooLarge,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1", 1000)]
    #[case("007s", 7000)]
    #[case("1ms", 1)]
    #[case("86400", 86_400_000)]
    #[case("1440m", 86_400_000)]
    #[case("86400000ms", 86_400_000)]
    fn durations_are_read(#[case] text: &str, #[case] milliseconds: u64) {
        assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)));
    }

    #[rstest]
    #[case("", "whole number")]
    #[case("s", "whole number")]
    #[case("-1s", "whole number")]
    #[case("+1s", "whole number")]
    #[case("1.5s", "whole number")]
    #[case("1e3", "whole number")]
    #[case("1 s", "whole number")]
    #[case(" 1", "whole number")]
    #[case("1S", "whole number")]
    #[case("1h", "whole number")]
    #[case("1sm", "whole number")]
    #[case("٣s", "whole number")]
    #[case("0", "more than zero")]
    #[case("00ms", "more than zero")]
    #[case("86401", "at most a day")]
    #[case("86400001ms", "at most a day")]
    #[case("1441m", "at most a day")]
    #[case("99999999999999999999999m", "at most a day")]
    #[case("18446744073709551615m", "at most a day")]
    fn other_durations_are_refused(#[case] text: &str, #[case] because: &str) {
        let message = duration(text).unwrap_err();
        assert!(message.contains(because), "{message}");
    }

    #[rstest]
    #[case("0", 0)]
    #[case("1024", 1024)]
    #[case("04KiB", 4096)]
    #[case("3MiB", 3 << 20)]
    #[case("4GiB", 4 << 30)]
    fn sizes_are_read(#[case] text: &str, #[case] bytes: u64) {
        assert_eq!(size(text), Ok(bytes));
    }

    #[rstest]
    #[case("", "whole number")]
    #[case("KiB", "whole number")]
    #[case("1KB", "whole number")]
    #[case("1kib", "whole number")]
    #[case("1K", "whole number")]
    #[case("-1", "whole number")]
    #[case("1.5MiB", "whole number")]
    #[case("18446744073709551616", "at most 16 EiB")]
    #[case("17179869184GiB", "at most 16 EiB")]
    fn other_sizes_are_refused(#[case] text: &str, #[case] because: &str) {
        let message = size(text).unwrap_err();
        assert!(message.contains(because), "{message}");
    }

    proptest! {
        #[test]
        fn a_duration_that_is_read_is_a_bound(text in "[0-9]{0,25}(ms|s|m|x|)") {
            if let Ok(duration) = duration(&text) {
                prop_assert!(duration > Duration::ZERO && duration <= LONGEST);
            }
        }
    }
}
