//! `state/wakes/<name>.json`: results that wait to be told to the session in charge.
//!
//! A wake is *pending* until somebody claims it. Who has claimed it is named in it by its process, so that the claim of
//! one that was killed is void. After it was told it is acknowledged, and gone. So it is told once as long as nobody is
//! killed; it is never lost; and it is told twice only where the kill fell between telling and acknowledging.
//!
//! Everything here changes only under `state/wakes.lock`, which is held for no longer than a few small files take.

use std::time::Duration;

use dogwatch_engine::process::Identity;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::state::{Folder, Lock, StateError};
use super::stored;

/// The folder in `state/`.
pub const FOLDER: &str = "wakes";
const ENDING: &str = ".json";
const LOCK_NAME: &str = "wakes.lock";
const LIMIT_BYTES: u64 = 64 * 1024;
/// How many are looked at.
const MOST: usize = 200;
/// How long the one who has told a wake waits to acknowledge it.
const ACKNOWLEDGE_BOUND: Duration = Duration::from_secs(5);

/// A result that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wake {
    /// What it is about; a newer result of the same name takes its place. A plain file name.
    pub name: String,
    /// What it says, clean.
    pub text: String,
    /// Which run found it.
    pub generation: u64,
    /// When, RFC 3339 with all nine digits: what tells it from another result of the same name, and sorts as text.
    pub at: String,
    /// Who is about to tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claimed_by: Option<Identity>,
}

impl Wake {
    /// A result of now.
    pub fn new(name: &str, text: String, generation: u64, now: Timestamp) -> Wake {
        Wake { name: name.to_owned(), text, generation, at: format!("{now:.9}"), claimed_by: None }
    }
}

/// Wakes that this process has claimed. What is not acknowledged is given back.
#[derive(Debug)]
pub struct Claimed {
    state: Folder,
    /// Who claimed them.
    me: Identity,
    wakes: Vec<Wake>,
}

impl Claimed {
    /// What they are.
    pub fn wakes(&self) -> &[Wake] {
        &self.wakes
    }

    /// They have been told: those are gone that the test holds for, the others are given back.
    pub fn acknowledge(mut self, is_told: impl Fn(&Wake) -> bool) {
        let (told, untold): (Vec<Wake>, Vec<Wake>) =
            std::mem::take(&mut self.wakes).into_iter().partition(is_told);
        self.settle(&told, &untold);
    }

    /// Without the lock nothing is done: this process ends soon, and its claim with it.
    fn settle(&self, told: &[Wake], untold: &[Wake]) {
        if told.is_empty() && untold.is_empty() {
            return;
        }
        let Ok(Some(_lock)) = self.state.lock(LOCK_NAME, ACKNOWLEDGE_BOUND) else { return };
        let Ok(Some(folder)) = self.state.open_sub(FOLDER) else { return };
        let is_ours = |wake: &Wake| {
            read(&folder, &wake.name)
                .is_some_and(|now| now.at == wake.at && now.claimed_by.as_ref() == Some(&self.me))
        };
        for wake in told.iter().filter(|wake| is_ours(wake)) {
            let _ = folder.remove(&file_name(&wake.name));
        }
        for wake in untold.iter().filter(|wake| is_ours(wake)) {
            let _ =
                stored::write(&folder, &file_name(&wake.name), &Wake { claimed_by: None, ..wake.clone() });
        }
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        let untold = std::mem::take(&mut self.wakes);
        self.settle(&[], &untold);
    }
}

/// Whether anything may be pending: one look at a folder.
pub fn may_be_pending(state: &Folder) -> bool {
    let Ok(Some(folder)) = state.open_sub(FOLDER) else { return false };
    folder.files(MOST).is_ok_and(|files| files.iter().any(|file| file.name.ends_with(ENDING)))
}

/// Claims the pending wakes that `wanted` holds for, the oldest first. Only for who may tell them: the session in charge,
/// by a reply that reaches its model. If somebody else is about it just now there is nothing to claim.
pub fn claim(state: &Folder, wanted: impl Fn(&Wake) -> bool) -> Option<Claimed> {
    if !may_be_pending(state) {
        return None;
    }
    let me = Identity::current().ok()?;
    let _lock = state.lock(LOCK_NAME, Duration::ZERO).ok()??;
    let folder = state.open_sub(FOLDER).ok()??;
    let mut wakes: Vec<Wake> = pending(&folder).into_iter().filter(|wake| wanted(wake)).collect();
    wakes.sort_by(|one, other| one.at.cmp(&other.at));
    // One that cannot be marked as claimed is left to somebody who can.
    wakes.retain_mut(|wake| {
        wake.claimed_by = Some(me.clone());
        stored::write(&folder, &file_name(&wake.name), wake).is_ok()
    });
    let state = state.try_clone().ok()?;
    (!wakes.is_empty()).then(|| Claimed { state, me, wakes })
}

/// What nobody is about to tell.
fn pending(folder: &Folder) -> Vec<Wake> {
    let files = folder.files(MOST).unwrap_or_default();
    files
        .iter()
        .filter_map(|file| read(folder, file.name.strip_suffix(ENDING)?))
        .filter(|wake| wake.claimed_by.as_ref().is_none_or(|claimant| !claimant.is_alive()))
        .collect()
}

/// Posts a wake in the place of an older one of its name, also of one that is just being told.
///
/// # Errors
/// Where it cannot be kept, or others had the lock for all of that time.
pub fn post(state: &Folder, wake: &Wake, bound: Duration) -> Result<bool, StateError> {
    let Some(lock) = state.lock(LOCK_NAME, bound)? else { return Ok(false) };
    write(&state.sub(FOLDER)?, wake, &lock)?;
    Ok(true)
}

/// Takes a wake back that no longer holds.
///
/// # Errors
/// Where it cannot be removed.
pub fn retract(state: &Folder, name: &str, bound: Duration) -> Result<(), StateError> {
    let Some(folder) = state.open_sub(FOLDER)? else { return Ok(()) };
    if folder.look(&file_name(name))?.is_none() {
        return Ok(());
    }
    if let Some(_lock) = state.lock(LOCK_NAME, bound)? {
        folder.remove(&file_name(name))?;
    }
    Ok(())
}

fn write(folder: &Folder, wake: &Wake, _lock: &Lock) -> Result<(), StateError> {
    stored::write(folder, &file_name(&wake.name), wake)
}

fn read(folder: &Folder, name: &str) -> Option<Wake> {
    let wake: Wake = stored::read(folder, &file_name(name), LIMIT_BYTES).ok()?.row()?;
    // Told under another name it could never be acknowledged.
    (wake.name == name).then_some(wake)
}

fn file_name(name: &str) -> String {
    format!("{name}{ENDING}")
}

#[cfg(test)]
mod tests;
