//! A run starts with a clean slate, or not at all and says why.

use std::os::fd::AsRawFd;

use dogwatch_engine::process::{Command, StartError};

use crate::support::{MISBEHAVE, ample, block_on, capture, engine, misbehave};

fn start_error(command: &Command) -> StartError {
    block_on(engine().start(command, &ample())).expect_err("it must not start")
}

#[test]
fn a_missing_program() {
    for program in ["no-such-program-anywhere", "/no/such/program", "./no-such", ""] {
        let error = start_error(&Command::new(program));
        assert!(matches!(error, StartError::NotFound { .. }), "{program:?}: {error}");
        assert_eq!(error.to_string(), format!("cannot run {program}: no such program"));
        assert_eq!(error.exit_code(), 127);
    }
}

#[test]
fn a_file_that_is_not_executable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain");
    std::fs::write(&file, "text").unwrap();
    let error = start_error(&Command::new(&file));
    assert!(matches!(error, StartError::NotExecutable { .. }), "{error}");
    assert_eq!(error.to_string(), format!("cannot run {}: permission denied", file.display()));
    assert_eq!(error.exit_code(), 126);
    let error = start_error(&Command::new(folder.path()));
    assert_eq!(error.exit_code(), 126, "a folder is no program: {error}");
}

#[test]
fn a_program_that_is_not_executable_in_one_folder_is_looked_for_in_the_next() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, mode) in [("a", "#!/bin/sh\necho no\n", "644"), ("b", "echo script $1\n", "755")] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        crate::support::make_program(&folder.path().join(name).join("prog"), text, mode);
    }
    let path = format!("{0}/none:{0}/a:{0}/b", folder.path().display());
    // The one that is found has no `#!`: a shell runs it, as execvp does.
    let taken = block_on(capture(Command::new("prog").arg("one").env("PATH", &path), ample()));
    assert_eq!(String::from_utf8_lossy(&taken.stdout), "script one\n");
    let only_plain = format!("{0}/none:{0}/a", folder.path().display());
    assert_eq!(start_error(&Command::new("prog").env("PATH", only_plain)).exit_code(), 126);
}

#[test]
fn a_bad_working_folder() {
    let error = start_error(&misbehave(["exit", "0"]).current_dir("/no/such/folder"));
    assert!(matches!(error, StartError::BadWorkingFolder { .. }));
    let expected = format!("cannot run {MISBEHAVE}: cannot enter the working folder /no/such/folder: ");
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert_eq!(error.exit_code(), 125);
}

#[test]
fn an_argument_list_that_is_too_long() {
    let long = "x".repeat(200 * 1024);
    let error = start_error(&misbehave(["exit"]).arg(&long));
    assert!(matches!(error, StartError::ArgumentsTooLong { .. }), "{error}");
    let many = misbehave(["exit"]).args(std::iter::repeat_n("y".repeat(100 * 1024), 100));
    let error = start_error(&many);
    assert!(matches!(error, StartError::ArgumentsTooLong { .. }), "{error}");
}

#[test]
fn a_nul_byte() {
    let error = start_error(&misbehave(["exit", "0\x001"]));
    assert!(error.to_string().ends_with("an argument holds a NUL byte"), "{error}");
}

#[test]
fn out_of_processes() {
    let output = std::process::Command::new(MISBEHAVE)
        .args(["front", "--processes", "0", "--", "/bin/true"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("error: cannot run /bin/true: out of processes"), "{text}");
    assert_eq!(output.status.code(), Some(125));
}

#[test]
fn no_descriptor_above_2_reaches_the_program() {
    // Two descriptors that every program we start would inherit.
    let null = std::fs::File::open("/dev/null").unwrap();
    let low = nix::unistd::dup(&null).unwrap();
    nix::fcntl::fcntl(&low, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    assert!(low.as_raw_fd() > 2);
    let taken = block_on(capture(misbehave(["descriptors"]), ample()));
    assert_eq!(String::from_utf8_lossy(&taken.stdout), "0 1 2\n");
}

#[test]
fn signal_mask_and_dispositions_are_reset() {
    let plain = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    // A front of its own that blocks and ignores a lot, as a test's thread cannot without touching the others.
    let script = format!("trap '' TERM HUP USR1 PIPE; exec {MISBEHAVE} front -- {MISBEHAVE} signals");
    let output = std::process::Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
    let text = plain(&output.stdout);
    assert!(text.contains("SigBlk: 0000000000000000\n"), "{text}");
    // The runtime of the language ignores SIGPIPE (bit 12) in every program of ours; nothing else is.
    assert!(text.contains("SigIgn: 0000000000001000\n"), "{text}");
}

#[test]
fn the_leader_has_a_session_and_a_group_of_its_own_and_no_terminal() {
    let taken = block_on(capture(misbehave(["session"]), ample()));
    assert_eq!(String::from_utf8_lossy(&taken.stdout), "own=true terminal=false\n");
}

#[test]
fn environment_and_folder_are_what_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    let command = Command::new("/bin/sh")
        .args(["-c", "pwd; echo $A; env | grep -c ."])
        .env_clear()
        .env("A", "first")
        .env("A", "b c")
        .env("PATH", "/usr/bin:/bin")
        .env("PWD", &real)
        .current_dir(&real);
    let taken = block_on(capture(command, ample()));
    let text = String::from_utf8_lossy(&taken.stdout).into_owned();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..2], [real.to_str().unwrap(), "b c"]);
    // Some shells add a variable or two of their own; what the caller has is not there.
    assert!(lines[2].parse::<u32>().unwrap() <= 6, "{text}");
}
