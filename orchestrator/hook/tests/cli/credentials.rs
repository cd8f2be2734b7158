//! Credentials in the URLs that a program or git prints: neither a model, nor a person, nor the disk gets to see them.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Desk, Host, stderr, stdout};

/// Prints URLs with credentials wherever a stage can print one, also at the places where its output is cut off.
const STAGES: &str = r#"
[[digest.stage]]
name = "prints"
command = "echo 'cloning https://user:s3cret@host.invalid/a?access_token=s3cret#b'"
[[digest.stage]]
name = "fails"
command = "echo \"fatal: unable to access 'https://s3cret@host.invalid/': refused\" >&2; exit 3"
[[digest.stage]]
name = "coloured"
command = "printf 'https://user:s3c\\033[1mret@host.invalid\\n'"
[[digest.stage]]
name = "dies"
command = "printf 'before https://user:s3cret'; kill -9 $$"
[[digest.stage]]
name = "floods"
command = "yes 0123456789abcde | head -c 131040; echo ' https://user:s3cret----------------@host.invalid'"
"#;

/// Everything that is kept in the home's state folder, as one text.
fn kept(desk: &Desk) -> String {
    let folder = desk.project.join(".dogwatch/state/digest");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|file| fs::read_to_string(file).unwrap()).collect()
}

fn assert_told_without(text: &str) {
    assert!(!text.contains("s3c") && !text.contains("user"), "{text}");
    assert!(text.contains("cloning https://***@host.invalid/a?access_token=***#b"), "{text}");
    assert!(text.contains("unable to access 'https://***@host.invalid/': refused"), "{text}");
    assert!(text.contains("before https://***"), "{text}");
}

#[test]
fn of_a_stage_are_told_to_nobody() {
    let desk = Desk::new();
    desk.trusted_config(STAGES);
    let output = desk.dogwatch(&["open"]);
    assert_eq!(stderr(&output), "");
    assert_told_without(&stdout(&output));
    assert_told_without(&kept(&desk));

    let output = desk.dogwatch(&["open", "--json"]);
    assert_told_without(&stdout(&output));
    let digest: Value = serde_json::from_slice(&output.stdout).unwrap();
    let stages = digest["stages"].as_array().unwrap();
    let flood = stages.iter().find(|stage| stage["name"] == "floods").unwrap()["text"].as_str().unwrap();
    assert!(
        flood.contains(" https://***\n[floods: cut after 131072 bytes"),
        "{}",
        &flood[flood.len() - 200..]
    );
    assert_told_without(&kept(&desk));
}

#[test]
fn of_a_stage_that_was_stopped_half_a_one_is_told_to_nobody() {
    let desk = Desk::new();
    desk.trusted_config(
        r#"
        [digest]
        deadline = 3
        [[digest.stage]]
        name = "hangs"
        command = "printf 'before https://user:s3cret'; while :; do sleep 1; done"
        deadline = 60
        "#,
    );
    let text = stdout(&desk.dogwatch(&["open"]));
    assert!(
        text.contains("\n## hangs\nbefore https://***\n[hangs: cut here, it did not finish]\n"),
        "{text}"
    );
    assert!(!text.contains("s3c"), "{text}");
    assert_eq!(kept(&desk), text);
}

#[test]
fn of_a_stage_reach_no_model() {
    let desk = Desk::new();
    desk.trusted_config(&STAGES.replace("131040", "1040"));
    let mut host = Host::new(&desk, "pi");
    let payload = json!({
        "session_id": "one", "cwd": desk.marker(), "hook_event_name": "session_start", "source": "startup",
    });
    let fired = host.fire("hook pi session-open", payload.to_string().as_bytes());
    assert_eq!(fired.code, 0, "{fired:?}");
    assert_told_without(&fired.stdout);
    assert_told_without(&kept(&desk));
}

#[test]
fn of_git_are_told_to_nobody() {
    let desk = Desk::new();
    desk.git();
    fs::write(desk.project.join("page?token=s3cret"), "").unwrap();
    let text = stdout(&desk.dogwatch(&["open"]));
    assert!(text.contains("  ?? page?token=*** (name cleaned)"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");

    let config = desk.project.join(".git/config");
    let broken =
        fs::read_to_string(&config).unwrap() + "[status]\nbranch = https://user:s3cret@host.invalid\n";
    fs::write(&config, broken).unwrap();
    let text = stdout(&desk.dogwatch(&["open"]));
    assert!(
        text.contains("whether it is clean is not known: ") && text.contains("https://***@host"),
        "{text}"
    );
    assert!(!text.contains("s3cret"), "{text}");
}

/// The digest of a project's own program.
fn external(desk: &Desk, script: &str) -> String {
    desk.trusted_config(&format!(
        "[digest]\ndeadline = 3\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n"
    ));
    let output = desk.dogwatch(&["open"]);
    let text = stdout(&output);
    assert_eq!(kept(desk), text);
    let json = stdout(&desk.dogwatch(&["open", "--json"]));
    assert!(!json.contains("s3c") && !json.contains("user"), "{json}");
    assert!(!text.contains("s3c") && !text.contains("user"), "{text}");
    text
}

#[test]
fn of_an_external_digest_are_told_to_nobody() {
    let desk = Desk::new();
    let text = external(
        &desk,
        "printf 'see https://user:'; printf s3c; printf 'ret@host.invalid/a\\n'; echo 'https://s3cret@h' >&2; exit 3",
    );
    assert!(
        text.ends_with("\nsee https://***@host.invalid/a\n[digest: exited with 3: https://***@h]\n"),
        "{text}"
    );

    let text = external(&desk, "printf 'before https://user:s3cret'; while :; do sleep 1; done");
    assert!(text.contains("\nbefore https://***\n\n=== STARTUP TRUNCATED"), "{text}");
}

#[test]
fn of_a_line_longer_than_is_held_back_are_told_to_nobody_and_nothing_is_lost() {
    let desk = Desk::new();
    let text =
        external(&desk, "yes 'https://user:s3cret@host.invalid/a b' | head -n 5000 | tr '\\n' ' '; echo end");
    assert!(
        text.ends_with(&("https://***@host.invalid/a b ".repeat(5000) + "end\n")),
        "{} bytes",
        text.len()
    );
}
