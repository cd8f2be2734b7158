//! Many hooks at once on one wake: it is told exactly once; with hooks that are killed it is never lost, and told twice
//! only where the kill fell between telling and acknowledging. More rounds with `DOGWATCH_TEST_ROUNDS`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{Home, Session};
use crate::support::{PROGRAM, SLACK, is_alive, wait_until};

const TEXT: &str = "network check chaos asks for action";

/// A session in charge, and hooks of it that are started all at once.
struct Crowd {
    home: Home,
    session: Session,
    round: usize,
}

impl Crowd {
    fn new() -> Crowd {
        let home = Home::new("");
        let mut session = Session::new(&home, "s");
        session.open("startup");
        let payload = session.payload("PostToolUse", &json!({ "tool_name": "Bash" }));
        fs::write(home.desk.scratch.path().join("payload"), payload).unwrap();
        Crowd { home, session, round: 0 }
    }

    /// A new wake, as the worker posts it.
    fn post(&mut self) {
        self.round += 1;
        let wake = json!({
            "version": 1, "name": "network-chaos", "text": TEXT, "generation": 1, "at": format!("{}", self.round),
        });
        let folder = self.home.state().join("wakes");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("aside"), wake.to_string()).unwrap();
        fs::rename(folder.join("aside"), folder.join("network-chaos.json")).unwrap();
    }

    /// Starts so many hooks, and returns when each has its process id in `pids`. `order` says how they are waited for.
    fn fire(&mut self, hooks: usize, wait: &str) -> Vec<i32> {
        let scratch = self.home.desk.scratch.path();
        let out = scratch.join("out");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).unwrap();
        let line = format!(
            "i=0; while [ $i -lt {hooks} ]; do i=$((i+1)); {PROGRAM} hook claude after-tool < {payload} > {out}/$i 2> /dev/null \
             & echo $! >> {out}/pids; done; {wait}",
            payload = scratch.join("payload").display(),
            out = out.display()
        );
        assert_eq!(self.session.host.order(&line), 0);
        let pids = fs::read_to_string(out.join("pids")).unwrap();
        pids.lines().map(|pid| pid.parse().unwrap()).collect()
    }

    /// In how many answers it stands.
    fn told(&self) -> usize {
        let out = self.home.desk.scratch.path().join("out");
        let says = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.contains(TEXT));
        fs::read_dir(out).unwrap().flatten().filter(|file| says(&file.path())).count()
    }
}

fn rounds(usual: usize) -> usize {
    #[allow(clippy::disallowed_methods, reason = "what a person asks of the test, not of the program")]
    let asked = std::env::var("DOGWATCH_TEST_ROUNDS");
    asked.map_or(usual, |asked| asked.parse().unwrap())
}

#[test]
fn of_two_hundred_hooks_at_once_exactly_one_tells_it() {
    let mut crowd = Crowd::new();
    for round in 0..rounds(3) {
        crowd.post();
        crowd.fire(200, "wait");
        assert_eq!(crowd.told(), 1, "round {round}");
        assert_eq!(crowd.home.pending(), [""; 0], "round {round}");
    }
    drop(crowd.session);
    crowd.home.assert_nothing_runs();
}

#[test]
fn with_hooks_that_are_killed_it_is_never_lost() {
    let mut crowd = Crowd::new();
    let mut dice = Dice::new();
    let (mut once, mut twice, mut late) = (0, 0, 0);
    for round in 0..rounds(12) {
        crowd.post();
        // Not waited for, so that they can be hit on their way.
        let pids = crowd.fire(20, ":");
        let mut rest = pids.clone();
        while rest.len() > 4 {
            let pid = rest.swap_remove(dice.below(rest.len()));
            let _ =
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
            std::thread::sleep(Duration::from_micros(dice.below(1500) as u64));
        }
        assert!(wait_until(SLACK, || !pids.iter().any(|pid| is_alive(*pid))), "round {round}");
        crowd.session.host.order("wait");
        let told = crowd.told();
        let later = crowd.session.after_tool(&json!({ "tool_name": "Bash" }));
        let again = later.contains(TEXT);
        let all = told + usize::from(again);
        assert!(all >= 1, "round {round} (seed {}): lost", dice.seed);
        // Each kill can undo one acknowledgement at most, and only of one who had told it.
        assert!(all <= 1 + 16, "round {round} (seed {}): {all} times", dice.seed);
        match (told, again) {
            (0, true) => late += 1,
            _ if all == 1 => once += 1,
            _ => twice += 1,
        }
        assert_eq!(crowd.home.pending(), [""; 0], "round {round}");
    }
    println!("told by the crowd once: {once}; after all of it were killed: {late}; more than once: {twice}");
    drop(crowd.session);
    crowd.home.assert_nothing_runs();
}

/// A number that is other in every run, and told.
struct Dice {
    state: u64,
    seed: u64,
}

impl Dice {
    fn new() -> Dice {
        use std::hash::{BuildHasher, Hasher};
        let seed = std::collections::hash_map::RandomState::new().build_hasher().finish() | 1;
        Dice { state: seed, seed }
    }

    fn below(&mut self, most: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % most as u64).unwrap()
    }
}
