//! The torture set: every way to treat a hook badly that a harness or a machine has, tried at one command, and judged.

mod cases;
mod judge;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::harness::Harness;
use crate::launch::{LaunchError, Shared, Stage, Way};
use crate::recording::{self, Recording};
use crate::report::{Firing, Survivor, as_milliseconds};
use crate::simulator::{FireError, Options, Simulator, Version};
use cases::{CASES, Case, On, Ordeal};

/// How long a hook may take in a case, unless told otherwise.
const BOUND: Duration = Duration::from_secs(10);
/// How long what a killed hook leaves behind may take to be gone: a supervisor gives it time to end by itself.
const LINGER: Duration = Duration::from_secs(2);

/// How far clocks are ahead that have jumped: more than a day.
const AHEAD: Duration = Duration::from_hours(26);

/// A torture.
#[derive(Debug, Clone, Default)]
pub struct Torture {
    /// What is tortured; `{harness}` and `{event}` in it are replaced.
    pub command: String,
    /// The harnesses; none means all that have command hooks.
    pub harnesses: Vec<Harness>,
    /// The project. It is carried over to the scratch folder of each case that spoils its disk. Without one an empty one.
    pub project: Option<PathBuf>,
    /// The home; likewise.
    pub home: Option<PathBuf>,
    /// How long a hook may take (10 s).
    pub bound: Option<Duration>,
    /// Identity files of declared survivors.
    pub survivors: Vec<String>,
    /// How long the end of a session waits for them (as long as a hook may take).
    pub patience: Option<Duration>,
    /// The program that plays the harness's process, as [`Simulator::host_program`].
    pub host_program: Option<PathBuf>,
}

/// How a hook took one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome")]
pub enum Outcome {
    /// As expected.
    #[serde(rename = "ok")]
    Ok,
    /// Not as expected.
    #[serde(rename = "wrong")]
    Wrong {
        /// What was wrong, each with its event.
        wrong: Vec<String>,
    },
    /// It could not be tried. That is never a pass.
    #[serde(rename = "not run")]
    NotRun {
        /// Why not.
        why: String,
    },
}

/// One case at one harness.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The case.
    pub case: &'static str,
    /// The harness.
    pub harness: Harness,
    /// Its version.
    pub version: &'static str,
    /// What was expected.
    pub expectation: &'static str,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// How it was tried, where there is a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What outlived the hook.
    pub survivors: Vec<Survivor>,
    /// How long it took.
    #[serde(rename = "ms", serialize_with = "as_milliseconds")]
    pub elapsed: Duration,
}

/// Firings of one case, or why there are none; and how it was tried.
struct Tried {
    fired: Result<Vec<Firing>, String>,
    note: Option<String>,
    /// What is wrong beside what each firing tells.
    wrong: Vec<String>,
}

impl From<Vec<Firing>> for Tried {
    fn from(firings: Vec<Firing>) -> Self {
        Self { fired: Ok(firings), note: None, wrong: Vec::new() }
    }
}

impl Tried {
    fn not_run(why: impl Into<String>) -> Self {
        Self { fired: Err(why.into()), note: None, wrong: Vec::new() }
    }
}

impl Torture {
    /// Tries every case at every harness; harnesses run beside each other, as many as there are processors. In the order
    /// of harnesses and cases.
    ///
    /// # Errors
    /// [`FireError`] where hooks cannot be started at all.
    pub fn run(&self) -> Result<Vec<Verdict>, FireError> {
        let shared = Arc::new(Shared::new(self.host_program.as_deref())?);
        let harnesses: Vec<Harness> = Harness::ALL
            .into_iter()
            .filter(|harness| self.harnesses.is_empty() || self.harnesses.contains(harness))
            .collect();
        let lanes = std::thread::available_parallelism().map_or(1, usize::from);
        let next = Mutex::new(harnesses.iter().copied().enumerate());
        let results = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..lanes.min(harnesses.len()) {
                scope.spawn(|| {
                    loop {
                        let one = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some((at, harness)) = one else { return };
                        let verdicts = self.one(harness, &shared);
                        results.lock().unwrap_or_else(PoisonError::into_inner).push((at, verdicts));
                    }
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(at, _)| *at);
        let lists: Result<Vec<Vec<Verdict>>, FireError> =
            results.into_iter().map(|(_, verdicts)| verdicts).collect();
        Ok(lists?.into_iter().flatten().collect())
    }

    fn one(&self, harness: Harness, shared: &Arc<Shared>) -> Result<Vec<Verdict>, FireError> {
        let (Some(account), Some(version)) = (harness.account(), recording::newest(harness)) else {
            // There is no command to torture: nothing to say of it, unless it was asked for by name.
            let asked = self.harnesses.contains(&harness);
            let why = || "it has no command hooks".to_owned();
            return Ok(recording::newest(harness)
                .filter(|_| asked)
                .map(|version| {
                    let not = |case: &Case| verdict(case, harness, version, Outcome::NotRun { why: why() });
                    CASES.iter().map(not).collect()
                })
                .unwrap_or_default());
        };
        let scratch = tempfile::Builder::new()
            .prefix("torture-")
            .tempdir_in(shared.scratch())
            .map_err(LaunchError::Scratch)?;
        let mut subject = Subject {
            torture: self,
            harness,
            version,
            shared: Arc::clone(shared),
            place: Place::of(self, scratch.path(), "own").map_err(LaunchError::Host)?,
            scratch: scratch.path().to_owned(),
            simulator: None,
            loudest: None,
        };
        let mut verdicts = Vec::new();
        for case in CASES {
            let started = Instant::now();
            let tried = subject.torture(case)?;
            let mut verdict = verdict(case, harness, version, Outcome::Ok);
            verdict.note = tried.note;
            verdict.outcome = match tried.fired {
                Err(why) => Outcome::NotRun { why },
                Ok(firings) if firings.is_empty() => Outcome::NotRun {
                    why: "there is no recording of such an event at this version".to_owned(),
                },
                Ok(firings) => {
                    let mut wrong: Vec<String> = firings
                        .iter()
                        .flat_map(|firing| judge::wrong(case, firing, account.gates_a_tool(&firing.event)))
                        .chain(tried.wrong)
                        .collect();
                    let mut seen = std::collections::HashSet::new();
                    wrong.retain(|why| seen.insert(why.clone()));
                    verdict.survivors = firings.into_iter().flat_map(|firing| firing.survivors).collect();
                    if wrong.is_empty() { Outcome::Ok } else { Outcome::Wrong { wrong } }
                }
            };
            verdict.elapsed = started.elapsed();
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }
}

fn verdict(case: &Case, harness: Harness, version: &'static str, outcome: Outcome) -> Verdict {
    Verdict {
        case: case.name,
        harness,
        version,
        expectation: case.expectation,
        outcome,
        note: None,
        survivors: Vec::new(),
        elapsed: Duration::ZERO,
    }
}

/// A project and a home.
#[derive(Debug, Clone)]
struct Place {
    /// The folder that both are in, where they are made up.
    top: PathBuf,
    project: PathBuf,
    home: PathBuf,
}

impl Place {
    /// What was named, and empty folders for what was not.
    fn of(torture: &Torture, scratch: &Path, name: &str) -> std::io::Result<Self> {
        let empty = Self::empty(scratch, name)?;
        Ok(Self {
            project: torture.project.clone().unwrap_or(empty.project),
            home: torture.home.clone().unwrap_or(empty.home),
            top: empty.top,
        })
    }

    fn empty(scratch: &Path, name: &str) -> std::io::Result<Self> {
        let top = scratch.join(name);
        let (project, home) = (top.join("project"), top.join("home"));
        std::fs::create_dir_all(&project)?;
        std::fs::create_dir_all(&home)?;
        Ok(Self { top, project, home })
    }

    /// Copies of what was named, which may be spoilt.
    fn copy(torture: &Torture, scratch: &Path, name: &str) -> std::io::Result<Self> {
        let place = Self::empty(scratch, name)?;
        for (from, to) in [(&torture.project, &place.project), (&torture.home, &place.home)] {
            if let Some(from) = from {
                crate::launch::copy_folder(from, to)?;
            }
        }
        Ok(place)
    }
}

/// One harness under torture.
struct Subject<'a> {
    torture: &'a Torture,
    harness: Harness,
    version: &'static str,
    shared: Arc<Shared>,
    place: Place,
    scratch: PathBuf,
    simulator: Option<Simulator>,
    /// The event at which the hook prints most, with how much.
    loudest: Option<(u64, &'static Recording)>,
}

impl Subject<'_> {
    fn torture(&mut self, case: &Case) -> Result<Tried, FireError> {
        let bound = Options { timeout: Some(self.torture.bound.unwrap_or(BOUND)), ..Options::default() };
        Ok(match case.ordeal {
            Ordeal::None => {
                let firings = self.fire(case.on, &bound)?;
                self.loudest = firings
                    .iter()
                    .zip(self.recordings(case.on))
                    .map(|(firing, recording)| {
                        (firing.commands.iter().map(|run| run.stdout_bytes).sum(), recording)
                    })
                    .filter(|(bytes, _)| *bytes > 0)
                    .max_by_key(|(bytes, _)| *bytes);
                firings.into()
            }
            Ordeal::Feed(feed) => self.fire(case.on, &Options { feed, ..bound })?.into(),
            Ordeal::Stdin(payloads) => self.with_stdin(case.on, payloads, &bound)?.into(),
            Ordeal::Reader(reader) => self.at_the_loudest(&Options { reader, ..bound }, |_| true)?,
            Ordeal::Signal(signal) => {
                let options = Options { signal: Some(signal), linger: Some(LINGER), ..bound };
                self.at_the_loudest(&options, |firing| firing.commands.iter().any(|run| run.signalled))?
            }
            Ordeal::AtOnce { count, same } => {
                let all: Vec<&Recording> = recording::all()
                    .iter()
                    .filter(|recording| {
                        recording.harness == self.harness && recording.version == self.version
                    })
                    .collect();
                let chosen = if same { self.recordings(case.on).into_iter().collect() } else { all };
                let many: Vec<&Recording> = chosen.into_iter().cycle().take(count).collect();
                let simulator = self.simulator();
                simulator.set_options(bound);
                simulator.fire_at_once(&many)?.into()
            }
            Ordeal::FullDisk => self.on_a_full_disk(case.on, &bound)?,
            Ordeal::ClocksAhead => self.with_clocks_ahead(case.on, &bound)?,
            Ordeal::ReadOnly => self.on_a_read_only_disk(case.on, &bound)?,
        })
    }

    fn make(&self, place: &Place) -> Simulator {
        let mut simulator = Simulator::new(self.harness, Version::Exact(self.version.to_owned()))
            .shared(Arc::clone(&self.shared))
            .command(&self.torture.command)
            .project(&place.project)
            .home(&place.home)
            .patience(self.torture.patience.or(self.torture.bound).unwrap_or(BOUND));
        for pattern in &self.torture.survivors {
            simulator = simulator.survivors(pattern);
        }
        simulator
    }

    /// The session of the cases that leave it whole.
    fn simulator(&mut self) -> &mut Simulator {
        let fresh = self.simulator.is_none().then(|| self.make(&self.place));
        self.simulator
            .get_or_insert_with(|| fresh.unwrap_or_else(|| unreachable!("made where there is none")))
    }

    fn recordings(&self, on: &[On]) -> Vec<&'static Recording> {
        on.iter().filter_map(|on| recording_of(self.harness, self.version, *on)).collect()
    }

    fn fire(&mut self, on: &[On], options: &Options) -> Result<Vec<Firing>, FireError> {
        let recordings = self.recordings(on);
        let simulator = self.simulator();
        simulator.set_options(options.clone());
        recordings.into_iter().map(|recording| simulator.fire_recording(recording)).collect()
    }

    fn with_stdin(
        &mut self,
        on: &[On],
        payloads: fn(&serde_json::Value) -> Vec<Vec<u8>>,
        options: &Options,
    ) -> Result<Vec<Firing>, FireError> {
        let recordings = self.recordings(on);
        let simulator = self.simulator();
        let mut firings = Vec::new();
        for recording in recordings {
            for stdin in payloads(&simulator.payload_of(recording)?) {
                simulator.set_options(Options { stdin: Some(stdin), ..options.clone() });
                firings.push(simulator.fire_recording(recording)?);
            }
        }
        Ok(firings)
    }

    /// At the event where there is most to print, until it has come about.
    fn at_the_loudest(
        &self,
        options: &Options,
        has_come_about: impl Fn(&Firing) -> bool,
    ) -> Result<Tried, FireError> {
        let Some((_, recording)) = self.loudest else {
            return Ok(Tried::not_run("the hook prints nothing, whatever the event"));
        };
        // A session of its own: a hook may say a thing only once in each.
        let mut simulator = self.make(&self.place);
        // What it prints there may follow from what came before.
        let before = self.recordings(&On::EVENTS);
        simulator.set_options(Options { timeout: options.timeout, ..Options::default() });
        for earlier in before.into_iter().take_while(|earlier| earlier.name != recording.name) {
            simulator.fire_recording(earlier)?;
        }
        simulator.set_options(options.clone());
        let firing = simulator.fire_recording(recording)?;
        if has_come_about(&firing) || firing.commands.iter().any(|run| run.timed_out) {
            return Ok(vec![firing].into());
        }
        if firing.commands.iter().all(|run| run.stdout_bytes == 0) {
            return Ok(Tried::not_run("the hook prints nothing in another session"));
        }
        Ok(Tried::not_run("the signal did not come about: the hook was never seen to wait for its reader"))
    }

    fn on_a_full_disk(&mut self, on: &[On], options: &Options) -> Result<Tried, FireError> {
        let place = self.copy("full")?;
        let stage = Stage::Disk { folder: place.top.clone(), way: Way::Full };
        let simulator = self.make(&place).stage(stage);
        match self.fire_at(simulator, on, options) {
            Err(FireError::Launch(LaunchError::Stage(why))) => {
                let simulator = self.make(&place).with_file_limit();
                let firings = self.fire_at(simulator, on, options)?;
                let note = format!(
                    "no disk could be mounted ({why}): the hook's files were kept from growing instead"
                );
                Ok(Tried { note: Some(note), ..firings.into() })
            }
            result => Ok(result?.into()),
        }
    }

    fn on_a_read_only_disk(&mut self, on: &[On], options: &Options) -> Result<Tried, FireError> {
        let place = self.copy("read-only")?;
        let stage = Stage::Disk { folder: place.top.clone(), way: Way::ReadOnly };
        let simulator = self.make(&place).stage(stage);
        match self.fire_at(simulator, on, options) {
            Err(FireError::Launch(LaunchError::Stage(why))) => {
                Ok(Tried::not_run(format!("no disk could be mounted: {why}")))
            }
            result => Ok(result?.into()),
        }
    }

    /// At the same events, each time in a place of its own: first as they are, then with clocks that are ahead.
    fn with_clocks_ahead(&mut self, on: &[On], options: &Options) -> Result<Tried, FireError> {
        let before = self.fire_at(self.make(&self.copy("clocks")?), on, options)?;
        let simulator = self.make(&self.copy("clocks-ahead")?).stage(Stage::ClocksAhead(AHEAD));
        match self.fire_at(simulator, on, options) {
            Err(FireError::Launch(LaunchError::Stage(why))) => Ok(Tried::not_run(format!(
                "no clock could be set for the hook alone: {why}; the time of day is one for the whole machine"
            ))),
            result => {
                let after = result?;
                let note = format!(
                    "the clocks that count from the machine's start were {} hours ahead; the time of day is one \
                     for the whole machine and was left alone",
                    AHEAD.as_secs() / 3600
                );
                let wrong = judge::different(&before, &after);
                Ok(Tried { note: Some(note), wrong, ..after.into() })
            }
        }
    }

    fn copy(&self, name: &str) -> Result<Place, FireError> {
        Place::copy(self.torture, &self.scratch, name).map_err(|error| LaunchError::Host(error).into())
    }

    fn fire_at(
        &self,
        mut simulator: Simulator,
        on: &[On],
        options: &Options,
    ) -> Result<Vec<Firing>, FireError> {
        simulator.set_options(options.clone());
        self.recordings(on).into_iter().map(|recording| simulator.fire_recording(recording)).collect()
    }
}

/// The recording that stands for such an event.
fn recording_of(harness: Harness, version: &str, on: On) -> Option<&'static Recording> {
    let (events, first): (&[&str], &[&str]) = match on {
        On::Open => (&["sessionstart"], &["startup", "new"]),
        On::Prompt => (&["userpromptsubmit", "beforesubmitprompt"], &[""]),
        On::Tool => (&["pretooluse"], &["Bash", "Shell", "run_terminal_command"]),
        On::Stop => (&["stop"], &["first", "completed", "end_turn"]),
        On::Loudest => return None,
    };
    let of_event = |recording: &&Recording| {
        recording.harness == harness
            && recording.version == version
            && !recording.is_foreign()
            && events.contains(&recording.event.to_ascii_lowercase().as_str())
    };
    let is_first = |recording: &&Recording| {
        let parts: Vec<&str> = recording.name.split('-').collect();
        first.iter().any(|word| word.is_empty() || parts.contains(word))
    };
    let all = || recording::all().iter().filter(of_event);
    all().find(is_first).or_else(|| all().next())
}
