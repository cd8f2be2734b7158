//! Whether a live test runs: it was asked for, and its program is there.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::agent::Agent;
use crate::catalogue::{self, Installed};
use crate::env;

/// Which agents were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The variable is not set, or empty.
    Nothing,
    /// These.
    These(BTreeSet<Agent>),
    /// The value cannot be read; what is wrong with it.
    Wrong(String),
}

/// What becomes of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It runs, with this program.
    Run(Installed),
    /// It was not asked for, or cannot be had here: it counts as ignored, and why.
    Ignored(String),
    /// It was asked for and cannot run: it has failed, and what to do.
    Failed(String),
}

impl Asked {
    /// What `DOGWATCH_LIVE_E2E` asks for.
    pub fn from_environment() -> Self {
        Self::parse(env::asked().as_deref())
    }

    fn parse(value: Option<&OsStr>) -> Self {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Self::Nothing };
        let known = || Agent::ALL.map(Agent::id).join(", ");
        let wrong =
            |name: &str| Self::Wrong(format!("{} names {name:?}; it knows {} and all", env::ASKED, known()));
        let Some(value) = value.to_str() else { return wrong(&value.to_string_lossy()) };
        let mut agents = BTreeSet::new();
        for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match Agent::by_id(name) {
                _ if name == "all" => agents.extend(Agent::ALL),
                Some(agent) => drop(agents.insert(agent)),
                None => return wrong(name),
            }
        }
        Self::These(agents)
    }

    /// Whether a test of this agent runs, with programs from this folder.
    pub fn verdict(&self, agent: Agent, folder: &Path) -> Verdict {
        match self {
            Self::Wrong(why) => return Verdict::Failed(why.clone()),
            Self::These(agents) if agents.contains(&agent) => {}
            _ => {
                let why = "it starts the real program";
                return Verdict::Ignored(format!(
                    "not asked for, because {why}; {}={agent} asks",
                    env::ASKED
                ));
            }
        }
        if agent == Agent::Cursor {
            return cursor();
        }
        match catalogue::installed(agent, folder) {
            Ok(installed) => Verdict::Run(installed),
            Err(missing) => Verdict::Failed(missing.to_string()),
        }
    }
}

/// Where the programs are: what `DOGWATCH_LIVE_CLIS` names, else `live-clis` in cargo's target folder, in which a test has
/// its `CARGO_TARGET_TMPDIR`.
pub fn clis_folder(target_tmpdir: &Path) -> PathBuf {
    env::clis().unwrap_or_else(|| target_tmpdir.parent().unwrap_or(target_tmpdir).join("live-clis"))
}

/// Cursor comes from its vendor and talks to its vendor alone.
fn cursor() -> Verdict {
    let Some(program) = env::find_on_path("cursor-agent") else {
        let needs = "it needs cursor-agent on the PATH, and an account, because it talks to no other model";
        return Verdict::Ignored(needs.to_owned());
    };
    if !env::is_real() {
        let why = "it can only be run with your own account";
        return Verdict::Ignored(format!("{why}; {}=1 allows that", env::REAL));
    }
    Verdict::Run(Installed { command: vec![program.into_os_string()], version: "yours".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: &str) -> Asked {
        Asked::parse(Some(OsStr::new(value)))
    }

    #[test]
    fn names_and_all_are_understood() {
        assert_eq!(Asked::parse(None), Asked::Nothing);
        assert_eq!(parse(""), Asked::Nothing);
        assert_eq!(parse("pi, claude"), Asked::These(BTreeSet::from([Agent::Claude, Agent::Pi])));
        assert_eq!(parse("all"), Asked::These(BTreeSet::from(Agent::ALL)));
    }

    #[test]
    fn without_the_variable_a_test_is_ignored_and_says_why() {
        let Verdict::Ignored(why) = Asked::Nothing.verdict(Agent::Grok, Path::new("/")) else { panic!() };
        assert!(why.contains("DOGWATCH_LIVE_E2E=grok"), "{why}");
        let verdict = parse("claude").verdict(Agent::Grok, Path::new("/"));
        assert!(matches!(verdict, Verdict::Ignored(_)), "{verdict:?}");
    }

    #[test]
    fn what_was_asked_for_and_is_not_there_has_failed() {
        let Verdict::Failed(why) = parse("grok").verdict(Agent::Grok, Path::new("/nowhere")) else {
            panic!()
        };
        assert!(why.contains("scripts/install-clis grok"), "{why}");
    }

    #[test]
    fn a_misspelt_name_is_no_silent_green() {
        let Verdict::Failed(why) = parse("cladue").verdict(Agent::Claude, Path::new("/")) else { panic!() };
        assert!(why.contains("cladue") && why.contains("opencode"), "{why}");
    }
}
