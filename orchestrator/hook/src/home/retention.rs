//! What session open removes: rows, digests and evidence files that nobody has written for 30 days, at most 50 of them,
//! and what killed writers left behind.

use std::path::Path;

use jiff::Timestamp;

use super::rows::{self, Row};
use super::state::{Entry, Folder};
use super::{once, roots, stored, wakes};

/// The most files that one session open removes.
pub const MOST_REMOVED: usize = 50;
const OLD_SECONDS: i64 = 30 * 24 * 60 * 60;
/// The most names of a folder that are looked at.
const MOST_NAMES: usize = 2000;
const ROW_LIMIT_BYTES: u64 = 256 * 1024;

/// Removes what is old; how many files. `state_folder` is dogwatch's own folder, where a row's root is remembered. It
/// never fails: what cannot be removed is tried again by the next session.
pub fn sweep(state: &Folder, state_folder: Option<&Path>, now: Timestamp) -> usize {
    once::remove_old(state, now);
    let mut left = MOST_REMOVED;
    left -= remove_old_rows(state, state_folder, now, left);
    left -= remove_old(state, "digest", &[".txt"], now, left);
    left -= remove_old(state, "evidence", &[".jsonl"], now, left);
    if let Some(Ok(Some(outside))) = state_folder.map(Folder::open_private) {
        // Roots of sessions whose home is gone.
        left -= remove_old(&outside, roots::FOLDER, &[""], now, left);
    }
    for folder in [None, Some(rows::FOLDER), Some(once::FOLDER), Some(wakes::FOLDER)] {
        let removed = match folder {
            None => state.remove_abandoned(now.as_second(), left),
            Some(name) => state.open_sub(name).and_then(|folder| {
                folder.map_or(Ok(0), |folder| folder.remove_abandoned(now.as_second(), left))
            }),
        };
        left -= removed.unwrap_or(0).min(left);
    }
    MOST_REMOVED - left
}

fn remove_old_rows(state: &Folder, state_folder: Option<&Path>, now: Timestamp, most: usize) -> usize {
    let Ok(Some(folder)) = state.open_sub(rows::FOLDER) else { return 0 };
    let mut removed = 0;
    for file in old_files(&folder, &[".json", ".touched"], now) {
        if removed >= most {
            break;
        }
        // A session can be there and have had no event for a month.
        let row = stored::read::<Row>(&folder, &file.name, ROW_LIMIT_BYTES);
        if row.is_ok_and(|row| row.row().is_some_and(|row| row.is_live(now))) {
            continue;
        }
        if !folder.remove(&file.name).unwrap_or(false) {
            continue;
        }
        removed += 1;
        if let (Some(stem), Some(state_folder)) = (file.name.strip_suffix(".json"), state_folder) {
            // It is found by the rule again.
            let _ = roots::forget_stem(state_folder, stem);
        }
    }
    removed
}

fn remove_old(parent: &Folder, name: &str, endings: &[&str], now: Timestamp, most: usize) -> usize {
    let Ok(Some(folder)) = parent.open_sub(name) else { return 0 };
    let old = old_files(&folder, endings, now);
    old.iter().take(most).filter(|file| folder.remove(&file.name).unwrap_or(false)).count()
}

/// The oldest first.
fn old_files(folder: &Folder, endings: &[&str], now: Timestamp) -> Vec<Entry> {
    let mut files = folder.files(MOST_NAMES).unwrap_or_default();
    files.retain(|file| {
        endings.iter().any(|ending| file.name.ends_with(ending))
            && now.as_second().saturating_sub(file.modified_seconds) > OLD_SECONDS
    });
    files.sort_by_key(|file| file.modified_seconds);
    files
}

#[cfg(test)]
mod tests {
    use std::fs::{self, FileTimes};
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use dogwatch_engine::process::Identity;

    use super::super::helm::Me;
    use super::*;

    const DAY_SECONDS: u64 = 24 * 60 * 60;

    fn home() -> (tempfile::TempDir, Folder) {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        (home, state)
    }

    fn aged(path: &Path, days: u64) {
        let then = SystemTime::now() - Duration::from_secs(days * DAY_SECONDS);
        fs::File::open(path).unwrap().set_times(FileTimes::new().set_modified(then)).unwrap();
    }

    fn put(state: &Folder, folder: &str, name: &str, days: u64) -> PathBuf {
        let folder = state.sub(folder).unwrap();
        folder.write_atomic(name, b"").unwrap();
        let path = folder.path().join(name);
        aged(&path, days);
        path
    }

    fn now() -> Timestamp {
        Timestamp::now()
    }

    #[test]
    fn what_is_older_than_30_days_goes_and_the_rest_stays() {
        let (_home, state) = home();
        let old = [
            put(&state, "sessions", "codex-a.json", 31),
            put(&state, "sessions", "codex-a.touched", 31),
            put(&state, "digest", "a.txt", 31),
            put(&state, "evidence", "a.jsonl", 31),
        ];
        let kept = [
            put(&state, "sessions", "codex-b.json", 29),
            put(&state, "digest", "b.txt", 29),
            put(&state, "digest", "old.other", 99),
            put(&state, "evidence", "b.jsonl", 0),
        ];
        state.append("trace.jsonl", b"x\n").unwrap();
        aged(&state.path().join("trace.jsonl"), 99);
        assert_eq!(sweep(&state, None, now()), 4);
        assert!(old.iter().all(|path| !path.exists()));
        assert!(kept.iter().all(|path| path.exists()) && state.path().join("trace.jsonl").exists());
        assert_eq!(sweep(&state, None, now()), 0);
    }

    #[test]
    fn fifty_go_at_a_time_the_oldest_first() {
        let (_home, state) = home();
        for number in 0..70 {
            put(&state, "digest", &format!("{number}.txt"), 100 - number);
        }
        assert_eq!(sweep(&state, None, now()), 50);
        assert!(!state.path().join("digest/0.txt").exists());
        assert!(state.path().join("digest/69.txt").exists());
        assert_eq!(sweep(&state, None, now()), 20);
    }

    #[test]
    fn the_row_of_a_session_that_is_there_stays() {
        let (_home, state) = home();
        for (session, start_time) in [("live", None), ("dead", Some(1))] {
            let mut process = Identity::current().unwrap();
            process.start_time = start_time.unwrap_or(process.start_time);
            let me = Me {
                process: Some(process),
                harness: "claude".to_owned(),
                session: Some(session.to_owned()),
                shared_process: false,
            };
            rows::save(&state, &Row::new(&me, session, now())).unwrap();
            aged(&state.path().join(format!("sessions/claude-{session}.json")), 40);
        }
        assert_eq!(sweep(&state, None, now()), 1);
        assert!(state.path().join("sessions/claude-live.json").exists());
    }

    #[test]
    fn a_rows_root_goes_with_it() {
        let (home, state) = home();
        let outside = home.path().join("outside");
        roots::remember(&outside, "codex", "a", Path::new("/a")).unwrap();
        roots::remember(&outside, "codex", "b", Path::new("/b")).unwrap();
        roots::remember(&outside, "codex", "homeless", Path::new("/c")).unwrap();
        aged(&outside.join("roots/codex-homeless"), 31);
        put(&state, "sessions", "codex-a.json", 31);
        assert_eq!(sweep(&state, Some(&outside), now()), 2);
        assert_eq!(roots::recall(&outside, "codex", "a"), None);
        assert_eq!(roots::recall(&outside, "codex", "homeless"), None);
        assert!(roots::recall(&outside, "codex", "b").is_some());
    }

    #[test]
    fn odd_folders_are_passed_over() {
        let (home, state) = home();
        fs::create_dir(home.path().join("elsewhere")).unwrap();
        fs::write(home.path().join("elsewhere/a.txt"), "").unwrap();
        aged(&home.path().join("elsewhere/a.txt"), 99);
        std::os::unix::fs::symlink(home.path().join("elsewhere"), state.path().join("digest")).unwrap();
        fs::write(state.path().join("evidence"), "").unwrap();
        assert_eq!(sweep(&state, Some(&home.path().join("missing")), now()), 0);
        assert!(home.path().join("elsewhere/a.txt").exists());
    }
}
