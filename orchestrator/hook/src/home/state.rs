//! Private folders: a home's `state/` and dogwatch's own folder below `$XDG_STATE_HOME`.
//!
//! A private folder is opened once, without following a link, must belong to us, and has mode 0700. Everything in it
//! goes through that descriptor: no link is followed, only regular files (mode 0600) are read and written, nothing
//! waits. So nothing that a repository brought along can make us read or write elsewhere.

use std::fs::{DirBuilder, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, renameat};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat, mkdirat};
use nix::unistd::{Uid, UnlinkatFlags, geteuid, unlinkat};

mod list;
mod lock;

pub use list::Entry;
pub(in crate::home) use list::is_regular;
pub use lock::Lock;

/// The name of a home's private folder.
pub const STATE: &str = "state";

const FOLDER_MODE: Mode = Mode::S_IRWXU;
const FILE_MODE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
const FOLDER_FLAGS: OFlag =
    OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_RDONLY).union(OFlag::O_CLOEXEC);
const FILE_FLAGS: OFlag =
    OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);
/// The most bytes of a name; leaves room for what a temporary name adds within the 255 of a file system.
const LONGEST_NAME_BYTES: usize = 200;

/// Why something in a private folder could not be done. Every message begins with the path.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The folder is a link or no folder.
    #[error("{}: expected a folder, found a link or a file", .0.display())]
    NotFolder(PathBuf),
    /// The folder belongs to another user, who could change it under us.
    #[error("{}: expected a folder of user {us}, found one of user {owner}", .path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// Our effective user id.
        us: u32,
        /// The user id that it belongs to.
        owner: u32,
    },
    /// Another user may write in the folder.
    #[error("{}: other users can write in it; run `chmod go-w` on it", .0.display())]
    OpenToOthers(PathBuf),
    /// It is a link, a folder, a FIFO, a device or a socket.
    #[error("{}: expected a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The file has more bytes than the reader takes.
    #[error("{}: larger than {limit_bytes} bytes", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How many bytes the reader takes.
        limit_bytes: u64,
    },
    /// The name could lead out of the folder, or is none that dogwatch uses.
    #[error("{}: not a name of a file here: {name:?}", .folder.display())]
    BadName {
        /// The folder.
        folder: PathBuf,
        /// The name that was asked for.
        name: String,
    },
    /// The operating system said no.
    #[error("{}: cannot {what}: {}", .path.display(), .source.desc())]
    Os {
        /// What was being done.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the operating system said.
        source: Errno,
    },
}

/// An open private folder.
#[derive(Debug)]
pub struct Folder {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the `state/` folder of a home, made if it is missing. The home itself must be there and no link.
    pub fn state_of(home: &Path) -> Result<Folder, StateError> {
        let home_descriptor =
            open(home, FOLDER_FLAGS, Mode::empty()).map_err(|errno| not_opened(home, errno))?;
        Self::make_in(&home_descriptor, STATE, home.join(STATE))
    }

    /// Opens the `state/` folder of a home to read in it, as it is; `None` if there is none. For a home that cannot be
    /// written.
    pub fn open_state_of(home: &Path) -> Result<Option<Folder>, StateError> {
        let home_descriptor = match open(home, FOLDER_FLAGS, Mode::empty()) {
            Ok(descriptor) => descriptor,
            Err(Errno::ENOENT) => return Ok(None),
            Err(errno) => return Err(not_opened(home, errno)),
        };
        let path = home.join(STATE);
        match openat(&home_descriptor, STATE, FOLDER_FLAGS, Mode::empty()) {
            Ok(descriptor) => Ok(Some(Self::ours(descriptor, path)?)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(not_opened(&path, errno)),
        }
    }

    /// Opens a folder of ours outside of projects, made if it is missing, as are its parents. Links are followed on
    /// the way to it, but not in its own name.
    pub fn private(path: &Path) -> Result<Folder, StateError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        match builder.create(path) {
            Ok(()) => {}
            // A link that leads nowhere, a file: what it is, opening it says better.
            Err(error) if error.raw_os_error() == Some(Errno::EEXIST as i32) => {}
            Err(error) => {
                let source = error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw);
                return Err(StateError::Os { what: "make the folder", path: path.to_owned(), source });
            }
        }
        let descriptor = open(path, FOLDER_FLAGS, Mode::empty()).map_err(|errno| not_opened(path, errno))?;
        Self::ours(descriptor, path.to_owned())?.closed_to_others()
    }

    /// Opens a folder of ours outside of projects to read in it, as it is; `None` if there is none. Refused where
    /// other users can write in it, because what it says could be theirs.
    pub fn open_private(path: &Path) -> Result<Option<Folder>, StateError> {
        match open(path, FOLDER_FLAGS, Mode::empty()) {
            Ok(descriptor) => {
                let folder = Self::ours(descriptor, path.to_owned())?;
                let others_write = Mode::S_IWGRP | Mode::S_IWOTH;
                if Mode::from_bits_truncate(folder.stat()?.st_mode & 0o7777).intersects(others_write) {
                    return Err(StateError::OpenToOthers(folder.path));
                }
                Ok(Some(folder))
            }
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(not_opened(path, errno)),
        }
    }

    /// Opens a private folder in this one, made if it is missing.
    pub fn sub(&self, name: &str) -> Result<Folder, StateError> {
        self.check(name)?;
        Self::make_in(&self.descriptor, name, self.path.join(name))
    }

    /// Where it is, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole content of a file of at most `limit_bytes` bytes; `None` if there is no such file.
    pub fn read(&self, name: &str, limit_bytes: u64) -> Result<Option<Vec<u8>>, StateError> {
        self.check(name)?;
        let Some(file) = self.open_file(name, OFlag::O_RDONLY)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(limit_bytes.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| self.os("read", name, error_number(&error)))?;
        if bytes.len() as u64 > limit_bytes {
            return Err(StateError::TooLarge { path: self.path.join(name), limit_bytes });
        }
        Ok(Some(bytes))
    }

    /// Puts a file there whole: a reader sees the old content or the new, and never a part. What had the name before,
    /// a link included, is replaced and not written through.
    pub fn write_atomic(&self, name: &str, bytes: &[u8]) -> Result<(), StateError> {
        self.check(name)?;
        let (temporary, mut file) = self.create_temporary(name)?;
        let written = file
            .write_all(bytes)
            .map_err(|error| self.os("write", name, error_number(&error)))
            .and_then(|()| {
                renameat(&self.descriptor, temporary.as_str(), &self.descriptor, name)
                    .map_err(|errno| self.os("replace", name, errno))
            });
        if written.is_err() {
            // What is left is a stray file of ours; the error that led here is the one to tell.
            let _ = unlinkat(&self.descriptor, temporary.as_str(), UnlinkatFlags::NoRemoveDir);
        }
        written
    }

    /// Adds to the end of a file with a single write, so that lines of several writers do not mix. The file is made if
    /// it is missing.
    pub fn append(&self, name: &str, bytes: &[u8]) -> Result<(), StateError> {
        self.check(name)?;
        let flags = OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CREAT;
        let Some(file) = self.open_file(name, flags)? else {
            return Err(self.os("open", name, Errno::ENOENT));
        };
        match nix::unistd::write(&file, bytes) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(_) => Err(self.os("append a whole line to", name, Errno::ENOSPC)),
            Err(errno) => Err(self.os("append to", name, errno)),
        }
    }

    /// Removes a file or a link; whether there was one.
    pub fn remove(&self, name: &str) -> Result<bool, StateError> {
        self.check(name)?;
        match unlinkat(&self.descriptor, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(errno) => Err(self.os("remove", name, errno)),
        }
    }

    /// What the operating system says of the folder itself (its device and inode, its mode).
    pub fn stat(&self) -> Result<FileStat, StateError> {
        fstat(&self.descriptor).map_err(|errno| self.os("look at", "", errno))
    }

    fn make_in(parent: &OwnedFd, name: &str, path: PathBuf) -> Result<Folder, StateError> {
        match mkdirat(parent, name, FOLDER_MODE) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(source) => return Err(StateError::Os { what: "make the folder", path, source }),
        }
        let descriptor =
            openat(parent, name, FOLDER_FLAGS, Mode::empty()).map_err(|errno| not_opened(&path, errno))?;
        Self::ours(descriptor, path)?.closed_to_others()
    }

    fn ours(descriptor: OwnedFd, path: PathBuf) -> Result<Folder, StateError> {
        let folder = Folder { descriptor, path };
        let owner = folder.stat()?.st_uid;
        let us = geteuid();
        if Uid::from_raw(owner) != us {
            return Err(StateError::NotOurs { path: folder.path, us: us.as_raw(), owner });
        }
        Ok(folder)
    }

    /// A folder that came out of a checkout or a loose umask is open to others until we close it.
    fn closed_to_others(self) -> Result<Folder, StateError> {
        if Mode::from_bits_truncate(self.stat()?.st_mode & 0o7777) != FOLDER_MODE {
            fchmod(&self.descriptor, FOLDER_MODE)
                .map_err(|errno| self.os("close to other users", "", errno))?;
        }
        Ok(self)
    }

    /// Opens a regular file; `None` if there is none.
    fn open_file(&self, name: &str, flags: OFlag) -> Result<Option<File>, StateError> {
        let file = match openat(&self.descriptor, name, FILE_FLAGS | flags, FILE_MODE) {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::ENOENT) => return Ok(None),
            // A link; a FIFO without a reader or a socket; a folder opened for writing.
            Err(Errno::ELOOP | Errno::ENXIO | Errno::EISDIR) => {
                return Err(StateError::NotRegular(self.path.join(name)));
            }
            Err(errno) => return Err(self.os("open", name, errno)),
        };
        if !is_regular(&fstat(&file).map_err(|errno| self.os("look at", name, errno))?) {
            return Err(StateError::NotRegular(self.path.join(name)));
        }
        Ok(Some(file))
    }

    fn create_temporary(&self, name: &str) -> Result<(String, File), StateError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Process ids alone are not unique: several PID namespaces can share the folder, and a killed writer leaves
        // its file behind.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        let mut last = Errno::EEXIST;
        for _ in 0..16 {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let temporary = format!(".{name}.{}-{since:x}-{count:x}", std::process::id());
            let flags = FILE_FLAGS | OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
            match openat(&self.descriptor, temporary.as_str(), flags, FILE_MODE) {
                Ok(descriptor) => return Ok((temporary, File::from(descriptor))),
                Err(Errno::EEXIST) => {}
                Err(errno) => {
                    last = errno;
                    break;
                }
            }
        }
        Err(self.os("make a temporary file for", name, last))
    }

    /// Names are ours or were made from ids that a harness gave us, so they are checked here once for all.
    fn check(&self, name: &str) -> Result<(), StateError> {
        let fits = (1..=LONGEST_NAME_BYTES).contains(&name.len())
            && !name.starts_with('.')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if fits {
            return Ok(());
        }
        let name = name.chars().take(80).collect();
        Err(StateError::BadName { folder: self.path.clone(), name })
    }

    fn os(&self, what: &'static str, name: &str, source: Errno) -> StateError {
        StateError::Os { what, path: self.path.join(name), source }
    }
}

fn not_opened(path: &Path, errno: Errno) -> StateError {
    match errno {
        Errno::ELOOP | Errno::ENOTDIR => StateError::NotFolder(path.to_owned()),
        source => StateError::Os { what: "open the folder", path: path.to_owned(), source },
    }
}

fn error_number(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use nix::unistd::mkfifo;
    use tempfile::TempDir;

    use super::*;

    /// A home with an open state folder, and the path of that folder.
    fn home() -> (TempDir, Folder, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        let path = home.path().join(STATE);
        (home, state, path)
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn names(path: &Path) -> Vec<String> {
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn the_folder_is_made_closed_to_others() {
        let (_home, _state, path) = home();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn a_folder_that_was_open_to_others_is_closed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(STATE);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        Folder::state_of(home.path()).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn a_state_folder_that_is_a_link_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), home.path().join(STATE)).unwrap();
        let refused = Folder::state_of(home.path()).unwrap_err();
        assert!(matches!(refused, StateError::NotFolder(_)), "{refused}");
        assert_eq!(names(elsewhere.path()), [""; 0]);
    }

    #[test]
    fn a_state_folder_that_is_a_file_or_a_fifo_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(STATE);
        fs::write(&path, "").unwrap();
        assert!(matches!(Folder::state_of(home.path()), Err(StateError::NotFolder(_))));
        fs::remove_file(&path).unwrap();
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        assert!(matches!(Folder::state_of(home.path()), Err(StateError::NotFolder(_))));
    }

    #[test]
    fn a_home_that_is_a_link_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("real")).unwrap();
        symlink("real", scratch.path().join("home")).unwrap();
        let refused = Folder::state_of(&scratch.path().join("home")).unwrap_err();
        assert!(matches!(refused, StateError::NotFolder(_)), "{refused}");
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        // Only root can make one; for another user `/` is one.
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(STATE);
        fs::create_dir(&path).unwrap();
        let refused = if geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
            Folder::state_of(home.path()).unwrap_err()
        } else {
            Folder::open_private(Path::new("/")).unwrap_err()
        };
        assert!(matches!(refused, StateError::NotOurs { .. }), "{refused}");
    }

    #[test]
    fn what_was_written_is_read() {
        let (_home, state, path) = home();
        assert_eq!(state.read("helm.json", 10).unwrap(), None);
        state.write_atomic("helm.json", b"one").unwrap();
        state.write_atomic("helm.json", b"two").unwrap();
        assert_eq!(state.read("helm.json", 3).unwrap().unwrap(), b"two");
        assert_eq!(mode(&path.join("helm.json")), 0o600);
        assert_eq!(names(&path), ["helm.json"], "no temporary file is left");
    }

    #[test]
    fn a_write_replaces_the_file_and_does_not_change_the_old_one() {
        let (_home, state, path) = home();
        state.write_atomic("a", b"old").unwrap();
        let mut old = fs::File::open(path.join("a")).unwrap();
        state.write_atomic("a", b"new").unwrap();
        let mut text = String::new();
        old.read_to_string(&mut text).unwrap();
        assert_eq!(text, "old", "who had it open still reads the whole old content");
    }

    #[test]
    fn a_link_is_neither_read_nor_written_through() {
        let (home, state, path) = home();
        let target = home.path().join("target");
        fs::write(&target, "secret").unwrap();
        symlink(&target, path.join("a")).unwrap();
        assert!(matches!(state.read("a", 100), Err(StateError::NotRegular(_))));
        assert!(matches!(state.append("a", b"x"), Err(StateError::NotRegular(_))));
        state.write_atomic("a", b"mine").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "secret");
        assert_eq!(state.read("a", 100).unwrap().unwrap(), b"mine");
    }

    #[test]
    fn a_fifo_or_a_folder_in_place_of_a_file_is_refused_without_waiting() {
        let (_home, state, path) = home();
        mkfifo(&path.join("fifo"), Mode::S_IRWXU).unwrap();
        fs::create_dir(path.join("folder")).unwrap();
        for name in ["fifo", "folder"] {
            assert!(matches!(state.read(name, 100), Err(StateError::NotRegular(_))), "{name}");
            assert!(matches!(state.append(name, b"x"), Err(StateError::NotRegular(_))), "{name}");
        }
        assert!(state.write_atomic("folder", b"x").is_err());
        assert_eq!(names(&path).len(), 2, "no temporary file is left after a failure");
    }

    #[test]
    fn more_than_the_reader_takes_is_an_error_and_not_a_part() {
        let (_home, state, _) = home();
        state.write_atomic("a", b"1234").unwrap();
        assert!(matches!(state.read("a", 3), Err(StateError::TooLarge { limit_bytes: 3, .. })));
    }

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        let (_home, state, path) = home();
        let long = "a".repeat(LONGEST_NAME_BYTES + 1);
        for name in ["", ".", "..", "../a", "/etc/passwd", "a/b", "a\0b", ".hidden", "a b", "a\n", "ä", &long]
        {
            assert!(matches!(state.read(name, 1), Err(StateError::BadName { .. })), "{name:?}");
            assert!(matches!(state.write_atomic(name, b""), Err(StateError::BadName { .. })), "{name:?}");
            assert!(matches!(state.append(name, b""), Err(StateError::BadName { .. })), "{name:?}");
            assert!(matches!(state.remove(name), Err(StateError::BadName { .. })), "{name:?}");
            assert!(matches!(state.sub(name), Err(StateError::BadName { .. })), "{name:?}");
        }
        state.write_atomic(&"a".repeat(LONGEST_NAME_BYTES), b"").unwrap();
        assert_eq!(names(&path).len(), 1);
    }

    #[test]
    fn the_folder_stays_the_one_that_was_opened() {
        let (home, state, path) = home();
        let moved = home.path().join("moved");
        fs::rename(&path, &moved).unwrap();
        symlink("/", &path).unwrap();
        state.write_atomic("a", b"x").unwrap();
        assert_eq!(names(&moved), ["a"]);
    }

    #[test]
    fn a_folder_within_has_the_same_rules() {
        let (home, state, path) = home();
        let digest = state.sub("digest").unwrap();
        digest.write_atomic("a.txt", b"x").unwrap();
        assert_eq!(mode(&path.join("digest")), 0o700);
        assert_eq!(state.sub("digest").unwrap().read("a.txt", 1).unwrap().unwrap(), b"x");
        symlink(home.path(), path.join("link")).unwrap();
        assert!(matches!(state.sub("link"), Err(StateError::NotFolder(_))));
    }

    #[test]
    fn lines_of_many_writers_do_not_mix() {
        let (_home, state, _) = home();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let state = &state;
                scope.spawn(move || {
                    let line = format!("{}\n", writer.to_string().repeat(100));
                    for _ in 0..50 {
                        state.append("trace", line.as_bytes()).unwrap();
                    }
                });
            }
        });
        let text = String::from_utf8(state.read("trace", 1 << 20).unwrap().unwrap()).unwrap();
        assert_eq!(text.lines().count(), 400);
        assert!(
            text.lines().all(|line| line.len() == 100 && line.bytes().all(|byte| byte == line.as_bytes()[0]))
        );
    }

    #[test]
    fn many_writers_of_one_file_leave_one_whole_content() {
        let (_home, state, path) = home();
        std::thread::scope(|scope| {
            for writer in 0..8_u8 {
                let state = &state;
                scope.spawn(move || {
                    for _ in 0..20 {
                        state.write_atomic("a", &vec![b'0' + writer; 10_000]).unwrap();
                    }
                });
            }
        });
        let bytes = state.read("a", 1 << 20).unwrap().unwrap();
        assert!(bytes.len() == 10_000 && bytes.iter().all(|byte| *byte == bytes[0]));
        assert_eq!(names(&path), ["a"]);
    }

    #[test]
    fn removing_takes_a_link_and_not_its_target() {
        let (home, state, path) = home();
        fs::write(home.path().join("target"), "").unwrap();
        symlink(home.path().join("target"), path.join("a")).unwrap();
        assert!(state.remove("a").unwrap());
        assert!(!state.remove("a").unwrap());
        assert!(home.path().join("target").exists());
    }

    #[test]
    fn a_private_folder_outside_is_made_with_its_parents() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a/b/dogwatch");
        assert!(Folder::open_private(&path).unwrap().is_none());
        Folder::private(&path).unwrap().write_atomic("x", b"x").unwrap();
        assert_eq!(mode(&path), 0o700);
        assert!(Folder::open_private(&path).unwrap().is_some());
        fs::write(scratch.path().join("file"), "").unwrap();
        assert!(matches!(Folder::private(&scratch.path().join("file")), Err(StateError::NotFolder(_))));
        symlink("a", scratch.path().join("link")).unwrap();
        assert!(matches!(Folder::private(&scratch.path().join("link")), Err(StateError::NotFolder(_))));
    }

    #[test]
    fn a_private_folder_that_others_can_write_in_is_not_believed_until_it_is_closed() {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o770)).unwrap();
        assert!(matches!(Folder::open_private(scratch.path()), Err(StateError::OpenToOthers(_))));
        Folder::private(scratch.path()).unwrap();
        assert_eq!(mode(scratch.path()), 0o700);
        assert!(Folder::open_private(scratch.path()).is_ok());
    }

    #[test]
    fn device_and_inode_are_those_of_the_folder() {
        let (_home, state, path) = home();
        let data = fs::metadata(path).unwrap();
        let stat = state.stat().unwrap();
        assert_eq!((stat.st_dev, stat.st_ino), (data.dev(), data.ino()));
    }

    #[test]
    fn messages_say_what_and_where() {
        let (_home, state, path) = home();
        let message = state.read("../x", 1).unwrap_err().to_string();
        assert_eq!(message, format!("{}: not a name of a file here: \"../x\"", path.display()));
    }
}
