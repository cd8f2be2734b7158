//! What the stages of one digest stand on: the root, its home, its git checkout, the time.

use std::path::PathBuf;

use crate::home::root::GitPlace;

/// What the built-in stages of one digest look at. Gathered once, before the stages start.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The project's root: the folder that holds `.dogwatch/`, else the top of the git checkout, else the start folder.
    pub root: PathBuf,
    /// The home (`.dogwatch/`), if there is one.
    pub home: Option<PathBuf>,
    /// The git checkout that the root lies in, if there is one.
    pub git: Option<GitPlace>,
    /// The person's profile file (`$XDG_CONFIG_HOME/dogwatch/profile.md`), whether or not it exists; `None` where no
    /// home folder of the person is known.
    pub profile: Option<PathBuf>,
    /// The moment of the session open, in local time.
    pub now: jiff::ZonedDateTime,
    /// Whether the reader is a person in a terminal rather than a harness's model.
    pub in_terminal: bool,
}

#[cfg(test)]
impl Ground {
    /// A ground for tests: the root alone, at noon of 2026-11-30, UTC.
    pub(crate) fn at(root: &std::path::Path) -> Self {
        let now = "2026-11-30T12:00:00Z"
            .parse::<jiff::Timestamp>()
            .unwrap()
            .to_zoned_datetime(jiff::tz::TimeZone::UTC);
        Self { root: root.to_owned(), home: None, git: None, profile: None, now, in_terminal: false }
    }

    /// The same with a home, which it makes.
    pub(crate) fn with_home(root: &std::path::Path) -> Self {
        let home = root.join(".dogwatch");
        std::fs::create_dir_all(&home).unwrap();
        Self { home: Some(home), ..Self::at(root) }
    }
}
