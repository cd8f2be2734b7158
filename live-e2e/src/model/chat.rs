//! `OpenAI`'s chat completions, which most providers speak: as the API reference has it, and OpenCode 1.18.33, Pi 1.6.0,
//! Grok 1.0.41 read it.

use serde_json::{Value, json};

use super::request::{Item, Role, Text, texts_of};
use super::script::Turn;
use super::sse::Step;

/// What ends a stream.
pub(super) const END: &str = "[DONE]";

pub(super) fn items(body: &Value) -> Vec<Item> {
    let mut items = Vec::new();
    for message in body["messages"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let texts = texts_of(&message["content"]);
        match message["role"].as_str().unwrap_or("user") {
            "tool" => items.push(Item::Result(texts.join("\n"))),
            role => {
                let role = Role::of(role);
                items.extend(texts.into_iter().map(|text| Item::Text(Text { role, text })));
            }
        }
    }
    items
}

fn tool_calls(turn: &Turn, id: &str) -> Vec<Value> {
    let call = |(at, call): (usize, &super::script::Call)| {
        let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
        json!({"index": at, "id": format!("call_{id}{at:02}"), "type": "function", "function": function})
    };
    turn.calls.iter().enumerate().map(call).collect()
}

fn finish_reason(turn: &Turn) -> &'static str {
    if turn.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage(turn: &Turn) -> Value {
    let total = turn.input_tokens + 20;
    json!({"prompt_tokens": turn.input_tokens, "completion_tokens": 20, "total_tokens": total})
}

/// The answer in one piece.
pub(super) fn whole(turn: &Turn, model: &Value, id: &str) -> Value {
    let message = if turn.calls.is_empty() {
        json!({"role": "assistant", "content": turn.text})
    } else {
        json!({"role": "assistant", "content": null, "tool_calls": tool_calls(turn, id)})
    };
    json!({
        "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": super::http::now(),
        "model": model, "usage": usage(turn),
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(turn)}],
    })
}

/// The answer chunk by chunk; [`END`] follows.
pub(super) fn events(turn: &Turn, model: &Value, id: &str) -> Vec<Step> {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk", "created": super::http::now(),
            "model": model, "choices": choices,
        })
    };
    let delta = |delta: Value, finish: Value| {
        Step::Event(None, chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}])))
    };
    let mut steps = Vec::new();
    if turn.calls.is_empty() {
        let (first, second) = halves(&turn.text);
        steps.push(delta(json!({"role": "assistant", "content": first}), Value::Null));
        steps.push(Step::Pause(turn.within));
        steps.push(delta(json!({"content": second}), Value::Null));
    } else {
        for call in tool_calls(turn, id) {
            steps.push(delta(json!({"role": "assistant", "tool_calls": [call]}), Value::Null));
        }
    }
    steps.push(delta(json!({}), finish_reason(turn).into()));
    let mut last = chunk(json!([]));
    last["usage"] = usage(turn);
    steps.push(Step::Event(None, last));
    steps
}

/// A text in two pieces, for a pause between them.
pub(super) fn halves(text: &str) -> (&str, &str) {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    text.split_at(middle)
}
