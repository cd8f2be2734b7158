//! What is written down of scenarios: text, JSON, JUnit, what was proved; and the exit code.

use std::path::Path;

use roxmltree::{Document, Node};
use serde_json::Value;

use crate::program;

const PASSES: &str = "harness = \"claude\"\ncommand = \"echo hello\"\n[[steps]]\nevent = \"SessionStart-startup-headless\"\nexpect.context = \"hello\"\n[[steps]]\nevent = \"UserPromptSubmit-headless\"\n";
/// Says what XML does not take as it is, and what it does not take at all.
const FAILS: &str = "about = \"A <hook> & \\\"its\\\" words.\"\nharness = \"codex\"\ncommand = '''printf '<b>&amp; \\033]]> \"é\"' '''\n[[steps]]\nevent = \"SessionStart-startup-tui\"\nexpect = { context = \"<&>\", denied = \"\\u0001\" }\n";
const ERRS: &str = "name = \"errs\\u0001\"\nharness = \"claude\"\nsetup = \"printf '<no>\\\\033[31m' >&2; exit 1\"\n[[steps]]\nevent = \"SessionStart-startup-headless\"\n";
const NOT_RUN: &str = "harness = \"pi\"\ncommand = \"true\"\n[[steps]]\nevent = \"session_start-startup-print\"\nexpect.context = \"x\"\n";
const NO_HOOK: &str =
    "harness = \"grok\"\n[project]\n[[steps]]\nevent = \"SessionStart-new\"\nexpect.silent = true\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in
        [("passes", PASSES), ("fails", FAILS), ("errs", ERRS), ("not-run", NOT_RUN), ("no-hook", NO_HOOK)]
    {
        std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
    }
    folder
}

fn code(folder: &Path, names: &[&str]) -> i32 {
    let mut arguments = vec!["run"];
    arguments.extend(names);
    program(folder, &arguments).status.code().unwrap()
}

#[test]
fn the_exit_code_says_what_came_of_it() {
    let folder = folder();
    let code = |names: &[&str]| code(folder.path(), names);
    assert_eq!(code(&["passes.toml"]), 0);
    assert_eq!(code(&["fails.toml"]), 1);
    assert_eq!(code(&["errs.toml"]), 1);
    assert_eq!(code(&["passes.toml", "fails.toml"]), 1);
    assert_eq!(code(&["no-hook.toml"]), 3);
    assert_eq!(code(&["no-hook.toml", "fails.toml"]), 1);
    assert_eq!(code(&["not-run.toml"]), 3);
    assert_eq!(code(&["passes.toml", "not-run.toml"]), 0);
}

#[test]
fn a_scenario_that_breaks_off_takes_no_other_with_it() {
    let folder = folder();
    let text = PASSES.replace("echo hello", "kill -9 $PPID; echo hello");
    std::fs::write(folder.path().join("breaks.toml"), text).unwrap();
    let output = program(folder.path(), &["run", "passes.toml", "breaks.toml", "fails.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("failed: lost the host process") && text.ends_with("1 passed, 2 failed\n"),
        "{text}"
    );
}

#[test]
fn the_text_is_short_where_all_is_well_and_whole_where_it_is_not() {
    let folder = folder();
    let text = |arguments: &[&str]| String::from_utf8(program(folder.path(), arguments).stdout).unwrap();
    let all = text(&["run", "passes.toml", "fails.toml", "errs.toml", "not-run.toml"]);
    assert!(all.ends_with("\n1 passed, 2 failed, 1 not run\n"), "{all}");
    // A step without an expectation shows what came of it; one that is met does not.
    assert_eq!(all.matches("the model sees").count(), 2, "{all}");
    assert!(all.contains("– not-run") && all.contains("  not run: Pi"), "{all}");
    assert!(all.contains("failed: the set-up") && all.contains("exit 1: <no>\u{fffd}[31m"), "{all}");
    assert!(!all.contains('\u{1b}'));
    assert_eq!(text(&["run", "-v", "passes.toml"]).matches("the model sees").count(), 2);
}

#[test]
fn the_json_is_an_array_of_firings() {
    let folder = folder();
    let output = program(folder.path(), &["run", "--json", "passes.toml", "fails.toml", "not-run.toml"]);
    let firings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let firings = firings.as_array().unwrap();
    assert_eq!(firings.len(), 4);
    for (at, scenario, step) in [(0, "passes", 1), (1, "passes", 2), (2, "fails", 1), (3, "not-run", 1)] {
        assert_eq!((&firings[at]["scenario"], &firings[at]["step"]), (&scenario.into(), &step.into()));
        for key in ["event", "commands", "effects", "survivors", "unmet"] {
            assert!(firings[at].get(key).is_some(), "{key}");
        }
    }
    assert_eq!(firings[0]["effects"][0]["kind"], "context");
    assert_eq!(firings[2]["unmet"].as_array().unwrap().len(), 2);
    assert_eq!(firings[2]["unmet"][0]["line"], 6);
    assert!(firings[3]["not_applicable"].is_string());
}

fn number(node: Node<'_, '_>, name: &str) -> usize {
    node.attribute(name).unwrap_or_else(|| panic!("{name}")).parse().unwrap()
}

/// As the schema of Ant's JUnit task has it.
fn assert_suite(suite: Node<'_, '_>, at: usize) {
    for name in ["name", "package", "timestamp", "hostname"] {
        assert!(suite.attribute(name).is_some_and(|value| !value.is_empty()), "{name}");
    }
    assert_eq!(suite.attribute("timestamp").unwrap().len(), "2026-11-30T00:00:00".len());
    assert_eq!(number(suite, "id"), at);
    suite.attribute("time").unwrap().parse::<f64>().unwrap();
    let children: Vec<Node<'_, '_>> = suite.children().filter(Node::is_element).collect();
    let names: Vec<&str> = children.iter().map(|child| child.tag_name().name()).collect();
    let cases = names.len() - 3;
    assert_eq!(names[0], "properties");
    assert!(names[1..=cases].iter().all(|name| *name == "testcase"));
    assert_eq!(names[cases + 1..], ["system-out", "system-err"]);
    assert_eq!(number(suite, "tests"), cases);
    for (kind, attribute) in [("failure", "failures"), ("error", "errors"), ("skipped", "skipped")] {
        let there = suite.descendants().filter(|node| node.tag_name().name() == kind).count();
        assert_eq!(there, number(suite, attribute), "{kind}");
    }
    for case in &children[1..=cases] {
        for name in ["name", "classname", "time"] {
            assert!(case.attribute(name).is_some_and(|value| !value.is_empty()), "{name}");
        }
        assert!(case.children().filter(Node::is_element).count() <= 1);
        for fault in case.children().filter(|node| matches!(node.tag_name().name(), "failure" | "error")) {
            assert!(fault.attribute("type").is_some() && fault.attribute("message").is_some());
        }
    }
}

#[test]
fn the_junit_file_is_valid_and_says_what_failed() {
    let folder = folder();
    let names = ["passes.toml", "fails.toml", "errs.toml", "not-run.toml"];
    program(folder.path(), &[&["run", "--junit", "report.xml"][..], &names].concat());
    let text = std::fs::read_to_string(folder.path().join("report.xml")).unwrap();
    let xml = Document::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let root = xml.root_element();
    assert_eq!((root.tag_name().name(), root.attributes().count()), ("testsuites", 0));
    let suites: Vec<Node<'_, '_>> = root.children().filter(Node::is_element).collect();
    assert_eq!(suites.len(), 4);
    for (at, suite) in suites.iter().enumerate() {
        assert_suite(*suite, at);
    }
    let counts: Vec<[usize; 4]> = suites
        .iter()
        .map(|suite| ["tests", "failures", "errors", "skipped"].map(|name| number(*suite, name)))
        .collect();
    assert_eq!(counts, [[2, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]);
    let failure = suites[1].descendants().find(|node| node.has_tag_name("failure")).unwrap();
    assert!(failure.attribute("message").unwrap().contains("`context` with \"<&>\""));
    assert!(failure.text().unwrap().contains("fails.toml:6: expected"));
    let out = suites[1].descendants().find(|node| node.has_tag_name("system-out")).unwrap();
    assert!(out.text().unwrap().contains("<b>&amp; \u{fffd}]]> \"é\""), "{:?}", out.text());
    assert_eq!(suites[2].attribute("name"), Some("errs\u{fffd}"));
    let error = suites[2].descendants().find(|node| node.has_tag_name("error")).unwrap();
    assert!(error.attribute("message").unwrap().contains("exit 1: <no>\u{fffd}[31m"));
}

fn proved(file: &Path) -> Vec<(String, String, bool)> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            assert!(line["at"].as_str().unwrap().ends_with('Z') && line["version"].is_string());
            (
                line["scenario"].as_str().unwrap().to_owned(),
                line["harness"].as_str().unwrap().to_owned(),
                line["passed"].as_bool().unwrap(),
            )
        })
        .collect()
}

#[test]
fn what_was_proved_is_kept_and_renewed() {
    let folder = folder();
    let file = folder.path().join("state/proved.json");
    let run = |name: &str| program(folder.path(), &["run", "--prove", "state/proved.json", name]);
    let line = |scenario: &str, harness: &str, passed| (scenario.to_owned(), harness.to_owned(), passed);
    run("passes.toml");
    assert_eq!(proved(&file), [line("passes", "claude", true)]);
    run("fails.toml");
    assert_eq!(proved(&file), [line("passes", "claude", true), line("fails", "codex", false)]);
    // What passed and does so no more is proved no more.
    std::fs::write(folder.path().join("passes.toml"), PASSES.replace("\"hello\"", "\"bye\"")).unwrap();
    run("passes.toml");
    assert_eq!(proved(&file), [line("fails", "codex", false), line("passes", "claude", false)]);
    // What was not run proves nothing.
    run("not-run.toml");
    assert_eq!(proved(&file).len(), 2);
    // A line of another writer stays.
    let other = "{\"scenario\":\"passes\",\"harness\":\"claude\",\"version\":\"9\",\"passed\":true,\"at\":\"2026-01-01T00:00:00Z\"}\n";
    std::fs::write(&file, other).unwrap();
    run("passes.toml");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with(other));
    assert_eq!(proved(&file).len(), 2);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let folder = folder();
    for flag in ["--junit", "--prove"] {
        std::fs::create_dir_all(folder.path().join("taken/x")).unwrap();
        let output = program(folder.path(), &["run", "passes.toml", flag, "taken"]);
        assert_eq!(output.status.code(), Some(2), "{flag}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("failed to write taken"));
    }
}

#[test]
fn a_name_may_be_given() {
    let folder = tempfile::tempdir().unwrap();
    let text = PASSES.replacen("harness", "name = \"another name\"\nharness", 1);
    std::fs::write(folder.path().join("file.toml"), text).unwrap();
    let output = program(folder.path(), &["run", "file.toml"]);
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("✓ another name  "));
}
