use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::harness::Harness;
use crate::home::state::Folder;

const LONG: std::time::Duration = std::time::Duration::from_secs(30);

fn wake(name: &str, text: &str) -> Wake {
    Wake::new(name, text.to_owned(), 1, Timestamp::UNIX_EPOCH)
}

fn header() -> String {
    operational::header(operational::LABEL, operational::Kind::Wake)
}

fn composed(budget: Budget, wakes: &[Wake]) -> (String, Vec<String>) {
    compose(budget, operational::LABEL, wakes)
}

#[test]
fn one_message_holds_them_in_order_and_begins_as_one() {
    let wakes = [wake("b", "first\n  | x"), wake("a", "second")];
    let (text, told) = composed(Budget::Unlimited, &wakes);
    assert_eq!(text, format!("{}first\n  | x\n\nsecond", header()));
    assert_eq!(told, ["b", "a"]);
    assert!(text.starts_with('\u{2063}'), "the marker counts at byte 0 alone");
    let message = operational::classify(operational::LABEL, &text).unwrap();
    assert_eq!(message.kind, operational::Kind::Wake);
}

#[test]
fn the_label_is_the_projects() {
    let (text, _) = compose(Budget::Unlimited, "OTHER_OP", &[wake("a", "x")]);
    assert_eq!(text, "\u{2063}OTHER_OP: v1 wake: x");
}

#[rstest]
#[case::utf16(Budget::Utf16(1000), "ä", 1)]
#[case::utf16_of_two_units(Budget::Utf16(1000), "\u{1F6A2}", 2)]
#[case::bytes(Budget::Bytes(1000), "ä", 2)]
#[case::unlimited(Budget::Unlimited, "ä", 2)]
#[case::of_another_event(Budget::Discarded, "x", 1)]
fn as_many_as_fit_are_told_to_the_last_unit(#[case] budget: Budget, #[case] c: &str, #[case] size: usize) {
    let most = budget.limit().filter(|limit| *limit > 0).unwrap_or(MOST_BYTES);
    let room = most - budget.measure(&header()) - "\n\n".len();
    let first = c.repeat(room / 2 / size);
    let rest = room - first.chars().count() * size;
    // Whatever does not come out even is filled up.
    let fits = format!("{}{}", c.repeat(rest / size), "x".repeat(rest % size));
    let (text, told) = composed(budget, &[wake("a", &first), wake("b", &fits)]);
    assert_eq!((told.len(), budget.measure(&text)), (2, most));
    let (text, told) = composed(budget, &[wake("a", &first), wake("b", &format!("{fits}x"))]);
    assert_eq!((text, told), (header() + &first, vec!["a".to_owned()]));
}

#[test]
fn the_first_is_told_in_any_case() {
    let long = "x".repeat(2000);
    let (text, told) = composed(Budget::Bytes(1000), &[wake("a", &long), wake("b", "short")]);
    assert_eq!((text, told), (header() + &long, vec!["a".to_owned()]));
}

#[test]
fn nobody_overtakes_one_that_does_not_fit() {
    let wakes = [wake("a", "short"), wake("b", &"x".repeat(2000)), wake("c", "short")];
    assert_eq!(composed(Budget::Bytes(1000), &wakes).1, ["a"]);
}

#[test]
fn the_longest_wake_there_is_fits_whole_into_every_harness() {
    let name = "n".repeat(64);
    for said in ["\u{1F6A2}".repeat(16 * 1024), "\n".repeat(16 * 1024) + "x", "x".repeat(16 * 1024)] {
        let text = crate::deferred::wake_text(&name, &said, Timestamp::UNIX_EPOCH);
        for harness in crate::harness::TABLE {
            let label = "L".repeat(64);
            let (text, told) = compose(harness.budget, &label, &[wake("network-a", &text)]);
            assert_eq!(told, ["network-a"]);
            if let Some(limit) = harness.budget.limit().filter(|limit| *limit > 0) {
                assert!(harness.budget.measure(&text) <= limit, "{}", harness.id);
            }
        }
    }
}

#[test]
fn what_is_composed_is_what_the_harness_is_handed() {
    let wakes: Vec<Wake> = (0..20).map(|n| wake(&n.to_string(), &"ä€x ".repeat(300))).collect();
    for name in ["claude", "codex", "cursor", "pi"] {
        let (harness, _): (&Harness, _) = Harness::by_name(name).unwrap();
        let (text, told) = composed(harness.budget, &wakes);
        assert!(!told.is_empty() && told.len() < 20, "{name}: {}", told.len());
        assert_eq!(harness.budget.cut(&text), text, "{name} would cut it");
    }
}

proptest! {
    #[test]
    fn what_is_told_is_a_beginning_of_what_waits_and_stands_whole(
        texts in proptest::collection::vec("(\\PC|\n){0,300}", 1..8), limit in 400_usize..1500,
    ) {
        let wakes: Vec<Wake> = texts.iter().enumerate().map(|(n, text)| wake(&n.to_string(), text)).collect();
        for budget in [Budget::Utf16(limit), Budget::Bytes(limit)] {
            let (text, told) = composed(budget, &wakes);
            let expected: Vec<String> = (0..told.len()).map(|n| n.to_string()).collect();
            prop_assert_eq!(&told, &expected);
            prop_assert!(!told.is_empty());
            prop_assert!(told.len() == 1 || budget.measure(&text) <= limit);
            prop_assert_eq!(text, header() + &texts[..told.len()].join("\n\n"));
        }
    }
}

fn home(wakes: &[Wake]) -> (tempfile::TempDir, Folder) {
    let home = tempfile::tempdir().unwrap();
    let state = Folder::state_of(home.path()).unwrap();
    for wake in wakes {
        assert!(wakes::post(&state, wake, LONG).unwrap());
    }
    (home, state)
}

fn waiting(home: &Path) -> Vec<String> {
    let state = Folder::state_of(home).unwrap();
    let Some(claimed) = wakes::claim(&state, |_| true) else { return Vec::new() };
    claimed.wakes().iter().map(|wake| wake.name.clone()).collect()
}

#[test]
fn what_stood_whole_in_the_digest_is_gone_and_the_rest_waits_again() {
    let later = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1);
    let cut = Wake::new("cut", "head\n  | tail".to_owned(), 1, later);
    let (home, state) = home(&[wake("whole", "it is whole"), cut]);
    let harvest = Harvest::default();
    let told = harvest.take(&state);
    assert_eq!(told.iter().map(|wake| wake.name.as_str()).collect::<Vec<_>>(), ["whole", "cut"]);
    assert_eq!(waiting(home.path()), [""; 0], "nobody else tells them meanwhile");
    harvest.settle(Some("a digest\nit is whole\n\nhead\n[wakes: cut here]\n"));
    assert_eq!(waiting(home.path()), ["cut"]);
}

#[test]
fn a_digest_that_was_not_delivered_has_told_nothing() {
    let (home, state) = home(&[wake("a", "text")]);
    let harvest = Harvest::default();
    assert_eq!(harvest.take(&state).len(), 1);
    harvest.settle(None);
    assert_eq!(waiting(home.path()), ["a"]);
    drop(harvest);
    assert_eq!(waiting(home.path()), ["a"]);
}

#[test]
fn a_digest_that_never_was_gives_back_what_it_had_taken() {
    let (home, state) = home(&[wake("a", "text")]);
    let harvest = Harvest::default();
    harvest.take(&state);
    drop(harvest);
    assert_eq!(waiting(home.path()), ["a"]);
}

#[test]
fn what_is_found_on_the_way_is_taken_once_and_settled_with_the_rest() {
    let (home, state) = home(&[wake("a", "text a")]);
    let harvest = Harvest::default();
    assert_eq!(harvest.take(&state).len(), 1);
    assert_eq!(harvest.take(&state).len(), 0);
    assert!(wakes::post(&state, &wake("b", "text b"), LONG).unwrap());
    let at_turn = harvest.clone();
    assert_eq!(at_turn.take(&state)[0].name, "b");
    harvest.settle(Some("text a, text b"));
    at_turn.settle(None);
    assert_eq!(waiting(home.path()), [""; 0]);
}
