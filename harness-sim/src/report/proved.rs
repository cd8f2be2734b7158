//! What was proved: one line of JSON for each scenario that was played to its end, kept in a file over many runs.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Report;

/// One line.
#[derive(Debug, Serialize)]
struct Line<'a> {
    scenario: &'a str,
    harness: &'a str,
    version: &'a str,
    passed: bool,
    at: String,
}

/// The scenario that a line is about.
#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Whose {
    scenario: String,
    harness: String,
    version: String,
}

/// Writes what was played into a file. A line takes the place of an older one for the same scenario, harness and version;
/// other lines stay as they are. What was not run proves nothing and changes nothing.
///
/// # Errors
/// The file cannot be read or written.
pub fn prove(file: &Path, reports: &[Report]) -> io::Result<()> {
    let before = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let played: Vec<&Report> = reports.iter().filter(|report| report.not_run.is_none()).collect();
    let replaced: HashSet<Whose> = played
        .iter()
        .map(|report| Whose {
            scenario: report.scenario.clone(),
            harness: report.harness.id().to_owned(),
            version: report.version.clone(),
        })
        .collect();
    let at = jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string();
    let mut text = String::new();
    for line in before.lines().filter(|line| !line.trim().is_empty()) {
        if serde_json::from_str::<Whose>(line).is_ok_and(|whose| replaced.contains(&whose)) {
            continue;
        }
        text.push_str(line);
        text.push('\n');
    }
    for report in played {
        let line = Line {
            scenario: &report.scenario,
            harness: report.harness.id(),
            version: &report.version,
            passed: report.passed(),
            at: at.clone(),
        };
        text.push_str(&serde_json::to_string(&line)?);
        text.push('\n');
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // A reader finds the old file or the new one.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.persist(file)?;
    Ok(())
}
