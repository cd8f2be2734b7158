//! The scenarios of this repository.

use std::path::{Path, PathBuf};

use harness_sim::Scenario;

use crate::program;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_file_is_a_scenario_that_says_what_it_is_about() {
    let all = files(&folder(""));
    assert!(all.len() > 30);
    for file in all {
        let scenario = Scenario::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.name(), file.file_stem().unwrap().to_str().unwrap());
        assert!(scenario.about().is_some_and(|about| about.ends_with(['.', ')'])), "{}", file.display());
        assert!(scenario.name().starts_with(scenario.harness().id()), "{}", file.display());
    }
}

#[test]
fn the_example_of_the_readme_is_right() {
    let readme = std::fs::read_to_string(folder("README.md")).unwrap();
    let example = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    crate::play(example).assert_passed();
}

#[test]
fn every_wrong_hook_is_caught() {
    // Strict: every note that comes is expected.
    let output = program(Path::new("/"), &["run", "--strict", folder("wrong-hooks").to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let count = files(&folder("wrong-hooks")).len();
    assert!(text.ends_with(&format!("\n{count} passed\n")), "{text}");
}

/// The one about the visible budget, with one character less expected to be too many.
#[test]
fn a_false_expectation_of_them_fails() {
    let text = std::fs::read_to_string(folder("wrong-hooks/claude-visible-budget.toml")).unwrap();
    let wrong = text.replacen("delivered = \"whole\"", "delivered = \"preview\"", 1);
    assert_ne!(text, wrong);
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("false.toml"), &wrong).unwrap();
    let output = program(scratch.path(), &["run", "false.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = wrong.lines().position(|line| line.contains("delivered = \"preview\"")).unwrap() + 1;
    for part in [
        "✗ false",
        &format!("expected: `context` with \"aaaz\" delivered preview of 10000 bytes  false.toml:{line}"),
        "found: context 10000 bytes whole: aaa",
        "1 failed",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn those_about_dogwatch_say_that_they_need_it() {
    let output = program(Path::new("/"), &["run", folder("dogwatch/claude-fork.toml").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("claude-fork.toml needs a value for {dogwatch}: give --define dogwatch="),
        "{text}"
    );
}
