//! Values on the command line.

use std::time::Duration;

/// A duration: a number with `ms`, `s` or `m`, or bare seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit() && c != '.') {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let number: f64 = number.parse().map_err(|_| "not a number with ms, s or m".to_owned())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "s" => number,
        "m" => number * 60.0,
        _ => return Err(format!("unknown unit {unit:?}; there are ms, s and m")),
    };
    if seconds <= 0.0 || seconds > 86_400.0 {
        return Err("it has to be more than nothing and at most a day".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// The words after `--` as one command: a single word as it stands, more of them quoted for a shell.
pub(super) fn command(words: &[String]) -> Option<String> {
    match words {
        [] => None,
        [one] => Some(one.clone()),
        more => Some(more.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")),
    }
}

fn quote(word: &str) -> String {
    let plain =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,+@%{}".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_one_command_that_a_shell_takes_apart_again() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(command(&words(&["echo a; echo b"])).unwrap(), "echo a; echo b");
        assert_eq!(command(&words(&["dogwatch", "hook", "{harness}"])).unwrap(), "dogwatch hook {harness}");
        assert_eq!(command(&words(&["printf", "%s", "it's"])).unwrap(), r"printf %s 'it'\''s'");
        assert_eq!(command(&[]), None);
    }

    #[test]
    fn a_duration_has_a_unit_or_is_seconds() {
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert!(duration("0").is_err() && duration("5h").is_err() && duration("").is_err());
    }
}
