//! Errors as HTTP: RFC 9457 problem documents with a stable `code` and the `place` at fault. The one file where codes
//! become status numbers.

use crate::Error;
use crate::mandates::Refused;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use ledger::{Coded, Who};
use serde::Serialize;

/// An RFC 9457 problem document.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Problem {
    /// `urn:countersign:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: &'static str,
    pub status: u16,
    /// One sentence for a person.
    pub detail: String,
    /// A stable word for a program.
    pub code: &'static str,
    /// JSON Pointer of the field at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Whether the same request may succeed later, unchanged.
    pub retryable: bool,
}

impl Problem {
    pub fn of(error: &Error) -> Self {
        let status = status(error);
        Self {
            kind: format!("urn:countersign:problem:{}", error.code()),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: error.shown(),
            code: error.code(),
            place: error.place(),
            retryable: error.retryable(),
        }
    }
}

/// The status of an error: by whose fault it is, with the few codes that have a number of their own.
pub fn status(error: &Error) -> StatusCode {
    match error {
        Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Error::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Upstream { .. } => StatusCode::BAD_GATEWAY,
        other if other.code() == "idempotency_conflict" => StatusCode::UNPROCESSABLE_ENTITY,
        other if other.code() == "method_not_allowed" => StatusCode::METHOD_NOT_ALLOWED,
        other if other.code() == "unsupported_media_type" => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        other if other.code() == "too_large" => StatusCode::PAYLOAD_TOO_LARGE,
        other => match other.who() {
            Who::Caller => StatusCode::BAD_REQUEST,
            Who::Unauthenticated => StatusCode::UNAUTHORIZED,
            Who::Forbidden => StatusCode::FORBIDDEN,
            Who::Missing => StatusCode::NOT_FOUND,
            Who::Conflict => StatusCode::CONFLICT,
            Who::Limit => StatusCode::TOO_MANY_REQUESTS,
            Who::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Who::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        },
    }
}

/// An error answer that is no document yet as a problem: what the router and its extractors say by themselves, of whatever
/// route. A page and a JSON document are left as they are.
pub(crate) async fn spelled(path: &str, response: Response) -> Response {
    if !is_bare(&response) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let said = axum::body::to_bytes(body, LONGEST).await.unwrap_or_default();
    let error = of_router(parts.status, String::from_utf8_lossy(&said).trim());
    let mut problem =
        if path.starts_with("/v1/") { Refused::from(error).into_response() } else { error.into_response() };
    for (name, value) in &parts.headers {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            problem.headers_mut().insert(name.clone(), value.clone());
        }
    }
    problem
}

/// The most that is read of what a router says, in bytes.
const LONGEST: usize = 4096;

/// Whether this is an error in plain words, or in none.
pub(crate) fn is_bare(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_document = kind.is_some_and(|kind| kind.contains("json") || kind.starts_with("text/html"));
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    is_error && !is_document
}

fn of_router(status: StatusCode, said: &str) -> Error {
    let refused = |code, text: &str| Error::Malformed { code, place: None, text: text.to_owned() };
    match status {
        StatusCode::NOT_FOUND => Error::Missing,
        StatusCode::METHOD_NOT_ALLOWED => refused("method_not_allowed", "this route has no such method"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => refused("unsupported_media_type", said),
        StatusCode::PAYLOAD_TOO_LARGE => refused("too_large", "the body is larger than this route takes"),
        status if status.is_server_error() => Error::Bug(format!("{status}: {said}")),
        _ => match said.strip_prefix("Failed to deserialize query string: ") {
            Some(fault) => {
                let (member, text) = fault.split_once(": ").unwrap_or(("", fault));
                let place =
                    if member.is_empty() { String::new() } else { format!("/{}", canon::step(member)) };
                Error::malformed("bad_query", place, text)
            }
            None => refused("bad_request", if said.is_empty() { "the request is malformed" } else { said }),
        },
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem = Problem::of(&self);
        match self.who() {
            Who::Bug => tracing::error!(code = problem.code, error = %self, "request failed"),
            Who::Unavailable => tracing::warn!(code = problem.code, error = %self, "request failed"),
            _ => tracing::debug!(code = problem.code, place = ?problem.place, "request refused"),
        }
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = (status(&self), body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.who() == Who::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_error_has_one_status() {
        let refused = |code, who| Error::Refused {
            code,
            who,
            place: Some("/x".into()),
            text: "no".into(),
            retryable: false,
        };
        for (error, expected) in [
            (Error::Unauthenticated, 401),
            (Error::Missing, 404),
            (Error::TooLarge { limit: 1 }, 413),
            (Error::InFlight, 409),
            (Error::KeyReused, 422),
            (Error::RateLimited { code: "rate_limited", retry_after: 3 }, 429),
            (refused("not_your_turn", Who::Conflict), 409),
            (refused("idempotency_conflict", Who::Conflict), 422),
            (refused("bad_card", Who::Caller), 400),
            (Error::Upstream { code: "model_failed", text: String::new() }, 502),
            (Error::Bug("secret detail".into()), 500),
        ] {
            let problem = Problem::of(&error);
            assert_eq!(problem.status, expected, "{error:?}");
            assert!(!problem.detail.contains("secret detail"));
        }
    }
}
