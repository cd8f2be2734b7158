//! The digest as a text: a first line that says what it is, notes, a section per stage, the banner.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

use dogwatch_engine::stages::{Hints, StageEnd, StageReport, Truncation, banner, gap_marker};

use super::ground::Ground;
use super::plan::Kind;
use crate::config::{Loaded, Seconds};
use crate::home::trust::TrustState;
use crate::text::{line, redact, redact_cut};

/// The knob that gives a digest more time.
const KNOB: &str =
    "`deadline` below [digest] in .dogwatch/config.toml, or DOGWATCH_SESSION_START_TIMEOUT (seconds)";

/// The line that says what this is, of which project, when.
pub fn title(ground: &Ground, kind: Kind) -> String {
    let name = ground.root.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy());
    let time = ground.now.strftime("%Y-%m-%d %H:%M %:z");
    let again = match kind {
        Kind::Full => "",
        Kind::AfterClear => ", again after a clear",
        Kind::AfterCompact => ", again after a compaction",
    };
    format!("# dogwatch session digest: {} ({time}{again})\n", line(&name))
}

/// What is to be known of the config before anything else, each one line.
pub fn notes(loaded: &Loaded, trust: Option<TrustState>, environment: Option<String>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(first) = loaded.problems.first() {
        // Only the place: what is wrong there would be told in words of a file that nobody may have trusted.
        let places = match loaded.problems.len() - 1 {
            0 => " is wrong".to_owned(),
            1 => " and one more place are wrong".to_owned(),
            more => format!(" and {more} more places are wrong"),
        };
        let place = first.place();
        notes.push(format!(
            "{place}{places}, so the config is not used; `dogwatch trust --show` tells what is"
        ));
    } else if let Some(trust @ (TrustState::Untrusted | TrustState::Changed)) = trust {
        let why =
            if trust == TrustState::Changed { "has changed since it was trusted" } else { "is not trusted" };
        notes.push(format!(
            ".dogwatch/config.toml {why}, so it is not used; a person allows it with `dogwatch trust`"
        ));
    }
    notes.extend(environment);
    notes.iter().map(|note| line(note)).collect()
}

/// What a stage said, without credentials: whatever it read, it does not tell them.
pub fn said(stage: &StageReport) -> Cow<'_, str> {
    let text = stage.text.trim_end();
    if stage.missing_bytes > 0 { redact_cut(text) } else { redact(text) }
}

/// A stage's section; nothing if it has nothing to say.
pub fn section(stage: &StageReport) -> Option<String> {
    let text = said(stage);
    (!text.is_empty()).then(|| format!("\n## {}\n{text}\n", stage.name))
}

/// What stands at the end of a digest that is not whole.
pub fn ending(
    truncation: Option<Truncation>,
    unfinished: &[&str],
    never_started: &[&str],
    missing: Option<(u64, usize)>,
) -> String {
    let mut text = String::new();
    if let Some((missing_bytes, cap_bytes)) = missing {
        let look_at = "for the rest, run the commands of its stages (.dogwatch/config.toml) by themselves";
        text.push_str(&gap_marker(missing_bytes, cap_bytes, look_at));
    }
    if let Some(truncation) = truncation {
        // Once more with as much time would end in the same place.
        let rerun = match truncation {
            Truncation::Deadline(deadline) => {
                let twice = (deadline.as_secs() * 2).clamp(60, u64::from(Seconds::MAX.get()));
                format!("run `DOGWATCH_SESSION_START_TIMEOUT={twice} dogwatch open`")
            }
            Truncation::Interrupted(_) | Truncation::SupervisorLost => "run `dogwatch open`".to_owned(),
        };
        let hints = Hints { rerun: &rerun, knob: KNOB };
        let _ = write!(text, "\n{}", banner(truncation, unfinished, never_started, &hints));
    }
    text
}

/// The word for how a stage ended, for machines.
pub fn end_word(end: &StageEnd) -> &'static str {
    match end {
        StageEnd::Done => "done",
        StageEnd::OverBound => "over_bound",
        StageEnd::Failed(_) => "failed",
        StageEnd::Unfinished => "unfinished",
        StageEnd::NeverStarted => "never_started",
    }
}

/// The name of a project's digest file below `state/digest/`.
pub fn file_name(session: &str) -> String {
    format!("{session}.txt")
}

/// The place of the full text, as a person or a model can open it.
pub fn full_text_path(home: &Path, session: &str) -> std::path::PathBuf {
    home.join("state/digest").join(file_name(session))
}

#[cfg(test)]
mod tests {
    use dogwatch_engine::process::{Deadline, Engine};
    use dogwatch_engine::stages::{Digest, Progress, Stage, Work};

    use super::*;

    /// The section of a stage that says this, in a digest that keeps so many bytes.
    fn section_of(text: &'static str, cap_bytes: usize) -> String {
        let mut digest = Digest::new(Engine::new(), Deadline::DEFAULT);
        digest.cap_bytes = cap_bytes;
        let work = Work::Function(Box::new(move || Some(text.to_owned())));
        let stage = Stage { name: "a".to_owned(), bound: Deadline::DEFAULT, work };
        let mut told = String::new();
        let run = digest.run(vec![stage], std::future::pending(), |progress| {
            if let Progress::Turn(stage) = progress {
                told.extend(section(stage));
            }
        });
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run);
        told
    }

    #[test]
    fn no_section_holds_a_credential_nor_half_of_one() {
        let text = "https://user:s3cret@host https://user:s3cret@host";
        assert_eq!(section_of(text, 1000), "\n## a\nhttps://***@host https://***@host\n");
        assert_eq!(section_of(text, text.len() - 7), "\n## a\nhttps://***@host https://***\n");
    }
}
