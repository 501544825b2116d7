//! What a principal does on chain.

use super::super::acts::Act;
use super::super::refused::Refused;
use super::super::shapes::WitnessAsked;
use super::{Reads, Writes, answer};
use crate::App;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Serialize;

#[derive(Debug, Serialize)]
struct Acts<T> {
    acts: T,
}

/// Drafts an act: the transaction, and what it does, read back from its bytes. For the principal.
#[utoipa::path(post, path = "/v1/mandates/{id}/acts", tag = "principal", operation_id = "draft_act",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn draft(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Writes,
) -> Result<Response, Refused> {
    let act: Act = match asked.who {
        // Who is nobody learns nothing of shapes.
        super::Who::Nobody => return Err(Refused::nobody()),
        _ => asked.json()?,
    };
    answer(&app.draft_act(&asked.who, &id, act).await?)
}

/// The acts of a mandate, newest first. For the principal.
#[utoipa::path(get, path = "/v1/mandates/{id}/acts", tag = "principal", operation_id = "acts",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn list(
    State(app): State<App>,
    Path(id): Path<String>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    answer(&Acts { acts: app.acts_told(&who, &id).await? })
}

/// One act. For the principal.
#[utoipa::path(get, path = "/v1/mandates/{id}/acts/{tx_hash}", tag = "principal", operation_id = "act",
    params(("id" = String, Path), ("tx_hash" = String, Path)), responses((status = 200)))]
pub(crate) async fn one(
    State(app): State<App>,
    Path((id, tx_hash)): Path<(String, String)>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    answer(&app.act_told(&who, &id, &tx_hash).await?)
}

/// Takes the witness of somebody who must sign, whoever brings it. With the last one the act is sent.
#[utoipa::path(post, path = "/v1/mandates/{id}/acts/{tx_hash}", tag = "principal", operation_id = "sign_act",
    params(("id" = String, Path), ("tx_hash" = String, Path)), responses((status = 200)))]
pub(crate) async fn sign(
    State(app): State<App>,
    Path((id, tx_hash)): Path<(String, String)>,
    asked: Writes,
) -> Result<Response, Refused> {
    let body: WitnessAsked = asked.json()?;
    answer(&app.sign_act(&id, &tx_hash, &body).await?)
}
