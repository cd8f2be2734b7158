//! Reading a file that a repository brought along: never through a link, never from anything but a regular file,
//! never more than was asked for, and without waiting.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such file.
    #[error("no such file")]
    Missing,
    /// It is a link, a folder, a FIFO, a device or a socket.
    #[error("not a regular file")]
    NotRegular,
    /// It has more bytes than the reader takes.
    #[error("larger than {limit_bytes} bytes")]
    TooLarge {
        /// How many bytes the reader takes.
        limit_bytes: u64,
    },
    /// Its bytes are not UTF-8.
    #[error("not UTF-8 text")]
    NotText,
    /// The operating system said no.
    #[error(transparent)]
    Io(io::Error),
}

/// Opens a regular file for reading, following no link in its last component.
pub fn open_regular(path: &Path) -> Result<File, ReadError> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path).map_err(|error| {
        match error.raw_os_error().map(nix::errno::Errno::from_raw) {
            Some(nix::errno::Errno::ENOENT | nix::errno::Errno::ENOTDIR) => ReadError::Missing,
            Some(nix::errno::Errno::ELOOP | nix::errno::Errno::ENXIO) => ReadError::NotRegular,
            _ => ReadError::Io(error),
        }
    })?;
    match file.metadata() {
        Ok(data) if data.is_file() => Ok(file),
        Ok(_) => Err(ReadError::NotRegular),
        Err(error) => Err(ReadError::Io(error)),
    }
}

/// What is read at first: most files whole, where an empty buffer would begin with 32 bytes.
pub(crate) const FIRST_READ_BYTES: usize = 4096;

/// Reads a whole regular file of at most `limit_bytes` bytes.
pub fn bytes(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, ReadError> {
    let file = open_regular(path)?;
    let mut bytes = Vec::with_capacity(FIRST_READ_BYTES);
    file.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(ReadError::TooLarge { limit_bytes });
    }
    Ok(bytes)
}

/// Reads a whole regular UTF-8 file of at most `limit_bytes` bytes.
pub fn text(path: &Path, limit_bytes: u64) -> Result<String, ReadError> {
    String::from_utf8(bytes(path, limit_bytes)?).map_err(|_| ReadError::NotText)
}
