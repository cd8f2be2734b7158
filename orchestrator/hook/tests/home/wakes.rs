//! A wake is told by one process of many, and never lost with one that is killed.

use std::collections::BTreeMap;
use std::time::Duration;

use dogwatch::home::state::Folder;
use dogwatch::home::wakes::{self, Wake};
use jiff::Timestamp;

use crate::crew::Crew;

const SESSIONS: usize = 40;
const NOTHING: &str = "claimed ";

fn post(state: &Folder, text: &str) {
    let wake = Wake::new("a", text.to_owned(), 1, Timestamp::now());
    assert!(wakes::post(state, &wake, Duration::from_secs(30)).unwrap());
}

/// Lets those claim at the same instant; what each said.
fn claim(crew: &mut Crew, numbers: &[usize]) -> BTreeMap<usize, String> {
    crew.order(numbers, "claim");
    numbers.iter().map(|_| crew.hear_from(numbers)).collect()
}

fn winner(answers: &BTreeMap<usize, String>, text: &str) -> usize {
    let winners: Vec<usize> =
        answers.iter().filter(|(_, said)| *said != NOTHING).map(|(number, _)| *number).collect();
    assert_eq!(winners.len(), 1, "{answers:?}");
    assert_eq!(answers[&winners[0]], format!("{NOTHING}{text}"));
    winners[0]
}

#[test]
fn of_forty_processes_at_once_exactly_one_tells_a_wake_and_then_it_is_gone() {
    let mut crew = Crew::new(SESSIONS);
    let everybody: Vec<usize> = (0..SESSIONS).collect();
    for round in 0..30 {
        let text = format!("round-{round}");
        post(&crew.state(), &text);
        let answers = claim(&mut crew, &everybody);
        let winner = winner(&answers, &text);
        // While it is being told nobody else has it.
        assert!(claim(&mut crew, &[(winner + 1) % SESSIONS]).values().all(|said| said == NOTHING));
        crew.order(&[winner], "acknowledge");
        crew.hear();
        assert!(!wakes::may_be_pending(&crew.state()), "round {round}");
    }
}

#[test]
fn a_wake_whose_teller_was_killed_is_told_by_another() {
    let mut crew = Crew::new(SESSIONS);
    let mut living: Vec<usize> = (0..SESSIONS).collect();
    post(&crew.state(), "text");
    for _ in 0..12 {
        let answers = claim(&mut crew, &living);
        let winner = winner(&answers, "text");
        crew.kill(winner);
        crew.await_death(winner);
        living.retain(|number| *number != winner);
        assert!(wakes::may_be_pending(&crew.state()));
    }
}

#[test]
fn a_wake_whose_lock_holder_was_killed_waits_for_nobody() {
    let mut crew = Crew::new(2);
    post(&crew.state(), "text");
    crew.order(&[0], "lock wakes.lock");
    assert_eq!(crew.hear(), (0, Some("locked".to_owned())));
    assert_eq!(claim(&mut crew, &[1])[&1], NOTHING);
    crew.kill(0);
    assert_eq!(crew.hear(), (0, None));
    crew.await_death(0);
    assert_eq!(claim(&mut crew, &[1])[&1], "claimed text");
}
