use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Instant;

use jiff::SignedDuration;
use nix::sys::stat::Mode;
use nix::unistd::{getppid, mkfifo};
use rstest::rstest;
use tempfile::TempDir;

use super::*;

fn home() -> (TempDir, Folder) {
    let home = tempfile::tempdir().unwrap();
    let state = Folder::state_of(home.path()).unwrap();
    (home, state)
}

fn this_process() -> Identity {
    Identity::current().unwrap()
}

/// A living process that is another one than this.
fn other_process() -> Identity {
    Identity::of(getppid().as_raw()).unwrap()
}

fn me(process: Identity, session: &str) -> Me {
    Me {
        process: Some(process),
        harness: "claude".to_owned(),
        session: Some(session.to_owned()),
        shared_process: false,
    }
}

fn shared(session: &str) -> Me {
    Me { shared_process: true, ..me(this_process(), session) }
}

fn now() -> Timestamp {
    Timestamp::now()
}

#[track_caller]
fn taken(claim: Claim) -> (Holder, Option<Stale>) {
    match claim {
        Claim::Taken { holder, replaced } => (holder, replaced),
        other => panic!("expected the helm to be taken: {other:?}"),
    }
}

#[track_caller]
fn replaced_because(claim: Claim) -> Why {
    taken(claim).1.expect("there was a row").why
}

#[track_caller]
fn refused(claim: Claim) -> String {
    match claim {
        Claim::NotWritable(why) => why,
        other => panic!("expected a refusal: {other:?}"),
    }
}

/// Changes the row as a file.
fn tamper(state: &Folder, change: impl FnOnce(&mut serde_json::Value)) {
    let path = state.path().join(FILE_NAME);
    let mut row = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut row);
    fs::write(path, serde_json::to_vec(&row).unwrap()).unwrap();
}

#[test]
fn a_free_helm_is_taken_and_then_mine() {
    let (_home, state) = home();
    assert!(peek(&state).is_none());
    let (holder, replaced) = taken(acquire(&state, &me(this_process(), "a"), now()));
    assert_eq!((replaced, holder.harness.as_str()), (None, "claude"));
    assert_eq!(acquire(&state, &me(this_process(), "a"), now()), Claim::Mine(holder.clone()));
    assert!(is_mine(&state, &me(this_process(), "a")));
    assert_eq!(peek(&state), Some((holder, Liveness::Alive)));
}

#[test]
fn the_row_says_its_version_and_who_and_where() {
    let (_home, state) = home();
    let (holder, _) = taken(acquire(&state, &me(this_process(), "a"), now()));
    let row: serde_json::Value =
        serde_json::from_slice(&fs::read(state.path().join(FILE_NAME)).unwrap()).unwrap();
    assert_eq!(row["version"], 1);
    assert_eq!(row["process"]["pid"], holder.process.pid);
    assert_eq!(row["session"], "a");
    assert!(row["host"].is_string() && row["pid_namespace"].is_u64());
    assert!(holder.since.parse::<Timestamp>().is_ok());
}

#[test]
fn after_clear_the_same_process_keeps_the_helm_under_its_new_session() {
    let (_home, state) = home();
    let (before, _) = taken(acquire(&state, &me(this_process(), "a"), now()));
    let later = now() + SignedDuration::from_secs(90);
    let Claim::Mine(holder) = acquire(&state, &me(this_process(), "b"), later) else { panic!() };
    assert_eq!((holder.session.as_deref(), &holder.since), (Some("b"), &before.since));
    assert_eq!(peek(&state).unwrap().0, holder);
    let unnamed = Me { session: None, ..me(this_process(), "") };
    assert_eq!(acquire(&state, &unnamed, later), Claim::Mine(holder));
}

#[test]
fn a_living_holder_keeps_the_helm() {
    let (_home, state) = home();
    let (holder, _) = taken(acquire(&state, &me(other_process(), "a"), now()));
    assert_eq!(acquire(&state, &me(this_process(), "b"), now()), Claim::Held(holder));
    assert!(!is_mine(&state, &me(this_process(), "b")));
    let much_later = now() + SignedDuration::from_hours(1000);
    assert!(matches!(acquire(&state, &me(this_process(), "b"), much_later), Claim::Held(_)));
}

#[test]
fn the_same_session_in_another_process_is_another_holder() {
    let (_home, state) = home();
    taken(acquire(&state, &me(other_process(), "a"), now()));
    assert!(matches!(acquire(&state, &me(this_process(), "a"), now()), Claim::Held(_)));
}

#[test]
fn a_recycled_process_id_gives_way() {
    let (_home, state) = home();
    let recycled = Identity { start_time: other_process().start_time + 1, ..other_process() };
    taken(acquire(&state, &me(recycled.clone(), "a"), now()));
    assert_eq!(peek(&state).unwrap().1, Liveness::Stale(Why::Recycled));
    let (_, replaced) = taken(acquire(&state, &me(this_process(), "b"), now()));
    let replaced = replaced.unwrap();
    assert_eq!((replaced.why, replaced.holder.unwrap().process), (Why::Recycled, recycled));
}

#[test]
fn the_recycled_process_itself_is_not_the_holder() {
    let (_home, state) = home();
    let recycled = Identity { start_time: this_process().start_time + 1, ..this_process() };
    taken(acquire(&state, &me(recycled, "a"), now()));
    assert!(!is_mine(&state, &me(this_process(), "a")));
    assert_eq!(replaced_because(acquire(&state, &me(this_process(), "a"), now())), Why::Recycled);
}

#[test]
fn a_holder_of_another_boot_gives_way_even_if_a_process_looks_alike() {
    let (_home, state) = home();
    let other_boot = Identity { boot_id: "another boot".to_owned(), ..other_process() };
    taken(acquire(&state, &me(other_boot, "a"), now()));
    assert_eq!(replaced_because(acquire(&state, &me(this_process(), "b"), now())), Why::OtherBoot);
}

#[rstest]
#[case::host("host", serde_json::json!("elsewhere"))]
#[case::namespace("pid_namespace", serde_json::json!(1))]
fn a_holder_that_cannot_be_seen_is_never_taken_for_dead(
    #[case] field: &str,
    #[case] value: serde_json::Value,
) {
    let (_home, state) = home();
    let dead = Identity { start_time: 1, ..other_process() };
    taken(acquire(&state, &me(dead, "a"), now()));
    tamper(&state, |row| row[field] = value);
    let Claim::Invisible(why) = acquire(&state, &me(this_process(), "b"), now()) else { panic!() };
    assert!(why.contains("claude"), "{why}");
    assert!(matches!(peek(&state).unwrap().1, Liveness::Invisible(_)));
    assert_eq!(replaced_because(take(&state, &me(this_process(), "b"), now())), Why::TakenAway);
}

#[test]
fn a_process_with_the_same_numbers_in_another_namespace_is_another_one() {
    let (_home, state) = home();
    taken(acquire(&state, &me(this_process(), "a"), now()));
    tamper(&state, |row| row["pid_namespace"] = serde_json::json!(1));
    assert!(!is_mine(&state, &me(this_process(), "a")));
    assert!(matches!(acquire(&state, &me(this_process(), "a"), now()), Claim::Invisible(_)));
}

#[test]
fn whose_harness_cannot_be_seen_takes_nothing() {
    let (_home, state) = home();
    let unseen = Me { process: None, ..me(this_process(), "a") };
    assert!(matches!(acquire(&state, &unseen, now()), Claim::Invisible(_)));
    assert!(matches!(take(&state, &unseen, now()), Claim::Invisible(_)));
    let unnamed = Me { session: None, ..shared("a") };
    assert!(matches!(acquire(&state, &unnamed, now()), Claim::Invisible(_)), "which session of several?");
    assert!(!state.path().join(FILE_NAME).exists());
    assert!(!is_mine(&state, &unseen) && !release(&state, &unseen));
}

#[test]
fn in_a_shared_process_the_session_decides() {
    let (_home, state) = home();
    taken(acquire(&state, &shared("a"), now()));
    assert!(matches!(acquire(&state, &shared("a"), now()), Claim::Mine(_)));
    assert!(matches!(acquire(&state, &shared("b"), now()), Claim::Held(_)));
    assert!(is_mine(&state, &shared("a")) && !is_mine(&state, &shared("b")));
}

#[test]
fn a_session_of_a_shared_process_gives_way_after_ten_minutes_without_an_event() {
    let (_home, state) = home();
    let begin = now();
    taken(acquire(&state, &shared("a"), begin));
    let at = |seconds| begin + SignedDuration::from_secs(seconds);
    assert!(matches!(acquire(&state, &shared("b"), at(590)), Claim::Held(_)));
    touch(&state, &shared("a"), at(590));
    assert!(matches!(acquire(&state, &shared("b"), at(1180)), Claim::Held(_)), "an event counts");
    touch(&state, &shared("b"), at(1180));
    assert_eq!(replaced_because(acquire(&state, &shared("b"), at(1192))), Why::Silent);
    touch(&state, &shared("a"), at(1193));
    assert!(is_mine(&state, &shared("b")), "an event of the old one takes nothing back");
}

#[test]
fn a_silent_session_that_comes_back_first_still_has_the_helm() {
    let (_home, state) = home();
    let begin = now();
    taken(acquire(&state, &shared("a"), begin));
    let later = begin + SignedDuration::from_secs(5000);
    assert!(matches!(acquire(&state, &shared("a"), later), Claim::Mine(_)));
    assert!(matches!(acquire(&state, &shared("b"), later), Claim::Held(_)));
}

#[test]
fn an_event_writes_only_where_the_process_is_shared_and_not_each_time() {
    let (_home, state) = home();
    let inode = || state.look(FILE_NAME).unwrap().unwrap().st_ino;
    let begin = now();
    let at = |seconds| begin + SignedDuration::from_secs(seconds);
    taken(acquire(&state, &me(this_process(), "a"), begin));
    let before = inode();
    touch(&state, &me(this_process(), "a"), at(3600));
    assert_eq!(inode(), before);
    assert!(release(&state, &me(this_process(), "a")));

    taken(acquire(&state, &shared("a"), begin));
    let before = inode();
    touch(&state, &shared("a"), at(20));
    assert_eq!(inode(), before);
    touch(&state, &shared("a"), at(31));
    assert_ne!(inode(), before);
}

#[test]
fn only_the_holder_releases() {
    let (_home, state) = home();
    assert!(!release(&state, &me(this_process(), "a")));
    taken(acquire(&state, &me(other_process(), "a"), now()));
    assert!(!release(&state, &me(this_process(), "b")));
    assert!(release(&state, &me(other_process(), "a")));
    assert!(!release(&state, &me(other_process(), "a")));
    assert_eq!(taken(acquire(&state, &me(this_process(), "b"), now())).1, None);
}

#[test]
fn a_persons_word_takes_it_from_a_living_holder() {
    let (_home, state) = home();
    let (holder, _) = taken(acquire(&state, &me(other_process(), "a"), now()));
    let (_, replaced) = taken(take(&state, &me(this_process(), "b"), now()));
    assert_eq!(replaced, Some(Stale { why: Why::TakenAway, holder: Some(holder) }));
    assert!(matches!(take(&state, &me(this_process(), "b"), now()), Claim::Mine(_)));
    assert!(matches!(acquire(&state, &me(other_process(), "a"), now()), Claim::Held(_)));
}

#[rstest]
#[case::empty(b"")]
#[case::cut(br#"{"version":1,"process":{"pid":1"#)]
#[case::garbage(b"\xff\xfe\0garbage")]
#[case::other_json(b"[1,2,3]")]
#[case::an_empty_object(b"{}")]
#[case::only_a_pid(b"4711\n")]
#[case::wrong_types(br#"{"version":1,"process":{"pid":"1","start_time":1,"boot_id":"x"},"host":"h","harness":"c","since":"s"}"#)]
fn a_row_that_is_none_is_replaced(#[case] content: &[u8]) {
    let (_home, state) = home();
    fs::write(state.path().join(FILE_NAME), content).unwrap();
    assert!(peek(&state).is_none());
    let (_, replaced) = taken(acquire(&state, &me(this_process(), "a"), now()));
    assert_eq!(replaced, Some(Stale { why: Why::Unreadable, holder: None }));
    assert!(is_mine(&state, &me(this_process(), "a")));
}

#[test]
fn a_huge_row_is_replaced() {
    let (_home, state) = home();
    fs::write(state.path().join(FILE_NAME), vec![b' '; 4 << 20]).unwrap();
    assert_eq!(replaced_because(acquire(&state, &me(this_process(), "a"), now())), Why::Unreadable);
}

#[test]
fn an_absurd_process_id_in_the_row_is_replaced_and_nothing_is_signalled() {
    let (_home, state) = home();
    for pid in [0, -1, -42, i32::MAX] {
        taken(take(&state, &me(Identity { pid, ..this_process() }, "a"), now()));
        let why = replaced_because(acquire(&state, &me(this_process(), "b"), now()));
        assert!(matches!(why, Why::Unreadable | Why::Dead), "{pid}: {why}");
    }
}

#[test]
fn a_huge_session_id_makes_a_row_that_can_be_read() {
    let (_home, state) = home();
    let id = "x".repeat(1 << 20);
    taken(acquire(&state, &shared(&id), now()));
    assert!(is_mine(&state, &shared(&id)) && !is_mine(&state, &shared(&id[1..])));
    assert!(matches!(acquire(&state, &shared("b"), now()), Claim::Held(_)));
}

fn a_folder(path: &Path) {
    fs::create_dir(path).unwrap();
}

fn a_link_to_a_file(path: &Path) {
    let target = path.with_extension("target");
    fs::write(&target, "kept").unwrap();
    symlink(target, path).unwrap();
}

fn a_dangling_link(path: &Path) {
    symlink("nowhere", path).unwrap();
}

fn a_link_to_itself(path: &Path) {
    symlink(path, path).unwrap();
}

fn a_fifo(path: &Path) {
    mkfifo(path, Mode::S_IRWXU).unwrap();
}

fn a_socket(path: &Path) {
    drop(std::os::unix::net::UnixListener::bind(path).unwrap());
}

#[rstest]
#[case::folder(a_folder)]
#[case::link(a_link_to_a_file)]
#[case::dangling_link(a_dangling_link)]
#[case::link_to_itself(a_link_to_itself)]
#[case::fifo(a_fifo)]
#[case::socket(a_socket)]
fn with_a_lock_that_is_no_file_nobody_has_the_helm_and_nobody_waits(#[case] put: fn(&Path)) {
    let (_home, state) = home();
    put(&state.path().join(LOCK_NAME));
    let begin = Instant::now();
    let why = refused(acquire(&state, &me(this_process(), "a"), now()));
    assert!(why.contains(LOCK_NAME), "{why}");
    refused(take(&state, &me(this_process(), "a"), now()));
    assert!(begin.elapsed() < CLAIM_BOUND);
    assert!(!state.path().join(FILE_NAME).exists() && !state.path().join("nowhere").exists());
}

#[test]
fn a_bad_lock_does_not_hide_who_has_the_helm() {
    let (_home, state) = home();
    taken(acquire(&state, &me(other_process(), "a"), now()));
    state.remove(LOCK_NAME).unwrap();
    a_folder(&state.path().join(LOCK_NAME));
    assert!(matches!(acquire(&state, &me(this_process(), "b"), now()), Claim::Held(_)));
    assert!(matches!(acquire(&state, &me(other_process(), "a"), now()), Claim::Mine(_)));
    assert!(!release(&state, &me(other_process(), "a")));
}

#[rstest]
#[case::empty(b"")]
#[case::a_dead_process(b"1\n")]
#[case::another_boot(br#"{"pid":1,"start_time":1,"boot_id":"another"}"#)]
#[case::garbage(b"\0\xff")]
fn what_a_lock_file_holds_is_of_no_account(#[case] content: &[u8]) {
    let (_home, state) = home();
    fs::write(state.path().join(LOCK_NAME), content).unwrap();
    taken(acquire(&state, &me(this_process(), "a"), now()));
}

#[rstest]
#[case::link(a_link_to_a_file)]
#[case::dangling_link(a_dangling_link)]
#[case::fifo(a_fifo)]
#[case::socket(a_socket)]
fn a_row_that_is_no_file_is_replaced_and_not_followed(#[case] put: fn(&Path)) {
    let (_home, state) = home();
    let path = state.path().join(FILE_NAME);
    put(&path);
    assert!(peek(&state).is_none());
    assert_eq!(replaced_because(acquire(&state, &me(this_process(), "a"), now())), Why::Unreadable);
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
    assert!(!state.path().join("nowhere").exists());
    if let Ok(target) = fs::read_to_string(path.with_extension("target")) {
        assert_eq!(target, "kept");
    }
}

#[test]
fn a_row_that_is_a_folder_cannot_be_written() {
    let (_home, state) = home();
    a_folder(&state.path().join(FILE_NAME));
    let why = refused(acquire(&state, &me(this_process(), "a"), now()));
    assert!(why.contains(FILE_NAME), "{why}");
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 2, "the folder and the lock, and nothing else");
}

#[test]
fn a_state_folder_that_is_gone_cannot_be_written() {
    let (_home, state) = home();
    fs::remove_dir(state.path()).unwrap();
    refused(acquire(&state, &me(this_process(), "a"), now()));
}

#[test]
fn in_a_read_only_home_the_holder_is_seen_and_nothing_is_taken() {
    if nix::unistd::geteuid().is_root() {
        // Permissions do not bind root; a folder that is gone, above, shows the same for it.
        return;
    }
    let (_home, state) = home();
    let read_only = |mode| fs::set_permissions(state.path(), fs::Permissions::from_mode(mode)).unwrap();
    taken(acquire(&state, &me(other_process(), "a"), now()));
    read_only(0o500);
    assert!(matches!(acquire(&state, &me(this_process(), "b"), now()), Claim::Held(_)));
    refused(take(&state, &me(this_process(), "b"), now()));
    assert!(!release(&state, &me(other_process(), "a")));
    read_only(0o700);
}

#[test]
fn a_row_that_may_not_be_read_is_not_taken_for_garbage() {
    if nix::unistd::geteuid().is_root() {
        return;
    }
    let (_home, state) = home();
    taken(acquire(&state, &me(other_process(), "a"), now()));
    fs::set_permissions(state.path().join(FILE_NAME), fs::Permissions::from_mode(0o000)).unwrap();
    refused(acquire(&state, &me(this_process(), "b"), now()));
}

#[test]
fn a_lock_that_is_held_is_waited_for_no_longer_than_its_bound() {
    let (_home, state) = home();
    let lock = state.lock(LOCK_NAME, CLAIM_BOUND).unwrap().unwrap();
    let begin = Instant::now();
    assert_eq!(acquire(&state, &me(this_process(), "a"), now()), Claim::Contended);
    let waited = begin.elapsed();
    assert!(waited >= CLAIM_BOUND && waited < CLAIM_BOUND * 5, "{waited:?}");
    drop(lock);
    taken(acquire(&state, &me(this_process(), "a"), now()));
}

#[test]
fn a_settled_helm_needs_no_lock() {
    let (_home, state) = home();
    taken(acquire(&state, &me(other_process(), "a"), now()));
    let _lock = state.lock(LOCK_NAME, CLAIM_BOUND).unwrap().unwrap();
    assert!(matches!(acquire(&state, &me(other_process(), "a"), now()), Claim::Mine(_)));
    assert!(matches!(acquire(&state, &me(this_process(), "b"), now()), Claim::Held(_)));
}

/// The helm of this process, held for a sweep.
fn swept(state: &Folder) -> (Holder, Sweep) {
    let (holder, _) = taken(acquire(state, &me(this_process(), "a"), now()));
    let sweep = hold_for_sweep(state, &holder.identity()).unwrap();
    (holder, sweep)
}

#[test]
fn while_a_sweep_is_at_work_nobody_takes_the_helm_over_and_nobody_waits() {
    let (_home, state) = home();
    let gone = Identity { start_time: 1, ..this_process() };
    let (holder, _) = taken(acquire(&state, &me(gone, "a"), now()));
    let sweep = hold_for_sweep(&state, &holder.identity()).unwrap();
    let begin = Instant::now();
    for _ in 0..5 {
        assert_eq!(acquire(&state, &me(this_process(), "b"), now()), Claim::Sweeping);
        assert_eq!(take(&state, &me(this_process(), "b"), now()), Claim::Sweeping);
    }
    assert!(begin.elapsed() < CLAIM_BOUND, "{:?}", begin.elapsed());
    assert_eq!(peek(&state).unwrap().0, holder, "the row is as it was");
    drop(sweep);
    assert_eq!(replaced_because(acquire(&state, &me(this_process(), "b"), now())), Why::Recycled);
}

#[test]
fn a_persons_word_does_not_take_it_from_a_living_holder_in_a_sweep() {
    let (_home, state) = home();
    let (holder, sweep) = swept(&state);
    assert_eq!(take(&state, &me(other_process(), "b"), now()), Claim::Sweeping);
    assert_eq!(acquire(&state, &me(other_process(), "b"), now()), Claim::Held(holder.clone()));
    drop(sweep);
    let (_, replaced) = taken(take(&state, &me(other_process(), "b"), now()));
    assert_eq!(replaced, Some(Stale { why: Why::TakenAway, holder: Some(holder) }));
}

#[test]
fn a_sweep_is_nothing_to_the_session_that_it_is_for() {
    let (_home, state) = home();
    let (_, _sweep) = swept(&state);
    assert!(matches!(acquire(&state, &me(this_process(), "a"), now()), Claim::Mine(_)));
    assert!(matches!(take(&state, &me(this_process(), "a"), now()), Claim::Mine(_)));
    // Its row is still written, as after a clear.
    let Claim::Mine(holder) = acquire(&state, &me(this_process(), "b"), now()) else { panic!() };
    assert_eq!(holder.session.as_deref(), Some("b"));
    assert!(is_mine(&state, &me(this_process(), "b")));
}

#[rstest]
#[case::released(true)]
#[case::made_garbage(false)]
fn a_helm_that_is_free_or_unreadable_is_not_taken_during_a_sweep(#[case] is_released: bool) {
    let (_home, state) = home();
    let (_, sweep) = swept(&state);
    if is_released {
        assert!(release(&state, &me(this_process(), "a")));
    } else {
        fs::write(state.path().join(FILE_NAME), "garbage").unwrap();
    }
    assert_eq!(acquire(&state, &me(other_process(), "b"), now()), Claim::Sweeping);
    drop(sweep);
    taken(acquire(&state, &me(other_process(), "b"), now()));
}

#[test]
fn a_sweep_is_not_begun_for_a_session_that_has_lost_the_helm() {
    let (_home, state) = home();
    let (holder, sweep) = swept(&state);
    drop(sweep);
    let other = me(other_process(), "b").identity().unwrap();
    assert_eq!(hold_for_sweep(&state, &other).unwrap_err(), "the helm has gone to another session");
    taken(take(&state, &me(other_process(), "b"), now()));
    assert!(hold_for_sweep(&state, &holder.identity()).is_err());
    assert!(hold_for_sweep(&state, &other).is_ok());
    assert!(release(&state, &me(other_process(), "b")));
    assert!(hold_for_sweep(&state, &other).is_err(), "nobody has it");
    fs::write(state.path().join(FILE_NAME), "garbage").unwrap();
    assert!(hold_for_sweep(&state, &other).is_err(), "nobody knows who has it");
}

#[test]
fn in_a_shared_process_a_sweep_is_of_the_session_it_was_started_for() {
    let (_home, state) = home();
    let (holder, _) = taken(acquire(&state, &shared("a"), now()));
    assert!(hold_for_sweep(&state, &shared("b").identity().unwrap()).is_err());
    let _sweep = hold_for_sweep(&state, &holder.identity()).unwrap();
    let later = now() + SignedDuration::from_secs(700);
    assert_eq!(acquire(&state, &shared("b"), later), Claim::Sweeping);
    touch(&state, &shared("a"), later);
    assert!(matches!(acquire(&state, &shared("b"), later), Claim::Held(_)));
}

#[test]
fn there_is_one_sweep_at_a_time() {
    let (_home, state) = home();
    let (holder, sweep) = swept(&state);
    assert_eq!(hold_for_sweep(&state, &holder.identity()).unwrap_err(), "another sweep is at work");
    drop(sweep);
    assert!(hold_for_sweep(&state, &holder.identity()).is_ok());
}

#[test]
fn a_sweep_waits_for_the_row_no_longer_than_a_claim_and_begins_only_with_it() {
    let (_home, state) = home();
    let (holder, sweep) = swept(&state);
    drop(sweep);
    let lock = state.lock(LOCK_NAME, CLAIM_BOUND).unwrap().unwrap();
    let begin = Instant::now();
    assert!(hold_for_sweep(&state, &holder.identity()).is_err());
    assert!(begin.elapsed() >= CLAIM_BOUND && begin.elapsed() < CLAIM_BOUND * 5, "{:?}", begin.elapsed());
    drop(lock);
    // The lock of the row is not kept for the length of the sweep.
    let _sweep = hold_for_sweep(&state, &holder.identity()).unwrap();
    assert!(state.lock(LOCK_NAME, Duration::ZERO).unwrap().is_some());
}

#[test]
fn a_sweep_lock_that_is_no_file_keeps_the_helm_from_being_taken_blindly() {
    let (_home, state) = home();
    a_folder(&state.path().join(SWEEP_LOCK_NAME));
    let why = refused(acquire(&state, &me(this_process(), "a"), now()));
    assert!(why.contains(SWEEP_LOCK_NAME), "{why}");
}

#[test]
fn without_a_sweep_a_claim_makes_no_lock_of_it() {
    let (_home, state) = home();
    taken(acquire(&state, &me(this_process(), "a"), now()));
    assert!(!state.path().join(SWEEP_LOCK_NAME).exists());
}
