//! The routes of the Authority API.

mod acts;
mod approvals;
mod check;
mod discovery;
mod mandates;
mod masumi;
mod proofs;
mod quotes;
mod runs;
mod waits;

pub(super) use discovery::{protocol, summary};

use super::fixture;
use super::refused::Refused;
use super::who::Who;
use crate::App;
use ::http::request::Parts;
use ::http::{HeaderMap, HeaderValue, header};
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Every route with its description.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(check::check))
        .routes(routes!(mandates::authority))
        .routes(routes!(mandates::metrics))
        .routes(routes!(mandates::mandate))
        .routes(routes!(acts::draft, acts::list))
        .routes(routes!(acts::one, acts::sign))
        .routes(routes!(mandates::receipt))
        .routes(routes!(quotes::quote))
        .routes(routes!(proofs::mandate))
        .routes(routes!(proofs::receipt))
        .routes(routes!(proofs::run))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::one))
        .routes(routes!(approvals::approve))
        .routes(routes!(approvals::statement))
        .routes(routes!(approvals::executions))
        .routes(routes!(approvals::decline))
        .routes(routes!(approvals::bond_submit))
        .routes(routes!(waits::list))
        .routes(routes!(waits::statement))
        .routes(routes!(waits::veto))
        .routes(routes!(runs::open, runs::list))
        .routes(routes!(runs::finish))
        .routes(routes!(runs::share))
        .routes(routes!(runs::log))
        .routes(routes!(runs::events))
        .routes(routes!(masumi::availability))
        .routes(routes!(masumi::input_schema))
        .routes(routes!(masumi::start_job))
        .routes(routes!(masumi::status))
        .routes(routes!(masumi::proof))
        .routes(routes!(fixture::demo))
        .routes(routes!(fixture::index))
        .route("/api/fixture/{*path}", any(fixture::serve))
        .routes(routes!(discovery::agent))
        .routes(routes!(discovery::llms))
        .routes(routes!(discovery::llms_full))
}

/// The longest body (spec 1.7).
pub(super) const BODY: usize = 64 * 1024;

/// Who reads: a request without a body.
pub(crate) struct Reads(pub Who);

impl FromRequestParts<App> for Reads {
    type Rejection = Refused;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        app.mandates()?;
        Ok(Self(app.who(parts, b"").await?))
    }
}

/// Who writes, and the body as it came.
pub(crate) struct Writes {
    pub who: Who,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl FromRequest<App> for Writes {
    type Rejection = Refused;
    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        app.mandates()?;
        let (parts, body) = request.into_parts();
        let body = crate::once::read(body, &parts.headers, BODY).await?;
        let who = app.who(&parts, &body).await?;
        Ok(Self { who, headers: parts.headers, body })
    }
}

impl Writes {
    /// The body as strict JSON of a type; an empty one is `{}`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        let kind = self.headers.get(header::CONTENT_TYPE);
        let is_json = kind.is_some_and(|kind| {
            let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
            kind.trim().eq_ignore_ascii_case("application/json")
        });
        if !is_json && !self.body.is_empty() {
            return Err(Refused::new(
                ::http::StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                "the body must be application/json",
            ));
        }
        let body: &[u8] = if self.body.is_empty() { b"{}" } else { &self.body };
        Ok(canon::from_slice(body)?)
    }
}

/// A JSON answer, written as the protocol writes JSON.
pub(in crate::mandates) fn answer<T: Serialize>(value: &T) -> Result<Response, Refused> {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, canon::to_vec(value)?).into_response())
}
