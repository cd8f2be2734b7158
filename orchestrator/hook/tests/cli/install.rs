//! `install`, `uninstall` and `status`, as a person runs them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;

use crate::support::{Desk, PROGRAM, elsewhere, install_by, stderr, stdout};

/// Below a person's home folder and below a project: where each harness's file is.
const FILES: [(&str, &str, &str); 6] = [
    ("claude", ".claude/settings.json", ".claude/settings.json"),
    ("codex", ".codex/hooks.json", ".codex/hooks.json"),
    ("cursor", ".cursor/hooks.json", ".cursor/hooks.json"),
    ("pi", ".pi/agent/extensions/dogwatch.js", ".pi/extensions/dogwatch.js"),
    ("opencode", "config/opencode/plugins/dogwatch.js", ".opencode/plugins/dogwatch.js"),
    ("grok", ".grok/hooks/dogwatch.json", ".grok/hooks/dogwatch.json"),
];

const USER: &str = "--user";
const PROJECT: &str = "--project";

/// The file of a harness in a scope.
fn file(desk: &Desk, harness: &str, scope: &str) -> PathBuf {
    let (_, user, project) = FILES.iter().find(|(name, ..)| *name == harness).unwrap();
    if scope == USER { desk.scratch.path().join(user) } else { desk.project.join(project) }
}

fn write(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Everything below a folder but what dogwatch itself keeps: names, modes, contents, targets of links.
fn tree(desk: &Desk) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![desk.scratch.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path == desk.state_folder() {
                continue;
            }
            let data = fs::symlink_metadata(&path).unwrap();
            let content = if data.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if data.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            tree.insert(path, (data.permissions().mode(), content));
        }
    }
    tree
}

fn succeeds(desk: &Desk, arguments: &[&str]) -> String {
    let output = desk.dogwatch(arguments);
    assert!(output.status.success(), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    assert_eq!(stderr(&output), "", "{arguments:?}");
    stdout(&output)
}

/// Whether a harness does not read such a file, so that it is left alone. The corpus has them for those that do.
fn is_refused(harness: &str, name: &str) -> bool {
    let is_odd = ["comments", "trailing-commas"].iter().any(|word| name.contains(word));
    is_odd || (name.contains("byte-order-mark") && harness != "claude")
}

/// Whether something of ours stands in it from the start.
fn has_ours(name: &str) -> bool {
    name.starts_with("ours")
}

/// The starting files of the corpus that the harnesses read: harness, name, content.
fn corpus() -> Vec<(String, String, Vec<u8>)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/register/corpus");
    let mut files = Vec::new();
    for folder in fs::read_dir(top).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let harness = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if !FILES.iter().any(|(name, ..)| *name == harness) {
            continue;
        }
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() || is_refused(&harness, &name) {
                continue;
            }
            files.push((harness.clone(), name, fs::read(path).unwrap()));
        }
    }
    files.sort();
    files
}

#[rstest]
fn uninstall_gives_every_starting_file_back(#[values(USER, PROJECT)] scope: &str) {
    let mut corpus = corpus();
    corpus.retain(|(_, name, _)| !has_ours(name));
    assert!(corpus.len() >= 40, "{} starting files", corpus.len());
    for (harness, name, content) in corpus {
        let desk = Desk::new();
        let path = file(&desk, &harness, scope);
        write(&path, &content);
        let before = tree(&desk);
        succeeds(&desk, &["install", &harness, scope]);
        let installed = tree(&desk);
        assert_ne!(installed, before, "{harness} {name}");
        succeeds(&desk, &["install", &harness, scope]);
        assert_eq!(tree(&desk), installed, "{harness} {name}: twice is once");
        succeeds(&desk, &["uninstall", &harness, scope]);
        assert_eq!(tree(&desk), before, "{harness} {name}");
    }
}

#[rstest]
fn uninstall_without_the_record_takes_out_what_is_ours(#[values(USER, PROJECT)] scope: &str) {
    for (harness, name, content) in corpus() {
        let desk = Desk::new();
        let path = file(&desk, &harness, scope);
        write(&path, &content);
        succeeds(&desk, &["install", &harness, scope]);
        fs::remove_dir_all(desk.state_folder()).unwrap();
        succeeds(&desk, &["uninstall", &harness, scope]);
        let left = fs::read_to_string(&path).unwrap_or_default();
        let word = format!("{} hook {harness}", if scope == USER { PROGRAM } else { "dogwatch" });
        assert!(!left.contains(&format!("\"{word}")), "{harness} {name}: {left}");
        let again = stdout(&desk.dogwatch(&["uninstall", &harness, scope]));
        assert!(again.contains("nothing of dogwatch in it"), "{harness} {name}: {again}");
    }
}

#[rstest]
fn what_was_not_there_is_gone(
    #[values("claude", "codex", "cursor", "pi", "opencode", "grok")] harness: &str,
    #[values(USER, PROJECT)] scope: &str,
) {
    let desk = Desk::new();
    let before = tree(&desk);
    let text = succeeds(&desk, &["install", harness, scope]);
    let path = file(&desk, harness, scope);
    assert!(path.is_file(), "{text}");
    assert!(text.contains("nothing will happen until `dogwatch init`"), "{text}");
    let called = fs::read_to_string(&path).unwrap();
    assert_eq!(called.contains(PROGRAM), scope == USER, "the person's files name this program: {called}");
    succeeds(&desk, &["uninstall", harness, scope]);
    assert_eq!(tree(&desk), before);
}

#[rstest]
fn a_foreign_edit_survives(
    #[values("claude", "codex", "cursor", "grok")] harness: &str,
    #[values(USER, PROJECT)] scope: &str,
) {
    let desk = Desk::new();
    let path = file(&desk, harness, scope);
    let event = if harness == "cursor" { "sessionStart" } else { "SessionStart" };
    succeeds(&desk, &["install", harness, scope]);
    // As another program would: read, add, write in its own way.
    let mut value: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let foreign = if harness == "cursor" {
        serde_json::json!({"command": "mine"})
    } else {
        serde_json::json!({"hooks": [{"type": "command", "command": "mine"}]})
    };
    value["hooks"][event].as_array_mut().unwrap().push(foreign.clone());
    fs::write(&path, serde_json::to_string(&value).unwrap()).unwrap();
    succeeds(&desk, &["uninstall", harness, scope]);
    let left: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(left["hooks"], serde_json::json!({event: [foreign]}), "{left}");
}

#[test]
fn a_file_that_does_not_parse_is_left_alone_and_the_others_are_written() {
    let desk = Desk::new();
    let path = file(&desk, "claude", USER);
    write(&path, "{\n  \"hooks\": {,}\n}\n");
    let output = desk.dogwatch(&["install", "claude", "codex"]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    let start = format!("dogwatch: Claude Code: {}: line 2, column ", path.display());
    assert!(told.starts_with(&start) && told.lines().count() == 1, "{told}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"hooks\": {,}\n}\n");
    assert!(file(&desk, "codex", USER).is_file());
    assert!(stdout(&output).contains("Codex"), "{}", stdout(&output));
}

#[test]
fn a_file_that_its_harness_refuses_is_left_alone() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/register/corpus");
    let mut count = 0;
    for harness in ["claude", "codex", "cursor", "grok"] {
        let Ok(folder) = fs::read_dir(top.join(harness).join("rejected")) else { continue };
        for starting in folder.map(|entry| entry.unwrap().path()) {
            let desk = Desk::new();
            let path = file(&desk, harness, USER);
            write(&path, fs::read(&starting).unwrap());
            let before = tree(&desk);
            let output = desk.dogwatch(&["install", harness]);
            if output.status.success() {
                // Only for a dialect that is stricter than this harness's.
                let name = starting.file_name().unwrap().to_str().unwrap();
                assert!(name.starts_with("strict-"), "{harness} {name}: {}", stdout(&output));
                continue;
            }
            count += 1;
            assert_eq!(tree(&desk), before, "{}", starting.display());
            let told = stderr(&output);
            let place = format!("{}: line ", path.display());
            assert!(told.contains(&place) && told.lines().count() == 1, "{}: {told}", starting.display());
        }
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn the_backup_is_made_once_and_for_nobody_else() {
    let desk = Desk::new();
    let path = file(&desk, "claude", USER);
    write(&path, "{\"model\": \"opus\"}");
    let text = succeeds(&desk, &["install", "claude"]);
    let backups = || -> Vec<PathBuf> {
        let folder = desk.state_folder().join("dogwatch/backups");
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let [backup] = backups().try_into().unwrap();
    assert!(text.contains(&backup.display().to_string()), "{text}");
    assert_eq!(fs::read_to_string(&backup).unwrap(), "{\"model\": \"opus\"}");
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(fs::metadata(backup.parent().unwrap()).unwrap().permissions().mode() & 0o7777, 0o700);
    succeeds(&desk, &["install", "claude"]);
    assert_eq!(backups(), std::slice::from_ref(&backup), "once for an installation");
    succeeds(&desk, &["uninstall", "claude"]);
    write(&path, "{}");
    succeeds(&desk, &["install", "claude"]);
    assert_eq!(backups().len(), 2, "once for the next");
    assert_eq!(fs::read_to_string(&backup).unwrap(), "{\"model\": \"opus\"}");
}

#[test]
fn a_dry_run_writes_nothing_and_its_diff_is_what_install_does() {
    for (harness, name, content) in corpus().into_iter().filter(|(_, name, _)| !has_ours(name)) {
        let desk = Desk::new();
        let path = file(&desk, &harness, USER);
        write(&path, &content);
        let before = tree(&desk);
        let diff = succeeds(&desk, &["install", &harness, "--dry-run"]);
        assert_eq!(tree(&desk), before, "{harness} {name}");
        assert!(!desk.state_folder().exists(), "{harness} {name}");
        succeeds(&desk, &["install", &harness]);
        let after = fs::read_to_string(&path).unwrap();
        let before = String::from_utf8(content).unwrap();
        assert_eq!(patched(&before, &diff), after, "{harness} {name}\n{diff}");
        let diff = succeeds(&desk, &["uninstall", &harness, "--dry-run"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), after);
        assert_eq!(patched(&after, &diff), before, "{harness} {name}\n{diff}");
    }
}

/// What `patch` makes of a text with the unified diff of one file.
fn patched(before: &str, diff: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let mut new = String::new();
    let mut at = 0;
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(line) = lines.next() {
        if let Some(header) = line.strip_prefix("@@ -") {
            let (start, count) = header.split(' ').next().unwrap().split_once(',').map_or_else(
                || (header.split(' ').next().unwrap().parse::<usize>().unwrap(), 1),
                |(start, count)| (start.parse().unwrap(), count.parse::<usize>().unwrap()),
            );
            let start = if count == 0 { start } else { start - 1 };
            new.extend(old[at..start].iter().copied());
            at = start;
            continue;
        }
        let (sign, text) = line.split_at(1);
        let text = match lines.peek() {
            Some(next) if next.starts_with("\\ No newline") => text.strip_suffix('\n').unwrap(),
            _ => text,
        };
        match sign {
            " " | "-" => {
                assert_eq!(old[at], text, "{diff}");
                at += 1;
                if sign == " " {
                    new.push_str(text);
                }
            }
            "+" => new.push_str(text),
            "\\" => {}
            _ => panic!("{line:?}"),
        }
    }
    new.extend(old[at..].iter().copied());
    new
}

#[test]
fn an_upgrade_rewrites_only_what_is_ours() {
    let desk = Desk::new();
    let path = file(&desk, "claude", USER);
    let original = "{\n\t\"hooks\": {\n\t\t\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]\n\t}\n}";
    write(&path, original);
    // The same program under another name, as an older version would have been.
    let old = elsewhere(&desk, "old place");
    install_by(&desk, &old, &["claude"]);
    fs::remove_file(&old).unwrap();
    let before = fs::read_to_string(&path).unwrap();
    assert!(before.contains("old place/dogwatch' hook claude session-open"), "{before}");
    succeeds(&desk, &["install", "claude"]);
    let after = fs::read_to_string(&path).unwrap();
    assert_eq!(after, before.replace(&format!("'{}'", old.display()), PROGRAM));
    succeeds(&desk, &["uninstall", "claude"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), original);
}

#[test]
fn what_is_registered_runs_under_a_shell_whatever_the_path() {
    let desk = Desk::new();
    let odd = elsewhere(&desk, "a b/it's $HOME \"x\"");
    install_by(&desk, &odd, &["claude", "pi"]);
    let settings: serde_json::Value =
        serde_json::from_slice(&fs::read(file(&desk, "claude", USER)).unwrap()).unwrap();
    let command = settings["hooks"]["SessionEnd"][0]["hooks"][0]["command"].as_str().unwrap();
    let command = format!("echo '{{}}' | {command}");
    let output = desk.run(Command::new("/bin/sh").args(["-c", &command]));
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{command}");
    let shim = fs::read_to_string(file(&desk, "pi", USER)).unwrap();
    let line = shim.lines().find(|line| line.starts_with("const BINARY = ")).unwrap();
    let literal = line.trim_start_matches("const BINARY = ").trim_end_matches(';');
    let called: String = serde_json::from_str(literal).unwrap();
    assert_eq!(PathBuf::from(called), odd);
    let output = desk
        .prepare(Command::new(PROGRAM).args(["install", "grok"]))
        .env("PATH", odd.parent().unwrap())
        .output();
    let told = stderr(&output.unwrap());
    assert!(told.contains("Grok takes no path with \"$\" in a hook; move the program"), "{told}");
}

#[test]
fn the_program_is_named_as_the_path_finds_it() {
    let desk = Desk::new();
    let link = elsewhere(&desk, "bin");
    install_by(&desk, &link, &["claude"]);
    let text = fs::read_to_string(file(&desk, "claude", USER)).unwrap();
    assert!(text.contains(&format!("\"{} hook claude", link.display())), "{text}");
}

#[test]
fn a_link_is_followed_and_stays() {
    let desk = Desk::new();
    let real = desk.scratch.path().join("dotfiles/claude.json");
    write(&real, "{}\n");
    let path = file(&desk, "claude", USER);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(&real, &path).unwrap();
    let before = tree(&desk);
    succeeds(&desk, &["install", "claude"]);
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("hook claude"));
    succeeds(&desk, &["uninstall", "claude"]);
    assert_eq!(tree(&desk), before);
}

#[test]
fn a_program_of_somebody_else_is_left_alone() {
    let desk = Desk::new();
    let path = file(&desk, "pi", USER);
    write(&path, "export default () => {};\n");
    let output = desk.dogwatch(&["install", "pi"]);
    assert_eq!(output.status.code(), Some(1));
    let expected =
        format!("dogwatch: Pi: {}: not written by dogwatch; move it away, then try again\n", path.display());
    assert_eq!(stderr(&output), expected);
    succeeds(&desk, &["uninstall", "pi"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "export default () => {};\n");
}

#[test]
fn an_edited_program_of_ours_is_kept_before_it_goes() {
    let desk = Desk::new();
    let path = file(&desk, "opencode", USER);
    for command in ["install", "uninstall"] {
        succeeds(&desk, &["install", "opencode"]);
        let edited = fs::read_to_string(&path).unwrap() + &format!("// mine, before {command}\n");
        fs::write(&path, &edited).unwrap();
        let text = succeeds(&desk, &[command, "opencode"]);
        let kept = text.lines().find_map(|line| line.trim().strip_prefix("as it was: ")).unwrap();
        assert_eq!(fs::read_to_string(kept).unwrap(), edited);
        assert_eq!(path.exists(), command == "install");
    }
}

#[test]
fn instructions_come_and_go() {
    let desk = Desk::new();
    let project = desk.project.join("AGENTS.md");
    fs::write(&project, "# Rules\nBe kind.").unwrap();
    let before = tree(&desk);
    succeeds(&desk, &["install", "codex", "claude", PROJECT, "--instructions"]);
    let text = fs::read_to_string(&project).unwrap();
    assert!(text.starts_with("# Rules\nBe kind.\n\n<!-- dogwatch: begin"), "{text}");
    assert!(text.contains("`dogwatch open`") && text.lines().count() == 6, "{text}");
    let told = succeeds(&desk, &["uninstall", "claude", PROJECT]);
    assert!(project.exists() && !told.contains("AGENTS.md"), "Codex still wants it: {told}");
    succeeds(&desk, &["uninstall", PROJECT]);
    assert_eq!(tree(&desk), before);

    succeeds(&desk, &["install", "codex", "--instructions"]);
    let own = desk.scratch.path().join(".codex/AGENTS.md");
    assert!(fs::read_to_string(&own).unwrap().contains(PROGRAM));
    succeeds(&desk, &["uninstall"]);
    assert_eq!(tree(&desk), before);
}

#[test]
fn without_a_name_it_is_what_this_machine_has() {
    let desk = Desk::new();
    let output = desk.dogwatch(&["install"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("none of claude, codex, cursor, pi, opencode, grok is found"),
        "{}",
        stderr(&output)
    );
    fs::create_dir(desk.scratch.path().join(".codex")).unwrap();
    let bin = desk.scratch.path().join("bin");
    write(&bin.join("claude"), "#!/bin/sh\n");
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(PROGRAM);
    desk.prepare(command.arg("install")).env("PATH", &bin);
    assert!(command.output().unwrap().status.success());
    let has = |harness| file(&desk, harness, USER).exists();
    assert_eq!(FILES.map(|(name, ..)| has(name)), [true, true, false, false, false, false]);
}

#[test]
fn a_project_registration_warns_and_is_known() {
    let desk = Desk::new();
    let text = succeeds(&desk, &["install", "claude", PROJECT]);
    assert!(text.contains("a machine without it has its tools denied"), "{text}");
    let homes = fs::read_to_string(desk.state_folder().join("dogwatch/homes")).unwrap();
    assert_eq!(homes.lines().next(), desk.project.to_str());
}

#[test]
fn the_home_folder_is_no_project() {
    let desk = Desk::new();
    let mut command = Command::new(PROGRAM);
    desk.prepare(command.args(["install", "claude", PROJECT])).current_dir(desk.scratch.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is your home folder and no project"), "{}", stderr(&output));
}

#[test]
fn a_link_of_the_project_leads_nowhere_else() {
    let desk = Desk::new();
    let out = desk.scratch.path().join("out");
    fs::create_dir(&out).unwrap();
    write(&out.join("notes"), "theirs\n");
    symlink("../out", desk.project.join(".claude")).unwrap();
    symlink("../out/notes", desk.project.join("AGENTS.md")).unwrap();
    let before = tree(&desk);
    let output = desk.dogwatch(&["install", "claude", PROJECT]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("a link of the project leads out of it"), "{}", stderr(&output));
    assert_eq!(tree(&desk), before);
    let output = desk.dogwatch(&["install", "grok", PROJECT, "--instructions"]);
    assert_eq!(output.status.code(), Some(1), "for the instructions");
    assert_eq!(fs::read_to_string(out.join("notes")).unwrap(), "theirs\n");
    // Within the project a link is a person's own way to name one file twice.
    fs::remove_file(desk.project.join("AGENTS.md")).unwrap();
    write(&desk.project.join("CLAUDE.md"), "# Rules\n");
    symlink("CLAUDE.md", desk.project.join("AGENTS.md")).unwrap();
    succeeds(&desk, &["install", "grok", PROJECT, "--instructions"]);
    assert!(fs::read_to_string(desk.project.join("CLAUDE.md")).unwrap().contains("dogwatch: begin"));
}

#[test]
fn a_home_folder_that_is_no_text_is_one_too() {
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::new();
    let home = desk.scratch.path().join(std::ffi::OsStr::from_bytes(b"a\xffb"));
    fs::create_dir(&home).unwrap();
    let run = |verb: &str| {
        let mut command = Command::new(PROGRAM);
        desk.prepare(command.args([verb, "claude", "codex", "pi"]))
            .env("HOME", &home)
            .env_remove("XDG_STATE_HOME");
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    };
    run("install");
    assert!(home.join(".pi/agent/extensions/dogwatch.js").is_file());
    run("uninstall");
    let left: Vec<PathBuf> = fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [home.join(".local")]);
}

#[test]
fn a_file_that_was_there_empty_is_there_again() {
    let desk = Desk::new();
    let path = file(&desk, "claude", USER);
    write(&path, " \n");
    succeeds(&desk, &["install", "claude"]);
    let value: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    fs::write(&path, value.to_string()).unwrap();
    succeeds(&desk, &["uninstall", "claude"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), " \n");
}

#[test]
fn what_a_person_took_out_meanwhile_stays_out() {
    let desk = Desk::new();
    let path = desk.scratch.path().join(".codex/AGENTS.md");
    write(&path, "# Rules\n");
    succeeds(&desk, &["install", "codex", "--instructions"]);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.strip_prefix("# Rules\n\n").unwrap()).unwrap();
    succeeds(&desk, &["uninstall", "codex"]);
    assert!(!path.exists(), "{:?}", fs::read_to_string(&path));
}

#[test]
fn what_a_person_wrote_for_another_moment_is_theirs() {
    let desk = Desk::new();
    let path = file(&desk, "claude", USER);
    let own =
        "\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"dogwatch hook claude stop\"}]}]";
    write(&path, format!("{{\"hooks\": {{{own}}}}}\n"));
    succeeds(&desk, &["install", "claude"]);
    assert!(fs::read_to_string(&path).unwrap().contains(own));
}

#[test]
fn an_edited_block_of_instructions_is_said() {
    let desk = Desk::new();
    succeeds(&desk, &["install", "codex", "--instructions"]);
    let path = desk.scratch.path().join(".codex/AGENTS.md");
    let edited =
        fs::read_to_string(&path).unwrap().replace("<!-- dogwatch: end", "Mine.\n<!-- dogwatch: end");
    fs::write(&path, &edited).unwrap();
    for arguments in [&["install", "codex", "--instructions"][..], &["uninstall", "codex"]] {
        let output = desk.dogwatch(arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("somebody has written between the lines"), "{}", stderr(&output));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), edited);
}

#[test]
fn a_secret_file_is_nobody_elses_at_any_time() {
    let desk = Desk::new();
    let path = file(&desk, "claude", USER);
    write(&path, format!("{{\"env\": \"{}\"}}", "x".repeat(4096)));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    // What is written beside it is cut off by a limit, and by the signal that comes with it.
    let mut command = Command::new("/bin/sh");
    desk.run(command.args(["-c", "ulimit -f 1; exec \"$0\" install claude", PROGRAM]));
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        let data = entry.unwrap().metadata().unwrap();
        assert_eq!(data.permissions().mode() & 0o077, 0);
    }
}

#[test]
fn root_leaves_the_home_folder_of_another_alone() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let desk = Desk::new();
    std::os::unix::fs::chown(desk.scratch.path(), Some(65_534), Some(65_534)).unwrap();
    let output = desk.dogwatch(&["install", "claude"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("belongs to user 65534; run this as that user"), "{}", stderr(&output));
}

#[test]
fn what_is_no_work_tree_is_no_project() {
    let desk = Desk::new();
    let made = desk.run(Command::new("git").args(["init", "-q", "--bare"]));
    assert!(made.status.success(), "{}", stderr(&made));
    let bare = desk.dogwatch(&["install", "claude", PROJECT]);
    let mut command = Command::new(PROGRAM);
    desk.prepare(command.args(["install", "claude", PROJECT])).current_dir("/");
    let top = command.output().unwrap();
    assert_eq!((bare.status.code(), top.status.code()), (Some(1), Some(1)));
    assert!(stderr(&bare).contains("a bare repository has no work tree"), "{}", stderr(&bare));
    assert_eq!(stderr(&top), "dogwatch: / is no project; run this in one\n");
}

#[rstest]
#[case(&["install", "cluade"], "invalid value 'cluade' for '[HARNESS]...'")]
#[case(&["install", "claude", "--user", "--project"], "cannot be used with '--project'")]
#[case(&["uninstall", "--instructions"], "unexpected argument '--instructions'")]
fn a_wrong_command_line_is_one_line(#[case] arguments: &[&str], #[case] expected: &str) {
    let output = Desk::new().dogwatch(arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains(expected) && stderr(&output).lines().count() == 1,
        "{}",
        stderr(&output)
    );
}

#[test]
fn one_firing_answers_where_both_scopes_are_registered() {
    let desk = Desk::new();
    succeeds(&desk, &["init"]);
    succeeds(&desk, &["install", "claude"]);
    succeeds(&desk, &["install", "claude", PROJECT]);
    let mut host = crate::support::Host::new(&desk, "claude");
    let payload = br#"{"session_id":"s1","hook_event_name":"SessionStart","source":"startup"}"#;
    let first = host.fire("hook claude session-open --limit 180s", payload);
    let second = host.fire("hook claude session-open --limit 180s", payload);
    assert!(first.stdout.contains("dogwatch session digest"), "{first:?}");
    assert_eq!(second.stdout, "");
}
