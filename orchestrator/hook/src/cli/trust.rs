//! `dogwatch trust`: a person's word that this project's config may run its programs.

use std::fmt::Write as _;
use std::io::Write;

use super::{Failure, Surroundings, write_out};
use crate::config::{self, Config, Loaded, Program, printable};
use crate::harness::ancestry::Ancestry;
use crate::home::root::{HOME, find_root};
use crate::home::trust::{TrustState, Trusted};
use crate::text::redact;

/// Show the programs that this project's config names, and allow them to run.
///
/// A config names programs that run at every session open or, as checks of the network, beside it. Until a person has trusted the config as it stands, nothing
/// in it counts, and any change of it asks again. The programs themselves can change without that: trusting a config is
/// trusting its programs at every later state of theirs.
///
/// Refused below a coding agent: run it yourself, in a terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXIT_CODES)]
pub(super) struct Arguments {
    /// Only show the programs, and whether the config is trusted
    #[arg(long)]
    show: bool,
}

pub(super) fn run(
    arguments: &Arguments,
    surroundings: &Surroundings,
    out: &mut impl Write,
) -> Result<(), Failure> {
    if !arguments.show {
        refuse_below_a_harness(surroundings.ancestry)?;
    }
    let root = find_root(&surroundings.folder, surroundings.home_folder.as_deref());
    let Some(home) = root.home() else {
        let folder = surroundings.folder.display();
        if let Ok(data) = root.path.join(HOME).symlink_metadata() {
            let found = if data.is_symlink() { "a link" } else { "a file" };
            return Err(Failure::new(format!(
                "{HOME} in {} is {found} and no folder, so it is no home; move it away, then run `dogwatch init`",
                root.path.display()
            )));
        }
        return Err(Failure::new(format!(
            "no .dogwatch/ in {folder} or above it; `dogwatch init` makes one"
        )));
    };
    let Some(state_folder) = &surroundings.state_folder else {
        let message = "trust is kept below the home folder, and neither HOME nor XDG_STATE_HOME is an absolute \
                       path; set one of them";
        return Err(Failure::new(message));
    };
    let trusted = Trusted::new(state_folder);
    let loaded = config::load(&home);
    refuse_problems(&loaded)?;
    let file = home.join(config::FILE_NAME);
    let Some(sha256) = loaded.sha256 else {
        let message = format!("{}: no such file; there is nothing to trust", file.display());
        return Err(Failure::new(message));
    };

    let mut text = format!("{}\n", printable(&file.display().to_string(), usize::MAX));
    let names_any = list_programs(&loaded.config, &mut text);
    if arguments.show {
        text.push_str(match trusted.state_of(&root.path, &sha256) {
            TrustState::Trusted => "It is trusted.\n",
            TrustState::Untrusted => "It is not trusted: nothing in it counts, and none of its programs runs. `dogwatch trust` allows it.\n",
            TrustState::Changed => {
                "It has changed since it was trusted: nothing in it counts, and none of its programs runs. `dogwatch \
                 trust` allows it.\n"
            }
        });
        return write_out(out, &text);
    }
    if names_any {
        text.push_str(
            "Trusting this config is trusting these programs at every later state of theirs. A change of the config \
             asks again; a change of the programs does not.\n",
        );
    }
    // What is about to be trusted is shown first, so that it has been shown whatever happens then.
    write_out(out, &text)?;
    trusted.record(&root.path, &sha256)?;
    let record = printable(&trusted.file().display().to_string(), usize::MAX);
    write_out(out, &format!("Trusted. Recorded in {record}\n"))
}

fn refuse_below_a_harness(ancestry: Ancestry) -> Result<(), Failure> {
    match ancestry {
        Ancestry::Clear => Ok(()),
        Ancestry::Below(ancestor) => Err(Failure::new(format!(
            "trust is a person's word, and this runs below {} (process {}); run `dogwatch trust` yourself in a terminal",
            ancestor.harness.name, ancestor.id
        ))),
        Ancestry::Unknown => Err(Failure::new(
            "trust is a person's word, and the process that started this one cannot be seen in /proc; run `dogwatch \
             trust` yourself in a terminal",
        )),
    }
}

fn refuse_problems(loaded: &Loaded) -> Result<(), Failure> {
    if loaded.problems.is_empty() {
        return Ok(());
    }
    let details: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    let message = format!("{} cannot be trusted as it stands; correct it first:", config::FILE_NAME);
    Err(Failure::with_details(message, details))
}

/// Lists every program that the config names; whether there is any.
fn list_programs(config: &Config, text: &mut String) -> bool {
    let (digest, network) = (&config.digest, &config.network);
    let mut programs: Vec<(String, Program)> = Vec::new();
    if let Some(external) = &digest.external {
        programs.push(("the digest".to_owned(), Program::Argv(external.command.clone())));
    }
    for stage in &digest.stages {
        programs.push((format!("the stage {}", stage.name), stage.program.clone()));
    }
    for check in &network.checks {
        let change = if check.sweep { ", which changes something" } else { "" };
        programs.push((format!("the network check {}{change}", check.name), check.program.clone()));
    }
    if !network.built_in.is_empty() {
        let ids: Vec<&str> = network.built_in.iter().map(|check| check.id()).collect();
        let _ = writeln!(text, "It has dogwatch ask the network: {}.", ids.join(", "));
    }
    if programs.is_empty() {
        text.push_str("It names no program.\n");
        return false;
    }
    text.push_str("It names these programs:\n");
    for (what, program) in programs {
        let _ = writeln!(text, "  {what}:");
        match program {
            Program::Argv(argv) => {
                let words: Vec<String> = argv.iter().map(|word| shell_word(&redact(word))).collect();
                let _ = writeln!(text, "    {}", words.join(" "));
            }
            Program::Shell(line) => {
                text.push_str("    /bin/sh -c\n");
                for line in line.lines() {
                    let _ = writeln!(text, "    | {}", printable(&redact(line), usize::MAX));
                }
            }
        }
    }
    true
}

/// The word as a shell would have to be given it, with what would not show made visible.
fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:=@%+,-".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", printable(&word.replace('\'', r"'\''"), usize::MAX))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;
    use crate::harness::ancestry::{EVERY_DEPTH, Process, Processes, find};

    const CONFIG: &str = r#"
[digest]
deadline = 9
[[digest.stage]]
name = "tickets"
command = ["./tickets", "--of", "it's me", "\u001b[2K\u202e", ""]
[[digest.stage]]
name = "lint"
command = """
./lint --fast
It is trusted.
"""
[network]
built_in = ["remote"]
[[network.check]]
name = "releases"
command = ["./releases", "--new"]
[[network.check]]
name = "sweep"
command = "git fetch --prune"
sweep = true
"#;

    /// A person's home folder with a project in it, seen from a terminal.
    fn project(config: &str) -> (TempDir, Surroundings) {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().canonicalize().unwrap();
        let root = path.join("project");
        fs::create_dir_all(root.join(".dogwatch")).unwrap();
        fs::write(root.join(".dogwatch/config.toml"), config).unwrap();
        let state_folder = Some(path.join("state/dogwatch"));
        let surroundings =
            Surroundings { folder: root, home_folder: Some(path), state_folder, ancestry: Ancestry::Clear };
        (scratch, surroundings)
    }

    fn trust(show: bool, surroundings: &Surroundings) -> Result<String, String> {
        let mut out = Vec::new();
        match run(&Arguments { show }, surroundings, &mut out) {
            Ok(()) => {
                let folder = surroundings.home_folder.as_ref().unwrap().display().to_string();
                Ok(String::from_utf8(out).unwrap().replace(&folder, "<home>"))
            }
            Err(failure) => {
                assert!(out.is_empty(), "what is refused shows nothing");
                Err([vec![failure.message], failure.details].concat().join("\n"))
            }
        }
    }

    fn recorded(surroundings: &Surroundings) -> bool {
        surroundings.state_folder.as_ref().unwrap().join("trusted").exists()
    }

    #[test]
    fn a_person_in_a_terminal_is_shown_the_programs_and_trusts_them() {
        let (_scratch, surroundings) = project(CONFIG);
        insta::assert_snapshot!(trust(false, &surroundings).unwrap(), @r#"
    <home>/project/.dogwatch/config.toml
    It has dogwatch ask the network: remote.
    It names these programs:
      the stage tickets:
        ./tickets --of 'it'\''s me' '\u{1b}[2K\u{202e}' ''
      the stage lint:
        /bin/sh -c
        | ./lint --fast
        | It is trusted.
      the network check releases:
        ./releases --new
      the network check sweep, which changes something:
        /bin/sh -c
        | git fetch --prune
    Trusting this config is trusting these programs at every later state of theirs. A change of the config asks again; a change of the programs does not.
    Trusted. Recorded in <home>/state/dogwatch/trusted
    "#);
        assert!(trust(true, &surroundings).unwrap().ends_with("It is trusted.\n"));
    }

    #[test]
    fn showing_records_nothing() {
        let (_scratch, surroundings) = project(CONFIG);
        let shown = trust(true, &surroundings).unwrap();
        assert!(shown.contains("It is not trusted"), "{shown}");
        assert!(!recorded(&surroundings));
    }

    #[test]
    fn a_change_is_seen() {
        let (_scratch, surroundings) = project(CONFIG);
        trust(false, &surroundings).unwrap();
        fs::write(surroundings.folder.join(".dogwatch/config.toml"), format!("{CONFIG}# more\n")).unwrap();
        let shown = trust(true, &surroundings).unwrap();
        assert!(shown.contains("It has changed since it was trusted"), "{shown}");
    }

    #[test]
    fn a_config_without_programs_says_so() {
        let (_scratch, surroundings) = project("[digest]\ndeadline = 9\n");
        insta::assert_snapshot!(trust(false, &surroundings).unwrap(), @r#"
    <home>/project/.dogwatch/config.toml
    It names no program.
    Trusted. Recorded in <home>/state/dogwatch/trusted
    "#);
    }

    #[test]
    fn an_external_digest_is_shown() {
        let (_scratch, surroundings) = project("[digest]\ncommand = [\"./digest\"]\n");
        assert!(trust(true, &surroundings).unwrap().contains("the digest:\n    ./digest\n"));
    }

    #[test]
    fn credentials_of_command_lines_are_not_shown() {
        let (_scratch, surroundings) = project(
            r#"
[[digest.stage]]
name = "a"
command = ["curl", "https://user:s3cret@host.invalid/?token=s3cret"]
[[network.check]]
name = "b"
command = "curl 'https://s3cret@host.invalid/'"
"#,
        );
        let shown = trust(true, &surroundings).unwrap();
        assert!(shown.contains("curl 'https://***@host.invalid/?token=***'\n"), "{shown}");
        assert!(shown.contains("| curl 'https://***@host.invalid/'\n"), "{shown}");
    }

    /// A chain of one process above this one.
    struct Below(&'static str);

    impl Processes for Below {
        fn process(&self, id: u32) -> Option<Process> {
            let arguments = if id == 5 { vec!["dogwatch".into()] } else { vec![self.0.into()] };
            Some(Process { parent: if id == 5 { 4 } else { 0 }, arguments, ..Process::default() })
        }

        fn variable(&self, _: u32, _: &str) -> Option<std::ffi::OsString> {
            None
        }
    }

    #[test]
    fn below_a_harness_it_is_refused_and_names_it() {
        let (_scratch, mut surroundings) = project(CONFIG);
        surroundings.ancestry = find(&Below("/usr/local/bin/claude"), 5, EVERY_DEPTH);
        insta::assert_snapshot!(trust(false, &surroundings).unwrap_err(), @"trust is a person's word, and this runs below Claude Code (process 4); run `dogwatch trust` yourself in a terminal");
        assert!(!recorded(&surroundings));
        assert!(trust(true, &surroundings).is_ok(), "showing is for everybody");
    }

    #[test]
    fn below_a_shell_it_is_accepted() {
        let (_scratch, mut surroundings) = project(CONFIG);
        surroundings.ancestry = find(&Below("-bash"), 5, EVERY_DEPTH);
        assert!(trust(false, &surroundings).is_ok());
        assert!(recorded(&surroundings));
    }

    #[test]
    fn where_the_ancestors_cannot_be_seen_it_is_refused() {
        let (_scratch, mut surroundings) = project(CONFIG);
        surroundings.ancestry = Ancestry::Unknown;
        insta::assert_snapshot!(trust(false, &surroundings).unwrap_err(), @"trust is a person's word, and the process that started this one cannot be seen in /proc; run `dogwatch trust` yourself in a terminal");
        assert!(!recorded(&surroundings));
    }

    #[test]
    fn a_config_with_problems_is_refused_with_all_of_them() {
        let (_scratch, surroundings) = project("[digest]\ndeadlin = 1\ndrop = 3\n");
        insta::assert_snapshot!(trust(false, &surroundings).unwrap_err(), @r#"
    config.toml cannot be trusted as it stands; correct it first:
    .dogwatch/config.toml:2:1: digest.deadlin: unknown key; did you mean "deadline"?
    .dogwatch/config.toml:3:8: digest.drop: expected an array of built-in stages, found the number 3
    "#);
        assert!(!recorded(&surroundings));
    }

    #[test]
    fn a_home_that_is_no_folder_is_told_as_that() {
        let (_scratch, surroundings) = project(CONFIG);
        let home = surroundings.folder.join(".dogwatch");
        fs::rename(&home, surroundings.folder.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", &home).unwrap();
        let said = trust(false, &surroundings).unwrap_err();
        assert!(said.contains("is a link and no folder, so it is no home"), "{said}");
    }

    #[test]
    fn what_does_not_count_is_said() {
        let (_scratch, surroundings) = project(CONFIG);
        assert!(trust(true, &surroundings).unwrap().contains("It is not trusted: nothing in it counts, "));
    }

    #[test]
    fn without_a_home_or_a_config_it_says_what_is_missing() {
        let (_scratch, mut surroundings) = project(CONFIG);
        let project = surroundings.folder.clone();
        fs::remove_file(project.join(".dogwatch/config.toml")).unwrap();
        assert!(trust(false, &surroundings).unwrap_err().contains("config.toml: no such file"));
        surroundings.folder = surroundings.home_folder.clone().unwrap();
        assert!(trust(false, &surroundings).unwrap_err().contains("`dogwatch init` makes one"));
        surroundings.folder = project;
        surroundings.state_folder = None::<PathBuf>;
        assert!(trust(false, &surroundings).unwrap_err().contains("XDG_STATE_HOME"));
    }
}
