use std::path::Path;

use serde_json::json;

use super::*;
use crate::recording::all;

fn taken(event: &str, payload: Value) -> Taken {
    Taken { name: event.to_owned(), event: event.to_owned(), env: Vec::new(), payload }
}

#[test]
fn the_recordings_have_the_shape_of_the_recordings() {
    for harness in [Harness::Claude, Harness::Codex, Harness::Grok, Harness::Pi, Harness::OpenCode] {
        let version = crate::recording::newest(harness).unwrap();
        let all: Vec<Taken> = all()
            .iter()
            .filter(|recording| recording.harness == harness && recording.version == version)
            .map(|recording| taken(&recording.event, recording.payload().clone()))
            .collect();
        let drift = drift(harness, None, &all);
        assert_eq!(drift.changes, [], "{}", harness.id());
        assert_eq!(drift.not_seen, [""; 0], "{}", harness.id());
    }
}

#[test]
fn a_key_that_came_one_that_went_and_one_of_another_type_are_told() {
    let recording =
        crate::recording::find(Harness::Claude, "2.1.332", "SessionStart-startup-headless").unwrap();
    let mut payload = recording.payload().clone();
    let map = payload.as_object_mut().unwrap();
    map.insert("new_key".to_owned(), json!({ "inner": 1 }));
    map.shift_remove("cwd");
    map.insert("source".to_owned(), json!(["startup"]));
    let drift = drift(Harness::Claude, None, &[taken("SessionStart", payload), taken("Brandnew", json!({}))]);
    let event = || "SessionStart".to_owned();
    assert_eq!(
        drift.changes,
        [
            Change::NewEvent { event: "Brandnew".to_owned() },
            Change::Came { event: event(), key: "new_key".to_owned(), now: "an object".to_owned() },
            Change::Went { event: event(), key: "cwd".to_owned() },
            Change::Type {
                event: event(),
                key: "source".to_owned(),
                before: "a text".to_owned(),
                now: "a list".to_owned()
            },
        ]
    );
    assert!(drift.to_string().contains("SessionStart: source was a text, is a list"), "{drift}");
}

#[test]
fn nothing_of_the_person_is_kept() {
    let mask = Mask::new(Path::new("/work/of anna/repo"), Path::new("/home/anna"));
    let long = "x".repeat(161);
    let payload = json!({
        "cwd": "/work/of anna/repo/src",
        "transcript_path": "/home/anna/.claude/projects/-work-of-anna-repo/x.jsonl",
        "grok": "%2Fwork%2Fof anna%2Frepo",
        "prompt": format!("take sk-ant-api03-abcdefgh from {long}"),
        "note": "Bearer eyJhbGciOiJIUzI1NiJ9, and /home/anna",
        "long": long,
        "apiKey": "anything",
        "token": "",
        "tokens": 5,
        "list": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
        "/home/anna/x": 1,
    });
    let clean = mask.clean(payload);
    assert_eq!(clean["cwd"], "/home/dev/project/src");
    assert_eq!(clean["transcript_path"], "/home/dev/.claude/projects/-home-dev-project/x.jsonl");
    assert_eq!(clean["grok"], "%2Fhome%2Fdev%2Fproject");
    assert_eq!(clean["long"], "<161 characters left out>");
    assert_eq!(clean["note"], "<API_KEY>, and /home/dev");
    assert_eq!(clean["apiKey"], "<API_KEY>");
    assert_eq!(clean["token"], "");
    assert_eq!(clean["tokens"], 5);
    assert_eq!(clean["list"].as_array().unwrap().len(), 13);
    assert!(!clean.to_string().contains("anna") && !clean.to_string().contains("sk-ant"), "{clean}");
}

#[test]
fn a_name_tells_what_a_recording_is_of() {
    let name = |harness, event, payload| super::name(harness, event, &payload, "headless");
    for (harness, event, payload, expected) in [
        (Harness::Claude, "SessionStart", json!({"source": "startup"}), "SessionStart-startup-headless"),
        (
            Harness::Codex,
            "PreToolUse",
            json!({"tool_name": "Bash", "permission_mode": "bypassPermissions"}),
            "PreToolUse-Bash-bypassPermissions-headless",
        ),
        (Harness::Claude, "Stop", json!({"stop_hook_active": true}), "Stop-active-headless"),
        (
            Harness::Claude,
            "Stop",
            json!({"stop_hook_active": false, "permission_mode": "default"}),
            "Stop-first-headless",
        ),
        (Harness::Grok, "SessionStart", json!({"source": "new"}), "SessionStart-new"),
        (Harness::Pi, "session_start", json!({"event": {"reason": "startup"}}), "session_start-startup"),
        (Harness::OpenCode, "hook.shell.env", json!({"input": {}}), "hook.shell.env-default"),
        (Harness::Claude, "PreToolUse", json!({"tool_name": "a/b c"}), "PreToolUse-headless"),
    ] {
        assert_eq!(name(harness, event, payload), expected);
    }
}

#[test]
fn one_of_each_name_and_shape_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let raw = folder.path().join("raw");
    let recorder =
        Recorder::register(Harness::Claude, &folder.path().join("home"), &raw, Path::new("/bin/true"))
            .unwrap();
    for payload in
        [r#"{"source":"startup"}"#, r#"{"source":"startup"}"#, r#"{"source":"startup","more":1}"#, "no JSON"]
    {
        take("SessionStart", &raw, payload.as_bytes()).unwrap();
    }
    std::fs::write(raw.join("0.tmp"), "half").unwrap();
    let taken = recorder.taken(&Mask::new(folder.path(), folder.path()), "headless").unwrap();
    let names: Vec<&str> = taken.iter().map(|taken| taken.name.as_str()).collect();
    assert_eq!(
        names,
        ["SessionStart-startup-headless", "SessionStart-startup-headless~2", "SessionStart-headless"]
    );
    assert!(taken.iter().all(|taken| taken.env.contains(&"PATH".to_owned())));
}

#[test]
fn what_is_registered_already_stays() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".claude/settings.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(
        &file,
        r#"{"theme":"dark","hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#,
    )
    .unwrap();
    let raw = home.path().join("raw it's");
    Recorder::register(Harness::Claude, home.path(), &raw, Path::new("/a b/harness-sim")).unwrap();
    let settings: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(settings["theme"], "dark");
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "mine");
    let command = settings["hooks"]["Stop"][1]["hooks"][0]["command"].as_str().unwrap();
    let raw = raw.display().to_string().replace('\'', r"'\''");
    assert_eq!(command, format!("'/a b/harness-sim' record-take Stop '{raw}'"));
    std::fs::write(&file, r#"{"hooks":[]}"#).unwrap();
    let error = Recorder::register(Harness::Claude, home.path(), &home.path().join("raw"), Path::new("x"))
        .unwrap_err();
    assert!(error.to_string().contains("settings.json: \"hooks\" has another form"), "{error}");
}

#[test]
fn what_a_recording_left_out_may_be_anything() {
    let known = json!({ "options": "<left out>", "always": 1 });
    let new = json!({ "options": { "more": { "and": "more" } }, "always": "<5 characters left out>" });
    let drift = shape::compare("1", &[("e", &known)], &[("e", &new)]);
    assert_eq!(drift.changes, []);
    let drift = shape::compare("1", &[("e", &new)], &[("e", &known)]);
    assert_eq!(drift.changes, []);
}
