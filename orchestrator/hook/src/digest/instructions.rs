//! The stage `instructions`: a session whose context may carry instruction files as they once were is given those that
//! have changed since, whole.

use std::path::{Path, PathBuf};

use crate::home::read;
use crate::text::{clean, line};

/// How much of one file is given.
const LIMIT_BYTES: u64 = 256 * 1024;

/// The current text of instruction files that have drifted, named from the root. `None` if none has.
pub fn text(root: &Path, drifted: &[PathBuf]) -> Option<String> {
    let mut text = String::new();
    for file in drifted {
        let name = line(&file.to_string_lossy());
        match read::text(&root.join(file), LIMIT_BYTES) {
            Ok(content) => {
                let content = clean(&content);
                text.extend([
                    &name,
                    " has changed since this session read it. It now says, and this counts:\n\n",
                    content.trim_end(),
                    "\n\n",
                ]);
            }
            Err(read::ReadError::Missing) => {
                text.extend([&name, " is gone since this session read it; what it said counts no more.\n\n"]);
            }
            Err(error) => {
                let why = error.to_string();
                text.extend([
                    &name,
                    " has changed since this session read it and cannot be read now: ",
                    &why,
                    ".\n\n",
                ]);
            }
        }
    }
    (!text.is_empty()).then(|| text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_there_whole_and_a_missing_one_is_named() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("AGENTS.md"), "Be brief.\u{1b}[31m\n").unwrap();
        let text = text(root.path(), &["AGENTS.md".into(), "CLAUDE.md".into()]).unwrap();
        assert_eq!(
            text,
            "AGENTS.md has changed since this session read it. It now says, and this counts:\n\nBe brief.\n\n\
             CLAUDE.md is gone since this session read it; what it said counts no more."
        );
    }

    #[test]
    fn without_drift_there_is_nothing_to_say() {
        assert_eq!(text(Path::new("/"), &[]), None);
    }
}
