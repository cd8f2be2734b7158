//! The deferred stage, with the real program: checks beside a session, and what it is told of them.

mod abandoned;
mod between;
mod bounds;
mod chaos;
mod harnesses;
mod outlives;
mod places;
mod single_flight;
mod starts;
mod words;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{Desk, Fired, Host, SLACK, is_alive, stdout, wait_until};

/// A home whose checks wait for the test.
pub(crate) struct Home {
    pub(crate) desk: Desk,
}

impl Home {
    /// A trusted home with these lines in its config. `GATE(name)` in them is a shell command that notes that it runs, and
    /// goes on once the test opens that gate.
    pub(crate) fn new(config: &str) -> Home {
        let desk = Desk::new();
        assert!(desk.dogwatch(&["init"]).status.success());
        let home = Home { desk };
        home.config(config);
        home
    }

    pub(crate) fn config(&self, config: &str) {
        let mut text = config.to_owned();
        while let Some(at) = text.find("GATE(") {
            let end = at + text[at..].find(')').unwrap();
            let command = self.gated(&text[at + 5..end]);
            text.replace_range(at..=end, &command);
        }
        self.desk.trusted_config(&text);
    }

    /// Shell that notes that it runs, and goes on once the test opens that gate.
    fn gated(&self, name: &str) -> String {
        let gate = self.gate(name);
        if !gate.exists() {
            nix::unistd::mkfifo(&gate, nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
        format!("echo $$ >> {}; read _ < {}", self.started_file(name).display(), gate.display())
    }

    fn gate(&self, name: &str) -> PathBuf {
        self.desk.scratch.path().join(format!("{name}.gate"))
    }

    fn started_file(&self, name: &str) -> PathBuf {
        self.desk.scratch.path().join(format!("{name}.started"))
    }

    /// How often the command behind this gate was started.
    pub(crate) fn starts(&self, name: &str) -> usize {
        fs::read_to_string(self.started_file(name)).map_or(0, |text| text.lines().count())
    }

    pub(crate) fn wait_for_start(&self, name: &str) {
        assert!(wait_until(SLACK, || self.starts(name) > 0), "{name} was not started: {}", self.report());
    }

    /// Lets what waits behind a gate go on, if anything does.
    pub(crate) fn try_gate(&self, name: &str) -> bool {
        use std::os::unix::fs::OpenOptionsExt;
        let pipe =
            fs::OpenOptions::new().write(true).custom_flags(nix::libc::O_NONBLOCK).open(self.gate(name));
        // Who has waited may have been killed since.
        pipe.is_ok_and(|mut pipe| pipe.write_all(b"\n").is_ok())
    }

    /// Lets what waits behind a gate go on.
    pub(crate) fn open_gate(&self, name: &str) {
        use std::os::unix::fs::OpenOptionsExt;
        let gate = self.gate(name);
        let opened =
            || fs::OpenOptions::new().write(true).custom_flags(nix::libc::O_NONBLOCK).open(&gate).ok();
        let mut pipe = None;
        assert!(
            wait_until(SLACK, || {
                pipe = opened();
                pipe.is_some()
            }),
            "nobody waits behind {name}: {}",
            self.report()
        );
        pipe.unwrap().write_all(b"\n").unwrap();
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.desk.project.join(".dogwatch/state")
    }

    pub(crate) fn record(&self) -> Value {
        let text = fs::read(self.state().join("network.json")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or(Value::Null)
    }

    pub(crate) fn report(&self) -> String {
        stdout(&self.desk.dogwatch(&["network", "report"]))
    }

    /// Waits for the end of the run; its report.
    pub(crate) fn wait(&self) -> String {
        let output = self.desk.dogwatch(&["network", "wait", "--timeout", "60s"]);
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        stdout(&output)
    }

    pub(crate) fn pending(&self) -> Vec<String> {
        let files = fs::read_dir(self.state().join("wakes")).into_iter().flatten().flatten();
        files
            .filter_map(|file| file.file_name().into_string().ok())
            .filter(|name| name.strip_suffix(".json").is_some())
            .collect()
    }

    /// Everything that was started from this desk and lives, by what it inherits and cannot easily lose: the person's home
    /// folder in its environment. Supervisors and checks bear no word of the project in their arguments.
    pub(crate) fn ours(&self) -> Vec<i32> {
        let mark = format!("HOME={}\0", self.desk.scratch.path().display());
        let inherits = |pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|window| window == mark.as_bytes()) && is_alive(*pid)
        };
        let entries = fs::read_dir("/proc").unwrap();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(inherits).collect()
    }

    /// Waits until nothing of this home runs any more: the supervisor of a run ends a moment after its record is closed.
    /// The sessions have to be gone by then.
    pub(crate) fn assert_nothing_runs(&self) {
        self.assert_nothing_runs_but(&[]);
    }

    pub(crate) fn assert_nothing_runs_but(&self, sessions: &[&Session]) {
        let hosts: Vec<i32> = sessions.iter().map(|session| session.host.pid()).collect();
        let rest = || self.ours().into_iter().filter(|pid| !hosts.contains(pid)).collect::<Vec<_>>();
        let shown = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(
            wait_until(SLACK, || rest().is_empty()),
            "left behind: {:?}",
            rest().iter().map(shown).collect::<Vec<_>>()
        );
    }

    /// The process of the run that the record names in that role.
    pub(crate) fn pid_of(&self, role: &str) -> i32 {
        i32::try_from(self.record()[role]["pid"].as_i64().unwrap()).unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for pid in self.ours() {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

/// A session of Claude Code in a process of its own.
pub(crate) struct Session {
    pub(crate) host: Host,
    pub(crate) id: String,
    cwd: String,
    count: usize,
}

impl Session {
    pub(crate) fn new(home: &Home, id: &str) -> Session {
        let cwd = home.desk.project.display().to_string();
        Session { host: Host::new(&home.desk, "claude"), id: id.to_owned(), cwd, count: 0 }
    }

    pub(crate) fn payload(&mut self, event: &str, more: &Value) -> Vec<u8> {
        self.count += 1;
        let mut payload =
            json!({ "session_id": self.id, "hook_event_name": event, "cwd": self.cwd, "count": self.count });
        for (key, value) in more.as_object().unwrap() {
            payload[key] = value.clone();
        }
        payload.to_string().into_bytes()
    }

    /// What the session is told at its open.
    pub(crate) fn open(&mut self, source: &str) -> String {
        let payload = self.payload("SessionStart", &json!({ "source": source }));
        let fired = self.host.fire("hook claude session-open --limit 180s", &payload);
        assert_eq!(fired.code, 0, "{}", fired.stderr);
        context(&fired)
    }

    pub(crate) fn prompt(&mut self) -> String {
        let payload = self.payload("UserPromptSubmit", &json!({ "prompt": "hello" }));
        context(&self.host.fire("hook claude prompt", &payload))
    }

    pub(crate) fn after_tool(&mut self, more: &Value) -> String {
        let payload = self.payload("PostToolUse", more);
        context(&self.host.fire("hook claude after-tool", &payload))
    }
}

/// What the model is given; nothing where there is no answer.
pub(crate) fn context(fired: &Fired) -> String {
    if fired.stdout.is_empty() {
        return String::new();
    }
    let answer: Value = serde_json::from_str(&fired.stdout).unwrap_or_else(|_| panic!("{fired:?}"));
    answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap_or_else(|| panic!("{fired:?}"))
        .to_owned()
}

/// How a wake begins: as a message of ours, and of no person's.
pub(crate) const WAKE: &str = "\u{2063}DOGWATCH_OP: v1 wake: network check ";
