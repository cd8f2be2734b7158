//! Where a project is: its root, its home, its git checkout. Git's files are read; git is not started.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::read;

/// The name of a home's folder.
pub const HOME: &str = ".dogwatch";
/// The most bytes of a file that holds one path: the longest path of Linux, and what git puts around it.
const PATH_FILE_LIMIT_BYTES: u64 = 8 * 1024;

/// A git checkout, as read from its files. All paths are real paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitPlace {
    /// The top of the work tree: the folder that holds `.git`.
    pub top: PathBuf,
    /// The git dir of this work tree (for a linked work tree `…/worktrees/<name>`).
    pub dir: PathBuf,
    /// The git dir that all work trees of the repository share.
    pub common_dir: PathBuf,
}

impl GitPlace {
    /// The checkout that a folder lies in: the nearest ancestor, itself included, with a `.git` that leads to a git
    /// dir. A `.git` that leads nowhere is passed over.
    pub fn find(start: &Path) -> Option<GitPlace> {
        real(start)?.ancestors().find_map(Self::at)
    }

    /// Whether this is a linked work tree rather than the repository's own.
    pub fn is_linked(&self) -> bool {
        self.dir != self.common_dir
    }

    /// The checkout whose top is this folder.
    fn at(top: &Path) -> Option<GitPlace> {
        let dot_git = top.join(".git");
        let kind = fs::metadata(&dot_git).ok()?;
        let dir = if kind.is_dir() { dot_git } else { path_in_file(&dot_git, b"gitdir: ", top)? };
        let dir = real(&dir)?;
        let common_dir = match path_in_file(&dir.join("commondir"), b"", &dir) {
            Some(common_dir) => real(&common_dir)?,
            None => dir.clone(),
        };
        // What git itself asks of a git dir. An empty folder named `.git` is none, and the search goes on above it.
        let is_git_dir = fs::symlink_metadata(dir.join("HEAD"))
            .is_ok_and(|head| head.is_file() || head.is_symlink())
            && common_dir.join("objects").is_dir()
            && common_dir.join("refs").is_dir();
        is_git_dir.then(|| GitPlace { top: top.to_owned(), dir, common_dir })
    }
}

/// What made a folder the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootKind {
    /// It holds a home.
    Home,
    /// There is no home; it is the top of the git checkout.
    GitTop,
    /// There is neither a home nor a git checkout; it is the start folder.
    Start,
}

/// The project that a folder belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The root; a real path.
    pub path: PathBuf,
    /// What made it the root.
    pub kind: RootKind,
    /// The git checkout that the start folder lies in, if there is one.
    pub git: Option<GitPlace>,
}

impl Root {
    /// The home, if there is one.
    pub fn home(&self) -> Option<PathBuf> {
        (self.kind == RootKind::Home).then(|| self.path.join(HOME))
    }
}

/// The root of a start folder: the nearest ancestor, itself included, that holds a home, looking no further up than
/// the top of the git checkout and the person's home folder; else the top of the checkout; else the start folder.
///
/// A home is a real folder named `.dogwatch`. A link of that name is none: a repository could point it anywhere.
pub fn find_root(start: &Path, home_folder: Option<&Path>) -> Root {
    // A folder that is gone, as after a checkout of another branch, lies where what is left above it lies.
    let there = start.ancestors().find_map(real);
    let start = real(start).unwrap_or_else(|| start.to_owned());
    let git = there.as_deref().and_then(GitPlace::find);
    let home_folder = home_folder.and_then(real);
    for folder in there.as_deref().unwrap_or(&start).ancestors() {
        if fs::symlink_metadata(folder.join(HOME)).is_ok_and(|home| home.is_dir()) {
            return Root { path: folder.to_owned(), kind: RootKind::Home, git };
        }
        if git.as_ref().is_some_and(|git| git.top == folder) || home_folder.as_deref() == Some(folder) {
            break;
        }
    }
    match &git {
        Some(place) => Root { path: place.top.clone(), kind: RootKind::GitTop, git },
        None => Root { path: start, kind: RootKind::Start, git: None },
    }
}

fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The path in a file of one line that begins with `prefix`; a relative one counts from `base`.
fn path_in_file(file: &Path, prefix: &[u8], base: &Path) -> Option<PathBuf> {
    let bytes = read::bytes(file, PATH_FILE_LIMIT_BYTES).ok()?;
    let path = bytes.strip_prefix(prefix)?.trim_ascii_end();
    if path.is_empty() || path.contains(&0) {
        return None;
    }
    Some(base.join(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use tempfile::TempDir;

    use super::*;

    fn scratch() -> (TempDir, PathBuf) {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().canonicalize().unwrap();
        (scratch, path)
    }

    fn folder(path: PathBuf) -> PathBuf {
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// A git dir with what git asks of one.
    fn git_dir(path: &Path) {
        folder(path.join("objects"));
        folder(path.join("refs"));
        fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    fn git(folder: &Path, arguments: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn a_plain_checkout_is_found_from_below() {
        let (_scratch, top) = scratch();
        git(&top, &["init", "-q"]);
        let below = folder(top.join("a/b"));
        let place = GitPlace::find(&below).unwrap();
        assert_eq!(place, GitPlace { top: top.clone(), dir: top.join(".git"), common_dir: top.join(".git") });
        assert!(!place.is_linked());
    }

    #[test]
    fn a_linked_work_tree_knows_its_own_dir_and_the_common_one() {
        let (_scratch, path) = scratch();
        let main = folder(path.join("main"));
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
        git(&main, &["worktree", "add", "-q", "../linked"]);
        let place = GitPlace::find(&path.join("linked")).unwrap();
        assert_eq!(place.top, path.join("linked"));
        assert_eq!(place.dir, main.join(".git/worktrees/linked"));
        assert_eq!(place.common_dir, main.join(".git"));
        assert!(place.is_linked());
    }

    #[test]
    fn a_submodule_is_a_checkout_of_its_own() {
        let (_scratch, top) = scratch();
        git_dir(&top.join(".git"));
        git_dir(&top.join(".git/modules/sub"));
        let sub = folder(top.join("sub"));
        fs::write(sub.join(".git"), "gitdir: ../.git/modules/sub\n").unwrap();
        let place = GitPlace::find(&sub).unwrap();
        assert_eq!((&place.top, &place.dir), (&sub, &top.join(".git/modules/sub")));
        assert!(!place.is_linked());
    }

    #[test]
    fn a_dot_git_that_leads_nowhere_is_passed_over() {
        let (_scratch, top) = scratch();
        git_dir(&top.join(".git"));
        let below = folder(top.join("below"));
        let dot_git = below.join(".git");
        let found = || GitPlace::find(&below).map(|place| place.top);

        fs::create_dir(&dot_git).unwrap();
        assert_eq!(found(), Some(top.clone()), "an empty folder");
        fs::remove_dir(&dot_git).unwrap();

        mkfifo(&dot_git, Mode::S_IRWXU).unwrap();
        assert_eq!(found(), Some(top.clone()), "a FIFO");
        fs::remove_file(&dot_git).unwrap();

        symlink(".git", &dot_git).unwrap();
        assert_eq!(found(), Some(top.clone()), "a link to itself");
        fs::remove_file(&dot_git).unwrap();

        for text in
            ["", "gitdir: ", "gitdir: \0", "gitdir: .git", "gitdir: /", "gitdir: ../missing", "nonsense"]
        {
            fs::write(&dot_git, text).unwrap();
            assert_eq!(found(), Some(top.clone()), "{text:?}");
        }
        fs::write(&dot_git, vec![b'x'; 1024 * 1024]).unwrap();
        assert_eq!(found(), Some(top.clone()), "a huge file");
    }

    #[test]
    fn a_common_dir_that_leads_nowhere_is_no_checkout() {
        let (_scratch, top) = scratch();
        git_dir(&top.join(".git"));
        fs::write(top.join(".git/commondir"), "../missing\n").unwrap();
        assert_eq!(GitPlace::find(&top), None);
        fs::write(top.join(".git/commondir"), "commondir\n").unwrap();
        assert_eq!(GitPlace::find(&top), None);
        fs::remove_file(top.join(".git/commondir")).unwrap();
        mkfifo(&top.join(".git/commondir"), Mode::S_IRWXU).unwrap();
        assert!(GitPlace::find(&top).is_some(), "a FIFO is not waited for");
    }

    #[test]
    fn a_path_that_is_no_text_is_followed() {
        let (_scratch, path) = scratch();
        let odd = path.join(OsStr::from_bytes(b"od\xffd"));
        git_dir(&odd);
        fs::write(path.join(".git"), [b"gitdir: ", odd.as_os_str().as_bytes(), b"\n"].concat()).unwrap();
        assert_eq!(GitPlace::find(&path).unwrap().dir, odd);
    }

    #[test]
    fn a_missing_start_has_no_checkout_and_is_its_own_root() {
        let (_scratch, path) = scratch();
        let missing = path.join("missing");
        assert_eq!(GitPlace::find(&missing), None);
        let root = find_root(&missing, Some(&path));
        assert_eq!((root.path, root.kind), (missing, RootKind::Start));
    }

    #[test]
    fn the_nearest_home_is_the_root() {
        let (_scratch, top) = scratch();
        git_dir(&top.join(".git"));
        folder(top.join(HOME));
        folder(top.join("a/.dogwatch"));
        let below = folder(top.join("a/b"));
        let root = find_root(&below, None);
        assert_eq!((&root.path, root.kind), (&top.join("a"), RootKind::Home));
        assert_eq!(root.home(), Some(top.join("a/.dogwatch")));
        assert_eq!(root.git.unwrap().top, top);
    }

    #[test]
    fn the_top_of_the_checkout_may_hold_the_home_and_nothing_above_it() {
        let (_scratch, path) = scratch();
        folder(path.join(HOME));
        let top = folder(path.join("top"));
        git_dir(&top.join(".git"));
        let below = folder(top.join("below"));
        let root = find_root(&below, None);
        assert_eq!((root.path.clone(), root.kind, root.home()), (top.clone(), RootKind::GitTop, None));
        folder(top.join(HOME));
        assert_eq!(find_root(&below, None).kind, RootKind::Home);
    }

    #[test]
    fn nothing_above_the_persons_home_folder_is_looked_at() {
        let (_scratch, path) = scratch();
        folder(path.join(HOME));
        let person = folder(path.join("person"));
        let work = folder(person.join("work"));
        let root = find_root(&work, Some(&person));
        assert_eq!((root.path, root.kind), (work.clone(), RootKind::Start));
        assert_eq!(find_root(&work, None).path, path, "without a known home folder there is no such limit");
        folder(person.join(HOME));
        assert_eq!(find_root(&work, Some(&person)).path, person);
    }

    #[test]
    fn links_on_the_way_do_not_move_the_limit() {
        let (_scratch, path) = scratch();
        folder(path.join(HOME));
        let person = folder(path.join("person"));
        let work = folder(person.join("work"));
        symlink(&person, path.join("link")).unwrap();
        let root = find_root(&path.join("link/work"), Some(&path.join("link")));
        assert_eq!((root.path, root.kind), (work, RootKind::Start));
    }

    #[test]
    fn a_home_that_is_a_link_or_a_file_is_none() {
        let (_scratch, path) = scratch();
        folder(path.join("elsewhere"));
        symlink(path.join("elsewhere"), path.join(HOME)).unwrap();
        assert_eq!(find_root(&path, Some(&path)).kind, RootKind::Start);
        fs::remove_file(path.join(HOME)).unwrap();
        fs::write(path.join(HOME), "").unwrap();
        assert_eq!(find_root(&path, Some(&path)).kind, RootKind::Start);
    }
}
