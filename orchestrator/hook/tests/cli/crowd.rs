//! Many sessions open at once on one home: exactly one of them gets the helm, and nothing is ever half written.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Desk, Host, SLACK, wait_until};

const SESSIONS: usize = 40;
/// How often all of them open; more with `DOGWATCH_TEST_ROUNDS`.
const ROUNDS: usize = 3;

#[test]
fn of_forty_sessions_at_once_one_has_the_helm_and_the_others_read() {
    let mut crowd = Crowd::new();
    for round in 0..rounds() {
        crowd.open(round);
        // The next ones are other sessions, and nobody has the helm any more.
        for place in 0..SESSIONS {
            crowd.replace(place);
        }
    }
}

#[test]
fn of_forty_sessions_whose_holders_are_killed_one_that_lives_has_the_helm() {
    let mut crowd = Crowd::new();
    let mut dice = Dice(RandomState::new().build_hasher().finish() | 1);
    let seed = dice.0;
    let mut holder = None;
    for round in 0..rounds() {
        let now = crowd.open(round);
        if let Some(before) = holder {
            assert_eq!(now, before, "round {round}: who lives and has the helm keeps it (seed {seed})");
        }
        holder = Some(now);
        // The one in charge in most rounds, and a few of the others.
        let mut killed: Vec<usize> = (0..dice.below(6)).map(|_| dice.below(SESSIONS)).collect();
        if dice.below(3) > 0 || round == 0 {
            killed.push(now);
        }
        for place in killed {
            crowd.replace(place);
            holder = holder.filter(|holder| *holder != place);
        }
    }
}

fn rounds() -> usize {
    #[allow(clippy::disallowed_methods, reason = "what a person asks of the test, not of the program")]
    let asked = std::env::var("DOGWATCH_TEST_ROUNDS");
    asked.map_or(ROUNDS, |asked| asked.parse().unwrap())
}

/// Sessions of Claude Code on one home, each in a process of its own.
struct Crowd {
    desk: Desk,
    hosts: Vec<Host>,
    /// The sessions' ids, which are never used again.
    sessions: Vec<String>,
    made: usize,
}

impl Crowd {
    fn new() -> Crowd {
        let desk = Desk::new();
        desk.git();
        assert!(desk.dogwatch(&["init"]).status.success());
        let hosts = (0..SESSIONS).map(|_| Host::new(&desk, "claude")).collect();
        let sessions = (0..SESSIONS).map(|made| format!("session-{made}")).collect();
        Crowd { desk, hosts, sessions, made: SESSIONS }
    }

    /// Kills a session with its process, and begins another in its place.
    fn replace(&mut self, place: usize) {
        self.hosts[place] = Host::new(&self.desk, "claude");
        self.sessions[place] = format!("session-{}", self.made);
        self.made += 1;
    }

    /// All of them open at once. Which one is in charge; that it is exactly one, and known to all, is looked at here.
    fn open(&mut self, round: usize) -> usize {
        let helm = self.state().join("helm.json");
        let is_over = AtomicBool::new(false);
        let fired = std::thread::scope(|scope| {
            let reader = scope.spawn(|| watch(&helm, &is_over));
            let fired = self.fire(round);
            is_over.store(true, Ordering::Relaxed);
            assert!(reader.join().unwrap() > 0);
            fired
        });
        let texts: Vec<String> = fired.iter().map(|stdout| context(stdout)).collect();
        let in_charge: Vec<usize> =
            (0..SESSIONS).filter(|place| !texts[*place].contains("READ-ONLY")).collect();
        let &[holder] = in_charge.as_slice() else {
            panic!("round {round}: {in_charge:?} in charge: {texts:?}")
        };
        let who = format!(
            "=== READ-ONLY: claude (process {}, session {}, since ",
            self.hosts[holder].pid(),
            self.sessions[holder]
        );
        for (place, text) in texts.iter().enumerate() {
            assert!(place == holder || text.starts_with(&who), "round {round}: not {who}: {text}");
        }
        let row: Value = serde_json::from_slice(&fs::read(&helm).unwrap()).unwrap();
        assert_eq!(row["process"]["pid"], self.hosts[holder].pid(), "round {round}");
        self.assert_only_what_belongs_there();
        self.desk.assert_nothing_left();
        holder
    }

    /// What each of them was answered.
    fn fire(&mut self, round: usize) -> Vec<String> {
        let scratch = self.desk.project.parent().unwrap();
        let gate = scratch.join(format!("gate-{round}"));
        nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let arrived = |place: usize| scratch.join(format!("arrived-{round}-{place}"));
        for (place, host) in self.hosts.iter_mut().enumerate() {
            let payload = json!({
                "session_id": self.sessions[place], "cwd": self.desk.marker(), "hook_event_name": "SessionStart",
                "source": "startup", "round": round,
            });
            // They wait for the gate until each is there. The root marks the hook as this desk's.
            let before = format!(": > {}; : < {};", arrived(place).display(), gate.display());
            let words = format!("hook claude session-open --limit 180s --root {}", self.desk.marker());
            host.begin(&before, &words, payload.to_string().as_bytes());
        }
        assert!(wait_until(SLACK, || (0..SESSIONS).all(|place| arrived(place).exists())));
        let open: File = OpenOptions::new().read(true).write(true).open(&gate).unwrap();
        let fired: Vec<_> = self.hosts.iter_mut().map(Host::end).collect();
        drop(open);
        for (place, fired) in fired.iter().enumerate() {
            assert_eq!((fired.stderr.as_str(), fired.code), ("", 0), "{}: {fired:?}", self.sessions[place]);
        }
        fired.into_iter().map(|fired| fired.stdout).collect()
    }

    fn state(&self) -> PathBuf {
        self.desk.project.join(".dogwatch/state")
    }

    /// No file that was meant to be renamed or removed.
    fn assert_only_what_belongs_there(&self) {
        const KNOWN: [&str; 9] = [
            "baseline.json",
            "complete.json",
            "digest",
            "helm.json",
            "helm.lock",
            "once",
            "rows.lock",
            "sessions",
            "trace.jsonl",
        ];
        for name in names(&self.state()) {
            assert!(KNOWN.contains(&name.as_str()) || name == "once.lock", "{name} in state");
        }
        for folder in ["digest", "once", "sessions"] {
            for name in names(&self.state().join(folder)) {
                assert!(!name.starts_with('.'), "{name} in {folder}");
            }
        }
        for folder in ["", "roots"] {
            for name in names(&self.desk.state_folder().join("dogwatch").join(folder)) {
                assert!(!name.starts_with('.'), "{name} in the person's state");
            }
        }
    }
}

/// Reads the row until it is over; how often. Each time it is there it is whole.
fn watch(helm: &Path, is_over: &AtomicBool) -> usize {
    let mut looks = 0;
    while !is_over.load(Ordering::Relaxed) {
        if let Ok(text) = fs::read(helm) {
            let row: Value = serde_json::from_slice(&text)
                .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&text)));
            assert!(row["process"]["pid"].is_i64(), "{row}");
        }
        looks += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    looks
}

fn context(stdout: &str) -> String {
    let reply: Value = serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout:?}"));
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Numbers that are others in each run: xorshift, which never comes to 0.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}
