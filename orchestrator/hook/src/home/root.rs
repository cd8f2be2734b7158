//! Where a project is: its root, its home, its git checkout. Git's files are read; git is not started.

use std::path::PathBuf;

/// A git checkout, as read from its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitPlace {
    /// The top of the work tree: the folder that holds `.git`.
    pub top: PathBuf,
    /// The git dir of this work tree (for a linked work tree `…/worktrees/<name>`).
    pub dir: PathBuf,
    /// The git dir that all work trees of the repository share.
    pub common_dir: PathBuf,
}
