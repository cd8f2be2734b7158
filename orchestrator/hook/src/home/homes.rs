//! `$XDG_STATE_HOME/dogwatch/homes`: where a home was ever known, and which state folders git was seen not to track.
//!
//! One line each, appended, later lines win:
//!
//! ```text
//! /real/path/of/a/root
//! /real/path/of/its/git/common/dir
//! untracked <device>:<inode>  /real/path/of/a/root
//! tracked <device>:<inode>  /real/path/of/a/root
//! ```
//!
//! The numbers are those of `state/`: a folder that a checkout put in its place has others, and counts as not looked at.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::state::{Folder, StateError};

/// The name of the file.
pub const FILE_NAME: &str = "homes";
/// The most bytes that are read of it: tens of thousands of homes.
const LIMIT_BYTES: u64 = 4 * 1024 * 1024;

/// What is noted of git and a state folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracking {
    /// Git does not track it: what is in it is ours.
    Untracked,
    /// Git tracks something in it: it counts as one that cannot be written.
    Tracked,
    /// This very folder was never looked at.
    Unknown,
}

/// The record of known homes.
#[derive(Debug, Clone)]
pub struct Homes {
    folder: PathBuf,
}

impl Homes {
    /// The record in dogwatch's own folder (`$XDG_STATE_HOME/dogwatch`), which need not exist.
    pub fn new(state_folder: &Path) -> Homes {
        Homes { folder: state_folder.to_owned() }
    }

    /// Notes that there is a home in this root, which git's common dir belongs to it; only what is not there yet. A
    /// path with a line break is passed over.
    pub fn remember(&self, root: &Path, common_dir: Option<&Path>) -> Result<(), StateError> {
        let folder = Folder::private(&self.folder)?;
        let record = folder.read(FILE_NAME, LIMIT_BYTES)?.unwrap_or_default();
        let known: HashSet<&[u8]> = lines(&record).collect();
        let mut added = Vec::new();
        for path in [Some(root), common_dir].into_iter().flatten().map(real) {
            let path = path.as_os_str().as_bytes();
            if is_line(path) && !known.contains(path) {
                added.extend_from_slice(path);
                added.push(b'\n');
            }
        }
        append(&folder, &record, added)
    }

    /// Whether a home was ever known here: at the path, at a folder above it, or in that git repository.
    ///
    /// # Errors
    /// Where the record cannot be read; whoever guards then goes by "it was".
    pub fn knows(&self, start: &Path, common_dir: Option<&Path>) -> Result<bool, StateError> {
        let Some(record) = self.read()? else { return Ok(false) };
        let known: HashSet<&[u8]> = lines(&record).filter(|line| line.first() == Some(&b'/')).collect();
        let start = real(start);
        let is_known = |path: &Path| known.contains(path.as_os_str().as_bytes());
        Ok(start.ancestors().any(is_known) || common_dir.map(real).is_some_and(|path| is_known(&path)))
    }

    /// What is noted of git and the state folder of this root, which is the one that is open.
    pub fn tracking(&self, root: &Path, state: &Folder) -> Tracking {
        let (Ok(stat), Ok(Some(record))) = (state.stat(), self.read()) else { return Tracking::Unknown };
        let tail = tail(stat.st_dev, stat.st_ino, &real(root));
        lines(&record)
            .filter_map(|line| {
                let word = line.strip_suffix(tail.as_slice())?;
                match word {
                    b"untracked" => Some(Tracking::Untracked),
                    b"tracked" => Some(Tracking::Tracked),
                    _ => None,
                }
            })
            .next_back()
            .unwrap_or(Tracking::Unknown)
    }

    /// Notes whether git tracks anything in the open state folder of this root, if that is not what is noted.
    pub fn note_tracking(&self, root: &Path, state: &Folder, is_tracked: bool) -> Result<(), StateError> {
        let (noted, word) =
            if is_tracked { (Tracking::Tracked, "tracked") } else { (Tracking::Untracked, "untracked") };
        let root = real(root);
        if self.tracking(&root, state) == noted || !is_line(root.as_os_str().as_bytes()) {
            return Ok(());
        }
        let stat = state.stat()?;
        let folder = Folder::private(&self.folder)?;
        let record = folder.read(FILE_NAME, LIMIT_BYTES)?.unwrap_or_default();
        let line = [word.as_bytes(), &tail(stat.st_dev, stat.st_ino, &root), b"\n"].concat();
        append(&folder, &record, line)
    }

    fn read(&self) -> Result<Option<Vec<u8>>, StateError> {
        match Folder::open_private(&self.folder)? {
            Some(folder) => folder.read(FILE_NAME, LIMIT_BYTES),
            None => Ok(None),
        }
    }
}

/// What follows the word in a line on tracking.
fn tail(device: u64, inode: u64, root: &Path) -> Vec<u8> {
    [format!(" {device}:{inode}  ").as_bytes(), root.as_os_str().as_bytes()].concat()
}

fn append(folder: &Folder, record: &[u8], mut added: Vec<u8>) -> Result<(), StateError> {
    if added.is_empty() {
        return Ok(());
    }
    if record.last().is_some_and(|last| *last != b'\n') {
        added.insert(0, b'\n');
    }
    folder.append(FILE_NAME, &added)
}

fn lines(record: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    record.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

fn is_line(path: &[u8]) -> bool {
    path.first() == Some(&b'/') && !path.contains(&b'\n')
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::root::HOME;
    use super::*;

    struct Scratch {
        _folder: tempfile::TempDir,
        path: PathBuf,
        homes: Homes,
    }

    fn scratch() -> Scratch {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        fs::create_dir_all(path.join("root/below")).unwrap();
        fs::create_dir_all(path.join("git")).unwrap();
        let homes = Homes::new(&path.join("state/dogwatch"));
        Scratch { _folder: folder, path, homes }
    }

    impl Scratch {
        fn root(&self) -> PathBuf {
            self.path.join("root")
        }

        fn state(&self) -> Folder {
            fs::create_dir_all(self.root().join(HOME)).unwrap();
            Folder::state_of(&self.root().join(HOME)).unwrap()
        }

        fn record(&self) -> String {
            fs::read_to_string(self.path.join("state/dogwatch/homes")).unwrap()
        }

        fn knows(&self, path: &Path) -> bool {
            self.homes.knows(path, None).unwrap()
        }
    }

    #[test]
    fn a_home_is_known_from_below_and_by_its_repository_and_not_from_above() {
        let desk = scratch();
        assert!(!desk.knows(&desk.root()));
        desk.homes.remember(&desk.root(), Some(&desk.path.join("git"))).unwrap();
        assert!(desk.knows(&desk.root()) && desk.knows(&desk.root().join("below")));
        assert!(desk.knows(&desk.root().join("not/there/yet")));
        assert!(!desk.knows(&desk.path));
        assert!(!desk.knows(&desk.path.join("root2")));
        assert!(desk.homes.knows(&desk.path, Some(&desk.path.join("git"))).unwrap());
        assert!(!desk.homes.knows(&desk.path, Some(&desk.path.join("other"))).unwrap());
    }

    #[test]
    fn what_is_there_is_not_added_again() {
        let desk = scratch();
        for _ in 0..3 {
            desk.homes.remember(&desk.root(), Some(&desk.path.join("git"))).unwrap();
        }
        assert_eq!(desk.record(), format!("{0}/root\n{0}/git\n", desk.path.display()));
    }

    #[test]
    fn paths_are_real_paths() {
        let desk = scratch();
        symlink(desk.root(), desk.path.join("link")).unwrap();
        desk.homes.remember(&desk.path.join("link"), None).unwrap();
        assert_eq!(desk.record(), format!("{}/root\n", desk.path.display()));
        assert!(desk.knows(&desk.path.join("link/below")));
    }

    #[test]
    fn a_provisioned_record_without_a_last_line_break_is_added_to() {
        let desk = scratch();
        fs::create_dir_all(desk.path.join("state/dogwatch")).unwrap();
        fs::write(desk.path.join("state/dogwatch/homes"), "\n# ours\n/provisioned").unwrap();
        desk.homes.remember(&desk.root(), None).unwrap();
        assert!(desk.knows(Path::new("/provisioned/x")) && desk.knows(&desk.root()));
    }

    #[test]
    fn a_path_with_a_line_break_adds_no_lines() {
        let desk = scratch();
        let tricky = desk.path.join("x\n/etc");
        fs::create_dir_all(&tricky).unwrap();
        desk.homes.remember(&tricky, None).unwrap();
        assert!(!desk.knows(Path::new("/etc")));
    }

    #[test]
    fn a_record_that_cannot_be_read_is_an_error() {
        let desk = scratch();
        fs::create_dir_all(desk.path.join("state/dogwatch/homes")).unwrap();
        assert!(desk.homes.knows(&desk.root(), None).is_err());
        assert!(desk.homes.remember(&desk.root(), None).is_err());
        assert_eq!(desk.homes.tracking(&desk.root(), &desk.state()), Tracking::Unknown);
    }

    #[test]
    fn tracking_is_of_that_very_folder() {
        let desk = scratch();
        let state = desk.state();
        assert_eq!(desk.homes.tracking(&desk.root(), &state), Tracking::Unknown);
        for _ in 0..2 {
            desk.homes.note_tracking(&desk.root(), &state, false).unwrap();
            assert_eq!(desk.homes.tracking(&desk.root(), &state), Tracking::Untracked);
        }
        assert_eq!(desk.record().lines().count(), 1);
        assert!(!desk.knows(&desk.root()), "that is another matter");
        // As a checkout of a branch with a committed `state/` does. The old one stays, or its inode might be given out
        // again.
        fs::rename(state.path(), desk.path.join("old")).unwrap();
        let other = desk.state();
        assert_eq!(desk.homes.tracking(&desk.root(), &other), Tracking::Unknown);
        desk.homes.note_tracking(&desk.root(), &other, true).unwrap();
        assert_eq!(desk.homes.tracking(&desk.root(), &other), Tracking::Tracked);
        assert_eq!(desk.homes.tracking(&desk.path, &other), Tracking::Unknown, "another root");
        desk.homes.note_tracking(&desk.root(), &other, false).unwrap();
        assert_eq!(desk.homes.tracking(&desk.root(), &other), Tracking::Untracked);
    }
}
