//! What goes back: bodies, refusals, and the headers of all of them.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use ledger::{Coded, Who};
use pxp::v0::Refusal;
use serde::Serialize;
use std::borrow::Cow;

/// A refusal on its way out. Over HTTP it is `{error, code}`, over MCP the sentence alone.
#[derive(Debug, Clone)]
pub struct Trouble {
    pub status: u16,
    pub code: &'static str,
    pub text: Cow<'static, str>,
}

/// The one sentence for what is ours to mend. Details stay in the log.
pub const GENERIC: &str = "Something went wrong on the server. Try again.";

impl Trouble {
    pub(super) fn new(status: u16, code: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code, text: text.into() }
    }

    pub(super) fn unavailable(code: &'static str, text: &'static str) -> Self {
        Self::new(503, code, text)
    }

    pub(super) fn bug() -> Self {
        Self::new(500, "internal", GENERIC)
    }

    pub(super) fn bad_body(text: &'static str) -> Self {
        Self::new(400, "bad_body", text)
    }

    pub(super) fn too_large() -> Self {
        Self::new(413, "too_large", "The body is too large.")
    }

    pub(super) fn store(error: &store::StoreError) -> Self {
        tracing::warn!(code = error.code(), "a v0 room was not stored");
        match error.who() {
            Who::Bug => Self::bug(),
            _ => Self::unavailable("saving_unavailable", "Rooms cannot be saved right now. Try again."),
        }
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.who() {
            Who::Caller => 400,
            Who::Unauthenticated => 401,
            Who::Forbidden => 403,
            Who::Missing => 404,
            Who::Conflict => 409,
            Who::Limit => 429,
            Who::Unavailable => 503,
            Who::Bug => 500,
        };
        Self::new(status, refusal.code(), refusal.to_string())
    }
}

impl From<store::Error<Refusal>> for Trouble {
    fn from(error: store::Error<Refusal>) -> Self {
        match error {
            store::Error::Refused(refusal) => refusal.into(),
            store::Error::Store(error) => Self::store(&error),
            store::Error::Busy(_) => Self::unavailable("busy", "The room is busy. Try again."),
            store::Error::KeyReused => Self::bug(),
            store::Error::Fault(fault) => {
                tracing::error!(code = fault.code, place = fault.place, "a v0 room does not open");
                Self::bug()
            }
        }
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Body<'a> {
            error: &'a str,
            code: &'a str,
        }
        let mut response = json(self.status, &Body { error: &self.text, code: self.code });
        if self.status == 413 {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

pub(super) fn json<T: Serialize>(status: u16, body: &T) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match serde_json::to_vec(body) {
        Ok(bytes) => (status, [(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The headers of every response.
pub(super) async fn guard_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
