//! What waits, and stopping it.

use super::super::refused::Refused;
use super::super::shapes::{OfMandateAsked, VetoAsked};
use super::{Reads, Writes, answer};
use crate::App;
use axum::extract::{Path, State};
use axum::response::Response;
use canon::Digest;
use serde::Serialize;

#[derive(Debug, Serialize)]
struct Listed<T> {
    delays: T,
}

#[derive(Debug, Serialize)]
struct Stopped {
    ok: bool,
}

/// What is done after a while unless the approver who asks objects; the first first.
#[utoipa::path(get, path = "/v1/delays", tag = "approvals", operation_id = "delays", responses((status = 200)))]
pub(crate) async fn list(State(app): State<App>, Reads(who): Reads) -> Result<Response, Refused> {
    answer(&Listed { delays: app.waiting(&who).await? })
}

/// What the approver is to sign for stopping it.
#[utoipa::path(post, path = "/v1/delays/{action_hash}/statement", tag = "approvals", operation_id = "veto_statement",
    params(("action_hash" = String, Path)), responses((status = 200)))]
pub(crate) async fn statement(
    State(app): State<App>,
    Path(action): Path<String>,
    asked: Writes,
) -> Result<Response, Refused> {
    let body: OfMandateAsked = asked.json()?;
    answer(&app.veto_statement(&asked.who, &named(&action)?, &body).await?)
}

/// Stops it, by the approver's own signature. It is denied from then on.
#[utoipa::path(post, path = "/v1/delays/{action_hash}/veto", tag = "approvals", operation_id = "veto",
    params(("action_hash" = String, Path)), responses((status = 200)))]
pub(crate) async fn veto(
    State(app): State<App>,
    Path(action): Path<String>,
    asked: Writes,
) -> Result<Response, Refused> {
    let body: VetoAsked = asked.json()?;
    app.veto(&named(&action)?, body).await?;
    answer(&Stopped { ok: true })
}

fn named(action: &str) -> Result<Digest, Refused> {
    action.parse().map_err(|_| Refused::missing("delay_unknown", "nothing waits under this name"))
}
