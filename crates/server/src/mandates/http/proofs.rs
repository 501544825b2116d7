//! Proof files, for the parties of a mandate.

use super::super::refused::Refused;
use super::mandates::for_party;
use super::{Reads, answer};
use crate::App;
use axum::extract::{Path, State};
use axum::response::Response;

/// The whole log of a mandate as a file that verifies alone.
#[utoipa::path(get, path = "/v1/mandates/{id}/proof", tag = "authority", operation_id = "authority_mandate_proof",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn mandate(
    State(app): State<App>,
    Path(id): Path<String>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    let known = for_party(&app, &who, &id).await?;
    answer(&app.mandate_proof(&known).await?)
}

/// A receipt with the whole log it is made of.
#[utoipa::path(get, path = "/v1/receipts/{id}/proof", tag = "authority", operation_id = "authority_receipt_proof",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn receipt(
    State(app): State<App>,
    Path(id): Path<String>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    let missing = || Refused::missing("receipt_unknown", "no such receipt");
    let (_, mandate) = id.strip_prefix("R-").and_then(|rest| rest.split_once('-')).ok_or_else(missing)?;
    let known = for_party(&app, &who, mandate).await?;
    answer(&app.receipt_proof(&known, &id).await?)
}

/// What is said of a run, with the whole log it is part of.
#[utoipa::path(get, path = "/v1/mandates/{id}/runs/{run}/proof", tag = "authority", operation_id = "authority_run_proof",
    params(("id" = String, Path), ("run" = String, Path)), responses((status = 200)))]
pub(crate) async fn run(
    State(app): State<App>,
    Path((id, run)): Path<(String, String)>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    let known = for_party(&app, &who, &id).await?;
    let run = run.parse().map_err(|_| Refused::missing("run_unknown", "no such run"))?;
    answer(&app.run_proof(&known, &run).await?)
}
