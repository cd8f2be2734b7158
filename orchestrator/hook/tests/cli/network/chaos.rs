//! Many hooks at once on one wake: it is told exactly once; with hooks that are killed it is never lost, and told twice
//! only where the kill fell between telling and acknowledging. More rounds with `DOGWATCH_TEST_ROUNDS`.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Home, Session};
use crate::support::PROGRAM;

const TEXT: &str = "network check chaos asks for action";

/// A session in charge, and hooks of it that are started all at once.
struct Crowd {
    home: Home,
    session: Session,
    round: usize,
    /// The gate, while it is open.
    open: Option<fs::File>,
}

impl Crowd {
    fn new() -> Crowd {
        let home = Home::new("");
        let mut session = Session::new(&home, "s");
        session.open("startup");
        let payload = session.payload("PostToolUse", &json!({ "tool_name": "Bash" }));
        fs::write(home.desk.scratch.path().join("payload"), payload).unwrap();
        Crowd { home, session, round: 0, open: None }
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

    /// Starts so many hooks that all wait at a gate, opens it, and returns their process ids. They are the session's own
    /// children, and stay zombies until [`Crowd::codes`].
    fn fire(&mut self, hooks: usize) -> Vec<i32> {
        let scratch = self.home.desk.scratch.path();
        let (out, gate) = (scratch.join("out"), scratch.join("gate"));
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).unwrap();
        if !gate.exists() {
            nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
        let line = format!(
            "i=0; while [ $i -lt {hooks} ]; do i=$((i+1)); \
             {{ : < {gate}; exec {PROGRAM} hook claude after-tool < {payload} > {out}/$i 2> /dev/null; }} & \
             echo \"$i $!\" >> {out}/pids; done",
            gate = gate.display(),
            payload = scratch.join("payload").display(),
            out = out.display()
        );
        assert_eq!(self.session.host.order(&line), 0);
        let pids = fs::read_to_string(out.join("pids")).unwrap();
        let pids: Vec<i32> =
            pids.lines().map(|line| line.split_once(' ').unwrap().1.parse().unwrap()).collect();
        // Both ends, so that one that comes late passes, too.
        self.open = Some(fs::OpenOptions::new().read(true).write(true).open(&gate).unwrap());
        pids
    }

    /// Waits for all of them; their exit codes, in the order of their starts.
    fn codes(&mut self) -> Vec<i32> {
        let out = self.home.desk.scratch.path().join("out").display().to_string();
        let line = format!("while read -r i pid; do wait $pid; echo $? >> {out}/codes; done < {out}/pids");
        self.session.host.order(&line);
        self.open = None;
        let codes = fs::read_to_string(format!("{out}/codes")).unwrap();
        codes.lines().map(|code| code.parse().unwrap()).collect()
    }

    /// Whether it stands in the answer of that one.
    fn tells(&self, hook: usize) -> bool {
        let answer = self.home.desk.scratch.path().join(format!("out/{}", hook + 1));
        fs::read_to_string(answer).is_ok_and(|text| text.contains(TEXT))
    }
}

pub(super) fn rounds(usual: usize) -> usize {
    #[allow(clippy::disallowed_methods, reason = "what a person asks of the test, not of the program")]
    let asked = std::env::var("DOGWATCH_TEST_ROUNDS");
    asked.map_or(usual, |asked| asked.parse().unwrap())
}

#[test]
fn of_two_hundred_hooks_at_once_exactly_one_tells_it() {
    let mut crowd = Crowd::new();
    for round in 0..rounds(3) {
        crowd.post();
        crowd.fire(200);
        assert!(crowd.codes().iter().all(|code| *code == 0), "round {round}");
        let told = (0..200).filter(|hook| crowd.tells(*hook)).count();
        assert_eq!(told, 1, "round {round}");
        assert_eq!(crowd.home.pending(), [""; 0], "round {round}");
    }
    drop(crowd.session);
    crowd.home.assert_nothing_runs();
}

/// What became of all rounds.
#[derive(Debug, Default)]
struct Count {
    rounds: usize,
    /// Told at least once.
    delivered: usize,
    lost: usize,
    /// Told once more than once.
    duplicate: usize,
    /// Hooks that were killed and had told nothing.
    killed_before: usize,
    /// Hooks that were killed when they had told it and not yet acknowledged: it was told again.
    killed_between: usize,
    /// Hooks that were killed when they had told and acknowledged it.
    killed_after: usize,
}

#[test]
fn with_hooks_that_are_killed_it_is_never_lost() {
    const HOOKS: usize = 6;
    let mut crowd = Crowd::new();
    let mut dice = Dice::new();
    let mut count = Count::default();
    // How long they take when nobody kills them: kills fall into that time.
    crowd.post();
    let begun = Instant::now();
    crowd.fire(HOOKS);
    crowd.codes();
    let usual = usize::try_from(begun.elapsed().as_micros()).unwrap();
    for round in 0..rounds(40) {
        crowd.post();
        let mut kills: Vec<(usize, i32)> =
            crowd.fire(HOOKS).into_iter().map(|pid| (dice.below(usual), pid)).collect();
        let begun = Instant::now();
        kills.sort_unstable();
        // In half of the rounds all of them, else all but one.
        for (at, pid) in kills.iter().skip(round % 2) {
            let at = Duration::from_micros(*at as u64);
            std::thread::sleep(at.saturating_sub(begun.elapsed()));
            let _ =
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(*pid), nix::sys::signal::Signal::SIGKILL);
        }
        let (mut killed, mut lived) = (0, 0);
        for (hook, code) in crowd.codes().into_iter().enumerate() {
            match (code, crowd.tells(hook)) {
                (137, true) => killed += 1,
                (137, false) => count.killed_before += 1,
                (0, true) => lived += 1,
                (0, false) => {}
                other => panic!("round {round} (seed {}): {other:?}", dice.seed),
            }
        }
        lived += usize::from(crowd.session.after_tool(&json!({ "tool_name": "Bash" })).contains(TEXT));
        assert_eq!(crowd.home.pending(), [""; 0], "round {round}");
        count.rounds += 1;
        count.delivered += usize::from(killed + lived > 0);
        count.lost += usize::from(killed + lived == 0);
        // Whoever lives has acknowledged what it told, and nobody tells it after that.
        assert!(lived <= 1, "round {round} (seed {}): {lived} that live tell it", dice.seed);
        count.duplicate += (killed + lived).saturating_sub(1);
        // The last to tell it has acknowledged it, even if it was killed after that.
        count.killed_between += if lived == 1 { killed } else { killed.saturating_sub(1) };
        count.killed_after += usize::from(lived == 0 && killed > 0);
        assert_eq!(count.lost, 0, "round {round} (seed {})", dice.seed);
    }
    println!("{count:?}");
    drop(crowd.session);
    crowd.home.assert_nothing_runs();
}

/// A number that is other in every run, and told.
pub(super) struct Dice {
    state: u64,
    pub(super) seed: u64,
}

impl Dice {
    pub(super) fn new() -> Dice {
        use std::hash::{BuildHasher, Hasher};
        let seed = std::collections::hash_map::RandomState::new().build_hasher().finish() | 1;
        Dice { state: seed, seed }
    }

    pub(super) fn below(&mut self, most: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % most as u64).unwrap()
    }
}
