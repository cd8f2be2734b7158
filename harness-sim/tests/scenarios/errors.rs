//! Files that are no scenarios: what is wrong, in which line and column, and what to do.

use harness_sim::{Scenario, ScenarioError};

use crate::program;

/// (the file, where, what is said).
const CASES: &[(&str, &str, &str)] = &[
    ("harness = claude\n", "1:11", ""),
    ("harness = \"claude\"\n[[steps]\nevent = 1\n", "2:", ""),
    ("[[steps]]\nevent = \"Stop\"\n", "1:1", "there is no `harness`"),
    ("harness = \"claud\"\n[[steps]]\nevent = \"x\"\n", "1:11", "did you mean claude?"),
    ("harness = 5\n[[steps]]\nevent = \"x\"\n", "1:11", "harness is a number, not a text"),
    ("harness = \"codex\"\nversion = \"0.1\"\n[[steps]]\nevent = \"x\"\n", "2:11", "there are: 0.171.0"),
    ("harness = \"codex\"\n", "1:1", "there is no step"),
    (
        "harness = \"claude\"\n[[step]]\nevent = \"Stop-active\"\n",
        "2:3",
        "there is no key \"step\"; did you mean steps?",
    ),
    ("harness = \"claude\"\nname = \" \"\n[[steps]]\nevent = \"Stop-active\"\n", "2:8", "name is empty"),
    ("harness = \"claude\"\nsteps = 5\n", "2:9", "steps is a number, not a list of tables"),
    ("harness = \"claude\"\nsteps = [5]\n", "2:10", "steps[0] is a number, not a table"),
    ("harness = \"claude\"\n[[steps]]\nsession = \"a\"\n", "2:1", "the step has no `event`"),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nquit = true\n",
        "3:9",
        "the step has both `quit` and `event`",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"SesionStart-startup-headless\"\n",
        "3:9",
        "did you mean SessionStart-startup-headless",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"SessionStart\"\nvariant = \"new\"\n",
        "3:9",
        "no recording \"SessionStart-new\"",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"SessionStart-compact\"\n",
        "3:9",
        "SessionStart-compact-tui",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nexpct = { ran = true }\n",
        "4:1",
        "there is no key \"steps[0].expct\"; did you mean expect?",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nexpect = { contxt = \"x\" }\n",
        "4:12",
        "did you mean context?",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\n[steps.expect.context]\ncontainz = \"é\"\n",
        "5:1",
        "did you mean contains?",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nexpect = { ran = 5 }\n",
        "4:18",
        "not true, false, a text or a table",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nexpect = { context = { delivered = \"all\" } }\n",
        "4:36",
        "there are: whole, preview, cut, ignored",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nexpect = { ends = \"soon\" }\n",
        "4:19",
        "there are: allowed, capped, never",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nexpect = { exit = \"badly\" }\n",
        "4:19",
        "is no end of a hook",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nexpect = { then = [{ silent = true }] }\n",
        "4:20",
        "has no `event`",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nexpect = { then = [{ event = \"Stop\", refused = 1 }] }\n",
        "4:20",
        "`refused` belongs into the step's own `expect`",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nexpect = { context = { bytes = { least = 3, most = 2 } } }\n",
        "4:32",
        "more than the most",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nexpect = { commands = -1 }\n",
        "4:23",
        "a whole number from 0",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nset = \"x\"\n",
        "4:7",
        "a table of the payload's fields",
    ),
    ("harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\nmax = 0\n", "4:7", "at least one"),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\noptions = { timeout = \"5 hours\" }\n",
        "4:23",
        "unknown unit",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\noptions = { feed = \"none\" }\n",
        "4:20",
        "there are: whole, no end, closed at once",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\noptions = { reader = \"fast\" }\n",
        "4:22",
        "there are: prompt, slow",
    ),
    (
        "harness = \"claude\"\n[[steps]]\nevent = \"Stop-active\"\noptions = { reader = { after = 1 } }\n",
        "4:24",
        "closes_after",
    ),
    (
        "harness = \"claude\"\nproject = \"no/such\"\n[[steps]]\nevent = \"Stop-active\"\n",
        "2:11",
        "no/such is not a folder",
    ),
    (
        "harness = \"claude\"\nproject = 5\n[[steps]]\nevent = \"Stop-active\"\n",
        "2:11",
        "a folder's path, or a table with `files`",
    ),
    (
        "harness = \"claude\"\n[project.files]\n\"../x\" = \"\"\n[[steps]]\nevent = \"Stop-active\"\n",
        "3:10",
        "no path within the folder",
    ),
    (
        "harness = \"claude\"\n[project.files]\na = { txt = \"\" }\n[[steps]]\nevent = \"Stop-active\"\n",
        "3:5",
        "has no `text`",
    ),
    (
        "harness = \"claude\"\n[home.files]\na = { text = \"\", mode = \"rwx\" }\n[[steps]]\nevent = \"Stop-active\"\n",
        "3:25",
        "is no mode, as \"755\"",
    ),
    (
        "harness = \"claude\"\nneeds = [\"home\"]\n[[steps]]\nevent = \"Stop-active\"\n",
        "2:9",
        "cannot be a name",
    ),
    (
        "harness = \"claude\"\nenv = { A = 1 }\n[[steps]]\nevent = \"Stop-active\"\n",
        "2:13",
        "env.A is a number, not a text",
    ),
    (
        "harness = \"claude\"\nsetup = [\"a\", 1]\n[[steps]]\nevent = \"Stop-active\"\n",
        "2:9",
        "something in it that is no text",
    ),
];

#[test]
fn an_error_says_where_and_what_to_do() {
    for (text, place, said) in CASES {
        let Err(error) = Scenario::parse(text, "some/test.toml") else { panic!("taken:\n{text}") };
        let error = error.to_string();
        let at = error.find(&format!("some/test.toml:{place}"));
        let is_said = at.is_some_and(|at| error[at..].contains(said));
        assert!(is_said, "{place} {said}\n{text}\n{error}");
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let text = "harness = \"claude\"\ntrustd = true\n[[steps]]\nevent = \"Stp-active\"\nexpect = { contxt = true }\n";
    let Err(ScenarioError::Problems(problems)) = Scenario::parse(text, "t.toml") else { panic!("taken") };
    let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 4, 5], "{problems:?}");
}

#[test]
fn a_column_counts_characters() {
    let text = "harness = \"claude\"\nabout = \"é\" # ä\nenv = { Ä = 'é', É = 1 }\n";
    let error = Scenario::parse(text, "t.toml").map(drop);
    // A key that TOML wants quoted is an error of its own; quoted it is ours.
    assert!(error.is_err());
    let text = text.replace("Ä =", "\"Ä\" =").replace("É =", "\"É\" =");
    let error = Scenario::parse(&text, "t.toml").unwrap_err().to_string();
    assert!(error.contains("t.toml:3:26: env.É is a number"), "{error}");
}

#[test]
fn nothing_is_played_where_a_file_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "right.toml",
        "harness = \"claude\"\ncommand = \": > played\"\n[[steps]]\nevent = \"Stop-active\"\n",
    );
    write("wrong.toml", "harness = \"claude\"\n[[steps]]\nevent = \"Stop-actve\"\n");
    let said = |arguments: &[&str]| {
        let output = program(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said(&["run", "."]).contains("wrong.toml:3:9: "));
    assert!(!folder.path().join("played").exists());
    assert!(said(&["run", "none.toml"]).contains("none.toml: No such file"));
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    assert!(said(&["run", "empty"]).contains("no .toml file"));
    assert!(said(&["run", "right.toml", "--define", "x=1"]).contains("none of the scenarios needs it"));
    assert!(said(&["run", "right.toml", "--project", "nowhere"]).contains("is not a folder"));
    assert!(said(&["run", "right.toml", "--define", "x"]).contains("NAME=VALUE"));
}
