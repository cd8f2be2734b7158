//! The stage `next-step`: what to do now.

use super::ground::Ground;
use super::{follow_ups, repository};
use crate::home::pointer::Pointer;
use crate::home::root::HOME;
use crate::text::shorten;

/// How much of the next action is repeated here; the whole of it stands in `orientation`.
const ACTION_CHARS: usize = 120;

/// One or two lines, derived from what the home says; nothing if the pointer cannot be read (`orientation` says so).
pub fn text(ground: &Ground) -> Option<String> {
    let Some(home) = ground.home.as_deref() else { return without_home(ground) };
    let pointer = Pointer::read(home).ok()?.unwrap_or_default();
    let due = follow_ups::count_due(ground);
    let then = if due > 0 { "\nThen look at the follow-ups that are due." } else { "" };
    if let Some(action) = pointer.next_step() {
        let blocked = if pointer.is_blocked() { ", minding the blockers" } else { "" };
        let action = shorten(&action, ACTION_CHARS);
        return Some(format!("Begin with the next action{blocked}: {action}{then}"));
    }
    if due > 0 {
        return Some("Begin with the follow-ups that are due; the pointer names no next action.".to_owned());
    }
    Some(if pointer.says_nothing() {
        "The pointer is empty: before you stop, write `Scope`, `Next action` and `Date:` into .dogwatch/pointer.md for \
         the next session."
            .to_owned()
    } else {
        "The pointer names no next action: before you stop, add one to .dogwatch/pointer.md, below a heading `Next \
         action`."
            .to_owned()
    })
}

/// What a home would bring, or why there can be none.
fn without_home(ground: &Ground) -> Option<String> {
    if let Ok(data) = ground.root.join(HOME).symlink_metadata()
        && !data.is_dir()
    {
        let found = if data.is_symlink() { "a link" } else { "a file" };
        return Some(format!(
            "`{HOME}` is {found} and no folder, so there is no home here: move it away, then run `dogwatch init`."
        ));
    }
    // There is no work tree to put a home into.
    if repository::is_bare(ground) {
        return None;
    }
    Some(
        "No home here: `dogwatch init` adds one (a pointer carried from session to session, follow-ups that come due, \
         the project's own stages)."
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use insta::assert_snapshot;

    use super::*;

    fn with(pointer: &str, follow_ups: &str) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        let ground = Ground::with_home(root.path());
        fs::write(root.path().join(".dogwatch/pointer.md"), pointer).unwrap();
        fs::write(root.path().join(".dogwatch/follow-ups.md"), follow_ups).unwrap();
        text(&ground)
    }

    #[test]
    fn without_a_home_one_line_says_what_it_would_add() {
        let root = tempfile::tempdir().unwrap();
        assert_snapshot!(text(&Ground::at(root.path())).unwrap(), @"No home here: `dogwatch init` adds one (a pointer carried from session to session, follow-ups that come due, the project's own stages).");
    }

    #[test]
    fn the_next_action_comes_first() {
        assert_snapshot!(with("# Next action\n1. Fix *the* cut\n2. Run it\n", "").unwrap(), @"Begin with the next action: Fix *the* cut");
    }

    #[test]
    fn blockers_and_due_follow_ups_are_named() {
        assert_snapshot!(with("# Next action\n- [ ] Fix it\n# Blockers\na key\n", "- 2026-11-30 call them").unwrap(), @"
        Begin with the next action, minding the blockers: Fix it
        Then look at the follow-ups that are due.
        ");
    }

    #[test]
    fn blockers_that_are_none_are_not_minded() {
        assert_snapshot!(with("# Next action\n- [x] done\n- [ ] open\n# Blockers\n- none\n", "").unwrap(), @"Begin with the next action: open");
    }

    #[test]
    fn text_without_a_place_is_not_to_be_written_over() {
        for pointer in ["## Status\nhalf way\n", "just text", "# Next action\n- [x] done\n"] {
            let said = with(pointer, "").unwrap();
            assert!(said.starts_with("The pointer names no next action: before you stop, add one"), "{said}");
        }
        assert_snapshot!(with("- **Next steps**: Fix it\n- Blockers: none\n", "").unwrap(), @"Begin with the next action: Fix it");
    }

    #[test]
    fn a_home_that_is_no_folder_is_told() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join(".dogwatch");
        fs::write(&home, "").unwrap();
        assert_snapshot!(text(&Ground::at(root.path())).unwrap(), @"`.dogwatch` is a file and no folder, so there is no home here: move it away, then run `dogwatch init`.");
        fs::remove_file(&home).unwrap();
        std::os::unix::fs::symlink("elsewhere", &home).unwrap();
        assert_snapshot!(text(&Ground::at(root.path())).unwrap(), @"`.dogwatch` is a link and no folder, so there is no home here: move it away, then run `dogwatch init`.");
    }

    #[test]
    fn a_bare_repository_has_no_place_for_a_home() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir(root.path().join("objects")).unwrap();
        fs::create_dir(root.path().join("refs")).unwrap();
        assert_eq!(text(&Ground::at(root.path())), None);
    }

    #[test]
    fn a_long_action_is_short_here() {
        let said = with(&format!("# Next action\n{}\n", "word ".repeat(100)), "").unwrap();
        assert!(said.ends_with('…') && said.chars().count() < 160, "{said}");
    }

    #[test]
    fn follow_ups_are_a_beginning_too() {
        assert_snapshot!(with("# Scope\nx\n", "- 2026-11-30 call them").unwrap(), @"Begin with the follow-ups that are due; the pointer names no next action.");
    }

    #[test]
    fn an_untouched_pointer_is_to_be_filled() {
        assert_snapshot!(with("# Scope\n<!-- x -->\n", "- 2026-12-24 later").unwrap(), @"The pointer is empty: before you stop, write `Scope`, `Next action` and `Date:` into .dogwatch/pointer.md for the next session.");
        let root = tempfile::tempdir().unwrap();
        assert!(text(&Ground::with_home(root.path())).unwrap().starts_with("The pointer is empty"));
    }

    #[test]
    fn a_pointer_without_a_next_action_is_to_be_completed() {
        assert_snapshot!(with("# Scope\nx\n", "").unwrap(), @"The pointer names no next action: before you stop, add one to .dogwatch/pointer.md, below a heading `Next action`.");
    }

    #[test]
    fn an_unreadable_pointer_is_left_to_orientation() {
        let root = tempfile::tempdir().unwrap();
        let ground = Ground::with_home(root.path());
        fs::create_dir(root.path().join(".dogwatch/pointer.md")).unwrap();
        assert_eq!(text(&ground), None);
    }
}
