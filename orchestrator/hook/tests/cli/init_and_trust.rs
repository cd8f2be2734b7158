//! `init`, `trust`, and what every command has.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::support::{Desk, PROGRAM, is_empty, stderr, stdout, write_config};

#[test]
fn the_version_is_one_line() {
    let desk = Desk::new();
    for flag in ["--version", "-V"] {
        let output = desk.dogwatch(&[flag]);
        assert_eq!(stdout(&output), format!("dogwatch {}\n", env!("CARGO_PKG_VERSION")));
        assert!(output.status.success() && output.stderr.is_empty());
    }
}

#[test]
fn the_help_tells_the_commands_and_the_exit_codes() {
    let desk = Desk::new();
    let output = desk.dogwatch(&["--help"]);
    let text = stdout(&output);
    assert!(output.status.success());
    for word in ["init", "trust", "Exit codes:"] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn a_wrong_command_line_is_one_line_and_exit_2() {
    let desk = Desk::new();
    let cases: [(&[&str], &str); 3] = [
        (
            &["trsut"],
            "dogwatch: unrecognized subcommand 'trsut'; tip: a similar subcommand exists: 'trust'; see `dogwatch \
             --help`\n",
        ),
        (
            &["init", "--dry"],
            "dogwatch: unexpected argument '--dry' found; tip: a similar argument exists: '--dry-run'; see \
             `dogwatch init --help`\n",
        ),
        (
            &["trust", "x\u{9b}y"],
            "dogwatch: unexpected argument 'x\\u{9b}y' found; see `dogwatch trust --help`\n",
        ),
    ];
    for (arguments, expected) in cases {
        let output = desk.dogwatch(arguments);
        assert_eq!(stderr(&output), expected);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    }
}

#[test]
fn no_command_is_the_help_and_exit_2() {
    let output = Desk::new().dogwatch(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("Usage: dogwatch"));
}

#[test]
fn init_makes_a_home_that_is_trusted_from_the_start() {
    let desk = Desk::new();
    let output = desk.dogwatch(&["init"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let home = fs::read_dir(desk.project.join(".dogwatch")).unwrap();
    let mut names: Vec<_> = home.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".gitignore", "config.toml", "follow-ups.md", "pointer.md"]);
    let shown = stdout(&desk.dogwatch(&["trust", "--show"]));
    assert!(shown.ends_with("It names no program.\nIt is trusted.\n"), "{shown}");
}

#[test]
fn a_dry_run_of_init_writes_nothing() {
    let desk = Desk::new();
    let output = desk.dogwatch(&["init", "--dry-run"]);
    assert!(output.status.success());
    assert!(stdout(&output).contains("would create       config.toml\n    | # dogwatch"));
    assert!(is_empty(&desk.project) && is_empty(&desk.state_folder()));
}

#[test]
fn git_ignores_the_state_folder_and_nothing_else() {
    let desk = Desk::new();
    assert!(desk.run(Command::new("git").args(["init", "-q"])).status.success());
    assert!(desk.dogwatch(&["init"]).status.success());
    fs::create_dir(desk.project.join(".dogwatch/state")).unwrap();
    fs::write(desk.project.join(".dogwatch/state/helm.json"), "").unwrap();
    let text = stdout(&desk.run(Command::new("git").args(["status", "--porcelain", "-uall"])));
    let names: Vec<&str> = text.lines().map(|line| &line[3..]).collect();
    assert_eq!(
        names,
        [".dogwatch/.gitignore", ".dogwatch/config.toml", ".dogwatch/follow-ups.md", ".dogwatch/pointer.md"]
    );
}

#[test]
fn init_refuses_a_home_that_is_a_link() {
    let desk = Desk::new();
    let elsewhere = desk.scratch.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, desk.project.join(".dogwatch")).unwrap();
    let output = desk.dogwatch(&["init"]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.starts_with("dogwatch: ") && message.contains("found a link"), "{message}");
    assert_eq!(message.lines().count(), 1);
    assert!(is_empty(&elsewhere));
}

#[test]
fn trust_is_refused_below_every_harness() {
    let desk = Desk::new();
    write_config(&desk, "[[digest.stage]]\nname = \"a\"\ncommand = \"true\"\n");
    let harnesses = [
        ("claude", "Claude Code"),
        ("/usr/local/bin/codex", "Codex"),
        ("cursor-agent", "Cursor"),
        ("pi", "Pi"),
        ("opencode", "OpenCode"),
        ("grok", "Grok"),
    ];
    for (harness, name) in harnesses {
        let output = desk.below(harness, "trust");
        assert_eq!(output.status.code(), Some(1));
        let message = stderr(&output);
        let begin = format!("dogwatch: trust is a person's word, and this runs below {name} (process ");
        assert!(message.starts_with(&begin), "{message}");
        assert!(message.ends_with("; run `dogwatch trust` yourself in a terminal\n"), "{message}");
        assert!(output.stdout.is_empty());
    }
    assert!(is_empty(&desk.state_folder()), "nothing was recorded");
}

#[test]
fn no_number_of_shells_between_hides_a_harness() {
    let desk = Desk::new();
    write_config(&desk, "");
    let script = desk.scratch.path().join("nest");
    let text =
        "if [ \"$1\" -gt 0 ]; then /bin/sh \"$0\" $(($1 - 1)) \"$2\"; exit $?; fi\n\"$2\" trust; exit $?\n";
    fs::write(&script, text).unwrap();
    let mut shell = Command::new("/bin/sh");
    let output = desk.run(shell.arg0("claude").arg(&script).args(["20", PROGRAM]));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("below Claude Code"), "{}", stderr(&output));
}

#[test]
fn trust_may_be_shown_below_a_harness() {
    let desk = Desk::new();
    write_config(&desk, "[[digest.stage]]\nname = \"a\"\ncommand = [\"./run\"]\n");
    let output = desk.below("claude", "trust --show");
    assert!(output.status.success(), "{}", stderr(&output));
    let shown = stdout(&output);
    assert!(shown.contains("the stage a:\n    ./run\n") && shown.contains("It is not trusted"), "{shown}");
}

#[test]
fn problems_of_a_config_are_listed_below_one_line() {
    let desk = Desk::new();
    write_config(&desk, "[digest]\ndeadlin = 1\n");
    let output = desk.dogwatch(&["trust", "--show"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "dogwatch: config.toml cannot be trusted as it stands; correct it first:\n  \
         .dogwatch/config.toml:2:1: digest.deadlin: unknown key; did you mean \"deadline\"?\n"
    );
}

#[test]
fn a_reader_that_has_gone_away_is_no_failure() {
    let desk = Desk::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(PROGRAM);
    let child = desk.prepare(command.args(["init", "--dry-run"])).stdout(writer).stderr(Stdio::piped());
    let output = child.spawn().unwrap().wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(stderr(&output), "");
}
