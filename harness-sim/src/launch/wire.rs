//! What simulator and host say to each other: a header as JSON, then bytes, each with its length before it.

use std::io::{self, Read, Write};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Exit, Feed, Holder, Reader};
use crate::harness::{Finish, Kill, Leads};

/// A frame may have a payload of 16 MiB twice over, and no more: a length that is nonsense must not be allocated.
const LONGEST: u32 = 64 * 1024 * 1024;

/// What a host is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Message {
    /// A hook is to be started.
    Start(Request),
    /// The session is over.
    End,
}

/// One hook to start. Its stdin follows as bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) id: u32,
    pub(crate) argv: Vec<String>,
    pub(crate) folder: String,
    /// `NAME=value`; beside what the whole session has.
    pub(crate) environment: Vec<String>,
    pub(crate) leads: Leads,
    pub(crate) kill: Kill,
    pub(crate) finish: Finish,
    pub(crate) deadline: Duration,
    pub(crate) feed: Feed,
    pub(crate) reader: Reader,
    /// Sent to the hook's process group when it begins to print.
    pub(crate) signal: Option<i32>,
}

/// What became of it. Its output follows as bytes: stdout, then stderr.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Response {
    pub(crate) id: u32,
    pub(crate) exit: Exit,
    pub(crate) elapsed: Duration,
    pub(crate) timed_out: bool,
    pub(crate) stdout_bytes: u64,
    pub(crate) stderr_bytes: u64,
    pub(crate) stdin_bytes: u64,
    pub(crate) stdout_eof: bool,
    pub(crate) signalled: bool,
    pub(crate) holders: Vec<Holder>,
    /// How many of the bytes that follow are stdout's.
    pub(crate) kept_stdout: usize,
}

/// The first thing that a host says.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) host: i32,
    pub(crate) supervisor: i32,
}

/// Writes one frame, at once.
pub(crate) fn send<T: Serialize>(mut to: impl Write, header: &T, body: &[&[u8]]) -> io::Result<()> {
    let header = serde_json::to_vec(header).map_err(io::Error::other)?;
    let length: usize = body.iter().map(|part| part.len()).sum();
    let mut frame = Vec::with_capacity(8 + header.len() + length);
    for length in [header.len(), length] {
        frame.extend_from_slice(&u32::try_from(length).map_err(io::Error::other)?.to_ne_bytes());
    }
    frame.extend_from_slice(&header);
    for part in body {
        frame.extend_from_slice(part);
    }
    to.write_all(&frame)
}

/// Reads one frame. `None` at the end of the stream.
pub(crate) fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut lengths = [0_u8; 8];
    match from.read_exact(&mut lengths) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = |at: usize| {
        let bytes = [lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]];
        Some(u32::from_ne_bytes(bytes)).filter(|length| *length <= LONGEST).map(|length| length as usize)
    };
    let (Some(header), Some(body)) = (length(0), length(4)) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of impossible length"));
    };
    let mut bytes = vec![0; header + body];
    from.read_exact(&mut bytes)?;
    let rest = bytes.split_off(header);
    Ok(Some((serde_json::from_slice(&bytes).map_err(io::Error::other)?, rest)))
}
