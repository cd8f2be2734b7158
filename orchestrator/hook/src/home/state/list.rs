//! What lies in a private folder: a bounded look at its names, and what a killed writer left behind.

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::{FILE_FLAGS, FILE_MODE, FOLDER_FLAGS, Folder, StateError, not_opened};

/// The age from which a temporary file is one that its writer left behind.
const ABANDONED_SECONDS: i64 = 60 * 60;
/// The most names that a clean-up looks at.
const MOST_NAMES: usize = 4096;

/// A file of a private folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// When it was last written, in seconds since the epoch.
    pub modified_seconds: i64,
}

impl Folder {
    /// Opens a folder in this one if it is there.
    pub fn open_sub(&self, name: &str) -> Result<Option<Folder>, StateError> {
        self.check(name)?;
        let path = self.path.join(name);
        match openat(&self.descriptor, name, FOLDER_FLAGS, Mode::empty()) {
            Ok(descriptor) => Ok(Some(Self::ours(descriptor, path)?)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(not_opened(&path, errno)),
        }
    }

    /// What the operating system says of what has that name, without following a link; `None` if nothing has.
    pub fn look(&self, name: &str) -> Result<Option<FileStat>, StateError> {
        self.check(name)?;
        match fstatat(&self.descriptor, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(self.os("look at", name, errno)),
        }
    }

    /// Makes an empty file; `false` if something has the name already. Of many at once exactly one makes it.
    pub fn create_new(&self, name: &str) -> Result<bool, StateError> {
        self.check(name)?;
        let flags = FILE_FLAGS | OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        match openat(&self.descriptor, name, flags, FILE_MODE) {
            Ok(_) => Ok(true),
            Err(Errno::EEXIST) => Ok(false),
            Err(errno) => Err(self.os("make", name, errno)),
        }
    }

    /// The regular files here, in no order, from the first `most` names that the operating system tells.
    pub fn files(&self, most: usize) -> Result<Vec<Entry>, StateError> {
        let mut files = Vec::new();
        self.each_name(most, |name| {
            if self.check(name).is_err() {
                return;
            }
            if let Ok(Some(stat)) = self.look(name)
                && is_regular(&stat)
            {
                files.push(Entry { name: name.to_owned(), modified_seconds: stat.st_mtime });
            }
        })?;
        Ok(files)
    }

    /// Removes temporary files that a killed writer left an hour or longer ago, at most `most` of them; how many.
    pub fn remove_abandoned(&self, now_seconds: i64, most: usize) -> Result<usize, StateError> {
        let mut abandoned = Vec::new();
        self.each_name(MOST_NAMES, |name| {
            if !is_temporary(name) || abandoned.len() >= most {
                return;
            }
            if let Ok(stat) = fstatat(&self.descriptor, name, AtFlags::AT_SYMLINK_NOFOLLOW)
                && is_regular(&stat)
                && now_seconds.saturating_sub(stat.st_mtime) >= ABANDONED_SECONDS
            {
                abandoned.push(name.to_owned());
            }
        })?;
        let is_removed =
            |name: &&String| unlinkat(&self.descriptor, name.as_str(), UnlinkatFlags::NoRemoveDir).is_ok();
        Ok(abandoned.iter().filter(is_removed).count())
    }

    fn each_name(&self, most: usize, mut each: impl FnMut(&str)) -> Result<(), StateError> {
        let failed = |errno| self.os("list", "", errno);
        let mut folder = Dir::openat(&self.descriptor, ".", FOLDER_FLAGS, Mode::empty()).map_err(failed)?;
        // `.` and `..` are told as well.
        for entry in folder.iter().take(most.saturating_add(2)) {
            if let Ok(name) = entry.map_err(failed)?.file_name().to_str() {
                each(name);
            }
        }
        Ok(())
    }
}

/// Whether it is a regular file.
pub(in crate::home) fn is_regular(stat: &FileStat) -> bool {
    SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) == SFlag::S_IFREG
}

/// `.<name>.<pid>-<nanoseconds>-<count>`, as a writer makes them; no other hidden file is ours.
fn is_temporary(name: &str) -> bool {
    let Some((_, tail)) = name.strip_prefix('.').and_then(|rest| rest.rsplit_once('.')) else { return false };
    let parts: Vec<&str> = tail.split('-').collect();
    parts.len() == 3
        && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn home() -> (tempfile::TempDir, Folder) {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        (home, state)
    }

    #[test]
    fn only_regular_files_with_names_of_ours_are_told() {
        let (_home, state) = home();
        state.write_atomic("a.json", b"").unwrap();
        fs::create_dir(state.path().join("folder")).unwrap();
        fs::write(state.path().join(".hidden"), "").unwrap();
        fs::write(state.path().join("with blank"), "").unwrap();
        symlink("a.json", state.path().join("link")).unwrap();
        let names: Vec<String> = state.files(100).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["a.json"]);
    }

    #[test]
    fn a_look_at_the_names_is_bounded() {
        let (_home, state) = home();
        for number in 0..20 {
            state.write_atomic(&number.to_string(), b"").unwrap();
        }
        assert!(state.files(5).unwrap().len() <= 7);
        assert_eq!(state.files(100).unwrap().len(), 20);
    }

    #[test]
    fn a_file_is_made_once() {
        let (_home, state) = home();
        assert!(state.create_new("a").unwrap());
        assert!(!state.create_new("a").unwrap());
        symlink("nowhere", state.path().join("link")).unwrap();
        assert!(!state.create_new("link").unwrap());
        assert!(!state.path().join("nowhere").exists());
    }

    #[test]
    fn temporary_files_of_killed_writers_go_and_nothing_else() {
        let (_home, state) = home();
        let temporary = state.create_temporary("helm.json").unwrap().0;
        for other in [".gitignore", ".a.b", "..x", ".a.1-2", "a.1-2-3"] {
            fs::write(state.path().join(other), "").unwrap();
        }
        let now = jiff::Timestamp::now().as_second();
        assert_eq!(state.remove_abandoned(now, 10).unwrap(), 0, "a writer may still be at it");
        assert_eq!(state.remove_abandoned(now + ABANDONED_SECONDS + 5, 10).unwrap(), 1);
        assert!(!state.path().join(temporary).exists());
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 5);
    }

    #[test]
    fn a_folder_is_opened_only_if_it_is_there() {
        let (_home, state) = home();
        assert!(state.open_sub("a").unwrap().is_none());
        state.sub("a").unwrap();
        assert!(state.open_sub("a").unwrap().is_some());
        symlink("a", state.path().join("link")).unwrap();
        assert!(matches!(state.open_sub("link"), Err(StateError::NotFolder(_))));
    }
}
