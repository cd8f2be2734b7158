//! Every recording says where it came from, and gives nothing away.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not take for tests")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// All of them together, so that a checkout stays small.
const MOST_BYTES: u64 = 1024 * 1024;

#[test]
fn every_recording_says_where_it_came_from() {
    let files = files();
    assert!(files.len() > 200, "{} recordings", files.len());
    let faults: Vec<String> = files
        .iter()
        .filter(|(path, _)| Path::new(path).extension().is_some_and(|extension| extension == "json"))
        .filter_map(|(path, text)| Some(format!("{path}: {}", provenance_fault(path, text)?)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_file_gives_a_home_or_a_key_away() {
    let faults: Vec<String> = files()
        .iter()
        .filter_map(|(path, text)| Some(format!("{path}: {}", home_fault(text).or_else(|| key_fault(text))?)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn they_are_small() {
    let bytes: u64 = files().iter().map(|(_, text)| text.len() as u64).sum();
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
}

#[test]
fn a_recording_without_provenance_is_refused() {
    let path = "claude/2.1.332/Stop-first.json";
    let recording =
        |provenance: &str| format!(r#"{{"provenance": {provenance}, "env": ["HOME"], "payload": {{}}}}"#);
    let good = r#"{"cli": "Claude Code", "version": "2.1.332", "date": "2026-11-30", "mode": "tui", "how": "recorded"}"#;
    assert_eq!(provenance_fault(path, &recording(good)), None);
    assert_eq!(
        provenance_fault("README.json", &recording(good)).as_deref(),
        Some("not in <harness>/<version>/")
    );
    for (bad, fault) in [
        (recording("{}"), "no provenance.cli"),
        (recording(&good.replace("tui", "")), "no provenance.mode"),
        (
            recording(&good.replace("recorded", "guessed")),
            "provenance.how is neither recorded nor documented",
        ),
        (recording(&good.replace("2.1.332", "2.1.333")), "another version than its folder"),
        (recording(&good.replace("2026-11-30", "today")), "provenance.date is no date"),
        (recording(good).replace(r#"["HOME"]"#, r#"["HOME=/home/dev"]"#), "env is no list of names"),
        (recording(good).replace("payload", "load"), "no payload"),
        ("{".to_owned(), "no JSON"),
    ] {
        assert_eq!(provenance_fault(path, &bad).as_deref(), Some(fault), "{bad}");
    }
}

#[test]
fn another_home_is_refused() {
    for text in
        ["/home/dev", "/home/dev/project", "\"/tmp/dev\"", "/$bunfs/root/src", "%2Fhome%2Fdev%2Fproject"]
    {
        assert_eq!(home_fault(text), None, "{text}");
    }
    for text in
        ["/home/devin", "/home/anna/x", "\"/root/x\"", "/Users/anna", "C:\\\\Users\\\\anna", "%2Fhome%2Fanna"]
    {
        assert!(home_fault(text).is_some(), "{text}");
    }
}

#[test]
fn a_key_is_refused() {
    for text in [
        r#""apiKey": "<API_KEY>""#,
        "5eff5a8f-1910-4b04-9e78-23f9e90950ae",
        "2851823cf6510fcf28e60cdc0cf4a2a1e4eb3565",
        r#""token": null, "tokens": 110, "output_tokens": "110""#,
        "task-list",
    ] {
        assert_eq!(key_fault(text), None, "{text}");
    }
    for text in [
        "sk-ant-api03-abcdefgh",
        "Authorization: Bearer abc",
        "ghp_abcdefghij",
        "xai-abcdefghijkl",
        "AKIAABCDEFGHIJKLMNOP",
        "-----BEGIN PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9",
        r#""apiKey": "abcdef""#,
        r#""token":"abcdef""#,
        r#"{"client_secret": "abcdef"}"#,
        "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5hJ7k",
    ] {
        assert!(key_fault(text).is_some(), "{text}");
    }
}

/// Every file with its path from the folder of the recordings.
fn files() -> Vec<(String, String)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let mut folders = vec![top.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&top).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

fn provenance_fault(path: &str, text: &str) -> Option<String> {
    let [_harness, version, _name] = path.split('/').collect::<Vec<_>>()[..] else {
        return Some("not in <harness>/<version>/".to_owned());
    };
    let Ok(recording) = serde_json::from_str::<Value>(text) else { return Some("no JSON".to_owned()) };
    let provenance = &recording["provenance"];
    for key in ["cli", "version", "date", "mode", "how"] {
        if provenance[key].as_str().is_none_or(str::is_empty) {
            return Some(format!("no provenance.{key}"));
        }
    }
    let date = provenance["date"].as_str().unwrap_or_default();
    let is_date = date.len() == 10
        && date
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() });
    let is_name = |name: &Value| {
        name.as_str().is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    let fault = if !["recorded", "documented"].contains(&provenance["how"].as_str().unwrap_or_default()) {
        "provenance.how is neither recorded nor documented"
    } else if provenance["version"] != version {
        "another version than its folder"
    } else if !is_date {
        "provenance.date is no date"
    } else if !recording["env"].as_array().is_some_and(|names| names.iter().all(is_name)) {
        "env is no list of names"
    } else if recording.get("payload").is_none() {
        "no payload"
    } else {
        return None;
    };
    Some(fault.to_owned())
}

fn home_fault(text: &str) -> Option<String> {
    // The folder in which a single binary keeps its own script.
    let text = text.replace("/$bunfs/root", "");
    let escaped = text.replace("%2F", "/");
    for text in [&text, &escaped] {
        for (at, _) in text.match_indices("/home/") {
            let name: String = text[at + 6..].chars().take_while(char::is_ascii_alphanumeric).collect();
            if name != "dev" {
                return Some(format!("a home of {name:?}"));
            }
        }
        for other in ["/root", "/Users/", "\\Users\\"] {
            if text.contains(other) {
                return Some(format!("a path with {other}"));
            }
        }
    }
    None
}

fn key_fault(text: &str) -> Option<String> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    for run in text.split(|c: char| !is_inner(c)) {
        for beginning in ["sk-", "xai-", "ghp_", "gho_", "github_pat_", "AKIA", "eyJ", "-----BEGIN"] {
            if run.starts_with(beginning) && run.len() > beginning.len() + 3 || run == "-----BEGIN" {
                return Some(format!("something that begins with {beginning}"));
            }
        }
        // Ids and hashes have one case, names have words between dashes.
        for part in run.split(['/', '-', '_']) {
            let count = |test: fn(&u8) -> bool| part.bytes().filter(test).count();
            if part.len() >= 32
                && count(u8::is_ascii_uppercase) > 2
                && count(u8::is_ascii_lowercase) > 2
                && count(u8::is_ascii_digit) > 2
            {
                return Some(format!("a long random text: {}…", &part[..6]));
            }
        }
    }
    if text.contains("Bearer ") {
        return Some("an authorization".to_owned());
    }
    for (at, _) in text.match_indices("\":") {
        let key = text[..at].rsplit('"').next().unwrap_or_default().to_ascii_lowercase();
        let secret =
            ["apikey", "api_key", "token", "secret", "password"].iter().any(|end| key.ends_with(end));
        let value = text[at + 2..].trim_start().strip_prefix('"');
        if secret && value.is_some_and(|value| !value.starts_with(['<', '"'])) {
            return Some(format!("a value of {key:?}"));
        }
    }
    None
}
