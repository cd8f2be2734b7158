//! What `init` writes, and what it leaves alone.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::harness::ancestry::Ancestry;

/// A folder to make a home in; what is recorded goes beside it.
fn scratch() -> (TempDir, Surroundings) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().canonicalize().unwrap();
    let folder = path.join("project");
    fs::create_dir(&folder).unwrap();
    let surroundings = Surroundings {
        folder,
        home_folder: Some(path.clone()),
        state_folder: Some(path.join("state/dogwatch")),
        ancestry: Ancestry::Clear,
    };
    (scratch, surroundings)
}

fn init(dry_run: bool, surroundings: &Surroundings) -> Result<String, String> {
    let mut out = Vec::new();
    let done = run(&Arguments { dry_run }, surroundings, &mut out);
    let folder = surroundings.home_folder.as_ref().unwrap().display().to_string();
    let hide = |text: String| text.replace(&folder, "<home>");
    done.map(|()| hide(String::from_utf8(out).unwrap())).map_err(|failure| hide(failure.message))
}

fn trust_state(surroundings: &Surroundings) -> TrustState {
    let sha256 = config::load(&surroundings.folder.join(HOME)).sha256.unwrap();
    Trusted::new(surroundings.state_folder.as_ref().unwrap()).state_of(&surroundings.folder, &sha256)
}

#[test]
fn a_home_is_made_and_its_config_is_trusted() {
    let (_scratch, surroundings) = scratch();
    insta::assert_snapshot!(init(false, &surroundings).unwrap(), @r#"
    In <home>/project/.dogwatch:
      created     config.toml
      created     pointer.md
      created     follow-ups.md
      created     .gitignore
    Next: write into pointer.md what is being done, then `dogwatch open` shows what a session is told.
    "#);
    for (name, content) in FILES {
        assert_eq!(fs::read_to_string(surroundings.folder.join(HOME).join(name)).unwrap(), content);
    }
    assert_eq!(trust_state(&surroundings), TrustState::Trusted);
}

#[test]
fn nothing_is_overwritten_and_a_config_that_was_there_is_not_trusted() {
    let (_scratch, surroundings) = scratch();
    let home = surroundings.folder.join(HOME);
    fs::create_dir(&home).unwrap();
    fs::write(home.join("config.toml"), "[digest]\n").unwrap();
    fs::write(home.join("pointer.md"), "mine").unwrap();
    insta::assert_snapshot!(init(false, &surroundings).unwrap(), @r#"
    In <home>/project/.dogwatch:
      left alone  config.toml, which was there
      left alone  pointer.md, which was there
      created     follow-ups.md
      created     .gitignore
    config.toml is not trusted: nothing in it counts. `dogwatch trust` shows its programs and allows it.
    Next: write into pointer.md what is being done, then `dogwatch open` shows what a session is told.
    "#);
    assert_eq!(fs::read_to_string(home.join("config.toml")).unwrap(), "[digest]\n");
    assert_eq!(fs::read_to_string(home.join("pointer.md")).unwrap(), "mine");
    assert_eq!(trust_state(&surroundings), TrustState::Untrusted);
}

#[test]
fn even_a_config_of_the_same_words_is_not_trusted_when_it_was_there() {
    let (_scratch, surroundings) = scratch();
    let home = surroundings.folder.join(HOME);
    fs::create_dir(&home).unwrap();
    fs::write(home.join("config.toml"), FILES[0].1).unwrap();
    init(false, &surroundings).unwrap();
    assert_eq!(trust_state(&surroundings), TrustState::Untrusted);
}

#[test]
fn a_second_run_changes_nothing() {
    let (_scratch, surroundings) = scratch();
    init(false, &surroundings).unwrap();
    let record = Trusted::new(surroundings.state_folder.as_ref().unwrap()).file();
    let before = fs::read(&record).unwrap();
    let text = init(false, &surroundings).unwrap();
    assert!(!text.contains("created") && !text.contains("not trusted"), "{text}");
    assert_eq!(fs::read(record).unwrap(), before);
}

#[test]
fn a_dry_run_tells_all_and_writes_nothing() {
    let (_scratch, surroundings) = scratch();
    let text = init(true, &surroundings).unwrap();
    for (name, content) in FILES {
        assert!(text.contains(&format!("would create       {name}\n")), "{text}");
        assert!(content.lines().all(|line| text.contains(&format!("    | {line}\n"))));
    }
    assert_eq!(fs::read_dir(&surroundings.folder).unwrap().count(), 0);
    assert!(!surroundings.state_folder.as_ref().unwrap().exists());

    init(false, &surroundings).unwrap();
    insta::assert_snapshot!(init(true, &surroundings).unwrap(), @r#"
    In <home>/project/.dogwatch:
      would leave alone  config.toml
      would leave alone  pointer.md
      would leave alone  follow-ups.md
      would leave alone  .gitignore
    "#);
}

#[test]
fn the_home_is_made_at_the_top_of_the_checkout() {
    let (_scratch, mut surroundings) = scratch();
    let top = surroundings.folder.clone();
    for folder in [".git/objects", ".git/refs", "a/b"] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    surroundings.folder = top.join("a/b");
    init(false, &surroundings).unwrap();
    assert!(top.join(".dogwatch/config.toml").is_file());
    assert!(!top.join("a/b/.dogwatch").exists());
}

#[test]
fn a_bare_repository_is_refused() {
    let (_scratch, mut surroundings) = scratch();
    let bare = surroundings.folder.clone();
    for folder in ["objects", "refs/heads"] {
        fs::create_dir_all(bare.join(folder)).unwrap();
    }
    fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    for folder in [bare.clone(), bare.join("refs/heads")] {
        surroundings.folder = folder;
        insta::allow_duplicates! {
            insta::assert_snapshot!(init(false, &surroundings).unwrap_err(), @"<home>/project: a bare repository has no work tree; run `dogwatch init` in a checkout of it");
        }
        assert!(init(true, &surroundings).is_err());
        assert!(!surroundings.folder.join(HOME).exists());
    }
}

#[test]
fn what_is_in_the_way_is_refused() {
    let (_scratch, surroundings) = scratch();
    let home = surroundings.folder.join(HOME);
    let elsewhere = surroundings.folder.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();

    symlink(&elsewhere, &home).unwrap();
    insta::assert_snapshot!(init(false, &surroundings).unwrap_err(), @"<home>/project/.dogwatch: expected a folder, found a link; move it away, then run `dogwatch init` again");
    assert!(init(true, &surroundings).is_err());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "the link was not followed");
    fs::remove_file(&home).unwrap();

    symlink(surroundings.folder.join("missing"), &home).unwrap();
    assert!(init(false, &surroundings).is_err());
    assert!(!surroundings.folder.join("missing").exists());
    fs::remove_file(&home).unwrap();

    fs::write(&home, "").unwrap();
    insta::assert_snapshot!(init(false, &surroundings).unwrap_err(), @"<home>/project/.dogwatch: expected a folder, found a file; move it away, then run `dogwatch init` again");
    assert!(init(true, &surroundings).is_err());
}

#[test]
fn a_link_in_place_of_a_file_is_left_alone() {
    let (_scratch, surroundings) = scratch();
    let home = surroundings.folder.join(HOME);
    fs::create_dir(&home).unwrap();
    let target = surroundings.folder.join("target");
    symlink(&target, home.join("pointer.md")).unwrap();
    let text = init(false, &surroundings).unwrap();
    assert!(text.contains("left alone  pointer.md"), "{text}");
    assert!(!target.exists());
}

#[test]
fn where_trust_cannot_be_recorded_the_home_is_made_and_that_is_said() {
    let (scratch, mut surroundings) = scratch();
    fs::write(scratch.path().join("state"), "").unwrap();
    let text = init(false, &surroundings).unwrap();
    assert!(text.contains("config.toml is not trusted yet"), "{text}");
    assert!(surroundings.folder.join(".dogwatch/config.toml").is_file());
    fs::remove_dir_all(surroundings.folder.join(HOME)).unwrap();
    surroundings.state_folder = None;
    assert!(init(false, &surroundings).unwrap().contains("config.toml is not trusted yet"));
}

#[test]
fn a_fresh_config_names_no_program_and_every_key_of_it_is_one() {
    let (_scratch, surroundings) = scratch();
    init(false, &surroundings).unwrap();
    let home = surroundings.folder.join(HOME);
    let loaded = config::load(&home);
    assert_eq!(loaded.problems, []);
    let digest = config::Digest { deadline: config::Seconds::new(30).unwrap(), ..config::Digest::default() };
    assert_eq!(loaded.config.digest, digest);
    assert_eq!(loaded.config.network, config::Network::default());

    // Everything that is commented out, set: once with stages and once with the external digest.
    let set: String = FILES[0].1.lines().map(|line| uncommented(line).to_owned() + "\n").collect();
    let (digest, stage) = set.split_once("\n[[digest.stage]]").unwrap();
    fs::write(home.join("config.toml"), digest.to_owned() + "\n").unwrap();
    let loaded = config::load(&home);
    assert_eq!(loaded.problems, []);
    assert!(loaded.config.digest.external.is_some_and(|external| external.stages.len() == 2));
    assert_eq!(loaded.config.digest.drop.len(), 1);

    fs::write(home.join("config.toml"), format!("[[digest.stage]]{stage}")).unwrap();
    let loaded = config::load(&home);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config.digest.stages.len(), 1);
    assert_eq!(loaded.config.network.built_in, config::BuiltInCheck::ALL);
    assert_eq!(loaded.config.network.checks.len(), 1);
    let network = config::Network { built_in: vec![], checks: vec![], ..loaded.config.network };
    assert_eq!(network, config::Network::default(), "the numbers in it are the defaults");
}

/// Keys are commented out by `#` alone, words by `#` and a blank.
fn uncommented(line: &str) -> &str {
    line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line)
}
