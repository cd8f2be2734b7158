//! The stage `profile`: how the person likes to work, or, once, how to say so.

use std::io::Read;

use super::ground::Ground;
use super::unreadable::unreadable;
use crate::home::read::{self, ReadError};
use crate::text::{clean, cut_bytes, line, redact, redact_cut};

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
    let text = match beginning(path).and_then(|bytes| shown(&name, &bytes)) {
        Ok(shown) => shown,
        Err(ReadError::Missing) if welcomed => None,
        Err(ReadError::Missing) => {
            let text = format!(
                "Welcome to dogwatch (said once). Tell the person: a few lines in {name} on how they like to work (tone, \
                 tools, what never to do) reach every new session."
            );
            return Profile { text: Some(text), welcome: true };
        }
        Err(error) => Some(unreadable(&format!("The person's profile {name}"), &error)),
    };
    Profile { text, welcome: false }
}

/// As much of the profile as is shown, and a little more if there is more.
fn beginning(path: &std::path::Path) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    read::open_regular(path)?.take(SHOWN_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    Ok(bytes)
}

fn shown(name: &str, bytes: &[u8]) -> Result<Option<String>, ReadError> {
    let more = bytes.len() > SHOWN_BYTES;
    let bytes = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // A character that the cut goes through is none that is wrong.
        Err(error) if more && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).map_err(|_| ReadError::NotText)?
        }
        Err(_) => return Err(ReadError::NotText),
    };
    let cleaned = clean(text);
    let cleaned = if more { redact_cut(&cleaned) } else { redact(&cleaned) };
    let body = cut_bytes(cleaned.trim(), SHOWN_BYTES).trim_end();
    if body.is_empty() {
        return Ok(None);
    }
    let end = if more { format!("\n(Cut here; read the rest in {name}.)") } else { String::new() };
    Ok(Some(format!("The person's profile ({name}):\n{body}{end}")))
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
    }

    #[test]
    fn a_cut_leaves_no_half_of_a_credential() {
        let url = "https://user:s3cret@host.invalid/";
        for before in SHOWN_BYTES - url.len()..SHOWN_BYTES {
            let profile = format!("{} {url}", "x".repeat(before));
            let said = with(Some(profile.as_bytes()), false).text.unwrap();
            assert!(!said.contains("user"), "{said}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_one_line() {
        let cut_in_a_character = "🙂".as_bytes()[..3].to_vec();
        for bytes in [b"Terse.\xFF\n".to_vec(), vec![0xFF; 5000], cut_in_a_character] {
            let said = with(Some(&bytes), false);
            assert!(!said.welcome);
            insta::allow_duplicates! {
                insta::assert_snapshot!(said.text.unwrap(), @"The person's profile CONFIG/profile.md cannot be read: not UTF-8 text; save it as UTF-8, then run `dogwatch open` again.");
            }
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.md");
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        let said = text(&Ground { profile: Some(path), ..Ground::at(folder.path()) }, false);
        assert!(said.text.unwrap().contains("profile.md cannot be read: not a regular file; "));
        assert!(!said.welcome);
    }
}
