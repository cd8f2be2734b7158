//! An identity is one process and no other: what has its id later is never hit, and to wait for its end is bounded.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dogwatch_engine::process::Identity;

use crate::support::SLACK;

/// A process that ends with its input, at the latest with the test.
struct Cat(Child);

impl Cat {
    fn start() -> (Self, Identity) {
        let child = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let identity = Identity::of(child.id().cast_signed()).unwrap();
        (Self(child), identity)
    }
}

impl Drop for Cat {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Others that bear its id: of an earlier process, of another boot.
fn strangers(living: &Identity) -> [Identity; 3] {
    [
        Identity { start_time: living.start_time - 1, ..living.clone() },
        Identity { start_time: living.start_time + 1, ..living.clone() },
        Identity { boot_id: "another".to_owned(), ..living.clone() },
    ]
}

#[test]
fn a_process_that_has_the_id_now_is_never_hit() {
    let (_cat, living) = Cat::start();
    for stranger in strangers(&living) {
        assert!(!stranger.is_alive() && !stranger.kill(), "{stranger:?}");
    }
    assert!(living.is_alive());
}

#[test]
fn a_stranger_is_not_waited_for() {
    let (_cat, living) = Cat::start();
    let begin = Instant::now();
    for stranger in strangers(&living) {
        assert!(stranger.wait_for_end(Duration::from_secs(60)), "that one has ended");
    }
    assert!(begin.elapsed() < SLACK);
}

#[test]
fn no_process_has_an_absurd_id() {
    for pid in [0, -1, i32::MIN, i32::MAX] {
        let nobody = Identity { pid, ..Identity::current().unwrap() };
        assert!(
            !nobody.is_alive() && !nobody.kill() && nobody.wait_for_end(Duration::from_secs(60)),
            "{pid}"
        );
    }
}

#[test]
fn what_is_killed_ends_and_is_killed_once() {
    let (cat, living) = Cat::start();
    assert!(living.kill());
    // It stays a zombie: nobody has reaped it, and nobody else has its id.
    assert!(living.wait_for_end(SLACK));
    assert!(!living.is_alive() && !living.kill());
    drop(cat);
    assert!(living.wait_for_end(Duration::ZERO) && !living.kill());
}

#[test]
fn to_wait_for_a_process_that_goes_on_is_bounded() {
    let (_cat, living) = Cat::start();
    assert!(!living.wait_for_end(Duration::ZERO));
    let begin = Instant::now();
    assert!(!living.wait_for_end(Duration::from_micros(1500)), "less than the clock of the wait tells");
    assert!(begin.elapsed() >= Duration::from_micros(1500));
    assert!(!living.wait_for_end(Duration::from_millis(200)));
    assert!(begin.elapsed() >= Duration::from_millis(200) && begin.elapsed() < SLACK);
}

#[test]
fn who_waits_hears_of_the_end_when_it_comes() {
    let (mut cat, living) = Cat::start();
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| living.wait_for_end(Duration::from_secs(60)));
        drop(cat.0.stdin.take());
        assert!(waits.join().unwrap());
    });
    assert!(begin.elapsed() < SLACK);
}

#[test]
fn without_a_bound_worth_the_name_a_wait_is_still_one() {
    let (cat, living) = Cat::start();
    assert!(living.kill());
    assert!(living.wait_for_end(Duration::MAX));
    drop(cat);
}
