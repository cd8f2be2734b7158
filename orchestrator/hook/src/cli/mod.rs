//! The command line: one file per subcommand. Nothing else in the library writes to stdout or stderr; here it is by
//! `write_all` and not by `println!`, which panics when the reader has gone away.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use dogwatch_engine::process::write_stderr;

use crate::harness::ancestry::{self, Ancestry};
use crate::home::root::find_root;
use crate::{config, env};

mod helm;
mod hook;
mod init;
mod install;
mod network;
mod op;
mod open;
mod run;
mod status;
mod style;
mod trust;
pub mod values;

/// Exit code: something was refused or failed.
const FAILED: u8 = 1;
/// Exit code: the command line was wrong.
const USAGE: u8 = 2;
/// How long a line on stderr may wait for a reader.
const LAST_WORD: Duration = Duration::from_secs(2);

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  refused or failed; one line on stderr says what, where, and what to do
  2  the command line was wrong";

/// The lifecycle-hook runtime for coding agents.
#[derive(Debug, Parser)]
#[command(name = "dogwatch", version, after_help = EXIT_CODES, subcommand_required = true)]
#[command(arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Open(open::Arguments),
    Init(init::Arguments),
    Install(install::Install),
    Uninstall(install::Uninstall),
    Status(status::Arguments),
    Trust(trust::Arguments),
    Helm(helm::Arguments),
    Network(network::Arguments),
    Run(run::Arguments),
    /// Answer a harness at one of its lifecycle moments (see `dogwatch hook --help`)
    // Its words are read before the parser is built; this line is for the list of commands.
    #[command(disable_help_flag = true)]
    Hook {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        words: Vec<OsString>,
    },
    Op(op::Arguments),
}

impl Command {
    fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            Command::Init(arguments) => init::run(arguments, &Surroundings::look()?, &mut io::stdout())?,
            Command::Trust(arguments) => trust::run(arguments, &Surroundings::look()?, &mut io::stdout())?,
            Command::Install(arguments) => return install::install(arguments, &Surroundings::look()?),
            Command::Uninstall(arguments) => return install::uninstall(arguments, &Surroundings::look()?),
            Command::Status(arguments) => return status::run(arguments, &Surroundings::look()?),
            Command::Open(arguments) => return open::run(arguments),
            Command::Run(arguments) => return run::run(arguments),
            Command::Helm(arguments) => return helm::run(arguments, &Surroundings::look()?),
            Command::Network(arguments) => return network::run(arguments, &Surroundings::look()?),
            Command::Op(arguments) => return op::run(arguments, &Surroundings::look()?),
            Command::Hook { words } => return Ok(hook::run(words)),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    // A defect of ours is one line for whoever reads stderr, and nothing on stdout.
    std::panic::set_hook(Box::new(|panic| {
        let what = panic.payload_as_str().unwrap_or("a panic without words");
        let place =
            panic.location().map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
        write_error(&format!("internal error: {what}{place}; this is a defect of dogwatch"));
    }));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Asked for by scripts at every turn, so it is answered before the parser is built.
    if arguments.get(1).is_some_and(|first| first == "--version" || first == "-V") {
        let version = concat!("dogwatch ", env!("CARGO_PKG_VERSION"), "\n");
        return finish(write_out(&mut io::stdout(), version).map(|()| ExitCode::SUCCESS));
    }
    if arguments.get(1).is_some_and(|first| first == "hook") {
        return hook::run(&arguments[2..]);
    }
    match Arguments::try_parse_from(&arguments) {
        Ok(arguments) => finish(arguments.command.run()),
        Err(error) => usage(&error, &name_of(&arguments)),
    }
}

/// The command that was meant, with its subcommand.
fn name_of(arguments: &[OsString]) -> String {
    let known = |name: &&str| Arguments::command().find_subcommand(name).is_some();
    match arguments.get(1).and_then(|first| first.to_str()).filter(known) {
        Some(subcommand) => format!("dogwatch {subcommand}"),
        None => "dogwatch".to_owned(),
    }
}

/// Why a command did not do what it was asked for: one line, and lines of detail below it.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    details: Vec<String>,
    code: u8,
}

impl Failure {
    /// A failure of one line.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), details: Vec::new(), code: FAILED }
    }

    /// A failure with a list below its line.
    pub(crate) fn with_details(message: impl Into<String>, details: Vec<String>) -> Failure {
        Failure { message: message.into(), details, code: FAILED }
    }

    /// The same with another exit code.
    pub(crate) fn with_code(self, code: u8) -> Failure {
        Failure { code, ..self }
    }
}

/// Any typed error of the library is a failure whose message is the error's.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(error.to_string())
    }
}

/// Where a command was started. Tests make one up.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// The working directory.
    pub(crate) folder: PathBuf,
    /// The person's home folder.
    pub(crate) home_folder: Option<PathBuf>,
    /// dogwatch's own folder outside of projects.
    pub(crate) state_folder: Option<PathBuf>,
    /// Whether a harness is anywhere above this process.
    pub(crate) ancestry: Ancestry,
}

impl Surroundings {
    fn look() -> Result<Surroundings, Failure> {
        let folder = std::env::current_dir()
            .map_err(|error| Failure::new(format!("the working directory cannot be used: {error}")))?;
        Ok(Surroundings {
            folder,
            home_folder: env::home_folder(),
            state_folder: env::state_folder(),
            ancestry: ancestry::of_this_process(ancestry::EVERY_DEPTH),
        })
    }
}

/// Why the operating system refused, in words alone.
pub(crate) fn reason(error: &std::io::Error) -> String {
    // The error of a temporary file wraps the system's, with a path that nobody knows.
    let inner = error
        .get_ref()
        .and_then(|inner| inner.source())
        .and_then(|inner| inner.downcast_ref::<std::io::Error>());
    match inner.unwrap_or(error).raw_os_error() {
        Some(number) => nix::errno::Errno::from_raw(number).desc().to_lowercase(),
        None => error.to_string(),
    }
}

/// The config of the project that a command was started in, if a person has trusted it as it stands; else the
/// defaults.
pub(crate) fn trusted_config(surroundings: &Surroundings) -> config::Config {
    let root = find_root(&surroundings.folder, surroundings.home_folder.as_deref());
    let own_folder = surroundings.state_folder.as_deref();
    root.home()
        .map_or_else(config::Config::default, |home| config::of_project(&root.path, &home, own_folder).config)
}

/// Writes text for a person. A reader that has gone away (`| head`) is no failure.
pub(crate) fn write_out(out: &mut impl Write, text: &str) -> Result<(), Failure> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("the output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// One line on stderr. Where stderr is closed there is nobody left to tell.
pub(crate) fn write_error(message: &str) {
    tell(&format!("dogwatch: {}\n", config::printable(message, usize::MAX)));
}

/// Text on stderr. A reader that does not read holds nothing up for long: it may be the very one that does not read
/// stdout either.
fn tell(text: &str) {
    write_stderr(text.as_bytes(), LAST_WORD);
}

/// The runtime of the commands that need one: one thread, and gone with the command. A thread that hangs in a file
/// system holds nothing up, because the process does not wait for it.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("the runtime does not start: {error}")))
}

fn finish(result: Result<ExitCode, Failure>) -> ExitCode {
    let failure = match result {
        Ok(code) => return code,
        Err(failure) => failure,
    };
    let mut text = format!("dogwatch: {}\n", config::printable(&failure.message, usize::MAX));
    for detail in failure.details {
        text.extend(["  ", &config::printable(&detail, usize::MAX), "\n"]);
    }
    tell(&text);
    ExitCode::from(failure.code)
}

/// Help as the parser writes it; everything else in one line.
fn usage(error: &clap::Error, command: &str) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let help = error.render().to_string();
            return finish(write_out(&mut io::stdout(), &help).map(|()| ExitCode::SUCCESS));
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            tell(&error.render().to_string());
        }
        _ => {
            let message = config::printable(&one_line(error, command), usize::MAX);
            tell(&format!("dogwatch: {message}\n"));
        }
    }
    // As `timeout` has it: 2 may be the command's own.
    ExitCode::from(if command == "dogwatch run" { run::OWN_ERROR } else { USAGE })
}

/// What the parser found wrong, what it suggests, and where to read on.
fn one_line(error: &clap::Error, command: &str) -> String {
    if error.kind() == ErrorKind::MissingRequiredArgument && command == "dogwatch run" {
        return "no command given; expected `dogwatch run [OPTIONS] -- CMD…`; see `dogwatch run --help`"
            .to_owned();
    }
    let rendered = error.render().to_string();
    let before_usage = rendered.split("\n\nUsage:").next().unwrap_or_default();
    let before_usage = before_usage.split("\n\nFor more information").next().unwrap_or_default();
    let message = before_usage.strip_prefix("error: ").unwrap_or(before_usage);
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    format!("{}; see `{command} --help`", lines.join("; "))
}
