//! The command that stands in a registration: how it is written, and how ours is told from others'.
//!
//! The string never changes between versions: a person's word to Codex holds for it as it stands.

use std::path::{Component, Path, PathBuf};

use crate::env;
use crate::harness::Harness;
use crate::harness::registration::{Entry, Form, Hook};

/// The program's name.
pub const NAME: &str = "dogwatch";

/// How a registration calls the program: an absolute path, or the bare name where every machine has its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// Found by the `PATH` of whoever runs the hook.
    Bare,
    /// This one.
    At(String),
}

/// Why a path cannot stand in a registration.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// Where this program is cannot be told.
    #[error("where this program is cannot be told: {0}")]
    Unknown(std::io::Error),
    /// A command has to be text, on one line.
    #[error(
        "{0:?}: a path with a line break, or one that is no UTF-8, cannot stand in a hook; move the program"
    )]
    Unwritable(PathBuf),
    /// It could not be told for ours later.
    #[error(
        "{0:?}: a program of another name than dogwatch would not be known again in a hook; rename it to dogwatch"
    )]
    OtherName(PathBuf),
    /// The harness reads more into it than a path.
    #[error("{path:?}: {harness} takes no path with {forbidden:?} in a hook; move the program")]
    Forbidden {
        /// The path.
        path: String,
        /// The harness.
        harness: &'static str,
        /// What it must not hold.
        forbidden: &'static str,
    },
}

impl Program {
    /// This program, by the name that stays when it is replaced by a newer one: the one that `PATH` finds, if that is
    /// this very file, else its own path.
    pub fn this() -> Result<Program, ProgramError> {
        let own = std::env::current_exe().map_err(ProgramError::Unknown)?;
        let path = env::find_on_path(NAME).filter(|found| is_same_file(found, &own)).unwrap_or(own);
        Program::at(&path)
    }

    /// The program of that absolute path.
    pub fn at(path: &Path) -> Result<Program, ProgramError> {
        // Without `.` and doubled slashes; `..` stays, because what is before it may be a link.
        let plain: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
        if plain.file_name().is_some_and(|name| name != NAME) {
            return Err(ProgramError::OtherName(path.to_owned()));
        }
        match plain.to_str() {
            Some(text) if plain.is_absolute() && !text.chars().any(char::is_control) => {
                Ok(Program::At(text.to_owned()))
            }
            _ => Err(ProgramError::Unwritable(path.to_owned())),
        }
    }

    /// What is run.
    pub fn as_str(&self) -> &str {
        match self {
            Program::Bare => NAME,
            Program::At(path) => path,
        }
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// What of ours has to stand in a harness's file; nothing where that is a program of its own.
///
/// # Errors
/// The path holds what this harness does not take in a command, however it is quoted.
pub fn entries(harness: &Harness, program: &Program) -> Result<Vec<Entry>, ProgramError> {
    let Form::Hooks { hooks, forbidden, .. } = harness.registration.form else { return Ok(Vec::new()) };
    if let Some(forbidden) = forbidden.iter().find(|forbidden| program.as_str().contains(**forbidden)) {
        return Err(ProgramError::Forbidden {
            path: program.as_str().to_owned(),
            harness: harness.name,
            forbidden,
        });
    }
    let entry = |hook: &Hook| Entry {
        event: hook.event,
        command: command(harness, hook, program),
        timeout: hook.timeout,
    };
    Ok(hooks.iter().map(entry).collect())
}

fn command(harness: &Harness, hook: &Hook, program: &Program) -> String {
    let mut words = vec![quoted(program.as_str()), "hook".to_owned(), harness.id.to_owned()];
    words.push(hook.kind.id().to_owned());
    words.extend(hook.options.iter().map(|option| (*option).to_owned()));
    words.join(" ")
}

/// A word as every POSIX shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Whether a command in a harness's file is one of ours: `[…/]dogwatch hook <harness> …` and nothing around it.
pub fn is_ours(harness: &Harness, command: &str) -> bool {
    program_of(harness, command).is_some()
}

/// Whether a command of ours is for a moment that is registered; one for another is a person's own.
pub fn is_entry(harness: &Harness, command: &str) -> bool {
    let Form::Hooks { hooks, .. } = harness.registration.form else { return false };
    is_ours(harness, command)
        && words(command).is_some_and(|words| {
            words.get(3).is_none_or(|moment| hooks.iter().any(|hook| hook.kind.id() == moment))
        })
}

/// The program of a command of ours; `None` for a command of others.
pub fn program_of(harness: &Harness, command: &str) -> Option<String> {
    let words = words(command)?;
    let [program, hook, name, ..] = words.as_slice() else { return None };
    let file_name = program.rsplit('/').next()?;
    let is_ours = file_name == NAME
        && hook == "hook"
        && Harness::by_name(name).is_some_and(|(known, _)| known == harness);
    is_ours.then(|| program.clone())
}

/// The words of a simple command; `None` for one that does more than run a program.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '\\' => match rest.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        '$' | '`' => return None,
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            '$' | '`' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '#' | '*' | '?' | '[' | '~' | '\n'
            | '\r' => {
                return None;
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::harness::TABLE;

    fn harness(name: &str) -> &'static Harness {
        Harness::by_name(name).unwrap().0
    }

    #[rstest]
    #[case("dogwatch hook claude session-open --limit 180s", true)]
    #[case("/usr/local/bin/dogwatch hook claude stop", true)]
    #[case("'/home/a b/it'\\''s/dogwatch' hook claude prompt", true)]
    #[case("\"/opt/$x/dogwatch\" hook claude prompt", false)]
    #[case("\"/opt/\\$x/dogwatch\" hook claude prompt", true)]
    #[case("dogwatch hook codex prompt", false)]
    #[case("dogwatch open", false)]
    #[case("dogwatch hook", false)]
    #[case("my-dogwatch hook claude prompt", false)]
    #[case("dogwatch hook claude prompt; rm x", false)]
    #[case("dogwatch hook claude prompt > /tmp/x", false)]
    #[case("cd /x && dogwatch hook claude prompt", false)]
    #[case("echo dogwatch hook claude prompt", false)]
    #[case("'dogwatch hook claude prompt", false)]
    #[case("dogwatch.sh hook claude prompt", false)]
    #[case("", false)]
    fn ours_is_told_from_others(#[case] command: &str, #[case] expected: bool) {
        assert_eq!(is_ours(harness("claude"), command), expected);
    }

    #[test]
    fn the_command_strings_are_frozen() {
        let mut all = String::new();
        for harness in TABLE {
            for entry in entries(harness, &Program::Bare).unwrap() {
                let Entry { event, command, timeout } = entry;
                let _ = writeln!(all, "{} {event}: {command} ({timeout} s)", harness.id);
            }
        }
        let frozen = "\
             claude SessionStart: dogwatch hook claude session-open --limit 180s (180 s)\n\
             claude UserPromptSubmit: dogwatch hook claude prompt (30 s)\n\
             claude PostToolUse: dogwatch hook claude after-tool (30 s)\n\
             claude PostToolUseFailure: dogwatch hook claude after-tool (30 s)\n\
             claude SessionEnd: dogwatch hook claude end (10 s)\n\
             codex SessionStart: dogwatch hook codex session-open --limit 180s (180 s)\n\
             codex UserPromptSubmit: dogwatch hook codex prompt (30 s)\n\
             codex PostToolUse: dogwatch hook codex after-tool (30 s)\n\
             codex SessionEnd: dogwatch hook codex end (3 s)\n\
             cursor sessionStart: dogwatch hook cursor session-open --source startup --limit 180s (180 s)\n\
             cursor beforeSubmitPrompt: dogwatch hook cursor prompt (30 s)\n\
             cursor postToolUse: dogwatch hook cursor after-tool (30 s)\n\
             cursor postToolUseFailure: dogwatch hook cursor after-tool (30 s)\n\
             cursor sessionEnd: dogwatch hook cursor end (10 s)\n\
             grok SessionStart: dogwatch hook grok session-open (30 s)\n\
             grok UserPromptSubmit: dogwatch hook grok prompt (30 s)\n\
             grok PostToolUse: dogwatch hook grok after-tool (30 s)\n\
             grok SessionEnd: dogwatch hook grok end (10 s)\n";
        assert_eq!(all, frozen);
    }

    #[test]
    fn no_command_holds_what_makes_cursor_drop_the_file() {
        for harness in TABLE {
            for entry in entries(harness, &Program::at(Path::new("/opt//a:/./b/dogwatch")).unwrap()).unwrap()
            {
                assert!(!entry.command.contains("://"), "{}", entry.command);
            }
        }
    }

    #[test]
    fn nothing_is_registered_for_a_compaction_in_cursor() {
        assert!(
            entries(harness("cursor"), &Program::Bare)
                .unwrap()
                .iter()
                .all(|entry| entry.event != "preCompact")
        );
    }

    #[test]
    fn an_entry_is_an_event_of_its_harness_and_above_our_bound() {
        for harness in TABLE {
            let Form::Hooks { hooks, .. } = harness.registration.form else { continue };
            for hook in hooks {
                assert_eq!(harness.event(hook.event), Some(hook.kind), "{} {}", harness.id, hook.event);
                // Reading 5 s, writing 2 s, a lock 2 s; Codex grants no more than 3 s at the end.
                assert!(hook.timeout >= 10 || (harness.id == "codex" && hook.timeout == 3), "{}", hook.event);
            }
        }
    }

    #[rstest]
    #[case("relative/dogwatch")]
    #[case("/a\nb/dogwatch")]
    #[case("/a/dw")]
    #[case("/a/dogwatch (deleted)")]
    fn what_cannot_stand_in_a_command_is_refused(#[case] path: &str) {
        assert!(Program::at(Path::new(path)).is_err());
    }

    proptest! {
        #[test]
        fn a_quoted_path_is_one_word_again(path in "/[ -~äß€]{0,40}/dogwatch") {
            let program = Program::at(Path::new(&path)).unwrap();
            for harness in TABLE {
                for entry in entries(harness, &program).into_iter().flatten() {
                    prop_assert_eq!(program_of(harness, &entry.command), Some(program.as_str().to_owned()));
                }
            }
        }
    }
}
