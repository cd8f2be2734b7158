//! The routes: every request is kept first and answered then. What nobody knows gets an empty object, and is kept like
//! the rest, so that a CLI that asks for something new is seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::request::Wire;
use super::sse;
use super::{Log, Request, anthropic, chat, responses, script};

/// A conversation with a large digest is far below.
const LARGEST_BODY_BYTES: usize = 64 * 1024 * 1024;

pub(super) fn router(log: Arc<Log>) -> Router {
    Router::new().fallback(answer).with_state(log)
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// An id that no other answer of this process has.
fn id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{:022x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

async fn answer(State(log): State<Arc<Log>>, request: axum::extract::Request) -> Response {
    let (head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, LARGEST_BODY_BYTES).await else {
        return json(StatusCode::PAYLOAD_TOO_LARGE, &json!({}));
    };
    let body = if bytes.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into())
    };
    // No header is kept: keys travel there.
    let request = Request { method: head.method.to_string(), path: head.uri.path().to_owned(), body };
    log.add(request.clone());
    let Some(wire) = request.wire() else { return json(StatusCode::OK, &small_talk(&head.method, &request)) };
    let turn = script::due(&request.items(), request.offers_tools());
    tokio::time::sleep(turn.before).await;
    if let Some(name) = &turn.hold {
        log.hold(name).await;
    }
    if let Some(status) = turn.status.and_then(|status| StatusCode::from_u16(status).ok()) {
        let error = json!({"type": "api_error", "message": "the prompt asked for this error"});
        return json(status, &json!({"type": "error", "error": error}));
    }
    let (model, id) = (&request.body["model"], &id());
    let streams = request.body["stream"] == true;
    match (wire, streams) {
        (Wire::Anthropic, true) => sse::response(anthropic::events(&turn, model, id), None),
        (Wire::Responses, true) => sse::response(responses::events(&turn, model, id), None),
        (Wire::Chat, true) => sse::response(chat::events(&turn, model, id), Some(chat::END)),
        (_, false) => {
            let whole = match wire {
                Wire::Anthropic => anthropic::whole(&turn, model, id),
                Wire::Responses => responses::whole(&turn, model, id),
                Wire::Chat => chat::whole(&turn, model, id),
            };
            tokio::time::sleep(turn.within).await;
            json(StatusCode::OK, &whole)
        }
    }
}

/// What the CLIs ask for beside turns.
fn small_talk(method: &Method, request: &Request) -> Value {
    let last = request.path.rsplit('/').next().unwrap_or_default();
    match last {
        "count_tokens" => json!({"input_tokens": 100}),
        "models" if *method == Method::GET => json!({"object": "list", "data": [], "models": []}),
        // Codex asks its provider to sum a session up where the provider says that it can.
        "compact" => {
            let content = json!([{"type": "input_text", "text": super::SUMMARY}]);
            json!({"output": [{"type": "message", "role": "user", "content": content}]})
        }
        _ => json!({}),
    }
}

fn json(status: StatusCode, value: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], Body::from(value.to_string())).into_response()
}
