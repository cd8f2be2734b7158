//! The project and the home in which a case is tried: what was named, empty ones, or copies that may be spoilt.

use std::path::{Path, PathBuf};

use super::Torture;

/// A project and a home.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The folder that both are in, where they are made up.
    pub(super) top: PathBuf,
    pub(super) project: PathBuf,
    pub(super) home: PathBuf,
}

impl Place {
    /// What was named, and empty folders for what was not.
    pub(super) fn of(torture: &Torture, scratch: &Path, name: &str) -> std::io::Result<Self> {
        let empty = Self::empty(scratch, name)?;
        Ok(Self {
            project: torture.project.clone().unwrap_or(empty.project),
            home: torture.home.clone().unwrap_or(empty.home),
            top: empty.top,
        })
    }

    fn empty(scratch: &Path, name: &str) -> std::io::Result<Self> {
        let top = scratch.join(name);
        let (project, home) = (top.join("project"), top.join("home"));
        std::fs::create_dir_all(&project)?;
        std::fs::create_dir_all(&home)?;
        Ok(Self { top, project, home })
    }

    /// Copies of what was named, which may be spoilt.
    pub(super) fn copy(torture: &Torture, scratch: &Path, name: &str) -> std::io::Result<Self> {
        let place = Self::empty(scratch, name)?;
        for (from, to) in [(&torture.project, &place.project), (&torture.home, &place.home)] {
            if let Some(from) = from {
                crate::launch::copy_folder(from, to)?;
            }
        }
        Ok(place)
    }
}
