//! What an MCP request meets before the SDK: size, strict JSON, batches of the older revisions, plain tool calls, and the
//! place where a wait for a turn is parked. Parked here it costs a body and a few headers; inside the SDK it would cost a
//! service each.

use super::direct::Call;
use super::handler::{self, Handler, Waited};
use super::{carried, label};
use crate::guard::ClientAddress;
use crate::once::read;
use crate::parking::{Exit, Wait, kept};
use crate::problem::is_bare;
use crate::{App, Error};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use canon::Value;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, Uri, header};
use ledger::Coded;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use serde_json::json;
use tokio::sync::Semaphore;
use tower::ServiceExt;

pub(crate) type Sdk = StreamableHttpService<super::handler::Handler, NeverSessionManager>;

/// The most messages of one batch.
const BATCH: usize = 20;

/// Ended waits that are answered at the same time.
static ANSWERS: Semaphore = Semaphore::const_new(64);

#[derive(Debug, Clone, Copy)]
struct Fault {
    status: StatusCode,
    code: i32,
    message: &'static str,
}

const PARSE: Fault = Fault { status: StatusCode::BAD_REQUEST, code: -32700, message: "Parse error" };
const INVALID: Fault = Fault { status: StatusCode::BAD_REQUEST, code: -32600, message: "Invalid Request" };
const TOO_LARGE: Fault =
    Fault { status: StatusCode::PAYLOAD_TOO_LARGE, code: -32600, message: "Request body too large" };
const BATCH_TOO_LONG: Fault =
    Fault { status: StatusCode::BAD_REQUEST, code: -32600, message: "At most 20 messages in a batch" };
const NO_STREAM: Fault = Fault {
    status: StatusCode::METHOD_NOT_ALLOWED,
    code: -32000,
    message: "This server sends no messages of its own: use POST",
};

/// `/mcp`, all methods.
pub(crate) async fn handle(State((app, sdk)): State<(App, Sdk)>, request: Request) -> Response {
    match *request.method() {
        Method::POST => {}
        // Sessions hold nothing here, so ending one always succeeds.
        Method::DELETE => return StatusCode::OK.into_response(),
        _ => {
            let mut response = NO_STREAM.response(None);
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST, DELETE"));
            return response;
        }
    }
    let (mut parts, body) = request.into_parts();
    let Ok(body) = read(body, &parts.headers, app.config().limits.mcp_body).await else {
        let mut response = TOO_LARGE.response(None);
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        return response;
    };
    accept_json(&mut parts);
    let exit = parts.extensions.remove::<Exit>();
    match sort(&body) {
        Ok(Sorted::One(kind)) => one(app, sdk, parts, body, kind, exit).await,
        Ok(Sorted::Many(messages)) => Box::pin(many(app, sdk, &parts, messages)).await,
        Err(refusal) => *refusal,
    }
}

/// A body read: nothing of its tree is kept while a message waits.
enum Sorted {
    One(Kind),
    Many(Vec<(Kind, Bytes)>),
}

fn sort(body: &[u8]) -> Result<Sorted, Box<Response>> {
    let invalid =
        |place: String| Box::new(INVALID.response(Some(json!({ "code": "shape", "place": place }))));
    let message = canon::parse(body).map_err(|error| {
        Box::new(PARSE.response(Some(json!({ "code": error.code.as_str(), "place": error.place }))))
    })?;
    let Value::Array(batch) = &message else {
        return Ok(Sorted::One(Kind::of(&message).map_err(|place| invalid(place.to_owned()))?));
    };
    if batch.len() > BATCH {
        return Err(Box::new(BATCH_TOO_LONG.response(None)));
    }
    let kinds = batch
        .iter()
        .enumerate()
        .map(|(index, message)| Kind::of(message).map_err(|place| invalid(format!("/{index}{place}"))));
    let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
    let bodies = batch.iter().filter_map(|message| canon::to_vec(message).ok()).map(Bytes::from);
    Ok(Sorted::Many(kinds.into_iter().zip(bodies).collect()))
}

/// Answers one message; a wait is waited for first, outside its connection if it has an `exit`.
async fn one(app: App, sdk: Sdk, parts: Parts, body: Bytes, kind: Kind, exit: Option<Exit>) -> Response {
    let label = match kind {
        Kind::Wait(wait) => return later(app, sdk, parts, body, wait, exit).await,
        Kind::Initialize { client } => Some(client),
        Kind::Other => None,
    };
    let mut response = now(&app, sdk, parts, body).await;
    if let Some(client) = label
        && response.status().is_success()
        && let Ok(session) = HeaderValue::from_str(&label::session(&mut app.env(), client.as_deref()))
    {
        response.headers_mut().insert("mcp-session-id", session);
    }
    response
}

/// Waits for the turn, and answers. Meanwhile the request is no more than what its answer needs. It leaves its connection
/// before the room is looked at: when thousands come at once, that takes its time.
async fn later(
    app: App,
    sdk: Sdk,
    parts: Parts,
    body: Bytes,
    AskedWait { link, since, seconds }: AskedWait,
    exit: Option<Exit>,
) -> Response {
    let address = parts.extensions.get::<ClientAddress>().copied();
    let headers = kept(&parts);
    drop(parts);
    let wait: Wait = Box::pin(async move {
        // Boxed, each of them, so that no state but the wait's own is part of what waits.
        let turn = Box::pin(app.await_turn(&headers, link.as_deref(), since, seconds)).await;
        let ended = match turn {
            Ok(Some(turn)) => turn.wait().await,
            Ok(None) => Ok(false),
            Err(error) => Err(error),
        };
        let (mut parts, ()) = http::Request::new(()).into_parts();
        (parts.method, parts.uri, parts.headers) = (Method::POST, Uri::from_static("/mcp"), headers);
        if let Some(address) = address {
            parts.extensions.insert(address);
        }
        // What is wrong with the wait, the tool itself says.
        if let Ok(timed_out) = ended {
            parts.extensions.insert(Waited { timed_out });
        }
        // Thousands of waits may end at once, and an answer is much larger than a wait.
        let _answering = ANSWERS.acquire().await.ok();
        Box::pin(now(&app, sdk, parts, body)).await
    });
    match exit {
        Some(exit) => match exit.park(wait) {
            Ok(response) => response,
            Err(wait) => wait.await,
        },
        None => wait.await,
    }
}

/// Answers one message at once: a plain call itself, anything else through the SDK.
async fn now(app: &App, sdk: Sdk, parts: Parts, body: Bytes) -> Response {
    if let Some(refusal) = carried::refusal(app, &parts.headers, &body).await {
        return refusal;
    }
    if let Some(call) = Call::read(&parts.headers, &body) {
        return call.answer(&Handler::new(app.clone()), &handler::Request::of(Some(&parts))).await;
    }
    let Ok(answer) = sdk.oneshot(Request::from_parts(parts, Body::from(body))).await;
    let answer = answer.map(Body::new);
    if is_bare(&answer) { of_sdk(answer).await } else { answer }
}

/// What the SDK refuses in plain words, as JSON-RPC.
async fn of_sdk(answer: Response) -> Response {
    let status = answer.status();
    let said = axum::body::to_bytes(answer.into_body(), 4096).await.unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let data = match status {
        // Its word for a message it cannot read, too.
        StatusCode::UNSUPPORTED_MEDIA_TYPE if !said.contains("Content-Type") => {
            json!({ "code": "shape", "place": "", "detail": said.trim() })
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            json!({ "code": "unsupported_media_type", "place": "", "detail": said.trim() })
        }
        _ => json!({ "code": "bad_request", "place": "", "detail": said.trim() }),
    };
    let is_shape = data.get("code").is_some_and(|code| code == "shape");
    let fault = if is_shape { INVALID } else { Fault { status, ..INVALID } };
    fault.response(Some(data))
}

/// A batch of the revisions that have them (2025-03-26 and older): answers in order, none for notifications.
async fn many(app: App, sdk: Sdk, parts: &Parts, messages: Vec<(Kind, Bytes)>) -> Response {
    let answers = messages.into_iter().map(|(kind, body)| {
        let (app, sdk, parts) = (app.clone(), sdk.clone(), parts.clone());
        async move {
            let response = one(app, sdk, parts, body, kind, None).await;
            axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default()
        }
    });
    let answers: Vec<Bytes> = futures::future::join_all(answers).await;
    let answers: Vec<&[u8]> =
        answers.iter().map(Bytes::as_ref).filter(|answer| answer.starts_with(b"{")).collect();
    if answers.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    let body = [b"[".as_slice(), &answers.join(b",".as_slice()), b"]"].concat();
    json_response(body)
}

/// What a message is, as far as the front needs to know.
#[derive(Debug, PartialEq)]
enum Kind {
    Wait(AskedWait),
    Initialize { client: Option<String> },
    Other,
}

/// What a call of `wait_for_turn` asks for, as far as it can be read.
#[derive(Debug, PartialEq)]
struct AskedWait {
    link: Option<String>,
    since: Option<u64>,
    seconds: Option<u64>,
}

impl Kind {
    /// The place at fault if it is no JSON-RPC 2.0 message.
    fn of(message: &Value<'_>) -> Result<Self, &'static str> {
        let Value::Object(message) = message else { return Err("") };
        let text = |value: Option<&Value<'_>>| value.and_then(Value::as_str).map(str::to_owned);
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err("/jsonrpc");
        }
        let Some(method) = message.get("method") else {
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            return if is_answer { Ok(Self::Other) } else { Err("/method") };
        };
        if message.get("id").is_some_and(|id| !is_id(id)) {
            return Err("/id");
        }
        let params = message.get("params").and_then(Value::as_object);
        let member = |name: &str| params.and_then(|params| params.get(name));
        match method.as_str().ok_or("/method")? {
            "initialize" => {
                let info = member("clientInfo").and_then(Value::as_object);
                let client = info.and_then(|info| text(info.get("title")).or_else(|| text(info.get("name"))));
                Ok(Self::Initialize { client })
            }
            "tools/call" if member("name").and_then(Value::as_str) == Some("wait_for_turn") => {
                let arguments = member("arguments").and_then(Value::as_object);
                let argument = |name: &str| arguments.and_then(|arguments| arguments.get(name));
                Ok(Self::Wait(AskedWait {
                    link: text(argument("link")),
                    since: argument("since").and_then(Value::as_u64),
                    seconds: argument("timeout_seconds").and_then(Value::as_u64),
                }))
            }
            _ => Ok(Self::Other),
        }
    }
}

/// A text or a whole number.
fn is_id(id: &Value<'_>) -> bool {
    match id {
        Value::String(_) => true,
        Value::Number(number) => number.as_f64().fract() == 0.0,
        _ => false,
    }
}

impl Fault {
    fn response(self, data: Option<serde_json::Value>) -> Response {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let (Some(data), Some(error)) = (data, error.as_object_mut()) {
            error.insert("data".to_owned(), data);
        }
        let body = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
        (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}

/// Answers are JSON whatever a client says it accepts, so clients that do not list both media types are served too.
fn accept_json(parts: &mut Parts) {
    parts.headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
}

pub(crate) fn json_response(body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

/// The sentence of an error for a tool result, logged if it is ours.
pub(crate) fn sentence(error: &Error) -> String {
    if error.who() == ledger::Who::Bug {
        tracing::error!(code = error.code(), %error, "a tool failed");
    }
    error.shown()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Result<Kind, &'static str>) {
        assert_eq!(Kind::of(&canon::parse(body.as_bytes()).unwrap()), expected, "{body}");
    }

    #[test]
    fn a_message_is_known_by_its_method() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, Ok(Kind::Other));
        check(r#"{"id":1,"method":"tools/list"}"#, Err("/jsonrpc"));
        check(r#"{"jsonrpc":"2.0","id":1}"#, Err("/method"));
        check(r#"{"jsonrpc":"2.0","method":5}"#, Err("/method"));
        for id in ["null", "true", "1.5", "[1]", "{}"] {
            check(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#), Err("/id"));
        }
        check("5", Err(""));
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"n","title":"t"}}}"#,
            Ok(Kind::Initialize { client: Some("t".to_owned()) }),
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_for_turn","arguments":{"link":"l","since":3}}}"#,
            Ok(Kind::Wait(AskedWait { link: Some("l".to_owned()), since: Some(3), seconds: None })),
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_room","arguments":{"link":"l"}}}"#,
            Ok(Kind::Other),
        );
    }
}
