//! A tool call that carries a message (spec 4.14): the message is accepted before the call runs, and not again.

use super::direct::is_older;
use super::front::json_response;
use super::handler;
use crate::messages::refused;
use crate::{App, Error};
use axum::response::Response;
use canon::Value;
use http::HeaderMap;
use pcm::message::carriage::{self, Carried};
use pcm::message::{Fault, Overall};
use serde_json::json;

/// Accepts the message that a call carries. Gives the answer to a call that is not to run: its message is refused, asks for something
/// else than the call does, or is not in it. A call that carries none runs.
pub(crate) async fn refusal(app: &App, headers: &HeaderMap, body: &[u8]) -> Option<Response> {
    let has = |mark: &[u8]| body.windows(mark.len()).any(|part| part == mark);
    if !has(MARK) && !has(ESCAPE) {
        return None;
    }
    let call = canon::parse(body).ok()?;
    let params =
        call.get("params").filter(|_| call.get("method").and_then(Value::as_str) == Some("tools/call"))?;
    let error = match accept(app, params).await {
        Ok(()) => return None,
        Err(error) => error,
    };
    let mut result = handler::refused(&error);
    if is_older(headers) {
        result.result_type = None;
    }
    let id = serde_json::to_value(call.get("id")).unwrap_or_default();
    Some(json_response(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()))
}

/// The beginning of the member's name, and of an escape it may be hidden behind: nothing else is read twice.
const MARK: &[u8] = b"countersign.pcm";
const ESCAPE: &[u8] = br"\u";

async fn accept(app: &App, params: &Value<'_>) -> Result<(), Error> {
    let bytes = match carriage::of_mcp(params).map_err(refused)? {
        None => return Ok(()),
        Some(Carried::Message(bytes)) => bytes,
        Some(Carried::Link(_)) => {
            let text = "a linked message is not fetched here: hand it over at /v1/messages";
            return Err(Error::malformed("message_not_inline", "/_meta", text));
        }
    };
    let message = canon::parse(&bytes)?;
    carriage::agrees_with_call(&message, params).map_err(refused)?;
    let judgement = app.desk()?.accept(app.runtime(), &bytes, None).await?;
    match (judgement.overall, judgement.fault) {
        (Overall::Reject, Some(Fault { code, place, detail })) => Err(refused(Fault { code, place, detail })),
        _ => Ok(()),
    }
}
