//! The server's transparency log as C2SP tlog-tiles serves it: `/log/checkpoint`, `/log/tile/…`. Public, and nothing
//! but hashes.

use crate::{App, Error};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use store::Log;

/// The newest signed checkpoint, a C2SP signed note.
#[utoipa::path(get, path = "/log/checkpoint", tag = "log", operation_id = "log_checkpoint", responses(
    (status = 200, description = "A signed note", body = String, content_type = "text/plain")))]
pub(crate) async fn checkpoint(State(app): State<App>) -> Result<Response, Error> {
    file(app.log().ok_or(Error::Missing)?, "checkpoint").await
}

/// A hash tile `/log/tile/<L>/<N>[.p/<W>]` or an entry bundle `/log/tile/entries/<N>[.p/<W>]`, within the published tree.
#[utoipa::path(get, path = "/log/tile/{*path}", tag = "log", operation_id = "log_tile",
    params(("path" = String, Path, description = "Level and index as in C2SP tlog-tiles")),
    responses((status = 200, description = "Hashes or entries", body = Vec<u8>, content_type = "application/octet-stream")))]
pub(crate) async fn tile(State(app): State<App>, Path(path): Path<String>) -> Result<Response, Error> {
    file(app.log().ok_or(Error::Missing)?, &format!("tile/{path}")).await
}

/// A file of a log.
pub(crate) async fn file(log: &Log, path: &str) -> Result<Response, Error> {
    let bytes = log.file(path).await?.ok_or(Error::Missing)?;
    let kind = if path == "checkpoint" { "text/plain; charset=utf-8" } else { "application/octet-stream" };
    // A full tile never changes; the rest does with every checkpoint.
    let full = path != "checkpoint" && !path.contains(".p/");
    let cache = if full { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static(cache)),
    ];
    Ok((headers, bytes).into_response())
}
