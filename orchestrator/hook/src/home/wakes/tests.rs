use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use jiff::SignedDuration;
use nix::unistd::getppid;
use rstest::rstest;
use tempfile::TempDir;

use super::*;

const LONG: Duration = Duration::from_secs(30);

fn home() -> (TempDir, Folder) {
    let home = tempfile::tempdir().unwrap();
    let state = Folder::state_of(home.path()).unwrap();
    (home, state)
}

/// A wake of a time that is so many milliseconds after a whole second.
fn wake(name: &str, text: &str, milliseconds: i64) -> Wake {
    let at = "2026-11-30T12:00:00Z".parse::<Timestamp>().unwrap();
    Wake::new(name, text.to_owned(), 1, at + SignedDuration::from_millis(milliseconds))
}

#[track_caller]
fn put(state: &Folder, wake: &Wake) {
    assert!(post(state, wake, LONG).unwrap());
}

/// Posts a wake that somebody has claimed.
fn put_claimed(state: &Folder, name: &str, claimant: Identity) {
    put(state, &Wake { claimed_by: Some(claimant), ..wake(name, name, 0) });
}

fn all(_: &Wake) -> bool {
    true
}

fn names(claimed: Option<&Claimed>) -> Vec<&str> {
    claimed.iter().flat_map(|claimed| claimed.wakes()).map(|wake| wake.name.as_str()).collect()
}

fn texts(claimed: &Claimed) -> Vec<&str> {
    claimed.wakes().iter().map(|wake| wake.text.as_str()).collect()
}

/// What lies in the folder, leftovers of writers included.
fn files(state: &Folder) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(state.path().join(FOLDER))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn dead_process() -> Identity {
    let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
    let identity = Identity::of(i32::try_from(child.id()).unwrap()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    identity
}

#[test]
fn without_a_wake_nothing_is_claimed_and_nothing_is_made() {
    let (_home, state) = home();
    assert!(!may_be_pending(&state));
    assert!(claim(&state, all).is_none());
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}

#[test]
fn what_was_claimed_is_claimed_by_nobody_else_until_it_is_given_back() {
    let (_home, state) = home();
    put(&state, &wake("a", "text", 0));
    assert!(may_be_pending(&state));
    let claimed = claim(&state, all).unwrap();
    assert_eq!(texts(&claimed), ["text"]);
    assert!(claim(&state, all).is_none());
    drop(claimed);
    let again = claim(&state, all).unwrap();
    assert_eq!(texts(&again), ["text"]);
}

#[test]
fn what_was_told_is_gone_and_what_was_not_is_given_back() {
    let (_home, state) = home();
    for name in ["a", "b", "c"] {
        put(&state, &wake(name, name, 0));
    }
    claim(&state, all).unwrap().acknowledge(|wake| wake.name != "b");
    assert_eq!(files(&state), ["b.json"]);
    assert_eq!(names(claim(&state, all).as_ref()), ["b"]);
    claim(&state, all).unwrap().acknowledge(all);
    assert!(!may_be_pending(&state) && files(&state).is_empty());
}

#[test]
fn only_what_is_wanted_is_claimed() {
    let (_home, state) = home();
    put(&state, &wake("a", "a", 0));
    put(&state, &wake("b", "b", 0));
    let claimed = claim(&state, |wake| wake.name == "a").unwrap();
    assert_eq!(names(Some(&claimed)), ["a"]);
    assert_eq!(names(claim(&state, all).as_ref()), ["b"]);
    assert!(claim(&state, |wake| wake.name == "z").is_none());
}

#[test]
fn the_oldest_comes_first_whatever_digits_its_time_has() {
    let (_home, state) = home();
    // As short text 12:00:00Z would sort behind 12:00:00.5Z, and .12Z behind .123Z.
    for milliseconds in [500, 123, 0, 120, 1000] {
        put(&state, &wake(&format!("at-{milliseconds}"), "", milliseconds));
    }
    let claimed = claim(&state, all);
    assert_eq!(names(claimed.as_ref()), ["at-0", "at-120", "at-123", "at-500", "at-1000"]);
}

#[test]
fn the_claim_of_a_dead_process_is_void() {
    let (_home, state) = home();
    let here = Identity::current().unwrap();
    put_claimed(&state, "dead", dead_process());
    put_claimed(&state, "recycled", Identity { start_time: here.start_time + 1, ..here.clone() });
    put_claimed(&state, "other-boot", Identity { boot_id: "another".to_owned(), ..here.clone() });
    put_claimed(&state, "no-process", Identity { pid: -1, ..here });
    let claimed = claim(&state, all).unwrap();
    assert_eq!(claimed.wakes().len(), 4);
    claimed.acknowledge(all);
    assert!(files(&state).is_empty());
}

#[test]
fn the_claim_of_another_living_process_holds() {
    let (_home, state) = home();
    put_claimed(&state, "a", Identity::of(getppid().as_raw()).unwrap());
    assert!(claim(&state, all).is_none());
    assert!(may_be_pending(&state), "it is still there");
}

#[test]
fn a_newer_result_takes_the_place_of_one_that_is_being_told_and_is_not_lost_with_it() {
    let (_home, state) = home();
    put(&state, &wake("a", "old", 0));
    let old = claim(&state, all).unwrap();
    put(&state, &wake("a", "new", 1));
    let new = claim(&state, all).unwrap();
    assert_eq!(texts(&new), ["new"], "nobody tells the new one yet");
    drop(new);
    old.acknowledge(all);
    assert_eq!(texts(&claim(&state, all).unwrap()), ["new"]);
}

#[test]
fn one_process_that_has_an_older_and_a_newer_result_settles_each_for_itself() {
    // A digest takes what waits before its stages, and what was found meanwhile at the turn of one.
    let (_home, state) = home();
    put(&state, &wake("a", "old", 0));
    let old = claim(&state, all).unwrap();
    put(&state, &wake("a", "new", 1));
    let new = claim(&state, all).unwrap();
    old.acknowledge(all);
    assert_eq!(files(&state), ["a.json"], "the new one was not told with it");
    drop(new);
    assert_eq!(texts(&claim(&state, all).unwrap()), ["new"]);
}

#[test]
fn to_give_back_an_older_result_does_not_bring_it_back() {
    let (_home, state) = home();
    put(&state, &wake("a", "old", 0));
    let old = claim(&state, all).unwrap();
    put(&state, &wake("a", "new", 1));
    drop(old);
    assert_eq!(texts(&claim(&state, all).unwrap()), ["new"]);
}

#[test]
fn who_comes_back_late_takes_nothing_from_the_one_who_claimed_it_since() {
    let (_home, state) = home();
    put(&state, &wake("a", "a", 0));
    let mut late = claim(&state, all).unwrap();
    let other = Identity::of(getppid().as_raw()).unwrap();
    put_claimed(&state, "a", other.clone());
    late.acknowledge(all);
    assert_eq!(files(&state), ["a.json"], "it is not for us to remove");
    late = Claimed { state: state.try_clone().unwrap(), me: dead_process(), wakes: vec![wake("a", "a", 0)] };
    drop(late);
    let folder = state.open_sub(FOLDER).unwrap().unwrap();
    assert_eq!(read(&folder, "a").unwrap().claimed_by, Some(other), "nor to give back");
}

#[test]
fn what_was_taken_back_is_told_to_nobody() {
    let (_home, state) = home();
    retract(&state, "a", LONG).unwrap();
    put(&state, &wake("a", "a", 0));
    put(&state, &wake("b", "b", 0));
    retract(&state, "a", LONG).unwrap();
    retract(&state, "a", LONG).unwrap();
    assert_eq!(names(claim(&state, all).as_ref()), ["b"]);
}

#[test]
fn what_was_taken_back_while_it_was_claimed_does_not_come_back() {
    let (_home, state) = home();
    put(&state, &wake("a", "a", 0));
    let claimed = claim(&state, all).unwrap();
    retract(&state, "a", LONG).unwrap();
    drop(claimed);
    assert!(files(&state).is_empty());
}

#[test]
fn what_is_no_wake_is_passed_over_and_left_alone() {
    let (_home, state) = home();
    put(&state, &wake("real", "real", 0));
    let folder = state.path().join(FOLDER);
    fs::write(folder.join("empty.json"), "").unwrap();
    fs::write(folder.join("garbage.json"), b"\xff\0{").unwrap();
    fs::write(folder.join("other.json"), "[1,2]").unwrap();
    fs::write(folder.join("huge.json"), vec![b' '; 2 * usize::try_from(LIMIT_BYTES).unwrap()]).unwrap();
    fs::write(folder.join("note.txt"), "text").unwrap();
    fs::create_dir(folder.join("folder.json")).unwrap();
    symlink(folder.join("real.json"), folder.join("link.json")).unwrap();
    symlink("nowhere", folder.join("dangling.json")).unwrap();
    // Told under another name it could never be acknowledged, and would be told for ever.
    fs::copy(folder.join("real.json"), folder.join("copy.json")).unwrap();
    let before = files(&state).len();
    let claimed = claim(&state, all).unwrap();
    assert_eq!(names(Some(&claimed)), ["real"]);
    claimed.acknowledge(all);
    assert_eq!(files(&state).len(), before - 1);
    assert!(claim(&state, all).is_none());
}

#[rstest]
#[case::just_fits(65_000, 0)]
#[case::just_too_large(65_600, 1)]
fn a_wake_that_is_too_large_is_told_to_nobody(#[case] bytes: usize, #[case] lost: usize) {
    let (_home, state) = home();
    put(&state, &wake("a", &"x".repeat(bytes), 0));
    assert_eq!(claim(&state, all).map_or(0, |claimed| claimed.wakes().len()), 1 - lost);
}

#[test]
fn while_somebody_is_about_it_nothing_is_claimed_and_nobody_waits() {
    let (_home, state) = home();
    put(&state, &wake("a", "a", 0));
    let lock = state.lock(LOCK_NAME, LONG).unwrap().unwrap();
    let begin = Instant::now();
    assert!(claim(&state, all).is_none());
    assert!(!post(&state, &wake("a", "b", 1), Duration::ZERO).unwrap(), "and the poster is told");
    assert!(begin.elapsed() < Duration::from_secs(10));
    drop(lock);
    assert_eq!(texts(&claim(&state, all).unwrap()), ["a"]);
}

#[test]
fn who_cannot_acknowledge_in_time_leaves_a_claim_that_ends_with_its_process() {
    let (_home, state) = home();
    put(&state, &wake("a", "a", 0));
    let claimed = claim(&state, all).unwrap();
    let lock = state.lock(LOCK_NAME, LONG).unwrap().unwrap();
    let begin = Instant::now();
    claimed.acknowledge(all);
    assert!(begin.elapsed() >= ACKNOWLEDGE_BOUND && begin.elapsed() < ACKNOWLEDGE_BOUND * 10);
    drop(lock);
    assert!(claim(&state, all).is_none(), "this process is alive");
    assert_eq!(files(&state), ["a.json"], "and nothing is lost");
}

#[test]
fn of_two_hundred_at_once_exactly_one_has_it() {
    for _ in 0..5 {
        let (_home, state) = home();
        put(&state, &wake("a", "a", 0));
        let barrier = Barrier::new(200);
        let claimed: Vec<Claimed> = thread::scope(|scope| {
            let claimants: Vec<_> = (0..200)
                .map(|_| {
                    scope.spawn(|| {
                        let state = Folder::open_state_of(state.path().parent().unwrap()).unwrap().unwrap();
                        barrier.wait();
                        claim(&state, all)
                    })
                })
                .collect();
            claimants.into_iter().filter_map(|claimant| claimant.join().unwrap()).collect()
        });
        assert_eq!(claimed.len(), 1);
        assert_eq!(texts(&claimed[0]), ["a"]);
    }
}

#[test]
fn with_a_crowd_that_posts_claims_and_gives_back_no_wake_is_lost_or_told_twice() {
    let (home, state) = home();
    let told = std::sync::Mutex::new(Vec::new());
    thread::scope(|scope| {
        for poster in 0..4 {
            let state = Folder::state_of(home.path()).unwrap();
            scope.spawn(move || {
                for number in 0..10 {
                    put(&state, &wake(&format!("w-{poster}-{number}"), "", number));
                }
            });
        }
        for teller in 0..8 {
            let (state, told) = (Folder::state_of(home.path()).unwrap(), &told);
            scope.spawn(move || {
                let until = Instant::now() + LONG;
                while told.lock().unwrap().len() < 40 && Instant::now() < until {
                    let Some(claimed) = claim(&state, all) else {
                        // Who asks again at once keeps those away who have told and acknowledge.
                        thread::sleep(Duration::from_millis(2));
                        continue;
                    };
                    // Every other one gives its first back, or all.
                    let keeps: Vec<String> =
                        claimed.wakes().iter().skip(teller % 2).map(|wake| wake.name.clone()).collect();
                    told.lock().unwrap().extend(keeps.iter().cloned());
                    claimed.acknowledge(|wake| keeps.contains(&wake.name));
                }
            });
        }
    });
    let mut told = told.into_inner().unwrap();
    assert_eq!(told.len(), 40);
    told.sort();
    told.dedup();
    assert_eq!(told.len(), 40, "each once");
    assert!(claim(&state, all).is_none() && files(&state).is_empty());
}

#[test]
fn in_a_home_that_is_gone_nothing_is_claimed_and_to_post_is_an_error() {
    let (home, state) = home();
    put(&state, &wake("a", "a", 0));
    let claimed = claim(&state, all).unwrap();
    fs::remove_dir_all(home.path()).unwrap();
    assert!(!may_be_pending(&state) && claim(&state, all).is_none());
    assert!(post(&state, &wake("b", "b", 0), LONG).is_err());
    assert!(retract(&state, "a", LONG).is_ok(), "there is none");
    claimed.acknowledge(all);
    assert!(!home.path().exists(), "nothing is made again");
}

#[test]
fn a_folder_that_is_a_link_is_not_followed() {
    let (home, state) = home();
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, state.path().join(FOLDER)).unwrap();
    assert!(post(&state, &wake("a", "a", 0), LONG).is_err());
    fs::write(elsewhere.join("a.json"), serde_json::to_vec(&wake("a", "a", 0)).unwrap()).unwrap();
    assert!(!may_be_pending(&state) && claim(&state, all).is_none());
    assert!(retract(&state, "a", LONG).is_err());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_marked_as_claimed_is_not_told() {
    if nix::unistd::geteuid().is_root() {
        // Permissions do not bind root.
        return;
    }
    let (_home, state) = home();
    put(&state, &wake("a", "a", 0));
    let read_only = |mode| {
        let folder = state.path().join(FOLDER);
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    };
    read_only(0o500);
    assert!(may_be_pending(&state) && claim(&state, all).is_none());
    read_only(0o700);
    assert_eq!(names(claim(&state, all).as_ref()), ["a"]);
}

#[test]
fn a_name_that_leads_out_of_the_folder_is_refused() {
    let (_home, state) = home();
    state.write_atomic("helm.json", b"kept").unwrap();
    for name in ["../helm", "a/b", ".hidden", ""] {
        assert!(post(&state, &wake(name, "text", 0), LONG).is_err(), "{name}");
        assert!(retract(&state, name, LONG).is_err(), "{name}");
    }
    assert!(claim(&state, all).is_none());
    assert_eq!(fs::read(state.path().join("helm.json")).unwrap(), b"kept");
}
