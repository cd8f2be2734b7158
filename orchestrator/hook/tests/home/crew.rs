//! Many processes that act on one home at the same instant: this test program, started again.

use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use dogwatch::home::helm::{self, Claim, Me};
use dogwatch::home::once;
use dogwatch::home::state::Folder;
use dogwatch::home::wakes;
use dogwatch_engine::process::Identity;
use jiff::Timestamp;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// How a member of the crew is told which home it acts on.
const HOME: &str = "DOGWATCH_TEST_CREW_HOME";
const GATE: &str = "gate";
const BOUND: Duration = Duration::from_secs(60);

/// What a member said, or that it is gone.
pub(crate) type Said = (usize, Option<String>);

/// Processes that wait for orders.
pub(crate) struct Crew {
    home: tempfile::TempDir,
    members: Vec<(Child, ChildStdin)>,
    said: Receiver<Said>,
}

impl Crew {
    pub(crate) fn new(count: usize) -> Crew {
        let home = tempfile::tempdir().unwrap();
        File::create(home.path().join(GATE)).unwrap();
        let (sender, said) = channel();
        let members = (0..count).map(|number| member(home.path(), number, sender.clone())).collect();
        Crew { home, members, said }
    }

    pub(crate) fn state(&self) -> Folder {
        Folder::state_of(self.home.path()).unwrap()
    }

    pub(crate) fn pid(&self, number: usize) -> u32 {
        self.members[number].0.id()
    }

    /// Gives an order to those members and, when each stands ready, lets all go at the same instant.
    pub(crate) fn order(&mut self, numbers: &[usize], order: &str) {
        let gate = File::open(self.home.path().join(GATE)).unwrap();
        let gate = Flock::lock(gate, FlockArg::LockExclusive).map_err(|(_, errno)| errno).unwrap();
        for number in numbers {
            writeln!(self.members[*number].1, "{order}").unwrap();
        }
        for _ in numbers {
            assert_eq!(self.hear_from(numbers).1, "ready");
        }
        drop(gate);
    }

    /// The next that a member says; `None` from one that is gone.
    pub(crate) fn hear(&self) -> Said {
        self.said.recv_timeout(BOUND).expect("a member answers in time")
    }

    /// The next that one of those says. What others say, who are gone, is passed over.
    pub(crate) fn hear_from(&self, numbers: &[usize]) -> (usize, String) {
        loop {
            let (number, said) = self.hear();
            if numbers.contains(&number) {
                return (number, said.expect("it is there"));
            }
        }
    }

    pub(crate) fn kill(&mut self, number: usize) {
        self.members[number].0.kill().unwrap();
    }

    /// Waits until a member that was killed is dead. It stays a zombie, so that nobody gets its process id.
    pub(crate) fn await_death(&self, number: usize) {
        let pid = Pid::from_raw(i32::try_from(self.pid(number)).unwrap());
        waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for (child, _) in &mut self.members {
            // One that is gone already needs no more.
            let _ = child.kill();
            let status = child.wait().unwrap();
            if !thread::panicking() {
                assert_eq!(status.signal(), Some(9), "a member ends by being killed and not before");
            }
        }
    }
}

fn member(home: &Path, number: usize, sender: Sender<Said>) -> (Child, ChildStdin) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "crew::a_member_of_the_crew", "--nocapture", "--test-threads=1"])
        .env(HOME, home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (orders, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    thread::spawn(move || {
        for line in BufReader::new(answers).lines().map_while(Result::ok) {
            // The test harness says things, too.
            if let Some((_, answer)) = line.split_once('@') {
                let _ = sender.send((number, Some(answer.to_owned())));
            }
        }
        let _ = sender.send((number, None));
    });
    (child, orders)
}

/// Not a test of its own: what a member does. Without a home to act on it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "a member is told by its environment what it is")]
fn a_member_of_the_crew() {
    let Some(home) = env::var_os(HOME).map(PathBuf::from) else { return };
    let state = Folder::state_of(&home).unwrap();
    let me = Me {
        process: Some(Identity::current().unwrap()),
        harness: "claude".to_owned(),
        session: Some(std::process::id().to_string()),
        shared_process: false,
    };
    let say = |text: &str| {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "@{text}").unwrap();
        stdout.flush().unwrap();
    };
    let mut locks = Vec::new();
    let mut sweeps = Vec::new();
    let mut claimed = None;
    for order in io::stdin().lines().map_while(Result::ok) {
        let gate = File::open(home.join(GATE)).unwrap();
        say("ready");
        drop(Flock::lock(gate, FlockArg::LockShared).map_err(|(_, errno)| errno).unwrap());
        match order.split_once(' ') {
            Some(("once", event)) => {
                let is_owner = once::claim(&state, "s", event, &[7; 32], Timestamp::now());
                say(if is_owner { "owner" } else { "other" });
            }
            Some(("lock", name)) => {
                locks.push(state.lock(name, BOUND).unwrap().unwrap());
                say("locked");
            }
            None if order == "sweep" => match helm::peek(&state) {
                Some((holder, _)) => {
                    sweeps.push(helm::hold_for_sweep(&state, &holder.identity()).unwrap());
                    say("sweeping");
                }
                None => say("nobody has the helm"),
            },
            None if order == "claim" => {
                claimed = wakes::claim(&state, |_| true);
                let texts = claimed.iter().flat_map(wakes::Claimed::wakes).map(|wake| wake.text.as_str());
                say(&format!("claimed {}", texts.collect::<Vec<_>>().join(" ")));
            }
            None if order == "acknowledge" => {
                if let Some(claimed) = claimed.take() {
                    claimed.acknowledge(|_| true);
                }
                say("acknowledged");
            }
            _ => say(&describe(&helm::acquire(&state, &me, Timestamp::now()))),
        }
    }
}

fn describe(claim: &Claim) -> String {
    match claim {
        Claim::Mine(_) => "mine".to_owned(),
        Claim::Taken { replaced: None, .. } => "taken".to_owned(),
        Claim::Taken { replaced: Some(stale), .. } => {
            format!("taken from {}", stale.holder.as_ref().map_or(0, |holder| holder.process.pid))
        }
        Claim::Held(holder) => format!("held by {}", holder.process.pid),
        other => format!("unexpected: {other:?}"),
    }
}
