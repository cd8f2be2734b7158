use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use nix::unistd::mkfifo;
use tempfile::TempDir;

use super::*;

/// A home with an open state folder, and the path of that folder.
fn home() -> (TempDir, Folder, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let state = Folder::state_of(home.path()).unwrap();
    let path = home.path().join(STATE);
    (home, state, path)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(path: &Path) -> Vec<String> {
    fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_folder_is_made_closed_to_others() {
    let (_home, _state, path) = home();
    assert_eq!(mode(&path), 0o700);
}

#[test]
fn a_folder_that_was_open_to_others_is_closed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(STATE);
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    Folder::state_of(home.path()).unwrap();
    assert_eq!(mode(&path), 0o700);
}

#[test]
fn a_state_folder_that_is_a_link_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), home.path().join(STATE)).unwrap();
    let refused = Folder::state_of(home.path()).unwrap_err();
    assert!(matches!(refused, StateError::NotFolder(_)), "{refused}");
    assert_eq!(names(elsewhere.path()), [""; 0]);
}

#[test]
fn a_state_folder_that_is_a_file_or_a_fifo_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(STATE);
    fs::write(&path, "").unwrap();
    assert!(matches!(Folder::state_of(home.path()), Err(StateError::NotFolder(_))));
    fs::remove_file(&path).unwrap();
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    assert!(matches!(Folder::state_of(home.path()), Err(StateError::NotFolder(_))));
}

#[test]
fn to_read_in_it_nothing_is_made_or_changed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(STATE);
    assert!(Folder::open_state_of(&home.path().join("missing")).unwrap().is_none());
    assert!(Folder::open_state_of(home.path()).unwrap().is_none());
    assert!(!path.exists());
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Folder::open_state_of(home.path()).unwrap().is_some());
    assert_eq!(mode(&path), 0o755);
    fs::remove_dir(&path).unwrap();
    symlink("/", &path).unwrap();
    assert!(matches!(Folder::open_state_of(home.path()), Err(StateError::NotFolder(_))));
}

#[test]
fn a_home_that_is_a_link_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir(scratch.path().join("real")).unwrap();
    symlink("real", scratch.path().join("home")).unwrap();
    let refused = Folder::state_of(&scratch.path().join("home")).unwrap_err();
    assert!(matches!(refused, StateError::NotFolder(_)), "{refused}");
}

#[test]
fn a_folder_of_another_user_is_refused() {
    // Only root can make one; for another user `/` is one.
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(STATE);
    fs::create_dir(&path).unwrap();
    let refused = if geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        Folder::state_of(home.path()).unwrap_err()
    } else {
        Folder::open_private(Path::new("/")).unwrap_err()
    };
    assert!(matches!(refused, StateError::NotOurs { .. }), "{refused}");
}

#[test]
fn what_was_written_is_read() {
    let (_home, state, path) = home();
    assert_eq!(state.read("helm.json", 10).unwrap(), None);
    state.write_atomic("helm.json", b"one").unwrap();
    state.write_atomic("helm.json", b"two").unwrap();
    assert_eq!(state.read("helm.json", 3).unwrap().unwrap(), b"two");
    assert_eq!(mode(&path.join("helm.json")), 0o600);
    assert_eq!(names(&path), ["helm.json"], "no temporary file is left");
}

#[test]
fn a_write_replaces_the_file_and_does_not_change_the_old_one() {
    let (_home, state, path) = home();
    state.write_atomic("a", b"old").unwrap();
    let mut old = fs::File::open(path.join("a")).unwrap();
    state.write_atomic("a", b"new").unwrap();
    let mut text = String::new();
    old.read_to_string(&mut text).unwrap();
    assert_eq!(text, "old", "who had it open still reads the whole old content");
}

#[test]
fn a_link_is_neither_read_nor_written_through() {
    let (home, state, path) = home();
    let target = home.path().join("target");
    fs::write(&target, "secret").unwrap();
    symlink(&target, path.join("a")).unwrap();
    assert!(matches!(state.read("a", 100), Err(StateError::NotRegular(_))));
    assert!(matches!(state.append("a", b"x"), Err(StateError::NotRegular(_))));
    state.write_atomic("a", b"mine").unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "secret");
    assert_eq!(state.read("a", 100).unwrap().unwrap(), b"mine");
}

#[test]
fn a_fifo_or_a_folder_in_place_of_a_file_is_refused_without_waiting() {
    let (_home, state, path) = home();
    mkfifo(&path.join("fifo"), Mode::S_IRWXU).unwrap();
    fs::create_dir(path.join("folder")).unwrap();
    for name in ["fifo", "folder"] {
        assert!(matches!(state.read(name, 100), Err(StateError::NotRegular(_))), "{name}");
        assert!(matches!(state.append(name, b"x"), Err(StateError::NotRegular(_))), "{name}");
    }
    assert!(state.write_atomic("folder", b"x").is_err());
    assert_eq!(names(&path).len(), 2, "no temporary file is left after a failure");
}

#[test]
fn more_than_the_reader_takes_is_an_error_and_not_a_part() {
    let (_home, state, _) = home();
    state.write_atomic("a", b"1234").unwrap();
    assert!(matches!(state.read("a", 3), Err(StateError::TooLarge { limit_bytes: 3, .. })));
}

#[test]
fn names_that_could_lead_elsewhere_are_refused() {
    let (_home, state, path) = home();
    let long = "a".repeat(LONGEST_NAME_BYTES + 1);
    for name in ["", ".", "..", "../a", "/etc/passwd", "a/b", "a\0b", ".hidden", "a b", "a\n", "ä", &long] {
        assert!(matches!(state.read(name, 1), Err(StateError::BadName { .. })), "{name:?}");
        assert!(matches!(state.write_atomic(name, b""), Err(StateError::BadName { .. })), "{name:?}");
        assert!(matches!(state.append(name, b""), Err(StateError::BadName { .. })), "{name:?}");
        assert!(matches!(state.remove(name), Err(StateError::BadName { .. })), "{name:?}");
        assert!(matches!(state.sub(name), Err(StateError::BadName { .. })), "{name:?}");
    }
    state.write_atomic(&"a".repeat(LONGEST_NAME_BYTES), b"").unwrap();
    assert_eq!(names(&path).len(), 1);
}

#[test]
fn the_folder_stays_the_one_that_was_opened() {
    let (home, state, path) = home();
    let moved = home.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    symlink("/", &path).unwrap();
    state.write_atomic("a", b"x").unwrap();
    assert_eq!(names(&moved), ["a"]);
}

#[test]
fn a_folder_within_has_the_same_rules() {
    let (home, state, path) = home();
    let digest = state.sub("digest").unwrap();
    digest.write_atomic("a.txt", b"x").unwrap();
    assert_eq!(mode(&path.join("digest")), 0o700);
    assert_eq!(state.sub("digest").unwrap().read("a.txt", 1).unwrap().unwrap(), b"x");
    symlink(home.path(), path.join("link")).unwrap();
    assert!(matches!(state.sub("link"), Err(StateError::NotFolder(_))));
}

#[test]
fn lines_of_many_writers_do_not_mix() {
    let (_home, state, _) = home();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let state = &state;
            scope.spawn(move || {
                let line = format!("{}\n", writer.to_string().repeat(100));
                for _ in 0..50 {
                    state.append("trace", line.as_bytes()).unwrap();
                }
            });
        }
    });
    let text = String::from_utf8(state.read("trace", 1 << 20).unwrap().unwrap()).unwrap();
    assert_eq!(text.lines().count(), 400);
    assert!(
        text.lines().all(|line| line.len() == 100 && line.bytes().all(|byte| byte == line.as_bytes()[0]))
    );
}

#[test]
fn many_writers_of_one_file_leave_one_whole_content() {
    let (_home, state, path) = home();
    std::thread::scope(|scope| {
        for writer in 0..8_u8 {
            let state = &state;
            scope.spawn(move || {
                for _ in 0..20 {
                    state.write_atomic("a", &vec![b'0' + writer; 10_000]).unwrap();
                }
            });
        }
    });
    let bytes = state.read("a", 1 << 20).unwrap().unwrap();
    assert!(bytes.len() == 10_000 && bytes.iter().all(|byte| *byte == bytes[0]));
    assert_eq!(names(&path), ["a"]);
}

#[test]
fn removing_takes_a_link_and_not_its_target() {
    let (home, state, path) = home();
    fs::write(home.path().join("target"), "").unwrap();
    symlink(home.path().join("target"), path.join("a")).unwrap();
    assert!(state.remove("a").unwrap());
    assert!(!state.remove("a").unwrap());
    assert!(home.path().join("target").exists());
}

#[test]
fn a_private_folder_outside_is_made_with_its_parents() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("a/b/dogwatch");
    assert!(Folder::open_private(&path).unwrap().is_none());
    Folder::private(&path).unwrap().write_atomic("x", b"x").unwrap();
    assert_eq!(mode(&path), 0o700);
    assert!(Folder::open_private(&path).unwrap().is_some());
    fs::write(scratch.path().join("file"), "").unwrap();
    assert!(matches!(Folder::private(&scratch.path().join("file")), Err(StateError::NotFolder(_))));
    symlink("a", scratch.path().join("link")).unwrap();
    assert!(matches!(Folder::private(&scratch.path().join("link")), Err(StateError::NotFolder(_))));
}

#[test]
fn a_private_folder_that_others_can_write_in_is_not_believed_until_it_is_closed() {
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o770)).unwrap();
    assert!(matches!(Folder::open_private(scratch.path()), Err(StateError::OpenToOthers(_))));
    Folder::private(scratch.path()).unwrap();
    assert_eq!(mode(scratch.path()), 0o700);
    assert!(Folder::open_private(scratch.path()).is_ok());
}

#[test]
fn device_and_inode_are_those_of_the_folder() {
    let (_home, state, path) = home();
    let data = fs::metadata(path).unwrap();
    let stat = state.stat().unwrap();
    assert_eq!((stat.st_dev, stat.st_ino), (data.dev(), data.ino()));
}

#[test]
fn messages_say_what_and_where() {
    let (_home, state, path) = home();
    let message = state.read("../x", 1).unwrap_err().to_string();
    assert_eq!(message, format!("{}: not a name of a file here: \"../x\"", path.display()));
}
