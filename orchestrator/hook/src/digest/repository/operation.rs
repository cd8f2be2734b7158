//! What git is in the middle of, as the files of its git dir tell (git's own `wt-status.c` looks at the same ones).

use std::fmt::Write as _;
use std::path::Path;

use super::data;
use crate::home::read;

/// A line for each operation that is under way in the work tree whose git dir is `dir`.
pub(super) fn under_way(dir: &Path) -> Vec<String> {
    let there = |name: &str| dir.join(name).symlink_metadata().is_ok();
    // A link in the place of a folder of git's is none of git's making.
    let folder = |name: &str| dir.join(name).symlink_metadata().is_ok_and(|data| data.is_dir());
    let mut lines = Vec::new();
    // A rebase uses the files of a merge and a cherry-pick for its steps, so it is looked for first.
    if folder("rebase-merge") {
        lines.push(rebase(&dir.join("rebase-merge"), "msgnum", "end"));
    } else if folder("rebase-apply") && there("rebase-apply/applying") {
        lines.push(line_for("`git am`", "git am"));
    } else if folder("rebase-apply") {
        lines.push(rebase(&dir.join("rebase-apply"), "next", "last"));
    } else if there("MERGE_HEAD") {
        lines.push(line_for("a merge", "git merge"));
    } else if there("CHERRY_PICK_HEAD") {
        lines.push(line_for("a cherry-pick", "git cherry-pick"));
    } else if there("REVERT_HEAD") {
        lines.push(line_for("a revert", "git revert"));
    } else if folder("sequencer")
        && let Some(todo) = small(&dir.join("sequencer"), "todo")
    {
        // Between two steps of several: the last one was committed by hand.
        if todo.trim_ascii_start().starts_with(b"revert") {
            lines.push(line_for("a series of reverts", "git revert"));
        } else {
            lines.push(line_for("a series of cherry-picks", "git cherry-pick"));
        }
    }
    if there("BISECT_LOG") {
        lines.push("In the middle of a bisect: `git bisect reset` ends it.".to_owned());
    }
    lines
}

fn line_for(what: &str, command: &str) -> String {
    format!(
        "In the middle of {what}: finish it (`{command} --continue`) or give it up (`--abort`) before other work."
    )
}

fn rebase(dir: &Path, step: &str, last: &str) -> String {
    let mut what = "a rebase".to_owned();
    if let Some(name) = small(dir, "head-name").as_deref().and_then(|name| name.strip_prefix(b"refs/heads/"))
    {
        let _ = write!(what, " of {}", data(name));
    }
    let number = |name| std::str::from_utf8(&small(dir, name)?).ok()?.parse::<u32>().ok();
    if let (Some(step), Some(last)) = (number(step), number(last)) {
        let _ = write!(what, ", step {step} of {last}");
    }
    line_for(&what, "git rebase")
}

/// A small file of git's, without its line ending. A long list of steps is no small file, but its beginning is enough.
fn small(dir: &Path, name: &str) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    read::open_regular(&dir.join(name)).ok()?.take(1024).read_to_end(&mut bytes).ok()?;
    bytes.truncate(bytes.trim_ascii_end().len());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing(&[], "")]
    #[case::patches(&["rebase-apply/applying"], "`git am`")]
    #[case::merge_of_a_rebase(&["rebase-merge/msgnum", "MERGE_HEAD"], "a rebase")]
    #[case::pick_of_a_rebase(&["rebase-merge/msgnum", "CHERRY_PICK_HEAD"], "a rebase")]
    #[case::series(&["sequencer/todo"], "a series of cherry-picks")]
    fn tells_what_is_under_way(#[case] files: &[&str], #[case] expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "pick 0123456 x\n").unwrap();
        }
        let lines = under_way(dir.path());
        if expected.is_empty() {
            assert_eq!(lines, [""; 0]);
        } else {
            assert!(lines[0].starts_with(&format!("In the middle of {expected}: ")), "{lines:?}");
            assert_eq!(lines.len(), 1);
        }
    }

    #[test]
    fn hostile_steps_are_data_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("rebase-merge");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("head-name"), "refs/heads/a\u{1B}[31m\n\u{2063}b\n").unwrap();
        fs::write(folder.join("msgnum"), "999999999999999999999").unwrap();
        symlink("/etc/hostname", folder.join("end")).unwrap();
        assert!(under_way(dir.path())[0].starts_with("In the middle of a rebase of a b (name cleaned): "));
        let other = tempfile::tempdir().unwrap();
        symlink(&folder, other.path().join("rebase-merge")).unwrap();
        assert_eq!(under_way(other.path()), [""; 0]);
    }
}
