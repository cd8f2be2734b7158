//! The place of a scenario: a project and a home that are made for it, and the values that its texts name.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::{File, Folder, Scenario};

/// Where a scenario takes place. Made folders are gone with it.
pub(super) struct Place {
    _scratch: TempDir,
    pub(super) project: PathBuf,
    pub(super) home: PathBuf,
    values: Vec<(String, String)>,
}

impl Place {
    /// Makes what has to be made, within `scratch`. `project` and `home` count where the scenario says nothing.
    pub(super) fn make(
        scenario: &Scenario,
        scratch: &Path,
        project: &Path,
        home: Option<&Path>,
    ) -> io::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("scenario-").tempdir_in(scratch)?;
        // A hook that asks for its folder gets the real path.
        let top = scratch.path().canonicalize()?;
        let folder = |of: &Folder, name: &str, given: Option<&Path>| match (of, given) {
            (Folder::At(path), _) => path.canonicalize(),
            (Folder::Given, Some(given)) => Ok(given.to_owned()),
            _ => {
                let made = top.join(name);
                fs::create_dir(&made)?;
                Ok(made)
            }
        };
        let project = folder(&scenario.project, "project", Some(project))?;
        let home = folder(&scenario.home, "home", home)?;
        let mut values = vec![
            ("project".to_owned(), project.to_string_lossy().into_owned()),
            ("home".to_owned(), home.to_string_lossy().into_owned()),
        ];
        values.extend(scenario.defined.clone());
        let place = Self { _scratch: scratch, project, home, values };
        for (of, folder) in [(&scenario.project, &place.project), (&scenario.home, &place.home)] {
            if let Folder::Made(files) = of {
                files.iter().try_for_each(|file| place.write(folder, file))?;
            }
        }
        Ok(place)
    }

    fn write(&self, folder: &Path, file: &File) -> io::Result<()> {
        let path = folder.join(&file.path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        let mut opened = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path)?;
        opened.write_all(self.fill(&file.text).as_bytes())?;
        if let Some(mode) = file.mode {
            opened.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    /// Puts the values in: `{name}` for every name that has one. `${name}` is a shell's, and stays.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let value = self.values.iter().find_map(|(name, value)| {
                let tail = after.strip_prefix(name.as_str())?.strip_prefix('}')?;
                (!out.ends_with('$')).then_some((value, tail))
            });
            if let Some((value, tail)) = value {
                out.push_str(value);
                rest = tail;
            } else {
                out.push('{');
                rest = after;
            }
        }
        out.push_str(rest);
        out
    }

    /// The same in every text of a value.
    pub(super) fn fill_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.fill(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.fill_value(item)),
            Value::Object(map) => map.values_mut().for_each(|value| self.fill_value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_value_are_replaced_and_a_shells_stay() {
        let place = Place {
            _scratch: tempfile::tempdir().unwrap(),
            project: PathBuf::new(),
            home: PathBuf::new(),
            values: vec![
                ("project".to_owned(), "/p".to_owned()),
                ("tool".to_owned(), "/t {project}".to_owned()),
            ],
        };
        assert_eq!(place.fill("{project}/x {tool}"), "/p/x /t {project}");
        assert_eq!(
            place.fill("${project} {} {\"project\"} {projects} {{project}}"),
            "${project} {} {\"project\"} {projects} {/p}"
        );
    }
}
