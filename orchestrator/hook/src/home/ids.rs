//! Session ids as harnesses hand them to us: any text, of any length.

use sha2::{Digest, Sha256};

use super::trust::hex;

/// The most bytes of an id that is kept as it is.
const LONGEST_BYTES: usize = 100;
/// How a hash begins that stands for an id.
const HASHED: &str = "sha256_";

/// An id as rows keep and compare it: itself, or its hash where it is longer than any harness's or is no plain text.
pub(super) fn kept(id: &str) -> String {
    if id.len() <= LONGEST_BYTES && !id.contains(|c: char| c.is_control() || crate::text::is_forbidden(c)) {
        return id.to_owned();
    }
    hashed(id)
}

/// A file name without its extension for a session of a harness: the id itself where a file name can hold it, else its
/// hash. Different sessions of a harness have different names, on file systems that fold case as well.
pub(super) fn file_stem(harness: &str, session: &str) -> String {
    let plain = |id: &str, also: &[u8]| {
        (1..=LONGEST_BYTES).contains(&id.len())
            && !id.starts_with(HASHED)
            && id
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || also.contains(&byte))
    };
    let harness =
        if plain(harness, b"-_") && harness.len() < 40 { harness.to_owned() } else { hashed(harness) };
    let session = if plain(session, b"-_") { session.to_owned() } else { hashed(session) };
    format!("{harness}-{session}")
}

fn hashed(id: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(id.as_bytes()).into();
    format!("{HASHED}{}", hex(&digest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0198f1a2-77aa-7d32-8888-0123456789ab")]
    #[case("ses_4f0a")]
    fn an_ordinary_id_is_its_own_name(#[case] id: &str) {
        assert_eq!(file_stem("codex", id), format!("codex-{id}"));
        assert_eq!(kept(id), id);
    }

    #[rstest]
    #[case("")]
    #[case("..")]
    #[case("../../etc/passwd")]
    #[case("a/b")]
    #[case("a\0b")]
    #[case("a\nb")]
    #[case("a.json")]
    #[case("ABC")]
    #[case("ä")]
    #[case("sha256_00")]
    fn an_odd_id_becomes_a_hash(#[case] id: &str) {
        let stem = file_stem("claude", id);
        assert!(stem.starts_with("claude-sha256_"), "{stem}");
        assert_eq!(stem.len(), "claude-sha256_".len() + 64);
    }

    #[test]
    fn a_huge_or_unprintable_id_is_kept_as_its_hash() {
        let id = "x".repeat(1024 * 1024);
        assert!(kept(&id).len() < LONGEST_BYTES);
        assert_ne!(kept(&id), kept(&id[1..]));
        assert!(kept("a\nb").starts_with(HASHED));
        assert!(kept("a\u{1B}[31m").starts_with(HASHED));
    }

    #[test]
    fn two_ids_that_differ_in_case_have_two_names() {
        let (one, other) = (file_stem("a", "Id"), file_stem("a", "id"));
        assert_ne!(one.to_lowercase(), other.to_lowercase());
    }

    proptest! {
        #[test]
        fn a_name_never_leads_elsewhere(harness in ".{0,60}", session in ".{0,200}") {
            let stem = file_stem(&harness, &session);
            prop_assert!(stem.len() <= 180 && !stem.starts_with('.'));
            prop_assert!(stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        }
    }
}
