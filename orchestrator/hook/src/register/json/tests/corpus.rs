//! Every file of the corpus, through the whole way.

use rstest::rstest;
use similar::TextDiff;

use super::*;

#[rstest]
fn what_was_added_comes_out_to_the_byte(#[values("claude", "codex", "cursor", "grok")] name: &'static str) {
    for File { name, text, harness } in corpus(name, false) {
        let is_blank = text.trim().is_empty();
        let added = harness.add(&text);
        let removed = harness.remove(&added.text, Some(&added.made));
        assert_eq!(removed.removed, harness.entries.len(), "{name}");
        assert_eq!(added.made.root, is_blank, "{name}");
        assert_eq!(removed.is_bare, is_blank, "{name}");
        assert_eq!(removed.text, if is_blank { "{}\n" } else { &text }, "{name}");
    }
}

#[rstest]
fn what_is_wanted_is_there_and_a_second_time_changes_nothing(
    #[values("claude", "codex", "cursor", "grok")] name: &'static str,
    #[values(false, true)] has_ours: bool,
) {
    for File { name, text, harness } in corpus(name, has_ours) {
        let added = harness.add(&text);
        harness.assert_has_what_is_wanted(&added.text);
        assert_eq!(harness.foreign(&added.text), harness.foreign(&text), "{name}");

        let kept: Made = serde_json::from_str(&serde_json::to_string(&added.made).unwrap()).unwrap();
        let again = harness.add_after(&added.text, Some(&kept));
        assert_eq!(again, Added { changes: Vec::new(), ..added }, "{name}");
    }
}

#[rstest]
fn a_new_handler_goes_last(#[values("claude", "codex", "cursor", "grok")] name: &'static str) {
    for File { name, text, harness } in corpus(name, false) {
        let added = harness.add(&text);
        let root = read(&added.text);
        for found in harness.find(&added.text) {
            let list = root["hooks"][&found.event].as_array().unwrap();
            assert_eq!(found.group + 1, list.len(), "{name}: {}", found.event);
        }
    }
}

#[rstest]
fn handlers_of_ours_that_were_there_are_gone_after_it(
    #[values("claude", "codex", "cursor", "grok")] name: &'static str,
) {
    for File { name, text, harness } in corpus(name, true) {
        assert!(!harness.find(&text).is_empty(), "{name}");
        let without = harness.remove(&text, None);
        let added = harness.add(&text);
        let removed = harness.remove(&added.text, Some(&added.made));
        assert_eq!(removed.text, without.text, "{name}");
        assert_eq!(removed.is_bare, without.is_bare, "{name}");
        assert_eq!(harness.foreign(&removed.text), harness.foreign(&text), "{name}");
        assert!(harness.find(&removed.text).is_empty(), "{name}");
    }
}

/// Events come, go and move, and so does the program.
#[rstest]
fn an_upgrade_leaves_no_trace(#[values("claude", "codex", "cursor", "grok")] name: &'static str) {
    for File { name, text, harness: new } in corpus(name, false) {
        let mut old = Harness::that_reads(new.name, &name);
        old.entries.remove(0);
        old.entries[0].command = format!("'/opt/old one/dogwatch hook {} prompt'", old.name);
        old.entries[1].timeout = 5;
        let gone = Entry {
            event: if old.shape == Shape::Flat { "preCompact" } else { "PreCompact" },
            command: format!("dogwatch hook {} before-compact", old.name),
            timeout: 5,
        };
        old.entries.insert(1, gone);

        let first = old.add(&text);
        let second = new.add_after(&first.text, Some(&first.made));
        new.assert_has_what_is_wanted(&second.text);
        let removed = new.remove(&second.text, Some(&second.made));
        assert_eq!(removed.text, if text.trim().is_empty() { "{}\n" } else { &text }, "{name}");
    }
}

#[rstest]
fn a_file_that_another_tool_rewrote_loses_only_ours(
    #[values("claude", "codex", "cursor", "grok")] name: &'static str,
) {
    for file in corpus(name, false).into_iter().filter(File::is_strict) {
        let File { name, text, harness } = file;
        let added = harness.add(&text);
        for rewrite in [indented, Value::to_string] {
            let rewritten = rewrite(&read(&added.text));
            let removed = harness.remove(&rewritten, Some(&added.made));
            assert_eq!(read(&removed.text), read(&text), "{name}: {}", removed.text);
            assert_eq!(removed.is_bare, text.trim().is_empty(), "{name}");

            // Apart from the white space in what was empty: as if the tool had rewritten the original.
            let made = Made { blanks: BTreeMap::new(), ..added.made.clone() };
            assert_eq!(harness.remove(&rewritten, Some(&made)).text, rewrite(&read(&text)), "{name}");
        }
    }
}

fn indented(value: &Value) -> String {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
    serde::Serialize::serialize(value, &mut serializer).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn an_absent_file_is_as_an_empty_one() {
    for name in HARNESSES {
        let harness = Harness::new(name);
        let absent =
            add(None, harness.shape, &harness.dialect, &harness.entries, &harness.is_ours(), None).unwrap();
        assert_eq!(absent, harness.add(""));
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("fresh-{name}"), absent.text);
        });
    }
}

/// How two of ours look in each file, to be read by a person: `␍` and `→` stand for a carriage return and a tab.
#[rstest]
fn the_difference(#[values("claude", "codex", "cursor", "grok")] name: &'static str) {
    let mut differences = String::new();
    for File { name, text, mut harness } in corpus(name, false).into_iter().chain(corpus(name, true)) {
        harness.entries.retain(|entry| entry.command.ends_with("-open") || entry.command.ends_with("-tool"));
        let Added { text: edited, changes, .. } = harness.add(&text);
        let changes: Vec<String> = changes.iter().map(|change| format!("{change:?}")).collect();
        let difference = TextDiff::from_lines(&text, &edited).unified_diff().context_radius(2).to_string();
        let visible = difference.replace('\r', "␍").replace('\t', "→").replace('\u{feff}', "<mark>");
        let lines: Vec<String> = visible
            .lines()
            .map(|line| match line.chars().count() {
                0..=1000 => line.to_owned(),
                long => format!("{}… {long} characters", line.chars().take(60).collect::<String>()),
            })
            .collect();
        differences.extend(["== ", &name, "\n", &changes.join("\n"), "\n", &lines.join("\n"), "\n"]);
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(format!("difference-{name}"), differences);
    });
}

#[test]
fn what_is_rejected_says_where_and_why() {
    let mut lines = Vec::new();
    for name in HARNESSES {
        for path in json_files(&top().join(name).join("rejected")) {
            let text = fs::read_to_string(&path).unwrap();
            let harness = Harness::new(name);
            let file = path.file_stem().unwrap().to_str().unwrap();
            let error = harness.try_add(&text, None).expect_err(file);
            lines.push(format!("{:<40} {error}", format!("{name}/{file}")));
        }
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("rejected", lines.join("\n"));
    });
}
