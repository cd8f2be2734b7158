//! The read end of one output channel, in the front: hands on what fits under the cap, counts the rest.
//!
//! A channel is never read to its end for its own sake: a grandchild may hold it open for good. When the run is over,
//! what waits in the pipe at that moment is read, exactly so many bytes, and no more.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::bounds::Cap;
use super::sys;

/// How much is read at once: what a pipe holds.
pub(crate) const READ: usize = 64 * 1024;

/// Which output of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Standard output.
    Stdout = 0,
    /// Standard error.
    Stderr = 1,
}

/// One output channel.
#[derive(Debug)]
pub(crate) struct Output {
    pipe: Option<AsyncFd<OwnedFd>>,
    buffer: Box<[u8]>,
    /// `/dev/null`, once bytes are dropped.
    null: Option<OwnedFd>,
    /// What may still be handed on; `None`: everything.
    allowance: Option<u64>,
    /// Once the run is over: what may still be read at all.
    remaining: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) truncated: bool,
}

/// What one read gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// So many bytes at the start of the buffer.
    Bytes(usize),
    /// Bytes were counted and dropped.
    Dropped,
    /// The channel is closed.
    End,
}

impl Output {
    pub(crate) fn new(pipe: OwnedFd, cap: Cap) -> std::io::Result<Self> {
        // Our own pipe, and the writers have a file description of their own.
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let allowance = match cap {
            Cap::Bytes(bytes) => Some(bytes),
            Cap::Everything => None,
        };
        Ok(Self {
            pipe: Some(sys::watch(pipe, Interest::READABLE)?),
            buffer: vec![0; READ].into_boxed_slice(),
            null: None,
            allowance,
            remaining: None,
            bytes: 0,
            truncated: false,
        })
    }

    /// What the last [`Read::Bytes`] read.
    pub(crate) fn chunk(&self, count: usize) -> &[u8] {
        &self.buffer[..count]
    }

    /// Reads no more.
    pub(crate) fn close(&mut self) {
        self.pipe = None;
    }

    /// The run is over: what waits in the pipe now is all that will be read.
    pub(crate) fn end_of_run(&mut self) {
        if let Some(pipe) = &self.pipe {
            self.remaining = Some(sys::bytes_waiting(pipe.get_ref().as_fd()).unwrap_or(0));
        }
    }

    /// Waits for output and reads once; waits for ever on a closed channel. Nothing is lost when the future is
    /// dropped: it waits before it reads, never after.
    pub(crate) async fn next(&mut self) -> Read {
        loop {
            let Some(pipe) = &self.pipe else { return std::future::pending().await };
            let Ok(mut guard) = pipe.readable().await else {
                self.pipe = None;
                return Read::End;
            };
            let wanted = Self::wanted(self.allowance, self.remaining);
            let null = Self::null_if(self.allowance, &mut self.null);
            match Self::read_once(guard.get_inner(), &mut self.buffer[..wanted], null) {
                Err(Errno::EAGAIN) => guard.clear_ready(),
                Err(Errno::EINTR) => {}
                result => return self.account(result),
            }
        }
    }

    /// Reads once at the end of a run, by the kernel's word alone: the reactor may not have heard yet of what is
    /// there.
    pub(crate) fn drain(&mut self) -> Read {
        loop {
            let wanted = Self::wanted(self.allowance, self.remaining);
            let null = Self::null_if(self.allowance, &mut self.null);
            let Some(pipe) = &self.pipe else { return Read::End };
            match Self::read_once(pipe.get_ref(), &mut self.buffer[..wanted], null) {
                Err(Errno::EINTR) => {}
                result => return self.account(result),
            }
        }
    }

    /// How much may be read in one go. Zero once a run that is over has been drained.
    fn wanted(allowance: Option<u64>, remaining: Option<u64>) -> usize {
        let allowed = allowance.filter(|bytes| *bytes > 0).unwrap_or(u64::MAX);
        usize::try_from(allowed.min(remaining.unwrap_or(u64::MAX))).unwrap_or(READ).min(READ)
    }

    fn null_if(allowance: Option<u64>, null: &mut Option<OwnedFd>) -> Option<&OwnedFd> {
        if allowance == Some(0) && null.is_none() {
            *null = sys::dev_null().ok();
        }
        if allowance == Some(0) { null.as_ref() } else { None }
    }

    /// Past the cap the bytes go straight from the pipe to `/dev/null`.
    fn read_once(pipe: &OwnedFd, buffer: &mut [u8], null: Option<&OwnedFd>) -> Result<usize, Errno> {
        let flags = SpliceFFlags::SPLICE_F_NONBLOCK | SpliceFFlags::SPLICE_F_MOVE;
        match (buffer.len(), null) {
            (0, _) => Ok(0),
            (length, Some(null)) => splice(pipe, None, null, None, length, flags),
            (_, None) => nix::unistd::read(pipe, buffer),
        }
    }

    fn account(&mut self, result: Result<usize, Errno>) -> Read {
        let Ok(count @ 1..) = result else {
            self.pipe = None;
            return Read::End;
        };
        self.bytes += count as u64;
        if let Some(left) = &mut self.remaining {
            *left = left.saturating_sub(count as u64);
        }
        match &mut self.allowance {
            Some(0) => {
                self.truncated = true;
                Read::Dropped
            }
            Some(allowance) => {
                *allowance -= count as u64;
                Read::Bytes(count)
            }
            None => Read::Bytes(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn output(cap: Cap) -> (Output, std::fs::File) {
        let (read, write) = nix::unistd::pipe().unwrap();
        (Output::new(read, cap).unwrap(), write.into())
    }

    #[tokio::test]
    async fn the_cap_cuts_to_the_byte_and_the_rest_is_counted() {
        let (mut output, mut writer) = output(Cap::Bytes(3));
        writer.write_all(b"abcdef").unwrap();
        assert_eq!(output.next().await, Read::Bytes(3));
        assert_eq!(output.chunk(3), b"abc");
        assert_eq!(output.next().await, Read::Dropped);
        assert_eq!((output.bytes, output.truncated), (6, true));
    }

    #[tokio::test]
    async fn the_end_of_a_run_reads_what_is_there_and_no_more() {
        let (mut output, mut writer) = output(Cap::Everything);
        writer.write_all(b"before").unwrap();
        output.end_of_run();
        writer.write_all(b"after").unwrap();
        assert_eq!(output.drain(), Read::Bytes(6));
        assert_eq!(output.drain(), Read::End);
        assert_eq!((output.bytes, output.truncated), (6, false));
    }

    #[tokio::test]
    async fn exactly_the_cap_is_not_truncated() {
        let (mut output, mut writer) = output(Cap::Bytes(3));
        writer.write_all(b"abc").unwrap();
        drop(writer);
        assert_eq!(output.next().await, Read::Bytes(3));
        assert_eq!(output.next().await, Read::End);
        assert!(!output.truncated);
    }
}
