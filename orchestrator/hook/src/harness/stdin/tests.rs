//! Reading from pipes, sockets, files and the like, with writers that misbehave.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::pipe;

use super::*;

/// Bounds that no test runs into by chance.
const GENEROUS: ReadLimits =
    ReadLimits { idle: Duration::from_secs(60), total: Duration::from_secs(60), cap_bytes: 1024 * 1024 };
/// Bounds that a test is to run into.
const SHORT: ReadLimits =
    ReadLimits { idle: Duration::from_millis(30), total: Duration::from_secs(60), cap_bytes: 1024 * 1024 };

const DOCUMENT: &[u8] = br#"{"session_id": "1f", "text": "}\""}"#;

/// Reads what a writer puts into a pipe. The writer's end stays open until the reading is over, unless the writer drops
/// it.
fn through_a_pipe(limits: ReadLimits, write: impl FnOnce(File) -> Option<File> + Send + 'static) -> Input {
    let (reader, writer) = pipe().unwrap();
    let writer = thread::spawn(move || write(File::from(writer)));
    let input = read_payload(reader.as_fd(), &limits);
    drop(writer.join().unwrap());
    input
}

fn once(limits: ReadLimits, bytes: &'static [u8]) -> Input {
    through_a_pipe(limits, move |mut pipe| {
        pipe.write_all(bytes).unwrap();
        Some(pipe)
    })
}

#[test]
fn a_document_needs_no_end_of_the_input() {
    let input = once(GENEROUS, DOCUMENT);
    assert_eq!((input.bytes.as_slice(), input.end), (DOCUMENT, ReadEnd::Document));
}

#[test]
fn a_document_may_come_byte_by_byte() {
    let input = through_a_pipe(GENEROUS, |mut pipe| {
        for byte in DOCUMENT {
            pipe.write_all(&[*byte]).unwrap();
            thread::yield_now();
        }
        Some(pipe)
    });
    assert_eq!((input.bytes.as_slice(), input.end), (DOCUMENT, ReadEnd::Document));
}

#[test]
fn only_the_first_document_is_taken() {
    let input = once(GENEROUS, b"{\"a\": 1}\n{\"b\": 2}\n");
    assert_eq!((input.bytes.as_slice(), input.end), (&b"{\"a\": 1}"[..], ReadEnd::Document));
}

#[test]
fn a_writer_that_goes_away_is_an_end() {
    let input = through_a_pipe(GENEROUS, |mut pipe| {
        pipe.write_all(b"{\"a\": ").unwrap();
        None
    });
    assert_eq!((input.bytes.as_slice(), input.end), (&b"{\"a\": "[..], ReadEnd::EndOfFile));
}

#[test]
fn a_writer_that_falls_silent_is_not_waited_for() {
    let input = once(SHORT, b"{\"a\": ");
    assert_eq!((input.bytes.as_slice(), input.end), (&b"{\"a\": "[..], ReadEnd::Deadline));
    let input = once(SHORT, b"");
    assert_eq!((input.bytes.as_slice(), input.end), (&b""[..], ReadEnd::Deadline));
}

#[test]
fn a_writer_that_never_ends_is_bounded_altogether() {
    let total = Duration::from_millis(50);
    // So slowly that the cap is far away, and never silent.
    let input = endless(ReadLimits { total, cap_bytes: 64 * 1024 * 1024, ..GENEROUS }, b" ");
    assert_eq!(input.end, ReadEnd::Deadline);
}

#[test]
fn a_document_of_exactly_the_cap_is_whole() {
    let cap_bytes = ReadLimits::of(None).cap_bytes;
    assert_eq!(cap_bytes, 16 * 1024 * 1024);
    for (over, end) in [(0, ReadEnd::Document), (1, ReadEnd::TooLarge)] {
        let text = "x".repeat(cap_bytes + over - 4);
        let input = through_a_pipe(ReadLimits { cap_bytes, ..GENEROUS }, move |mut pipe| {
            // Past the cap nobody reads to the end.
            let _ = pipe.write_all(format!("[\"{text}\"]").as_bytes());
            Some(pipe)
        });
        assert_eq!((input.bytes.len(), input.end), (cap_bytes, end));
    }
}

#[test]
fn nesting_without_end_takes_no_more_than_the_cap() {
    let input = endless(GENEROUS, &[b'['; 4096]);
    assert_eq!((input.bytes.len(), input.end), (GENEROUS.cap_bytes, ReadEnd::TooLarge));
}

#[test]
fn what_cannot_begin_a_document_is_not_waited_for() {
    let input = once(GENEROUS, b"hello");
    assert_eq!((input.bytes.as_slice(), input.end), (&b"h"[..], ReadEnd::Document));
}

#[test]
fn marks_and_blanks_in_front_are_passed_over() {
    let input = once(GENEROUS, b"\xEF\xBB\xBF\xEF\xBB\xBF\r\n {} ");
    assert_eq!((input.bytes.len(), input.end), (11, ReadEnd::Document));
}

#[test]
fn files_and_devices_are_read() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(DOCUMENT).unwrap();
    file.rewind().unwrap();
    let input = read_payload(file.as_fd(), &GENEROUS);
    assert_eq!((input.bytes.as_slice(), input.end), (DOCUMENT, ReadEnd::Document));
    let null = File::open("/dev/null").unwrap();
    assert_eq!(read_payload(null.as_fd(), &GENEROUS), Input { bytes: Vec::new(), end: ReadEnd::EndOfFile });
}

#[test]
fn what_cannot_be_read_has_ended() {
    let ended = Input { bytes: Vec::new(), end: ReadEnd::EndOfFile };
    let folder = File::open("/").unwrap();
    assert_eq!(read_payload(folder.as_fd(), &GENEROUS), ended);
    let write_only = File::options().write(true).open("/dev/null").unwrap();
    assert_eq!(read_payload(write_only.as_fd(), &GENEROUS), ended);
}

#[test]
fn a_socket_is_read_and_its_flags_stay() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let before = flags(ours.as_fd());
    theirs.write_all(DOCUMENT).unwrap();
    let input = read_payload(ours.as_fd(), &GENEROUS);
    assert_eq!((input.bytes.as_slice(), input.end), (DOCUMENT, ReadEnd::Document));
    assert_eq!(flags(ours.as_fd()), before);
    assert!(!before.contains(OFlag::O_NONBLOCK));
}

#[test]
fn a_description_that_does_not_block_is_waited_on_all_the_same() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let writer = thread::spawn(move || {
        thread::yield_now();
        theirs.write_all(DOCUMENT).unwrap();
        theirs
    });
    let input = read_payload(ours.as_fd(), &GENEROUS);
    assert_eq!((input.bytes.as_slice(), input.end), (DOCUMENT, ReadEnd::Document));
    drop(writer.join().unwrap());
    assert!(flags(ours.as_fd()).contains(OFlag::O_NONBLOCK));
}

#[test]
fn what_waits_behind_is_drained_without_waiting() {
    let (reader, writer) = pipe().unwrap();
    let mut writer = File::from(writer);
    drain(reader.as_fd());
    writer.write_all(&[b'x'; 1000]).unwrap();
    drain(reader.as_fd());
    let mut fds = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
    assert_eq!(poll(&mut fds, PollTimeout::ZERO), Ok(0));
    drain(File::open("/dev/zero").unwrap().as_fd());
}

#[test]
fn a_tool_waits_less_long() {
    assert_eq!(ReadLimits::of(Some(EventKind::BeforeTool)).total, Duration::from_millis(1500));
    for kind in [None, Some(EventKind::SessionOpen), Some(EventKind::Stop)] {
        assert_eq!(ReadLimits::of(kind).total, Duration::from_secs(5));
        assert_eq!(ReadLimits::of(kind).idle, Duration::from_secs(1));
    }
}

/// Reads from a writer that goes on until nobody reads any more.
fn endless(limits: ReadLimits, bytes: &'static [u8]) -> Input {
    let (reader, writer): (OwnedFd, OwnedFd) = pipe().unwrap();
    let writer = thread::spawn(move || {
        let mut pipe = File::from(writer);
        while pipe.write_all(bytes).is_ok() {}
    });
    let input = read_payload(reader.as_fd(), &limits);
    drop(reader);
    writer.join().unwrap();
    input
}

fn flags(fd: BorrowedFd<'_>) -> OFlag {
    OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL).unwrap())
}
