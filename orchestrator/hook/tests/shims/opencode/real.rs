//! The same with the real binary.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{SERVE, Setup, all, requests, sent, texts};
use crate::support::{Desk, PROGRAM};

#[test]
fn in_a_home_the_nudge_arrives_and_the_moments_are_traced() {
    let desk = Desk::new();
    desk.init();
    let setup = Setup { binary: Some(Path::new(PROGRAM)), ..SERVE };
    let Some(mut open_code) = setup.start_at(desk) else { return };
    open_code.session("ses_1");
    let mut lines = open_code.prompt("ses_1", "hello");
    let request = texts(requests(&lines)[0]);
    assert_eq!(request.len(), 2, "{request:?}");
    assert!(request[1].starts_with("\u{2063}DOGWATCH_OP: v1 session-start: Run `"), "{request:?}");
    lines.extend(open_code.settle());
    lines.extend(open_code.tool("ses_1"));
    lines.extend(open_code.order(&json!({ "do": "dispose" })));
    assert!(all(&lines, "log").is_empty() && all(&lines, "blocked").is_empty(), "{lines:?}");
    let trace = fs::read_to_string(open_code.desk.project.join(".dogwatch/state/trace.jsonl")).unwrap();
    let trace: Vec<serde_json::Value> =
        trace.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let moments: Vec<_> = trace.iter().map(|line| line["moment"].as_str().unwrap()).collect();
    assert_eq!(moments, ["session-open", "prompt", "stop", "before-tool", "after-tool", "end"]);
    for line in &trace {
        assert_eq!(
            [&line["harness"], &line["session"], &line["harness_version"]],
            ["opencode", "ses_1", "1.18.33"]
        );
    }
}

#[test]
fn without_a_home_there_is_nothing() {
    let desk = Desk::new();
    let setup = Setup { binary: Some(Path::new(PROGRAM)), ..SERVE };
    let Some(mut open_code) = setup.start_at(desk) else { return };
    open_code.session("ses_1");
    let mut lines = open_code.prompt("ses_1", "hello");
    lines.extend(open_code.settle());
    assert!(sent(&lines).is_empty() && all(&lines, "log").is_empty(), "{lines:?}");
    assert_eq!(texts(requests(&lines)[0]), ["hello"]);
}
