//! The coding agents that can be driven.

use std::fmt;

/// A coding agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Pi.
    Pi,
    /// OpenCode.
    OpenCode,
    /// Grok.
    Grok,
    /// Cursor's CLI. It cannot be installed from npm, nor be pointed at another model.
    Cursor,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Claude, Self::Codex, Self::Pi, Self::OpenCode, Self::Grok, Self::Cursor];

    /// The name by which dogwatch, the simulator, `clis.toml` and `DOGWATCH_LIVE_E2E` know it.
    pub fn id(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Pi => "pi",
            Self::OpenCode => "opencode",
            Self::Grok => "grok",
            Self::Cursor => "cursor",
        }
    }

    /// The agent of that name.
    pub fn by_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.id() == id)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
