//! The only reader of environment variables in this crate.

#![allow(clippy::disallowed_methods)]

use std::ffi::OsString;
use std::path::PathBuf;

/// Names that a hook must not get from whoever runs the simulator: a harness around us, and the folders in which
/// programs of the real user keep their files.
const FOREIGN: &[&str] = &[
    "AI_AGENT",
    "ANTHROPIC_",
    "CLAUDE",
    "CODEX_",
    "CURSOR",
    "DOGWATCH_",
    "GEMINI_",
    "GROK_",
    "HARNESS_SIM_",
    "OPENAI_",
    "OPENCODE",
    "PI_",
    "XAI_",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Parts of names behind which secrets are kept.
const SECRET: &[&str] =
    &["API_KEY", "APIKEY", "AUTH", "CREDENTIAL", "PASSWD", "PASSWORD", "SECRET", "TOKEN", "_KEY"];

/// Whether a variable of this name may hold a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// Whether a hook may have a variable of this name from our environment.
fn passes(name: &str) -> bool {
    !is_secret(name) && !FOREIGN.iter().any(|beginning| name.starts_with(beginning))
}

/// What a hook inherits of our environment: neither secrets nor what belongs to a harness around us.
pub(crate) fn inherited() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| passes(&name.to_string_lossy())).collect()
}

/// The names of all variables; never what they hold.
pub(crate) fn names() -> Vec<String> {
    std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
}

/// The environment of a real CLI that a person has us start: all of theirs but the folders of the home.
pub(crate) fn for_a_cli() -> Vec<(OsString, OsString)> {
    let is_folder = |name: &str| name == "HOME" || (name.starts_with("XDG_") && name.ends_with("_HOME"));
    let ours = |name: &str| name.starts_with("HARNESS_SIM_");
    std::env::vars_os()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            !is_folder(&name) && !ours(&name)
        })
        .collect()
}

/// The search path.
pub(crate) fn path() -> Option<OsString> {
    std::env::var_os("PATH")
}

/// The person's shell.
pub(crate) fn shell() -> Option<PathBuf> {
    std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).map(PathBuf::from)
}

/// The program that plays the host, for callers that cannot call [`init`](crate::init): `HARNESS_SIM`, or
/// `harness-sim` on the search path.
pub(crate) fn host_program() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("HARNESS_SIM").filter(|program| !program.is_empty()) {
        return Some(program.into());
    }
    std::env::split_paths(&path()?).map(|folder| folder.join("harness-sim")).find(|program| program.is_file())
}

/// Where the host finds its simulator's socket; set by the simulator for the host only.
pub(crate) const HOST_SOCKET: &str = "HARNESS_SIM_HOST_SOCKET";

/// The value of [`HOST_SOCKET`].
pub(crate) fn host_socket() -> Option<PathBuf> {
    std::env::var_os(HOST_SOCKET).map(PathBuf::from)
}

/// The scratch folder that a keeper clears away; set by the simulator for the keeper only.
pub(crate) const KEPT_FOLDER: &str = "HARNESS_SIM_KEPT_FOLDER";

/// The value of [`KEPT_FOLDER`].
pub(crate) fn kept_folder() -> Option<PathBuf> {
    std::env::var_os(KEPT_FOLDER).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_secrets_nor_another_harnesss_variables_pass() {
        for name in ["PATH", "LANG", "TMPDIR", "SHELL", "CARGO_HOME", "KEYBOARD"] {
            assert!(passes(name), "{name}");
        }
        for name in [
            "GITHUB_TOKEN",
            "aws_secret_access_key",
            "NPM_AUTH",
            "DB_PASSWORD",
            "SSH_KEY",
            "CLAUDE_PROJECT_DIR",
            "CODEX_HOME",
            "XDG_STATE_HOME",
            "HARNESS_SIM_HOST_SOCKET",
        ] {
            assert!(!passes(name), "{name}");
        }
    }
}
