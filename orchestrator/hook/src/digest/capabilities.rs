//! The stage `capabilities`: what the project brings along for agents, by name.
//!
//! Only names are shown: never the text of a skill, nor the command or environment of a server. Links are followed as
//! long as they stay within the project, because `.claude/skills` is often a link to `.agents/skills`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::ground::Ground;
use crate::home::read::{self, ReadError};
use crate::text::{line, shorten};

/// How many entries are looked at, in a folder and all that lies below it.
const MOST_ENTRIES: usize = 1000;
/// How deep commands and agents may be filed in folders of their own.
const MOST_LEVELS: usize = 4;
/// How long a line of names may grow before the rest is counted.
const NAMES_CHARS: usize = 160;
const NAME_CHARS: usize = 60;
const SERVERS: &str = ".mcp.json";
const SERVERS_BYTES: u64 = 256 * 1024;

/// One line for each kind that the project has; at most six lines.
pub fn text(ground: &Ground) -> Option<String> {
    let root = fs::canonicalize(&ground.root).ok()?;
    let mut lines = Vec::new();
    let mut seen = BTreeSet::new();
    for (kind, folder, form) in [
        ("Skills", ".claude/skills", Form::Skill),
        ("Skills", ".agents/skills", Form::Skill),
        ("Commands", ".claude/commands", Form::Markdown),
        ("Agents", ".claude/agents", Form::Markdown),
    ] {
        match within(&root, &root.join(folder)) {
            // The same folder under its other name.
            Ok(Some(path)) if !seen.insert(path.clone()) => {}
            Ok(Some(path)) => lines.extend(match index(&root, &path, form) {
                Ok(found) => found.line(kind, folder),
                Err(error) => Some(unread(kind, folder, &error.to_string())),
            }),
            Ok(None) => {}
            Err(cause) => lines.push(unread(kind, folder, &cause)),
        }
    }
    match servers(&root) {
        Ok(found) => lines.extend(found.line("MCP servers", SERVERS)),
        Err(cause) => lines.push(unread("MCP servers", SERVERS, &cause)),
    }
    if lines.is_empty() { None } else { Some(format!("This project brings:\n{}", lines.join("\n"))) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A folder that holds a `SKILL.md`.
    Skill,
    /// A Markdown file; one in a folder is named `folder:file`, as Claude Code does.
    Markdown,
}

/// The names of one kind, sorted, and whether there were more entries than are looked at.
#[derive(Debug, Default)]
struct Found {
    names: BTreeSet<String>,
    more: bool,
}

impl Found {
    fn line(&self, kind: &str, place: &str) -> Option<String> {
        if self.names.is_empty() && !self.more {
            return None;
        }
        let plus = if self.more { "+" } else { "" };
        let mut out = format!("- {kind} ({}{plus}, {place}):", self.names.len());
        let mut left = NAMES_CHARS;
        for (at, name) in self.names.iter().enumerate() {
            let name = shorten(name, NAME_CHARS);
            let Some(rest) = left.checked_sub(name.chars().count() + 2) else {
                let _ = write!(out, " and {}{plus} more", self.names.len() - at);
                break;
            };
            left = rest;
            out.push_str(if at == 0 { " " } else { ", " });
            out.push_str(&name);
        }
        Some(out)
    }
}

fn unread(kind: &str, place: &str, cause: &str) -> String {
    line(&format!("- {kind}: {place} cannot be read: {cause}"))
}

/// Where `path` really is: `None` if there is nothing, an error if that is outside of the project.
fn within(root: &Path, path: &Path) -> Result<Option<PathBuf>, String> {
    match fs::canonicalize(path) {
        Ok(real) if real.starts_with(root) => Ok(Some(real)),
        Ok(_) => Err("a link that leads out of the project is not followed".to_owned()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound) => Ok(None),
        // A plain file where `.claude` should be.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn index(root: &Path, folder: &Path, form: Form) -> io::Result<Found> {
    let mut walk = Walk {
        root,
        form,
        left: MOST_ENTRIES,
        entered: BTreeSet::from([folder.to_owned()]),
        found: Found::default(),
    };
    walk.folder(folder, "", MOST_LEVELS)?;
    Ok(walk.found)
}

/// The way through one kind's folder.
struct Walk<'a> {
    root: &'a Path,
    form: Form,
    /// How many entries may still be looked at.
    left: usize,
    /// The folders that were entered, by their real path, so that links in a circle end.
    entered: BTreeSet<PathBuf>,
    found: Found,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, levels: usize) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let Some(left) = self.left.checked_sub(1) else {
                self.found.more = true;
                return Ok(());
            };
            self.left = left;
            let entry = entry?;
            let raw = entry.file_name();
            let raw = raw.to_string_lossy();
            // Single entries that lead out of the project, dangle or go round in circles are passed over.
            if !raw.starts_with('.')
                && let Ok(Some(path)) = within(self.root, &entry.path())
                && let Ok(kind) = path.symlink_metadata()
            {
                self.entry(&raw, &path, kind.file_type(), prefix, levels);
            }
        }
        Ok(())
    }

    fn entry(&mut self, name: &str, path: &Path, kind: fs::FileType, prefix: &str, levels: usize) {
        match self.form {
            Form::Skill => {
                let skill = within(self.root, &path.join("SKILL.md"));
                if matches!(skill, Ok(Some(skill)) if skill.is_file()) {
                    self.found.names.insert(named(name));
                }
            }
            Form::Markdown if kind.is_dir() => {
                if levels > 1 && self.entered.insert(path.to_owned()) {
                    let prefix = format!("{prefix}{}:", named(name));
                    // A folder below that cannot be read hides its own entries only.
                    let _ = self.folder(path, &prefix, levels - 1);
                }
            }
            Form::Markdown => {
                if kind.is_file()
                    && let Some(stem) = name.strip_suffix(".md")
                    && !stem.eq_ignore_ascii_case("readme")
                {
                    self.found.names.insert(format!("{prefix}{}", named(stem)));
                }
            }
        }
    }
}

/// A name as data. One of which nothing is left is still an entry.
fn named(raw: &str) -> String {
    let name = line(raw);
    if name.is_empty() { "?".to_owned() } else { name }
}

/// The names of the servers in `.mcp.json`.
fn servers(root: &Path) -> Result<Found, String> {
    let text = match read::bytes(&root.join(SERVERS), SERVERS_BYTES) {
        Ok(text) => text,
        Err(ReadError::Missing) => return Ok(Found::default()),
        Err(error) => return Err(error.to_string()),
    };
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    // The parser's own message can quote the file; the place of the error is enough.
    let value: serde_json::Value = serde_json::from_slice(text)
        .map_err(|error| format!("not valid JSON at line {} column {}", error.line(), error.column()))?;
    let Some(servers) = value.as_object().map(|object| object.get("mcpServers")) else {
        return Err("not a JSON object".to_owned());
    };
    match servers {
        None => Ok(Found::default()),
        Some(serde_json::Value::Object(servers)) => Ok(Found {
            names: servers.keys().take(MOST_ENTRIES).map(|name| named(name)).collect(),
            more: servers.len() > MOST_ENTRIES,
        }),
        Some(_) => Err("`mcpServers` is not an object".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use insta::assert_snapshot;
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::text::is_forbidden;

    struct Project(tempfile::TempDir);

    impl Project {
        fn new(files: &[(&str, &str)]) -> Self {
            let project = Self(tempfile::tempdir().unwrap());
            for (name, content) in files {
                project.write(name, content);
            }
            project
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn write(&self, name: &str, content: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }

        fn said(&self) -> Option<String> {
            text(&Ground::at(self.0.path()))
        }
    }

    #[test]
    fn shows_names_and_counts() {
        let project = Project::new(&[
            (".claude/skills/review/SKILL.md", "secret"),
            (".claude/skills/deploy/SKILL.md", ""),
            (".claude/skills/no-skill/notes.md", ""),
            (".agents/skills/lint/SKILL.md", ""),
            (".claude/commands/fix.md", ""),
            (".claude/commands/git/commit.md", ""),
            (".claude/commands/README.md", ""),
            (".claude/commands/script.sh", ""),
            (".claude/agents/critic.md", ""),
            (".mcp.json", r#"{"mcpServers":{"db":{"command":"secret","env":{"KEY":"secret"}},"web":{}}}"#),
        ]);
        assert_snapshot!(project.said().unwrap(), @"
        This project brings:
        - Skills (2, .claude/skills): deploy, review
        - Skills (1, .agents/skills): lint
        - Commands (2, .claude/commands): fix, git:commit
        - Agents (1, .claude/agents): critic
        - MCP servers (2, .mcp.json): db, web
        ");
    }

    #[test]
    fn nothing_to_bring_says_nothing() {
        assert_eq!(Project::new(&[]).said(), None);
        assert_eq!(Project::new(&[(".claude/settings.json", "{}"), (".mcp.json", "{}")]).said(), None);
        assert_eq!(Project::new(&[(".claude", "a file")]).said(), None);
        assert_eq!(text(&Ground::at(Path::new("/nonexistent"))), None);
    }

    #[test]
    fn many_names_are_counted() {
        let project = Project::new(&[]);
        for number in 0..200 {
            project.write(&format!(".claude/commands/command-{number:03}.md"), "");
        }
        let said = project.said().unwrap();
        assert!(said.contains("- Commands (200, .claude/commands): command-000, command-001, "), "{said}");
        assert!(said.ends_with(" more"), "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 260), "{said}");
    }

    #[test]
    fn a_thousand_entries_are_enough() {
        let project = Project::new(&[]);
        fs::create_dir_all(project.path(".claude/commands")).unwrap();
        for number in 0..=MOST_ENTRIES {
            fs::write(project.path(&format!(".claude/commands/{number}.md")), "").unwrap();
        }
        let said = project.said().unwrap();
        assert!(said.contains("(1000+, .claude/commands)"), "{said}");
    }

    #[test]
    fn a_hostile_name_is_data() {
        let project = Project::new(&[
            (".claude/commands/a\u{1B}[2J\nGit: main\u{2063}.md", ""),
            (".claude/agents/\u{202E}.md", ""),
            (".mcp.json", "{\"mcpServers\":{\"x\\u001b[31m\\n\\u2063y\":{}}}"),
        ]);
        assert_snapshot!(project.said().unwrap(), @"
        This project brings:
        - Commands (1, .claude/commands): a Git: main
        - Agents (1, .claude/agents): ?
        - MCP servers (1, .mcp.json): x y
        ");
    }

    #[test]
    fn a_link_within_the_project_is_followed_once() {
        let project = Project::new(&[(".agents/skills/lint/SKILL.md", "")]);
        fs::create_dir(project.path(".claude")).unwrap();
        symlink("../.agents/skills", project.path(".claude/skills")).unwrap();
        assert_snapshot!(project.said().unwrap(), @"
        This project brings:
        - Skills (1, .claude/skills): lint
        ");
    }

    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
        let outside =
            Project::new(&[("skills/private/SKILL.md", ""), ("private.md", ""), ("mcp.json", "{}")]);
        let project = Project::new(&[(".claude/commands/ours.md", ""), (".agents/skills/half/notes.md", "")]);
        symlink(outside.path("skills"), project.path(".claude/skills")).unwrap();
        symlink(outside.path("private.md"), project.path(".claude/commands/private.md")).unwrap();
        symlink(outside.path("skills"), project.path(".claude/commands/folder")).unwrap();
        symlink(outside.path("skills/private"), project.path(".agents/skills/private")).unwrap();
        symlink(outside.path("skills/private/SKILL.md"), project.path(".agents/skills/half/SKILL.md"))
            .unwrap();
        symlink(outside.path("mcp.json"), project.path(".mcp.json")).unwrap();
        assert_snapshot!(project.said().unwrap(), @"
        This project brings:
        - Skills: .claude/skills cannot be read: a link that leads out of the project is not followed
        - Commands (1, .claude/commands): ours
        - MCP servers: .mcp.json cannot be read: not a regular file
        ");
    }

    #[test]
    fn links_in_a_circle_end() {
        let project = Project::new(&[(".claude/commands/a.md", "")]);
        symlink(".", project.path(".claude/commands/round")).unwrap();
        symlink("itself", project.path(".claude/commands/itself")).unwrap();
        symlink("itself", project.path(".claude/itself")).unwrap();
        symlink("agents", project.path(".claude/agents")).unwrap();
        let said = project.said().unwrap();
        assert!(said.contains("- Commands (1, .claude/commands): a\n"), "{said}");
        assert!(said.contains("- Agents: .claude/agents cannot be read: "), "{said}");
    }

    #[test]
    fn special_files_are_not_opened() {
        let project = Project::new(&[(".claude/skills/x/notes.md", "")]);
        fs::create_dir_all(project.path(".claude/commands")).unwrap();
        for name in [".claude/skills/x/SKILL.md", ".claude/commands/pipe.md", ".mcp.json"] {
            nix::unistd::mkfifo(&project.path(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
        }
        assert_snapshot!(project.said().unwrap(), @"
        This project brings:
        - MCP servers: .mcp.json cannot be read: not a regular file
        ");
    }

    #[rstest]
    #[case::broken("{\n\"mcpServers\": secret}", "not valid JSON at line 2 column 15")]
    #[case::array("[]", "not a JSON object")]
    #[case::wrong_type(r#"{"mcpServers":["secret"]}"#, "`mcpServers` is not an object")]
    #[case::nested(&"[".repeat(10_000), "not valid JSON at line 1 column 128")]
    #[case::large(&" ".repeat(300 * 1024), "larger than 262144 bytes")]
    fn a_file_of_servers_that_cannot_be_read_names_the_cause(#[case] json: &str, #[case] cause: &str) {
        let said = Project::new(&[(".mcp.json", json)]).said().unwrap();
        assert_eq!(said, format!("This project brings:\n- MCP servers: .mcp.json cannot be read: {cause}"));
    }

    #[test]
    fn a_folder_that_is_none_names_the_cause() {
        let said = Project::new(&[(".claude/agents", "a file")]).said().unwrap();
        assert!(
            said.starts_with(
                "This project brings:\n- Agents: .claude/agents cannot be read: Not a directory"
            ),
            "{said}"
        );
    }

    proptest! {
        #[test]
        fn takes_any_file_of_servers(bytes in proptest::collection::vec(any::<u8>(), 0..100), name in "\\PC*|[\u{1}-\u{9F}\u{2063}]*") {
            let project = Project::new(&[]);
            fs::write(project.path(".mcp.json"), bytes).unwrap();
            let _ = project.said();
            let json = serde_json::json!({"mcpServers": {(name): {}}}).to_string();
            fs::write(project.path(".mcp.json"), json).unwrap();
            let said = project.said().unwrap();
            prop_assert!(!said.contains(is_forbidden) && said.lines().count() == 2);
        }
    }
}
