//! `state/complete.json`: the identity of the session whose full digest came to its end.
//!
//! It is removed as soon as a full run has the helm and written after its last stage was emitted, so that a run that
//! was cut leaves none.

use serde::{Deserialize, Serialize};

use super::helm::{self, HelmIdentity, Holder, Me};
use super::state::{Folder, StateError};
use super::stored;

/// The name of the file.
pub const FILE_NAME: &str = "complete.json";
const LIMIT_BYTES: u64 = 16 * 1024;

#[derive(Serialize, Deserialize)]
struct Complete {
    helm: HelmIdentity,
}

/// Takes the proof away. Fine if there was none.
pub fn clear(state: &Folder) -> Result<(), StateError> {
    state.remove(FILE_NAME).map(|_| ())
}

/// Leaves the proof that the holder's full digest came to its end.
pub fn write(state: &Folder, holder: &Holder) -> Result<(), StateError> {
    stored::write(state, FILE_NAME, &Complete { helm: holder.identity() })
}

/// Whether a complete startup of this session is proven: it has the helm, and the proof is of the same identity. Both
/// must be regular files; anything else proves nothing.
pub fn is_proven(state: &Folder, me: &Me) -> bool {
    let Some(identity) = me.identity() else { return false };
    let proof = stored::read::<Complete>(state, FILE_NAME, LIMIT_BYTES);
    proof.is_ok_and(|proof| proof.row().is_some_and(|complete| complete.helm == identity))
        && helm::is_mine(state, me)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use dogwatch_engine::process::Identity;
    use jiff::Timestamp;

    use super::super::helm::{Claim, acquire};
    use super::*;

    fn me() -> Me {
        Me {
            process: Some(Identity::current().unwrap()),
            harness: "claude".to_owned(),
            session: Some("s".to_owned()),
            shared_process: false,
        }
    }

    fn at_the_helm() -> (tempfile::TempDir, Folder, Holder) {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        let Claim::Taken { holder, .. } = acquire(&state, &me(), Timestamp::now()) else { panic!() };
        (home, state, holder)
    }

    #[test]
    fn a_complete_startup_is_proven_until_it_is_cleared() {
        let (_home, state, holder) = at_the_helm();
        assert!(!is_proven(&state, &me()), "a truncated one is not");
        write(&state, &holder).unwrap();
        assert!(is_proven(&state, &me()));
        assert!(is_proven(&state, &Me { session: Some("after /clear".to_owned()), ..me() }));
        clear(&state).unwrap();
        assert!(!is_proven(&state, &me()));
        clear(&state).unwrap();
    }

    #[test]
    fn the_helm_must_be_ours_as_well() {
        let (_home, state, holder) = at_the_helm();
        write(&state, &holder).unwrap();
        helm::release(&state, &me());
        assert!(!is_proven(&state, &me()));
    }

    #[test]
    fn the_proof_of_another_proves_nothing() {
        let (_home, state, holder) = at_the_helm();
        let process = Identity { start_time: holder.process.start_time + 1, ..holder.process.clone() };
        write(&state, &Holder { process, ..holder.clone() }).unwrap();
        assert!(!is_proven(&state, &me()));
        assert!(!is_proven(&state, &Me { process: None, ..me() }));
    }

    #[test]
    fn of_a_shared_process_only_that_session_is_proven() {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        let shared = Me { shared_process: true, ..me() };
        let Claim::Taken { holder, .. } = acquire(&state, &shared, Timestamp::now()) else { panic!() };
        write(&state, &holder).unwrap();
        assert!(is_proven(&state, &shared));
        assert!(!is_proven(&state, &Me { session: Some("other".to_owned()), ..shared }));
    }

    #[test]
    fn links_folders_and_garbage_prove_nothing() {
        let (home, state, holder) = at_the_helm();
        write(&state, &holder).unwrap();
        let path = state.path().join(FILE_NAME);
        fs::rename(&path, home.path().join("elsewhere")).unwrap();
        symlink(home.path().join("elsewhere"), &path).unwrap();
        assert!(!is_proven(&state, &me()), "a link");
        fs::remove_file(&path).unwrap();
        for garbage in ["", "{", "{}", "null", "[1]", r#"{"version":1}"#] {
            fs::write(&path, garbage).unwrap();
            assert!(!is_proven(&state, &me()), "{garbage}");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(!is_proven(&state, &me()), "a folder");
        assert!(clear(&state).is_err() && write(&state, &holder).is_err());
    }

    #[test]
    fn a_helm_that_is_a_link_proves_nothing() {
        let (home, state, holder) = at_the_helm();
        write(&state, &holder).unwrap();
        let path = state.path().join(helm::FILE_NAME);
        fs::rename(&path, home.path().join("elsewhere")).unwrap();
        symlink(home.path().join("elsewhere"), &path).unwrap();
        assert!(!is_proven(&state, &me()));
    }
}
