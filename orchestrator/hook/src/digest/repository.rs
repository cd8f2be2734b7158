//! The stage `repository`: the branch, and what is unusual about the checkout.
//!
//! The one `git` process that this takes is started by the caller, under a bound: [`command`] says which, [`render`]
//! reads what it printed, [`fallback`] stands in for it.

mod operation;
mod porcelain;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use self::porcelain::{Head, Status};
use super::ground::Ground;
use crate::home::read;
use crate::text::{line, line_bytes, shorten};

/// How many paths are named.
const MOST_PATHS: usize = 5;

/// What the process gets in its environment.
///
/// Nothing is written (no index refresh, hence no lock and no hook), nothing is asked of a person, and nothing is
/// fetched: a partial clone would fetch a missing blob through whatever transport its config names. Versions of git
/// before 2.44 do not know `GIT_NO_LAZY_FETCH`; there the empty list of protocols refuses every transport.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oControlMaster=no -oControlPath=none"),
    ("LC_ALL", "C"),
];

/// What the process must not inherit: within a git hook these point at another repository, index or config.
pub const NOT_INHERITED: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// The program and its arguments; `None` where there is no sign of git.
///
/// Outside of a checkout, in a bare repository or where `.git` leads nowhere, git is only asked what it makes of it.
///
/// A repository's own config can name programs. Those that `git status` could start are switched off: the file-system
/// monitor, hooks, automatic maintenance, a pager, and the `git status` of each submodule, which obeys that submodule's
/// config (so a submodule at another commit is seen, uncommitted work within one is not). `core.worktree` cannot lead
/// the walk out of the checkout. git's own check that the repository belongs to this user stays on, which is why the git
/// dir is discovered and not given.
///
/// What remains: a `filter.<name>.clean` or `.process` of the config, which git runs on a file whose attributes name it
/// and whose time stamp or size differs from the index. Without it every touched LFS file would count as changed. A
/// clone brings no config; whoever can write `.git/config` can run programs through any other git command, too.
pub fn command(ground: &Ground) -> Option<Vec<OsString>> {
    let is_odd = || is_bare(ground) || ground.root.join(".git").symlink_metadata().is_ok();
    let top = match &ground.git {
        Some(place) => place.top.as_os_str(),
        None if is_odd() => ground.root.as_os_str(),
        None => return None,
    };
    let mut argv: Vec<OsString> = [
        "git",
        "--no-pager",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "gc.auto=0",
        "-c",
        "maintenance.auto=false",
        "-C",
    ]
    .map(OsString::from)
    .into();
    argv.push(top.to_owned());
    if ground.git.is_none() {
        argv.extend(["rev-parse", "--is-bare-repository"].map(OsString::from));
        return Some(argv);
    }
    let mut work_tree = OsString::from("--work-tree=");
    work_tree.push(top);
    argv.push(work_tree);
    argv.extend(
        [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--ahead-behind",
            "--renames",
            "--untracked-files=normal",
            "--ignored=no",
            "--ignore-submodules=dirty",
        ]
        .map(OsString::from),
    );
    Some(argv)
}

/// Whether the root is a git dir itself, with no checkout around it: a bare repository.
pub fn is_bare(ground: &Ground) -> bool {
    ground.git.is_none() && is_git_dir(&ground.root)
}

/// Whether a folder has what git asks of a git dir.
pub fn is_git_dir(folder: &Path) -> bool {
    let head = folder.join("HEAD").symlink_metadata();
    head.is_ok_and(|head| head.is_file() || head.is_symlink())
        && folder.join("objects").is_dir()
        && folder.join("refs").is_dir()
}

/// One line if nothing is unusual, else a few: an operation that is under way, the first paths that differ.
///
/// `stdout` is what [`command`] printed; if it was cut, the counts say so.
pub fn render(ground: &Ground, stdout: &[u8]) -> Option<String> {
    let Some(place) = &ground.git else {
        let is_bare = stdout.trim_ascii() == b"true";
        return is_bare.then(|| "Git: a bare repository, without a work tree".to_owned());
    };
    let status = Status::parse(stdout);
    let head = match &status.head {
        Some(Head::Branch(name)) => data(name),
        Some(Head::Detached) => match &status.commit {
            Some(commit) => format!("detached at {}", short_id(commit)),
            None => "detached".to_owned(),
        },
        None => return fallback(ground, "`git status` printed nothing that can be read"),
    };
    let mut out = format!("Git: {head}");
    if status.unborn {
        out.push_str(", no commit yet");
    }
    let least = if status.cut { "at least " } else { "" };
    for (count, what) in [
        (status.conflicted, "conflicted"),
        (status.staged, "staged"),
        (status.changed, "changed"),
        (status.untracked, "untracked"),
    ] {
        if count > 0 {
            let _ = write!(out, ", {least}{count} {what}");
        }
    }
    if status.paths.is_empty() {
        out.push_str(if status.cut { ", state unknown" } else { ", clean" });
        if !status.cut && place.top.join(".gitmodules").symlink_metadata().is_ok() {
            out.push_str(" (work inside submodules not looked at)");
        }
    }
    if let Some(upstream) = &status.upstream {
        let name = data(upstream);
        match status.divergence {
            Some((0, 0)) => {}
            Some((ahead, 0)) => {
                let _ = write!(out, "; {ahead} ahead of {name}");
            }
            Some((0, behind)) => {
                let _ = write!(out, "; {behind} behind {name}");
            }
            Some((ahead, behind)) => {
                let _ = write!(out, "; diverged from {name}: {ahead} ahead, {behind} behind");
            }
            None if status.unborn => {}
            None => {
                let _ = write!(out, "; its upstream {name} does not exist");
            }
        }
    }
    for operation in operation::under_way(&place.dir) {
        out.push('\n');
        out.push_str(&operation);
    }
    let mut paths = status.paths;
    paths.sort_by_key(|path| path.kind);
    for path in paths.iter().take(MOST_PATHS) {
        let _ = write!(out, "\n  {} {}", line_bytes(&path.code), data(&path.path));
        if let Some(from) = &path.from {
            let _ = write!(out, " (was {})", data(from));
        }
    }
    if let Some(more) = paths.len().checked_sub(MOST_PATHS).filter(|&more| more > 0) {
        let _ = write!(out, "\n  and {least}{more} more");
    }
    Some(out)
}

/// One line for when git is missing, failed or took too long: the branch as git's files tell it, and `why`. To be called
/// only where there is a [`command`].
pub fn fallback(ground: &Ground, why: &str) -> Option<String> {
    let why = shorten(&line(why), 120).into_owned();
    let Some(place) = &ground.git else {
        let what = if is_bare(ground) { "a bare repository" } else { "`.git` leads to no repository" };
        return Some(format!("Git: {what}: {why}"));
    };
    let head = read::bytes(&place.dir.join("HEAD"), 4096).unwrap_or_default();
    let head = head.trim_ascii();
    let branch = match head.strip_prefix(b"ref: ") {
        // The files of a reftable repository name no branch.
        Some(b"refs/heads/.invalid") => "branch unknown".to_owned(),
        Some(name) => data(name.strip_prefix(b"refs/heads/").unwrap_or(name)),
        None if head.len() >= 40 && head.iter().all(u8::is_ascii_hexdigit) => {
            format!("detached at {}", short_id(head))
        }
        None => "branch unknown".to_owned(),
    };
    Some(format!("Git: {branch}; whether it is clean is not known: {why}"))
}

/// A name from the repository as data. One that had to be changed is marked: it is not the name that git knows.
fn data(name: &[u8]) -> String {
    let shown = line_bytes(name);
    if shown.as_bytes() == name { shown } else { format!("{shown} (name cleaned)") }
}

fn short_id(commit: &[u8]) -> String {
    line_bytes(&commit[..commit.len().min(9)])
}

#[cfg(test)]
mod tests;
