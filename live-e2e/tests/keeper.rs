//! The keeper, with shell scripts in the place of a CLI: how it ended, what it printed, who outlived it, and that nobody
//! does in the end.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};
use live_e2e::{Agent, Desk, Exit, How, Installed, Ran};

/// A desk whose CLI is a script. Cursor's driver sets nothing up.
fn desk(script: &str) -> Desk {
    let command = ["/bin/sh", "-c", script, "sh"].map(Into::into).to_vec();
    Desk::new(Agent::Cursor, &Installed { command, version: String::new() }, Path::new("/bin/sh")).unwrap()
}

fn ran(script: &str) -> Ran {
    desk(script).run("prompt", &How::default()).unwrap()
}

/// Whether a process whose arguments hold this lives.
fn lives(marker: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok())).any(
        |entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(marker)
        },
    )
}

fn tells_how_it_ended() {
    let ended = ran("echo out; echo err >&2; exit 7");
    assert_eq!((ended.exit, ended.stdout.as_str(), ended.stderr.as_str()), (Exit::Code(7), "out\n", "err\n"));
    assert!(ended.survivors.is_empty(), "{:?}", ended.survivors);
    assert_eq!(ran("kill -9 $$").exit, Exit::Signal(9));
}

fn gets_an_environment_of_its_own() {
    let names = ran("env | cut -d= -f1").stdout;
    for name in names.lines() {
        // The last ones are the shell's.
        assert!(["HOME", "LANG", "PATH", "TERM", "OLDPWD", "PWD", "SHLVL", "_"].contains(&name), "{name}");
    }
    assert!(ran("pwd").stdout.ends_with("/project\n"));
}

fn who_was_not_declared_is_a_leak_and_is_ended() {
    let script = "setsid sleep 4321.25 >/dev/null 2>&1 & exit 0";
    let ended = ran(script);
    let [leak] = ended.leaks()[..] else { panic!("{:?}", ended.survivors) };
    assert!(leak.command.contains("4321.25") && !leak.declared, "{leak:?}");
    assert!(!lives("4321.25"));
}

fn who_takes_a_moment_is_no_leak() {
    let ended = ran("(sleep 0.5; exit 0) & exit 0");
    assert!(ended.survivors.is_empty(), "{:?}", ended.survivors);
}

fn who_was_declared_is_waited_for() {
    let script = "setsid sh -c 'sleep 5.125' >/dev/null 2>&1 & p=$!
        start=$(sed 's/.*) //' /proc/$p/stat | cut -d' ' -f20)
        printf '{\"leader\":{\"pid\":%d,\"start_time\":%d}}' $p $start >identity.json";
    let desk = desk(script);
    let file = desk.project().join("identity.json");
    let how = How { declared: vec![file], patience: Duration::from_secs(30), ..How::default() };
    let ended = desk.run("prompt", &how).unwrap();
    assert!(ended.leaks().is_empty(), "{:?}", ended.survivors);
    assert!(
        ended.survivors.iter().any(|survivor| survivor.declared && survivor.ended),
        "{:?}",
        ended.survivors
    );
    let how = How { patience: Duration::from_millis(1), ..how };
    let ended = desk.run("prompt", &how).unwrap();
    assert!(!ended.leaks().is_empty(), "one that does not end is a leak, declared or not");
    assert!(!lives("5.125"));
}

fn a_deadline_ends_everything() {
    let begun = Instant::now();
    let how = How { deadline: Duration::from_secs(2), ..How::default() };
    let ended = desk("trap '' TERM; setsid sleep 4321.5 & sleep 4321.5").run("prompt", &how).unwrap();
    assert_eq!(ended.exit, Exit::Deadline);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert!(!lives("4321.5"));
}

fn a_terminal_is_typed_into_and_read() {
    let desk = desk("tty >/dev/null && echo ready; stty size; read line; echo \"heard $line\"");
    let mut session = desk.speak(&How::default()).unwrap();
    session.screen.exp_string("ready").unwrap();
    session.screen.exp_string("50 160").unwrap();
    session.screen.send_line("this").unwrap();
    session.screen.exp_string("heard this").unwrap();
    let ended = session.join().unwrap();
    assert_eq!(ended.exit, Exit::Code(0));
}

fn a_terminal_that_is_closed_ends_the_program() {
    let desk = desk("echo ready; while :; do sleep 1; done");
    let mut session = desk.speak(&How::default()).unwrap();
    session.screen.exp_string("ready").unwrap();
    let ended = session.close().unwrap();
    assert!(matches!(ended.exit, Exit::Signal(1 | 9)), "{:?}", ended.exit);
    assert!(ended.survivors.is_empty(), "{:?}", ended.survivors);
}

fn a_session_that_is_dropped_is_over_before_its_desk_is_cleared() {
    let scratch = {
        let desk =
            desk("trap 'sleep 1; echo late >>late; exit' HUP; echo ready; while :; do sleep 0.1; done");
        let mut session = desk.speak(&How::default()).unwrap();
        session.screen.exp_string("ready").unwrap();
        desk.home().parent().unwrap().to_owned()
    };
    assert!(!scratch.exists() && !lives(&scratch.display().to_string()));
}

fn a_terminal_answers_what_it_is_asked() {
    let script = "stty raw -echo; printf '\\033[6n'; answer=$(dd bs=1 count=6 2>/dev/null); stty sane
        case $answer in *'[1;1R') echo answered;; *) echo odd;; esac";
    let desk = desk(script);
    let mut session = desk.speak(&How::default()).unwrap();
    session.screen.exp_string("answered").unwrap();
    session.join().unwrap();
}

fn main() -> ExitCode {
    live_e2e::init();
    let tests: [(&str, fn()); 10] = [
        ("tells_how_it_ended", tells_how_it_ended),
        ("gets_an_environment_of_its_own", gets_an_environment_of_its_own),
        ("who_was_not_declared_is_a_leak_and_is_ended", who_was_not_declared_is_a_leak_and_is_ended),
        ("who_takes_a_moment_is_no_leak", who_takes_a_moment_is_no_leak),
        ("who_was_declared_is_waited_for", who_was_declared_is_waited_for),
        ("a_deadline_ends_everything", a_deadline_ends_everything),
        ("a_terminal_is_typed_into_and_read", a_terminal_is_typed_into_and_read),
        ("a_terminal_that_is_closed_ends_the_program", a_terminal_that_is_closed_ends_the_program),
        (
            "a_session_that_is_dropped_is_over_before_its_desk_is_cleared",
            a_session_that_is_dropped_is_over_before_its_desk_is_cleared,
        ),
        ("a_terminal_answers_what_it_is_asked", a_terminal_answers_what_it_is_asked),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), tests.map(trial).into()).exit_code()
}
