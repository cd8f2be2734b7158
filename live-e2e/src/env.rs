//! The only reader of environment variables in this crate.

#![allow(clippy::disallowed_methods)]

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The variable that asks for live tests: names with commas between them, or `all`.
pub(crate) const ASKED: &str = "DOGWATCH_LIVE_E2E";
/// The variable that says where `scripts/install-clis` has put the programs.
pub(crate) const CLIS: &str = "DOGWATCH_LIVE_CLIS";
/// The variable that lets a CLI run with the person's own account.
pub(crate) const REAL: &str = "DOGWATCH_LIVE_REAL";

/// What is asked for, as it stands.
pub(crate) fn asked() -> Option<OsString> {
    std::env::var_os(ASKED)
}

/// The folder of the programs, where one is named.
pub(crate) fn clis() -> Option<PathBuf> {
    std::env::var_os(CLIS).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Whether the person's own account may be used.
pub(crate) fn is_real() -> bool {
    std::env::var_os(REAL).is_some_and(|value| value == "1")
}

/// The first program of that name that the `PATH` finds.
pub(crate) fn find_on_path(program: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(is_program)
}
