//! `state/baseline.json`: what the instruction files held when the session that has the helm started, so that one whose
//! instructions went stale can be told.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::helm::{HelmIdentity, Holder, Me};
use super::read::{self, ReadError};
use super::state::{Folder, StateError};
use super::stored;
use super::trust::hex;

/// The name of the file.
pub const FILE_NAME: &str = "baseline.json";
/// The files that harnesses load as instructions, from the root. Folders of rules are not among them, nor are files of
/// the person that lie outside of the project.
pub const INSTRUCTION_FILES: [&str; 7] = [
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
];
/// A larger file is told by its length alone.
const FILE_LIMIT_BYTES: u64 = 1024 * 1024;
const LIMIT_BYTES: u64 = 64 * 1024;

#[derive(Serialize, Deserialize)]
struct Baseline {
    helm: HelmIdentity,
    /// SHA-256 in hex by path from the root; a file that is not there has no entry.
    files: BTreeMap<String, String>,
}

/// Keeps what the instruction files hold now, for the session that has the helm.
pub fn write(state: &Folder, root: &Path, holder: &Holder) -> Result<(), StateError> {
    stored::write(state, FILE_NAME, &Baseline { helm: holder.identity(), files: hashes(root) })
}

/// The instruction files, from the root, that were changed, added or removed since this session kept the baseline. None
/// if it kept none.
pub fn drift(state: &Folder, root: &Path, me: &Me) -> Vec<PathBuf> {
    let baseline = stored::read::<Baseline>(state, FILE_NAME, LIMIT_BYTES).ok().and_then(stored::Stored::row);
    let Some(baseline) = baseline.filter(|baseline| me.identity().as_ref() == Some(&baseline.helm)) else {
        return Vec::new();
    };
    let now = hashes(root);
    INSTRUCTION_FILES
        .into_iter()
        .filter(|file| baseline.files.get(*file) != now.get(*file))
        .map(PathBuf::from)
        .collect()
}

fn hashes(root: &Path) -> BTreeMap<String, String> {
    INSTRUCTION_FILES
        .into_iter()
        .filter_map(|file| Some((file.to_owned(), fingerprint(&root.join(file))?)))
        .collect()
}

/// `None` if there is no such file. A link counts by where it leads: mostly to another one of the list.
fn fingerprint(path: &Path) -> Option<String> {
    match read::bytes(path, FILE_LIMIT_BYTES) {
        Ok(bytes) => Some(hash(&bytes)),
        Err(ReadError::Missing) => None,
        Err(ReadError::TooLarge { .. }) => {
            Some(format!("{} bytes", fs::symlink_metadata(path).map_or(0, |data| data.len())))
        }
        Err(_) => Some(match fs::read_link(path) {
            Ok(target) => format!("link {}", hash(target.as_os_str().as_bytes())),
            Err(_) => "unreadable".to_owned(),
        }),
    }
}

fn hash(bytes: &[u8]) -> String {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    hex(&digest)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use dogwatch_engine::process::Identity;
    use jiff::Timestamp;
    use nix::sys::stat::Mode;

    use super::super::helm::{Claim, acquire};
    use super::*;

    struct Scratch {
        _folder: tempfile::TempDir,
        root: PathBuf,
        state: Folder,
        me: Me,
        holder: Holder,
    }

    fn scratch() -> Scratch {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join(".claude")).unwrap();
        let state = Folder::state_of(folder.path()).unwrap();
        let me = Me {
            process: Some(Identity::current().unwrap()),
            harness: "pi".to_owned(),
            session: Some("s".to_owned()),
            shared_process: false,
        };
        let Claim::Taken { holder, .. } = acquire(&state, &me, Timestamp::now()) else { panic!() };
        Scratch { _folder: folder, root, state, me, holder }
    }

    impl Scratch {
        fn drift(&self) -> Vec<PathBuf> {
            drift(&self.state, &self.root, &self.me)
        }
    }

    #[test]
    fn files_that_changed_came_or_went_are_told() {
        let desk = scratch();
        fs::write(desk.root.join("AGENTS.md"), "one").unwrap();
        fs::write(desk.root.join("GEMINI.md"), "one").unwrap();
        fs::write(desk.root.join("CLAUDE.md"), "one").unwrap();
        write(&desk.state, &desk.root, &desk.holder).unwrap();
        assert_eq!(desk.drift(), [""; 0].map(PathBuf::from));
        fs::write(desk.root.join("AGENTS.md"), "two").unwrap();
        fs::remove_file(desk.root.join("GEMINI.md")).unwrap();
        fs::write(desk.root.join(".claude/CLAUDE.md"), "").unwrap();
        assert_eq!(desk.drift(), ["AGENTS.md", ".claude/CLAUDE.md", "GEMINI.md"].map(PathBuf::from));
        fs::write(desk.root.join("AGENTS.md"), "one").unwrap();
        assert_eq!(desk.drift(), [".claude/CLAUDE.md", "GEMINI.md"].map(PathBuf::from));
    }

    #[test]
    fn without_a_baseline_of_this_session_there_is_no_drift() {
        let desk = scratch();
        fs::write(desk.root.join("AGENTS.md"), "one").unwrap();
        assert!(desk.drift().is_empty());
        let process = Identity { start_time: 1, ..desk.holder.process.clone() };
        write(&desk.state, &desk.root, &Holder { process, ..desk.holder.clone() }).unwrap();
        fs::write(desk.root.join("AGENTS.md"), "two").unwrap();
        assert!(desk.drift().is_empty(), "the baseline of another one");
        fs::write(desk.state.path().join(FILE_NAME), "{").unwrap();
        assert!(desk.drift().is_empty(), "garbage");
    }

    #[test]
    fn a_link_counts_by_where_it_leads() {
        let desk = scratch();
        symlink("AGENTS.md", desk.root.join("CLAUDE.md")).unwrap();
        write(&desk.state, &desk.root, &desk.holder).unwrap();
        fs::write(desk.root.join("AGENTS.md"), "two").unwrap();
        assert_eq!(desk.drift(), [PathBuf::from("AGENTS.md")]);
        fs::remove_file(desk.root.join("CLAUDE.md")).unwrap();
        symlink("README.md", desk.root.join("CLAUDE.md")).unwrap();
        assert_eq!(desk.drift(), ["AGENTS.md", "CLAUDE.md"].map(PathBuf::from));
    }

    #[test]
    fn odd_files_are_neither_waited_for_nor_a_drift_of_their_own() {
        let desk = scratch();
        nix::unistd::mkfifo(&desk.root.join("AGENTS.md"), Mode::S_IRWXU).unwrap();
        fs::create_dir(desk.root.join("GEMINI.md")).unwrap();
        fs::write(desk.root.join("CLAUDE.md"), vec![b'x'; 2 << 20]).unwrap();
        write(&desk.state, &desk.root, &desk.holder).unwrap();
        assert!(desk.drift().is_empty());
        fs::write(desk.root.join("CLAUDE.md"), vec![b'x'; 3 << 20]).unwrap();
        assert_eq!(desk.drift(), [PathBuf::from("CLAUDE.md")]);
    }
}
