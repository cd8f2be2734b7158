//! Finding a recording by harness, version and name; the name may be cut where it stays unique.

use thiserror::Error;

use super::{Recording, all};
use crate::harness::Harness;

/// How many suggestions an error makes.
const SUGGESTIONS: usize = 4;

/// Why there is no such recording.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unknown {
    /// Nothing of that version.
    #[error("{harness} {version} has no recordings; there are: {}", known.join(", "))]
    Version {
        /// The harness.
        harness: &'static str,
        /// What was asked for.
        version: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// No name that begins so.
    #[error("{harness} {version} has no recording {name:?}{}", suggest(harness, elsewhere, nearest))]
    Name {
        /// The harness.
        harness: &'static str,
        /// The version.
        version: String,
        /// What was asked for.
        name: String,
        /// The nearest names.
        nearest: Vec<&'static str>,
        /// The other versions that have a recording of this name, or one that begins so; the newest first.
        elsewhere: Vec<&'static str>,
    },
    /// More than one name begins so.
    #[error("{name:?} could be any of these recordings of {harness} {version}:\n  {}", matches.join("\n  "))]
    Ambiguous {
        /// The harness.
        harness: &'static str,
        /// The version.
        version: String,
        /// What was asked for.
        name: String,
        /// What begins so.
        matches: Vec<&'static str>,
    },
}

fn suggest(harness: &str, elsewhere: &[&str], nearest: &[&str]) -> String {
    if let [newest, ..] = elsewhere {
        return format!("; {harness} {} has it: add --version {newest}", elsewhere.join(" and "));
    }
    if nearest.is_empty() {
        "; `harness-sim list` shows all".to_owned()
    } else {
        format!("; did you mean {}?", nearest.join(", "))
    }
}

/// The versions that there are recordings of, the newest last.
pub fn versions(harness: Harness) -> Vec<&'static str> {
    let mut versions: Vec<&str> = all()
        .iter()
        .filter(|recording| recording.harness == harness)
        .map(|recording| recording.version)
        .collect();
    versions.dedup();
    versions.sort_by_key(|version| parts(version));
    versions
}

/// The newest version that there are recordings of. A date, as Cursor's CLI has it, is newer than an IDE's number.
pub fn newest(harness: Harness) -> Option<&'static str> {
    versions(harness).pop()
}

fn parts(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// The recording of this name, or the only one whose name begins so.
///
/// # Errors
/// [`Unknown`], with what there is instead.
pub fn find(harness: Harness, version: &str, name: &str) -> Result<&'static Recording, Unknown> {
    let of_version: Vec<&'static Recording> = all()
        .iter()
        .filter(|recording| recording.harness == harness && recording.version == version)
        .collect();
    let owned = || version.to_owned();
    let known = || versions(harness);
    let harness = harness.id();
    if of_version.is_empty() {
        let known = known();
        return Err(Unknown::Version { harness, version: owned(), known });
    }
    if let Some(exact) = of_version.iter().find(|recording| recording.name == name) {
        return Ok(exact);
    }
    let matches: Vec<&&Recording> =
        of_version.iter().filter(|recording| !name.is_empty() && recording.name.starts_with(name)).collect();
    match matches[..] {
        [only] => Ok(only),
        [] => {
            let nearest = nearest(&of_version, name);
            let mut elsewhere = known();
            let has_it = |other: &&'static str| {
                let mut recordings = all().iter().filter(|recording| recording.harness.id() == harness);
                !name.is_empty() && recordings.any(|one| one.version == *other && one.name.starts_with(name))
            };
            elsewhere.retain(|other| *other != version && has_it(other));
            elsewhere.reverse();
            Err(Unknown::Name { harness, version: owned(), name: name.to_owned(), nearest, elsewhere })
        }
        _ => {
            let matches = matches.iter().map(|recording| recording.name).collect();
            Err(Unknown::Ambiguous { harness, version: owned(), name: name.to_owned(), matches })
        }
    }
}

fn nearest(recordings: &[&'static Recording], name: &str) -> Vec<&'static str> {
    let lower = name.to_ascii_lowercase();
    let mut scored: Vec<(f64, &'static str)> = recordings
        .iter()
        .map(|recording| {
            let known = recording.name.to_ascii_lowercase();
            // Someone who types a part of a name is nearer than the distance says.
            let beginning: String = known.chars().take(lower.chars().count()).collect();
            let score = strsim::jaro_winkler(&known, &lower)
                .max(strsim::normalized_damerau_levenshtein(&beginning, &lower));
            (score, recording.name)
        })
        .filter(|(score, _)| *score > 0.7)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(SUGGESTIONS).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_cut_where_it_stays_unique() {
        assert_eq!(
            find(Harness::Claude, "2.1.332", "SessionStart-fork").unwrap().name,
            "SessionStart-fork-headless"
        );
        let Err(Unknown::Ambiguous { matches, .. }) =
            find(Harness::Claude, "2.1.332", "SessionStart-compact")
        else {
            panic!("two begin so")
        };
        assert_eq!(matches, ["SessionStart-compact-headless", "SessionStart-compact-tui"]);
    }

    #[test]
    fn a_whole_name_wins_over_longer_ones() {
        assert_eq!(find(Harness::Cursor, "2026.10.01", "preToolUse-Shell").unwrap().name, "preToolUse-Shell");
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion() {
        let error = find(Harness::Claude, "2.1.332", "SesionStart-startup").unwrap_err().to_string();
        assert!(error.contains("did you mean") && error.contains("SessionStart-startup"), "{error}");
    }

    #[test]
    fn a_name_that_another_version_has_says_which() {
        for name in ["beforeSubmitPrompt-default", "beforeSubmit", "stop"] {
            let error = find(Harness::Cursor, "2026.10.01", name).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "cursor 2026.10.01 has no recording {name:?}; cursor 3.20.17 has it: add --version 3.20.17"
                )
            );
        }
        let error = find(Harness::Cursor, "2026.10.01", "nonsense").unwrap_err().to_string();
        assert!(!error.contains("3.20.17"), "{error}");
    }

    #[test]
    fn an_unknown_version_gets_the_known_ones() {
        let error = find(Harness::Codex, "0.1.0", "Stop").unwrap_err().to_string();
        assert!(error.contains("0.171.0"), "{error}");
    }

    #[test]
    fn the_newest_cursor_is_the_cli() {
        assert_eq!(newest(Harness::Cursor), Some("2026.10.01"));
    }
}
