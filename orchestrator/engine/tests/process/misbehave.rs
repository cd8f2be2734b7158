//! A program that does what a bounded run must survive. For tests and benches only; never installed.
//!
//! Every process takes a marker as its first argument after the behaviour, so that a test can find what is left of it
//! in `/proc`. Whatever it does, it ends by itself after two minutes.

// Children that nobody waits for are what this program is for.
// It is told by the environment, as programs are.
#![allow(clippy::zombie_processes, clippy::disallowed_methods)]

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use dogwatch_engine::process::{
    Bounds, Cap, Command as Run, Containment, Deadline, Detached, Engine, Grace, Interrupts, Leftover, Stdin,
};
use nix::sys::signal::{SigSet, Signal};

const LIFE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    dogwatch_engine::init();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["exit", code] => ExitCode::from(number::<u8>(code)),
        ["sleep", _marker] => sleep(),
        ["ignore-term", _marker] => {
            block_term();
            say("ready");
            sleep()
        }
        ["exit-on-term", _marker] => {
            block_term();
            say("ready");
            let _ = term().wait();
            say("tidied up");
            ExitCode::SUCCESS
        }
        ["stop-self", _marker] => {
            say("ready");
            let _ = nix::sys::signal::raise(Signal::SIGSTOP);
            sleep()
        }
        ["die-of", signal] => {
            let signal: i32 = number(signal);
            let _ = Command::new("/bin/sh").args(["-c", &format!("kill -{signal} $PPID")]).status();
            sleep()
        }
        ["close-output", _marker] => {
            say("ready");
            close_output();
            sleep()
        }
        ["flood", _marker] => flood(),
        ["zeros", bytes] => write_out(number(bytes), &[0; 65536]),
        ["one-line", bytes] => write_out(number(bytes), &[b'x'; 65536]),
        ["not-utf8", bytes] => write_out(number(bytes), &[0xff, 0xfe, 0, b'\n'].repeat(16384)),
        ["both", bytes] => both(number(bytes)),
        ["read-input"] => {
            let mut input = Vec::new();
            let _ = io::stdin().read_to_end(&mut input);
            say(&format!("{} bytes", input.len()));
            ExitCode::SUCCESS
        }
        // A child that goes on to hold the pipes, by 1 and 2 or by a duplicate, while we exit.
        ["leave-holder", marker, how] => {
            child(&["holder", marker, how]).spawn().expect("spawn");
            wait_for_word();
            write_out(100_000, &[b'b'; 1000]);
            ExitCode::from(7)
        }
        ["holder", _marker, how] => holder(how),
        // A daemon: own session, orphaned, deaf to TERM; nothing of ours is held.
        ["leave-daemons", marker, count] => leave_daemons(marker, number(count)),
        ["daemon-parent", marker] => {
            let _ = nix::unistd::setsid();
            let mut daemon = child(&["daemon", marker]).stdout(Stdio::piped()).spawn().expect("spawn");
            wait_for(daemon.stdout.as_mut().expect("piped"));
            ExitCode::SUCCESS
        }
        ["daemon", _marker] => {
            block_term();
            say("ready");
            close_output();
            sleep()
        }
        // Processes that fork, leave their session and exit at once, for ever.
        ["relays", marker, lanes] => {
            for _ in 0..number::<u32>(lanes) {
                child(&["relay", marker]).spawn().expect("spawn");
            }
            say("ready");
            sleep()
        }
        ["relay", marker] => {
            let _ = nix::unistd::setsid();
            let _ = child(&["relay", marker]).spawn();
            ExitCode::SUCCESS
        }
        ["tree", marker, total, own_sessions] => tree(marker, number(total), number(own_sessions)),
        ["branch", marker, count, own_sessions] => branch(marker, number(count), number(own_sessions)),
        ["leaf", _marker, own_session] => {
            if *own_session == "own" {
                let _ = nix::unistd::setsid();
            }
            block_term();
            say("ready");
            sleep()
        }
        ["setuid-root", _marker] => {
            let root = nix::unistd::Uid::from_raw(0);
            let ok = nix::unistd::setresuid(root, root, root);
            block_term();
            say(if ok.is_ok() { "ready" } else { "no root" });
            sleep()
        }
        ["descriptors"] => list("/proc/self/fd"),
        ["signals"] => signals(),
        ["session"] => {
            let pid = nix::unistd::getpid();
            let own = nix::unistd::getsid(None) == Ok(pid) && nix::unistd::getpgrp() == pid;
            let terminal = std::fs::File::open("/dev/tty").is_ok();
            say(&format!("own={own} terminal={terminal}"));
            ExitCode::SUCCESS
        }
        ["front", rest @ ..] => front(rest),
        ["detach", output, identity, seconds, command @ ..] => {
            detach(output, identity, number(seconds), command)
        }
        // An adopting front that stays: its detached runs are its orphans for a moment.
        ["detach-and-stay", marker, folder, seconds, count] => {
            detach_and_stay(marker, folder, number(seconds), number(count))
        }
        _ => {
            say(&format!("misbehave: no such behaviour: {words:?}"));
            ExitCode::from(99)
        }
    }
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(word: &str) -> T {
    word.parse().expect("a number")
}

/// One line on stdout, whole and at once.
fn say(line: &str) {
    let _ = io::stdout().write_all(format!("{line}\n").as_bytes());
    let _ = io::stdout().flush();
}

fn sleep() -> ExitCode {
    std::thread::sleep(LIFE);
    ExitCode::from(98)
}

fn term() -> SigSet {
    SigSet::from_iter([Signal::SIGTERM])
}

fn block_term() {
    term().thread_block().expect("block");
}

fn close_output() {
    let null = std::fs::File::options().write(true).open("/dev/null").expect("null");
    nix::unistd::dup2_stdout(&null).expect("dup2");
    nix::unistd::dup2_stderr(&null).expect("dup2");
}

fn child(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Waits for the line `ready` of a child.
fn wait_for(output: &mut impl Read) {
    let mut byte = [0_u8];
    while output.read(&mut byte).is_ok_and(|count| count == 1) && byte[0] != b'\n' {}
}

fn flood() -> ExitCode {
    let until = Instant::now() + LIFE;
    let mut out = io::stdout().lock();
    while Instant::now() < until && out.write_all(&[b'f'; 65536]).is_ok() {}
    ExitCode::SUCCESS
}

fn write_out(bytes: u64, pattern: &[u8]) -> ExitCode {
    let mut out = io::stdout().lock();
    let mut left = bytes;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(pattern.len());
        if out.write_all(&pattern[..length]).is_err() {
            return ExitCode::FAILURE;
        }
        left -= length as u64;
    }
    if out.flush().is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn both(bytes: u64) -> ExitCode {
    for _ in 0..bytes / 1000 {
        let _ = io::stdout().write_all(&[b'o'; 1000]);
        let _ = io::stderr().write_all(&[b'e'; 1000]);
    }
    ExitCode::SUCCESS
}

/// Waits until the holder has made the file that says that it holds the pipe.
fn wait_for_word() {
    let word = std::env::var_os("MISBEHAVE_WORD").expect("MISBEHAVE_WORD");
    let until = Instant::now() + LIFE;
    while !std::path::Path::new(&word).exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn holder(how: &str) -> ExitCode {
    let duplicate = nix::unistd::dup(io::stdout().as_fd()).expect("dup");
    if how == "duplicate" {
        close_output();
    }
    block_term();
    std::fs::write(std::env::var_os("MISBEHAVE_WORD").expect("MISBEHAVE_WORD"), "").expect("word");
    if how == "chatty" {
        // Whoever waits for a pause waits for ever.
        let until = Instant::now() + LIFE;
        while Instant::now() < until && io::stdout().write_all(b"still here\n").is_ok() {}
    }
    let code = sleep();
    drop(duplicate);
    code
}

fn leave_daemons(marker: &str, count: u32) -> ExitCode {
    let parents: Vec<_> =
        (0..count).map(|_| child(&["daemon-parent", marker]).spawn().expect("spawn")).collect();
    for mut parent in parents {
        let _ = parent.wait();
    }
    say("daemons are there");
    ExitCode::SUCCESS
}

/// `total` processes below this one that ignore TERM, `own_sessions` of them in sessions of their own, in three
/// levels. Says `ready` when all are there.
fn tree(marker: &str, total: u32, own_sessions: u32) -> ExitCode {
    block_term();
    let branches = total.min(10);
    let leaves = total - branches;
    let mut children = Vec::new();
    for index in 0..branches {
        let share = |all: u32| all / branches + u32::from(index < all % branches);
        let (count, own) = (share(leaves).to_string(), share(own_sessions).to_string());
        children
            .push(child(&["branch", marker, &count, &own]).stdout(Stdio::piped()).spawn().expect("spawn"));
    }
    for child in &mut children {
        wait_for(child.stdout.as_mut().expect("piped"));
    }
    say("ready");
    sleep()
}

fn branch(marker: &str, count: u32, own_sessions: u32) -> ExitCode {
    block_term();
    let mut children = Vec::new();
    for index in 0..count {
        let session = if index < own_sessions { "own" } else { "same" };
        let leaf = child(&["leaf", marker, session]).stdout(Stdio::piped()).spawn();
        children.push(leaf.expect("spawn"));
    }
    for child in &mut children {
        wait_for(child.stdout.as_mut().expect("piped"));
        child.stdout = None;
    }
    say("ready");
    sleep()
}

fn list(folder: &str) -> ExitCode {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("folder")
        .filter_map(|entry| {
            let entry = entry.ok()?;
            // The folder itself is open while it is read.
            let own = std::fs::read_link(entry.path()).is_ok_and(|target| target.ends_with("fd"));
            (!own).then(|| entry.file_name().to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    say(&names.join(" "));
    ExitCode::SUCCESS
}

fn signals() -> ExitCode {
    // What the program was started with, before the runtime of the language set a handler: of the masks in
    // /proc/self/status only blocked and ignored are inherited.
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    for line in status.lines().filter(|line| line.starts_with("SigBlk") || line.starts_with("SigIgn")) {
        say(&line.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    ExitCode::SUCCESS
}

/// `front [--option value]… -- COMMAND…`: runs the engine as a program of its own would, says who is who, then the
/// report as one line of JSON.
fn front(words: &[&str]) -> ExitCode {
    let split = words.iter().position(|word| *word == "--").expect("--");
    let (options, command) = (&words[..split], &words[split + 1..]);
    let option = |name: &str| {
        options.iter().position(|word| *word == name).and_then(|index| options.get(index + 1)).copied()
    };
    let milliseconds = |name: &str, default| Duration::from_millis(option(name).map_or(default, number));
    let mut bounds = Bounds::new(Deadline::new(milliseconds("--deadline", 60_000)).expect("deadline"));
    bounds.grace = Grace::new(milliseconds("--grace", 1_000)).expect("grace");
    if option("--containment") == Some("group") {
        bounds.containment = Containment::Group;
    }
    if option("--leftover") == Some("keep") {
        bounds.leftover = Leftover::Keep;
    }
    if option("--cap") == Some("everything") {
        bounds.cap = Cap::Everything;
    }
    if let Some(limit) = option("--processes") {
        if nix::unistd::getuid().is_root() {
            let nobody = nix::unistd::Uid::from_raw(64_999);
            nix::unistd::setresuid(nobody, nobody, nobody).expect("setresuid");
        }
        let limit = number(limit);
        nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NPROC, limit, limit)
            .expect("rlimit");
    }
    if option("--as-user").is_some() && nix::unistd::getuid().is_root() {
        let nobody = nix::unistd::Uid::from_raw(64_998);
        nix::unistd::setresuid(nobody, nobody, nobody).expect("setresuid");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    runtime.block_on(async {
        let mut engine = Engine::new();
        if option("--adopt").is_some() {
            engine = engine.adopt_orphans().expect("subreaper");
        }
        let mut interrupts = Interrupts::new().expect("interrupts");
        let run = Run::new(command[0]).args(&command[1..]).stdin(Stdin::Null);
        let mut run = match engine.start(&run, &bounds).await {
            Ok(run) => run,
            Err(error) => {
                say(&format!("error: {error}"));
                return ExitCode::from(error.exit_code());
            }
        };
        say(&format!("supervisor {} leader {}", run.supervisor().unwrap_or(0), run.leader()));
        let stopper = run.stopper();
        let follow = async {
            while let Some(chunk) = run.next().await {
                if option("--quiet").is_none() {
                    let _ = io::stdout().write_all(chunk.bytes);
                    let _ = io::stdout().flush();
                }
            }
            run.finish().await
        };
        tokio::pin!(follow);
        let outcome = loop {
            tokio::select! {
                outcome = &mut follow => break outcome,
                interrupt = interrupts.next() => stopper.stop(Some(interrupt.signal)),
            }
        };
        say(&serde_json::to_string(&outcome).expect("json"));
        if option("--peak").is_some() {
            let status = std::fs::read_to_string("/proc/self/status").expect("status");
            say(status.lines().find(|line| line.starts_with("VmHWM")).expect("VmHWM"));
        }
        ExitCode::SUCCESS
    })
}

fn detach(output: &str, identity: &str, seconds: u64, command: &[&str]) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    runtime.block_on(async {
        let deadline = Deadline::new(Duration::from_secs(seconds)).expect("deadline");
        let detached = Detached::new(Run::new(command[0]).args(&command[1..]), deadline, output)
            .grace(Grace::new(Duration::from_millis(100)).expect("grace"))
            .identity_file(identity);
        match detached.start(&Engine::new()).await {
            Ok(run) => {
                say(&format!("detached {} {}", run.supervisor.pid, run.leader.pid));
                ExitCode::SUCCESS
            }
            Err(error) => {
                say(&format!("error: {error}"));
                ExitCode::from(error.exit_code())
            }
        }
    })
}

/// Starts that many detached runs at the same time, says whether orphans still arrive here, and stays.
fn detach_and_stay(marker: &str, folder: &str, seconds: u64, count: u32) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    runtime.block_on(async {
        let engine = Engine::new().adopt_orphans().expect("subreaper");
        let deadline = Deadline::new(Duration::from_secs(seconds)).expect("deadline");
        let own_path = std::env::current_exe().expect("own path");
        let runs = (0..count).map(|index| {
            let command = Run::new(&own_path).args(["tree", marker, "4", "2"]);
            let output = std::path::Path::new(folder).join(format!("out-{index}"));
            let (engine, detached) = (engine.clone(), Detached::new(command, deadline, output));
            async move { detached.start(&engine).await }
        });
        for run in futures::future::join_all(runs).await {
            match run {
                Ok(run) => say(&format!("detached {} {}", run.supervisor.pid, run.leader.pid)),
                Err(error) => say(&format!("error: {error}")),
            }
        }
        say(&format!("subreaper {}", nix::sys::prctl::get_child_subreaper().expect("prctl")));
    });
    sleep()
}
