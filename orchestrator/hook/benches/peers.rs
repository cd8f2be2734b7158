//! dogwatch beside its peers: ratios measured in one run, so that they hold on any machine. `scripts/bench` builds
//! what is needed and calls this.
//!
//! Times of both sides are taken in turn and compared by their medians. A command that does not do its work is
//! reported as not run, never as fast.

// A bench talks to the person who started it.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::env::temp_dir;
use std::fs::{self, DirBuilder};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

#[path = "peers/hook.rs"]
mod hook;
#[path = "peers/measure.rs"]
mod measure;

use measure::{
    BOUND, Figure, Measured, Watchdog, interleave, kill, median, milliseconds, output, print_table,
    start_failed, time,
};

const GIB: u64 = 1 << 30;

fn main() -> ExitCode {
    if let Some(code) = hook::host() {
        return code;
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => return ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("peers: {message}");
            return ExitCode::from(2);
        }
    };
    let scratch = match Scratch::new() {
        Ok(scratch) => scratch,
        Err(message) => {
            eprintln!("peers: {message}");
            return ExitCode::from(2);
        }
    };
    println!("{}\n", options.dogwatch.display());
    let (drain, gib) = (options.drain_runs, options.drain_gib);
    let rows = [
        (format!("run -- true | timeout 5 true ({} runs)", options.short_runs), run_true(&options)),
        (format!("--version | /bin/true ({} runs)", options.short_runs), version(&options)),
        (format!("draining {gib} GiB | cat, rate ({drain} runs)"), draining(&options, &scratch)),
        (
            format!("1,000 that ignore TERM, after the grace ({} runs)", options.tree_runs),
            tree(&options, &scratch),
        ),
        (
            format!("open beyond its slowest stage ({} runs)", options.stage_runs),
            open_stage(&options, &scratch),
        ),
        (format!("open on this repository ({} runs)", options.open_runs), open_here(&options, &scratch)),
        (
            format!("hook, no home | /bin/true ({} runs)", options.short_runs),
            hook::quiet(&options, &scratch, hook::Quiet::NoHome),
        ),
        (
            format!("hook, a gate variable | /bin/true ({} runs)", options.short_runs),
            hook::quiet(&options, &scratch, hook::Quiet::Gate),
        ),
        (
            format!("hook, nudge | /bin/true ({} runs)", options.short_runs),
            hook::quiet(&options, &scratch, hook::Quiet::Nudge),
        ),
        (
            format!("hook, already held | /bin/true ({} runs)", options.short_runs),
            hook::quiet(&options, &scratch, hook::Quiet::Held),
        ),
        (
            format!("hook, digest beyond its slowest stage ({} runs)", options.stage_runs),
            hook::digest(&options, &scratch),
        ),
    ];
    let within = print_table(&rows);
    if options.check && !within { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

struct Options {
    dogwatch: PathBuf,
    misbehave: PathBuf,
    check: bool,
    short_runs: usize,
    drain_runs: usize,
    drain_gib: u64,
    tree_runs: usize,
    stage_runs: usize,
    open_runs: usize,
}

impl Options {
    /// `None` if this is not `cargo bench`: `cargo test --all-targets` starts bench targets, too, and must stay cheap.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
        let dogwatch = PathBuf::from(env!("CARGO_BIN_EXE_dogwatch"));
        let mut options = Options {
            misbehave: dogwatch.with_file_name("misbehave"),
            dogwatch,
            check: false,
            short_runs: 200,
            drain_runs: 20,
            drain_gib: 4,
            tree_runs: 5,
            stage_runs: 10,
            open_runs: 40,
        };
        let mut is_bench = false;
        while let Some(argument) = arguments.next() {
            let mut path = || arguments.next().map(PathBuf::from).ok_or(format!("{argument} needs a path"));
            match argument.as_str() {
                "--bench" => is_bench = true,
                "--check" => options.check = true,
                "--quick" => {
                    options.short_runs = 40;
                    options.drain_runs = 5;
                    options.drain_gib = 1;
                    options.tree_runs = 1;
                    options.stage_runs = 3;
                    options.open_runs = 10;
                }
                "--dogwatch" => options.dogwatch = path()?,
                "--misbehave" => options.misbehave = path()?,
                _ => {
                    return Err(format!(
                        "unknown argument {argument}; there are --quick, --check, --dogwatch PATH, --misbehave PATH"
                    ));
                }
            }
        }
        // The runs below have other working directories.
        for path in [&mut options.dogwatch, &mut options.misbehave] {
            *path = std::path::absolute(&*path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(is_bench.then_some(options))
    }

    fn dogwatch<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = Command::new(&self.dogwatch);
        command.args(arguments);
        command
    }
}

fn run_true(options: &Options) -> Measured {
    can_run(options)?;
    let (ours, peer) = interleave(
        options.short_runs,
        || time(&mut options.dogwatch(["run", "--", "true"])),
        || time(Command::new("timeout").args(["5", "true"])),
    )?;
    Ok(at_most(ours, peer, 2.5))
}

fn version(options: &Options) -> Measured {
    let (_, text) = output(&mut options.dogwatch(["--version"]))?;
    if !text.starts_with("dogwatch ") {
        return Err("`dogwatch --version` does not print its version".to_owned());
    }
    let (ours, peer) = interleave(
        options.short_runs,
        || time(&mut options.dogwatch(["--version"])),
        || time(&mut Command::new("/bin/true")),
    )?;
    Ok(at_most(ours, peer, 2.0))
}

fn draining(options: &Options, scratch: &Scratch) -> Measured {
    // Once with a report, to see that the bytes really come through.
    let report = scratch.path("drained.json");
    let probe_bytes: u64 = 4 << 20;
    time(options.dogwatch(["run", "--cap", "512KiB", "--report"]).arg(&report).args([
        "--",
        "head",
        "-c",
        &probe_bytes.to_string(),
        "/dev/zero",
    ]))?;
    let seen = number(&fs::read_to_string(&report).unwrap_or_default(), "stdout_bytes");
    if seen != Some(probe_bytes) {
        return Err(format!("of {probe_bytes} bytes the report counts {seen:?}"));
    }
    let bytes = (options.drain_gib * GIB).to_string();
    let head = ["-c", &bytes, "/dev/zero"];
    let (ours, peer) = interleave(
        options.drain_runs,
        || time(options.dogwatch(["run", "--cap", "512KiB", "--", "head"]).args(head)),
        || {
            let start = Instant::now();
            let mut producer = Command::new("head");
            producer.args(head).stdin(Stdio::null()).stdout(Stdio::piped());
            let mut producer = producer.spawn().map_err(|error| start_failed(&producer, &error))?;
            let pipe = producer.stdout.take().ok_or("head has no stdout")?;
            let watchdog = Watchdog::start();
            let mut cat = Command::new("cat");
            cat.stdin(pipe).stdout(Stdio::null());
            let mut cat = cat.spawn().map_err(|error| start_failed(&cat, &error))?;
            watchdog.watch(cat.id());
            // Without its reader `head` ends by SIGPIPE, so that waiting for it is bounded as well.
            let ended = cat.wait().and_then(|_| producer.wait());
            let elapsed = start.elapsed();
            watchdog.stop()?;
            ended.map_err(|error| error.to_string())?;
            Ok(elapsed)
        },
    )?;
    let ratio = peer.as_secs_f64() / ours.as_secs_f64();
    let rate = |time: Duration| {
        let gib = Duration::from_secs(options.drain_gib).as_secs_f64();
        format!("{:.2} GiB/s", gib / time.as_secs_f64())
    };
    Ok(Figure {
        ours: rate(ours),
        peer: rate(peer),
        ratio: format!("{ratio:.2}"),
        limit: "at least 0.80".to_owned(),
        over: ratio < 0.8,
    })
}

/// From the end of the grace to the moment at which nothing of a large tree is left.
fn tree(options: &Options, scratch: &Scratch) -> Measured {
    if !options.misbehave.is_file() {
        return Err(format!("{} is not built", options.misbehave.display()));
    }
    can_run(options)?;
    let mut times = Vec::new();
    for run in 0..options.tree_runs {
        // Every process of the tree carries this word among its arguments, and nobody else does.
        let marker = format!("bench-{}-{run}", std::process::id());
        let ended = one_tree(options, &marker, &scratch.path("tree.json"));
        let left = alive(&marker);
        for pid in &left {
            kill(*pid);
        }
        times.push(ended?);
        if !left.is_empty() {
            return Err(format!("{} processes were left, such as {}", left.len(), left[0]));
        }
    }
    let time = median(times);
    Ok(alone(time, Duration::from_millis(250)))
}

fn one_tree(options: &Options, marker: &str, report: &Path) -> Result<Duration, String> {
    const TOTAL: usize = 1000;
    const DEADLINE_AND_GRACE: Duration = Duration::from_secs(5 + 1);
    let mut command = options.dogwatch(["run", "--deadline", "5s", "--grace", "1s", "--report"]);
    command.arg(report).arg("--").arg(&options.misbehave);
    command.args(["tree", marker, &TOTAL.to_string(), "200"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let watchdog = Watchdog::start();
    let mut child = command.spawn().map_err(|error| start_failed(&command, &error))?;
    watchdog.watch(child.id());
    let stdout = child.stdout.take().ok_or("the child has no stdout")?;
    let (line, told) = channel();
    // A thread of its own: what a leaked process keeps open must not hold up the bench.
    thread::spawn(move || {
        let mut text = String::new();
        let read = BufReader::new(stdout).read_line(&mut text);
        let _ = line.send(read.map(|_| text));
    });
    let ready = told.recv_timeout(BOUND);
    let at_work = alive(marker).len();
    let status = child.wait();
    watchdog.stop()?;
    if !matches!(&ready, Ok(Ok(text)) if text.trim_end() == "ready") {
        return Err("the tree was not complete before its deadline".to_owned());
    }
    if at_work < TOTAL {
        return Err(format!("the tree had {at_work} processes"));
    }
    let code = status.map_err(|error| error.to_string())?.code();
    if code != Some(124) {
        return Err(format!("the run ended with {code:?}, not at its deadline"));
    }
    let report = fs::read_to_string(report).map_err(|error| format!("the report: {error}"))?;
    let elapsed = number(&report, "elapsed_ms").ok_or("the report has no elapsed_ms")?;
    Duration::from_millis(elapsed)
        .checked_sub(DEADLINE_AND_GRACE)
        .ok_or_else(|| format!("the tree was gone after {elapsed} ms, before the grace had ended"))
}

fn open_stage(options: &Options, scratch: &Scratch) -> Measured {
    const STAGE: Duration = Duration::from_millis(500);
    let root = scratch.folder("project")?;
    scratch.folder("project/.dogwatch")?;
    let config = root.join(".dogwatch/config.toml");
    let text = "[[digest.stage]]\nname = \"half-a-second\"\ncommand = [\"sh\", \"-c\", \"sleep 0.5; echo stage-ended\"]\n";
    fs::write(&config, text).map_err(|error| error.to_string())?;
    scratch.trust(&root, &config)?;
    let open = || {
        let mut command = options.dogwatch(["open"]);
        scratch.settle(&mut command).current_dir(&root);
        command
    };
    let (_, digest) = output(&mut open())?;
    if !digest.contains("stage-ended") {
        return Err("the digest does not hold what its stage printed".to_owned());
    }
    let times: Result<Vec<_>, _> = (0..options.stage_runs).map(|_| time(&mut open())).collect();
    let beyond = median(times?).checked_sub(STAGE).ok_or("it ended before its stage")?;
    Ok(alone(beyond, Duration::from_millis(15)))
}

fn open_here(options: &Options, scratch: &Scratch) -> Measured {
    let open = || {
        let mut command = options.dogwatch(["open"]);
        scratch.settle(&mut command).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        command
    };
    let (code, digest) = output(&mut open())?;
    if code != Some(0) || digest.trim().is_empty() {
        return Err("`dogwatch open` prints no digest".to_owned());
    }
    let times: Result<Vec<_>, _> = (0..options.open_runs).map(|_| time(&mut open())).collect();
    Ok(alone(median(times?), Duration::from_millis(100)))
}

/// Whether `dogwatch run` runs anything: a command line that ends with success at once would look fast.
fn can_run(options: &Options) -> Result<(), String> {
    let (code, _) = output(&mut options.dogwatch(["run", "--", "sh", "-c", "exit 7"]))?;
    if code == Some(7) {
        return Ok(());
    }
    Err(format!("`dogwatch run -- sh -c 'exit 7'` ended with {code:?}"))
}

fn at_most(ours: Duration, peer: Duration, limit: f64) -> Figure {
    let ratio = ours.as_secs_f64() / peer.as_secs_f64();
    Figure {
        ours: milliseconds(ours),
        peer: milliseconds(peer),
        ratio: format!("{ratio:.2}"),
        limit: format!("at most {limit:.2}"),
        over: ratio > limit,
    }
}

fn alone(time: Duration, limit: Duration) -> Figure {
    Figure {
        ours: milliseconds(time),
        peer: "-".to_owned(),
        ratio: "-".to_owned(),
        limit: format!("at most {} ms", limit.as_millis()),
        over: time > limit,
    }
}

/// The whole number behind `"key":` in a flat JSON object.
fn number(json: &str, key: &str) -> Option<u64> {
    let (_, rest) = json.split_once(&format!("\"{key}\""))?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
    digits.parse().ok()
}

/// The processes with `marker` among their arguments. What has ended and only waits to be reaped has none.
fn alive(marker: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            line.split(|byte| *byte == 0).any(|word| word == marker.as_bytes()).then_some(pid)
        })
        .collect()
}

/// A folder for one run of the bench, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, String> {
        let top = temp_dir().join(format!("dogwatch-bench-{}", std::process::id()));
        private_folder(&top)?;
        let top = fs::canonicalize(&top).map_err(|error| error.to_string())?;
        Ok(Scratch(top))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A folder that is there afterwards. Whatever is in ours is ours.
    fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.path(name);
        let made = DirBuilder::new().mode(0o700).recursive(true).create(&path);
        made.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Gives a person's word for the config of the home below `root`, as a provisioning script would.
    fn trust(&self, root: &Path, config: &Path) -> Result<(), String> {
        let (_, sum) = output(Command::new("sha256sum").arg(config))?;
        let sum = sum.split_whitespace().next().ok_or("sha256sum prints nothing")?;
        self.folder("state")?;
        let trusted = self.folder("state/dogwatch")?.join("trusted");
        fs::write(trusted, format!("{sum}  {}\n", root.display())).map_err(|error| error.to_string())
    }

    /// Keeps the state and the profile of the person who runs the bench out of it.
    fn settle<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("XDG_STATE_HOME", self.path("state")).env("XDG_CONFIG_HOME", self.path("config"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn private_folder(path: &Path) -> Result<(), String> {
    DirBuilder::new().mode(0o700).create(path).map_err(|error| format!("{}: {error}", path.display()))
}
