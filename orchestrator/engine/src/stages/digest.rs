//! The stages of one text: started together, told in order, ended by one deadline.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::{Notify, OnceCell, oneshot};

use super::banner::seconds;
use super::stage::{AtTurn, Ran, Render, Stage, StageEnd, StageReport, Work};
use crate::process::{
    Bounds, Cap, Captured, Channel, Command, Containment, Deadline, End, Engine, Grace, Leftover, Session,
    StartError, Stopper,
};

/// Why a text is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// This deadline passed.
    Deadline(Duration),
    /// A signal came.
    Interrupted(i32),
    /// The supervisor was killed.
    SupervisorLost,
}

/// What happens while the stages work.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A stage begins to work.
    Started(&'a str),
    /// A stage has ended; its turn to speak may be later.
    Ended(&'a str),
    /// A stage's turn: its text is the next of the whole. Told in order, and for every stage.
    Turn(&'a StageReport),
}

/// How the stages of one text are run.
#[derive(Debug, Clone)]
pub struct Digest {
    /// Runs the commands.
    pub engine: Engine,
    /// The deadline of the whole.
    pub deadline: Deadline,
    /// The grace of every command.
    pub grace: Grace,
    /// How much of the whole text is kept.
    pub cap_bytes: usize,
    /// How much of one command's output is kept; what is more is told in a line of that stage.
    pub stage_cap_bytes: usize,
    /// How many commands run at once; the others wait for their turn to start.
    pub commands_at_once: usize,
}

/// What became of the whole.
#[derive(Debug)]
pub struct DigestReport {
    /// Every stage, in order. All texts together have at most `cap_bytes` bytes.
    pub stages: Vec<StageReport>,
    /// Why the text is not whole, if it is not.
    pub truncation: Option<Truncation>,
    /// Bytes of text that fell to the cap of the whole.
    pub missing_bytes: u64,
    /// From the start of the first stage to the end of the last.
    pub elapsed: Duration,
}

impl DigestReport {
    /// The names of the stages that ended in this way.
    pub fn names(&self, end: &StageEnd) -> Vec<&str> {
        self.stages.iter().filter(|stage| stage.end == *end).map(|stage| stage.name.as_str()).collect()
    }
}

impl Digest {
    /// A digest with a grace of 1 s, a cap of 512 KiB, of which one command may fill a quarter, and at most 16 commands
    /// at once.
    pub fn new(engine: Engine, deadline: Deadline) -> Self {
        Self {
            engine,
            deadline,
            grace: Grace::DEFAULT,
            cap_bytes: 512 * 1024,
            stage_cap_bytes: 128 * 1024,
            commands_at_once: 16,
        }
    }

    /// Runs the stages. Ends by the deadline, plus the grace and a moment where something had to be killed; at the
    /// end nothing of the commands is left. `interrupt` resolves to the signal that asks for an early end; the text
    /// so far is kept then, too.
    pub async fn run(
        &self,
        stages: Vec<Stage>,
        interrupt: impl Future<Output = i32>,
        mut progress: impl FnMut(Progress<'_>),
    ) -> DigestReport {
        let started = Instant::now();
        let ground = Ground {
            digest: self,
            until: started + self.deadline.get(),
            session: OnceCell::new(),
            stoppers: RefCell::default(),
            interrupted: Cell::new(None),
            told: Notify::new(),
        };
        let mut books = Books::new(&stages, self.cap_bytes);
        let mut waiting: VecDeque<(usize, Stage)> = stages.into_iter().enumerate().collect();
        let mut running: FuturesUnordered<Working<'_>> = FuturesUnordered::new();
        let mut commands = 0;
        let mut interrupt = pin!(interrupt);
        let deadline = tokio::time::sleep_until(ground.until.into());
        let mut deadline = pin!(deadline);
        let mut over = false;
        loop {
            // A command that the deadline ended may be heard of before the deadline itself is.
            over |= Instant::now() >= ground.until;
            let mut held_back = VecDeque::new();
            while let Some((index, stage)) = waiting.pop_front() {
                let is_command = matches!(stage.work, Work::Command { .. });
                if over || (is_command && commands >= self.commands_at_once.max(1)) {
                    held_back.push_back((index, stage));
                    continue;
                }
                commands += usize::from(is_command);
                progress(Progress::Started(&stage.name));
                let work = ground.work(stage);
                running.push(Box::pin(async move { (index, is_command, work.await) }));
            }
            waiting = held_back;
            if running.is_empty() {
                break;
            }
            tokio::select! {
                Some((index, is_command, report)) = running.next() => {
                    commands -= usize::from(is_command);
                    progress(Progress::Ended(&report.name));
                    books.enter(index, report, &mut progress);
                }
                signal = &mut interrupt, if ground.interrupted.get().is_none() && !over => {
                    over = true;
                    ground.interrupt(signal);
                }
                () = &mut deadline, if !over => over = true,
            }
        }
        drop(running);
        for (index, stage) in waiting {
            let report = StageReport::new(stage.name, StageEnd::NeverStarted, Duration::ZERO);
            books.enter(index, report, &mut progress);
        }
        let interrupted = ground.interrupted.get();
        if let Some(Some(session)) = ground.session.into_inner() {
            session.close().await;
        }
        books.close(interrupted, self.deadline.get(), started.elapsed())
    }
}

/// A stage at work: its place, whether it is a command, and in the end its report.
type Working<'a> = Pin<Box<dyn Future<Output = (usize, bool, StageReport)> + 'a>>;

/// What the stages of one run share.
struct Ground<'a> {
    digest: &'a Digest,
    until: Instant,
    /// The one supervisor, started when the first command needs it. `None`: it did not start.
    session: OnceCell<Option<Session>>,
    stoppers: RefCell<Vec<Stopper>>,
    interrupted: Cell<Option<i32>>,
    /// Wakes those who wait for an interruption.
    told: Notify,
}

impl Ground<'_> {
    fn interrupt(&self, signal: i32) {
        self.interrupted.set(Some(signal));
        self.told.notify_waiters();
        for stopper in self.stoppers.borrow().iter() {
            stopper.stop(Some(signal));
        }
    }

    async fn work(&self, stage: Stage) -> StageReport {
        let started = Instant::now();
        let mut report = match stage.work {
            Work::Function(function) => self.call(stage.name, stage.bound, function).await,
            Work::AtTurn(function) => {
                let report = StageReport::new(stage.name, StageEnd::Done, Duration::ZERO);
                StageReport { at_turn: Some(AtTurn(function)), ..report }
            }
            Work::Command { command, render } => self.command(stage.name, stage.bound, command, render).await,
        };
        report.elapsed = started.elapsed();
        match &report.end {
            StageEnd::OverBound if report.text.is_empty() => {
                report.text = format!(
                    "[{}: not finished within its bound of {}]\n",
                    report.name,
                    seconds(stage.bound.get())
                );
            }
            // Unless its maker has something to say instead.
            StageEnd::Failed(why) if report.text.is_empty() => {
                report.text = format!("[{}: {why}]\n", report.name);
            }
            StageEnd::Unfinished if !report.text.is_empty() => {
                add_line(&mut report.text, &format!("[{}: cut here, it did not finish]\n", report.name));
            }
            _ => {}
        }
        report
    }

    async fn call(
        &self,
        name: String,
        bound: Deadline,
        function: Box<dyn FnOnce() -> Option<String> + Send>,
    ) -> StageReport {
        let (sender, receiver) = oneshot::channel();
        let thread = std::thread::Builder::new().name(format!("stage {name}")).spawn(move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(function));
            // The receiver may have given up.
            let _ = sender.send(result);
        });
        let end = |end| StageReport::new(name.clone(), end, Duration::ZERO);
        if let Err(error) = thread {
            return end(StageEnd::Failed(format!("no thread for it: {error}")));
        }
        let own = Instant::now() + bound.get();
        tokio::select! {
            biased;
            result = receiver => match result {
                Ok(Ok(text)) => StageReport { text: text.unwrap_or_default(), ..end(StageEnd::Done) },
                Ok(Err(panic)) => end(StageEnd::Failed(format!("internal error: {}", panic_text(&*panic)))),
                Err(_) => end(StageEnd::Failed("internal error: its thread went away".to_owned())),
            },
            () = tokio::time::sleep_until(own.min(self.until).into()) => {
                end(if own <= self.until { StageEnd::OverBound } else { StageEnd::Unfinished })
            }
            () = self.is_interrupted() => end(StageEnd::Unfinished),
        }
    }

    /// Resolves when an interruption has come.
    async fn is_interrupted(&self) {
        let told = self.told.notified();
        if self.interrupted.get().is_none() {
            told.await;
        }
    }

    async fn command(&self, name: String, bound: Deadline, command: Command, render: Render) -> StageReport {
        let end = |end| StageReport::new(name.clone(), end, Duration::ZERO);
        let own = bound.until(self.until);
        let bounds = Bounds {
            deadline: own,
            grace: self.digest.grace,
            cap: Cap::Bytes(self.digest.stage_cap_bytes as u64),
            containment: Containment::Subtree,
            leftover: Leftover::Kill,
        };
        let session = self.session.get_or_init(async || self.digest.engine.session().ok()).await;
        let started = match session {
            Some(session) => session.start(&command, &bounds).await,
            None => self.digest.engine.start(&command, &bounds).await,
        };
        let mut run = match started {
            Ok(run) => run,
            // The end of the whole, or its own, came first.
            Err(StartError::Deadline { .. }) => {
                return end(if own == bound { StageEnd::OverBound } else { StageEnd::Unfinished });
            }
            Err(error) => {
                let text = render(Ran::NotStarted(&error)).unwrap_or_default();
                return StageReport { text, ..end(StageEnd::Failed(error.to_string())) };
            }
        };
        let stopper = run.stopper();
        if let Some(signal) = self.interrupted.get() {
            stopper.stop(Some(signal));
        }
        self.stoppers.borrow_mut().push(stopper);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while let Some(chunk) = run.next().await {
            match chunk.channel {
                Channel::Stdout => stdout.extend_from_slice(chunk.bytes),
                Channel::Stderr => stderr.extend_from_slice(chunk.bytes),
            }
        }
        let outcome = run.finish().await;
        let stage_end = match outcome.end {
            End::Exited | End::Signaled => StageEnd::Done,
            End::Deadline if own == bound => StageEnd::OverBound,
            End::Deadline | End::Interrupted => StageEnd::Unfinished,
            End::SupervisorLost => StageEnd::Failed("its supervisor was killed".to_owned()),
        };
        let kept_bytes = stdout.len();
        let dropped_bytes = outcome.stdout_bytes.saturating_sub(stdout.len() as u64);
        let captured = Captured { stdout, stderr, outcome };
        let ran =
            if stage_end == StageEnd::OverBound { Ran::OverBound(&captured) } else { Ran::Ended(&captured) };
        let mut text = render(ran).unwrap_or_default();
        // What a stage that is replaced by a line had printed is not missed.
        if dropped_bytes > 0 && matches!(stage_end, StageEnd::Done | StageEnd::Unfinished) {
            add_line(
                &mut text,
                &format!("[{name}: cut after {kept_bytes} bytes, {dropped_bytes} more were dropped]\n"),
            );
        }
        if let (StageEnd::Failed(why), false) = (&stage_end, text.is_empty()) {
            add_line(&mut text, &format!("[{name}: {why}]\n"));
        }
        StageReport { text, outcome: Some(captured.outcome), ..end(stage_end) }
    }
}

/// Adds a line to a text that may end in the middle of one.
fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without words")
}

/// Puts reports that come in any order into the one of the stages, under the cap of the whole.
struct Books {
    reports: Vec<Option<StageReport>>,
    /// The next to speak.
    turn: usize,
    left_bytes: usize,
    missing_bytes: u64,
}

impl Books {
    fn new(stages: &[Stage], cap_bytes: usize) -> Self {
        Self {
            reports: stages.iter().map(|_| None).collect(),
            turn: 0,
            left_bytes: cap_bytes,
            missing_bytes: 0,
        }
    }

    fn enter(&mut self, index: usize, report: StageReport, progress: &mut impl FnMut(Progress<'_>)) {
        self.reports[index] = Some(report);
        while let Some(Some(report)) = self.reports.get_mut(self.turn) {
            if let Some(at_turn) = report.at_turn.take() {
                report.text = at_turn.text().unwrap_or_default();
            }
            let fits = report.text.floor_char_boundary(self.left_bytes);
            // Once something was cut nothing follows: the rest would stand in the wrong place.
            self.left_bytes = if fits < report.text.len() { 0 } else { self.left_bytes - fits };
            report.missing_bytes = (report.text.len() - fits) as u64;
            self.missing_bytes += report.missing_bytes;
            report.text.truncate(fits);
            progress(Progress::Turn(report));
            self.turn += 1;
        }
    }

    fn close(self, interrupted: Option<i32>, deadline: Duration, elapsed: Duration) -> DigestReport {
        let stages: Vec<StageReport> = self.reports.into_iter().flatten().collect();
        let whole =
            stages.iter().all(|stage| !matches!(stage.end, StageEnd::Unfinished | StageEnd::NeverStarted));
        let truncation = match interrupted {
            _ if whole => None,
            Some(signal) => Some(Truncation::Interrupted(signal)),
            None => Some(Truncation::Deadline(deadline)),
        };
        DigestReport { stages, truncation, missing_bytes: self.missing_bytes, elapsed }
    }
}
