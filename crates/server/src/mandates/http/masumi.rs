//! The routes of MIP-003, and the file of a job. Open to everybody: who pays is served, and who knows a job's id reads it.

use super::super::masumi::StartBody;
use super::super::refused::Refused;
use super::super::who::Who;
use super::{BODY, Writes, answer};
use crate::App;
use ::http::HeaderMap;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

/// Whether jobs are taken (MIP-003).
#[utoipa::path(get, path = "/availability", tag = "masumi", operation_id = "masumi_availability", responses((status = 200)))]
pub(crate) async fn availability(State(app): State<App>) -> Result<Response, Refused> {
    app.mandates()?;
    let (status, message) = match app.selling() {
        Ok(_) => ("available", "Human Authority Endpoint is ready"),
        Err(_) => ("unavailable", "Human Authority Endpoint sells nothing here"),
    };
    answer(&json!({ "message": message, "status": status, "type": "masumi-agent" }))
}

/// What a job takes (MIP-003).
#[utoipa::path(get, path = "/input_schema", tag = "masumi", operation_id = "masumi_input_schema", responses((status = 200)))]
pub(crate) async fn input_schema(State(app): State<App>) -> Result<Response, Refused> {
    let mandates = app.mandates()?;
    let first = mandates.setup.masumi.as_ref().and_then(|selling| selling.caller.mandates.first());
    let rule = |validation: &str, value: &str| json!({ "validation": validation, "value": value });
    answer(&json!({ "input_data": [
        { "id": "mandate_id", "type": "text", "name": "Mandate",
          "data": { "default": first.map_or("M-001", |id| id.as_str()), "description": "The mandate that is asked about." },
          "validations": [rule("min", "1"), rule("max", "64")] },
        { "id": "proposal", "type": "textarea", "name": "Proposal",
          "data": { "description": "An action (action-ir/v0.1) and the agent's signature, as JSON: {\"action\", \"agent_signature\"}. Either this or a request." },
          "validations": [rule("optional", "true"), rule("max", "16000")] },
        { "id": "request_text", "type": "textarea", "name": "Request in plain English",
          "data": { "description": "Judged unsigned. Either this or a proposal." },
          "validations": [rule("optional", "true"), rule("max", "2000")] },
    ] }))
}

/// Starts a job and gives the terms of its payment (MIP-003). The same identifier and input give the same terms.
#[utoipa::path(post, path = "/start_job", tag = "masumi", operation_id = "masumi_start_job", responses((status = 200)))]
pub(crate) async fn start_job(
    State(app): State<App>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    app.selling()?;
    // Buyers are strangers: whatever credential they bring is for somebody else.
    let body = crate::once::read(body, &headers, BODY).await?;
    let body: StartBody = Writes { who: Who::Nobody, headers, body }.json()?;
    answer(&app.start_job(body).await?)
}

#[derive(Debug, Deserialize)]
pub(crate) struct OfJob {
    #[serde(default)]
    job_id: String,
}

/// How a job stands, and its result once it is delivered (MIP-003), with its MIP-004 hashes.
#[utoipa::path(get, path = "/status", tag = "masumi", operation_id = "masumi_status",
    params(("job_id" = String, Query)), responses((status = 200)))]
pub(crate) async fn status(State(app): State<App>, Query(of): Query<OfJob>) -> Result<Response, Refused> {
    answer(&app.job_status(&of.job_id).await?)
}

/// A delivered job as a file whose MIP-004 hashes anyone can check.
#[utoipa::path(get, path = "/v1/jobs/{id}/proof", tag = "masumi", operation_id = "masumi_job_proof",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn proof(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Refused> {
    answer(&app.job_file(&id).await?)
}
