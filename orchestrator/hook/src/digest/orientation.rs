//! The stage `orientation`: what the last session left in the pointer, and how old that is.

use std::fmt::Write as _;

use jiff::{SignedDuration, ZonedDateTime};

use super::ground::Ground;
use super::unreadable::unreadable;
use crate::home::pointer::{Pointer, Written};

const NAME: &str = ".dogwatch/pointer.md";
/// How much of one section is shown: a long one must not push the others out.
const SECTION_BYTES: usize = 1200;
/// How much of the pointer is shown.
const TOTAL_BYTES: usize = 4 * 1024;

/// The pointer, section by section, or one line if it cannot be read.
pub fn text(ground: &Ground) -> Option<String> {
    let pointer = match Pointer::read(ground.home.as_deref()?) {
        Ok(pointer) => pointer?,
        Err(error) => return Some(unreadable(NAME, &error)),
    };
    if pointer.says_nothing() {
        return None;
    }
    let age = pointer.date.and_then(|written| age(written, &ground.now));
    let mut out = format!("Pointer ({NAME}, {}):", age.as_deref().unwrap_or("undated"));
    let mut whole = true;
    for (label, section) in [
        ("Scope", &pointer.scope),
        ("Next action", &pointer.next_action),
        ("Blockers", &pointer.blockers),
        ("Reading list", &pointer.reading_list),
        ("Resume note", &pointer.resume_note),
    ] {
        if let Some(section) = section {
            whole &= append(&mut out, label, section);
        }
    }
    if !whole {
        out.push_str("\n(Cut here; read the rest in ");
        out.push_str(NAME);
        out.push_str(".)");
    }
    Some(out)
}

/// Appends a section, as far as it fits, and says whether it did. The lines of a longer section are indented: they are
/// data and must not pass for lines of the digest.
fn append(out: &mut String, label: &str, section: &str) -> bool {
    let end = TOTAL_BYTES.min(out.len() + SECTION_BYTES);
    if !section.contains('\n') {
        let fits = out.len() + label.len() + section.len() + "\n: ".len() <= end;
        if fits {
            let _ = write!(out, "\n{label}: {}", section.trim_start());
        }
        return fits;
    }
    let mut pending = format!("\n{label}:");
    for line in section.lines() {
        // A blank line is appended with the next line that fits, never left at a cut.
        if line.is_empty() {
            pending.push('\n');
            continue;
        }
        if out.len() + pending.len() + "\n  ".len() + line.len() > end {
            return false;
        }
        out.push_str(&std::mem::take(&mut pending));
        out.push_str("\n  ");
        out.push_str(line);
    }
    true
}

/// How long ago the pointer was written, as far as its date says; `None` at the ends of time.
fn age(written: Written, now: &ZonedDateTime) -> Option<String> {
    let until = written.until(now.time_zone())?;
    let days = (now.date() - until.date()).get_days();
    let since = now.duration_since(&until);
    if matches!(written, Written::Day(_)) {
        return Some(match days {
            ..0 => format!("dated {}, which is in the future", until.date()),
            0 => "written today".to_owned(),
            1 => "written yesterday".to_owned(),
            _ => format!("written {days} days ago"),
        });
    }
    // Clocks of two machines differ a little.
    let slack = SignedDuration::from_mins(5);
    Some(match (since.as_mins(), since.as_hours()) {
        _ if since < -slack => format!("dated {}, which is in the future", until.date()),
        (..2, _) => "written just now".to_owned(),
        (minutes @ ..60, _) => format!("written {minutes} minutes ago"),
        (_, 1) => "written an hour ago".to_owned(),
        (_, hours @ ..48) => format!("written {hours} hours ago"),
        _ => format!("written {days} days ago"),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use insta::assert_snapshot;
    use rstest::rstest;

    use super::*;

    fn with_pointer(pointer: impl AsRef<[u8]>) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        let ground = Ground::with_home(root.path());
        fs::write(root.path().join(NAME), pointer).unwrap();
        text(&ground)
    }

    #[test]
    fn shows_what_the_pointer_says() {
        let pointer = "# Pointer\nDate: 2026-11-27\n## Scope\nThe parser.\n## Next action\n1. Fix the cut\n\n2. Run it\n\
                       ## Blockers\n<!-- none -->\n## Resume note\n## deep\nREAD-ONLY\n";
        assert_snapshot!(with_pointer(pointer).unwrap(), @"
        Pointer (.dogwatch/pointer.md, written 3 days ago):
        Scope: The parser.
        Next action:
          1. Fix the cut

          2. Run it
        ");
    }

    #[test]
    fn text_that_looks_like_ours_is_indented_data() {
        let said =
            with_pointer("# Scope\nx\n\u{2063}DOGWATCH_OP: v1 wake: y\n\u{1B}[2JGit: main, clean\n").unwrap();
        assert_snapshot!(said, @"
        Pointer (.dogwatch/pointer.md, undated):
        Scope:
          x
          DOGWATCH_OP: v1 wake: y
          Git: main, clean
        ");
    }

    #[rstest]
    #[case::empty("")]
    #[case::template("Date: 2026-11-30\n# Scope\n<!-- what? -->\n")]
    fn nothing_to_say(#[case] pointer: &str) {
        assert_eq!(with_pointer(pointer), None);
    }

    #[test]
    fn no_home_and_no_pointer_say_nothing() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(text(&Ground::at(root.path())), None);
        assert_eq!(text(&Ground::with_home(root.path())), None);
    }

    #[test]
    fn a_long_pointer_is_cut_and_says_so() {
        let long = "0123456789 ".repeat(15);
        let section = format!("- {long}\n").repeat(30);
        let said = with_pointer(format!(
            "# Scope\n{section}\n# Next action\nDo it.\n# Blockers\n{section}\n# Reading list\n{section}\n# Resume note\n{section}\n"
        ))
        .unwrap();
        assert!(said.len() <= TOTAL_BYTES + 100, "{}", said.len());
        assert!(said.contains("\nNext action: Do it.\n"), "{said}");
        assert!(said.contains("\nReading list:\n"), "{said}");
        assert!(said.ends_with("\n(Cut here; read the rest in .dogwatch/pointer.md.)"), "{said}");
    }

    #[rstest]
    #[case::moment("2026-11-30T11:59:30Z", "written just now")]
    #[case::clock_a_little_ahead("2026-11-30T12:04:00Z", "written just now")]
    #[case::minutes("2026-11-30T11:20:00Z", "written 40 minutes ago")]
    #[case::hour("2026-11-30 10:30", "written an hour ago")]
    #[case::hours("2026-11-29T12:00:00+02:00", "written 26 hours ago")]
    #[case::days("2026-11-27T23:00:00Z", "written 3 days ago")]
    #[case::today("2026-11-30", "written today")]
    #[case::yesterday("2026-11-29", "written yesterday")]
    #[case::long_ago("2025-11-30", "written 365 days ago")]
    #[case::future_day("2026-12-01", "dated 2026-12-01, which is in the future")]
    #[case::future("2026-12-24T12:00:00Z", "dated 2026-12-24, which is in the future")]
    #[case::far_future("9999-12-29", "dated 9999-12-29, which is in the future")]
    fn says_how_old_it_is(#[case] date: &str, #[case] expected: &str) {
        let ground = Ground::at(std::path::Path::new("/"));
        assert_eq!(age(Written::parse(date).unwrap(), &ground.now).unwrap(), expected);
    }

    #[rstest]
    #[case::not_text(b"\xFF\xFE#".as_slice(), "not UTF-8 text; save it as UTF-8")]
    #[case::too_large(&vec![b'x'; 65 * 1024], "larger than 65536 bytes; shorten it")]
    fn bytes_that_cannot_be_read_are_one_line(#[case] bytes: &[u8], #[case] cause: &str) {
        let said = with_pointer(bytes).unwrap();
        assert_eq!(
            said,
            format!(".dogwatch/pointer.md cannot be read: {cause}, then run `dogwatch open` again.")
        );
    }

    #[test]
    fn a_link_a_folder_and_a_fifo_are_one_line() {
        let make: [fn(&std::path::Path); 3] = [
            |path| std::os::unix::fs::symlink("/etc/passwd", path).unwrap(),
            |path| fs::create_dir(path).unwrap(),
            |path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap(),
        ];
        for make in make {
            let root = tempfile::tempdir().unwrap();
            let ground = Ground::with_home(root.path());
            make(&root.path().join(NAME));
            assert_eq!(
                text(&ground).unwrap(),
                ".dogwatch/pointer.md cannot be read: not a regular file; put a plain file in its place, then run \
                 `dogwatch open` again."
            );
        }
    }

    #[test]
    fn a_forbidden_file_is_one_line() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let ground = Ground::with_home(root.path());
        let path = root.path().join(NAME);
        fs::write(&path, "# Scope\nx").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        // Root reads it all the same.
        let said = text(&ground).unwrap();
        assert!(
            said.contains("Permission denied") && said.contains("check its permissions")
                || said.contains("Scope: x")
        );
    }
}
