//! `$XDG_STATE_HOME/dogwatch/roots/<harness>-<session id>`: the root that was found when a session opened, one line.
//! Later events of the session start from it, wherever the model has gone since.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::ids;
use super::state::{Folder, StateError};

/// The folder in dogwatch's own folder.
pub const FOLDER: &str = "roots";
/// The longest path of Linux, and a line break.
const LIMIT_BYTES: u64 = 4097;

/// Remembers the root of a session. A path with a line break, or a relative one, is not remembered: the rule finds it
/// again.
pub fn remember(state_folder: &Path, harness: &str, session: &str, root: &Path) -> Result<(), StateError> {
    let bytes = root.as_os_str().as_bytes();
    if bytes.contains(&b'\n') || !root.is_absolute() {
        return Ok(());
    }
    // Most opens are of a session that stays where it was.
    if recall(state_folder, harness, session).as_deref() == Some(root) {
        return Ok(());
    }
    let folder = Folder::private(state_folder)?.sub(FOLDER)?;
    folder.write_atomic(&name(harness, session), &[bytes, b"\n"].concat())
}

/// The root that was remembered; `None` if there is none, or nothing that can be one.
pub fn recall(state_folder: &Path, harness: &str, session: &str) -> Option<PathBuf> {
    let folder = Folder::open_private(state_folder).ok()??.open_sub(FOLDER).ok()??;
    let mut bytes = folder.read(&name(harness, session), LIMIT_BYTES).ok()??;
    // A line that was cut is no path.
    if bytes.pop() != Some(b'\n') || bytes.contains(&b'\n') || bytes.contains(&0) {
        return None;
    }
    Some(PathBuf::from(OsString::from_vec(bytes))).filter(|root| root.is_absolute())
}

/// Forgets the root of a session; whether there was one.
pub fn forget(state_folder: &Path, harness: &str, session: &str) -> Result<bool, StateError> {
    forget_stem(state_folder, &name(harness, session))
}

/// As [`forget`], for the session whose files have that name.
pub(super) fn forget_stem(state_folder: &Path, stem: &str) -> Result<bool, StateError> {
    let Some(folder) = Folder::open_private(state_folder)? else { return Ok(false) };
    match folder.open_sub(FOLDER)? {
        Some(roots) => roots.remove(stem),
        None => Ok(false),
    }
}

fn name(harness: &str, session: &str) -> String {
    ids::file_stem(&ids::kept(harness), &ids::kept(session))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::fs::symlink;

    use rstest::rstest;

    use super::*;

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("state/dogwatch");
        (scratch, folder)
    }

    #[test]
    fn a_root_is_remembered_until_it_is_forgotten() {
        let (_scratch, folder) = scratch();
        assert_eq!(recall(&folder, "claude", "s"), None);
        assert!(!forget(&folder, "claude", "s").unwrap());
        remember(&folder, "claude", "s", Path::new("/a")).unwrap();
        remember(&folder, "claude", "s", Path::new("/b")).unwrap();
        assert_eq!(recall(&folder, "claude", "s"), Some(PathBuf::from("/b")));
        assert_eq!(recall(&folder, "codex", "s"), None);
        assert!(forget(&folder, "claude", "s").unwrap());
        assert_eq!(recall(&folder, "claude", "s"), None);
    }

    #[rstest]
    #[case("../../../etc/passwd")]
    #[case("")]
    #[case("a/b")]
    fn an_odd_id_stays_within_the_folder(#[case] session: &str) {
        let (scratch, folder) = scratch();
        remember(&folder, "claude", session, Path::new("/a")).unwrap();
        assert_eq!(recall(&folder, "claude", session), Some(PathBuf::from("/a")));
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(folder.join(FOLDER)).unwrap().count(), 1);
    }

    #[test]
    fn a_path_that_is_no_text_is_remembered_and_one_with_a_line_break_is_not() {
        let (_scratch, folder) = scratch();
        let odd = Path::new(OsStr::from_bytes(b"/od\xffd \t"));
        remember(&folder, "claude", "s", odd).unwrap();
        assert_eq!(recall(&folder, "claude", "s").as_deref(), Some(odd));
        remember(&folder, "claude", "t", Path::new("/a\nb")).unwrap();
        remember(&folder, "claude", "t", Path::new("relative")).unwrap();
        assert_eq!(recall(&folder, "claude", "t"), None);
    }

    #[rstest]
    #[case(b"")]
    #[case(b"/a")]
    #[case(b"a\n")]
    #[case(b"/a\n/b\n")]
    #[case(b"/a\0b\n")]
    #[case(b"\n")]
    fn what_is_no_line_with_a_path_is_not_believed(#[case] content: &[u8]) {
        let (_scratch, folder) = scratch();
        remember(&folder, "claude", "s", Path::new("/a")).unwrap();
        fs::write(folder.join("roots/claude-s"), content).unwrap();
        assert_eq!(recall(&folder, "claude", "s"), None);
    }

    #[test]
    fn links_are_not_followed() {
        let (scratch, folder) = scratch();
        remember(&folder, "claude", "s", Path::new("/a")).unwrap();
        fs::rename(folder.join("roots/claude-s"), scratch.path().join("s")).unwrap();
        symlink(scratch.path().join("s"), folder.join("roots/claude-s")).unwrap();
        assert_eq!(recall(&folder, "claude", "s"), None);
    }
}
