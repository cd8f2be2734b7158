//! `dogwatch run`.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{Desk, PROGRAM, SLACK, stderr, stdout, wait_until};

/// A sleeper that bears the desk's marker and ignores TERM, in a session of its own, and its parent, which ignores
/// TERM, too. Says `early` when both are there.
const STUBBORN: &str = r#"trap "" TERM; (trap "" TERM; setsid sh -c 'echo there > "$0/there"; while :; do sleep 1; done' "$0" &)
while [ ! -e "$0/there" ]; do sleep 0.01; done; echo early; while :; do sleep 1; done"#;

fn run(desk: &Desk, options: &[&str], script: &str) -> std::process::Output {
    let marker = desk.marker();
    let mut arguments = vec!["run"];
    arguments.extend(options);
    arguments.extend(["--", "/bin/sh", "-c", script, &marker]);
    desk.dogwatch(&arguments)
}

/// The same as a process that goes on; its stdout is read as far as `early`.
fn start(desk: &Desk, options: &[&str], script: &str) -> Child {
    let marker = desk.marker();
    let mut command = Command::new(PROGRAM);
    command.arg("run").args(options).args(["--", "/bin/sh", "-c", script, &marker]);
    let mut child = desk.prepare(&mut command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut early = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut early).unwrap();
    assert_eq!(&early, b"early\n");
    child
}

fn report(desk: &Desk) -> Value {
    serde_json::from_slice(&fs::read(desk.project.join("report.json")).unwrap()).unwrap()
}

/// The supervisor below a `dogwatch run`: its only child.
fn supervisor_of(pid: u32) -> i32 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn the_exit_code_is_the_commands() {
    let desk = Desk::new();
    for code in [0, 1, 3, 124, 255] {
        assert_eq!(run(&desk, &[], &format!("exit {code}")).status.code(), Some(code));
    }
    assert_eq!(run(&desk, &[], "kill -9 $$").status.code(), Some(137));
}

#[test]
fn both_outputs_and_the_input_are_passed_on() {
    let desk = Desk::new();
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--", "/bin/sh", "-c", "cat; echo out; echo err >&2"]);
    let child =
        desk.prepare(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"in\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("in\nout\n", "err\n"));
}

#[test]
fn a_deadline_is_124_whatever_the_command_makes_of_term() {
    let desk = Desk::new();
    let output = run(&desk, &["--deadline", "300ms"], "trap 'exit 0' TERM; while :; do sleep 0.1; done");
    assert_eq!(output.status.code(), Some(124));
}

#[test]
fn own_errors_are_told_by_their_codes() {
    let desk = Desk::new();
    let plain = desk.project.join("plain");
    fs::write(&plain, "text").unwrap();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["run", "--", "no-such-program"], 127, "dogwatch: cannot run no-such-program: no such program\n"),
        (&["run", "--", "./plain"], 126, "dogwatch: cannot run ./plain: permission denied\n"),
        (&["run", "--deadline", "0", "--", "true"], 125, "expected more than zero"),
        (&["run", "--deadline", "soon", "--", "true"], 125, "see `dogwatch run --help`"),
        (&["run"], 125, "dogwatch: "),
        (
            &["run", "--report", "no/such/folder/r", "--", "touch", "ran"],
            125,
            "cannot write the report no/such/folder/r: there is no folder no/such/folder\n",
        ),
    ];
    for (arguments, code, message) in cases {
        let output = desk.dogwatch(arguments);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}");
        assert!(stderr(&output).contains(message), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
    assert!(!desk.project.join("ran").exists(), "a run whose report cannot be kept must not start");
}

#[test]
fn a_tree_that_ignores_term_is_gone_at_the_deadline_and_the_report_says_so() {
    let desk = Desk::new();
    let started = Instant::now();
    let output = run(&desk, &["--deadline", "1s", "--report", "report.json"], STUBBORN);
    assert!(started.elapsed() < Duration::from_secs(3) + SLACK);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("early\n", Some(124)));
    assert!(desk.left().is_empty(), "left behind: {:?}", desk.left());
    let report = report(&desk);
    assert_eq!((report["end"].as_str(), report["signal"].as_i64()), (Some("deadline"), Some(9)));
    assert_eq!((report["stdout_bytes"].as_u64(), report["containment"].as_str()), (Some(6), Some("subtree")));
    assert!(report["killed_after_exit"].as_u64().unwrap() >= 1, "{report}");
    assert_eq!(report["unkillable"], serde_json::json!([]));
    let names: Vec<_> =
        fs::read_dir(&desk.project).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().starts_with(".dogwatch-report")), "{names:?}");
}

#[test]
fn a_report_replaces_a_file_and_nothing_else() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let desk = Desk::new();
    let path = |name: &str| desk.project.join(name);
    nix::unistd::mkfifo(&path("fifo"), nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    let reader = fs::File::options().read(true).write(true).open(path("fifo")).unwrap();
    fs::write(path("target"), "old").unwrap();
    symlink("target", path("link")).unwrap();
    for place in ["fifo", "link", "/dev/null"] {
        let output = run(&desk, &["--report", place], "exit 3");
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(3), ""), "{place}");
    }
    assert!(fs::symlink_metadata(path("fifo")).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(fs::read_to_string(path("target")).unwrap().contains("\"exit_code\": 3"));
    drop(reader);
    symlink("/proc/self/fd/1", path("out")).unwrap();
    let output = run(&desk, &["--report", "out"], "echo text");
    assert!(stdout(&output).starts_with("text\n{\n"), "{}", stdout(&output));
    // Stdout as a file that is gone.
    let mut command = Command::new("/bin/sh");
    let script =
        "exec 3> gone; rm gone; \"$0\" run --report out -- true >&3; cat /proc/self/fd/3 | head -c 1";
    assert_eq!(
        stdout(&desk.run(command.args(["-c", script, PROGRAM]))),
        "{",
        "it went into the file that was meant"
    );
    assert!(fs::symlink_metadata(path("out")).unwrap().is_symlink());
}

#[test]
fn output_that_cannot_be_written_is_no_success() {
    let desk = Desk::new();
    let mut command = Command::new("/bin/sh");
    let output = desk.run(command.args(["-c", "\"$0\" run -- echo hi > /dev/full", PROGRAM]));
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(
        stderr(&output),
        "dogwatch: the command's output cannot be passed on: no space left on device\n"
    );
}

#[test]
fn killed_in_mid_run_it_takes_its_tree_along() {
    let desk = Desk::new();
    let mut child = start(&desk, &[], STUBBORN);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    desk.assert_nothing_left();
}

#[test]
fn its_supervisor_killed_the_run_ends_at_once_and_nothing_is_left() {
    let desk = Desk::new();
    let child = start(&desk, &["--report", "report.json"], STUBBORN);
    let started = Instant::now();
    kill(Pid::from_raw(supervisor_of(child.id())), Signal::SIGKILL).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(started.elapsed() < SLACK);
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(stderr(&output), "dogwatch: the supervisor was killed; what could be reached was ended\n");
    assert!(desk.left().is_empty(), "left behind: {:?}", desk.left());
    let report = report(&desk);
    assert_eq!(
        (report["end"].as_str(), &report["unkillable"]),
        (Some("supervisor_lost"), &serde_json::json!([]))
    );
}

#[test]
fn a_signal_stops_the_tree_and_is_the_exit_code() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129)] {
        if crate::support::ignores(signal as i32) {
            continue;
        }
        let desk = Desk::new();
        let child = start(&desk, &["--grace", "100ms", "--report", "report.json"], STUBBORN);
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(report(&desk)["interrupted_by"], signal as i32);
        assert!(desk.left().is_empty(), "left behind: {:?}", desk.left());
    }
}

#[test]
fn a_second_signal_does_not_wait_for_the_grace() {
    let desk = Desk::new();
    let child = start(&desk, &["--deadline", "10m", "--grace", "10m"], STUBBORN);
    let pid = Pid::from_raw(child.id().cast_signed());
    // Signals of one kind that come close together are one signal; two kinds are two.
    kill(pid, Signal::SIGTERM).unwrap();
    kill(pid, Signal::SIGINT).unwrap();
    let started = Instant::now();
    assert!(child.wait_with_output().is_ok());
    assert!(started.elapsed() < SLACK);
    assert!(desk.left().is_empty());
}

#[test]
fn a_hangup_that_was_ignored_stays_ignored() {
    let desk = Desk::new();
    let mut command = Command::new("/bin/sh");
    let script = format!("trap '' HUP; exec {PROGRAM} run -- /bin/sh -c 'echo early; sleep 0.3; echo late'");
    let mut child = desk.prepare(command.args(["-c", &script])).stdout(Stdio::piped()).spawn().unwrap();
    let mut early = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut early).unwrap();
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGHUP).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("late\n", Some(0)));
}

#[test]
fn leftovers_are_killed_or_kept_as_asked() {
    let leaves = r#"setsid sh -c 'echo there > "$0/there"; while :; do sleep 1; done' "$0" > /dev/null &
        while [ ! -e "$0/there" ]; do sleep 0.01; done; exit 5"#;
    let desk = Desk::new();
    let output = run(&desk, &["--report", "report.json"], leaves);
    assert_eq!(
        (output.status.code(), report(&desk)["killed_after_exit"].as_u64().unwrap() >= 1),
        (Some(5), true)
    );
    assert!(desk.left().is_empty());

    let desk = Desk::new();
    let output = run(&desk, &["--leftover", "keep"], leaves);
    assert_eq!(output.status.code(), Some(5));
    assert!(!desk.left().is_empty());
    desk.end_what_is_left();
}

#[test]
fn a_holder_of_the_output_does_not_delay_the_end() {
    let desk = Desk::new();
    let started = Instant::now();
    let output = run(&desk, &["--leftover", "kill", "--report", "report.json"], "sleep 600 & echo done");
    assert!(started.elapsed() < SLACK);
    assert_eq!(stdout(&output), "done\n");
    assert_eq!(report(&desk)["pipe_held"], true);
}

#[test]
fn a_cap_keeps_the_beginning_and_says_what_is_missing() {
    let desk = Desk::new();
    let output =
        run(&desk, &["--cap", "10", "--report", "report.json"], "printf 12345678901234567890; exit 3");
    assert_eq!(stdout(&output), "1234567890\n[dogwatch: cut after 10 bytes, 10 more were dropped]\n");
    assert_eq!(output.status.code(), Some(3));
    let report = report(&desk);
    assert_eq!((report["stdout_bytes"].as_u64(), report["truncated"].as_bool()), (Some(20), Some(true)));
    let output = run(&desk, &["--cap", "10"], "printf 1234567890");
    assert_eq!(stdout(&output), "1234567890", "exactly the cap is whole");
}

#[test]
fn a_reader_that_goes_away_is_passed_on_as_sigpipe() {
    let desk = Desk::new();
    let script = "while :; do echo yes; done";
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--deadline", "60s", "--", "/bin/sh", "-c", script, &desk.marker()]);
    let mut child = desk.prepare(&mut command).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let started = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(141));
    assert!(started.elapsed() < SLACK);
    assert!(desk.left().is_empty());
}

#[test]
fn a_reader_that_does_not_read_holds_nothing_up() {
    let desk = Desk::new();
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--deadline", "500ms", "--grace", "100ms", "--", "/bin/sh", "-c"]);
    command.args(["while :; do echo yes; done", &desk.marker()]);
    let mut child = desk.prepare(&mut command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut code = None;
    assert!(wait_until(Duration::from_secs(3) + SLACK, || {
        code = child.try_wait().unwrap();
        code.is_some()
    }));
    assert_eq!(code.unwrap().code(), Some(124));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "dogwatch: nobody reads the command's output; the rest of it is dropped\n");
}

#[test]
fn a_socket_as_stdout_works_and_stays_blocking() {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let desk = Desk::new();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let kept = theirs.try_clone().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--", "/bin/sh", "-c", "head -c 3000000 /dev/zero"]);
    let mut child = desk.prepare(&mut command).stdout(Stdio::from(OwnedFd::from(theirs))).spawn().unwrap();
    drop(command);
    let mut read = 0;
    let mut buffer = vec![0; 65536];
    while read < 3_000_000 {
        read += (&ours).read(&mut buffer).unwrap();
    }
    assert!(child.wait().unwrap().success());
    let flags = OFlag::from_bits_truncate(fcntl(&kept, FcntlArg::F_GETFL).unwrap());
    assert!(!flags.contains(OFlag::O_NONBLOCK), "the description is shared with others");
}

#[test]
fn a_pipe_as_stdout_stays_blocking_for_whoever_shares_it() {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let desk = Desk::new();
    let (read, write) = nix::unistd::pipe().unwrap();
    let kept = write.try_clone().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--", "/bin/sh", "-c", "echo text"]);
    assert!(desk.prepare(&mut command).stdout(write).status().unwrap().success());
    let flags = OFlag::from_bits_truncate(fcntl(&kept, FcntlArg::F_GETFL).unwrap());
    assert!(!flags.contains(OFlag::O_NONBLOCK));
    drop((kept, command));
    let mut text = String::new();
    fs::File::from(read).read_to_string(&mut text).unwrap();
    assert_eq!(text, "text\n");
}

#[test]
fn group_containment_reaches_the_group_and_the_report_says_so() {
    let desk = Desk::new();
    let output = run(
        &desk,
        &["--containment", "group", "--deadline", "500ms", "--grace", "100ms", "--report", "report.json"],
        STUBBORN,
    );
    assert_eq!(output.status.code(), Some(124));
    assert_eq!(report(&desk)["containment"], "group");
    assert!(!desk.left().is_empty(), "the one in a session of its own is out of reach");
    desk.end_what_is_left();
}

#[test]
fn one_reader_of_both_channels_that_does_not_read_holds_nothing_up() {
    let desk = Desk::new();
    let (reader, writer) = nix::unistd::pipe().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--deadline", "300ms", "--grace", "100ms", "--", "/bin/sh", "-c"]);
    command.args(["while :; do echo text; done", &desk.marker()]);
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = desk.prepare(&mut command).spawn().unwrap();
    let mut status = None;
    let ended = wait_until(Duration::from_secs(7) + SLACK, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let _ = child.kill();
    assert!(ended, "it waits for its reader");
    assert_eq!(status.unwrap().code(), Some(124));
    drop(reader);
}

#[test]
fn a_report_goes_into_a_pipe_or_a_device_and_through_a_link() {
    let desk = Desk::new();
    let at = |name: &str| desk.project.join(name);
    nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::write(at("target"), "old").unwrap();
    std::os::unix::fs::symlink("target", at("link")).unwrap();
    let mut pipe = fs::File::options().read(true).write(true).open(at("pipe")).unwrap();
    for name in ["pipe", "link", "/dev/stdout"] {
        let output = run(&desk, &["--report", name], "exit 3");
        assert_eq!(output.status.code(), Some(3), "{name}: {}", stderr(&output));
        if name == "/dev/stdout" {
            assert!(stdout(&output).contains("\"exit_code\": 3"));
        }
    }
    let mut beginning = [0; 2];
    pipe.read_exact(&mut beginning).unwrap();
    assert_eq!(&beginning, b"{\n");
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert!(fs::read_to_string(at("target")).unwrap().contains("\"exit_code\": 3"));
}

#[test]
fn an_interruption_does_not_wait_for_a_reader_that_does_not_read() {
    let desk = Desk::new();
    let (reader, writer) = nix::unistd::pipe().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--grace", "100ms", "--", "/bin/sh", "-c"]);
    command.args(["echo >there; while :; do echo text; done", &desk.marker()]);
    command.stdout(writer).stderr(Stdio::null());
    let mut child = desk.prepare(&mut command).spawn().unwrap();
    assert!(wait_until(SLACK, || desk.project.join("there").exists()));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    let mut status = None;
    let ended = wait_until(Duration::from_secs(3) + SLACK, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let _ = child.kill();
    assert!(ended, "it waits for its reader");
    assert_eq!(status.unwrap().code(), Some(143));
    drop((reader, command));
}
