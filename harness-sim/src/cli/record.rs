//! `harness-sim record`: the real CLI, and what it hands to hooks.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dogwatch_engine::process::{self as engine, Bounds, Deadline, Engine};

use super::{FAULT, FINE, Problem, print, print_json, values};
use crate::env;
use crate::harness::Harness;
use crate::launch::copy_folder;
use crate::record::{self, Mask, Recorder, Taken};

/// How long a CLI may take to tell its version.
const VERSION_BOUND: Duration = Duration::from_secs(30);
/// How long it may run, unless told otherwise.
const RUN_BOUND: Duration = Duration::from_secs(10 * 60);

/// Registers a recorder in a copy of the home, runs the CLI in a copy of the project, and keeps what it handed over:
/// paths are a made-up person's, long texts and keys are left out, of the environment only the names are kept. At the end
/// it tells how the shape differs from the recordings that are compiled in.
#[derive(clap::Args)]
#[command(after_help = "Exit codes:
  0  something was recorded
  1  nothing was recorded, or the shape differs and --check was given
  2  the command line was wrong, or the CLI could not be run

Codex runs only hooks that were reviewed: give it --dangerously-bypass-hook-trust.")]
pub(super) struct Arguments {
    /// claude, codex, cursor, grok, pi, opencode
    harness: Harness,
    /// Where the recordings are put: <DIR>/<harness>/<version>/<event>-….json
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The home that is copied: the CLI's own settings stand there [default: an empty one]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// The project that is copied [default: an empty one]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The CLI's version [default: what COMMAND --version says]
    #[arg(long, value_name = "VERSION")]
    cli_version: Option<String>,
    /// How it runs, for the provenance [default: tui in a terminal, else headless]
    #[arg(long)]
    mode: Option<String>,
    /// How long it may run
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    timeout: Option<Duration>,
    /// End with 1 where the shape differs from the recordings
    #[arg(long)]
    check: bool,
    /// Print JSON: what was recorded, and how it differs
    #[arg(long)]
    json: bool,
    /// The CLI and its arguments
    #[arg(last = true, value_name = "COMMAND", required = true)]
    command: Vec<OsString>,
}

/// What a harness starts.
#[derive(clap::Args)]
pub(super) struct Take {
    event: String,
    into: PathBuf,
    /// Answer so that Cursor does not block
    #[arg(long)]
    cursor: bool,
}

pub(super) fn take(arguments: &Take) -> u8 {
    // Whatever becomes of it, the session goes on.
    let kept = record::take(&arguments.event, &arguments.into, io::stdin().lock());
    if arguments.cursor {
        let asks = arguments.event.starts_with("before") || arguments.event == "preToolUse";
        print(if asks { r#"{"permission":"allow"}"# } else { "{}" });
    }
    if let Err(error) = kept {
        eprint_line(&format!("the payload of {} was not kept: {error}", arguments.event));
    }
    FINE
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Problem> {
    let scratch = tempfile::Builder::new().prefix("harness-sim-record-").tempdir()?;
    let top = scratch.path().canonicalize()?;
    let [home, project, raw] = ["home", "project", "raw"].map(|name| top.join(name));
    for (folder, from) in [(&home, &arguments.home), (&project, &arguments.project)] {
        std::fs::create_dir(folder)?;
        if let Some(from) = from {
            copy_folder(from, folder)
                .map_err(|error| format!("{} cannot be copied: {error}", from.display()))?;
        }
    }
    let program = std::env::current_exe()?;
    let recorder = Recorder::register(arguments.harness, &home, &raw, &program)?;
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let mode =
        arguments.mode.clone().unwrap_or_else(|| if is_terminal { "tui" } else { "headless" }.to_owned());
    let version = match &arguments.cli_version {
        Some(version) => version.clone(),
        None => version(&arguments.command, &home)?,
    };
    let bound = arguments.timeout.unwrap_or(RUN_BOUND);
    let ended = if is_terminal {
        interactive(&arguments.command, &home, &project)?
    } else {
        headless(&arguments.command, &home, &project, bound)?
    };
    let taken = recorder.taken(&Mask::new(&project, &home), &mode)?;
    let provenance = record::provenance(arguments.harness, &version, &mode);
    let files = record::write(&arguments.out, arguments.harness, &taken, &provenance)?;
    let drift = record::drift(arguments.harness, None, &taken);
    if arguments.json {
        print_json(&serde_json::json!({ "ended": ended, "recordings": taken, "drift": drift }))?;
    } else {
        print(&report(arguments.harness, &version, &ended, &taken, &files, &arguments.out));
        if !taken.is_empty() {
            print(&drift.to_string());
        }
    }
    let differs = arguments.check && !drift.changes.is_empty();
    Ok(if taken.is_empty() || differs { FAULT } else { FINE })
}

fn report(
    harness: Harness,
    version: &str,
    ended: &str,
    taken: &[Taken],
    files: &[PathBuf],
    out: &Path,
) -> String {
    let mut text = format!("{} {version} {ended}; {} recordings\n", harness.name(), taken.len());
    if taken.is_empty() {
        text.push_str("  it called no hook: does it trust this project, and hooks at all?\n");
    }
    for file in files {
        let _ = writeln!(text, "  {}", file.strip_prefix(out).unwrap_or(file).display());
    }
    text
}

/// What the CLI says of itself: the first word that looks like a version.
fn version(command: &[OsString], home: &Path) -> Result<String, Problem> {
    let (text, _) = bounded(&command[..1], &["--version"], home, home, VERSION_BOUND)?;
    let is_version = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.contains('.')
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
    };
    let words = text.split(|c: char| c.is_whitespace() || c == 'v' || c == '(' || c == ')');
    words.into_iter().find(is_version).map(str::to_owned).ok_or_else(|| {
        format!("{} --version tells no version; name it with --cli-version", command[0].to_string_lossy())
            .into()
    })
}

/// Without a terminal: below the engine, so that nothing of it is left. Its output goes to our stderr.
fn headless(command: &[OsString], home: &Path, project: &Path, bound: Duration) -> Result<String, Problem> {
    let (_, ended) = bounded(command, &[], home, project, bound)?;
    Ok(ended)
}

fn bounded(
    command: &[OsString],
    more: &[&str],
    home: &Path,
    folder: &Path,
    bound: Duration,
) -> Result<(String, String), Problem> {
    let (program, arguments) = command.split_first().ok_or("no command was given")?;
    let mut run = engine::Command::new(program).args(arguments).args(more).env_clear().current_dir(folder);
    for (name, value) in env::for_a_cli() {
        run = run.env(name, value);
    }
    let run = run.env("HOME", home);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bounds = Bounds::new(Deadline::new(bound)?);
    let captured = runtime.block_on(async {
        let run = Engine::new().start(&run, &bounds).await?;
        Ok::<_, engine::StartError>(run.capture().await)
    })?;
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if more.is_empty() {
        eprint_line(shown(&captured.stdout).trim_end());
        eprint_line(shown(&captured.stderr).trim_end());
    }
    let outcome = &captured.outcome;
    let ended = match (outcome.end, outcome.exit_code) {
        (engine::End::Deadline, _) => format!("was ended after {}", crate::report::duration(bound)),
        (_, Some(code)) => format!("ended with {code}"),
        _ => "was killed".to_owned(),
    };
    Ok((shown(&captured.stdout) + &shown(&captured.stderr), ended))
}

/// In the person's terminal, who ends it.
fn interactive(command: &[OsString], home: &Path, project: &Path) -> Result<String, Problem> {
    let (program, arguments) = command.split_first().ok_or("no command was given")?;
    let status = Command::new(program)
        .args(arguments)
        .current_dir(project)
        .env_clear()
        .envs(env::for_a_cli())
        .env("HOME", home)
        .status()
        .map_err(|error| format!("{} cannot be started: {error}", program.to_string_lossy()))?;
    Ok(status.code().map_or_else(|| "was killed".to_owned(), |code| format!("ended with {code}")))
}

fn eprint_line(text: &str) {
    use std::io::Write as _;
    if !text.is_empty() {
        let _ = writeln!(anstream::stderr(), "{text}");
    }
}
