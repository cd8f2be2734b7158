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
    /// The same folder once more.
    ///
    /// # Errors
    /// Where there are no descriptors left.
    pub fn try_clone(&self) -> Result<Folder, StateError> {
        let descriptor = self
            .descriptor
            .try_clone()
            .map_err(|error| self.os("open", ".", Errno::from_raw(error.raw_os_error().unwrap_or(0))))?;
        Ok(Folder { descriptor, path: self.path.clone() })
    }

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
        let mut bytes = Vec::with_capacity(super::read::FIRST_READ_BYTES);
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
mod tests;
