//! `dogwatch install` and `dogwatch uninstall`: dogwatch's entries in the files that the harnesses read.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;

use super::{Failure, Surroundings, write_error, write_out};
use crate::config::printable;
use crate::digest::repository;
use crate::env;
use crate::harness::registration::{Form, Hook};
use crate::harness::{Harness, TABLE};
use crate::home::homes::Homes;
use crate::home::root::{GitPlace, find_root};
use crate::register::own::Program;
use crate::register::places::{Places, Scope};
use crate::register::{self, ApplyError, Change, Part, Store, diff};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the files of some harness were left alone; one line on stderr says which, where, and what to do
  2  the command line was wrong";

/// Register dogwatch in your coding agents.
///
/// Without a name: in those that are found on this machine. Everything else in their files stays as it is, a backup is
/// kept, and `dogwatch uninstall` takes it out again. Nothing happens in a project until `dogwatch init` has made a home
/// there.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Install {
    #[command(flatten)]
    what: What,
    /// Also keep three lines in the file of instructions, for sessions that no hook reaches
    #[arg(long)]
    instructions: bool,
}

/// Take dogwatch out of your coding agents.
///
/// Without a name: out of all of them. A file that nobody has edited since is given back byte for byte; in others only
/// what is dogwatch's goes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Uninstall {
    #[command(flatten)]
    what: What,
}

#[derive(Debug, clap::Args)]
struct What {
    /// Which agents
    #[arg(value_name = "HARNESS", value_parser = PossibleValuesParser::new(TABLE.iter().map(|harness| harness.id)))]
    harnesses: Vec<String>,
    /// Your own files: for you, in every project (the default)
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// The files of this project, to be committed: for everybody who works on it
    #[arg(long)]
    project: bool,
    /// Print what would change, as a diff, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl What {
    fn scope(&self) -> Scope {
        if self.project { Scope::Project } else { Scope::User }
    }

    fn named(&self) -> Vec<&'static Harness> {
        let mut named: Vec<&Harness> = Vec::new();
        for (harness, _) in self.harnesses.iter().filter_map(|name| Harness::by_name(name)) {
            if !named.contains(&harness) {
                named.push(harness);
            }
        }
        named
    }
}

/// What both commands work with.
struct Work<'a> {
    scope: Scope,
    places: Places<'a>,
    store: Store,
    dry_run: bool,
    text: String,
    has_failed: bool,
}

impl<'a> Work<'a> {
    fn new(
        what: &What,
        surroundings: &'a Surroundings,
        project: Option<&'a Path>,
    ) -> Result<Work<'a>, Failure> {
        refuse_for_somebody_else(surroundings.home_folder.as_deref())?;
        let state_folder = surroundings.state_folder.as_deref().ok_or_else(|| {
            Failure::new("no home folder is known to keep a backup in; set HOME to an absolute path")
        })?;
        Ok(Work {
            scope: what.scope(),
            places: places(surroundings, project),
            store: Store::new(state_folder),
            dry_run: what.dry_run,
            text: String::new(),
            has_failed: false,
        })
    }

    fn note(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}", printable(line, usize::MAX));
    }

    fn fail(&mut self, name: &str, failure: &Failure) {
        self.has_failed = true;
        write_error(&format!("{name}: {}", failure.message));
    }

    /// Tells of a change of one file, or why there is none.
    fn tell(&mut self, name: &str, result: Result<Change, ApplyError>, done: &str, not_needed: &str) {
        let change = match result {
            Ok(change) => change,
            Err(error) => {
                self.has_failed = true;
                write_error(&format!("{name}: {error}"));
                return;
            }
        };
        let path = change.path.display();
        if !change.is_one() {
            self.note(&format!("{name}: {path}: {not_needed}"));
        } else if self.dry_run {
            let difference = diff::unified(&change.path, change.before.as_deref(), change.after.as_deref());
            self.text.push_str(&difference);
        } else {
            let done = if change.after.is_none() { "removed" } else { done };
            self.note(&format!("{name}: {path}: {done}"));
            if let Some(backup) = &change.backup {
                self.note(&format!("  as it was: {}", backup.display()));
            }
        }
    }

    fn finish(self) -> Result<ExitCode, Failure> {
        write_out(&mut io::stdout(), &self.text)?;
        Ok(if self.has_failed { ExitCode::from(super::FAILED) } else { ExitCode::SUCCESS })
    }
}

/// What root makes in somebody's home folder they cannot undo.
fn refuse_for_somebody_else(home_folder: Option<&Path>) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    let Some(data) = home_folder.and_then(|folder| folder.metadata().ok()) else { return Ok(()) };
    if nix::unistd::geteuid().is_root() && data.uid() != 0 {
        return Err(Failure::new(format!(
            "{} belongs to user {}; run this as that user",
            home_folder.unwrap_or(Path::new("HOME")).display(),
            data.uid()
        )));
    }
    Ok(())
}

/// Refuses a file that a link of the repository moves out of the project.
fn refuse_outside(project: Option<&Path>, path: &Path) -> Result<(), Failure> {
    let Some(project) = project.and_then(|project| project.canonicalize().ok()) else { return Ok(()) };
    let there = path.ancestors().find_map(|above| above.canonicalize().ok());
    if there.as_deref().is_none_or(|there| there.starts_with(&project)) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{}: a link of the project leads out of it, to {}; nothing was written there",
        path.display(),
        there.unwrap_or_default().display()
    )))
}

/// Where the files of these surroundings are.
pub(super) fn places<'a>(surroundings: &'a Surroundings, project: Option<&'a Path>) -> Places<'a> {
    Places { home_folder: surroundings.home_folder.as_deref(), project, variable: env::folder_or_tilde }
}

/// The root of the project that a command was started in.
fn project_of(surroundings: &Surroundings) -> Result<PathBuf, Failure> {
    let root = find_root(&surroundings.folder, surroundings.home_folder.as_deref()).path;
    let is_home_folder = surroundings
        .home_folder
        .as_deref()
        .and_then(|folder| folder.canonicalize().ok())
        .is_some_and(|folder| root.canonicalize().is_ok_and(|root| root == folder));
    if is_home_folder {
        return Err(Failure::new(format!(
            "{} is your home folder and no project; leave out --project to install for yourself",
            root.display()
        )));
    }
    if root.parent().is_none() {
        return Err(Failure::new("/ is no project; run this in one".to_owned()));
    }
    if GitPlace::find(&root).is_none()
        && let Some(bare) = root.ancestors().find(|above| repository::is_git_dir(above))
    {
        let bare = bare.display();
        return Err(Failure::new(format!(
            "{bare}: a bare repository has no work tree; run this in a checkout of it"
        )));
    }
    Ok(root)
}

/// The harnesses that are found on this machine: by their program, or by their folder.
pub(super) fn found(places: &Places<'_>) -> Vec<&'static Harness> {
    let is_here = |harness: &&'static Harness| {
        harness.programs().iter().any(|program| env::is_on_path(program))
            || places.user_folder(harness).is_some_and(|folder| folder.is_dir())
    };
    TABLE.into_iter().filter(is_here).collect()
}

pub(super) fn install(arguments: &Install, surroundings: &Surroundings) -> Result<ExitCode, Failure> {
    let what = &arguments.what;
    let project = if what.project { Some(project_of(surroundings)?) } else { None };
    let mut work = Work::new(what, surroundings, project.as_deref())?;
    let mut harnesses = what.named();
    if harnesses.is_empty() {
        harnesses = found(&work.places);
    }
    if harnesses.is_empty() {
        let known: Vec<&str> = TABLE.iter().map(|harness| harness.id).collect();
        return Err(Failure::new(format!(
            "none of {} is found on this machine; name the ones to register in: `dogwatch install {}`",
            known.join(", "),
            known[0]
        )));
    }
    let program = match work.scope {
        Scope::User => Program::this()?,
        Scope::Project => Program::Bare,
    };
    let lock = if work.dry_run { None } else { Some(lock(&work.store)?) };
    let mut registered = Vec::new();
    for harness in harnesses {
        let Some(path) = work.places.registration(harness, work.scope) else {
            work.has_failed = true;
            write_error(&format!("{}: no home folder is known; set HOME to an absolute path", harness.name));
            continue;
        };
        if let Err(failure) = refuse_outside(project.as_deref(), &path) {
            work.fail(harness.name, &failure);
            continue;
        }
        let part = Part::Registration { harness, program: program.clone() };
        let result = register::install(&part, &path, &work.store, work.dry_run);
        let is_done = result.is_ok();
        work.tell(harness.name, result, &registered_words(harness), "registered already");
        if is_done {
            registered.push(harness);
        }
    }
    if arguments.instructions {
        put_instructions(&mut work, &registered, &program, project.as_deref());
    }
    drop(lock);
    if let (Some(project), false, Some(own_folder)) =
        (&project, work.dry_run, surroundings.state_folder.as_deref())
    {
        let common_dir = GitPlace::find(project).map(|git| git.common_dir);
        // A guard that does not know of it later goes by its built-in floor.
        let _ = Homes::new(own_folder).remember(project, common_dir.as_deref());
    }
    if !work.dry_run {
        afterwards(&mut work, &registered, surroundings, &program);
    }
    work.finish()
}

/// The events of a registration, for a person.
fn registered_words(harness: &Harness) -> String {
    match harness.registration.form {
        Form::Hooks { hooks, .. } => {
            let events: Vec<&str> = hooks.iter().map(|Hook { event, .. }| *event).collect();
            format!("registered {}", events.join(", "))
        }
        Form::Shim { .. } => "written".to_owned(),
    }
}

fn put_instructions(
    work: &mut Work<'_>,
    harnesses: &[&'static Harness],
    program: &Program,
    project: Option<&Path>,
) {
    let rerun = format!("{} open", crate::register::own::quoted(program.as_str()));
    let part = Part::Instructions { rerun };
    let mut done: Vec<PathBuf> = Vec::new();
    for harness in harnesses {
        match work.places.instructions(harness, work.scope) {
            Some(path) if done.contains(&path) => {}
            Some(path) => {
                done.push(path.clone());
                if let Err(failure) = refuse_outside(project, &path) {
                    work.fail("Instructions", &failure);
                    continue;
                }
                let result = register::install(&part, &path, &work.store, work.dry_run);
                work.tell("Instructions", result, "three lines added", "there already");
            }
            None => work.note(&format!("{}: no file of instructions of your own is known", harness.name)),
        }
    }
}

/// What is left to a person.
fn afterwards(
    work: &mut Work<'_>,
    harnesses: &[&'static Harness],
    surroundings: &Surroundings,
    program: &Program,
) {
    for harness in harnesses {
        let then = harness.registration.then;
        let sentences = match work.scope {
            Scope::User => then.user,
            Scope::Project => then.project,
        };
        for sentence in sentences {
            work.note(&format!("Left to you: {sentence}"));
        }
    }
    if harnesses.is_empty() {
        return;
    }
    if let Program::At(path) = program
        && ["/target/debug/", "/target/release/"].iter().any(|folder| path.contains(folder))
    {
        work.note(&format!(
            "Note: {path} is a build folder; `cargo install --locked --path orchestrator/hook` makes one that stays."
        ));
    }
    if work.scope == Scope::Project {
        work.note(
            "Note: everybody who works here needs dogwatch on the PATH; once the guard is registered, a machine \
             without it has its tools denied.",
        );
    }
    if find_root(&surroundings.folder, surroundings.home_folder.as_deref()).home().is_none() {
        work.note("There is no home here yet: nothing will happen until `dogwatch init`, in each project.");
    }
}

fn lock(store: &Store) -> Result<crate::home::state::Lock, Failure> {
    store.lock()?.ok_or_else(|| {
        Failure::new("another `dogwatch install` or `uninstall` is at work; try again when it is done")
    })
}

pub(super) fn uninstall(arguments: &Uninstall, surroundings: &Surroundings) -> Result<ExitCode, Failure> {
    let what = &arguments.what;
    let project = if what.project { Some(project_of(surroundings)?) } else { None };
    let mut work = Work::new(what, surroundings, project.as_deref())?;
    let named = what.named();
    let is_everything = named.is_empty();
    let harnesses = if is_everything { TABLE.to_vec() } else { named };
    let lock = if work.dry_run { None } else { Some(lock(&work.store)?) };
    // First, because the folder that it stands in may have been made for the registration.
    // A project has one file of instructions for all: it goes with the last of them.
    let is_last = is_everything
        || (work.scope == Scope::User)
        || !TABLE
            .iter()
            .any(|harness| !harnesses.contains(harness) && is_registered(&work.places, harness, work.scope));
    if is_last {
        let part = Part::Instructions { rerun: String::new() };
        let of_harness = |harness: &&'static Harness| work.places.instructions(harness, work.scope);
        // Once per file: all harnesses of a project share one.
        let files: BTreeSet<PathBuf> = harnesses.iter().filter_map(of_harness).collect();
        for path in files {
            take_out(&mut work, "Instructions", &part, &path, true);
        }
    }
    for harness in &harnesses {
        let Some(path) = work.places.registration(harness, work.scope) else { continue };
        let part = Part::Registration { harness, program: Program::Bare };
        if let Err(failure) = refuse_outside(project.as_deref(), &path) {
            if !is_everything {
                work.fail(harness.name, &failure);
            }
            continue;
        }
        take_out(&mut work, harness.name, &part, &path, is_everything);
    }
    drop(lock);
    if work.text.is_empty() && !work.has_failed {
        work.note("Nothing of dogwatch is registered there.");
    }
    work.finish()
}

/// `is_quiet`: says nothing where there was nothing.
fn take_out(work: &mut Work<'_>, name: &str, part: &Part, path: &Path, is_quiet: bool) {
    let result = register::uninstall(part, path, &work.store, work.dry_run);
    // A file of instructions that was never touched is nobody's concern here, whatever it is.
    if result.is_err() && matches!(part, Part::Instructions { .. }) && work.store.find(path).is_none() {
        return;
    }
    if is_quiet && result.as_ref().is_ok_and(|change| !change.is_one()) {
        return;
    }
    work.tell(name, result, "dogwatch is out of it", "nothing of dogwatch in it");
}

/// Whether anything of ours is in a harness's file.
fn is_registered(places: &Places<'_>, harness: &'static Harness, scope: Scope) -> bool {
    let Some(path) = places.registration(harness, scope) else { return false };
    let Ok(file) = register::Snapshot::read(&path) else { return false };
    let part = Part::Registration { harness, program: Program::Bare };
    file.content.is_some_and(|content| part.without(&content, None).is_ok_and(|without| without.was_there))
}
