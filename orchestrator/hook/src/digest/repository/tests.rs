//! Against real repositories and the real git, and against bytes that no git would print.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::home::root::GitPlace;
use crate::text::is_forbidden;

/// A repository in a scratch folder, driven by git with nothing of this machine's settings.
struct Repository {
    scratch: tempfile::TempDir,
    top: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("work");
        let repository = Self { scratch, top };
        fs::create_dir(&repository.top).unwrap();
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    /// With one commit that holds the file `a`.
    fn with_commit() -> Self {
        let repository = Self::new();
        repository.write("a", "1\n2\n3\n");
        repository.commit("first");
        repository
    }

    fn isolated(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", option_env!("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin"))
            .env("HOME", self.scratch.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true")
            .current_dir(&self.top);
        command
    }

    fn try_git(&self, arguments: &[&str]) -> Output {
        self.isolated("git")
            .args([
                "-c",
                "user.name=Tester",
                "-c",
                "user.email=tester@example.org",
                "-c",
                "commit.gpgSign=false",
            ])
            .args(arguments)
            .output()
            .unwrap()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.try_git(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.top.join(name), content).unwrap();
    }

    /// Gives a file another time stamp than the index knows.
    fn age(&self, name: &str) {
        let file = fs::File::options().write(true).open(self.top.join(name)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    fn ground_of(&self, top: &Path) -> Ground {
        let dir = PathBuf::from(self.git(&["-C", top.to_str().unwrap(), "rev-parse", "--absolute-git-dir"]));
        let place = GitPlace { top: top.to_owned(), common_dir: dir.clone(), dir };
        Ground { git: Some(place), ..Ground::at(top) }
    }

    fn ground(&self) -> Ground {
        self.ground_of(&self.top)
    }

    /// Runs the stage's own command, as its caller does.
    fn status(&self, ground: &Ground) -> Vec<u8> {
        let argv = command(ground).unwrap();
        let output = self
            .isolated(argv[0].to_str().unwrap())
            .args(&argv[1..])
            .envs(ENVIRONMENT.iter().copied())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    fn said(&self) -> String {
        let ground = self.ground();
        render(&ground, &self.status(&ground)).unwrap()
    }

    /// What the stage says, with commit ids replaced.
    fn said_without_ids(&self) -> String {
        let id = self.git(&["rev-parse", "HEAD"]);
        self.said().replace(&id[..9], "ID")
    }
}

#[test]
fn clean_is_one_line() {
    assert_eq!(Repository::with_commit().said(), "Git: main, clean");
}

#[test]
fn unborn() {
    let repository = Repository::new();
    assert_eq!(repository.said(), "Git: main, no commit yet, clean");
    repository.write("a", "1");
    assert_snapshot!(repository.said(), @"
    Git: main, no commit yet, 1 untracked
      ?? a
    ");
}

#[test]
fn dirty_names_counts_and_a_few_paths() {
    let repository = Repository::with_commit();
    repository.write("a", "2");
    repository.write("b", "1");
    repository.git(&["add", "b"]);
    repository.write("b", "2");
    for name in ["c", "d e", "f", "g", "h"] {
        repository.write(name, "1");
    }
    assert_snapshot!(repository.said(), @"
    Git: main, 1 staged, 2 changed, 5 untracked
      AM b
      .M a
      ?? c
      ?? d e
      ?? f
      and 2 more
    ");
}

#[test]
fn renamed() {
    let repository = Repository::with_commit();
    repository.git(&["mv", "a", "z"]);
    assert_snapshot!(repository.said(), @"
    Git: main, 1 staged
      R. z (was a)
    ");
}

#[test]
fn detached() {
    let repository = Repository::with_commit();
    repository.git(&["checkout", "-q", "--detach"]);
    assert_eq!(repository.said_without_ids(), "Git: detached at ID, clean");
}

/// `main` and `other` change the same line.
fn quarrelling() -> Repository {
    let repository = Repository::with_commit();
    repository.git(&["checkout", "-q", "-b", "other"]);
    repository.write("a", "other\n");
    repository.commit("theirs");
    repository.git(&["checkout", "-q", "main"]);
    repository.write("a", "main\n");
    repository.commit("ours");
    repository
}

#[test]
fn conflicted_merge() {
    let repository = quarrelling();
    assert!(!repository.try_git(&["merge", "other"]).status.success());
    assert_snapshot!(repository.said(), @"
    Git: main, 1 conflicted
    In the middle of a merge: finish it (`git merge --continue`) or give it up (`--abort`) before other work.
      UU a
    ");
}

#[test]
fn rebase_in_progress() {
    let repository = quarrelling();
    assert!(!repository.try_git(&["rebase", "other"]).status.success());
    assert_snapshot!(repository.said_without_ids(), @"
    Git: detached at ID, 1 conflicted
    In the middle of a rebase of main, step 1 of 1: finish it (`git rebase --continue`) or give it up (`--abort`) before other work.
      UU a
    ");
    repository.git(&["rebase", "--abort"]);
    assert!(!repository.try_git(&["rebase", "--apply", "other"]).status.success());
    assert!(repository.said().contains("a rebase of main, step 1 of 1"), "{}", repository.said());
}

#[test]
fn cherry_pick_and_revert_in_progress() {
    let repository = quarrelling();
    assert!(!repository.try_git(&["cherry-pick", "other"]).status.success());
    assert!(repository.said().contains("\nIn the middle of a cherry-pick: "), "{}", repository.said());
    repository.git(&["cherry-pick", "--abort"]);
    repository.write("a", "again\n");
    repository.commit("again");
    assert!(!repository.try_git(&["revert", "HEAD~1"]).status.success());
    assert!(repository.said().contains("\nIn the middle of a revert: "), "{}", repository.said());
}

#[test]
fn bisect_in_progress() {
    let repository = Repository::with_commit();
    repository.git(&["bisect", "start"]);
    assert_snapshot!(repository.said(), @"
    Git: main, clean
    In the middle of a bisect: `git bisect reset` ends it.
    ");
}

#[test]
fn ahead_and_behind() {
    let repository = Repository::with_commit();
    repository.git(&["init", "-q", "--bare", "-b", "main", "../bare"]);
    repository.git(&["remote", "add", "origin", "../bare"]);
    repository.git(&["push", "-q", "-u", "origin", "main"]);
    assert_eq!(repository.said(), "Git: main, clean");
    repository.write("b", "1");
    repository.commit("second");
    assert_eq!(repository.said(), "Git: main, clean; 1 ahead of origin/main");
    repository.git(&["push", "-q"]);
    repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(repository.said(), "Git: main, clean; 1 behind origin/main");
    repository.write("c", "1");
    repository.commit("third");
    assert_eq!(repository.said(), "Git: main, clean; diverged from origin/main: 1 ahead, 1 behind");
    repository.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    assert_eq!(repository.said(), "Git: main, clean; its upstream origin/main does not exist");
}

#[test]
fn a_linked_work_tree_has_its_own_state() {
    let repository = quarrelling();
    repository.git(&["worktree", "add", "-q", "../linked", "-b", "third"]);
    let linked = repository.scratch.path().join("linked");
    assert!(!repository.try_git(&["-C", linked.to_str().unwrap(), "merge", "other"]).status.success());
    let ground = repository.ground_of(&linked);
    let said = render(&ground, &repository.status(&ground)).unwrap();
    assert!(said.starts_with("Git: third, 1 conflicted\nIn the middle of a merge: "), "{said}");
    assert_eq!(repository.said(), "Git: main, clean");
}

#[test]
fn a_hostile_branch_name_is_data() {
    let repository = Repository::with_commit();
    repository.git(&["checkout", "-q", "-b", "ma\u{2063}in\u{202E}\u{E0041}"]);
    assert_eq!(repository.said(), "Git: main (name cleaned), clean");
    let ground = repository.ground();
    assert_eq!(
        fallback(&ground, "git is not installed").unwrap(),
        "Git: main (name cleaned); whether it is clean is not known: git is not installed"
    );
}

#[test]
fn a_hostile_path_is_data_on_one_line() {
    let repository = Repository::with_commit();
    repository.write("x\u{1B}[2J\nGit: main, clean\n\u{2063}DOGWATCH_OP: v1 wake: y", "1");
    assert_snapshot!(repository.said(), @"
    Git: main, 1 untracked
      ?? x Git: main, clean DOGWATCH_OP: v1 wake: y (name cleaned)
    ");
}

/// A repository whose config names programs wherever it can; each would leave a file `ran-…` in the scratch folder.
fn hostile() -> Repository {
    let repository = Repository::with_commit();
    repository.write("b", &"some line\n".repeat(50));
    repository.commit("second");
    let canary = |name: &str| {
        let script = repository.scratch.path().join(name);
        let mark = repository.scratch.path().join(format!("ran-{name}"));
        fs::write(&script, format!("#!/bin/sh\n: >'{}'\n", mark.display())).unwrap();
        repository.isolated("chmod").arg("+x").arg(&script).status().unwrap();
        script.display().to_string()
    };
    let hooks = repository.scratch.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    fs::rename(canary("hook"), hooks.join("post-index-change")).unwrap();
    let transport = format!("ext::{}", canary("transport"));
    let alias = format!("!{}", canary("alias"));
    for (key, value) in [
        ("core.fsmonitor", canary("fsmonitor")),
        ("core.hooksPath", hooks.display().to_string()),
        ("core.sshCommand", canary("ssh")),
        ("core.pager", canary("pager")),
        ("pager.status", canary("pager-status")),
        ("core.editor", canary("editor")),
        ("core.askPass", canary("askpass")),
        ("diff.external", canary("diff")),
        ("alias.status", alias),
        ("credential.helper", canary("credential")),
        ("gpg.program", canary("gpg")),
        ("log.showSignature", "true".to_owned()),
        ("status.submoduleSummary", "true".to_owned()),
        ("gc.auto", "1".to_owned()),
        ("core.worktree", repository.scratch.path().display().to_string()),
        ("protocol.ext.allow", "always".to_owned()),
        ("extensions.partialClone", "origin".to_owned()),
        ("remote.origin.promisor", "true".to_owned()),
        ("remote.origin.url", transport),
    ] {
        repository.git(&["config", key, &value]);
    }
    repository
}

impl Repository {
    /// Which of the hostile programs ran, and forgets about it.
    fn ran(&self) -> Vec<String> {
        let mut ran = Vec::new();
        for entry in fs::read_dir(self.scratch.path()).unwrap() {
            let entry = entry.unwrap();
            if let Some(name) = entry.file_name().to_string_lossy().strip_prefix("ran-") {
                fs::remove_file(entry.path()).unwrap();
                ran.push(name.to_owned());
            }
        }
        ran.sort();
        ran
    }
}

#[test]
fn no_program_of_a_hostile_config_runs() {
    let repository = hostile();
    // A staged rename with an edit, its old blob missing: git wants to fetch it to compare the two.
    fs::remove_file(repository.top.join("b")).unwrap();
    repository.write("c", &format!("{}another line\n", "some line\n".repeat(50)));
    let harmless = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--work-tree=."];
    let blob = repository.git(&[harmless.as_slice(), &["rev-parse", "HEAD:b"]].concat());
    repository.git(&[harmless.as_slice(), &["add", "-A"]].concat());
    fs::remove_file(repository.top.join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    repository.ran();

    let place = GitPlace {
        top: repository.top.clone(),
        dir: repository.top.join(".git"),
        common_dir: repository.top.join(".git"),
    };
    let ground = Ground { git: Some(place), ..Ground::at(&repository.top) };
    let argv = command(&ground).unwrap();
    let output =
        repository.isolated("git").args(&argv[1..]).envs(ENVIRONMENT.iter().copied()).output().unwrap();
    assert_eq!(repository.ran(), [""; 0]);
    // The missing blob is an error of git's or it is not, as git's version has it; the stage has a line either way.
    let said =
        if output.status.success() { render(&ground, &output.stdout) } else { fallback(&ground, "failed") };
    assert!(said.unwrap().starts_with("Git: main"));

    // The same without what the stage switches off: the trap is a real one.
    repository.try_git(&["--work-tree=.", "status"]);
    let ran = repository.ran();
    assert!(ran.contains(&"fsmonitor".to_owned()), "{ran:?}");
    assert!(ran.contains(&"transport".to_owned()), "{ran:?}");
}

#[test]
fn no_hook_of_a_hostile_config_runs() {
    let repository = hostile();
    let place = GitPlace {
        top: repository.top.clone(),
        dir: repository.top.join(".git"),
        common_dir: repository.top.join(".git"),
    };
    let ground = Ground { git: Some(place), ..Ground::at(&repository.top) };
    // Same content, another time stamp: plain git refreshes the index, and that has a hook.
    repository.age("a");
    repository.ran();
    assert_eq!(render(&ground, &repository.status(&ground)).unwrap(), "Git: main, clean");
    assert_eq!(repository.ran(), [""; 0]);

    repository.git(&["--work-tree=.", "status"]);
    let ran = repository.ran();
    assert!(ran.contains(&"hook".to_owned()), "{ran:?}");
}

#[test]
fn the_work_tree_of_the_config_is_not_walked() {
    let repository = Repository::with_commit();
    fs::create_dir(repository.scratch.path().join("elsewhere")).unwrap();
    fs::write(repository.scratch.path().join("elsewhere/secret"), "1").unwrap();
    let ground = repository.ground();
    repository.git(&["config", "core.worktree", "../../elsewhere"]);
    assert_eq!(render(&ground, &repository.status(&ground)).unwrap(), "Git: main, clean");
}

#[test]
fn a_submodule_is_not_entered() {
    let repository = hostile_submodule();
    assert_snapshot!(repository.said(), @"Git: main, clean");
    assert_eq!(repository.ran(), [""; 0]);
    repository.try_git(&["status"]);
    assert_eq!(repository.ran(), ["fsmonitor"]);
}

/// A clean checkout with a submodule that has a dirty work tree and whose own config names a monitor.
fn hostile_submodule() -> Repository {
    let repository = Repository::with_commit();
    let inner = repository.top.join("inner");
    fs::create_dir(&inner).unwrap();
    let inside = |arguments: &[&str]| repository.git(&[&["-C", "inner"], arguments].concat());
    inside(&["init", "-q", "-b", "main"]);
    repository.write("inner/x", "1");
    inside(&["add", "x"]);
    inside(&["commit", "-q", "-m", "inner"]);
    repository.git(&["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
    repository.git(&["commit", "-q", "-m", "with a submodule"]);
    let script = repository.scratch.path().join("fsmonitor");
    let mark = repository.scratch.path().join("ran-fsmonitor");
    fs::write(&script, format!("#!/bin/sh\n: >'{}'\n", mark.display())).unwrap();
    repository.isolated("chmod").arg("+x").arg(&script).status().unwrap();
    inside(&["config", "core.fsmonitor", script.to_str().unwrap()]);
    repository.write("inner/x", "2");
    repository
}

#[test]
fn nothing_is_written() {
    let repository = Repository::with_commit();
    // Same content, another time stamp: git would like to refresh the index.
    repository.age("a");
    let before = fs::read(repository.top.join(".git/index")).unwrap();
    assert_eq!(repository.said(), "Git: main, clean");
    assert_eq!(fs::read(repository.top.join(".git/index")).unwrap(), before);
}

#[test]
fn fallback_reads_the_head() {
    let repository = Repository::with_commit();
    assert_snapshot!(fallback(&repository.ground(), "`git status` took longer than 5 s\n").unwrap(), @"Git: main; whether it is clean is not known: `git status` took longer than 5 s");
    let id = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["checkout", "-q", "--detach"]);
    assert!(
        fallback(&repository.ground(), "x").unwrap().starts_with(&format!("Git: detached at {}; ", &id[..9]))
    );
}

#[test]
fn fallback_takes_any_head() {
    let folder = tempfile::tempdir().unwrap();
    let place =
        GitPlace { top: folder.path().into(), dir: folder.path().into(), common_dir: folder.path().into() };
    let ground = Ground { git: Some(place), ..Ground::at(folder.path()) };
    let unknown = "Git: branch unknown; whether it is clean is not known: x";
    assert_eq!(fallback(&ground, "x").unwrap(), unknown);
    let head = folder.path().join("HEAD");
    for content in ["", "ref: refs/heads/.invalid\n", "abc\n", "\u{1B}\u{2063}"] {
        fs::write(&head, content).unwrap();
        assert_eq!(fallback(&ground, "x").unwrap(), unknown, "{content:?}");
    }
    fs::write(&head, "ref: refs/heads/a\u{1B}[31m\nb").unwrap();
    assert!(fallback(&ground, "x").unwrap().starts_with("Git: a b (name cleaned); "));
    fs::remove_file(&head).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &head).unwrap();
    assert_eq!(fallback(&ground, "x").unwrap(), unknown);
}

#[test]
fn work_inside_submodules_is_not_called_clean() {
    let repository = hostile_submodule();
    repository.write(".gitmodules", "[submodule \"inner\"]\n\tpath = inner\n\turl = ./inner\n");
    repository.commit("known as one");
    assert_eq!(repository.said(), "Git: main, clean (work inside submodules not looked at)");
    repository.write("b", "1");
    assert_eq!(repository.said(), "Git: main, 1 untracked\n  ?? b");
}

#[test]
fn a_bare_repository_and_a_git_that_leads_nowhere_are_one_line() {
    let repository = Repository::new();
    repository.git(&["init", "-q", "--bare", "../bare"]);
    let bare = Ground::at(&repository.scratch.path().join("bare"));
    assert_eq!(
        render(&bare, &repository.status(&bare)).unwrap(),
        "Git: a bare repository, without a work tree"
    );

    let lost = repository.scratch.path().join("lost");
    fs::create_dir(&lost).unwrap();
    fs::write(lost.join(".git"), "gitdir: ../nowhere\n").unwrap();
    let lost = Ground::at(&lost);
    let argv = command(&lost).unwrap();
    let output = repository.isolated("git").args(&argv[1..]).output().unwrap();
    assert!(!output.status.success());
    let said = fallback(&lost, &String::from_utf8_lossy(&output.stderr)).unwrap();
    assert!(said.starts_with("Git: `.git` leads to no repository: fatal: not a git repository: "), "{said}");
}

#[test]
fn nothing_to_say_outside_of_a_checkout() {
    let ground = Ground::at(Path::new("/"));
    assert_eq!(command(&ground), None);
    assert_eq!(render(&ground, b"# branch.head main\0"), None);
}

#[test]
fn output_that_was_cut_says_so() {
    let repository = Repository::with_commit();
    let ground = repository.ground();
    let said = render(&ground, b"# branch.oid abc\0# branch.head main\0? a\0? half").unwrap();
    assert_eq!(said, "Git: main, at least 1 untracked\n  ?? a");
    assert_eq!(render(&ground, b"# branch.head main\0? ha").unwrap(), "Git: main, state unknown");
    assert!(render(&ground, b"").unwrap().starts_with("Git: main; whether it is clean is not known: "));
}

proptest! {
    #[test]
    fn any_output_is_harmless(text in "(# branch\\.(head|oid|upstream|ab) |[12u?] |[MRU.]{2}|[ \0]|[+-][0-9]{1,25}|\u{1B}|\u{2063}|\n|\\PC){0,80}") {
        let dir = PathBuf::from("/nonexistent");
        let place = GitPlace { top: dir.clone(), dir: dir.clone(), common_dir: dir.clone() };
        let ground = Ground { git: Some(place), ..Ground::at(&dir) };
        let said = render(&ground, text.as_bytes()).unwrap();
        prop_assert!(!said.contains(is_forbidden));
        prop_assert!(said.starts_with("Git: ") && said.lines().count() <= 2 + MOST_PATHS);
    }
}
