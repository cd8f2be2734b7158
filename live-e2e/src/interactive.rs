//! A session that is spoken to: keys into a terminal or lines into a pipe, and what comes back, through `rexpect`.

use std::marker::PhantomData;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rexpect::reader::Options;
use rexpect::session::StreamSession;

use crate::desk::Desk;
use crate::error::LiveError;
use crate::run::{self, Plan, Ran};

/// How long one expected thing may take to come.
const EXPECT: Duration = Duration::from_mins(1);
/// How long the keeper may take to come up.
const START: Duration = Duration::from_secs(30);

/// A CLI that runs and is spoken to. Dropped without [`close`](Self::close) it is hung up and waited for, too, because its
/// desk is cleared away next.
pub struct Session<'desk> {
    /// What is typed and what is drawn, with escape sequences taken out.
    pub screen: StreamSession<UnixStream>,
    socket: UnixStream,
    run: Option<JoinHandle<Result<Ran, LiveError>>>,
    /// The desk it runs at, which must not go before it.
    desk: PhantomData<&'desk Desk>,
}

impl Session<'_> {
    pub(crate) fn start(plan: Plan, path: &Path) -> Result<Self, LiveError> {
        let listener = UnixListener::bind(path).map_err(LiveError::io("listen for the keeper"))?;
        listener.set_nonblocking(true).map_err(LiveError::io("listen for the keeper"))?;
        let run = std::thread::spawn(move || run::run(&plan));
        let until = Instant::now() + START;
        let socket = loop {
            match listener.accept() {
                Ok((socket, _)) => break socket,
                Err(_) if !run.is_finished() && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(source) => return Err(LiveError::Io { what: "speak to the keeper", source }),
            }
        };
        let copy = || socket.try_clone().map_err(LiveError::io("speak to the keeper"));
        socket.set_nonblocking(false).map_err(LiveError::io("speak to the keeper"))?;
        let options =
            Options::new().timeout_ms(u64::try_from(EXPECT.as_millis()).ok()).strip_ansi_escape_codes(true);
        Ok(Self {
            screen: StreamSession::new(copy()?, copy()?, options),
            socket,
            run: Some(run),
            desk: PhantomData,
        })
    }

    /// Hangs up, waits for its end and tells what came of it.
    ///
    /// # Errors
    /// Where the keeper was lost.
    pub fn close(self) -> Result<Ran, LiveError> {
        self.hang_up();
        self.join()
    }

    /// Waits for its end, which it was asked for, and tells what came of it.
    ///
    /// # Errors
    /// Where the keeper was lost.
    pub fn join(mut self) -> Result<Ran, LiveError> {
        let ended = self.run.take().map(JoinHandle::join);
        ended
            .and_then(Result::ok)
            .unwrap_or_else(|| Err(LiveError::NoReport("its thread panicked".to_owned())))
    }

    fn hang_up(&self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if let Some(run) = self.run.take() {
            self.hang_up();
            let _ = run.join();
        }
    }
}
