//! Every recording of every harness, fired at one command or at what a project has registered.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::harness::Harness;
use crate::launch::Shared;
use crate::recording::{self, Recording};
use crate::report::Firing;
use crate::simulator::{FireError, Simulator, Version};

/// While one session waits for its hook, another has the processor.
const LANES_OF_A_PROCESSOR: usize = 2;
/// A harness's recordings are shared out to no smaller sessions: each costs the start of a process.
const FEWEST_OF_A_SESSION: usize = 16;

/// What a matrix is fired at.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// The project.
    pub project: Option<PathBuf>,
    /// The home.
    pub home: Option<PathBuf>,
    /// A command, in the place of what is registered.
    pub command: Option<String>,
    /// The harnesses; none means all.
    pub harnesses: Vec<Harness>,
    /// A timeout for every hook, in the place of the harness's own.
    pub timeout: Option<Duration>,
    /// Identity files of declared survivors.
    pub survivors: Vec<String>,
    /// How long each session's end waits for them (2 minutes).
    pub patience: Option<Duration>,
}

/// Recordings of one harness and version that one session fires, one after the other.
type Portion = Vec<(usize, &'static Recording)>;

/// What came of the recording at this place.
type Fired = (usize, Result<Firing, FireError>);

impl Matrix {
    /// Fires every recording. Within a session one after the other, as a harness does; sessions run beside each other,
    /// twice as many as there are processors. The result is in the order of the recordings.
    ///
    /// # Errors
    /// [`FireError`] of the first that could not be fired at all.
    pub fn run(&self) -> Result<Vec<Firing>, FireError> {
        let recordings: Vec<&'static Recording> = recording::all()
            .iter()
            .filter(|recording| self.harnesses.is_empty() || self.harnesses.contains(&recording.harness))
            .collect();
        let shared = Arc::new(Shared::new(None)?);
        let lanes = LANES_OF_A_PROCESSOR * std::thread::available_parallelism().map_or(1, usize::from);
        let portions = Mutex::new(portions(&recordings, lanes));
        let results: Mutex<Vec<Fired>> = Mutex::new(Vec::with_capacity(recordings.len()));
        std::thread::scope(|scope| {
            for _ in 0..lanes {
                scope.spawn(|| {
                    loop {
                        let next = portions.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                        let Some(portion) = next else { return };
                        let (simulator, fired) = self.fire(&shared, portion);
                        // Its end is waited for by somebody else.
                        scope.spawn(move || drop(simulator));
                        results.lock().unwrap_or_else(PoisonError::into_inner).extend(fired);
                    }
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn fire(&self, shared: &Arc<Shared>, portion: Portion) -> (Option<Simulator>, Vec<Fired>) {
        let Some((_, first)) = portion.first() else { return (None, Vec::new()) };
        let mut simulator = Simulator::new(first.harness, Version::Exact(first.version.to_owned()))
            .shared(Arc::clone(shared));
        if let Some(project) = &self.project {
            simulator = simulator.project(project);
        }
        if let Some(home) = &self.home {
            simulator = simulator.home(home);
        }
        if let Some(command) = &self.command {
            simulator = simulator.command(command);
        }
        for pattern in &self.survivors {
            simulator = simulator.survivors(pattern);
        }
        if let Some(patience) = self.patience {
            simulator = simulator.patience(patience);
        }
        let options = crate::simulator::Options { timeout: self.timeout, ..Default::default() };
        simulator = simulator.options(options);
        let fired =
            portion.into_iter().map(|(at, recording)| (at, simulator.fire_recording(recording))).collect();
        (Some(simulator), fired)
    }
}

/// Shares the recordings out to sessions.
fn portions(recordings: &[&'static Recording], lanes: usize) -> VecDeque<Portion> {
    let mut groups: Vec<Portion> = Vec::new();
    for (at, recording) in recordings.iter().enumerate() {
        let group = groups.last_mut().filter(|group| {
            group.last().is_some_and(|(_, last)| {
                (last.harness, last.version) == (recording.harness, recording.version)
            })
        });
        match group {
            Some(group) => group.push((at, recording)),
            None => groups.push(vec![(at, recording)]),
        }
    }
    // What no lane can do alone without making the others wait is shared out.
    let applicable = recordings.iter().filter(|recording| recording.harness.account().is_some()).count();
    let size = applicable.div_ceil(lanes).max(FEWEST_OF_A_SESSION);
    let mut portions: Vec<Portion> = groups
        .into_iter()
        .flat_map(|group| group.chunks(size).map(<[_]>::to_vec).collect::<Vec<_>>())
        .collect();
    // The longest first, so that no lane is left with one at the end.
    portions.sort_by_key(|portion| std::cmp::Reverse(portion.len()));
    portions.into()
}
