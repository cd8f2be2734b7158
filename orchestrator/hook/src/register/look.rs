//! What of ours stands in a harness's file, and whether it is whole.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::file::Snapshot;
use super::own::{self, Program};
use super::part::PartError;
use super::{json, shim};
use crate::env;
use crate::harness::Harness;
use crate::harness::registration::Form;

/// What was found in one file.
#[derive(Debug)]
pub enum Seen {
    /// Nothing of ours.
    Nothing,
    /// Something of ours.
    Registered(Registered),
    /// The file cannot be read, or the harness would not take it.
    Unreadable {
        /// Why, and where.
        why: String,
        /// Whether something of ours seems to be in it.
        has_ours: bool,
    },
}

/// A registration as it stands.
#[derive(Debug, Default)]
pub struct Registered {
    /// What is wrong with it: it does not, or not wholly, do what it should. With what to do.
    pub faults: Vec<String>,
    /// What the harness calls.
    pub programs: BTreeSet<String>,
}

/// Looks at a harness's file.
pub fn look(harness: &'static Harness, path: &Path) -> Seen {
    let content = match Snapshot::read(path) {
        Ok(file) => file.content,
        Err(error) => return Seen::Unreadable { why: error.to_string(), has_ours: false },
    };
    let Some(content) = content else { return Seen::Nothing };
    let seen = match harness.registration.form {
        Form::Hooks { .. } => hooks(harness, &content),
        Form::Shim { program } => Ok(shim::program_of(&content).map(|called| {
            let mut registered = Registered::default();
            let is_current = Program::at(Path::new(&called))
                .ok()
                .or_else(|| (called == own::NAME).then_some(Program::Bare))
                .is_some_and(|called| shim::render(program, &called).as_bytes() == content.as_slice());
            if !is_current {
                registered.faults.push(
                    "it is of another version, or was edited; `dogwatch install` writes the current one"
                        .to_owned(),
                );
            }
            registered.programs.insert(called);
            registered
        })),
    };
    match seen {
        Ok(None) => Seen::Nothing,
        Ok(Some(mut registered)) => {
            let missing = registered.programs.iter().filter_map(|program| missing(program));
            registered.faults.extend(missing.collect::<Vec<_>>());
            Seen::Registered(registered)
        }
        Err(error) => {
            let called = format!("dogwatch hook {}", harness.id);
            let has_ours = String::from_utf8_lossy(&content).contains(&called);
            Seen::Unreadable { why: format!("{}: {error}", path.display()), has_ours }
        }
    }
}

fn hooks(harness: &'static Harness, content: &[u8]) -> Result<Option<Registered>, PartError> {
    let Form::Hooks { shape, dialect, .. } = harness.registration.form else { return Ok(None) };
    let text = std::str::from_utf8(content).map_err(|error| PartError::NotUtf8(error.valid_up_to()))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let found = json::find(text, shape, &dialect, &|command| own::is_ours(harness, command))?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut registered = Registered::default();
    registered.programs.extend(found.iter().filter_map(|found| own::program_of(harness, &found.command)));
    // What `install` would do with the same program is what is wrong.
    let program = match registered.programs.first() {
        Some(program) if program != own::NAME => Program::at(Path::new(program))?,
        _ => Program::Bare,
    };
    let entries = own::entries(harness, &program)?;
    let is_entry = |command: &str| own::is_entry(harness, command);
    let changes = json::add(Some(text), shape, &dialect, &entries, &is_entry, None)?.changes;
    let (mut lacking, mut differing) = (Vec::new(), BTreeSet::new());
    for change in changes {
        match change {
            json::Change::Version => lacking.push("version".to_owned()),
            json::Change::Added { event } => lacking.push(event),
            json::Change::Rewritten { event } | json::Change::Removed { event } => {
                differing.insert(event);
            }
        }
    }
    if !lacking.is_empty() {
        registered.faults.push(format!("{} missing; `dogwatch install` adds it", lacking.join(", ")));
    }
    if !differing.is_empty() {
        let differing: Vec<String> = differing.into_iter().collect();
        registered.faults.push(format!(
            "{}: not as dogwatch writes it; `dogwatch install` puts it right",
            differing.join(", ")
        ));
    }
    for found in &found {
        if let Some(matcher) = found.matcher.as_deref().filter(|matcher| !["", "*"].contains(matcher)) {
            registered.faults.push(format!(
                "{}: only for the matcher {matcher:?}, so others never reach dogwatch; remove the matcher",
                found.event
            ));
        }
    }
    Ok(Some(registered))
}

/// Why a program cannot be called.
fn missing(program: &str) -> Option<String> {
    if program == own::NAME {
        let is_there = env::is_on_path(program);
        return (!is_there).then(|| "`dogwatch` is not on the PATH; install it there".to_owned());
    }
    let path = PathBuf::from(program);
    match path.metadata() {
        Ok(data) if data.is_file() && data.permissions().mode() & 0o111 != 0 => None,
        Ok(_) => Some(format!("{program} is no program; `dogwatch install` enters the one that you run")),
        Err(_) => Some(format!("{program} is not there; `dogwatch install` enters the one that you run")),
    }
}
