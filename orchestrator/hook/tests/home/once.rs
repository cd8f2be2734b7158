//! Of any number of hooks of one event exactly one owns it.

use std::fs::{self, File, FileTimes};
use std::time::{Duration, SystemTime};

use dogwatch::home::once;

use crate::crew::Crew;

#[test]
fn of_forty_hooks_at_once_exactly_one_owns_the_event() {
    let mut crew = Crew::new(40);
    let everybody: Vec<usize> = (0..40).collect();
    for round in 0..10 {
        for is_old in [false, true] {
            if is_old {
                for entry in fs::read_dir(crew.state().path().join(once::FOLDER)).unwrap() {
                    let then = SystemTime::now() - Duration::from_secs(20);
                    let file = File::open(entry.unwrap().path()).unwrap();
                    file.set_times(FileTimes::new().set_modified(then)).unwrap();
                }
            }
            crew.order(&everybody, &format!("once event-{round}"));
            let owners = everybody.iter().filter(|_| crew.hear().1.as_deref() == Some("owner")).count();
            assert_eq!(owners, 1, "round {round}, old: {is_old}");
        }
    }
}
