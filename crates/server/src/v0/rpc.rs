//! JSON-RPC over one HTTP request (spec 4.1): stateless, JSON responses, batches of at most 20.

use super::answers::{GENERIC, Trouble, guard_headers};
use super::http::read;
use super::{V0, address, lock, tools};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use canon::Value;
use futures::FutureExt;
use futures::future::join_all;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use pxp::v0::text::{limit, text};
use serde_json::json;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;

/// Who sends a message.
pub(super) struct From {
    pub headers: HeaderMap,
    pub address: IpAddr,
    /// What the client called itself when it opened its session.
    pub client: Option<String>,
}

const BATCH: usize = 20;
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];
const SESSION: &str = "mcp-session-id";

const INSTRUCTIONS: &str = "PXP rooms: you act as the proxy of one principal. Seal the intent card your principal has \
    confirmed, wait for your turn, review the other side's claims, tag every fact you rely on, escalate what your card does \
    not allow, and show your principal the brief at the end.";

pub(super) async fn mcp(State(v0): State<V0>, request: Request) -> Response {
    let mut response = match *request.method() {
        Method::POST => posted(&v0, request).await,
        Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        Method::DELETE => StatusCode::OK.into_response(),
        _ => rpc(405, &error(&Value::Null, -32000, "Only POST is served here.")),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", "POST, GET, DELETE, OPTIONS"),
        ("access-control-allow-headers", "content-type, authorization, mcp-session-id, mcp-protocol-version"),
        ("access-control-expose-headers", SESSION),
        ("cross-origin-resource-policy", "cross-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    guard_headers(response).await
}

async fn posted(v0: &V0, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let from_address = address(&parts);
    let bytes = match read(&parts.headers, body, v0.0.options.mcp_body).await {
        Ok(bytes) => bytes,
        Err(Trouble { status, text, .. }) => {
            let mut response = rpc(status, &error(&Value::Null, -32600, &text));
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            return response;
        }
    };
    let Ok(message) = canon::parse(&bytes) else {
        return rpc(400, &error(&Value::Null, -32700, "The body is not JSON."));
    };
    let session = parts.headers.get(SESSION).and_then(|id| id.to_str().ok());
    let client = session.and_then(|id| lock(&v0.0.sessions).names.get(id).cloned());
    let from = From { headers: parts.headers.clone(), address: from_address, client };
    match message {
        Value::Array(messages) if messages.len() > BATCH => {
            rpc(400, &error(&Value::Null, -32600, "A batch has at most 20 messages."))
        }
        Value::Array(messages) => {
            let session = messages.iter().find_map(|message| v0.session(message));
            let answers = join_all(messages.iter().map(|message| v0.handle(message, &from))).await;
            let answers: Vec<_> = answers.into_iter().flatten().map(|(_, answer)| answer).collect();
            if answers.is_empty() {
                return StatusCode::ACCEPTED.into_response();
            }
            with_session(rpc(200, &answers), session)
        }
        message => {
            let session = v0.session(&message);
            match v0.handle(&message, &from).await {
                Some((status, answer)) => with_session(rpc(status, &answer), session),
                None => StatusCode::ACCEPTED.into_response(),
            }
        }
    }
}

impl V0 {
    /// The answer to one message, with the HTTP status it has alone. A message without an id is carried out and not
    /// answered.
    async fn handle(&self, message: &Value<'_>, from: &From) -> Option<(u16, serde_json::Value)> {
        let id = message.get("id").filter(|id| matches!(id, Value::String(_) | Value::Number(_)));
        let method = message.get("method").and_then(Value::as_str);
        let version = message.get("jsonrpc").and_then(Value::as_str);
        let Some(method) = method.filter(|_| version == Some("2.0")) else {
            return Some((400, error(id.unwrap_or(&Value::Null), -32600, "Not a JSON-RPC 2.0 request.")));
        };
        let params = message.get("params").unwrap_or(&Value::Null);
        let dispatched = AssertUnwindSafe(self.dispatch(method, params, from)).catch_unwind().await;
        let id = id?;
        Some((
            200,
            match dispatched {
                Ok(Ok(result)) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                Ok(Err((code, text))) => error(id, code, text),
                Err(_) => error(id, -32603, GENERIC),
            },
        ))
    }

    async fn dispatch(
        &self,
        method: &str,
        params: &Value<'_>,
        from: &From,
    ) -> Result<serde_json::Value, (i32, &'static str)> {
        match method {
            "initialize" => Ok(initialize(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": tools::list(self.0.accounts.is_some()) })),
            "tools/call" => {
                let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
                let nothing = Value::Null;
                let arguments = params.get("arguments").unwrap_or(&nothing);
                let called = AssertUnwindSafe(self.call(name, arguments, from)).catch_unwind().await;
                Ok(match called.unwrap_or_else(|_| Err(Trouble::bug())) {
                    Ok(result) => {
                        let text = serde_json::to_string_pretty(&result).map_err(|_| (-32603, GENERIC))?;
                        json!({ "content": [{ "type": "text", "text": text }], "structuredContent": result })
                    }
                    Err(trouble) => {
                        json!({ "content": [{ "type": "text", "text": trouble.text }], "isError": true })
                    }
                })
            }
            method if method.starts_with("notifications/") => Ok(json!({})),
            _ => Err((-32601, "There is no such method.")),
        }
    }

    /// A fresh session, if the message opens one.
    fn session(&self, message: &Value<'_>) -> Option<String> {
        if message.get("method").and_then(Value::as_str) != Some("initialize") {
            return None;
        }
        let client = message.pointer("/params/clientInfo");
        let part = |key| text(client.and_then(|client| client.get(key)), limit::AGENT);
        let name = Some(part("title")).filter(|title| !title.is_empty()).unwrap_or_else(|| part("name"));
        let id = uuid(self.0.runtime.source().env().bytes16());
        lock(&self.0.sessions).keep(id.clone(), name);
        Some(id)
    }
}

fn initialize(params: &Value<'_>) -> serde_json::Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let [newest, ..] = VERSIONS;
    let version = VERSIONS.into_iter().find(|version| asked == Some(version)).unwrap_or(newest);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": false } },
        "serverInfo": {
            "name": "countersign-v0",
            "title": "Countersign, PXP profile v0",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "instructions": INSTRUCTIONS,
    })
}

fn error(id: &Value<'_>, code: i32, message: &str) -> serde_json::Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn rpc<T: serde::Serialize>(status: u16, body: &T) -> Response {
    super::answers::json(status, body)
}

fn with_session(mut response: Response, session: Option<String>) -> Response {
    if let Some(value) = session.and_then(|id| HeaderValue::from_str(&id).ok()) {
        response.headers_mut().insert(SESSION, value);
    }
    response
}

/// A random UUID (RFC 9562, version 4).
fn uuid(bytes: [u8; 16]) -> String {
    let mut number = u128::from_be_bytes(bytes);
    number = (number & !(0xf << 76)) | (4 << 76);
    number = (number & !(0b11 << 62)) | (0b10 << 62);
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}
