//! Anthropic's Messages: as the API reference has it, and Claude Code 2.1.332, Pi 1.6.0 read it.

use serde_json::{Value, json};

use super::request::{Item, Role, Text, texts_of};
use super::script::Turn;
use super::sse::{Step, typed};

pub(super) fn items(body: &Value) -> Vec<Item> {
    let text = |role| move |text| Item::Text(Text { role, text });
    let mut items: Vec<Item> = texts_of(&body["system"]).into_iter().map(text(Role::System)).collect();
    for message in body["messages"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let role = Role::of(message["role"].as_str().unwrap_or("user"));
        match &message["content"] {
            Value::Array(blocks) => {
                for block in blocks {
                    if block["type"] == "tool_result" {
                        items.push(Item::Result(texts_of(&block["content"]).join("\n")));
                    } else if let Some(said) = block["text"].as_str() {
                        items.push(text(role)(said.to_owned()));
                    }
                }
            }
            content => items.extend(texts_of(content).into_iter().map(text(role))),
        }
    }
    items
}

/// The content of an answer, block by block.
fn blocks(turn: &Turn, id: &str) -> Vec<Value> {
    let text = if turn.calls.is_empty() { turn.text.as_str() } else { "calling" };
    let mut blocks = vec![json!({"type": "text", "text": text})];
    for (at, call) in turn.calls.iter().enumerate() {
        let id = format!("toolu_{id}{at:02}");
        blocks.push(json!({"type": "tool_use", "id": id, "name": call.name, "input": call.arguments}));
    }
    blocks
}

fn stop_reason(turn: &Turn) -> &'static str {
    if turn.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn message(turn: &Turn, model: &Value, id: &str) -> Value {
    json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": turn.input_tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "output_tokens": 1,
        },
    })
}

/// The answer in one piece.
pub(super) fn whole(turn: &Turn, model: &Value, id: &str) -> Value {
    let mut message = message(turn, model, id);
    message["content"] = Value::Array(blocks(turn, id));
    message["stop_reason"] = stop_reason(turn).into();
    message["usage"]["output_tokens"] = 20.into();
    message
}

/// The answer event by event.
pub(super) fn events(turn: &Turn, model: &Value, id: &str) -> Vec<Step> {
    let mut steps = vec![typed("message_start", json!({"message": message(turn, model, id)}))];
    for (at, block) in blocks(turn, id).into_iter().enumerate() {
        let delta = |delta: Value| typed("content_block_delta", json!({"index": at, "delta": delta}));
        let mut empty = block.clone();
        let pieces: Vec<Step> = if let Some(text) = block["text"].as_str() {
            empty["text"] = "".into();
            let (first, second) = super::chat::halves(text);
            let text = |text: &str| delta(json!({"type": "text_delta", "text": text}));
            vec![text(first), Step::Pause(turn.within), text(second)]
        } else {
            empty["input"] = json!({});
            vec![delta(json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}))]
        };
        steps.push(typed("content_block_start", json!({"index": at, "content_block": empty})));
        steps.extend(pieces);
        steps.push(typed("content_block_stop", json!({"index": at})));
    }
    let end = json!({
        "delta": {"stop_reason": stop_reason(turn), "stop_sequence": null}, "usage": {"output_tokens": 20},
    });
    steps.push(typed("message_delta", end));
    steps.push(typed("message_stop", json!({})));
    steps
}
