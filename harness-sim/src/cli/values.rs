//! Values on the command line.

use std::path::{Path, PathBuf};
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

/// A duration, or 0.
pub(crate) fn patience(text: &str) -> Result<Duration, String> {
    let is_nothing = ["0", "0s", "0ms", "0m"].contains(&text);
    if is_nothing { Ok(Duration::ZERO) } else { duration(text) }
}

/// The words after `--` as one command: a single word as it stands, more of them quoted for a shell. Hooks run in other
/// folders, so a program with a relative path is the one that is seen from `here`.
///
/// # Errors
/// Where there is none.
pub(super) fn command(words: &[String], here: &Path) -> Result<Option<String>, String> {
    let (program, rest) = match words {
        [] => return Ok(None),
        // One word may be a path with blanks in it, else it is a shell's line and its program the first word of that.
        [line] if is_relative(line) && here.join(line).is_file() => (line.as_str(), String::new()),
        [line] => {
            let program = line.split(char::is_whitespace).next().unwrap_or_default();
            // A word with `=` sets a variable.
            let is_program = program.chars().all(|c| c != '=' && is_plain(c));
            if !is_program || !is_relative(program) {
                return Ok(Some(line.clone()));
            }
            (program, line[program.len()..].to_owned())
        }
        [program, rest @ ..] => {
            let rest: Vec<String> = rest.iter().map(|word| quote(word)).collect();
            (program.as_str(), format!(" {}", rest.join(" ")))
        }
    };
    if !is_relative(program) {
        return Ok(Some(format!("{}{rest}", quote(program))));
    }
    let path = absolute(here, program)?;
    // Only when it is fired is it known which file that is.
    let is_open = program.contains(['{', '}']);
    if !is_open && !path.is_file() {
        return Err(format!(
            "{program}: there is no file {}; a relative path is one from the current folder",
            path.display()
        ));
    }
    Ok(Some(format!("{}{rest}", quote(&path.to_string_lossy()))))
}

/// Whether a program is named by a path that means another file in another folder.
fn is_relative(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}

/// The path without `.` and `..`, where those are what they seem.
fn absolute(here: &Path, program: &str) -> Result<PathBuf, String> {
    let path = here.join(program);
    let (above, name) = (path.parent().unwrap_or(here), path.file_name().unwrap_or_default());
    match above.canonicalize() {
        Ok(above) => Ok(above.join(name)),
        Err(_) => std::path::absolute(&path).map_err(|error| format!("{program}: {error}")),
    }
}

fn quote(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(is_plain);
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Whether a shell takes it for itself.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./:=,+@%{}".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_one_command_that_a_shell_takes_apart_again() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let command = |given: &[&str]| command(&words(given), Path::new("/")).unwrap();
        assert_eq!(command(&["echo a; echo b"]).unwrap(), "echo a; echo b");
        assert_eq!(command(&["dogwatch", "hook", "{harness}"]).unwrap(), "dogwatch hook {harness}");
        assert_eq!(command(&["printf", "%s", "it's"]).unwrap(), r"printf %s 'it'\''s'");
        assert_eq!(command(&[]), None);
    }

    #[test]
    fn a_relative_program_is_one_from_here() {
        let top = tempfile::tempdir().unwrap();
        let here = top.path().canonicalize().unwrap().join("here");
        std::fs::create_dir(&here).unwrap();
        for name in ["hook.sh", "my hook.sh", "../above.sh"] {
            std::fs::write(here.join(name), "").unwrap();
        }
        let command = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            command(&words, &here).map(Option::unwrap_or_default)
        };
        let hook = here.join("hook.sh").display().to_string();
        assert_eq!(command(&["./hook.sh"]), Ok(hook.clone()));
        assert_eq!(command(&["./hook.sh", "a b"]), Ok(format!("{hook} 'a b'")));
        assert_eq!(command(&["./hook.sh a | cat"]), Ok(format!("{hook} a | cat")));
        let spaced = format!("'{}'", here.join("my hook.sh").display());
        assert_eq!(command(&["./my hook.sh"]), Ok(spaced.clone()));
        assert_eq!(command(&["./my hook.sh", "x"]), Ok(format!("{spaced} x")));
        let above = here.with_file_name("above.sh").display().to_string();
        assert_eq!(command(&["../above.sh"]), Ok(above));
        // Only when it is fired is it known which one is meant.
        assert_eq!(command(&["./{harness}.sh"]), Ok(here.join("{harness}.sh").display().to_string()));
        for shells in
            ["/bin/no/such x", "hook.sh", "A=./x ./hook.sh", "$X/hook.sh", "~/hook.sh", "\"./a b\" c"]
        {
            assert_eq!(command(&[shells]), Ok(shells.to_owned()));
        }
        for missing in [&["./no.sh"][..], &["./no.sh --x"], &["no/such.sh", "x"], &["./"]] {
            let error = command(missing).unwrap_err();
            assert!(error.contains(here.to_str().unwrap()), "{missing:?}: {error}");
        }
    }

    #[test]
    fn a_patience_may_be_none() {
        assert_eq!(patience("0"), Ok(Duration::ZERO));
        assert_eq!(patience("0s"), Ok(Duration::ZERO));
        assert_eq!(patience("3"), Ok(Duration::from_secs(3)));
        assert!(patience("-1").is_err() && patience("").is_err());
    }

    #[test]
    fn a_duration_has_a_unit_or_is_seconds() {
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert!(duration("0").is_err() && duration("5h").is_err() && duration("").is_err());
    }
}
