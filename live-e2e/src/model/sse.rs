//! Server-sent events: a body that comes piece by piece, with pauses.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::Value;

/// A step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// An event, which may have a name.
    Event(Option<&'static str>, Value),
    Pause(Duration),
}

/// An event that is named after its `type`.
pub(super) fn typed(kind: &'static str, mut data: Value) -> Step {
    data["type"] = kind.into();
    Step::Event(Some(kind), data)
}

/// The answer; `end` is sent last as it is.
pub(super) fn response(steps: Vec<Step>, end: Option<&'static str>) -> Response {
    let end = end.map(|end| format!("data: {end}\n\n"));
    let steps = steps.into_iter().map(Ok).chain(end.into_iter().map(Err));
    let pieces = stream::unfold(steps, |mut steps| async move {
        loop {
            let piece = match steps.next()? {
                Ok(Step::Pause(pause)) => {
                    tokio::time::sleep(pause).await;
                    continue;
                }
                Ok(Step::Event(Some(name), data)) => format!("event: {name}\ndata: {data}\n\n"),
                Ok(Step::Event(None, data)) => format!("data: {data}\n\n"),
                Err(end) => end,
            };
            return Some((Ok::<_, Infallible>(Bytes::from(piece)), steps));
        }
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(pieces)).into_response()
}
