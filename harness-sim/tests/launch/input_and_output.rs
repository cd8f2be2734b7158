//! How a hook is fed and read.

use std::time::Duration;

use harness_sim::{Exit, Feed, Firing, Harness, Kind, Options, Reader};

use crate::{CLAUDE_OPEN, simulator};

fn fire(options: Options, command: &str) -> Firing {
    let project = tempfile::tempdir().unwrap();
    simulator(Harness::Claude, project.path()).options(options).command(command).fire(CLAUDE_OPEN).unwrap()
}

#[test]
fn without_an_end_a_hook_that_waits_for_it_times_out() {
    let no_end = |timeout| Options { feed: Feed::NoEnd, timeout: Some(timeout), ..Options::default() };
    let waits = fire(no_end(Duration::from_millis(300)), "cat >/dev/null");
    assert!(waits.commands[0].timed_out && waits.has(Kind::Failed), "{waits}");
    let reads = fire(no_end(Duration::from_secs(30)), "head -c 10 >/dev/null; echo read");
    assert_eq!(reads.context(), "read");
}

#[test]
fn stdin_may_be_closed_without_a_byte() {
    let firing = fire(Options { feed: Feed::ClosedAtOnce, ..Options::default() }, "wc -c");
    assert_eq!(firing.context().trim(), "0");
}

#[test]
fn a_hook_that_does_not_read_its_input_holds_nobody_up() {
    let stdin = Some(vec![b' '; 4 * 1024 * 1024]);
    let firing = fire(Options { stdin, ..Options::default() }, "echo done");
    assert_eq!(firing.context(), "done");
    assert!(firing.commands[0].stdin_bytes < 4 * 1024 * 1024);
}

#[test]
fn stdin_may_be_any_bytes() {
    let firing = fire(Options { stdin: Some(vec![0xff, 0, 0xfe]), ..Options::default() }, "od -An -tx1");
    assert_eq!(firing.context().trim(), "ff 00 fe");
}

#[test]
fn a_reader_may_close_early() {
    let options = Options { reader: Reader::ClosesAfter(10), ..Options::default() };
    let firing = fire(options, "yes");
    assert!(
        matches!(firing.commands[0].exit, Exit::Signal { signal: 13, .. } | Exit::Code { code: 141 }),
        "{firing}"
    );
}

#[test]
fn a_slow_reader_gets_everything() {
    let options = Options { reader: Reader::Slow, ..Options::default() };
    let firing = fire(options, "head -c 100000 /dev/zero");
    assert_eq!(firing.commands[0].stdout.len(), 100_000);
    assert!(firing.commands[0].elapsed > Duration::from_millis(200));
}

#[test]
fn hooks_get_what_a_shell_gives_a_pipe_and_not_an_ignored_sigpipe() {
    // In a process that inherits SIGPIPE as ignored, `yes` would say that writing failed.
    let firing = fire(Options::default(), "yes | head -n 1");
    assert_eq!((firing.context().as_str(), firing.commands[0].stderr_bytes), ("y", 0));
}
