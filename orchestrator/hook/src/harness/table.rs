//! The harnesses, and how each one's process is recognised.

/// A harness.
#[derive(Debug, PartialEq, Eq)]
pub struct Harness {
    /// Its id on the command line and in files.
    pub id: &'static str,
    /// Its name in messages.
    pub name: &'static str,
    /// Names of its program: an executable's, an `argv[0]`'s, or a script's (a link in a `bin` folder).
    pub(super) programs: &'static [&'static str],
    /// Packages of a script interpreter that it comes in, as they stand below `node_modules`.
    pub(super) packages: &'static [&'static str],
    /// A folder that holds `versions/<version>`, where that is the program or the folder of it.
    pub(super) versioned: Option<&'static str>,
    /// A folder whose interpreter serves it, wherever in it that lies.
    pub(super) server: Option<&'static str>,
}

/// Every harness that dogwatch knows.
///
/// Claude Code, Codex: seen in recordings. Pi, OpenCode, Grok: their installers and packages. Cursor: as documented;
/// its editor counts as a harness, other editors do not.
pub static TABLE: [Harness; 6] = [
    Harness {
        id: "claude",
        name: "Claude Code",
        programs: &["claude"],
        packages: &["@anthropic-ai/claude-code", "@anthropic-ai/claude-agent-sdk"],
        versioned: Some("claude"),
        server: None,
    },
    Harness {
        id: "codex",
        name: "Codex",
        programs: &["codex"],
        packages: &["@openai/codex"],
        versioned: None,
        server: None,
    },
    Harness {
        id: "cursor",
        name: "Cursor",
        programs: &["cursor", "Cursor", "cursor-agent"],
        packages: &[],
        versioned: Some("cursor-agent"),
        server: Some(".cursor-server"),
    },
    Harness {
        id: "pi",
        name: "Pi",
        programs: &["pi"],
        packages: &["@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"],
        versioned: None,
        server: None,
    },
    Harness {
        id: "opencode",
        name: "OpenCode",
        programs: &["opencode", ".opencode"],
        packages: &["opencode-ai"],
        versioned: None,
        server: None,
    },
    Harness { id: "grok", name: "Grok", programs: &["grok"], packages: &[], versioned: None, server: None },
];
