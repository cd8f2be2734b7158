//! Of any number of sessions at once exactly one has the helm, whoever is killed when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use dogwatch::home::helm::{self, Liveness};
use dogwatch::home::state::Folder;

use crate::crew::Crew;

const SESSIONS: usize = 40;

/// Reads the row over and over until told to stop: it is a whole one each time or is not there. How often it was there.
fn watch(state: &Folder, stop: &AtomicBool) -> usize {
    let mut seen = 0;
    while !stop.load(Ordering::Relaxed) {
        if let Some(bytes) = state.read(helm::FILE_NAME, 1 << 20).unwrap() {
            let row: serde_json::Value = serde_json::from_slice(&bytes).expect("the row is whole");
            assert!(row["version"] == 1 && row["process"]["pid"].is_i64() && row["since"].is_string());
            seen += 1;
        }
        thread::yield_now();
    }
    seen
}

/// So that a failed assertion does not wait for the watcher for ever.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn of_forty_sessions_at_once_exactly_one_takes_the_helm() {
    let mut crew = Crew::new(SESSIONS);
    let everybody: Vec<usize> = (0..SESSIONS).collect();
    let (watched, stop) = (crew.state(), AtomicBool::new(false));
    thread::scope(|scope| {
        let stop = StopOnDrop(&stop);
        let watcher = scope.spawn(|| watch(&watched, stop.0));
        for round in 0..50 {
            crew.order(&everybody, "acquire");
            let mut answers = BTreeMap::new();
            for _ in &everybody {
                let (number, said) = crew.hear();
                answers.insert(number, said.expect("nobody was killed"));
            }
            let takers: Vec<usize> =
                answers.iter().filter(|(_, said)| *said == "taken").map(|(number, _)| *number).collect();
            assert_eq!(takers.len(), 1, "round {round}: {answers:?}");
            let held = format!("held by {}", crew.pid(takers[0]));
            assert_eq!(
                answers.values().filter(|said| **said == held).count(),
                SESSIONS - 1,
                "round {round}: {answers:?}"
            );
            assert!(crew.state().remove(helm::FILE_NAME).unwrap());
        }
        drop(stop);
        assert!(watcher.join().unwrap() > 0, "the row was seen");
    });
    assert_only_helm_files(&crew.state());
}

#[test]
fn with_sessions_killed_at_any_instant_exactly_one_of_the_living_has_the_helm() {
    let mut random = Random(0x5eed_1e55);
    for round in 0..12 {
        let mut crew = Crew::new(SESSIONS);
        let everybody: Vec<usize> = (0..SESSIONS).collect();
        let (watched, stop) = (crew.state(), AtomicBool::new(false));
        thread::scope(|scope| {
            let stop = StopOnDrop(&stop);
            scope.spawn(|| watch(&watched, stop.0));
            crew.order(&everybody, "acquire");
            let mut killed = BTreeSet::new();
            let mut takers = Vec::new();
            let mut open = everybody.iter().copied().collect::<BTreeSet<usize>>();
            // Some while all are at it, and then now and then whoever has just taken it.
            for _ in 0..random.below(8) {
                let number = random.below(SESSIONS);
                crew.kill(number);
                killed.insert(number);
            }
            while !open.is_empty() {
                let (number, said) = crew.hear();
                if let Some(said) = said {
                    assert!(!said.starts_with("unexpected"), "round {round}: {said}");
                    if said.starts_with("taken") {
                        takers.push((number, said));
                        if random.below(3) > 0 && killed.len() < SESSIONS / 2 {
                            crew.kill(number);
                            killed.insert(number);
                        }
                    }
                } else {
                    assert!(killed.contains(&number), "round {round}: {number} has ended by itself");
                }
                open.remove(&number);
                if random.below(10) == 0 && killed.len() < SESSIONS / 2 {
                    let number = random.below(SESSIONS);
                    crew.kill(number);
                    killed.insert(number);
                }
            }
            // Whoever took it from somebody took it from one that was killed.
            let of_killed: BTreeSet<String> =
                killed.iter().map(|number| format!("taken from {}", crew.pid(*number))).collect();
            for (_, said) in &takers {
                assert!(said == "taken" || of_killed.contains(said), "round {round}: {takers:?}");
            }
            for number in &killed {
                crew.await_death(*number);
            }
            let living: Vec<usize> = (0..SESSIONS).filter(|number| !killed.contains(number)).collect();
            let living_takers = takers.iter().filter(|(number, _)| living.contains(number)).count();
            assert!(living_takers <= 1, "round {round}: {takers:?}");

            crew.order(&living, "acquire");
            let mut has = Vec::new();
            let mut held = BTreeSet::new();
            for _ in &living {
                let (number, said) = crew.hear_from(&living);
                if said == "mine" || said.starts_with("taken") {
                    has.push(number);
                } else {
                    held.insert(said);
                }
            }
            assert_eq!(has.len(), 1, "round {round}: {has:?} {held:?}");
            assert_eq!(held, BTreeSet::from([format!("held by {}", crew.pid(has[0]))]));
            let (holder, liveness) = helm::peek(&crew.state()).unwrap();
            assert_eq!((holder.process.pid.unsigned_abs(), liveness), (crew.pid(has[0]), Liveness::Alive));
        });
    }
}

#[test]
fn a_lock_whose_holder_was_killed_keeps_nobody_out() {
    let mut crew = Crew::new(2);
    crew.order(&[0], "lock helm.lock");
    assert_eq!(crew.hear(), (0, Some("locked".to_owned())));
    assert!(crew.state().lock("helm.lock", std::time::Duration::ZERO).unwrap().is_none(), "it is held");
    crew.order(&[1], "acquire");
    crew.kill(0);
    let mut said = BTreeSet::from([crew.hear(), crew.hear()]);
    assert!(said.remove(&(0, None)));
    assert_eq!(said, BTreeSet::from([(1, Some("taken".to_owned()))]));
}

#[test]
fn a_sweep_whose_worker_was_killed_holds_nobody_off() {
    let mut crew = Crew::new(3);
    crew.order(&[0], "acquire");
    assert_eq!(crew.hear(), (0, Some("taken".to_owned())));
    crew.order(&[1], "sweep");
    assert_eq!(crew.hear(), (1, Some("sweeping".to_owned())));
    // The session ends while its sweep is still at work.
    crew.kill(0);
    assert_eq!(crew.hear(), (0, None));
    crew.await_death(0);
    let begin = std::time::Instant::now();
    crew.order(&[2], "acquire");
    assert_eq!(crew.hear(), (2, Some("unexpected: Sweeping".to_owned())));
    assert!(begin.elapsed() < std::time::Duration::from_secs(20));
    crew.kill(1);
    assert_eq!(crew.hear(), (1, None));
    crew.await_death(1);
    crew.order(&[2], "acquire");
    assert_eq!(crew.hear(), (2, Some(format!("taken from {}", crew.pid(0)))));
}

fn assert_only_helm_files(state: &Folder) {
    let mut names: Vec<_> =
        std::fs::read_dir(state.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| name != helm::FILE_NAME && name != "helm.lock");
    assert!(names.is_empty(), "left behind: {names:?}");
}

/// SplitMix64: a failure can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}
