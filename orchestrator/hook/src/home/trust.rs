//! Which configs a person has trusted: `trusted` in dogwatch's own folder below `$XDG_STATE_HOME`, never in a project.
//!
//! One line per home, `<SHA-256 of config.toml in hex>  <real path of the root>`; later lines win. A provisioning
//! script may write it. A line that is none is passed over, so that one bad line takes no trust from the others.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::state::{Folder, StateError};

/// The name of the file.
const FILE_NAME: &str = "trusted";
/// The most bytes that are read of it: tens of thousands of homes.
const LIMIT_BYTES: u64 = 4 * 1024 * 1024;
const HASH_BYTES: usize = 32;

/// What a person has said about a config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustState {
    /// The config as it stands is trusted.
    Trusted,
    /// Nothing.
    Untrusted,
    /// Another content was trusted: the config has changed since.
    Changed,
}

/// Why trust could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The root's path would be taken for several lines.
    #[error("{0:?}: a path with a line break cannot be recorded; rename the folder")]
    LineBreak(PathBuf),
    /// The root cannot be found.
    #[error("{}: {source}", .root.display())]
    Root {
        /// The root.
        root: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file cannot be written.
    #[error(transparent)]
    State(#[from] StateError),
}

/// The record of trusted configs.
#[derive(Debug, Clone)]
pub struct Trusted {
    folder: PathBuf,
}

impl Trusted {
    /// The record in dogwatch's own folder (`$XDG_STATE_HOME/dogwatch`), which need not exist.
    pub fn new(state_folder: &Path) -> Trusted {
        Trusted { folder: state_folder.to_owned() }
    }

    /// The file of the record, for messages.
    pub fn file(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }

    /// What has been said about the config of this content in this root. A record that cannot be read says nothing.
    pub fn state_of(&self, root: &Path, sha256: &[u8; HASH_BYTES]) -> TrustState {
        let Ok(root) = root.canonicalize() else { return TrustState::Untrusted };
        match self.read().ok().and_then(|record| last_hash(&record, &root)) {
            Some(hash) if hash == *sha256 => TrustState::Trusted,
            Some(_) => TrustState::Changed,
            None => TrustState::Untrusted,
        }
    }

    /// Records that a person trusts the config of this content in this root.
    pub fn record(&self, root: &Path, sha256: &[u8; HASH_BYTES]) -> Result<(), TrustError> {
        let root =
            root.canonicalize().map_err(|source| TrustError::Root { root: root.to_owned(), source })?;
        if root.as_os_str().as_bytes().contains(&b'\n') {
            return Err(TrustError::LineBreak(root));
        }
        let folder = Folder::private(&self.folder)?;
        // Read before, so that trust is not said to be recorded in a file that would then not be read.
        let before = folder.read(FILE_NAME, LIMIT_BYTES)?.unwrap_or_default();
        let mut line = Vec::new();
        if before.last().is_some_and(|last| *last != b'\n') {
            line.push(b'\n');
        }
        line.extend(hex(sha256).as_bytes());
        line.extend(b"  ");
        line.extend(root.as_os_str().as_bytes());
        line.push(b'\n');
        folder.append(FILE_NAME, &line)?;
        Ok(())
    }

    fn read(&self) -> Result<Vec<u8>, StateError> {
        let Some(folder) = Folder::open_private(&self.folder)? else { return Ok(Vec::new()) };
        Ok(folder.read(FILE_NAME, LIMIT_BYTES)?.unwrap_or_default())
    }
}

fn last_hash(record: &[u8], root: &Path) -> Option<[u8; HASH_BYTES]> {
    record
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let (hash, path) = line.split_at_checked(HASH_BYTES * 2)?;
            let path = path.strip_prefix(b"  ")?;
            (path == root.as_os_str().as_bytes()).then(|| from_hex(hash)).flatten()
        })
        .next_back()
}

/// A hash as the record and messages write it.
pub(crate) fn hex(hash: &[u8; HASH_BYTES]) -> String {
    hash.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hex(text: &[u8]) -> Option<[u8; HASH_BYTES]> {
    let mut hash = [0; HASH_BYTES];
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    for (byte, pair) in hash.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? * 16 + digit(pair[1])?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    const ONE: [u8; 32] = [0xa1; 32];
    const TWO: [u8; 32] = [0x0f; 32];

    /// A scratch folder with a root, and a record outside of it.
    fn scratch() -> (TempDir, PathBuf, Trusted) {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap().join("root");
        fs::create_dir(&root).unwrap();
        let trusted = Trusted::new(&scratch.path().join("state/dogwatch"));
        (scratch, root, trusted)
    }

    fn provision(trusted: &Trusted, text: impl AsRef<[u8]>) {
        fs::create_dir_all(&trusted.folder).unwrap();
        fs::write(trusted.file(), text).unwrap();
    }

    #[test]
    fn nothing_is_trusted_until_it_is_recorded() {
        let (_scratch, root, trusted) = scratch();
        assert_eq!(trusted.state_of(&root, &ONE), TrustState::Untrusted);
        trusted.record(&root, &ONE).unwrap();
        assert_eq!(trusted.state_of(&root, &ONE), TrustState::Trusted);
        assert!(!root.join(".dogwatch").exists(), "nothing is written in the project");
    }

    #[test]
    fn another_content_is_changed() {
        let (_scratch, root, trusted) = scratch();
        trusted.record(&root, &ONE).unwrap();
        assert_eq!(trusted.state_of(&root, &TWO), TrustState::Changed);
    }

    #[test]
    fn the_later_line_wins() {
        let (_scratch, root, trusted) = scratch();
        trusted.record(&root, &ONE).unwrap();
        trusted.record(&root, &TWO).unwrap();
        assert_eq!(trusted.state_of(&root, &ONE), TrustState::Changed);
        assert_eq!(trusted.state_of(&root, &TWO), TrustState::Trusted);
    }

    #[test]
    fn another_root_with_the_same_content_is_not_trusted() {
        let (_scratch, root, trusted) = scratch();
        let other = root.join("other");
        fs::create_dir(&other).unwrap();
        trusted.record(&other, &ONE).unwrap();
        assert_eq!(trusted.state_of(&root, &ONE), TrustState::Untrusted);
    }

    #[test]
    fn a_root_is_known_by_its_real_path() {
        let (scratch, root, trusted) = scratch();
        symlink(&root, scratch.path().join("link")).unwrap();
        trusted.record(&scratch.path().join("link"), &ONE).unwrap();
        assert_eq!(trusted.state_of(&root, &ONE), TrustState::Trusted);
    }

    #[test]
    fn folder_and_file_are_closed_to_others() {
        let (_scratch, root, trusted) = scratch();
        trusted.record(&root, &ONE).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&trusted.folder), mode(&trusted.file())), (0o700, 0o600));
    }

    #[test]
    fn lines_that_are_none_are_passed_over() {
        let (_scratch, root, trusted) = scratch();
        let path = root.display();
        let bad = "zz".repeat(32);
        provision(
            &trusted,
            format!(
                "\n# trusted homes\nshort\n{}  {path}\n{bad}  {path}\n{} {path}\n{}",
                hex(&ONE),
                hex(&TWO),
                hex(&TWO)
            ),
        );
        assert_eq!(trusted.state_of(&root, &ONE), TrustState::Trusted);
    }

    #[test]
    fn a_last_line_without_a_line_break_counts_and_is_not_run_into() {
        let (_scratch, root, trusted) = scratch();
        let other = root.join("other");
        fs::create_dir(&other).unwrap();
        provision(&trusted, format!("{}  {}", hex(&ONE).to_uppercase(), root.display()));
        assert_eq!(trusted.state_of(&root, &ONE), TrustState::Trusted);
        trusted.record(&other, &TWO).unwrap();
        assert_eq!(trusted.state_of(&root, &ONE), TrustState::Trusted);
        assert_eq!(trusted.state_of(&other, &TWO), TrustState::Trusted);
    }

    #[test]
    fn a_path_that_is_no_text_is_recorded_as_it_is() {
        let (_scratch, root, trusted) = scratch();
        let odd = root.join(std::ffi::OsStr::from_bytes(b"od\xffd  x"));
        fs::create_dir(&odd).unwrap();
        trusted.record(&odd, &ONE).unwrap();
        assert_eq!(trusted.state_of(&odd, &ONE), TrustState::Trusted);
    }

    #[test]
    fn a_path_with_a_line_break_is_refused() {
        let (_scratch, root, trusted) = scratch();
        // The second line of it would trust another home.
        let tricky = root.join(format!("x\n{}  ", hex(&ONE)));
        fs::create_dir(&tricky).unwrap();
        assert!(matches!(trusted.record(&tricky, &ONE), Err(TrustError::LineBreak(_))));
        assert!(!trusted.file().exists());
    }

    #[test]
    fn a_record_that_is_too_large_is_neither_read_nor_added_to() {
        let (_scratch, root, trusted) = scratch();
        let mut text = format!("{}  {}\n", hex(&ONE), root.display());
        text.push_str(&"#".repeat(4 * 1024 * 1024));
        provision(&trusted, &text);
        assert_eq!(trusted.state_of(&root, &ONE), TrustState::Untrusted);
        assert!(matches!(trusted.record(&root, &ONE), Err(TrustError::State(StateError::TooLarge { .. }))));
        assert_eq!(fs::metadata(trusted.file()).unwrap().len(), text.len() as u64);
    }

    #[test]
    fn a_record_that_is_a_link_is_not_believed() {
        let (scratch, root, trusted) = scratch();
        let planted = scratch.path().join("planted");
        fs::write(&planted, format!("{}  {}\n", hex(&ONE), root.display())).unwrap();
        fs::create_dir_all(&trusted.folder).unwrap();
        symlink(&planted, trusted.file()).unwrap();
        assert_eq!(trusted.state_of(&root, &ONE), TrustState::Untrusted);
        assert!(trusted.record(&root, &ONE).is_err());
    }

    proptest! {
        #[test]
        fn an_arbitrary_record_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(last_hash(&bytes, Path::new("/a")), None);
        }

        #[test]
        fn a_hash_survives_its_writing(hash in any::<[u8; 32]>()) {
            prop_assert_eq!(from_hex(hex(&hash).as_bytes()), Some(hash));
        }
    }
}
