//! What can be wrong with a machine: a full disk, a read-only one, clocks that are ahead. It is set up inside the host, in
//! namespaces of its own, so that nobody else sees it and it ends with the host.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};
use serde::{Deserialize, Serialize};

/// A time namespace, for `unshare` and `setns`; nix does not name it.
const CLONE_NEWTIME: i32 = 0x80;
/// How large the small disk is, beside what it begins with.
const DISK_BYTES: u64 = 256 * 1024;
/// What is carried over onto it may be so large, and no larger.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// Something that is wrong.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// A folder's disk.
    Disk { folder: PathBuf, way: Way },
    /// The clocks that count from the machine's start are so far ahead. The time of day is one for all, and stays.
    ClocksAhead(Duration),
}

/// What is wrong with a folder's file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Way {
    /// A small disk without a free block.
    Full,
    /// A disk that cannot be written.
    ReadOnly,
}

/// A file or folder that is carried over.
enum Kept {
    Folder,
    Link(PathBuf),
    File(Vec<u8>),
}

/// Copies what is in a folder into another, up to 32 MiB.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    put(to, &carry(from)?)
}

/// Sets them up. What fails leaves a host that is of no use.
pub(super) fn set(stages: &[Stage]) -> io::Result<()> {
    for stage in stages {
        match stage {
            Stage::Disk { folder, way } => {
                own_namespace(CloneFlags::CLONE_NEWNS)?;
                let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
                mount(None::<&str>, "/", None::<&str>, flags, None::<&str>)?;
                let kept = carry(folder)?;
                small_disk(folder, &kept)?;
                match way {
                    Way::Full => fill(folder)?,
                    Way::ReadOnly => {
                        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
                        mount(None::<&str>, folder, None::<&str>, flags, None::<&str>)?;
                    }
                }
            }
            Stage::ClocksAhead(ahead) => set_clocks(*ahead)?,
        }
    }
    Ok(())
}

/// A namespace, of which nothing comes out. Who is not root needs a user namespace around it.
fn own_namespace(kind: CloneFlags) -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    if !user.is_root() || unshare(kind).is_err() {
        unshare(CloneFlags::CLONE_NEWUSER | kind)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    Ok(())
}

/// Enters a time namespace, so that hooks start in it however they are started. See `time_namespaces(7)`.
fn set_clocks(ahead: Duration) -> io::Result<()> {
    let kind = CloneFlags::from_bits_retain(CLONE_NEWTIME);
    own_namespace(kind)?;
    let seconds = ahead.as_secs();
    fs::write("/proc/self/timens_offsets", format!("monotonic {seconds} 0\nboottime {seconds} 0\n"))?;
    setns(fs::File::open("/proc/self/ns/time_for_children")?, kind)?;
    Ok(())
}

fn small_disk(folder: &Path, kept: &[(PathBuf, u32, Kept)]) -> io::Result<()> {
    let size: u64 = kept
        .iter()
        .map(|(_, _, kept)| match kept {
            Kept::File(bytes) => (bytes.len() as u64).next_multiple_of(4096),
            _ => 4096,
        })
        .sum();
    let data = format!("size={},mode=755", size + DISK_BYTES);
    mount(Some("harness-sim"), folder, Some("tmpfs"), MsFlags::empty(), Some(data.as_str()))?;
    put(folder, kept)
}

/// Puts there what was kept.
fn put(folder: &Path, kept: &[(PathBuf, u32, Kept)]) -> io::Result<()> {
    for (name, mode, kept) in kept {
        let path = folder.join(name);
        match kept {
            Kept::Folder => fs::create_dir(&path)?,
            Kept::Link(target) => std::os::unix::fs::symlink(target, &path)?,
            Kept::File(bytes) => fs::write(&path, bytes)?,
        }
        if !matches!(kept, Kept::Link(_)) {
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
        }
    }
    Ok(())
}

fn fill(folder: &Path) -> io::Result<()> {
    let mut file = fs::File::create(folder.join(".full"))?;
    let block = [0_u8; 4096];
    loop {
        match file.write(&block) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// What is in a folder, folders before what is in them. It may be in use: what is gone before it is read is left out.
fn carry(folder: &Path) -> io::Result<Vec<(PathBuf, u32, Kept)>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    let mut bytes = 0;
    while let Some(name) = folders.pop() {
        let entries = match fs::read_dir(folder.join(&name)) {
            Err(error) if is_gone(&error) && name != Path::new("") => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = name.join(entry.file_name());
            match keep(&entry, &mut bytes) {
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
                Ok(None) => {}
                Ok(Some((mode, kept))) => {
                    if matches!(kept, Kept::Folder) {
                        folders.push(name.clone());
                    }
                    found.push((name, mode, kept));
                }
            }
        }
    }
    Ok(found)
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// One of them with its mode; `None` for what is neither file, folder nor link.
fn keep(entry: &fs::DirEntry, bytes: &mut u64) -> io::Result<Option<(u32, Kept)>> {
    let data = entry.metadata()?;
    let kept = if data.is_dir() {
        Kept::Folder
    } else if data.is_symlink() {
        Kept::Link(fs::read_link(entry.path())?)
    } else if data.is_file() {
        *bytes += data.size();
        if *bytes > MOST_BYTES {
            return Err(io::Error::other("the project and the home are larger than 32 MiB"));
        }
        Kept::File(fs::read(entry.path())?)
    } else {
        return Ok(None);
    };
    Ok(Some((data.mode() & 0o7777, kept)))
}
