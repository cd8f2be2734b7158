//! What to run: program, arguments, environment, working folder, standard input.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where the leader's standard input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stdin {
    /// `/dev/null`: a read is at its end at once.
    #[default]
    Null,
    /// The caller's own. The leader has no controlling terminal, but may read one that it was handed.
    Inherit,
}

/// A command. The program is looked up in the `PATH` of the environment that the command gets, as `execvp(3)` does;
/// a script without `#!` is run by `/bin/sh`.
#[derive(Debug, Clone)]
pub struct Command {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) inherit_environment: bool,
    pub(crate) changes: Vec<(OsString, Option<OsString>)>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) stdin: Stdin,
}

impl Command {
    /// A command without arguments, with the caller's environment and working folder and no input.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            inherit_environment: true,
            changes: Vec::new(),
            cwd: None,
            stdin: Stdin::Null,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.changes.push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Takes an environment variable away.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.changes.push((name.as_ref().to_owned(), None));
        self
    }

    /// Starts from an empty environment instead of the caller's.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.inherit_environment = false;
        self.changes.clear();
        self
    }

    /// Sets the working folder. A relative program is looked up from there.
    #[must_use]
    pub fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.cwd = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets where standard input comes from.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// The program as it was given.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// The environment that the command will get.
    // The one place where this library reads the environment: a child inherits it.
    #[allow(clippy::disallowed_methods)]
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> =
            if self.inherit_environment { std::env::vars_os().collect() } else { Vec::new() };
        for (name, value) in &self.changes {
            all.retain(|(known, _)| known != name);
            if let Some(value) = value {
                all.push((name.clone(), value.clone()));
            }
        }
        all
    }
}
