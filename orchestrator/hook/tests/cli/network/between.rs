//! Where exactly a hook is killed, or not read, decides whether a wake is told once, again, or still: each place is held
//! here by a pipe that is full and a lock that the test has.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Instant;

use nix::fcntl::{FcntlArg, Flock, FlockArg, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::{Home, Session};
use crate::support::{PROGRAM, SLACK, is_alive, wait_until};

const TEXT: &str = "network check ci asks for action";
/// The least that a pipe can be made to hold.
const PIPE_BYTES: usize = 4096;

/// A session in charge with a wake that waits.
struct Owed {
    home: Home,
    session: Session,
}

impl Owed {
    fn new() -> Owed {
        let home = Home::new("");
        let mut session = Session::new(&home, "s");
        session.open("startup");
        let owed = Owed { home, session };
        owed.post(TEXT);
        owed
    }

    /// A wake as the worker posts it.
    fn post(&self, text: &str) {
        let wake = json!({ "version": 1, "name": "network-ci", "text": text, "generation": 1, "at": format!("at of {text}") });
        fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        let aside = self.home.desk.scratch.path().join("aside");
        fs::write(&aside, wake.to_string()).unwrap();
        fs::rename(aside, self.file()).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.home.state().join("wakes/network-ci.json")
    }

    fn is_claimed(&self) -> bool {
        let text = fs::read(self.file()).unwrap_or_default();
        serde_json::from_slice::<Value>(&text).is_ok_and(|wake| wake["claimed_by"]["pid"].is_i64())
    }

    /// The lock under which wakes are claimed and acknowledged.
    fn lock(&self) -> Flock<File> {
        let path = self.home.state().join("wakes.lock");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        Flock::lock(file, FlockArg::LockExclusive).unwrap()
    }

    /// A hook of the session that has claimed the wake and cannot yet write a byte of it, because its pipe is full.
    fn blocked(&mut self) -> (i32, File) {
        let scratch = self.home.desk.scratch.path().to_owned();
        let path = |name: &str| scratch.join(name);
        if !path("pipe").exists() {
            nix::unistd::mkfifo(&path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
        let mut pipe = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(nix::libc::O_NONBLOCK)
            .open(path("pipe"))
            .unwrap();
        fcntl(&pipe, FcntlArg::F_SETPIPE_SZ(i32::try_from(PIPE_BYTES).unwrap())).unwrap();
        while pipe.write(&[b' '; PIPE_BYTES]).is_ok() {}
        fs::write(path("payload"), self.session.payload("PostToolUse", &json!({ "tool_name": "Bash" })))
            .unwrap();
        let line = format!(
            "{PROGRAM} hook claude after-tool < {} > {} 2> {} & echo $! > {}",
            path("payload").display(),
            path("pipe").display(),
            path("stderr").display(),
            path("pid").display()
        );
        assert_eq!(self.session.host.order(&line), 0);
        let hook = fs::read_to_string(path("pid")).unwrap().trim().parse().unwrap();
        assert!(wait_until(SLACK, || self.is_claimed()), "the hook claims it");
        (hook, pipe)
    }

    /// The next event of the session, and that it leaves nothing owed.
    fn next(&mut self) -> String {
        let told = self.session.after_tool(&json!({ "tool_name": "Bash" }));
        assert_eq!(self.home.pending(), [""; 0]);
        assert_eq!(self.session.after_tool(&json!({ "tool_name": "Bash" })), "", "once");
        told
    }

    fn done(mut self) {
        self.session.host.order("wait");
        drop(self.session);
        self.home.assert_nothing_runs();
    }
}

/// Reads until the answer is there; whether it is.
fn drain(pipe: &mut File, text: &str) -> bool {
    let mut read = Vec::new();
    wait_until(SLACK, || {
        let mut buffer = [0; PIPE_BYTES];
        if let Ok(count) = pipe.read(&mut buffer) {
            read.extend_from_slice(&buffer[..count]);
        }
        let answer = String::from_utf8_lossy(&read);
        answer.contains(text) && answer.trim_end().ends_with('}')
    })
}

/// Not waited for by its parent: a zombie has no claim, either.
fn end(hook: i32) {
    kill(Pid::from_raw(hook), Signal::SIGKILL).unwrap();
    assert!(wait_until(SLACK, || !is_alive(hook)));
}

#[test]
fn who_is_killed_before_it_has_told_leaves_it_to_the_next() {
    let mut owed = Owed::new();
    let (hook, mut pipe) = owed.blocked();
    end(hook);
    let mut rest = Vec::new();
    let _ = pipe.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains(TEXT));
    assert_eq!(owed.home.pending(), ["network-ci.json"]);
    assert!(owed.next().contains(TEXT));
    owed.done();
}

#[test]
fn who_is_killed_after_telling_and_before_acknowledging_has_it_told_again() {
    let mut owed = Owed::new();
    let (hook, mut pipe) = owed.blocked();
    let lock = owed.lock();
    assert!(drain(&mut pipe, TEXT), "it tells as soon as it is read");
    end(hook);
    drop(lock);
    assert_eq!(owed.home.pending(), ["network-ci.json"]);
    assert!(owed.next().contains(TEXT));
    owed.done();
}

#[test]
fn who_is_let_live_has_told_it_for_good() {
    let mut owed = Owed::new();
    let (hook, mut pipe) = owed.blocked();
    assert!(drain(&mut pipe, TEXT));
    assert!(wait_until(SLACK, || !is_alive(hook)));
    assert_eq!(owed.home.pending(), [""; 0]);
    assert_eq!(owed.next(), "");
    owed.done();
}

#[test]
fn what_one_is_about_to_tell_no_other_tells() {
    let mut owed = Owed::new();
    let (hook, mut pipe) = owed.blocked();
    assert_eq!(owed.session.after_tool(&json!({ "tool_name": "Bash" })), "");
    assert_eq!(owed.session.prompt(), "");
    assert!(drain(&mut pipe, TEXT));
    assert!(wait_until(SLACK, || !is_alive(hook)));
    assert_eq!(owed.next(), "");
    owed.done();
}

#[test]
fn a_newer_result_is_not_acknowledged_with_the_older_one() {
    let mut owed = Owed::new();
    let (hook, mut pipe) = owed.blocked();
    owed.post("network check ci asks for action, newly");
    assert!(drain(&mut pipe, TEXT));
    assert!(wait_until(SLACK, || !is_alive(hook)));
    assert_eq!(owed.home.pending(), ["network-ci.json"]);
    assert!(owed.next().contains("newly"));
    owed.done();
}

#[test]
fn while_others_are_about_the_wakes_an_event_is_not_held_up() {
    let mut owed = Owed::new();
    let lock = owed.lock();
    // It ends although nobody gives the lock back.
    let begun = Instant::now();
    assert_eq!(owed.session.prompt(), "");
    assert!(begun.elapsed() < SLACK);
    drop(lock);
    assert!(owed.next().contains(TEXT));
    owed.done();
}

#[test]
fn a_reader_who_never_reads_is_owed_it_still() {
    let mut owed = Owed::new();
    let (hook, mut pipe) = owed.blocked();
    assert!(wait_until(SLACK, || !is_alive(hook)), "it gives up by itself");
    let mut rest = Vec::new();
    let _ = pipe.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains(TEXT));
    assert!(owed.next().contains(TEXT));
    owed.done();
}

#[test]
fn a_reader_who_goes_away_is_owed_it_still() {
    let mut owed = Owed::new();
    let (hook, pipe) = owed.blocked();
    drop(pipe);
    assert!(wait_until(SLACK, || !is_alive(hook)));
    let said = fs::read_to_string(owed.home.desk.scratch.path().join("stderr")).unwrap();
    assert!(said.contains("the answer cannot be written"), "{said:?}");
    assert!(owed.next().contains(TEXT));
    owed.done();
}

#[test]
fn an_output_that_is_closed_or_thrown_away_tells_nobody() {
    for redirection in [">&-", "> /dev/null"] {
        let mut owed = Owed::new();
        let payload = owed.home.desk.scratch.path().join("payload");
        fs::write(&payload, owed.session.payload("PostToolUse", &json!({ "tool_name": "Bash" }))).unwrap();
        let line = format!("{PROGRAM} hook claude after-tool < {} {redirection}", payload.display());
        assert_eq!(owed.session.host.order(&line), 0, "{redirection}");
        assert_eq!(owed.home.pending(), ["network-ci.json"], "{redirection}");
        assert!(owed.next().contains(TEXT), "{redirection}");
        owed.done();
    }
}
