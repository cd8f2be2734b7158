//! The signals that ask a program to end: TERM, INT, HUP.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use nix::sys::signal::{SigSet, Signal};
use tokio::signal::unix::{self, SignalKind, signal};

use super::sys;

/// A signal that asked this program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt {
    /// The signal's number.
    pub signal: i32,
}

/// Catches TERM, INT and HUP from its making on. One that the program was started with ignored (`nohup`, a
/// background job) stays ignored.
#[derive(Debug)]
pub struct Interrupts {
    signals: Vec<(i32, unix::Signal)>,
}

impl Interrupts {
    /// Begins to catch them.
    ///
    /// # Errors
    /// Where a handler cannot be set.
    pub fn new() -> io::Result<Self> {
        // A caller may have us started with them blocked; blocked, they would never arrive.
        let asking = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];
        let _ = SigSet::from_iter(asking).thread_unblock();
        let mut signals = Vec::new();
        for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
            let number = kind.as_raw_value();
            if !sys::is_ignored(number) {
                signals.push((number, signal(kind)?));
            }
        }
        Ok(Self { signals })
    }

    /// Waits for the next one. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Interrupt {
        poll_fn(|context| {
            for (number, stream) in &mut self.signals {
                if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                    return Poll::Ready(Interrupt { signal: *number });
                }
            }
            Poll::Pending
        })
        .await
    }
}
