//! The model server, as a CLI sees it: each wire format streamed and in one piece, errors, slow answers, and what a test
//! reads in the requests that were kept.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use live_e2e::model::{DONE, ModelServer, Role, SUMMARY};
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(20);

/// Status and body. HTTP/1.0, so that the answer comes without chunks and ends with the connection.
fn ask(model: &ModelServer, method: &str, path: &str, body: &str) -> (u16, String) {
    let url = model.url();
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.0\r\ncontent-type: application/json\r\nx-api-key: made-up\r\n");
    write!(stream, "{head}content-length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn post(model: &ModelServer, path: &str, body: &Value) -> (u16, String) {
    ask(model, "POST", path, &body.to_string())
}

fn whole(model: &ModelServer, path: &str, body: &Value) -> Value {
    let (status, answer) = post(model, path, body);
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

/// The events of a stream: what each is named, and its data.
fn stream(model: &ModelServer, path: &str, body: &Value) -> Vec<(Option<String>, Value)> {
    let mut body = body.clone();
    body["stream"] = true.into();
    let (status, answer) = post(model, path, &body);
    assert_eq!(status, 200, "{answer}");
    let event = |event: &str| {
        let line = |key: &str| event.lines().find_map(|line| line.strip_prefix(key));
        let data = line("data: ").unwrap();
        let data = if data == "[DONE]" { json!(data) } else { serde_json::from_str(data).unwrap() };
        (line("event: ").map(str::to_owned), data)
    };
    answer.split_terminator("\n\n").map(event).collect()
}

fn names(events: &[(Option<String>, Value)]) -> Vec<&str> {
    events
        .iter()
        .map(|(name, data)| {
            assert_eq!(name.as_deref(), data["type"].as_str(), "an event is named after its type");
            data["type"].as_str().unwrap()
        })
        .collect()
}

const CALLS: &str = "@@tool Bash {\"command\":\"echo hi\"}@@ @@ptool Read {\"path\":\"a\"}@@ @@say the end@@";

fn anthropic(prompt: &str) -> Value {
    json!({
        "model": "m", "system": [{"type": "text", "text": "be good"}], "tools": [{"name": "Bash"}, {"name": "Read"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": prompt}]}],
    })
}

fn responses(prompt: &str) -> Value {
    let text = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    json!({
        "model": "m", "instructions": "be good", "input": [text("developer", "be brief"), text("user", prompt)],
        "tools": [{"type": "function", "name": "shell"}, {"type": "web_search"}],
    })
}

fn chat(prompt: &str) -> Value {
    json!({
        "model": "m", "tools": [{"type": "function", "function": {"name": "bash"}}],
        "messages": [{"role": "system", "content": "be good"}, {"role": "user", "content": prompt}],
    })
}

#[test]
fn messages_are_streamed_block_by_block() {
    let model = ModelServer::start().unwrap();
    let events = stream(&model, "/v1/messages?beta=true", &anthropic(CALLS));
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let text = [block[0], block[1], block[1], block[2]];
    let expected =
        [&["message_start"][..], &text, &block, &block, &["message_delta", "message_stop"]].concat();
    assert_eq!(names(&events), expected);
    assert_eq!(events[0].1["message"]["role"], "assistant");
    let call = &events[5].1["content_block"];
    assert_eq!(
        (&call["type"], &call["name"], &call["input"]),
        (&json!("tool_use"), &json!("Bash"), &json!({}))
    );
    assert_eq!(events[6].1["delta"]["partial_json"], json!({"command": "echo hi"}).to_string());
    assert_ne!(call["id"], events[8].1["content_block"]["id"]);
    assert_eq!(events[11].1["delta"]["stop_reason"], "tool_use");
}

#[test]
fn messages_come_in_one_piece_where_nobody_asks_for_a_stream() {
    let model = ModelServer::start().unwrap();
    let answer = whole(&model, "/v1/messages", &anthropic(CALLS));
    assert_eq!(answer["stop_reason"], "tool_use");
    assert_eq!(answer["content"][1]["input"], json!({"command": "echo hi"}));
    let mut body = anthropic(CALLS);
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": id}]});
    body["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "user", "content": [result("a"), result("b")]}));
    let answer = whole(&model, "/v1/messages", &body);
    assert_eq!(
        (&answer["stop_reason"], &answer["content"][0]["text"]),
        (&json!("end_turn"), &json!("the end"))
    );
    assert_eq!(model.turns()[1].tool_results(), ["a", "b"]);
}

#[test]
fn responses_are_streamed_item_by_item() {
    let model = ModelServer::start().unwrap();
    let events =
        stream(&model, "/v1/responses", &responses("@@tool shell {\"a\":1}@@ @@ptool edit *** Begin@@"));
    let begun = ["response.created", "response.in_progress"];
    let item = ["response.output_item.added", "response.output_item.done"];
    assert_eq!(names(&events), [&begun[..], &item, &item, &["response.completed"]].concat());
    let numbers: Vec<u64> =
        events.iter().map(|(_, data)| data["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..7).collect::<Vec<_>>());
    let output = &events[6].1["response"]["output"];
    assert_eq!((&output[0]["type"], &output[0]["arguments"]), (&json!("function_call"), &json!("{\"a\":1}")));
    assert_eq!((&output[1]["type"], &output[1]["input"]), (&json!("custom_tool_call"), &json!("*** Begin")));

    let events = stream(&model, "/v1/responses", &responses("@@say the end@@"));
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(names(&events), expected);
    assert_eq!(events[8].1["response"]["output"][0]["content"][0]["text"], "the end");
}

#[test]
fn responses_count_their_results_and_name_groups_of_tools() {
    let model = ModelServer::start().unwrap();
    let mut body = responses("@@tool agents/spawn {}@@ @@say the end@@");
    let answer = whole(&model, "/v1/responses", &body);
    let call = &answer["output"][0];
    assert_eq!((&call["namespace"], &call["name"]), (&json!("agents"), &json!("spawn")));
    let output = json!({"type": "function_call_output", "call_id": call["call_id"], "output": "done it"});
    body["input"].as_array_mut().unwrap().push(output);
    let answer = whole(&model, "/v1/responses", &body);
    assert_eq!(answer["output"][0]["content"][0]["text"], "the end");
    assert_eq!(model.turns()[1].tool_results(), ["done it"]);
}

#[test]
fn completions_are_streamed_chunk_by_chunk_and_end_with_a_word() {
    let model = ModelServer::start().unwrap();
    let events = stream(&model, "/v1/chat/completions", &chat("@@tool bash {\"a\":1}@@"));
    assert!(events.iter().all(|(name, _)| name.is_none()));
    let call = &events[0].1["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!(call["function"], json!({"name": "bash", "arguments": "{\"a\":1}"}));
    assert_eq!(events[1].1["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(events[2].1["usage"]["prompt_tokens"], 100);
    assert_eq!(events[3].1, "[DONE]");

    let events = stream(&model, "/v1/chat/completions", &chat("@@say the é end@@"));
    let said: String =
        events.iter().filter_map(|(_, data)| data["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(said, "the é end");
}

#[test]
fn completions_come_in_one_piece_too() {
    let model = ModelServer::start().unwrap();
    let mut body = chat("@@tool bash {}@@ @@say the end@@");
    let answer = whole(&model, "/v1/chat/completions", &body);
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "bash");
    body["messages"]
        .as_array_mut()
        .unwrap()
        .push(json!({"role": "tool", "tool_call_id": "x", "content": "out"}));
    let answer = whole(&model, "/v1/chat/completions", &body);
    assert_eq!(answer["choices"][0]["message"]["content"], "the end");
    assert_eq!(model.turns()[1].tool_results(), ["out"]);
}

#[test]
fn an_error_has_the_status_that_was_asked_for() {
    let model = ModelServer::start().unwrap();
    let (status, answer) = post(&model, "/v1/messages", &anthropic("@@status 529@@"));
    assert_eq!(status, 529);
    assert!(answer.contains("api_error"), "{answer}");
}

#[test]
fn a_slow_answer_takes_its_time_and_holds_nobody_up() {
    let model = ModelServer::start().unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let slow =
            scope.spawn(|| stream(&model, "/v1/messages", &anthropic("@@sleep 1@@ @@pause 1@@ @@say x@@")));
        model.wait_for(BOUND, |requests| !requests.is_empty());
        whole(&model, "/v1/messages", &anthropic("@@say quick@@"));
        assert!(!slow.is_finished());
        slow.join().unwrap();
    });
    assert!(begun.elapsed() >= Duration::from_secs(2));
}

#[test]
fn an_answer_is_held_until_the_test_lets_it_go() {
    let model = ModelServer::start().unwrap();
    std::thread::scope(|scope| {
        let held = scope.spawn(|| whole(&model, "/v1/messages", &anthropic("@@hold first@@ @@say x@@")));
        model.wait_for(BOUND, |requests| !requests.is_empty());
        whole(&model, "/v1/messages", &anthropic("@@say quick@@"));
        assert!(!held.is_finished());
        model.let_go("first");
        held.join().unwrap();
    });
    whole(&model, "/v1/messages", &anthropic("@@hold first@@"));
}

#[test]
fn every_request_is_kept_in_order_without_its_headers() {
    let model = ModelServer::start().unwrap();
    ask(&model, "HEAD", "/", "");
    ask(&model, "GET", "/v1/models", "");
    assert_eq!(
        ask(&model, "POST", "/v1/messages/count_tokens", "{}").1,
        json!({"input_tokens": 100}).to_string()
    );
    whole(&model, "/v1/messages", &anthropic("hi"));
    assert_eq!(ask(&model, "POST", "/telemetry", "no JSON").0, 200);
    let requests = model.requests();
    let seen: Vec<(&str, &str)> =
        requests.iter().map(|kept| (kept.method.as_str(), kept.path.as_str())).collect();
    let expected = [
        ("HEAD", "/"),
        ("GET", "/v1/models"),
        ("POST", "/v1/messages/count_tokens"),
        ("POST", "/v1/messages"),
        ("POST", "/telemetry"),
    ];
    assert_eq!(seen, expected);
    assert_eq!(requests[4].body, "no JSON");
    assert_eq!(model.turns().len(), 1);
    assert!(!format!("{requests:?}").contains("made-up"), "a key travels in a header");
}

#[test]
fn what_the_model_was_told_is_read_by_role() {
    let model = ModelServer::start().unwrap();
    let mut body = anthropic("the prompt");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": "my own words"}));
    messages.push(json!({"role": "system", "content": [{"type": "text", "text": "a reminder"}]}));
    whole(&model, "/v1/messages", &body);
    whole(&model, "/v1/responses", &responses("the prompt"));
    whole(&model, "/v1/chat/completions", &chat("the prompt"));
    let turns = model.turns();
    for turn in &turns {
        assert_eq!(turn.told("the prompt").map(|text| text.role), Some(Role::User));
        assert_eq!(turn.told("be good").map(|text| text.role), Some(Role::System));
        assert!(turn.offers_tools());
    }
    assert_eq!(turns[0].told("my own"), None);
    assert!(turns[0].context().contains("a reminder") && !turns[0].context().contains("my own"));
    assert_eq!(turns[1].told("be brief").map(|text| text.role), Some(Role::Developer));
    assert_eq!(turns[1].tools(), ["shell", "web_search"]);
    assert_eq!(turns[2].tools(), ["bash"]);
}

#[test]
fn a_title_and_a_summary_are_texts() {
    let model = ModelServer::start().unwrap();
    let mut body = anthropic(CALLS);
    body["tools"] = json!([]);
    assert_eq!(whole(&model, "/v1/messages", &body)["content"][0]["text"], "the end");
    let answer = whole(&model, "/v1/messages", &anthropic("Your task is to create a detailed summary of it"));
    assert_eq!(answer["content"][0]["text"], format!("<summary>{SUMMARY}</summary>"));
    assert_eq!(whole(&model, "/v1/messages", &anthropic("hi"))["content"][0]["text"], DONE);
}
