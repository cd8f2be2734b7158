//! Where the files are: those of a person, and those of a project.

use std::path::{Path, PathBuf};

use crate::harness::Harness;
use crate::harness::registration::UserFolder;

/// Whose files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The person's: for them, everywhere.
    User,
    /// The project's: committed, for everybody.
    Project,
}

/// What the places depend on.
#[derive(Debug, Clone)]
pub struct Places<'a> {
    /// The person's home folder.
    pub home_folder: Option<&'a Path>,
    /// The project's root.
    pub project: Option<&'a Path>,
    /// A folder that a variable names.
    pub variable: fn(&str) -> Option<PathBuf>,
}

impl Places<'_> {
    /// The folder where a harness keeps a person's files; `None` where no home folder is known.
    pub fn user_folder(&self, harness: &Harness) -> Option<PathBuf> {
        let UserFolder { variables, default } = harness.registration.user;
        let moved = variables.iter().find_map(|(name, below)| {
            // Joined only if there is something to join: a trailing slash would stand in every message.
            (self.variable)(name).map(|folder| if below.is_empty() { folder } else { folder.join(below) })
        });
        moved.or_else(|| Some(self.home_folder?.join(default)))
    }

    /// The file that our part stands in.
    pub fn registration(&self, harness: &Harness, scope: Scope) -> Option<PathBuf> {
        match scope {
            Scope::User => Some(self.user_folder(harness)?.join(harness.registration.user_file)),
            Scope::Project => Some(self.project?.join(harness.registration.project_file)),
        }
    }

    /// The file of instructions of that scope: of a project there is one for all harnesses.
    pub fn instructions(&self, harness: &Harness, scope: Scope) -> Option<PathBuf> {
        match scope {
            Scope::User => {
                let name = harness.registration.instructions?;
                let moved = harness.registration.instructions_variable.and_then(self.variable);
                Some(moved.or_else(|| self.user_folder(harness))?.join(name))
            }
            Scope::Project => Some(self.project?.join("AGENTS.md")),
        }
    }
}
