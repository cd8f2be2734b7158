//! Which programs there are: `clis.toml`, and what `scripts/install-clis` has made of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item};

use crate::agent::Agent;

/// The pinned versions.
const CATALOGUE: &str = include_str!("../clis.toml");

/// A program that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The program, and what comes before the arguments: for a script the Node that it runs under.
    pub command: Vec<OsString>,
    /// Its version.
    pub version: String,
}

/// Why a program cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// Nobody has looked which package it would be here.
    #[error("{0} is not pinned for {platform} in live-e2e/clis.toml", platform = platform())]
    NotPinned(Agent),
    /// It is not there, or it is another version.
    #[error("{agent} {version} is not in {}: run scripts/install-clis {agent}", folder.display())]
    NotInstalled {
        /// Which one.
        agent: Agent,
        /// The version that is pinned.
        version: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
}

/// The version that is pinned; `None` for one that cannot be had from npm.
pub fn pinned(agent: Agent) -> Option<String> {
    text(&catalogue(), &[agent.id(), "version"])
}

/// The program of an agent in the folder that `scripts/install-clis` fills.
///
/// # Errors
/// [`Missing`].
pub fn installed(agent: Agent, folder: &Path) -> Result<Installed, Missing> {
    let catalogue = catalogue();
    let version = pinned(agent).ok_or(Missing::NotPinned(agent))?;
    let Some(program) = text(&catalogue, &[agent.id(), &platform(), "program"]) else {
        return Err(Missing::NotPinned(agent));
    };
    let missing = || Missing::NotInstalled { agent, version: version.clone(), folder: folder.to_owned() };
    let path = in_place(&catalogue, agent.id(), folder, &program).ok_or_else(missing)?;
    let mut command = Vec::new();
    if is_true(&catalogue, &[agent.id(), &platform(), "node"]) {
        command.push(node(folder).ok_or_else(missing)?.into_os_string());
    }
    command.push(path.into_os_string());
    Ok(Installed { command, version })
}

/// The Node that was installed beside them.
pub fn node(folder: &Path) -> Option<PathBuf> {
    let catalogue = catalogue();
    let program = text(&catalogue, &["node", &platform(), "program"])?;
    in_place(&catalogue, "node", folder, &program)
}

/// A program that is there and was put there by the script, at the version that is pinned now.
fn in_place(catalogue: &DocumentMut, name: &str, folder: &Path, program: &str) -> Option<PathBuf> {
    let value = |key| text(catalogue, &[name, &platform(), key]);
    let stamp = std::fs::read_to_string(folder.join(name).join("stamp")).ok()?;
    let mut expected = format!("{} {}", value("package")?, value("integrity")?);
    if let Some(beside) = value("beside") {
        expected = format!("{expected} {beside} {}", value("beside_integrity")?);
    }
    let path = folder.join(name).join(program);
    (stamp.trim_end() == expected && path.is_file()).then_some(path)
}

fn catalogue() -> DocumentMut {
    CATALOGUE.parse().expect("a test reads it")
}

fn item<'a>(catalogue: &'a DocumentMut, keys: &[&str]) -> Option<&'a Item> {
    keys.iter().try_fold(catalogue.as_item(), |item, key| item.get(key))
}

fn text(catalogue: &DocumentMut, keys: &[&str]) -> Option<String> {
    item(catalogue, keys)?.as_str().map(str::to_owned)
}

fn is_true(catalogue: &DocumentMut, keys: &[&str]) -> bool {
    item(catalogue, keys).and_then(Item::as_bool) == Some(true)
}

/// As npm names it.
fn platform() -> String {
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}-{machine}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_pinned_names_package_integrity_and_program() {
        let catalogue = catalogue();
        let mut pinned = 0;
        for (name, table) in catalogue.iter() {
            let version = table["version"].as_str().unwrap();
            for (platform, table) in table.as_table().unwrap().iter().filter(|(_, item)| item.is_table()) {
                let (_, of_package) = table["package"].as_str().unwrap().rsplit_once('@').unwrap();
                assert!(of_package.starts_with(version), "{name} {platform}: {version}");
                let integrity = table["integrity"].as_str().unwrap();
                assert!(integrity.starts_with("sha512-") && integrity.len() == 95, "{name} {platform}");
                assert!(table["program"].as_str().is_some(), "{name} {platform}");
                pinned += 1;
            }
        }
        assert!(pinned >= 6, "{pinned}");
        for agent in Agent::ALL.into_iter().filter(|agent| *agent != Agent::Cursor) {
            assert!(text(&catalogue, &[agent.id(), "version"]).is_some(), "{agent}");
        }
    }

    #[test]
    fn a_program_counts_only_with_the_stamp_of_this_version() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("claude");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("claude"), "").unwrap();
        std::fs::write(place.join("stamp"), "another sha512-x\n").unwrap();
        let error = installed(Agent::Claude, folder.path()).unwrap_err();
        assert!(matches!(error, Missing::NotInstalled { .. }), "{error}");
        assert!(error.to_string().contains("scripts/install-clis claude"), "{error}");
        let catalogue = catalogue();
        let value = |key| text(&catalogue, &["claude", &platform(), key]).unwrap();
        std::fs::write(place.join("stamp"), format!("{} {}\n", value("package"), value("integrity")))
            .unwrap();
        let found = installed(Agent::Claude, folder.path()).unwrap();
        assert_eq!(found.command, [place.join("claude").into_os_string()]);
    }

    #[test]
    fn what_cannot_be_had_from_npm_is_not_pinned() {
        assert_eq!(installed(Agent::Cursor, Path::new("/")), Err(Missing::NotPinned(Agent::Cursor)));
    }
}
