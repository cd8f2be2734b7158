//! What `add` does to handlers of ours that are there, and what `find` tells of them.

use rstest::rstest;

use super::*;

/// One event, so that a whole text can stand in a test.
fn claude(command: &str) -> Harness {
    let mut harness = Harness::new("claude");
    harness.entries.truncate(1);
    harness.entries[0].command = command.to_owned();
    harness
}

fn list(list: &str) -> String {
    format!(r#"{{"hooks":{{"SessionStart":{list}}}}}"#)
}

fn changed(event: &str, change: fn(String) -> Change) -> Vec<Change> {
    vec![change(event.to_owned())]
}

#[rstest]
#[case::command(
    r#"[{"hooks":[{"type":"command","command":"dogwatch hook claude x","timeout":30}]}]"#,
    r#"[{"hooks":[{"type":"command","command":"a dogwatch hook claude y","timeout":30}]}]"#
)]
#[case::timeout_and_nothing_else(
    r#"[ {"z" : 1, "hooks":[{"timeout" :5,"x":{}, "command": "a dogwatch hook claude y" ,"type":"command"}]}]"#,
    r#"[ {"z" : 1, "hooks":[{"timeout" :30,"x":{}, "command": "a dogwatch hook claude y" ,"type":"command"}]}]"#
)]
#[case::type_and_timeout_are_missing(
    r#"[{"hooks":[{"command":"a dogwatch hook claude y"}]}]"#,
    r#"[{"hooks":[{"command":"a dogwatch hook claude y","type":"command","timeout":30}]}]"#
)]
#[case::another_type(
    r#"[{"hooks":[{"type":null,"command":"a dogwatch hook claude y","timeout":30}]}]"#,
    r#"[{"hooks":[{"type":"command","command":"a dogwatch hook claude y","timeout":30}]}]"#
)]
#[case::timeout_of_another_type(
    r#"[{"hooks":[{"type":"command","command":"a dogwatch hook claude y","timeout":"30"}]}]"#,
    r#"[{"hooks":[{"type":"command","command":"a dogwatch hook claude y","timeout":30}]}]"#
)]
#[case::where_it_stands(
    r#"[{"hooks":[{"command":"a"},{"type":"command","command":"dogwatch hook claude x","timeout":30},{"command":"b"}]},{}]"#,
    r#"[{"hooks":[{"command":"a"},{"type":"command","command":"a dogwatch hook claude y","timeout":30},{"command":"b"}]},{}]"#
)]
fn only_the_values_are_rewritten(#[case] before: &str, #[case] after: &str) {
    let added = claude("a dogwatch hook claude y").add(&list(before));
    assert_eq!(added.text, list(after));
    assert_eq!(added.changes, changed("SessionStart", |event| Change::Rewritten { event }));
}

#[rstest]
#[case::as_we_write_it(
    r#"[{"hooks":[{"type":"command","command":"a dogwatch hook claude y","timeout":30}]}]"#
)]
#[case::written_otherwise(
    r#"[{"hooks":[{"timeout":3.0e1,"command":"a dogw\u0061tch hook claude y","type":"c\u006fmmand"}]}]"#
)]
#[case::with_more(
    r#"[{"matcher":"x","hooks":[{"type":"command","command":"a dogwatch hook claude y","timeout":30,"z":1}]}]"#
)]
fn what_is_right_stays(#[case] text: &str) {
    let added = claude("a dogwatch hook claude y").add(&list(text));
    assert_eq!((added.text, added.changes), (list(text), Vec::new()));
}

#[test]
fn of_several_the_first_stays() {
    let text = list(concat!(
        r#"[{"hooks":[{"command":"a"},{"type":"command","command":"dogwatch hook claude y","timeout":30},"#,
        r#"{"command":"dogwatch hook claude y"}]},{"hooks":[{"command":"dogwatch hook claude z"}]},{"hooks":[]}]"#
    ));
    let added = claude("dogwatch hook claude y").add(&text);
    assert_eq!(
        added.text,
        list(
            r#"[{"hooks":[{"command":"a"},{"type":"command","command":"dogwatch hook claude y","timeout":30}]},{"hooks":[]}]"#
        )
    );
    assert_eq!(added.changes, changed("SessionStart", |event| Change::Removed { event }));
}

#[test]
fn what_is_not_wanted_any_more_goes_with_what_was_made_for_it() {
    let text = r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"dogwatch hook claude y","timeout":30}]}],"Stop":[{"hooks":[{"command":"dogwatch hook claude stop"}]}]}}"#;
    let harness = claude("dogwatch hook claude y");
    let without = list(r#"[{"hooks":[{"type":"command","command":"dogwatch hook claude y","timeout":30}]}]"#);

    let unknown = harness.add(text);
    assert_eq!(unknown.text, without);
    assert_eq!(unknown.changes, changed("Stop", |event| Change::Removed { event }));

    let ours = Made { events: vec!["Stop".to_owned(), "SessionStart".to_owned()], ..Made::default() };
    let added = harness.add_after(text, Some(&ours));
    assert_eq!(added.text, without);
    assert_eq!(added.made.events, ["SessionStart"]);

    let not_ours = harness.add_after(text, Some(&Made::default()));
    assert_eq!(not_ours.text, text.replace(r#"{"hooks":[{"command":"dogwatch hook claude stop"}]}"#, ""));
}

/// A list of ours that a person has emptied is no change of nothing.
#[test]
fn an_emptied_list_that_is_not_wanted_any_more_goes() {
    let text = r#"{"a":1,"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"dogwatch hook claude y","timeout":30}]}],"Stop":[]}}"#;
    let ours = Made { events: vec!["Stop".to_owned()], ..Made::default() };
    let added = claude("dogwatch hook claude y").add_after(text, Some(&ours));
    assert_eq!(added.text, text.replace(r#","Stop":[]"#, ""));
    assert_eq!(added.changes, changed("Stop", |event| Change::Removed { event }));
    assert_eq!(added.made, Made::default());
}

#[test]
fn the_second_entry_of_one_event_is_no_second_handler() {
    let mut harness = claude("dogwatch hook claude y");
    harness
        .entries
        .push(Entry { command: "dogwatch hook claude z".to_owned(), ..harness.entries[0].clone() });
    let added = harness.add("{}");
    let found = harness.find(&added.text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].command, "dogwatch hook claude y");
}

/// What the caller wants is ours, whether its own predicate knows it or not: else it would be added for ever.
#[test]
fn what_is_wanted_is_ours() {
    let harness = claude("something else");
    let added = harness.add("{}");
    assert_eq!(harness.add_after(&added.text, Some(&added.made)).changes, []);
}

#[test]
fn nothing_wanted_is_nothing_made() {
    let mut harness = Harness::new("cursor");
    harness.entries.clear();
    for text in ["", " \n", "{}", "{ \"a\": 1 }\n", "{\"hooks\": {\"stop\": []}}"] {
        let added = harness.add(text);
        assert_eq!(added, Added { text: text.to_owned(), made: Made::default(), changes: Vec::new() });
    }
}

#[rstest]
#[case::blanks("'/home/a b/dogwatch' hook claude session-open")]
#[case::quotes(r#""/opt/\"x\"/dogwatch" hook claude session-open"#)]
#[case::dollar_and_backslash(r"'/opt/$HOME\n/dogwatch' hook claude session-open")]
#[case::non_ascii("/opt/größer/🐕/dogwatch hook claude session-open")]
#[case::control("/opt/\u{1}\t\n/dogwatch hook claude session-open")]
fn a_command_comes_back_as_it_was(#[case] command: &str) {
    let harness = claude(command);
    let added = harness.add("{\n}");
    assert_eq!(harness.find(&added.text)[0].command, command);
    assert_eq!(
        read(&added.text)["hooks"]["SessionStart"][0],
        serde_json::json!({"hooks": [{"type": "command", "command": command, "timeout": 30}]})
    );
    assert_eq!(harness.remove(&added.text, Some(&added.made)).text, "{\n}");
}

#[test]
fn finds_ours_with_what_a_person_has_made_of_it() {
    let harness = Harness::new("claude");
    let text = r#"{"hooks": {
        "Stop": [{}, {"matcher": "startup", "hooks": [7, {"command": "x"},
            {"type": "command", "command": "dogwatch hook claude stop", "timeout": 2.5, "async": true, "if": "x"}]}],
        "SessionEnd": [{"matcher": ["a", 1], "hooks": [{"command": "dogwatch hook claude end", "timeout": "9"}]}]
    }}"#;
    // A number among the handlers is judged where ours stand.
    insta::assert_snapshot!(
        find(text, harness.shape, &harness.dialect, &harness.is_ours()).unwrap_err().to_string(),
        @r#"line 2, column 55: expected an object as handler 1 in group 2 of "Stop", found a number"#
    );
    let found = harness.find(&text.replace("7, ", ""));
    assert_eq!(
        found,
        [
            Found {
                event: "Stop".to_owned(),
                group: 1,
                handler: 1,
                command: "dogwatch hook claude stop".to_owned(),
                timeout: Some(2.5),
                matcher: Some("startup".to_owned()),
                other_keys: vec!["async".to_owned(), "if".to_owned()],
            },
            Found {
                event: "SessionEnd".to_owned(),
                group: 0,
                handler: 0,
                command: "dogwatch hook claude end".to_owned(),
                timeout: None,
                matcher: Some("[\"a\", 1]".to_owned()),
                other_keys: Vec::new(),
            },
        ]
    );
}

#[test]
fn finds_ours_in_a_flat_list() {
    let harness = Harness::new("cursor");
    let text = r#"{"version": 1, "hooks": {"stop": [{"command": "x"},
        {"command": "dogwatch hook cursor stop", "timeout": 3, "matcher": "Shell", "type": "command", "failClosed": true}]}}"#;
    assert_eq!(
        harness.find(text),
        [Found {
            event: "stop".to_owned(),
            group: 1,
            handler: 0,
            command: "dogwatch hook cursor stop".to_owned(),
            timeout: Some(3.0),
            matcher: Some("Shell".to_owned()),
            other_keys: vec!["type".to_owned(), "failClosed".to_owned()],
        }]
    );
}

/// A file that the harness throws away holds no handler that works.
#[test]
fn finds_nothing_where_the_harness_reads_nothing() {
    let find = |name, text| {
        let harness = Harness::new(name);
        find(text, harness.shape, &harness.dialect, &harness.is_ours())
    };
    assert_eq!(find("claude", ""), Ok(Vec::new()));
    assert_eq!(find("claude", "{\"hooks\": {\"Stop\": 1}}"), Ok(Vec::new()));
    assert!(find("codex", "{\"x\": 1}").is_err());
    assert!(find("cursor", "{\"version\": 2}").is_err());
    assert!(find("grok", "{\"hooks\": []}").is_err());
    assert!(find("grok", "{\"hooks\": {},}").is_err());
}

/// Behind what a comment is about, and never within it. `<>` stands for ours, `_` for a foreign group.
#[rstest]
#[case::behind_the_last_on_the_line_of_the_bracket("[_ // a\n]", "[_, // a\n  <>\n]")]
#[case::behind_the_last_on_its_own_line("[\n\t_ // a\n]", "[\n\t_, // a\n\t<>\n]")]
#[case::behind_what_is_commented_out("[\n  _\n  // _\n]", "[\n  _,\n  // _\n  <>\n]")]
#[case::behind_a_block("[_ /* a */]", "[_, /* a */<>]")]
#[case::behind_a_trailing_comma("[_, // a\n]", "[_, // a\n  <>,\n]")]
#[case::alone_behind_a_block("[ /* a */ ]", "[ /* a */ <> ]")]
fn comments_stay_with_what_they_are_about(#[case] before: &str, #[case] after: &str) {
    const OURS: &str = r#"{"hooks":[{"type":"command","command":"dogwatch hook claude y","timeout":30}]}"#;
    let text = |text: &str| list(text).replace('_', r#"{"hooks":[{}]}"#).replace("<>", OURS);
    let mut harness = claude("dogwatch hook claude y");
    harness.dialect = Harness::that_reads("claude", "comments-and-trailing-commas").dialect;
    let added = harness.add(&text(before));
    assert_eq!(added.text, text(after));
    assert_eq!(harness.remove(&added.text, Some(&added.made)).text, text(before));
}

#[test]
fn an_install_ends_whatever_the_file_holds() {
    let harness = claude("dogwatch hook claude y");
    let many = vec![r#"{"hooks":[{"command":"dogwatch hook claude x"}]}"#; 220].join(",");
    insta::assert_snapshot!(
        harness.try_add(&list(&format!("[{many}]")), None).unwrap_err().to_string(),
        @"line 1, column 1: it holds more hooks of dogwatch than can be brought up to date"
    );
}
