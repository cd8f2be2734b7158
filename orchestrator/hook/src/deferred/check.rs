//! A check: what it runs, and what its end means.

use std::path::Path;
use std::time::Duration;

use dogwatch_engine::process::{Captured, Command, End, StartError};
use sha2::{Digest as _, Sha256};

use crate::config::{BuiltInCheck, Network};
use crate::digest::plan;
use crate::home::read;
use crate::home::root::GitPlace;
use crate::home::trust::hex;
use crate::text::{clean_bytes, cut_bytes, redact};

/// How much of what a check says is kept.
pub(super) const TEXT_BYTES: usize = 16 * 1024;
/// More than a checkout's config was ever seen to have.
const CONFIG_BYTES: u64 = 1024 * 1024;

/// A check that is to be run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) sweep: bool,
    /// A clean answer that is younger need not be asked for again.
    pub(super) min_interval: Duration,
    work: Work,
}

#[derive(Debug, Clone, PartialEq)]
enum Work {
    /// The default remote of a checkout answers, and knows us.
    Remote(GitPlace),
    /// `gh` is logged in.
    GhAuth,
    /// A program of the project.
    Own(Vec<String>),
}

/// What a check came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing to do; perhaps a word about it.
    Clean(Option<String>),
    /// It asks for action.
    Action(String),
    /// It failed itself: why, in one line.
    Failed(String),
    /// It did not come to its end in time.
    Timeout,
}

/// The checks that a config asks for, in its order. `git` is the checkout of the project, where there is one.
pub(super) fn planned(network: &Network, git: Option<&GitPlace>) -> Vec<Check> {
    let built_in = network.built_in.iter().filter_map(|check| {
        let work = match check {
            BuiltInCheck::Remote => Work::Remote(git?.clone()),
            BuiltInCheck::GhAuth => Work::GhAuth,
        };
        let min_interval = crate::config::Check::MIN_INTERVAL.duration();
        Some(Check { name: check.id().to_owned(), sweep: false, min_interval, work })
    });
    let own = network.checks.iter().map(|check| Check {
        name: check.name.clone(),
        sweep: check.sweep,
        min_interval: check.min_interval.duration(),
        work: Work::Own(check.program.argv()),
    });
    built_in.chain(own).collect()
}

impl Check {
    fn argv(&self) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match &self.work {
            Work::Remote(_) => words(&["git", "ls-remote", "--quiet"]),
            Work::GhAuth => words(&["gh", "auth", "status"]),
            Work::Own(argv) => argv.clone(),
        }
    }

    /// As a person types it.
    pub(super) fn shown(&self) -> String {
        let argv = self.argv();
        let line = match argv.as_slice() {
            [shell, flag, line] if shell == "/bin/sh" && flag == "-c" => line.clone(),
            _ => argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
        };
        crate::text::line(&redact(&line))
    }

    /// What tells it from another check of its name.
    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = Sha256::new();
        for word in self.argv() {
            hasher.update((word.len() as u64).to_le_bytes());
            hasher.update(word);
        }
        let digest: [u8; 32] = hasher.finalize().into();
        hex(&digest)
    }

    pub(super) fn command(&self, root: &Path) -> Command {
        match &self.work {
            // The only git of ours that may use the network.
            Work::Remote(git) => {
                plan::git(&git.top).env_remove("GIT_ALLOW_PROTOCOL").args(["ls-remote", "--quiet"])
            }
            Work::GhAuth | Work::Own(_) => plan::project_command(root, &self.argv()),
        }
    }

    /// What its end means.
    pub(super) fn verdict(&self, ended: Result<&Captured, &StartError>) -> Verdict {
        let captured = match ended {
            Ok(captured) => captured,
            Err(StartError::Deadline { .. }) => return Verdict::Timeout,
            Err(error) => return Verdict::Failed(one_line(&error.to_string())),
        };
        let outcome = &captured.outcome;
        match (outcome.end, outcome.exit_code, &self.work) {
            (End::Deadline, _, _) => Verdict::Timeout,
            (End::Exited, Some(0), _) => Verdict::Clean(None),
            (End::Exited, Some(128), Work::Remote(git)) if has_no_remote(git) => {
                Verdict::Clean(Some("there is no remote".to_owned()))
            }
            (End::Exited, Some(_), Work::Remote(_)) => {
                Verdict::Action(format!("the remote does not answer, or refuses: {}", complaint(captured)))
            }
            (End::Exited, Some(1), Work::GhAuth) => Verdict::Action(format!(
                "gh is not logged in, or its token is refused: {}",
                last_words(captured)
            )),
            (End::Exited, Some(1), Work::Own(_)) => Verdict::Action(said(captured)),
            (End::Exited, Some(code), _) => Verdict::Failed(format!("exit {code}: {}", last_words(captured))),
            (End::Signaled, _, _) => {
                let signal = outcome.signal.map_or_else(String::new, |signal| format!(" {signal}"));
                Verdict::Failed(format!("it died of signal{signal}"))
            }
            (End::Exited | End::Interrupted | End::SupervisorLost, _, _) => {
                Verdict::Failed("it was ended from outside".to_owned())
            }
        }
    }
}

/// Without one git tries `origin`, and complains of that.
fn has_no_remote(git: &GitPlace) -> bool {
    let config = read::bytes(&git.common_dir.join("config"), CONFIG_BYTES).unwrap_or_default();
    !String::from_utf8_lossy(&config).lines().any(|line| line.trim_start().starts_with("[remote \""))
}

/// What git says first; what comes behind is advice. In the C locale, which our git has.
fn complaint(captured: &Captured) -> String {
    let lines = || captured.stderr.split(|byte| *byte == b'\n');
    let first = lines().find(|line| line.starts_with(b"fatal: ") || line.starts_with(b"ERROR: "));
    first.map_or_else(|| last_words(captured), |line| one_line(&clean_bytes(line)))
}

/// What a check printed: clean, without credentials, not too long.
fn said(captured: &Captured) -> String {
    let text = clean_bytes(&captured.stdout);
    let text = redact(text.trim_end());
    let kept = cut_bytes(&text, TEXT_BYTES);
    let missing = captured.outcome.stdout_bytes.saturating_sub(kept.len() as u64);
    let is_dropped = captured.outcome.stdout_bytes > captured.stdout.len() as u64;
    match (kept.trim().is_empty(), kept.len() < text.len() || is_dropped) {
        (true, _) => "(it printed nothing to stdout)".to_owned(),
        (false, false) => kept.to_owned(),
        (false, true) => format!("{kept}\n[cut here: about {missing} bytes more]"),
    }
}

/// The last line of what it said on stderr, else on stdout.
fn last_words(captured: &Captured) -> String {
    let last = |bytes: &[u8]| {
        let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
        // First without credentials, then cut: half a credential would not be known for one.
        lines.rev().map(|line| one_line(&clean_bytes(line))).find(|line| !line.is_empty())
    };
    let words = last(&captured.stderr).or_else(|| last(&captured.stdout));
    words.unwrap_or_else(|| "it said nothing".to_owned())
}

fn one_line(text: &str) -> String {
    crate::text::line(&redact(text))
}

fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=@,%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests;
