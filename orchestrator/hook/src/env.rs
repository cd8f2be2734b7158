//! The only reader of environment variables. Everything else is handed what it needs.
//!
//! A value is passed on as it came; what it means is decided where it is used. Values are never written to disk, so no
//! message quotes one.

#![allow(clippy::disallowed_methods)]

use std::env::var_os;
use std::ffi::OsString;
use std::path::PathBuf;

/// The name of the variable that bounds the digest.
pub const SESSION_START_TIMEOUT: &str = "DOGWATCH_SESSION_START_TIMEOUT";

/// `DOGWATCH_SESSION_START_TIMEOUT` as it stands, in seconds if the person got it right.
pub fn session_start_timeout() -> Option<OsString> {
    var_os(SESSION_START_TIMEOUT)
}

/// The name of the variable that bounds the deferred network stage.
pub const NETWORK_TIMEOUT: &str = "DOGWATCH_NETWORK_TIMEOUT";

/// `DOGWATCH_NETWORK_TIMEOUT` as it stands, in seconds if the person got it right.
pub fn network_timeout() -> Option<OsString> {
    var_os(NETWORK_TIMEOUT)
}

/// Whether the person asked for text without colours (<https://no-color.org>: set and not empty).
pub fn no_color() -> bool {
    var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Whether the terminal says of itself that it can do nothing.
pub fn is_dumb_terminal() -> bool {
    var_os("TERM").is_some_and(|term| term == "dumb")
}

/// The person's home folder, `$HOME`. `None` where it is not set or not an absolute path.
pub fn home_folder() -> Option<PathBuf> {
    absolute(var_os("HOME"))
}

/// `$XDG_STATE_HOME/dogwatch`, by default `~/.local/state/dogwatch`: what dogwatch remembers outside of projects.
pub fn state_folder() -> Option<PathBuf> {
    base_folder(var_os("XDG_STATE_HOME"), home_folder(), ".local/state")
}

/// `$XDG_CONFIG_HOME/dogwatch`, by default `~/.config/dogwatch`: what the person set for every project.
pub fn config_folder() -> Option<PathBuf> {
    base_folder(var_os("XDG_CONFIG_HOME"), home_folder(), ".config")
}

/// A folder that a variable names; `None` where it is not set or no absolute path.
pub fn folder(name: &str) -> Option<PathBuf> {
    absolute(var_os(name))
}

/// As [`folder`], and `~/…` below the person's home folder: some programs take it so from a variable.
pub fn folder_or_tilde(name: &str) -> Option<PathBuf> {
    let value = PathBuf::from(var_os(name)?);
    match value.strip_prefix("~") {
        Ok(below) => home_folder().map(|home| home.join(below)),
        Err(_) => absolute(Some(value.into_os_string())),
    }
}

/// The session id that a harness tells its children, where it does. Only for a process that is known to be below it:
/// variables leak into children.
pub fn session_of(harness: &str) -> Option<String> {
    let name = match harness {
        "claude" => "CLAUDE_CODE_SESSION_ID",
        "grok" => "GROK_SESSION_ID",
        _ => return None,
    };
    let fits = |id: &String| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        (1..=128).contains(&id.len()) && id.bytes().all(inner) && !id.starts_with('.')
    };
    var_os(name)?.into_string().ok().filter(fits)
}

/// Whether a variable is there, be it empty.
pub fn is_set(name: &str) -> bool {
    var_os(name).is_some()
}

/// Whether a program of that name is found by the `PATH`.
pub fn is_on_path(program: &str) -> bool {
    find_on_path(program).is_some()
}

/// The first program of that name that the `PATH` finds, if it finds it in an absolute folder.
pub fn find_on_path(program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let path = var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(is_program)
        .filter(|path| path.is_absolute())
}

/// dogwatch's folder in an XDG base folder. The XDG base directory specification: a relative value counts as not set.
fn base_folder(value: Option<OsString>, home_folder: Option<PathBuf>, default: &str) -> Option<PathBuf> {
    absolute(value).or_else(|| Some(home_folder?.join(default))).map(|base| base.join("dogwatch"))
}

fn absolute(value: Option<OsString>) -> Option<PathBuf> {
    value.map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(value: Option<&str>, home: Option<&str>) -> Option<PathBuf> {
        base_folder(value.map(OsString::from), home.map(PathBuf::from), ".config")
    }

    #[test]
    fn an_absolute_base_folder_is_used() {
        assert_eq!(folder(Some("/x"), Some("/home/dev")), Some(PathBuf::from("/x/dogwatch")));
        assert_eq!(folder(Some("/x"), None), Some(PathBuf::from("/x/dogwatch")));
    }

    #[test]
    fn a_relative_or_empty_base_folder_counts_as_not_set() {
        let default = Some(PathBuf::from("/home/dev/.config/dogwatch"));
        assert_eq!(folder(Some("x"), Some("/home/dev")), default);
        assert_eq!(folder(Some(""), Some("/home/dev")), default);
        assert_eq!(folder(None, Some("/home/dev")), default);
    }

    #[test]
    fn without_a_home_folder_there_is_no_default() {
        assert_eq!(folder(None, None), None);
    }

    #[test]
    fn a_relative_home_folder_counts_as_not_set() {
        assert_eq!(absolute(Some("home".into())), None);
        assert_eq!(absolute(Some("".into())), None);
    }
}
