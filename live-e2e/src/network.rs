//! A network namespace with nothing but loopback, for this whole process: the model server is inside, and no CLI reaches
//! anything else.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use nix::unistd::{getegid, geteuid};

/// What this process can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// Loopback, and nothing else.
    Loopback,
    /// What it could before: a namespace was refused, and why. Nothing that is set up asks for more than loopback.
    Open(String),
}

/// Enters one. A process that has more than one thread stays where it is.
pub fn enter() -> Network {
    match namespace().and_then(|()| loopback_up()) {
        Ok(()) => Network::Loopback,
        Err(error) => Network::Open(error.to_string()),
    }
}

/// Who is not root needs a user namespace around it, in which they stay who they are.
fn namespace() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    if user.is_root() && unshare(CloneFlags::CLONE_NEWNET).is_ok() {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Switches loopback on: rtnetlink(7), `RTM_NEWLINK` for the first interface, and its acknowledgement.
fn loopback_up() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const LENGTH: u32 = 32;
    const UP: u32 = 1;
    let mut message = Vec::new();
    // struct nlmsghdr: length, type, flags, sequence, port.
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    message.extend([0; 8]);
    // struct ifinfomsg: family and type of no matter, the index of loopback, flags, which of them change.
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let protocol = SockProtocol::NetlinkRoute;
    let link = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&link);
    sendto(fd, &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = [0; 256];
    let length = recv(fd, &mut answer, MsgFlags::empty())?;
    // struct nlmsgerr behind the header: 0, or an error as a negative number.
    match answer[..length].get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::other("the kernel did not say whether loopback is on")),
    }
}
