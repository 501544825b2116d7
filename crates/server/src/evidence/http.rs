//! `POST /v1/evidence`: the signer's calls, one JSON object each, by the bearer token of a configured identity. `/evidence/log/…`:
//! the log over its records as C2SP tlog-tiles serves it.

use crate::session::bearer;
use crate::{App, Error, problem};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use canon::Digest;
use http::{HeaderMap, StatusCode, header};
use pcm::signer::rpc::{Request, reply};

/// One call of signer RPC v19, as its socket takes it: `{"method": …}` with the method's members.
///
/// The answer is what the socket answers, `{"error": {code, message}}` too; its status follows the code.
#[utoipa::path(post, path = "/v1/evidence", tag = "evidence", operation_id = "evidence_call",
    request_body(content = Object, description = "`method` and its members", content_type = "application/json"),
    responses(
        (status = 200, description = "The method's answer", body = Object, content_type = "application/json"),
        (status = "4XX", description = "`{error: {code, message, retry_after_ms?}}`", content_type = "application/json")))]
pub(crate) async fn call(State(app): State<App>, headers: HeaderMap, body: Bytes) -> Result<Response, Error> {
    let attesting = app.attesting()?;
    let token = bearer(&headers).ok_or(Error::Unauthenticated)?;
    let who = attesting.tokens.get(&Digest::of(token.as_bytes())).ok_or(Error::Unauthenticated)?;
    let outcome = match Request::parse(&body) {
        Ok(request) => attesting.service.call(who, request).await,
        Err(fault) => Err(fault),
    };
    let status = match &outcome {
        Ok(_) => StatusCode::OK,
        Err(fault) => problem::status(&Error::of(fault)),
    };
    Ok((status, [(header::CONTENT_TYPE, "application/json")], reply(&outcome)).into_response())
}

/// The newest signed checkpoint of the evidence log.
#[utoipa::path(get, path = "/evidence/log/checkpoint", tag = "evidence", operation_id = "evidence_checkpoint", responses(
    (status = 200, description = "A signed note", body = String, content_type = "text/plain")))]
pub(crate) async fn checkpoint(State(app): State<App>) -> Result<Response, Error> {
    crate::http::log_file(app.attesting()?.service.log(), "checkpoint").await
}

/// A hash tile or an entry bundle of the evidence log, whose entries are the 32 bytes of each record's hash.
#[utoipa::path(get, path = "/evidence/log/tile/{*path}", tag = "evidence", operation_id = "evidence_tile",
    params(("path" = String, Path, description = "Level and index as in C2SP tlog-tiles")),
    responses((status = 200, description = "Hashes", body = Vec<u8>, content_type = "application/octet-stream")))]
pub(crate) async fn tile(State(app): State<App>, Path(path): Path<String>) -> Result<Response, Error> {
    crate::http::log_file(app.attesting()?.service.log(), &format!("tile/{path}")).await
}
