//! Messages that carry their proofs, handed over by HTTP.

use crate::messages::{LONGEST, Verdict, refused};
use crate::{App, Error};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use http::HeaderMap;
use pcm::message::{Code, Fault, carriage};

/// Judges a message and, unless it is rejected, commits that it was accepted: a second time it is `replayed`. The body is the
/// message byte for byte, or an A2A message with it in a data part. A rejection is an answer like any other.
#[utoipa::path(post, path = "/v1/messages", tag = "messages", operation_id = "accept_message", responses((status = 200)))]
pub(crate) async fn accept(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Verdict>, Error> {
    let receiver = app.handing_over(&headers).await?;
    let body = crate::once::read(body, &headers, LONGEST).await?;
    let bytes = match carried(&body) {
        Ok(None) => body.to_vec(),
        Ok(Some(inside)) => inside,
        Err(fault) => return Err(refused(fault)),
    };
    let judgement = app.desk()?.accept(app.runtime(), &bytes, receiver.as_deref()).await?;
    match &judgement.fault {
        // Nothing can be said of any message.
        Some(fault) if fault.code == Code::ReplayStateUnavailable && fault.place.is_empty() => {
            Err(Error::Unavailable { code: fault.code.as_str(), text: fault.detail.clone() })
        }
        _ => Ok(Json(Verdict::of(&judgement))),
    }
}

/// The message inside an A2A message that asks for what the message asks; `None` for anything else.
fn carried(body: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let Ok(carrier) = canon::parse(body) else { return Ok(None) };
    if carrier.get("pcm").is_some() {
        return Ok(None);
    }
    let Some(inside) = carriage::of_a2a(&carrier)? else { return Ok(None) };
    if let Ok(message) = canon::parse(&inside) {
        carriage::agrees_with_parts(&message, &carrier)?;
    }
    Ok(Some(inside))
}
