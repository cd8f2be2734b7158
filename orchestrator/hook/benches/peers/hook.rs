//! The hook, as a harness calls it. The bench starts itself once more under the name `claude`: that process is the
//! harness, it calls the hook and its peer in turn, and prints both medians.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use super::measure::{Measured, interleave, median, output, time, time_with_input};
use super::{Options, Scratch, alone, at_most};

/// How a hook comes to have nothing to say, or one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quiet {
    /// The folder has no home.
    NoHome,
    /// A gate variable is set.
    Gate,
    /// A session came back, and has not got the helm.
    Nudge,
    /// A session came back, and has it.
    Held,
}

impl Quiet {
    fn id(self) -> &'static str {
        match self {
            Quiet::NoHome => "no-home",
            Quiet::Gate => "gate",
            Quiet::Nudge => "nudge",
            Quiet::Held => "held",
        }
    }
}

/// A quiet path beside `/bin/true`.
pub(crate) fn quiet(options: &Options, scratch: &Scratch, path: Quiet) -> Measured {
    let root = scratch.folder(&format!("quiet-{}", path.id()))?;
    if path != Quiet::NoHome {
        init(options, scratch, &root)?;
    }
    let told = ask(options, scratch, &root, path.id(), options.short_runs)?;
    let [ours, peer] = told.as_slice() else { return Err(format!("the host told {told:?}")) };
    Ok(at_most(*ours, *peer, 2.5))
}

/// A whole digest, less its slowest stage.
pub(crate) fn digest(options: &Options, scratch: &Scratch) -> Measured {
    const STAGE: Duration = Duration::from_millis(300);
    let root = scratch.folder("digest")?;
    init(options, scratch, &root)?;
    let config = root.join(".dogwatch/config.toml");
    let text = "[[digest.stage]]\nname = \"third-of-a-second\"\ncommand = [\"sh\", \"-c\", \"sleep 0.3; echo stage-ended\"]\n";
    fs::write(&config, text).map_err(|error| error.to_string())?;
    scratch.trust(&root, &config)?;
    let told = ask(options, scratch, &root, "digest", options.stage_runs)?;
    let [time] = told.as_slice() else { return Err(format!("the host told {told:?}")) };
    let beyond = time.checked_sub(STAGE).ok_or("it ended before its stage")?;
    Ok(alone(beyond, Duration::from_millis(25)))
}

/// A checkout with an untouched home.
fn init(options: &Options, scratch: &Scratch, root: &Path) -> Result<(), String> {
    let commit = [
        "-c",
        "user.name=b",
        "-c",
        "user.email=b@example.invalid",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "b",
    ];
    time(Command::new("git").args(["init", "-q"]).current_dir(root))?;
    time(Command::new("git").args(commit).current_dir(root))?;
    time(scratch.settle(&mut options.dogwatch(["init"])).current_dir(root)).map(|_| ())
}

/// Has the harness measure.
fn ask(
    options: &Options,
    scratch: &Scratch,
    root: &Path,
    path: &str,
    runs: usize,
) -> Result<Vec<Duration>, String> {
    use std::os::unix::process::CommandExt;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut host = Command::new(own);
    host.arg0("claude").args(["--host", path, &runs.to_string()]).arg(&options.dogwatch).arg(root);
    scratch.settle(&mut host).current_dir(root);
    // Whoever starts the bench may be a harness's child.
    for name in ["CLAUDE_PROJECT_DIR", "DOGWATCH_GATE", "NO_MISTAKES_GATE", "DOGWATCH_SESSION_START_TIMEOUT"]
    {
        host.env_remove(name);
    }
    if path == Quiet::Gate.id() {
        host.env("DOGWATCH_GATE", "1");
    }
    let (code, told) = output(&mut host)?;
    if code != Some(0) {
        return Err(told.trim().to_owned());
    }
    let times: Result<Vec<u64>, _> = told.split_whitespace().map(str::parse).collect();
    Ok(times.map_err(|_| told)?.into_iter().map(Duration::from_nanos).collect())
}

/// The harness, where this process was started as one: `claude --host PATH RUNS DOGWATCH ROOT`. Prints nanoseconds, or
/// why not.
pub(crate) fn host() -> Option<ExitCode> {
    let arguments: Vec<String> = std::env::args().collect();
    let [name, flag, path, runs, dogwatch, root] = arguments.as_slice() else { return None };
    if name != "claude" || flag != "--host" {
        return None;
    }
    let mut host = Host { dogwatch: dogwatch.into(), root: root.into(), fired: 0 };
    Some(
        match runs.parse().map_err(|_| "how many runs?".to_owned()).and_then(|runs| host.measure(path, runs))
        {
            Ok(times) => {
                let nanoseconds = times.iter().map(|time| time.as_nanos().to_string());
                println!("{}", nanoseconds.collect::<Vec<_>>().join(" "));
                ExitCode::SUCCESS
            }
            Err(why) => {
                println!("{why}");
                ExitCode::FAILURE
            }
        },
    )
}

struct Host {
    dogwatch: PathBuf,
    root: PathBuf,
    fired: usize,
}

impl Host {
    fn measure(&mut self, path: &str, runs: usize) -> Result<Vec<Duration>, String> {
        let source = match path {
            "nudge" | "held" => "resume",
            _ => "startup",
        };
        if path == "held" {
            self.time("startup")?;
        }
        let said = self.fire(source, |command, input| {
            let output = command.stdin(input).output().map_err(|error| error.to_string())?;
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        })?;
        let expected = match path {
            "nudge" => said.contains("DOGWATCH_OP: v1 session-start"),
            "digest" => said.contains("stage-ended") && !said.contains("READ-ONLY"),
            _ => said.is_empty() && self.is_held() == (path == "held"),
        };
        if !expected {
            return Err(format!("the hook answered {said:?}"));
        }
        if path == "digest" {
            let times: Result<Vec<_>, _> = (0..runs).map(|_| self.time(source)).collect();
            return Ok(vec![median(times?)]);
        }
        let (ours, peer) = interleave(runs, || self.time(source), || time(&mut Command::new("/bin/true")))?;
        Ok(vec![ours, peer])
    }

    /// The hook's last word in the trace.
    fn is_held(&self) -> bool {
        let trace = fs::read_to_string(self.root.join(".dogwatch/state/trace.jsonl")).unwrap_or_default();
        trace.lines().last().is_some_and(|line| line.contains(r#""decision":"held""#))
    }

    fn time(&mut self, source: &str) -> Result<Duration, String> {
        self.fire(source, time_with_input)
    }

    /// Calls the hook with a payload that it has not had: what it has had within seconds is answered at once.
    fn fire<T>(
        &mut self,
        source: &str,
        run: impl FnOnce(&mut Command, Stdio) -> Result<T, String>,
    ) -> Result<T, String> {
        self.fired += 1;
        let root = self.root.display().to_string();
        let payload = format!(
            r#"{{"session_id":"bench","transcript_path":"{root}/x.jsonl","cwd":"{root}","hook_event_name":"SessionStart","source":"{source}","model":"{}"}}"#,
            self.fired
        );
        let file = self.root.with_extension("payload");
        fs::write(&file, payload).map_err(|error| error.to_string())?;
        let input = File::open(&file).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.dogwatch);
        run(command.args(["hook", "claude", "session-open", "--limit", "180s"]), input.into())
    }
}
