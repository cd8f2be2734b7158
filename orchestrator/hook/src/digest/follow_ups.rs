//! The stage `follow-ups`: what has come due.

use std::fmt::Write as _;

use super::ground::Ground;
use super::unreadable::unreadable;
use crate::home::follow_ups::{self, FollowUp, FollowUps};

const NAME: &str = ".dogwatch/follow-ups.md";
const MOST_LINES: usize = 10;

/// The follow-ups that are due, oldest first, and those that never come due; one line if the file cannot be read.
pub fn text(ground: &Ground) -> Option<String> {
    let found = match follow_ups::read(ground.home.as_deref()?) {
        Ok(found) => found,
        Err(error) => return Some(unreadable(NAME, &error)),
    };
    let undated = undated(&found.undated);
    let mut due = due_of(ground, found);
    if due.is_empty() {
        return undated;
    }
    // Stable: items of one day stay in the order of the file.
    due.sort_by_key(|item| item.date);
    let mut out = format!("Follow-ups due (tick with [x] in {NAME} when done):");
    for item in due.iter().take(MOST_LINES) {
        let _ = write!(out, "\n- {} {}", item.date, item.text);
    }
    if let Some(more) = due.len().checked_sub(MOST_LINES).filter(|&more| more > 0) {
        let _ = write!(out, "\nand {more} more in {NAME}");
    }
    if let Some(undated) = undated {
        out.extend(["\n", &undated]);
    }
    Some(out)
}

/// A line for the items at these lines, which would otherwise be forgotten without a word.
fn undated(lines: &[usize]) -> Option<String> {
    match lines {
        [] => None,
        [line] => Some(format!(
            "Line {line} of {NAME} begins with no date that is understood (2026-11-30 is), so it never comes due."
        )),
        [line, ..] => Some(format!(
            "{} items of {NAME}, the first on line {line}, begin with no date that is understood (2026-11-30 is), so \
             they never come due.",
            lines.len()
        )),
    }
}

/// How many are due; none without a home, or where the file cannot be read.
pub(super) fn count_due(ground: &Ground) -> usize {
    let found = ground.home.as_deref().and_then(|home| follow_ups::read(home).ok());
    found.map_or(0, |found| due_of(ground, found).len())
}

/// What is due, in the order of the file.
fn due_of(ground: &Ground, found: FollowUps) -> Vec<FollowUp> {
    let today = ground.now.date();
    found.items.into_iter().filter(|item| item.is_due(today)).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use insta::assert_snapshot;

    use super::*;

    fn with(follow_ups: impl AsRef<[u8]>) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        let ground = Ground::with_home(root.path());
        std::fs::write(root.path().join(NAME), follow_ups).unwrap();
        text(&ground)
    }

    #[test]
    fn shows_what_is_due_oldest_first() {
        let said = with(
            "- 2026-11-30 today\n- [ ] 2026-12-01 tomorrow\n- [x] 2026-11-01 done\n- [ ] 2026-11-02: old\n- 2026-11-15 a\n- 2026-11-15 b\n",
        );
        assert_snapshot!(said.unwrap(), @"
        Follow-ups due (tick with [x] in .dogwatch/follow-ups.md when done):
        - 2026-11-02 old
        - 2026-11-15 a
        - 2026-11-15 b
        - 2026-11-30 today
        ");
    }

    #[test]
    fn shows_ten_and_counts_the_rest() {
        let mut file = String::new();
        for day in (1..=13).rev() {
            writeln!(file, "- 2026-11-{day:02} item {day}").unwrap();
        }
        let said = with(file).unwrap();
        assert_eq!(said.lines().count(), 12);
        assert!(said.contains("- 2026-11-01 item 1\n") && !said.contains("item 11"), "{said}");
        assert!(said.ends_with("\nand 3 more in .dogwatch/follow-ups.md"), "{said}");
    }

    #[test]
    fn items_that_never_come_due_are_one_line() {
        assert_snapshot!(with("- 2026-12-01 later\n- 30.11.2026 call\n").unwrap(), @"Line 2 of .dogwatch/follow-ups.md begins with no date that is understood (2026-11-30 is), so it never comes due.");
        assert_snapshot!(with("- 2026-11-30 today\n- Nov 30, 2026 call\n- [ ] no date\n- [x] done\n").unwrap(), @"
        Follow-ups due (tick with [x] in .dogwatch/follow-ups.md when done):
        - 2026-11-30 today
        2 items of .dogwatch/follow-ups.md, the first on line 2, begin with no date that is understood (2026-11-30 is), so they never come due.
        ");
    }

    #[test]
    fn exactly_ten_need_no_count() {
        let said = with("- 2026-11-01 x\n".repeat(10)).unwrap();
        assert!(!said.contains("more in"), "{said}");
    }

    #[test]
    fn nothing_due_says_nothing() {
        assert_eq!(
            with("- [x] 2026-11-30 done\n- 2026-12-01 later\n<!-- - 2026-01-01 an example -->\n"),
            None
        );
        let root = tempfile::tempdir().unwrap();
        assert_eq!(text(&Ground::at(root.path())), None);
        assert_eq!(text(&Ground::with_home(root.path())), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_one_line() {
        assert_snapshot!(with(b"\xFF").unwrap(), @".dogwatch/follow-ups.md cannot be read: not UTF-8 text; save it as UTF-8, then run `dogwatch open` again.");
    }
}
