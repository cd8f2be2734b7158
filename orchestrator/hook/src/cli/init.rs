//! `dogwatch init`: makes a home.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::{Failure, Surroundings, write_out};
use crate::config::{self, printable};
use crate::digest::repository;
use crate::home::homes::Homes;
use crate::home::root::{GitPlace, HOME};
use crate::home::trust::{TrustState, Trusted};

/// The files of a fresh home.
const FILES: [(&str, &str); 4] = [
    (config::FILE_NAME, include_str!("../../assets/home/config.toml")),
    ("pointer.md", include_str!("../../assets/home/pointer.md")),
    ("follow-ups.md", include_str!("../../assets/home/follow-ups.md")),
    (".gitignore", include_str!("../../assets/home/gitignore")),
];

const FOLDER_FLAGS: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Make the home of this project: `.dogwatch/` at the top of the git checkout, else in the working directory.
///
/// It writes config.toml, pointer.md, follow-ups.md and .gitignore, each only if there is nothing of that name.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXIT_CODES)]
pub(super) struct Arguments {
    /// Print what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Why the home cannot be made.
#[derive(Debug, thiserror::Error)]
enum InitError {
    #[error("{}: expected a folder, found {found}; move it away, then run `dogwatch init` again", .path.display())]
    InTheWay { path: PathBuf, found: &'static str },
    #[error("{}: a bare repository has no work tree; run `dogwatch init` in a checkout of it", .path.display())]
    Bare { path: PathBuf },
    #[error("{}: cannot {what}: {source}", .path.display())]
    Os { what: &'static str, path: PathBuf, source: io::Error },
}

pub(super) fn run(
    arguments: &Arguments,
    surroundings: &Surroundings,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let folder = &surroundings.folder;
    let root = match GitPlace::find(folder) {
        Some(place) => place.top,
        None => outside_of_git(folder)?,
    };
    let home = root.join(HOME);
    let text = if arguments.dry_run {
        plan(&home)?
    } else {
        let own_folder = surroundings.state_folder.as_deref();
        let text = make(&root, &home, own_folder.map(Trusted::new).as_ref())?;
        if let Some(own_folder) = own_folder {
            // That there is a home here is known from now on; if it cannot be kept, the first session open keeps it.
            let common_dir = GitPlace::find(&root).map(|git| git.common_dir);
            let _ = Homes::new(own_folder).remember(&root, common_dir.as_deref());
        }
        text
    };
    write_out(out, &text)
}

/// The folder itself, if it is no part of a bare repository.
fn outside_of_git(folder: &Path) -> Result<PathBuf, InitError> {
    let os = |source| InitError::Os { what: "find the folder", path: folder.to_owned(), source };
    let folder = folder.canonicalize().map_err(os)?;
    match folder.ancestors().find(|above| repository::is_git_dir(above)) {
        Some(bare) => Err(InitError::Bare { path: bare.to_owned() }),
        None => Ok(folder),
    }
}

/// What would be written.
fn plan(home: &Path) -> Result<String, InitError> {
    refuse_what_is_in_the_way(home)?;
    let mut text = format!("In {}:\n", shown(home));
    for (name, content) in FILES {
        if fs::symlink_metadata(home.join(name)).is_ok() {
            let _ = writeln!(text, "  would leave alone  {name}");
        } else {
            let _ = writeln!(text, "  would create       {name}");
            for line in content.lines() {
                let _ = writeln!(text, "    | {line}");
            }
        }
    }
    Ok(text)
}

/// Makes what is missing, and tells what was done and what to do next.
fn make(root: &Path, home: &Path, trusted: Option<&Trusted>) -> Result<String, InitError> {
    let folder = open_home(root, home)?;
    let mut text = format!("In {}:\n", shown(home));
    let mut wrote_config = None;
    for (name, content) in FILES {
        if create(&folder, home, name, content)? {
            let _ = writeln!(text, "  created     {name}");
            if name == config::FILE_NAME {
                // Of the bytes that were written, not of what stands there now: only those are known to be ours.
                wrote_config = Some(config::sha256(content.as_bytes()));
            }
        } else {
            let _ = writeln!(text, "  left alone  {name}, which was there");
        }
    }
    match (wrote_config, trusted) {
        (Some(sha256), Some(trusted)) => {
            if let Err(error) = trusted.record(root, &sha256) {
                let error = printable(&error.to_string(), usize::MAX);
                let _ = writeln!(
                    text,
                    "config.toml is not trusted yet, because that cannot be recorded: {error}"
                );
            }
        }
        (Some(_), None) => {
            text.push_str("config.toml is not trusted yet: no home folder is known to record it in.\n");
        }
        (None, trusted) => text.push_str(of_a_config_that_was_there(root, home, trusted)),
    }
    text.push_str("Next: write into pointer.md what is being done, then `dogwatch open` shows what a session is told.\n");
    Ok(text)
}

fn of_a_config_that_was_there(root: &Path, home: &Path, trusted: Option<&Trusted>) -> &'static str {
    let loaded = config::load(home);
    if !loaded.problems.is_empty() {
        return "config.toml has problems and is not used; `dogwatch trust --show` lists them.\n";
    }
    match (loaded.sha256, trusted) {
        (Some(sha256), Some(trusted)) if trusted.state_of(root, &sha256) == TrustState::Trusted => "",
        _ => {
            "config.toml is not trusted: nothing in it counts. `dogwatch trust` shows its programs and allows it.\n"
        }
    }
}

/// Opens the home, made if it is missing. The root is a real path, and from here on no link is followed.
fn open_home(root: &Path, home: &Path) -> Result<OwnedFd, InitError> {
    let os =
        |what, path: &Path, errno: Errno| InitError::Os { what, path: path.to_owned(), source: errno.into() };
    let root_folder =
        open(root, FOLDER_FLAGS, Mode::empty()).map_err(|errno| os("open the folder", root, errno))?;
    match mkdirat(&root_folder, HOME, Mode::from_bits_truncate(0o777)) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(errno) => return Err(os("make the folder", home, errno)),
    }
    openat(&root_folder, HOME, FOLDER_FLAGS, Mode::empty()).map_err(|errno| {
        // Opening it is what refuses; the look is only for the words.
        refuse_what_is_in_the_way(home).err().unwrap_or_else(|| os("open the folder", home, errno))
    })
}

fn refuse_what_is_in_the_way(home: &Path) -> Result<(), InitError> {
    let found = match fs::symlink_metadata(home) {
        Ok(data) if data.is_dir() => return Ok(()),
        Ok(data) if data.is_symlink() => "a link",
        Ok(_) => "a file",
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(InitError::Os { what: "look at", path: home.to_owned(), source }),
    };
    Err(InitError::InTheWay { path: home.to_owned(), found })
}

/// Writes a file that is not there yet; whether it did.
fn create(folder: &OwnedFd, home: &Path, name: &str, content: &str) -> Result<bool, InitError> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let os = |what, source: io::Error| InitError::Os { what, path: home.join(name), source };
    let mut file = match openat(folder, name, flags, Mode::from_bits_truncate(0o666)) {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::EEXIST) => return Ok(false),
        Err(errno) => return Err(os("create", errno.into())),
    };
    file.write_all(content.as_bytes()).map_err(|source| {
        // A part of a file would be left alone by the next run.
        let _ = unlinkat(folder, name, UnlinkatFlags::NoRemoveDir);
        os("write", source)
    })?;
    Ok(true)
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string(), usize::MAX)
}

#[cfg(test)]
mod tests;
