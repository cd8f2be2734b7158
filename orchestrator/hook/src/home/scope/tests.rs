use std::os::unix::fs::symlink;
use std::process::Command;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use rstest::rstest;
use tempfile::TempDir;

use super::super::root::{HOME, RootKind, find_root};
use super::*;

const GATE: Scope = Scope::Out("a gate variable is set");
const GATE_DIR: Scope = Scope::Out("the git common dir is a gate's");
const NO_HOME: Scope = Scope::Out("no home");
const UNMARKED: Scope = Scope::Out("a linked work tree without a marker");
const MISSING: Scope = Scope::Out("a path that scope.require names is missing");

/// A checkout `main` and its linked work tree `linked`, each with a home, and `plain`, a home without git.
fn desk() -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().canonicalize().unwrap();
    checkout(&path.join("main"), &path.join("linked"));
    fs::create_dir_all(path.join("plain").join(HOME)).unwrap();
    (scratch, path)
}

fn checkout(main: &Path, linked: &Path) {
    fs::create_dir_all(main).unwrap();
    git(main, &["init", "-q"]);
    git(main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(main, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    for folder in [main, linked] {
        fs::create_dir(folder.join(HOME)).unwrap();
    }
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

/// The scope of a folder where no variable is set.
fn of(folder: &Path) -> Scope {
    scope(&find_root(folder, Some(folder)), &ScopeRules::default(), |_| false)
}

#[test]
fn a_plain_checkout_and_a_folder_without_git_are_in_scope() {
    let (_scratch, path) = desk();
    assert_eq!(of(&path.join("main")), Scope::In);
    assert_eq!(of(&path.join("plain")), Scope::In);
}

#[test]
fn a_linked_work_tree_needs_a_marker() {
    let (_scratch, path) = desk();
    let linked = path.join("linked");
    assert_eq!(of(&linked), UNMARKED);
    fs::write(linked.join(MARKER), "name\n").unwrap();
    assert_eq!(of(&linked), Scope::In);
    // A home below the top counts by the work tree's marker.
    fs::create_dir_all(linked.join("below").join(HOME)).unwrap();
    assert_eq!(of(&linked.join("below")), Scope::In);
}

#[test]
fn a_marker_in_the_main_checkout_is_none_of_the_linked_one() {
    let (_scratch, path) = desk();
    fs::write(path.join("main").join(MARKER), "name\n").unwrap();
    assert_eq!(of(&path.join("linked")), UNMARKED);
}

#[test]
fn without_a_home_it_is_out_of_scope() {
    let (_scratch, path) = desk();
    fs::remove_dir(path.join("main").join(HOME)).unwrap();
    assert_eq!(of(&path.join("main")), NO_HOME);
    fs::write(path.join("main").join(HOME), "").unwrap();
    assert_eq!(of(&path.join("main")), NO_HOME, "a file");
    fs::remove_file(path.join("main").join(HOME)).unwrap();
    symlink(path.join("plain").join(HOME), path.join("main").join(HOME)).unwrap();
    assert_eq!(of(&path.join("main")), NO_HOME, "a link");
}

#[test]
fn a_remembered_root_whose_home_is_gone_is_out_of_scope() {
    let (_scratch, path) = desk();
    let root = find_root(&path.join("plain"), None);
    assert_eq!(root.kind, RootKind::Home);
    fs::remove_dir(path.join("plain").join(HOME)).unwrap();
    assert_eq!(scope(&root, &ScopeRules::default(), |_| false), NO_HOME);
}

#[test]
fn a_state_folder_that_is_missing_or_cannot_be_made_is_no_matter_of_scope() {
    let (_scratch, path) = desk();
    let home = path.join("plain").join(HOME);
    assert_eq!(of(&path.join("plain")), Scope::In);
    assert!(!home.join("state").exists(), "looking makes nothing");
    symlink("/", home.join("state")).unwrap();
    assert_eq!(of(&path.join("plain")), Scope::In);
}

#[rstest]
#[case::plain("main")]
#[case::marked("linked")]
#[case::no_git("plain")]
fn a_gate_variable_wins(#[case] folder: &str) {
    let (_scratch, path) = desk();
    fs::write(path.join("linked").join(MARKER), "name\n").unwrap();
    let root = find_root(&path.join(folder), None);
    let rules = ScopeRules::default();
    for variable in ["DOGWATCH_GATE", "NO_MISTAKES_GATE"] {
        // Whether it is empty is not asked.
        assert_eq!(scope(&root, &rules, |name| name == variable), GATE, "{variable}");
    }
    assert_eq!(scope(&root, &rules, |name| name == "OTHER_GATE"), Scope::In);
    let rules = ScopeRules { gate_variables: vec!["OTHER_GATE".to_owned()], ..rules };
    assert_eq!(scope(&root, &rules, |name| name == "OTHER_GATE"), GATE);
    assert_eq!(scope(&root, &rules, |name| name == "DOGWATCH_GATE"), Scope::In);
}

#[test]
fn a_gates_common_dir_wins_even_over_a_marker() {
    let (_scratch, path) = desk();
    let bare = path.join(".no-mistakes/repos/one.git");
    fs::create_dir_all(&bare).unwrap();
    git(&path.join("main"), &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    git(&bare, &["worktree", "add", "-q", "--detach", path.join("gate").to_str().unwrap()]);
    let gate = path.join("gate");
    fs::create_dir(gate.join(HOME)).unwrap();
    assert_eq!(of(&gate), GATE_DIR);
    fs::write(gate.join(MARKER), "name\n").unwrap();
    assert_eq!(of(&gate), GATE_DIR);
    let rules = ScopeRules { gate_common_dirs: Vec::new(), ..ScopeRules::default() };
    assert_eq!(scope(&find_root(&gate, None), &rules, |_| false), Scope::In);
}

#[test]
fn required_paths_must_be_there() {
    let (_scratch, path) = desk();
    let root = find_root(&path.join("main"), None);
    let rules = ScopeRules { require: vec!["a/b".into(), "c".into()], ..ScopeRules::default() };
    assert_eq!(scope(&root, &rules, |_| false), MISSING);
    fs::create_dir_all(root.path.join("a/b")).unwrap();
    assert_eq!(scope(&root, &rules, |_| false), MISSING);
    fs::write(root.path.join("c"), "").unwrap();
    assert_eq!(scope(&root, &rules, |_| false), Scope::In);
}

#[rstest]
#[case::name(b"name\n")]
#[case::no_line_break(b"name")]
#[case::one_letter(b"a")]
#[case::every_kind(b"A-z_0.9\n")]
#[case::blanks_around(b" \tname\t \n")]
#[case::windows_line(b"name\r\n")]
#[case::more_lines(b"name\n# anything \xff\n")]
#[case::much_more(&[b"name\n".as_slice(), &[b'#'; 5000]].concat())]
fn a_marker(#[case] content: &[u8]) {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join(MARKER), content).unwrap();
    assert!(is_marked(scratch.path()));
}

#[rstest]
#[case::empty(b"")]
#[case::blank(b" \t \n")]
#[case::name_on_the_second_line(b"\nname\n")]
#[case::two_words(b"two words\n")]
#[case::slash(b"a/b\n")]
#[case::not_ascii("n\u{e4}me\n".as_bytes())]
#[case::nul(b"na\0me\n")]
#[case::byte_order_mark(b"\xef\xbb\xbfname\n")]
#[case::endless(&[b'a'; 5000])]
fn no_marker(#[case] content: &[u8]) {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join(MARKER), content).unwrap();
    assert!(!is_marked(scratch.path()));
}

#[test]
fn a_marker_is_a_regular_file() {
    let scratch = tempfile::tempdir().unwrap();
    let marker = scratch.path().join(MARKER);
    fs::write(scratch.path().join("target"), "name\n").unwrap();
    symlink("target", &marker).unwrap();
    assert!(!is_marked(scratch.path()), "a link");
    fs::remove_file(&marker).unwrap();
    mkfifo(&marker, Mode::S_IRWXU).unwrap();
    assert!(!is_marked(scratch.path()), "a FIFO");
    fs::remove_file(&marker).unwrap();
    fs::create_dir(&marker).unwrap();
    assert!(!is_marked(scratch.path()), "a folder");
}

#[rstest]
#[case("*/.no-mistakes/repos/*.git", "/home/dev/.no-mistakes/repos/one.git", true)]
#[case("*/.no-mistakes/repos/*.git", "/.no-mistakes/repos/a/b.git", true)]
#[case("*/.no-mistakes/repos/*.git", "/home/dev/.no-mistakes/repos/one.git/worktrees/x", false)]
#[case("*/.no-mistakes/repos/*.git", "/home/dev/no-mistakes/repos/one.git", false)]
#[case("*", "", true)]
#[case("", "", true)]
#[case("", "a", false)]
#[case("a*b*c", "a-b-b-c", true)]
#[case("a*b*c", "a-c-b", false)]
#[case("a**", "a", true)]
#[case("/exact", "/exact", true)]
#[case("/exact", "/exact/", false)]
fn globs(#[case] glob: &str, #[case] text: &str, #[case] expected: bool) {
    assert_eq!(matches(glob.as_bytes(), text.as_bytes()), expected);
}

#[test]
fn a_hostile_glob_takes_bounded_time() {
    let glob = "a*".repeat(2000) + "b";
    assert!(!matches(glob.as_bytes(), "a".repeat(4000).as_bytes()));
}
