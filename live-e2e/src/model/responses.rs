//! `OpenAI`'s Responses: as the API reference has it, and Codex 0.171.0 and Grok 1.0.41 read it.

use serde_json::{Value, json};

use super::request::{Item, Role, Text, texts_of};
use super::script::{Call, Turn};
use super::sse::{Step, typed};

pub(super) fn items(body: &Value) -> Vec<Item> {
    let text = |role| move |text| Item::Text(Text { role, text });
    let mut items: Vec<Item> = texts_of(&body["instructions"]).into_iter().map(text(Role::System)).collect();
    let Some(input) = body["input"].as_array() else {
        items.extend(texts_of(&body["input"]).into_iter().map(text(Role::User)));
        return items;
    };
    for item in input {
        match item["type"].as_str().unwrap_or("message") {
            "message" => {
                let role = Role::of(item["role"].as_str().unwrap_or("user"));
                items.extend(texts_of(&item["content"]).into_iter().map(text(role)));
            }
            kind if kind.ends_with("_call_output") => {
                let output = &item["output"];
                // An object where the CLI adds an exit code.
                let output = if output.is_object() { &output["content"] } else { output };
                items.push(Item::Result(texts_of(output).join("\n")));
            }
            _ => {}
        }
    }
    items
}

/// What an answer consists of.
fn output(turn: &Turn, id: &str) -> Vec<Value> {
    if turn.calls.is_empty() {
        let content = json!([{"type": "output_text", "text": turn.text, "annotations": []}]);
        return vec![json!({
            "type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed",
            "content": content,
        })];
    }
    turn.calls.iter().enumerate().map(|(at, call)| called(call, &format!("{id}{at:02}"))).collect()
}

fn called(call: &Call, id: &str) -> Value {
    let (item, call_id) = (format!("fc_{id}"), format!("call_{id}"));
    if let Some(text) = call.arguments.as_str() {
        return json!({
            "type": "custom_tool_call", "id": item, "status": "completed", "call_id": call_id,
            "name": call.name, "input": text,
        });
    }
    let mut value = json!({
        "type": "function_call", "id": item, "status": "completed", "call_id": call_id, "name": call.name,
        "arguments": call.arguments.to_string(),
    });
    // A tool of a group, which Codex offers as `group/name`.
    if let Some((group, name)) = call.name.split_once('/') {
        value["namespace"] = group.into();
        value["name"] = name.into();
    }
    value
}

fn response(turn: &Turn, model: &Value, id: &str, output: Option<Vec<Value>>) -> Value {
    let mut response = json!({
        "id": format!("resp_{id}"), "object": "response", "created_at": super::http::now(), "model": model,
        "status": "in_progress", "output": [],
    });
    if let Some(output) = output {
        response["status"] = "completed".into();
        response["output"] = output.into();
        response["usage"] = json!({
            "input_tokens": turn.input_tokens, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": turn.input_tokens + 20,
        });
    }
    response
}

/// The answer in one piece.
pub(super) fn whole(turn: &Turn, model: &Value, id: &str) -> Value {
    response(turn, model, id, Some(output(turn, id)))
}

/// The answer event by event.
pub(super) fn events(turn: &Turn, model: &Value, id: &str) -> Vec<Step> {
    let begun = || json!({"response": response(turn, model, id, None)});
    let mut steps = vec![typed("response.created", begun()), typed("response.in_progress", begun())];
    let output = output(turn, id);
    for (at, item) in output.iter().enumerate() {
        let mut added = item.clone();
        added["status"] = "in_progress".into();
        let is_message = item["type"] == "message";
        if is_message {
            added["content"] = json!([]);
        }
        steps.push(typed("response.output_item.added", json!({"output_index": at, "item": added})));
        if is_message {
            steps.extend(said(turn, &item["id"], at));
        }
        steps.push(typed("response.output_item.done", json!({"output_index": at, "item": item})));
    }
    let end = response(turn, model, id, Some(output));
    steps.push(typed("response.completed", json!({"response": end})));
    let mut number = 0;
    for step in &mut steps {
        if let Step::Event(_, data) = step {
            data["sequence_number"] = number.into();
            number += 1;
        }
    }
    steps
}

fn said(turn: &Turn, item: &Value, at: usize) -> Vec<Step> {
    let place = |mut data: Value| {
        data["item_id"] = item.clone();
        data["output_index"] = at.into();
        data["content_index"] = 0.into();
        data
    };
    let (first, second) = super::chat::halves(&turn.text);
    let part = json!({"part": {"type": "output_text", "text": "", "annotations": []}});
    let delta = |text: &str| typed("response.output_text.delta", place(json!({"delta": text})));
    vec![
        typed("response.content_part.added", place(part)),
        delta(first),
        Step::Pause(turn.within),
        delta(second),
        typed("response.output_text.done", place(json!({"text": turn.text}))),
    ]
}
