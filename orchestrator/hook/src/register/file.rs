//! A file of a person's that is edited: read as it is, replaced whole or not at all, and only if nobody else wrote in
//! between.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::path::{Path, PathBuf};

use nix::libc;

/// The most bytes of a file that we edit.
const LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// How the name of a file that is being written begins and ends.
const TEMPORARY: (&str, &str) = (".dogwatch-", ".tmp");
/// How a file of ours is made where there was none, before the umask.
const NEW_MODE: u32 = 0o666;

/// Why a file cannot be read or written. Every message begins with the path.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A folder, a FIFO, a device.
    #[error("{}: expected a regular file, found {found}; move it away", .path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A file, or a link that leads nowhere.
    #[error("{}: expected a folder, found something else; move it away", .0.display())]
    NotFolder(PathBuf),
    /// It leads nowhere.
    #[error("{}: a link that leads nowhere; make its target, or remove the link", .0.display())]
    DanglingLink(PathBuf),
    /// Nobody may write it.
    #[error("{}: read-only; allow writing (`chmod u+w`), or edit what it is made from", .0.display())]
    ReadOnly(PathBuf),
    /// It would become ours.
    #[error("{}: belongs to user {owner}; run this as that user", .path.display())]
    OfAnother {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// No configuration is that large.
    #[error("{}: larger than {} MiB, which no configuration is; look what is in it", .0.display(), LIMIT_BYTES / 1024 / 1024)]
    TooLarge(PathBuf),
    /// It changed between our look and our write, again and again.
    #[error("{}: changes all the time; close what writes it, then try again", .0.display())]
    Contended(PathBuf),
    /// The operating system said no.
    #[error("{}: cannot {what}: {}", .path.display(), reason(.source))]
    Os {
        /// What was being done.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// A file as it was at one moment.
#[derive(Debug)]
pub struct Snapshot {
    /// As it was asked for.
    path: PathBuf,
    /// With the links of its own name resolved: what is written.
    real: PathBuf,
    /// What it holds; `None` where there is none.
    pub content: Option<Vec<u8>>,
    data: Option<Metadata>,
}

/// What became of a write.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    /// The file is in place.
    Done,
    /// Somebody else wrote it meanwhile: nothing was done.
    Changed,
}

impl Snapshot {
    /// Reads a file; that there is none is no error.
    pub fn read(path: &Path) -> Result<Snapshot, FileError> {
        let os = |what, source| FileError::Os { what, path: path.to_owned(), source };
        match fs::symlink_metadata(path) {
            Err(error) if is_missing(&error) => {
                return Ok(Snapshot {
                    path: path.to_owned(),
                    real: path.to_owned(),
                    content: None,
                    data: None,
                });
            }
            Err(error) => return Err(os("look at it", error)),
            Ok(_) => {}
        }
        // A person's configuration may well be a link into a repository of theirs: the target is what is edited.
        let real = path.canonicalize().map_err(|error| {
            if is_missing(&error) {
                FileError::DanglingLink(path.to_owned())
            } else {
                os("follow the link", error)
            }
        })?;
        // O_NONBLOCK: a FIFO would wait for a writer.
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(&real)
            .map_err(|error| os("open it", error))?;
        let data = file.metadata().map_err(|error| os("look at it", error))?;
        if !data.is_file() {
            let found = if data.is_dir() { "a folder" } else { "something else" };
            return Err(FileError::NotRegular { path: path.to_owned(), found });
        }
        let mut content = Vec::new();
        file.take(LIMIT_BYTES + 1).read_to_end(&mut content).map_err(|error| os("read it", error))?;
        if content.len() as u64 > LIMIT_BYTES {
            return Err(FileError::TooLarge(path.to_owned()));
        }
        Ok(Snapshot { path: path.to_owned(), real, content: Some(content), data: Some(data) })
    }

    /// Whether the file could be written, told by its owner and mode: root may write what nobody should.
    pub fn check_writable(&self) -> Result<(), FileError> {
        let Some(data) = &self.data else { return Ok(()) };
        if data.permissions().mode() & 0o222 == 0 {
            return Err(FileError::ReadOnly(self.path.clone()));
        }
        let us = nix::unistd::geteuid();
        if data.uid() != us.as_raw() && !us.is_root() {
            return Err(FileError::OfAnother { path: self.path.clone(), owner: data.uid() });
        }
        Ok(())
    }

    /// How many of the folders above the file are not there.
    pub fn missing_folders(&self) -> usize {
        self.real.ancestors().skip(1).take_while(|folder| !folder.exists()).count()
    }

    /// Puts new content in its place, by a rename, if it still is as it was read. Owner and mode stay; missing folders are
    /// made.
    pub fn replace(&self, content: &[u8]) -> Result<Written, FileError> {
        self.check_writable()?;
        let folder = self.real.parent().unwrap_or(Path::new("/"));
        let missing = self.missing_folders();
        let written = make_folders(folder).and_then(|()| self.replace_in(folder, content));
        if !matches!(written, Ok(true)) {
            remove_folders(&self.real, missing);
        }
        Ok(if written? { Written::Done } else { Written::Changed })
    }

    fn replace_in(&self, folder: &Path, content: &[u8]) -> Result<bool, FileError> {
        let os = |what, source| FileError::Os { what, path: self.path.clone(), source };
        remove_abandoned(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY.0).suffix(TEMPORARY.1);
        if self.data.is_none() {
            // Of a file that is there the copy is nobody else's to read until it has the file's own mode.
            builder.permissions(fs::Permissions::from_mode(NEW_MODE));
        }
        let mut file = builder.tempfile_in(folder).map_err(|error| os("write beside it", error))?;
        file.write_all(content).map_err(|error| os("write beside it", error))?;
        // Root at work for somebody: what was theirs stays theirs, and what is new belongs to whom the folder belongs.
        let owner = match &self.data {
            Some(data) => Some((data.uid(), data.gid())),
            None => owner_for_root(folder),
        };
        if let Some((uid, gid)) = owner {
            if uid != nix::unistd::geteuid().as_raw() {
                fchown(file.as_file(), Some(uid), Some(gid)).map_err(|error| os("keep its owner", error))?;
            }
            // A group that we are not in cannot be kept.
            let _ = fchown(file.as_file(), None, Some(gid));
        }
        if let Some(data) = &self.data {
            file.as_file()
                .set_permissions(fs::Permissions::from_mode(data.permissions().mode() & 0o7777))
                .map_err(|error| os("keep its mode", error))?;
        }
        file.as_file().sync_all().map_err(|error| os("write beside it", error))?;
        if !self.is_unchanged()? {
            return Ok(false);
        }
        if self.data.is_some() {
            file.persist(&self.real).map_err(|error| os("replace it", error.error))?;
        } else if let Err(error) = file.persist_noclobber(&self.real) {
            return match error.error.kind() {
                io::ErrorKind::AlreadyExists => Ok(false),
                _ => Err(os("make it", error.error)),
            };
        }
        sync_folder(folder);
        Ok(true)
    }

    /// Removes the file, which is no link, if it still is as it was read; whether it did.
    pub fn remove(&self) -> Result<bool, FileError> {
        self.check_writable()?;
        if !self.is_unchanged()? {
            return Ok(false);
        }
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(true),
            Err(source) => Err(FileError::Os { what: "remove it", path: self.path.clone(), source }),
        }
    }

    /// Whether the file's name is a link.
    pub fn is_link(&self) -> bool {
        self.real != self.path && fs::symlink_metadata(&self.path).is_ok_and(|data| data.is_symlink())
    }

    fn is_unchanged(&self) -> Result<bool, FileError> {
        let now = match Snapshot::read(&self.path) {
            Err(FileError::DanglingLink(_)) => return Ok(false),
            other => other?,
        };
        Ok(now.real == self.real && now.content == self.content)
    }
}

/// Removes so many of the folders above a file, innermost first, as far as they are empty.
pub(super) fn remove_folders(file: &Path, most: usize) {
    for folder in file.ancestors().skip(1).take(most) {
        remove_abandoned(folder);
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Makes a folder and what is missing above it.
fn make_folders(folder: &Path) -> Result<(), FileError> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    for folder in missing.into_iter().rev() {
        match fs::create_dir(folder) {
            Ok(()) => {
                let above = folder.parent().and_then(owner_for_root);
                if let Some((uid, gid)) = above {
                    // A folder that cannot be given away is there all the same.
                    let _ = chown(folder, Some(uid), Some(gid));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error)
                if [io::ErrorKind::AlreadyExists, io::ErrorKind::NotADirectory].contains(&error.kind()) =>
            {
                return Err(FileError::NotFolder(folder.to_owned()));
            }
            Err(source) => {
                return Err(FileError::Os { what: "make the folder", path: folder.to_owned(), source });
            }
        }
    }
    Ok(())
}

/// Why the operating system refused, in words alone: the error of a temporary file wraps the system's, with a path that
/// nobody knows.
fn reason(error: &io::Error) -> String {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.source())
        .and_then(|inner| inner.downcast_ref::<io::Error>())
        .unwrap_or(error);
    match inner.raw_os_error() {
        Some(number) => nix::errno::Errno::from_raw(number).desc().to_lowercase(),
        None => crate::text::line(&inner.to_string()),
    }
}

/// Whom something new in a folder is to belong to, where root makes it.
fn owner_for_root(folder: &Path) -> Option<(u32, u32)> {
    let data = fs::metadata(folder).ok()?;
    (nix::unistd::geteuid().is_root() && data.uid() != 0).then(|| (data.uid(), data.gid()))
}

/// Removes what a killed run left beside the file: only one run of a person's is at work at a time.
fn remove_abandoned(folder: &Path) {
    let us = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours =
            name.to_str().is_some_and(|name| name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1));
        if is_ours && entry.metadata().is_ok_and(|data| data.is_file() && data.uid() == us) {
            // One that stays harms nobody.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// So that the rename outlasts a power cut. Where a folder cannot be synced, the file is there all the same.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rstest::rstest;
    use tempfile::TempDir;

    use super::*;

    fn file(content: &str) -> (TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().canonicalize().unwrap().join("settings.json");
        fs::write(&path, content).unwrap();
        (scratch, path)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_keeps_its_mode_and_leaves_nothing_beside_it() {
        let (scratch, path) = file("old");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let snapshot = Snapshot::read(&path).unwrap();
        assert_eq!(snapshot.replace(b"new").unwrap(), Written::Done);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
        assert_eq!(names(scratch.path()), ["settings.json"]);
    }

    #[test]
    fn what_a_killed_run_left_goes_with_the_next() {
        let (scratch, path) = file("old");
        fs::write(scratch.path().join(".dogwatch-x1.tmp"), "part").unwrap();
        fs::write(scratch.path().join(".dogwatch-home"), "theirs").unwrap();
        Snapshot::read(&path).unwrap().replace(b"new").unwrap();
        assert_eq!(names(scratch.path()), [".dogwatch-home", "settings.json"]);
    }

    #[test]
    fn what_root_makes_for_somebody_is_theirs() {
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        let (scratch, _) = file("");
        let folder = scratch.path().join("theirs");
        fs::create_dir(&folder).unwrap();
        chown(&folder, Some(65_534), Some(65_534)).unwrap();
        let path = folder.join("a/b.json");
        Snapshot::read(&path).unwrap().replace(b"new").unwrap();
        for path in [path.as_path(), path.parent().unwrap()] {
            assert_eq!(fs::metadata(path).unwrap().uid(), 65_534);
        }
    }

    #[test]
    fn what_somebody_else_wrote_meanwhile_stays() {
        let (scratch, path) = file("old");
        let snapshot = Snapshot::read(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert_eq!(snapshot.replace(b"ours").unwrap(), Written::Changed);
        assert!(!snapshot.remove().unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(scratch.path()), ["settings.json"]);
    }

    #[test]
    fn what_appeared_meanwhile_stays() {
        let (_scratch, path) = file("");
        fs::remove_file(&path).unwrap();
        let snapshot = Snapshot::read(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert_eq!(snapshot.replace(b"ours").unwrap(), Written::Changed);
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }

    #[test]
    fn folders_are_made_and_can_be_removed() {
        let (scratch, path) = file("");
        let folder = scratch.path().canonicalize().unwrap();
        let deep = folder.join("a/b/c.json");
        let snapshot = Snapshot::read(&deep).unwrap();
        assert_eq!(snapshot.content, None);
        assert_eq!(snapshot.missing_folders(), 2);
        assert_eq!(snapshot.replace(b"x").unwrap(), Written::Done);
        fs::remove_file(&deep).unwrap();
        fs::write(folder.join("a/theirs"), "").unwrap();
        remove_folders(&deep, 2);
        assert_eq!(names(&folder.join("a")), ["theirs"], "a folder that others use stays");
        drop(path);
    }

    #[test]
    fn a_link_stays_one() {
        let (scratch, path) = file("old");
        let link = scratch.path().join("link.json");
        symlink(&path, &link).unwrap();
        let snapshot = Snapshot::read(&link).unwrap();
        assert!(snapshot.is_link());
        snapshot.replace(b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[rstest]
    #[case::folder("a folder")]
    #[case::fifo("something else")]
    fn what_is_no_file_is_named(#[case] found: &str) {
        let (scratch, _) = file("");
        let path = scratch.path().join("odd");
        if found == "a folder" {
            fs::create_dir(&path).unwrap();
        } else {
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
        let error = Snapshot::read(&path).unwrap_err().to_string();
        assert!(error.ends_with(&format!("expected a regular file, found {found}; move it away")), "{error}");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_named() {
        let (scratch, _) = file("");
        let path = scratch.path().join("link");
        symlink("nowhere", &path).unwrap();
        assert!(matches!(Snapshot::read(&path), Err(FileError::DanglingLink(_))));
    }

    #[test]
    fn a_file_that_nobody_may_write_is_left_alone() {
        let (_scratch, path) = file("old");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let error = Snapshot::read(&path).unwrap().replace(b"new").unwrap_err();
        assert!(matches!(error, FileError::ReadOnly(_)), "also as root: {error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}
