//! What `remove` takes out, and what it leaves, when others have been at the file since.

use rstest::rstest;

use super::*;

const OURS: &str =
    r#"{"hooks":[{"type":"command","command":"dogwatch hook claude session-open","timeout":30}]}"#;

/// A harness with comments and trailing commas, and what `add` makes in an empty file.
fn claude() -> (Harness, Made) {
    let mut harness = Harness::that_reads("claude", "comments-and-trailing-commas");
    harness.entries.truncate(1);
    let made = harness.add("").made;
    (harness, made)
}

/// `OURS` stands in the texts as `<>`.
fn removed(text: &str, made: Option<&Made>) -> String {
    claude().0.remove(&text.replace("<>", OURS), made).text
}

fn as_made_in_an_empty_file(text: &str) -> String {
    removed(text, Some(&claude().1))
}

fn as_made_in_a_list(text: &str) -> String {
    removed(text, Some(&Made::default()))
}

#[rstest]
#[case::behind_on_one_line(r#"[<>,{"hooks":[]}]"#, r#"[{"hooks":[]}]"#)]
#[case::behind_with_blanks(r#"[ <>, {"hooks":[]} ]"#, r#"[ {"hooks":[]} ]"#)]
#[case::around(r"[{}, <>, {}]", "[{}, {}]")]
#[case::before("[{} , <>]", "[{} ]")]
#[case::over_lines("[\n  {},\n  <>,\n  {}\n]", "[\n  {},\n  {}\n]")]
#[case::first_over_lines("[\n  <>,\n  {}\n]", "[\n  {}\n]")]
#[case::blank_lines_stay("[\n  {},\n\n  <>,\n\n  {}\n]", "[\n  {},\n\n  {}\n]")]
#[case::comma_first("[\n  {}\n, <>\n, {}\n]", "[\n  {}\n, {}\n]")]
#[case::trailing_comma("[\n  {},\n  <>,\n]", "[\n  {},\n]")]
#[case::alone_with_a_trailing_comma("[\n  <>,\n]", "[]")]
#[case::comments_of_others(
    "[\n  {}, // a\n  // b\n  <>, // c\n  /* d */ {} // e\n]",
    "[\n  {}, // a\n  // b\n  // c\n  /* d */ {} // e\n]"
)]
#[case::a_comment_alone("[\n  // a\n  <>\n  // b\n]", "[\n  // a\n  // b\n]")]
#[case::a_comment_behind_it("[\n  /* a */\n  <> // b\n]", "[\n  /* a */ // b\n]")]
#[case::a_line_comment_still_ends("[ // a\n  <> ]", "[ // a\n   ]")]
#[case::a_line_comment_still_ends_before_a_comma("[ {}, // a\n  <>,]", "[ {}, // a\n  ]")]
#[case::a_line_comment_still_ends_before_a_block(
    "[ {}, // a\n  <> /* b\n */,\n  {} ]",
    "[ {}, // a\n   /* b\n */\n  {} ]"
)]
#[case::comments_between_it_and_its_comma("[ <> /* a */ , /* b */ {} ]", "[  /* a */ /* b */ {} ]")]
#[case::two_of_them("[\n  <>,\n  {},\n  <>\n]", "[\n  {}\n]")]
fn others_in_the_list_stay(#[case] list: &str, #[case] left: &str) {
    let text = |list: &str| format!("{{\"hooks\": {{\"SessionStart\": {list}}}}}");
    assert_eq!(as_made_in_a_list(&text(list)), text(left));
}

#[rstest]
#[case::a_handler_in_our_group(
    r#"{"hooks":{"SessionStart":[{"hooks":[{"command":"dogwatch hook claude x"},{"command":"x"}]}]}}"#,
    r#"{"hooks":{"SessionStart":[{"hooks":[{"command":"x"}]}]}}"#
)]
#[case::a_matcher_is_nothing_without_us(
    r#"{"hooks":{"SessionStart":[{"matcher":"x","hooks":[{"command":"dogwatch hook claude x"}]}]}}"#,
    "{}"
)]
#[case::a_key_in_our_group(
    r#"{"hooks":{"SessionStart":[{"note":"x","hooks":[{"command":"dogwatch hook claude x"}]}]}}"#,
    r#"{"hooks":{"SessionStart":[{"note":"x","hooks":[]}]}}"#
)]
#[case::a_group_behind(r#"{"hooks":{"SessionStart":[<>,{}]}}"#, r#"{"hooks":{"SessionStart":[{}]}}"#)]
#[case::an_event(
    "{\n  \"hooks\": {\n    \"SessionStart\": [<>],\n    \"Stop\": []\n  }\n}\n",
    "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n"
)]
#[case::a_key_at_the_top(
    "{\n  \"hooks\": {\n    \"SessionStart\": [<>]\n  },\n  \"model\": \"x\"\n}\n",
    "{\n  \"model\": \"x\"\n}\n"
)]
#[case::a_comment_in_our_list(
    "{\"hooks\": {\"SessionStart\": [\n  // ours:\n  <>\n]}}",
    "{\"hooks\": {\"SessionStart\": [\n  // ours:\n]}}"
)]
#[case::a_comment_in_the_hooks("{\"hooks\": { /* x */ \"SessionStart\": [<>] }}", "{\"hooks\": { /* x */ }}")]
#[case::a_comment_at_the_top("// x\n{\"hooks\": {\"SessionStart\": [<>]} /* y */}", "// x\n{ /* y */}")]
fn what_others_put_in_stays_and_what_we_made_goes(#[case] text: &str, #[case] left: &str) {
    assert_eq!(as_made_in_an_empty_file(text), left);
}

/// Somebody has taken our handlers out and left what was around them.
#[rstest]
#[case("{\"hooks\":{\"SessionStart\":[ ]}}")]
#[case("{\"hooks\":{ }}")]
#[case(" {}\n")]
fn what_we_made_goes_without_ours_in_it(#[case] text: &str) {
    let (harness, made) = claude();
    let removed = harness.remove(text, Some(&made));
    assert_eq!((removed.text.trim(), removed.is_bare, removed.removed), ("{}", true, 0));
    let unknown = harness.remove(text, None);
    assert_eq!((unknown.text.as_str(), unknown.is_bare, unknown.removed), (text, false, 0));
}

#[rstest]
#[case::all_of_it(r#"{"hooks":{"SessionStart":[<>]}}"#, "{}", true)]
#[case::what_was_empty_before_stays(
    r#"{"hooks":{"Stop":[],"SessionStart":[<>]}}"#,
    r#"{"hooks":{"Stop":[]}}"#,
    false
)]
#[case::the_version_stays(r#"{"version":1,"hooks":{"SessionStart":[<>]}}"#, r#"{"version":1}"#, false)]
fn without_a_record_what_became_empty_goes(#[case] text: &str, #[case] left: &str, #[case] is_bare: bool) {
    let removed = claude().0.remove(&text.replace("<>", OURS), None);
    assert_eq!((removed.text.as_str(), removed.is_bare), (left, is_bare));
}

#[test]
fn what_was_there_stays_though_it_is_empty() {
    let text = r#"{"hooks":{"SessionStart":[<>],"Stop":[]}}"#;
    assert_eq!(as_made_in_a_list(text), r#"{"hooks":{"SessionStart":[],"Stop":[]}}"#);
}

#[test]
fn an_empty_document_that_we_did_not_make_is_not_bare() {
    let (harness, _) = claude();
    for text in ["{}", "{ }\n"] {
        let added = harness.add(text);
        let removed = harness.remove(&added.text, Some(&added.made));
        assert_eq!((removed.text.as_str(), removed.is_bare), (text, false));
    }
}

#[test]
fn a_comment_or_a_key_is_not_bare() {
    let (_, made) = claude();
    for text in ["{} // mine", "/* mine */ {\"hooks\":{\"SessionStart\":[<>]}}", "{\"a\": 1}"] {
        assert!(!claude().0.remove(&text.replace("<>", OURS), Some(&made)).is_bare, "{text}");
    }
}

#[test]
fn a_blank_text_is_bare_if_we_made_the_file() {
    let (harness, made) = claude();
    for text in ["", "\n\n"] {
        assert_eq!(
            harness.remove(text, Some(&made)),
            Removed { text: text.to_owned(), is_bare: true, removed: 0 }
        );
        assert!(!harness.remove(text, Some(&Made::default())).is_bare);
        assert!(!harness.remove(text, None).is_bare);
    }
}

#[rstest]
#[case::hooks_of_others_need_it(
    r#"{"version":1,"hooks":{"sessionStart":[{"command":"dogwatch hook cursor x"},{"command":"x"}]}}"#,
    r#"{"version":1,"hooks":{"sessionStart":[{"command":"x"}]}}"#
)]
#[case::without_hooks_it_goes(
    r#"{"version":1,"hooks":{"sessionStart":[{"command":"dogwatch hook cursor x"}]},"a":1}"#,
    r#"{"a":1}"#
)]
#[case::another_version_is_somebody_elses(
    r#"{"version":2,"hooks":{"sessionStart":[{"command":"dogwatch hook cursor x"}]}}"#,
    r#"{"version":2}"#
)]
fn the_version_that_we_made(#[case] text: &str, #[case] left: &str) {
    let harness = Harness::new("cursor");
    let made = harness.add("").made;
    assert_eq!(harness.remove(text, Some(&made)).text, left);
}

/// White space over lines does not come back into a file that has one line by now.
#[test]
fn the_white_space_of_what_was_empty_does_not_break_a_line() {
    let (harness, _) = claude();
    let added = harness.add("{\n  \"hooks\": {\n    \"SessionStart\": [\n    ]\n  }\n}\n");
    assert_eq!(added.made.blanks, BTreeMap::from([("hooks.SessionStart".to_owned(), "\n    ".to_owned())]));
    let one_line = read(&added.text).to_string();
    assert_eq!(harness.remove(&one_line, Some(&added.made)).text, "{\"hooks\":{\"SessionStart\":[]}}");
}

/// What keeps us from adding does not keep us from leaving.
#[rstest]
#[case("codex", "{\"x\": 1, \"hooks\": {}}")]
#[case("cursor", "{\"version\": 2, \"hooks\": {\"stop\": []}}")]
#[case("claude", "{\"hooks\": {\"SessionStart\": {}, \"Stop\": [1, {\"hooks\": 2}, {\"hooks\": [3]}]}}")]
#[case("claude", "{\"hooks\": [[{}]]}")]
fn judges_nothing_but_what_it_needs(#[case] name: &'static str, #[case] text: &str) {
    let removed = Harness::new(name).remove(text, None);
    assert_eq!(removed, Removed { text: text.to_owned(), is_bare: false, removed: 0 });
}

#[rstest]
#[case::not_json("{\"hooks\": {}", "line 1, column 1: unterminated object")]
#[case::no_object("[]", "line 1, column 1: expected an object at the top, found a list")]
#[case::hooks_twice(
    "{\"hooks\": {},\n\"hooks\": {}}",
    "line 2, column 1: a second \"hooks\"; the first is on line 1"
)]
#[case::mark("\u{feff}{}", "line 1, column 1: a byte-order mark, which the harness does not read")]
fn rejects_what_it_cannot_read(#[case] text: &str, #[case] expected: &str) {
    let harness = Harness::new("grok");
    let error = remove(text, harness.shape, &harness.dialect, &harness.is_ours(), None).unwrap_err();
    assert_eq!(error.to_string(), expected);
}
