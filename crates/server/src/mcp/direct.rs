//! Tool calls of the older generation, answered without the SDK: it would read each message again and make a service and
//! two tasks for it, to say the same.

use super::front::json_response;
use super::handler::{Handler, Request, refused};
use super::tools;
use crate::Error;
use axum::response::Response;
use http::{HeaderMap, header};
use pcm::message::carriage::META;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// The revisions whose calls need nothing but their parameters. Without a header a call is one of theirs.
const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A call of one of the tools.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    /// A string or a whole number.
    id: Value,
    name: String,
    arguments: JsonObject,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    #[serde(rename = "jsonrpc")]
    _version: IgnoredAny,
    id: Value,
    method: String,
    params: Params,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    name: String,
    #[serde(default)]
    arguments: Option<JsonObject>,
    #[serde(default, rename = "_meta")]
    meta: JsonObject,
}

impl Call {
    /// Reads a message that the front has found to be JSON-RPC. `None` for anything but a plain call: the SDK knows what
    /// to say to it.
    pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let is_json = |kind: &str| kind.split(';').next().unwrap_or_default().trim() == "application/json";
        if !headers.get(header::CONTENT_TYPE)?.to_str().is_ok_and(is_json) {
            return None;
        }
        if !is_older(headers) {
            return None;
        }
        let Message { id, method, params, .. } = serde_json::from_slice(body).ok()?;
        let is_plain = method == "tools/call"
            && (id.is_string() || id.as_u64().is_some_and(|id| u32::try_from(id).is_ok()))
            && params.meta.keys().all(|key| matches!(key.as_str(), "progressToken" | META))
            && tools::all().iter().any(|tool| tool.name == params.name);
        is_plain.then(|| Self { id, name: params.name, arguments: params.arguments.unwrap_or_default() })
    }

    pub(crate) async fn answer(self, handler: &Handler, request: &Request) -> Response {
        let Self { id, name, arguments } = self;
        json_response(spelled(&id, &handler.call(&name, arguments, request).await))
    }
}

/// Whether a request is of one of these revisions.
pub(crate) fn is_older(headers: &HeaderMap) -> bool {
    let mut revisions = headers.get_all("mcp-protocol-version").iter();
    match (revisions.next(), revisions.next()) {
        (None, _) => true,
        (Some(only), None) => only.to_str().is_ok_and(|revision| REVISIONS.contains(&revision)),
        (Some(_), Some(_)) => false,
    }
}

fn spelled(id: &Value, outcome: &Result<String, Error>) -> String {
    match outcome {
        Ok(content) => {
            let text = Value::String(content.clone());
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{content},"isError":false}}}}"#
            )
        }
        Err(error) => {
            let mut result = refused(error);
            // What older revisions do not have.
            result.result_type = None;
            json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(revision: Option<&str>, message: &Value, expected: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, "application/json; charset=utf-8".parse().unwrap());
        if let Some(revision) = revision {
            headers.insert("mcp-protocol-version", revision.parse().unwrap());
        }
        let call = Call::read(&headers, message.to_string().as_bytes());
        assert_eq!(call.is_some(), expected, "{revision:?} {message}");
    }

    #[test]
    fn only_plain_calls_of_the_older_generation_are_read() {
        let message = |id: Value, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let plain = message(json!(1), json!({ "name": "get_room", "arguments": { "link": "l" } }));
        check(None, &plain, true);
        check(Some("2025-11-25"), &plain, true);
        check(Some("2026-07-28"), &plain, false);
        check(Some("nonsense"), &plain, false);
        check(None, &message(json!("x"), json!({ "name": "get_room" })), true);
        check(None, &message(json!(1), json!({ "name": "get_room", "_meta": { "progressToken": 1 } })), true);
        let version = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        check(None, &message(json!(1), json!({ "name": "get_room", "_meta": version })), false);
        check(None, &message(json!(1.5), json!({ "name": "get_room" })), false);
        check(None, &message(Value::Null, json!({ "name": "get_room" })), false);
        check(None, &message(json!(1), json!({ "name": "no_tool" })), false);
        check(None, &message(json!(1), json!({ "name": "get_room", "task": {} })), false);
        check(None, &message(json!(1), json!({ "name": "get_room", "arguments": [] })), false);
        check(
            None,
            &json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": "get_room" } }),
            false,
        );
        check(
            None,
            &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "name": "get_room" } }),
            false,
        );
    }
}
