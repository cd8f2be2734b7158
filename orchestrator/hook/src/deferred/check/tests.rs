use std::io;
use std::path::PathBuf;

use dogwatch_engine::process::{Containment, Outcome};
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::config::{Program, Seconds};

fn outcome(end: End, exit_code: Option<i32>) -> Outcome {
    Outcome {
        version: 1,
        end,
        exit_code,
        signal: None,
        interrupted_by: None,
        elapsed: Duration::ZERO,
        stdout_bytes: 0,
        stderr_bytes: 0,
        truncated: false,
        pipe_held: false,
        killed_after_exit: 0,
        unkillable: Vec::new(),
        containment: Containment::Subtree,
    }
}

fn captured(outcome: Outcome, stdout: &str, stderr: &str) -> Captured {
    let outcome = Outcome { stdout_bytes: stdout.len() as u64, stderr_bytes: stderr.len() as u64, ..outcome };
    Captured { stdout: stdout.into(), stderr: stderr.into(), outcome }
}

fn exited(code: i32, stdout: &str, stderr: &str) -> Captured {
    captured(outcome(End::Exited, Some(code)), stdout, stderr)
}

fn own(argv: &[&str]) -> Check {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let min_interval = Duration::from_secs(900);
    Check { name: "own".to_owned(), sweep: false, min_interval, work: Work::Own(argv) }
}

fn git_place() -> GitPlace {
    let (top, dir) = (PathBuf::from("/p"), PathBuf::from("/p/.git"));
    GitPlace { top, common_dir: dir.clone(), dir }
}

fn remote() -> Check {
    Check { name: "remote".to_owned(), work: Work::Remote(git_place()), ..own(&[]) }
}

/// Of a checkout whose git folder is that.
fn remote_of(folder: &std::path::Path) -> Check {
    let git = GitPlace { common_dir: folder.to_owned(), ..git_place() };
    Check { work: Work::Remote(git), ..remote() }
}

fn gh() -> Check {
    Check { name: "gh-auth".to_owned(), work: Work::GhAuth, ..own(&[]) }
}

fn said_by(check: &Check, captured: &Captured) -> Verdict {
    check.verdict(Ok(captured))
}

fn action(text: &str) -> Verdict {
    Verdict::Action(text.to_owned())
}

fn failed(text: &str) -> Verdict {
    Verdict::Failed(text.to_owned())
}

#[rstest]
#[case::nothing_to_do(0, "all well\n", "", Verdict::Clean(None))]
#[case::action(1, "a\nb\n", "noise\n", action("a\nb"))]
#[case::action_without_a_word(1, " \n\n", "only noise", action("(it printed nothing to stdout)"))]
#[case::failed(2, "out\n", "a\nlast words\n\n", failed("exit 2: last words"))]
#[case::failed_on_stdout(3, "out\nlast\n", " \n", failed("exit 3: last"))]
#[case::failed_silently(127, "", "", failed("exit 127: it said nothing"))]
#[case::not_a_shell_signal(130, "", "", failed("exit 130: it said nothing"))]
fn the_exit_of_a_check_of_the_project(
    #[case] code: i32,
    #[case] stdout: &str,
    #[case] stderr: &str,
    #[case] verdict: Verdict,
) {
    assert_eq!(said_by(&own(&["x"]), &exited(code, stdout, stderr)), verdict);
}

#[rstest]
#[case::own(own(&["x"]))]
#[case::remote(remote())]
#[case::gh(gh())]
fn an_end_that_was_not_its_own_is_no_answer(#[case] check: Check) {
    for exit_code in [None, Some(0), Some(1)] {
        let late = captured(outcome(End::Deadline, exit_code), "text", "");
        assert_eq!(said_by(&check, &late), Verdict::Timeout, "{exit_code:?}");
    }
    let killed = captured(Outcome { signal: Some(9), ..outcome(End::Signaled, None) }, "text", "");
    assert_eq!(said_by(&check, &killed), failed("it died of signal 9"));
    assert_eq!(said_by(&check, &captured(outcome(End::Signaled, None), "", "")), failed("it died of signal"));
    for end in [End::Interrupted, End::SupervisorLost] {
        let ended = captured(outcome(end, Some(1)), "text", "");
        assert_eq!(said_by(&check, &ended), failed("it was ended from outside"));
    }
    let nameless = captured(outcome(End::Exited, None), "", "");
    assert_eq!(said_by(&check, &nameless), failed("it was ended from outside"));
}

#[test]
fn what_does_not_start_has_failed_and_says_why_in_one_line() {
    let missing = StartError::NotFound { program: "no\nsuch".to_owned() };
    assert_eq!(own(&["x"]).verdict(Err(&missing)), failed("cannot run no such: no such program"));
    let late = StartError::Deadline { program: "x".to_owned() };
    assert_eq!(own(&["x"]).verdict(Err(&late)), Verdict::Timeout);
    let refused = StartError::System { program: "x".to_owned(), source: io::Error::other("no") };
    assert!(matches!(gh().verdict(Err(&refused)), Verdict::Failed(_)));
}

#[rstest]
#[case::reached(0, "", Verdict::Clean(None))]
#[case::refused(
    128,
    "git@host: Permission denied (publickey).\nfatal: Could not read from remote repository.\n",
    action("the remote does not answer, or refuses: fatal: Could not read from remote repository.")
)]
#[case::other_code(1, "broken\n", action("the remote does not answer, or refuses: broken"))]
#[case::silent(2, "", action("the remote does not answer, or refuses: it said nothing"))]
fn the_remote(#[case] code: i32, #[case] stderr: &str, #[case] verdict: Verdict) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config"), "[core]\n\tbare = false\n[remote \"origin\"]\n").unwrap();
    assert_eq!(said_by(&remote_of(folder.path()), &exited(code, "", stderr)), verdict);
}

#[test]
fn without_a_remote_there_is_nothing_to_reach() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config"), "[core]\n\tbare = false\n").unwrap();
    let stderr = "fatal: 'origin' does not appear to be a git repository\n";
    let nothing = Verdict::Clean(Some("there is no remote".to_owned()));
    assert_eq!(said_by(&remote_of(folder.path()), &exited(128, "", stderr)), nothing);
    // No excuse for anything else.
    assert!(matches!(said_by(&remote_of(folder.path()), &exited(1, "", stderr)), Verdict::Action(_)));
}

#[rstest]
#[case::signed_in(0, Verdict::Clean(None))]
#[case::not(1, action("gh is not logged in, or its token is refused: X Failed"))]
#[case::broken(4, failed("exit 4: X Failed"))]
fn gh_auth(#[case] code: i32, #[case] verdict: Verdict) {
    assert_eq!(said_by(&gh(), &exited(code, "", "github.com\n  X Failed\n")), verdict);
}

#[test]
fn what_it_said_is_clean_and_says_what_is_missing_of_it() {
    let text = "\u{1B}[31mred\u{1B}[0m \u{2063}DOGWATCH_OP: v1 wake: x\r\nnext \u{202E}";
    assert_eq!(said_by(&own(&["x"]), &exited(1, text, "")), action("red DOGWATCH_OP: v1 wake: x\nnext"));

    let whole = "x".repeat(TEXT_BYTES);
    assert_eq!(said_by(&own(&["x"]), &exited(1, &whole, "")), action(&whole));
    let long = "ä".repeat(TEXT_BYTES);
    let Verdict::Action(cut) = said_by(&own(&["x"]), &exited(1, &long, "")) else { panic!() };
    assert_eq!(cut, format!("{}\n[cut here: about {TEXT_BYTES} bytes more]", "ä".repeat(TEXT_BYTES / 2)));

    // What fell to the cap of the run is missing, too.
    let mut capped = exited(1, "short", "");
    capped.outcome.stdout_bytes = 1005;
    assert_eq!(said_by(&own(&["x"]), &capped), action("short\n[cut here: about 1000 bytes more]"));
}

#[test]
fn last_words_are_one_short_clean_line() {
    let stderr = format!("first\n\u{1B}[1m{}\r\n\n \u{202E} \n", "x".repeat(1000));
    let Verdict::Failed(why) = said_by(&own(&["x"]), &exited(2, "", &stderr)) else { panic!() };
    assert!(why.starts_with("exit 2: xxx") && why.ends_with('…'), "{why}");
    assert!(why.chars().count() <= crate::text::LINE_CHARS + "exit 2: ".len());
    // Of a line that a program writes over and over the last state counts.
    let progress = "10%\r20%\rbroken pipe";
    assert_eq!(said_by(&own(&["x"]), &exited(2, "", progress)), failed("exit 2: broken pipe"));
}

#[test]
fn another_command_is_another_check() {
    let checks = [
        own(&["a", "b"]),
        own(&["a b"]),
        own(&["ab"]),
        own(&["a", "b", ""]),
        own(&["a", "", "b"]),
        own(&["b", "a"]),
        own(&[]),
        remote(),
        gh(),
    ];
    for (at, one) in checks.iter().enumerate() {
        assert_eq!(one.fingerprint().len(), 64);
        assert_eq!(one.fingerprint(), one.clone().fingerprint());
        for other in &checks[at + 1..] {
            assert_ne!(one.fingerprint(), other.fingerprint(), "{one:?} {other:?}");
        }
    }
    let renamed = Check { name: "other".to_owned(), ..own(&["a", "b"]) };
    assert_eq!(renamed.fingerprint(), own(&["a", "b"]).fingerprint());
}

#[rstest]
#[case::plain(&["git", "ls-remote", "-q", "a=b"], "git ls-remote -q a=b")]
#[case::quoted(&["a b", "", "c'd", "$(x)"], r"'a b' '' 'c'\''d' '$(x)'")]
#[case::shell(&["/bin/sh", "-c", "echo $HOME | wc"], "echo $HOME | wc")]
#[case::a_shell_with_arguments(&["/bin/sh", "-c", "echo", "x y"], "/bin/sh -c echo 'x y'")]
#[case::of_several_lines(&["/bin/sh", "-c", "a\nREAD-ONLY\u{1B}[0m"], "a READ-ONLY")]
fn it_is_shown_as_a_person_types_it(#[case] argv: &[&str], #[case] shown: &str) {
    assert_eq!(own(argv).shown(), shown);
}

#[test]
fn built_in_checks_are_shown_by_what_they_run() {
    assert_eq!(remote().shown(), "git ls-remote --quiet");
    assert_eq!(gh().shown(), "gh auth status");
}

#[test]
fn what_is_configured_is_planned_in_its_order() {
    let network = Network {
        built_in: vec![BuiltInCheck::GhAuth, BuiltInCheck::Remote],
        checks: vec![config_check("z", true, 7), config_check("a", false, 900)],
        ..Network::default()
    };
    let names = |checks: &[Check]| checks.iter().map(|check| check.name.clone()).collect::<Vec<_>>();
    let git = git_place();
    let checks = planned(&network, Some(&git));
    assert_eq!(names(&checks), ["gh-auth", "remote", "z", "a"]);
    assert_eq!(checks.iter().map(|check| check.sweep).collect::<Vec<_>>(), [false, false, true, false]);
    assert_eq!(checks[0].min_interval, Duration::from_secs(900));
    assert_eq!(checks[2].min_interval, Duration::from_secs(7));
    assert_eq!(checks[2].argv(), ["/bin/sh", "-c", "true"]);
    // Without a checkout there is no remote to ask.
    assert_eq!(names(&planned(&network, None)), ["gh-auth", "z", "a"]);
    assert!(planned(&Network::default(), Some(&git)).is_empty());
}

fn config_check(name: &str, sweep: bool, seconds: u32) -> crate::config::Check {
    crate::config::Check {
        name: name.to_owned(),
        program: Program::Shell("true".to_owned()),
        sweep,
        min_interval: Seconds::new(seconds).unwrap(),
    }
}

proptest! {
    #[test]
    fn no_answer_of_a_check_holds_what_a_model_must_not_read(
        code in 0_i32..4,
        stdout in proptest::collection::vec(any::<u8>(), 0..300),
        stderr in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let captured = Captured { stdout, stderr, outcome: outcome(End::Exited, Some(code)) };
        for check in [own(&["x"]), remote(), gh()] {
            let (text, is_line) = match check.verdict(Ok(&captured)) {
                Verdict::Clean(note) => (note.unwrap_or_default(), true),
                Verdict::Action(text) => (text, code != 1),
                Verdict::Failed(why) => (why, true),
                Verdict::Timeout => panic!("it has exited"),
            };
            prop_assert!(!text.contains(crate::text::is_forbidden), "{text:?}");
            prop_assert!(!is_line || !text.contains(['\n', '\u{2028}', '\u{2029}']), "{text:?}");
        }
    }
}

#[test]
fn credentials_are_taken_out_before_anything_is_cut() {
    // The cut of a line would fall into the password.
    let stderr = format!("{} https://me:hunter2secret@host/x\n", "x".repeat(crate::text::LINE_CHARS - 20));
    let Verdict::Failed(why) = said_by(&own(&["x"]), &exited(2, "", &stderr)) else { panic!() };
    assert!(!why.contains("hunter") && why.contains("https://***"), "{why}");
    let stdout = format!("{} https://me:hunter2secret@host/x\n", "x".repeat(TEXT_BYTES - 20));
    let Verdict::Action(said) = said_by(&own(&["x"]), &exited(1, &stdout, "")) else { panic!() };
    assert!(!said.contains("hunter"), "{}", &said[said.len() - 80..]);
}
