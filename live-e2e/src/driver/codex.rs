//! Codex 0.171.0. Hooks that nobody has reviewed run by a flag; a project is trusted in the settings.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Driver, Interactive, Opens, Place, strings, write};

pub(super) struct Codex;

const TRUSTING: &str = "--dangerously-bypass-hook-trust";

impl Driver for Codex {
    fn prepare(&self, place: &Place) -> io::Result<()> {
        let (url, project) = (&place.model_url, place.project.display());
        let settings = format!(
            r#"model = "fake-1"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[projects."{project}"]
trust_level = "trusted"
"#
        );
        write(&place.home.join(".codex/config.toml"), &settings)
    }

    fn environment(&self, _: &Place) -> Vec<(&'static str, String)> {
        let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        vec![("FAKE_KEY", "made-up".to_owned()), ("SHELL", shell.to_owned())]
    }

    fn headless(&self, place: &Place, opens: Opens, prompt: &str) -> io::Result<Vec<String>> {
        let mut arguments = strings(["exec", TRUSTING, "--skip-git-repo-check"]);
        match opens {
            Opens::New => {}
            Opens::Continued => arguments.extend(strings(["resume", "--last"])),
            Opens::Forked => arguments.extend(["fork".to_owned(), last_session(&place.home)?]),
        }
        arguments.push(prompt.to_owned());
        Ok(arguments)
    }

    fn shell(&self) -> (&'static str, &'static str) {
        ("exec_command", "cmd")
    }

    fn interactive(&self, opens: Opens) -> Interactive {
        let mut arguments = match opens {
            Opens::New => Vec::new(),
            Opens::Continued => strings(["resume", "--last"]),
            Opens::Forked => strings(["fork", "--last"]),
        };
        // In the daemon hooks would outlive the session.
        arguments.extend(strings([TRUSTING, "--no-daemon"]));
        Interactive::Terminal(arguments)
    }
}

/// The id of the last session: the end of the name of its rollout.
fn last_session(home: &Path) -> io::Result<String> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = vec![home.join(".codex/sessions")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    // The time stands first in the name.
    found.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    let name = found.last().and_then(|path| path.file_stem()).unwrap_or_default().to_string_lossy();
    name.get(name.len().saturating_sub(36)..)
        .filter(|id| id.len() == 36)
        .map(str::to_owned)
        .ok_or_else(|| io::Error::other("Codex has kept no session"))
}
