//! Waiting for declared survivors at the end of a session, and who is told of it: nobody, unless the program has said so.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::processes::Process;
use super::session::ends_within;

/// A wait that is shorter is not spoken of.
const UNSPOKEN: Duration = Duration::from_secs(1);

/// Something about a declared survivor that keeps a session from its end.
#[derive(Debug)]
pub(crate) enum Wait<'a> {
    /// It is waited for, at most so long from the session's end on.
    Begun(&'a Process, Duration),
    /// It was still there after that time, and is ended.
    Over(&'a Process, Duration),
}

/// Who is told.
static LISTENER: OnceLock<fn(&Wait<'_>)> = OnceLock::new();

/// Has somebody told of every wait that takes its time, in the whole process.
pub(crate) fn tell_of_waits(listener: fn(&Wait<'_>)) {
    let _ = LISTENER.set(listener);
}

fn tell(wait: &Wait<'_>) {
    if let Some(listener) = LISTENER.get() {
        listener(wait);
    }
}

/// Waits until there is no declared survivor any more, at most so long. Parents come before their children.
pub(super) fn await_declared(patience: Duration, declared: impl Fn() -> Vec<Process>) {
    let until = Instant::now() + patience;
    let mut unspoken = UNSPOKEN.min(patience);
    // One may start another while it is waited for.
    while let [first, rest @ ..] = declared().as_slice() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            tell(&Wait::Over(first, patience));
            let of_others =
                |process: &&Process| !rest.iter().chain([first]).any(|one| one.pid == process.parent);
            rest.iter().filter(of_others).for_each(|process| tell(&Wait::Over(process, patience)));
            return;
        }
        if unspoken.is_zero() {
            ends_within(first, left);
        } else if !ends_within(first, unspoken.min(left)) {
            unspoken = Duration::ZERO;
            if left > UNSPOKEN {
                tell(&Wait::Begun(first, patience));
            }
        }
    }
}
