//! One harness under torture: each ordeal, from a case to what was fired.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::cases::{Case, On, Ordeal};
use super::place::Place;
use super::{Torture, judge};
use crate::harness::Harness;
use crate::launch::{LaunchError, Shared, Stage, Way};
use crate::recording::{self, Recording};
use crate::report::Firing;
use crate::simulator::{FireError, Options, Simulator, Version};

/// How long a hook may take in a case, unless told otherwise.
const BOUND: Duration = Duration::from_secs(10);
/// How long what a killed hook leaves behind may take to be gone: a supervisor gives it time to end by itself.
const LINGER: Duration = Duration::from_secs(2);
/// How far clocks are ahead that have jumped: more than a day.
const AHEAD: Duration = Duration::from_hours(26);

/// Firings of one case, or why there are none; and how it was tried.
pub(super) struct Tried {
    pub(super) fired: Result<Vec<Firing>, String>,
    pub(super) note: Option<String>,
    /// What is wrong beside what each firing tells.
    pub(super) wrong: Vec<String>,
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

/// One harness under torture.
pub(super) struct Subject<'a> {
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

impl<'a> Subject<'a> {
    /// In places that are made below `scratch`, which outlives it.
    pub(super) fn new(
        torture: &'a Torture,
        harness: Harness,
        version: &'static str,
        shared: Arc<Shared>,
        scratch: &Path,
    ) -> std::io::Result<Self> {
        Ok(Self {
            torture,
            harness,
            version,
            shared,
            place: Place::of(torture, scratch, "own")?,
            scratch: scratch.to_owned(),
            simulator: None,
            loudest: None,
        })
    }
}

impl Subject<'_> {
    /// Has it undergo a case.
    pub(super) fn torture(&mut self, case: &Case) -> Result<Tried, FireError> {
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
