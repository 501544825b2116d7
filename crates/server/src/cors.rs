//! What pages of other origins may do (spec 1.14): read the Authority API and its recordings, and post to it from the origins
//! of the configuration. Nothing here allows a cookie: whoever asks from elsewhere brings a key of its own, a pass, or nothing.

use crate::guard::Names;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// To whom an answer is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Open {
    Anyone,
    /// A configured origin, for which a page asked.
    Origin(HeaderValue),
}

/// Beside everything under `/v1/` and `/api/fixture`.
const PUBLIC: [&str; 9] = [
    "/.well-known/agent.json",
    "/availability",
    "/demo",
    "/input_schema",
    "/llms-full.txt",
    "/llms.txt",
    "/openapi.json",
    "/start_job",
    "/status",
];

/// Whether pages of other origins may send this request; `None`: none may.
pub(crate) fn opened(names: &Names, request: &Request) -> Option<Open> {
    let (path, headers) = (request.uri().path(), request.headers());
    let fixture = path == "/api/fixture" || path.starts_with("/api/fixture/");
    if !fixture && !path.starts_with("/v1/") && !PUBLIC.contains(&path) {
        return None;
    }
    let origin = headers.get(header::ORIGIN)?;
    let reads = |method: &str| matches!(method, "GET" | "HEAD");
    let method = if is_preflight(request.method(), headers) {
        headers.get(header::ACCESS_CONTROL_REQUEST_METHOD)?.to_str().ok()?
    } else {
        request.method().as_str()
    };
    if fixture || reads(method) {
        return Some(Open::Anyone);
    }
    names.origin_is_ours(headers).then(|| Open::Origin(origin.clone()))
}

pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight.
pub(crate) fn preflight(open: &Open) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST");
    set(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        "authorization, content-digest, content-type, idempotency-key, last-event-id, payment-signature, signature, signature-input",
    );
    set(header::ACCESS_CONTROL_MAX_AGE, "600");
    mark(open, &mut response);
    response
}

/// Says on an answer to whom it is open.
pub(crate) fn mark(open: &Open, response: &mut Response) {
    let headers = response.headers_mut();
    let origin = match open {
        Open::Anyone => HeaderValue::from_static("*"),
        Open::Origin(origin) => {
            headers.append(header::VARY, HeaderValue::from_static("origin"));
            origin.clone()
        }
    };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("countersign-bond-refused, payment-required, payment-response, retry-after"),
    );
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
}
