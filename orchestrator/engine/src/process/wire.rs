//! What front and supervisor say to each other over one `SOCK_SEQPACKET` pair, which is lifeline, command and status
//! channel at once: a front that is gone is an end of file here, whatever killed it.
//!
//! A run is asked for by one packet with descriptors: stdin, stdout and stderr of the leader, duplicates of the read
//! ends of stdout and stderr, and a memory file with the rest, because arguments and environment may be megabytes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg,
    socketpair,
};
use serde::{Deserialize, Serialize};

use super::bounds::{Bounds, Containment, Leftover};
use super::command::Command;
use super::error::{StartError, Step};
use super::identity::Identity;
use super::outcome::{End, Survivor};
use super::output::Channel;
use super::sys;

/// The largest packet. Reports are cut to fit.
const PACKET: usize = 64 * 1024;

/// What the front says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Stop: TERM, grace, KILL. With the signal that made the front say so, if one did.
    Stop(Option<u8>),
    /// KILL at once.
    Kill,
    /// The front reads no more of this channel: give up the duplicate of its read end, so that a writer gets SIGPIPE.
    CloseOutput(Channel),
    /// To a detached run: it is on record, the front lets go of it. A front that is gone without this takes it along.
    LetGo,
    /// The next run of a session; its own control socket comes with it.
    NewRun,
    /// A request for a run; its descriptors come with it.
    Request,
}

impl Order {
    fn encode(self) -> [u8; 2] {
        match self {
            Self::Stop(signal) => [b'S', signal.unwrap_or(0)],
            Self::Kill => [b'K', 0],
            Self::CloseOutput(channel) => [b'C', channel as u8],
            Self::LetGo => [b'L', 0],
            Self::NewRun => [b'N', 0],
            Self::Request => [b'R', 0],
        }
    }

    fn decode(packet: &[u8]) -> Option<Self> {
        match *packet {
            [b'S', 0] => Some(Self::Stop(None)),
            [b'S', signal] => Some(Self::Stop(Some(signal))),
            [b'K', _] => Some(Self::Kill),
            [b'C', 0] => Some(Self::CloseOutput(Channel::Stdout)),
            [b'C', 1] => Some(Self::CloseOutput(Channel::Stderr)),
            [b'L', _] => Some(Self::LetGo),
            [b'N', _] => Some(Self::NewRun),
            [b'R', _] => Some(Self::Request),
            _ => None,
        }
    }
}

/// What the supervisor says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// The leader runs the program.
    Started { leader: i32 },
    /// A detached run has begun.
    Detached { supervisor: Identity, leader: Identity },
    /// It does not, and nothing is left of the attempt.
    StartFailed { step: Step, errno: i32 },
    /// The deadline came before the program did.
    StartTimedOut,
    /// The grace is over, KILL goes out.
    Killing,
    /// Everything is over.
    Done(Report),
}

/// The supervisor's part of the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) end: End,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) interrupted_by: Option<i32>,
    pub(crate) elapsed_us: u64,
    pub(crate) pipe_held: bool,
    pub(crate) killed_after_exit: u64,
    pub(crate) unkillable: Vec<Survivor>,
    pub(crate) containment: Containment,
}

/// Everything about a run but its descriptors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    /// The program, then its arguments.
    pub(crate) argv: Vec<OsString>,
    /// `NAME=value`.
    pub(crate) environment: Vec<OsString>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) deadline: Duration,
    pub(crate) grace: Duration,
    pub(crate) containment: Containment,
    pub(crate) leftover: Leftover,
}

impl Spec {
    pub(crate) fn new(command: &Command, bounds: &Bounds) -> Result<Self, StartError> {
        let mut argv = vec![command.program.clone()];
        argv.extend(command.args.iter().cloned());
        let environment = command.environment().into_iter().map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            name
        });
        let spec = Self {
            argv,
            environment: environment.collect(),
            cwd: command.cwd.clone(),
            deadline: bounds.deadline.get(),
            grace: bounds.grace.get(),
            containment: bounds.containment,
            leftover: bounds.leftover,
        };
        spec.refuse_nul(command)?;
        Ok(spec)
    }

    fn refuse_nul(&self, command: &Command) -> Result<(), StartError> {
        let nul = |text: &OsStr| text.as_bytes().contains(&0);
        let what = if nul(&self.argv[0]) {
            "its name"
        } else if self.argv.iter().any(|arg| nul(arg)) {
            "an argument"
        } else if self.environment.iter().any(|entry| nul(entry)) {
            "the environment"
        } else if self.cwd.as_ref().is_some_and(|folder| nul(folder.as_os_str())) {
            "the working folder"
        } else {
            return Ok(());
        };
        Err(StartError::NulByte { program: command.program.to_string_lossy().into_owned(), what })
    }

    /// Strings that end in NUL, because no argument can hold one: eight numbers and words, then the lists.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |text: &[u8]| {
            bytes.extend_from_slice(text);
            bytes.push(0);
        };
        put(self.deadline.as_micros().to_string().as_bytes());
        put(self.grace.as_micros().to_string().as_bytes());
        put(if self.containment == Containment::Subtree { b"subtree" } else { b"group" });
        put(if self.leftover == Leftover::Keep { b"keep" } else { b"kill" });
        put(if self.cwd.is_some() { b"cwd" } else { b"" });
        put(self.cwd.as_ref().map_or(&[], |folder| folder.as_os_str().as_bytes()));
        put(self.argv.len().to_string().as_bytes());
        put(self.environment.len().to_string().as_bytes());
        self.argv.iter().chain(&self.environment).for_each(|text| put(text.as_bytes()));
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        fn number<T: std::str::FromStr>(field: Option<&[u8]>) -> Option<T> {
            std::str::from_utf8(field?).ok()?.parse().ok()
        }
        let mut fields = bytes.split(|byte| *byte == 0);
        let mut text = || fields.next();
        let deadline = Duration::from_micros(number(text())?);
        let grace = Duration::from_micros(number(text())?);
        let containment = if text()? == b"subtree" { Containment::Subtree } else { Containment::Group };
        let leftover = if text()? == b"keep" { Leftover::Keep } else { Leftover::Kill };
        let has_cwd = text()? == b"cwd";
        let folder = PathBuf::from(OsString::from_vec(text()?.to_vec()));
        let arguments: usize = number(text())?;
        let entries: usize = number(text())?;
        let mut list = |count: usize| -> Option<Vec<OsString>> {
            (0..count).map(|_| Some(OsString::from_vec(fields.next()?.to_vec()))).collect()
        };
        Some(Self {
            argv: list(arguments)?,
            environment: list(entries)?,
            cwd: has_cwd.then_some(folder),
            deadline,
            grace,
            containment,
            leftover,
        })
    }
}

/// The descriptors of a run, as the supervisor gets them.
#[derive(Debug)]
pub(crate) struct Stdio {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// Duplicates of the read ends, to see at the leader's exit whether anybody still holds the other end. Empty
    /// where the output goes to files.
    pub(crate) read_ends: Vec<OwnedFd>,
}

/// A request for a run, as the supervisor gets it.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) spec: Spec,
    pub(crate) stdio: Stdio,
}

/// Two ends of a control channel: the front's, which does not block, and the supervisor's.
pub(crate) fn channel() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (front, supervisor) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    nix::fcntl::fcntl(&front, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK))?;
    Ok((front, supervisor))
}

/// Sends an order, with descriptors or without. Never waits.
pub(crate) fn send_order(channel: BorrowedFd<'_>, order: Order, fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    send(channel, &order.encode(), fds)
}

/// Sends a request for a run.
pub(crate) fn send_request(channel: BorrowedFd<'_>, spec: &Spec, stdio: &Stdio) -> io::Result<()> {
    let mut file = File::from(memfd_create(c"dogwatch-run", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(&spec.encode())?;
    let mut fds: Vec<BorrowedFd<'_>> = Vec::new();
    {
        use std::os::fd::AsFd;
        fds.extend([file.as_fd(), stdio.stdin.as_fd(), stdio.stdout.as_fd(), stdio.stderr.as_fd()]);
        fds.extend(stdio.read_ends.iter().map(AsFd::as_fd));
    }
    Ok(send_order(channel, Order::Request, &fds)?)
}

/// Reads a request out of the descriptors that came with [`Order::Request`].
pub(crate) fn open_request(fds: Vec<OwnedFd>) -> io::Result<Request> {
    let mut fds = fds.into_iter();
    let mut next = || fds.next().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData));
    let mut file = File::from(next()?);
    let stdio = Stdio { stdin: next()?, stdout: next()?, stderr: next()?, read_ends: fds.collect() };
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    let spec = Spec::decode(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Request { spec, stdio })
}

/// Tells the front something. A front that is gone or does not listen is none of the supervisor's concern.
pub(crate) fn send_status(channel: BorrowedFd<'_>, status: &Status) {
    if let Ok(packet) = serde_json::to_vec(status) {
        let _ = send(channel, &packet, &[]);
    }
}

/// Receives an order. `Ok(None)`: the front is gone.
pub(crate) fn receive_order(channel: BorrowedFd<'_>) -> Result<Option<(Order, Vec<OwnedFd>)>, Errno> {
    let mut packet = [0_u8; 8];
    let (length, fds) = receive(channel, &mut packet)?;
    match Order::decode(&packet[..length]) {
        _ if length == 0 => Ok(None),
        Some(order) => Ok(Some((order, fds))),
        None => Err(Errno::EBADMSG),
    }
}

/// Receives a status. `Ok(None)`: the supervisor is gone.
pub(crate) fn receive_status(channel: BorrowedFd<'_>) -> Result<Option<Status>, Errno> {
    let mut packet = vec![0_u8; PACKET];
    let (length, _) = receive(channel, &mut packet)?;
    if length == 0 {
        return Ok(None);
    }
    serde_json::from_slice(&packet[..length]).map(Some).map_err(|_| Errno::EBADMSG)
}

fn send(channel: BorrowedFd<'_>, packet: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let raw: Vec<_> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&raw)];
    let control: &[ControlMessage<'_>] = if raw.is_empty() { &[] } else { &rights };
    loop {
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        match sendmsg::<()>(channel.as_raw_fd(), &[IoSlice::new(packet)], control, flags, None) {
            Err(Errno::EINTR) => {}
            result => return result.map(drop),
        }
    }
}

fn receive(channel: BorrowedFd<'_>, packet: &mut [u8]) -> Result<(usize, Vec<OwnedFd>), Errno> {
    let mut space = nix::cmsg_space!([std::os::fd::RawFd; 8]);
    loop {
        let mut parts = [IoSliceMut::new(packet)];
        match recvmsg::<()>(channel.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC) {
            // A peer that ended with packets of ours unread resets the connection, and that is told once, before what
            // it had said: the report of a run that was asked to stop while it ended. The end comes after it.
            Err(Errno::EINTR | Errno::ECONNRESET) => {}
            Err(errno) => return Err(errno),
            Ok(message) => {
                let mut fds = Vec::new();
                for part in message.cmsgs()? {
                    if let ControlMessageOwned::ScmRights(raw) = part {
                        // SAFETY: the kernel just installed these descriptors for us.
                        fds.extend(raw.into_iter().map(|fd| unsafe { sys::take_descriptor(fd) }));
                    }
                }
                return Ok((message.bytes, fds));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_survives_the_way() {
        let spec = Spec {
            argv: vec!["sh".into(), String::new().into(), OsString::from_vec(vec![0xff, b'\n'])],
            environment: vec!["A=".into(), "B=x=y".into()],
            cwd: Some("/tmp/a b".into()),
            deadline: Duration::from_millis(1500),
            grace: Duration::ZERO,
            containment: Containment::Group,
            leftover: Leftover::Keep,
        };
        assert_eq!(Spec::decode(&spec.encode()).as_ref(), Some(&spec));
        let bare = Spec { argv: vec!["x".into()], environment: Vec::new(), cwd: None, ..spec };
        assert_eq!(Spec::decode(&bare.encode()), Some(bare));
    }

    #[test]
    fn the_last_word_is_heard_though_an_order_was_left_unread() {
        use std::os::fd::AsFd;
        let (front, supervisor) = channel().unwrap();
        send_order(front.as_fd(), Order::Stop(None), &[]).unwrap();
        send_status(supervisor.as_fd(), &Status::Killing);
        drop(supervisor);
        assert!(matches!(receive_status(front.as_fd()), Ok(Some(Status::Killing))));
        assert!(matches!(receive_status(front.as_fd()), Ok(None)));
    }

    #[test]
    fn a_cut_spec_is_no_spec() {
        let spec =
            Spec::new(&Command::new("x").arg("y"), &Bounds::new(super::super::Deadline::DEFAULT)).unwrap();
        let bytes = spec.encode();
        assert_eq!(Spec::decode(&bytes[..bytes.len() / 2]), None);
        assert_eq!(Spec::decode(b""), None);
    }

    #[test]
    fn nul_bytes_are_refused_by_place() {
        let bounds = Bounds::new(super::super::Deadline::DEFAULT);
        let error = Spec::new(&Command::new("x").env("A", "b\0c"), &bounds).unwrap_err();
        assert!(error.to_string().contains("the environment holds a NUL byte"), "{error}");
    }
}
