//! A model on loopback: it speaks the three wire formats that the CLIs speak, answers as the prompt tells it to, and keeps
//! every request. What reached a model's context is read there.

mod anthropic;
mod chat;
mod http;
mod request;
mod responses;
mod script;
mod sse;

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

pub use request::{Request, Role, Text};

/// What the model says where the prompt does not tell it what to say.
pub const DONE: &str = "MODEL-DONE";
/// What the model says where it is asked to sum a session up.
pub const SUMMARY: &str = "MODEL-SUMMARY";

/// The requests that have come so far, and a bell for those who wait.
#[derive(Debug, Default)]
struct Log {
    requests: Mutex<Vec<Request>>,
    came: Condvar,
    /// What the test has let go, and another bell.
    let_go: watch::Sender<HashSet<String>>,
}

impl Log {
    fn add(&self, request: Request) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        self.came.notify_all();
    }

    /// Waits until the test lets this go.
    async fn hold(&self, name: &str) {
        let mut let_go = self.let_go.subscribe();
        let _ = tokio::time::timeout(script::LONGEST, let_go.wait_for(|names| names.contains(name))).await;
    }
}

/// A model server on a free port of loopback. It keeps nothing but the requests, and ends when it is dropped.
///
/// What it does is written in the prompt of the person it answers, in the last message that has such directives:
///
/// | directive | what happens |
/// |---|---|
/// | `@@tool NAME {"json":"arguments"}@@` | a tool is called; several: one a turn, in order |
/// | `@@ptool NAME {…}@@` | the same, in one turn with the directive before it |
/// | `@@say TEXT@@` | the text of the last turn, [`DONE`] without it |
/// | `@@sleep SECONDS@@` | so long before every answer |
/// | `@@hold NAME@@` | the last turn waits until the test [lets it go](Self::let_go), 2 minutes at most |
/// | `@@pause SECONDS@@` | so long in the middle of the last turn's text |
/// | `@@status 529@@` | the first turn is an error with this HTTP status |
/// | `@@usage TOKENS@@` | so many input tokens are claimed, from which CLIs decide on a compaction |
///
/// A request that offers no tools (a title, a summary) gets a text.
///
/// ```
/// let model = live_e2e::model::ModelServer::start()?;
/// assert!(model.url().starts_with("http://127.0.0.1:"));
/// assert!(model.requests().is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    log: Arc<Log>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts one, in this thread's network namespace.
    ///
    /// # Errors
    /// Where loopback has no free port, or a thread cannot be had.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let log = Arc::new(Log::default());
        let router = http::router(Arc::clone(&log));
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("model".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let serve = axum::serve(listener, router).into_future();
                // Not gracefully: a CLI that was killed may have left a request open.
                tokio::select! { _ = serve => {}, _ = stopped => {} }
            });
        })?;
        Ok(Self { address, log, stop: Some(stop), thread: Some(thread) })
    }

    /// Its address as a URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Request> {
        self.log.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those among them that ask a model for an answer.
    pub fn turns(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_turn).collect()
    }

    /// Answers those who wait with `@@hold NAME@@`, and those who will.
    pub fn let_go(&self, name: &str) {
        self.log.let_go.send_modify(|names| {
            names.insert(name.to_owned());
        });
    }

    /// Waits until what has come fits, at most so long; what has come by then, whether it fits or not.
    pub fn wait_for(&self, bound: Duration, fits: impl Fn(&[Request]) -> bool) -> Vec<Request> {
        let until = Instant::now() + bound;
        let mut requests = self.log.requests.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if fits(&requests) || left.is_zero() {
                return requests.clone();
            }
            (requests, _) =
                self.log.came.wait_timeout(requests, left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
