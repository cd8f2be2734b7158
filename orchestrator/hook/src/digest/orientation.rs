//! The stage `orientation`: what the last session left in the pointer, and how old that is.

use std::fmt::Write as _;

use jiff::{SignedDuration, ZonedDateTime};

use super::ground::Ground;
use super::unreadable::unreadable;
use crate::home::pointer::{Mark, Other, Pointer, Written, bare_item};
use crate::text::shorten;

const NAME: &str = ".dogwatch/pointer.md";
/// How much of one section is shown: a long one must not push the others out.
const SECTION_BYTES: usize = 1200;
/// How much is shown of text that belongs to no section: enough to see what it is.
const OTHER_BYTES: usize = 800;
/// How many headings that are not known are named.
const MOST_HEADINGS: usize = 5;
const HEADING_CHARS: usize = 40;
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
    let age = age.or_else(|| {
        let value = pointer.date_not_understood.as_deref()?;
        Some(format!("its date \"{value}\" is not understood, write it like 2026-11-30"))
    });
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
            let end = TOTAL_BYTES.min(out.len() + SECTION_BYTES);
            whole &= append(&mut out, label, section, end);
        }
    }
    if let Some(other) = &pointer.other {
        let _ = write!(out, "\n{}:", where_other_stands(other));
        let end = out.len() + OTHER_BYTES;
        whole &= append_lines(&mut out, String::new(), &other.text, end);
    }
    if !whole {
        out.push_str("\n(Cut here; read the rest in ");
        out.push_str(NAME);
        out.push_str(".)");
    }
    Some(out)
}

/// What text that belongs to no section stands under, and what is expected.
fn where_other_stands(other: &Other) -> String {
    let mut out = match other.headings.len() {
        0 => "Under no heading".to_owned(),
        1 => "Under an unknown heading".to_owned(),
        _ => "Under unknown headings".to_owned(),
    };
    for (at, heading) in other.headings.iter().take(MOST_HEADINGS).enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(out, "{comma} \"{}\"", shorten(heading, HEADING_CHARS));
    }
    if let Some(more) = other.headings.len().checked_sub(MOST_HEADINGS).filter(|&more| more > 0) {
        let _ = write!(out, " and {more} more");
    }
    out.push_str(" (known are Scope, Next action, Blockers, Reading list, Resume note)");
    out
}

/// Appends a section, as far as it fits before `end`, and says whether it did.
fn append(out: &mut String, label: &str, section: &str, end: usize) -> bool {
    if section.contains('\n') {
        return append_lines(out, format!("\n{label}:"), section, end);
    }
    // The marker of a list of one says nothing on one line; that it is ticked off does.
    let text = match bare_item(section) {
        (Some(Mark::Ticked), text) => format!("[x] {text}"),
        (_, text) => text.to_owned(),
    };
    let fits = out.len() + label.len() + text.len() + "\n: ".len() <= end;
    if fits {
        let _ = write!(out, "\n{label}: {text}");
    }
    fits
}

/// Appends lines, as far as they fit before `end`, and says whether they did. They are indented: they are data and must
/// not pass for lines of the digest. What is `pending` goes out with the first line.
fn append_lines(out: &mut String, mut pending: String, text: &str, end: usize) -> bool {
    for line in text.lines() {
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
    // Clocks of two machines differ a little, and a day covers to its end.
    let slack = SignedDuration::from_mins(5);
    if days < 0 && since < -slack {
        return Some(format!("dated {}, which is in the future", until.date()));
    }
    let is_day = matches!(written, Written::Day(_));
    Some(match (since.as_mins(), since.as_hours()) {
        _ if days < 1 && (is_day || since < -slack) => "written today".to_owned(),
        _ if is_day && days == 1 => "written yesterday".to_owned(),
        _ if is_day => ago(days),
        (..2, _) => "written just now".to_owned(),
        (minutes @ ..60, _) => format!("written {minutes} minutes ago"),
        (_, 1) => "written an hour ago".to_owned(),
        (_, hours @ ..48) => format!("written {hours} hours ago"),
        _ => ago(days),
    })
}

/// So many days, from two on, in the unit in which they mean something.
fn ago(days: i32) -> String {
    match days {
        ..61 => format!("written {days} days ago"),
        // The average month has 30.44 days.
        61..731 => format!("written {} months ago", (days * 100 + 1522) / 3044),
        _ => {
            // A year has 365.25 days.
            let (years, quarters) = (days * 4 / 1461, days * 4 % 1461 / 365);
            match quarters {
                3.. => format!("written almost {} years ago", years + 1),
                1.. => format!("written over {years} years ago"),
                _ => format!("written {years} years ago"),
            }
        }
    }
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
        assert_snapshot!(with_pointer(pointer).unwrap(), @r#"
        Pointer (.dogwatch/pointer.md, written 3 days ago):
        Scope: The parser.
        Next action:
          1. Fix the cut

          2. Run it
        Under an unknown heading "deep" (known are Scope, Next action, Blockers, Reading list, Resume note):
          ## deep
          READ-ONLY
        "#);
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

    #[test]
    fn text_below_other_headings_is_shown_and_told_what_is_expected() {
        let pointer = "# Pointer\nDate: 30.11.2026\n\n## Ideas\n\nmany\n\n## Log of\u{1B}[31m today\n- a\n";
        assert_snapshot!(with_pointer(pointer).unwrap(), @r#"
        Pointer (.dogwatch/pointer.md, its date "30.11.2026" is not understood, write it like 2026-11-30):
        Under unknown headings "Ideas", "Log of today" (known are Scope, Next action, Blockers, Reading list, Resume note):
          ## Ideas
          many
          ## Log of today
          - a
        "#);
        assert_snapshot!(with_pointer("just text").unwrap(), @"
        Pointer (.dogwatch/pointer.md, undated):
        Under no heading (known are Scope, Next action, Blockers, Reading list, Resume note):
          just text
        ");
        assert_snapshot!(with_pointer("# Scope\nx\n# Ideas\nGit: main, clean\n").unwrap(), @r#"
        Pointer (.dogwatch/pointer.md, undated):
        Scope: x
        Under an unknown heading "Ideas" (known are Scope, Next action, Blockers, Reading list, Resume note):
          # Ideas
          Git: main, clean
        "#);
    }

    #[test]
    fn of_other_text_the_beginning_is_shown() {
        let mut pointer = String::new();
        for at in 1..=50 {
            let _ = write!(pointer, "# Heading {at} {}\n{}\n\n", "long ".repeat(20), "word ".repeat(30));
        }
        let said = with_pointer(pointer).unwrap();
        assert!(said.len() < OTHER_BYTES + 500, "{}", said.len());
        assert!(said.contains("…\" and 45 more (known are Scope, Next action, Blockers, Reading list, Resume note):\n  # Heading 1 long"), "{said}");
        assert!(said.ends_with("\n(Cut here; read the rest in .dogwatch/pointer.md.)"), "{said}");
    }

    #[test]
    fn a_list_of_one_is_put_on_one_line_without_its_marker() {
        let pointer = "# Scope\n* **all** of it\n# Next action\n- [ ] Fix it\n# Blockers\n1. the key\n# Resume note\n- [x] half\n";
        assert_snapshot!(with_pointer(pointer).unwrap(), @"
        Pointer (.dogwatch/pointer.md, undated):
        Scope: **all** of it
        Next action: Fix it
        Blockers: the key
        Resume note: [x] half
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

    #[test]
    fn a_day_is_today_at_every_moment_of_it() {
        for (zone, now) in [
            (0, "2026-11-30T00:00:00Z"),
            (0, "2026-11-30T23:59:59.999999999Z"),
            (12, "2026-11-29T12:00:00Z"),
            (-11, "2026-12-01T10:59:59Z"),
        ] {
            let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(zone));
            let now = now.parse::<jiff::Timestamp>().unwrap().to_zoned_datetime(zone);
            assert_eq!(age(Written::parse("2026-11-30").unwrap(), &now).unwrap(), "written today", "{now}");
        }
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
    #[case::sixty_days("2026-10-01", "written 60 days ago")]
    #[case::months("2026-09-30", "written 2 months ago")]
    #[case::long_ago("2025-11-30", "written 12 months ago")]
    #[case::two_years_less_a_day("2024-12-01", "written 24 months ago")]
    #[case::two_years("2024-11-29", "written 2 years ago")]
    #[case::over_two_years("2024-06-01", "written over 2 years ago")]
    #[case::almost_three_years("2024-01-01T12:00:00Z", "written almost 3 years ago")]
    #[case::three_years("2023-11-30", "written 3 years ago")]
    #[case::later_today("2026-11-30T18:00:00Z", "written today")]
    #[case::later_today_local("2026-11-30 23:59", "written today")]
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
