//! A room's proofs as files: what a reader keeps, and anyone checks.

use super::InRoom;
use crate::{App, Error};
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};

/// The brief as one file that verifies alone, once the room has ended. For whoever may read the brief.
#[utoipa::path(get, path = "/api/rooms/{room}/brief/proof", tag = "rooms", operation_id = "prove_brief", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn brief(State(app): State<App>, at: InRoom) -> Result<Response, Error> {
    let bytes = app.brief_proof(&at.caller, &at.room).await?;
    file(&format!("brief-{}.json", at.room), "application/json", bytes.into())
}

/// The ledger as JSON Lines, a header and then a line an entry. For whoever may read the ledger.
#[utoipa::path(get, path = "/api/rooms/{room}/ledger/export", tag = "rooms", operation_id = "export_ledger", params(("room" = String, Path)), responses((status = 200)))]
pub(crate) async fn ledger(State(app): State<App>, at: InRoom) -> Result<Response, Error> {
    let export = app.ledger_export(&at.caller, &at.room).await?;
    file(&format!("ledger-{}.jsonl", at.room), "application/jsonl", export.into_body())
}

/// A file to keep, never cached.
pub(crate) fn file(name: &str, kind: &'static str, body: Body) -> Result<Response, Error> {
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, disposition.map_err(|_| Error::Missing)?),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, body).into_response())
}
