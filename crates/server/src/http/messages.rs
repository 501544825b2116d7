//! Messages that carry their proofs, handed over by HTTP.

use crate::messages::{LONGEST, Verdict};
use crate::{App, Error};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use http::HeaderMap;

/// Judges a message and, unless it is rejected, commits that it was accepted: a second time it is `replayed`. The body is the
/// message byte for byte, or an A2A message with it in a data part. A rejection is an answer like any other.
#[utoipa::path(post, path = "/v1/messages", tag = "messages", operation_id = "accept_message", responses((status = 200)))]
pub(crate) async fn accept(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Verdict>, Error> {
    let receiver = app.handing_over(&headers).await?;
    let bytes = crate::once::read(body, &headers, LONGEST).await?;
    let judgement = app.desk()?.accept(app.runtime(), &bytes, receiver.as_deref()).await?;
    Ok(Json(Verdict::of(&judgement)))
}
