//! What a pointer is understood to say, however it is written.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::text::is_forbidden;

fn day(text: &str) -> Written {
    Written::Day(text.parse().unwrap())
}

#[test]
fn reads_a_whole_pointer() {
    let pointer = Pointer::parse(
        "# Pointer\n\nDate: 2026-11-30T14:00:00Z\n\n## Scope\n\nThe `parser`, *not* the lexer.\n\n\
         ## Next action\n\n1. Fix [the cut](src/cut.rs)\n2. Run it\n\n## Blockers\nnone\n\
         ## Reading list\n- a.md\n\n\n- b.md\n## Resume note\n\n```\n# no heading\n<!-- kept -->\n```\n",
    );
    assert_eq!(
        pointer,
        Pointer {
            date: Some(Written::At("2026-11-30T14:00:00Z".parse().unwrap())),
            scope: Some("The `parser`, *not* the lexer.".into()),
            next_action: Some("1. Fix [the cut](src/cut.rs)\n2. Run it".into()),
            blockers: Some("none".into()),
            reading_list: Some("- a.md\n\n- b.md".into()),
            resume_note: Some("```\n# no heading\n<!-- kept -->\n```".into()),
            ..Pointer::default()
        }
    );
}

#[test]
fn a_cut_line_leaves_no_half_of_a_credential() {
    for before in LINE_CHARS - 30..LINE_CHARS {
        let pointer =
            Pointer::parse(&format!("## Scope\n{} https://user:s3cret@host/\n", "x".repeat(before)));
        let scope = pointer.scope.unwrap();
        assert!(!scope.contains("user"), "{scope}");
    }
}

#[rstest]
#[case::empty("")]
#[case::headings_only("# Scope\n# Next action\n## Blockers\n")]
#[case::template(
    "# Pointer\n\nDate:\n\n## Scope\n\n<!-- What is it\nabout? -->\n\n## Next action\n<!-- one -->\n"
)]
#[case::comment_in_a_list("## Blockers\n- <!-- what? -->\n- [ ]\n")]
#[case::inline_comment("## Scope\n- * <!-- a --> <!-- b -->\n")]
#[case::shortest_comments("## Scope\n<!-->\n<!--->\n")]
#[case::comment_never_closed("## Scope\n<!-- a\n\n## Blockers\nb\n")]
#[case::the_title_alone("# Pointer\n")]
#[case::only_lines("# Pointer\n\n---\n\nDate: <!-- 2026-01-31 -->\n***\n")]
#[case::a_date_alone("# Pointer\n\n## Date\n\n2026-11-30\n")]
#[case::headings_in_a_comment("<!--\n## Scope\nx\n-->\n")]
fn says_nothing(#[case] text: &str) {
    let pointer = Pointer::parse(text);
    assert!(pointer.says_nothing(), "{pointer:?}");
}

#[rstest]
#[case::level("###### Scope\nx")]
#[case::underlined("Scope\n-----\nx")]
#[case::case_and_blanks("#  sCoPe  \nx")]
#[case::closed("## Scope ##\nx")]
#[case::emphasis("## **Scope**:\nx")]
#[case::numbered("## 1. Scope\nx")]
#[case::byte_order_mark("\u{FEFF}# Scope\nx")]
#[case::windows("# Scope\r\n\r\nx\r\n")]
#[case::after_an_empty_one("# Scope\n\n# Blockers\n\n# Scope\nx")]
#[case::comment_around("# Scope\n<!-- a -->\nx\n<!-- b -->\n")]
#[case::comment_in_a_line("# Scope\nx <!-- a -->")]
#[case::comment_within("# Scope\n<!-- a\n\nb -->x\n")]
#[case::ended_by_an_equal_heading("## Scope\nx\n## Ideas\ny")]
#[case::ended_by_a_higher_heading("## Scope\nx\n# Ideas\ny")]
#[case::inline_strong("**Scope:** x")]
#[case::inline_strong_colon_behind("**Scope**: x")]
#[case::inline_strong_whole("**Scope: x**")]
#[case::inline_alone("**Scope**\n\nx\n")]
#[case::inline_emphasis("*Scope*: x")]
#[case::inline_plain("Scope: x")]
#[case::inline_item("- Scope: x\n- Blockers: y")]
#[case::inline_strong_item("* **Scope**: x\n* **Blocked by:** y\n")]
#[case::inline_list("Scope:\n\nx\n\nNext:\ny")]
#[case::inline_paragraph("Scope: x\n\nmore\n")]
#[case::inline_among_others("# Notes\nhello\n\n**Scope:** x\n\nmore\n")]
#[case::inline_in_a_section("## Next action\ny\n**Scope:** x\n\nz\n")]
#[case::inline_before_a_heading("Scope: x\n# Ideas\nmany")]
#[case::inline_above_a_line("Next: y\nScope: x\n---\n")]
#[case::in_the_heading("## Scope: x\n")]
#[case::above_a_line("# Scope\nx\n---\n# Blockers\ny\n")]
#[case::between_lines("---\n\n# Scope\n\nx\n\n---\n\n# Blockers\n")]
#[case::with_its_date("## Scope\nDate: 2026-11-30\n\nx")]
fn finds_the_scope(#[case] text: &str) {
    assert_eq!(Pointer::parse(text).scope.as_deref(), Some("x"));
}

#[rstest]
#[case("Scope", 0)]
#[case("Current scope", 0)]
#[case("Scope (v2)", 0)]
#[case("Next", 1)]
#[case("Next:", 1)]
#[case("Next step", 1)]
#[case("Next Steps", 1)]
#[case("Next actions (today):", 1)]
#[case("next_action", 1)]
#[case("Blocker", 2)]
#[case("Blocked by", 2)]
#[case("🚧 Blockers", 2)]
#[case("Reading", 3)]
#[case("Reading list", 3)]
#[case("Resume", 4)]
#[case("Resume notes", 4)]
fn knows_near_names(#[case] title: &str, #[case] section: usize) {
    for text in [format!("## {title}\nx\n"), format!("**{title}**\n\nx\n")] {
        let pointer = Pointer::parse(&text);
        let sections =
            [pointer.scope, pointer.next_action, pointer.blockers, pointer.reading_list, pointer.resume_note];
        assert_eq!(sections[section].as_deref(), Some("x"), "{text}");
        assert_eq!(pointer.other, None);
    }
}

#[rstest]
#[case::no_heading("just text\n\n- and a list\n", &[], "just text\n\n- and a list")]
#[case::other_headings("# Ideas\nmany\n## *Log*\n\n- a\n", &["Ideas", "Log"], "# Ideas\nmany\n## *Log*\n- a")]
#[case::beside_a_section("intro\n# Scope\nx\n# Ideas\nmany\n", &["Ideas"], "intro\n# Ideas\nmany")]
#[case::only_titles_with_text("# Project\n## Empty\n## Ideas\nmany\n", &["Ideas"], "## Ideas\nmany")]
#[case::code("```\n## Scope\nx\n```\n", &[], "```\n## Scope\nx\n```")]
#[case::only_headings("# Fix the parser\n## Then the lexer\n", &["Fix the parser", "Then the lexer"], "# Fix the parser\n## Then the lexer")]
#[case::without_its_date("Date: soon\n\ntext", &[], "text")]
#[case::prose("Next week: rest\n\n**Next** week we rest. Scope: x\n", &[], "Next week: rest\n\n**Next** week we rest. Scope: x")]
#[case::around_a_label("# Ideas\nmany\n\nNext: y\n\nmore\n", &["Ideas"], "# Ideas\nmany\nmore")]
#[case::underlined("Ideas\n=====\n\nmany", &["Ideas"], "Ideas\n=====\nmany")]
fn text_without_a_place_is_kept(#[case] text: &str, #[case] headings: &[&str], #[case] expected: &str) {
    let pointer = Pointer::parse(text);
    assert!(!pointer.says_nothing());
    let other = pointer.other.unwrap();
    assert_eq!(other.text, expected);
    assert_eq!(other.headings, headings);
}

#[test]
fn a_list_below_a_heading_is_no_list_of_labels() {
    let pointer = Pointer::parse("## Next action\n- Scope: ask\n- **Next:** go\n\nBlockers: see there\n");
    assert_eq!(pointer.next_action.as_deref(), Some("- Scope: ask\n- **Next:** go\n\nBlockers: see there"));
}

#[rstest]
#[case::plain("Fix it\nRun it", Some("Fix it"))]
#[case::numbered("2) Fix it\n", Some("Fix it"))]
#[case::boxes("- [x] done\n- [ ] open\n- [ ] later", Some("open"))]
#[case::boxes_below_a_sentence("To do:\n1. [x] done\n2. [ ] open", Some("open"))]
#[case::all_done("To do:\n- [X] done\n", None)]
#[case::done_and_more("- [x] done\n- then rest", Some("then rest"))]
#[case::strong("- **Fix** it", Some("**Fix** it"))]
#[case::a_link("- [x](a.md) first", Some("[x](a.md) first"))]
#[case::code("```sh\nmake\n```\n", Some("make"))]
#[case::words_and_code("```sh\nmake\n```\nRun that", Some("Run that"))]
#[case::deeper_heading("### First\na", Some("First"))]
#[case::none("none.\n", None)]
fn the_next_step(#[case] action: &str, #[case] expected: Option<&str>) {
    let pointer = Pointer::parse(&format!("# Next action\n{action}\n"));
    assert_eq!(pointer.next_step().as_deref(), expected);
}

#[rstest]
#[case("none", false)]
#[case("- None.", false)]
#[case("-", false)]
#[case("n/a", false)]
#[case("*Nothing*", false)]
#[case("- [x] the key", false)]
#[case("- [ ] the key", true)]
#[case("the key", true)]
#[case("none of us has the key", true)]
#[case("none\n- but the key", true)]
fn blocked(#[case] blockers: &str, #[case] expected: bool) {
    assert_eq!(Pointer::parse(&format!("# Blockers\n{blockers}\n")).is_blocked(), expected);
}

#[test]
fn a_deeper_heading_that_is_not_ours_is_content() {
    let pointer = Pointer::parse("## Next actions\n### First\na\n### Blockers\nb\n> ## Scope\n> c\n");
    assert_eq!(pointer.next_action.as_deref(), Some("### First\na"));
    assert_eq!(pointer.blockers.as_deref(), Some("b\n> ## Scope\n> c"));
    assert_eq!(pointer.scope, None);
}

#[test]
fn lines_are_cleaned_and_short() {
    let long = "y".repeat(300);
    let pointer = Pointer::parse(&format!("# Scope\na\u{1B}[31mb\u{2063}\n{long}\n"));
    let scope = pointer.scope.unwrap();
    assert_eq!(scope, format!("ab\n{}…", "y".repeat(199)));
}

#[rstest]
#[case::plain("Date: 2026-11-30", day("2026-11-30"))]
#[case::lower_case("date:2026-11-30", day("2026-11-30"))]
#[case::strong("**Date:** 2026-11-30", day("2026-11-30"))]
#[case::strong_all("**Date: 2026-11-30**", day("2026-11-30"))]
#[case::item("- Date: `2026-11-30`", day("2026-11-30"))]
#[case::heading("# Pointer\n## Date: 2026-11-30\n# Scope", day("2026-11-30"))]
#[case::front_matter("---\nDate: 2026-11-30\n---\n# Scope", day("2026-11-30"))]
#[case::with_words("Date: 2026-11-30 (evening)", day("2026-11-30"))]
#[case::first_that_holds_one("Date: soon\nDate: 2026-11-30\nDate: 2026-12-01", day("2026-11-30"))]
#[case::not_the_comment("<!-- x\nDate: 2026-01-01\n-->\nDate: 2026-11-30", day("2026-11-30"))]
#[case::not_the_inline_comment("<!-- Date: 2026-01-01 -->\nDate: 2026-11-30", day("2026-11-30"))]
#[case::not_the_code("```\nDate: 2026-01-01\n```\nDate: 2026-11-30", day("2026-11-30"))]
#[case::strong_key("**Date**: 2026-11-30", day("2026-11-30"))]
#[case::quoted("date: \"2026-11-30\"", day("2026-11-30"))]
#[case::behind_the_comment("Date: <!-- when? --> 2026-11-30", day("2026-11-30"))]
#[case::below_a_heading("## Date\n\n2026-11-30\n", day("2026-11-30"))]
#[case::minutes("Date: 2026-11-30 14:00", Written::Local("2026-11-30T14:00".parse().unwrap()))]
#[case::seconds("Date: 2026-11-30T14:00:05", Written::Local("2026-11-30T14:00:05".parse().unwrap()))]
#[case::offset("Date: 2026-11-30T14:00:00+02:00", Written::At("2026-11-30T12:00:00Z".parse().unwrap()))]
#[case::blank_and_zulu("Date: 2026-11-30 14:00:00Z", Written::At("2026-11-30T14:00:00Z".parse().unwrap()))]
fn finds_the_date(#[case] text: &str, #[case] expected: Written) {
    assert_eq!(Pointer::parse(text).date, Some(expected));
}

#[rstest]
#[case::none("# Scope\nx")]
#[case::empty("Date:")]
#[case::no_day("Date: 2026-11-31")]
#[case::longer_number("Date: 2026-11-305")]
#[case::no_date("Dates: 2026-11-30")]
#[case::in_a_sentence("The Date: 2026-11-30")]
#[case::words("Date: tomorrow")]
fn finds_no_date(#[case] text: &str) {
    assert_eq!(Pointer::parse(text).date, None);
}

#[rstest]
#[case::german("Date: 30.11.2026", Some("30.11.2026"))]
#[case::american("# Scope\nDate: 11/30/2026\nx", Some("11/30/2026"))]
#[case::words("**Date:** Nov 30, 2026\nDate: soon", Some("Nov 30, 2026"))]
#[case::no_day("Date: 2026-02-30", Some("2026-02-30"))]
#[case::below_a_heading("## Date\nyesterday\n", Some("yesterday"))]
#[case::long(
    "Date: a\u{1B}[31m long story of how this came to be written",
    Some("a long story of how this came…")
)]
#[case::understood_below("Date: soon\nDate: 2026-11-30", None)]
#[case::empty("Date: \n", None)]
#[case::template("Date: <!-- when this was last written, as 2027-01-31 -->\n", None)]
#[case::code("    Date: soon\n", None)]
fn a_date_that_is_not_understood(#[case] text: &str, #[case] expected: Option<&str>) {
    assert_eq!(Pointer::parse(text).date_not_understood.as_deref(), expected);
}

#[rstest]
#[case("2026-11-30", "2026-11-30T23:59:59.999999999-05:00[America/New_York]")]
#[case("2026-11-30 14:00", "2026-11-30T14:00:00-05:00[America/New_York]")]
#[case("2026-11-30T14:00:00Z", "2026-11-30T09:00:00-05:00[America/New_York]")]
fn a_date_covers(#[case] text: &str, #[case] until: &str) {
    // Spelt as a rule, so that the test needs no time-zone database.
    let zone = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
    let until: jiff::Timestamp = until.split('[').next().unwrap().parse().unwrap();
    assert_eq!(Written::parse(text).unwrap().until(&zone).unwrap().timestamp(), until);
}

#[test]
fn the_ends_of_time_are_no_panic() {
    for text in ["9999-12-31", "9999-12-31 23:59", "0000-01-01", "9999-12-30T22:00:00Z"] {
        let written = Written::parse(text);
        let _ = written.and_then(|written| written.until(&TimeZone::fixed(jiff::tz::offset(-12))));
        let _ = written.and_then(|written| written.until(&TimeZone::fixed(jiff::tz::offset(12))));
    }
}

#[test]
fn deep_nesting_is_no_harm() {
    for piece in ["> ", "- ", "[", "*a _b ", "<!--", "`a", "# Scope\n> ", "\\", "<a "] {
        let text = piece.repeat(usize::try_from(LIMIT_BYTES).unwrap() / piece.len());
        let _ = Pointer::parse(&format!("# Scope\n{text}"));
    }
}

#[test]
fn a_home_without_a_pointer_has_none() {
    let home = tempfile::tempdir().unwrap();
    assert!(Pointer::read(home.path()).unwrap().is_none());
    std::fs::write(home.path().join(FILE_NAME), "# Scope\nx").unwrap();
    assert_eq!(Pointer::read(home.path()).unwrap().unwrap().scope.as_deref(), Some("x"));
}

proptest! {
    #[test]
    fn takes_any_text(text in "(#{1,3} (Scope|Blockers|x)\n|\n(- )?(\\*\\*)?(Scope|Blockers|Date)(:\\*\\*|\\*\\*:|:)|<!--|-->|Date: 2026-1[12]-3[01]|[\n >#*`-]|\\PC|\u{2063}|\u{1B}){0,60}") {
        let pointer = Pointer::parse(&text);
        let other = pointer.other.as_ref().map(|other| other.text.clone());
        let _ = (pointer.next_step(), pointer.is_blocked());
        for section in [&pointer.scope, &pointer.blockers, &other].into_iter().flatten() {
            prop_assert!(!section.contains(is_forbidden));
            prop_assert!(section.contains(char::is_alphanumeric));
            prop_assert!(section.lines().all(|line| line.chars().count() <= LINE_CHARS));
        }
    }

    #[test]
    fn takes_any_date(text in "[0-9]{4}-[0-9]{2}-[0-9]{2}[ Tt:.0-9Z+-]{0,20}|\\PC{0,20}") {
        let _ = Written::parse(&text).and_then(|written| written.until(&TimeZone::UTC));
    }
}
