//! The stage `profile`: how the person likes to work, or, once, how to say so.

use std::io::Read;

use super::ground::Ground;
use crate::home::read::{self, ReadError};
use crate::text::{clean_bytes, cut_bytes, line};

/// How much of the profile is shown.
const SHOWN_BYTES: usize = 4 * 1024;

/// What the stage says, and whether that was the welcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// The text of the stage, if it has one.
    pub text: Option<String>,
    /// Whether the text is the welcome; the caller remembers that it was given.
    pub welcome: bool,
}

/// The person's profile, or where there is none and the person was not `welcomed` yet, the welcome.
///
/// An empty profile says nothing and asks for no welcome. The file itself must be a plain file; the folder that holds it
/// may be a link.
pub fn text(ground: &Ground, welcomed: bool) -> Profile {
    let Some(path) = ground.profile.as_deref() else { return Profile::default() };
    let name = line(&path.to_string_lossy());
    let text = match beginning(path) {
        Ok(bytes) => shown(&name, &bytes),
        Err(ReadError::Missing) if welcomed => None,
        Err(ReadError::Missing) => {
            let text = format!(
                "Welcome to dogwatch (said once). Tell the person: a few lines in {name} on how they like to work (tone, \
                 tools, what never to do) reach every new session."
            );
            return Profile { text: Some(text), welcome: true };
        }
        Err(error) => Some(format!("The person's profile {name} cannot be read: {error}.")),
    };
    Profile { text, welcome: false }
}

/// As much of the profile as is shown, and a little more if there is more.
fn beginning(path: &std::path::Path) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    read::open_regular(path)?.take(SHOWN_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    Ok(bytes)
}

fn shown(name: &str, bytes: &[u8]) -> Option<String> {
    let more = bytes.len() > SHOWN_BYTES;
    // What the cut leaves of a character in the middle is no replacement character.
    let mut bytes = &bytes[..bytes.len().min(SHOWN_BYTES)];
    if more
        && let Err(error) = std::str::from_utf8(bytes)
        && error.error_len().is_none()
    {
        bytes = &bytes[..error.valid_up_to()];
    }
    let cleaned = clean_bytes(bytes);
    let body = cut_bytes(cleaned.trim(), SHOWN_BYTES).trim_end();
    if body.is_empty() {
        return None;
    }
    let end = if more { format!("\n(Cut here; read the rest in {name}.)") } else { String::new() };
    Some(format!("The person's profile ({name}):\n{body}{end}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn with(bytes: Option<&[u8]>, welcomed: bool) -> Profile {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.md");
        if let Some(bytes) = bytes {
            fs::write(&path, bytes).unwrap();
        }
        let ground = Ground { profile: Some(path), ..Ground::at(folder.path()) };
        let mut profile = text(&ground, welcomed);
        profile.text = profile.text.map(|text| text.replace(&folder.path().display().to_string(), "CONFIG"));
        profile
    }

    #[test]
    fn shows_the_profile() {
        for welcomed in [false, true] {
            let said = with(Some(b"Terse.\r\n\x1b[1mNever\x1b[0m push.\n\n"), welcomed);
            assert!(!said.welcome);
            insta::allow_duplicates! {
                insta::assert_snapshot!(said.text.unwrap(), @"
                The person's profile (CONFIG/profile.md):
                Terse.
                Never push.
                ");
            }
        }
    }

    #[test]
    fn welcomes_once() {
        let said = with(None, false);
        assert!(said.welcome);
        insta::assert_snapshot!(said.text.unwrap(), @"Welcome to dogwatch (said once). Tell the person: a few lines in CONFIG/profile.md on how they like to work (tone, tools, what never to do) reach every new session.");
        assert_eq!(with(None, true), Profile::default());
    }

    #[test]
    fn an_empty_profile_is_an_answer() {
        assert_eq!(with(Some(b" \n"), false), Profile::default());
        let root = tempfile::tempdir().unwrap();
        assert_eq!(text(&Ground::at(root.path()), false), Profile::default());
    }

    #[test]
    fn a_long_profile_is_cut_between_characters() {
        let said = with(Some(format!("x{}", "🙂".repeat(5000)).as_bytes()), false).text.unwrap();
        assert!(said.len() < SHOWN_BYTES + 150);
        assert!(!said.contains('\u{FFFD}'));
        assert!(said.ends_with("\n(Cut here; read the rest in CONFIG/profile.md.)"), "{said}");
        // No character longer in cleaned form than its bytes were may break the bound.
        let said = with(Some(&[0xFF; 4096]), false).text.unwrap();
        assert!(said.len() < SHOWN_BYTES + 150);
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.md");
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        let said = text(&Ground { profile: Some(path), ..Ground::at(folder.path()) }, false);
        assert!(said.text.unwrap().ends_with("profile.md cannot be read: not a regular file."));
        assert!(!said.welcome);
    }
}
