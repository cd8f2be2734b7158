//! The host: the process that plays the harness's, and whose children the hooks are. One loop over all that run.
//!
//! It has one thread, holds nothing of the simulator's but a socket, and ends when that socket is closed; whatever
//! hooks have left behind is then ended by the engine's supervisor.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};

use super::hook::{Channel, Interest, Running, start};
use super::stage::{self, Stage};
use super::wire::{Hello, Message, receive, send};
use crate::env;

/// How often it is looked whether what was asked to end is gone; there is no other sign of a grandchild's end.
const DYING_LOOK: Duration = Duration::from_millis(10);

/// In a process that was started as a host: serves, and never returns.
pub(crate) fn serve_if_host() {
    let Some(path) = env::host_socket() else { return };
    // Its end is the simulator's to say, not a hook's. And where files may not grow, that is an error of the one disk.
    let blocked = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGXFSZ];
    let _ = SigSet::from_iter(blocked).thread_block();
    let result = UnixStream::connect(path).and_then(|socket| serve(&socket));
    std::process::exit(i32::from(result.is_err()));
}

/// What woke the loop up.
enum Woke {
    Order,
    Exit(usize),
    Readable(usize, Channel),
    Writable(usize),
}

fn serve(socket: &UnixStream) -> io::Result<()> {
    let hello = Hello { host: nix::unistd::getpid().as_raw(), supervisor: nix::unistd::getppid().as_raw() };
    send(socket, &hello, &[])?;
    // The session's environment comes first: it is the same for every hook.
    let Some((stages, environment)) = receive::<Vec<Stage>>(socket)? else { return Ok(()) };
    if !stages.is_empty() {
        let refused = stage::set(&stages).err().map(|error| error.to_string());
        send(socket, &refused, &[])?;
        if refused.is_some() {
            return Ok(());
        }
    }
    let environment: Vec<CString> = environment
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
        .filter_map(|entry| CString::new(entry).ok())
        .collect();
    let mut running: Vec<Running> = Vec::new();
    loop {
        for woke in wait(socket, &running)? {
            let now = Instant::now();
            match woke {
                Woke::Order => {
                    let (request, payload) = match receive::<Message>(socket)? {
                        Some((Message::Start(request), payload)) => (request, payload),
                        Some((Message::End, _)) | None => return Ok(()),
                    };
                    match start(request, payload, &environment) {
                        Ok(hook) => running.push(hook),
                        Err(response) => send(socket, &response, &[])?,
                    }
                }
                Woke::Exit(at) => running[at].reap(),
                Woke::Readable(at, channel) => running[at].read(channel, now),
                Woke::Writable(at) => running[at].feed(),
            }
        }
        let now = Instant::now();
        let mut at = 0;
        while at < running.len() {
            running[at].look_at_clock(now);
            if running[at].is_over(now) {
                let (response, stdout, stderr) = running.remove(at).finish();
                send(socket, &response, &[&stdout, &stderr])?;
            } else {
                at += 1;
            }
        }
    }
}

/// Waits until something happens or is due.
fn wait(socket: &UnixStream, running: &[Running]) -> io::Result<Vec<Woke>> {
    let now = Instant::now();
    let mut fds = vec![PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    let mut whose = vec![Woke::Order];
    let mut due: Option<Instant> = None;
    for (at, hook) in running.iter().enumerate() {
        for interest in hook.interests(now) {
            let (fd, flags, woke) = match interest {
                Interest::Exit(fd) => (fd, PollFlags::POLLIN, Woke::Exit(at)),
                Interest::Readable(fd, channel) => (fd, PollFlags::POLLIN, Woke::Readable(at, channel)),
                Interest::Writable(fd) => (fd, PollFlags::POLLOUT, Woke::Writable(at)),
            };
            fds.push(PollFd::new(fd, flags));
            whose.push(woke);
        }
        let next = if hook.is_dying() { Some(now + DYING_LOOK) } else { hook.due(now) };
        due = due.into_iter().chain(next).min();
    }
    let timeout = match due {
        None => PollTimeout::NONE,
        Some(due) => {
            // Rounded up, or the last millisecond would be spent in a circle.
            let left = due.saturating_duration_since(now).as_micros().div_ceil(1000);
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        }
    };
    match poll(&mut fds, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    Ok(fds
        .iter()
        .zip(whose)
        .filter(|(fd, _)| fd.revents().is_some_and(|revents| !revents.is_empty()))
        .map(|(_, woke)| woke)
        .collect())
}

/// The environment of a session as one block of bytes.
pub(super) fn block(environment: &[(OsString, OsString)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in environment {
        block.extend_from_slice(&name.clone().into_vec());
        block.push(b'=');
        block.extend_from_slice(&value.clone().into_vec());
        block.push(0);
    }
    block
}
