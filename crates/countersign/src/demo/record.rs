//! Records what the demo's server answers, for [`server::mandates::fixture`].

use super::mandate::{Story, unexpected};
use crate::commands::Failure;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Value, json};
use server::mandates::fixture::{Asked, ORIGIN, Recording};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Everything that was answered, in order.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Recording>>>);

/// What is recorded beside everything under `/v1/`.
const ROUTES: [&str; 6] =
    ["/.well-known/agent.json", "/availability", "/input_schema", "/start_job", "/status", "/demo"];

/// Passes a request on, and keeps its answer if it is one of JSON.
pub async fn listen(State(recorder): State<Recorder>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    if !path.starts_with("/v1/") && !ROUTES.contains(&path.as_str()) {
        return next.run(request).await;
    }
    let method = request.method().to_string();
    let (parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, 1 << 20).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let asked = Asked::of(&parts.headers, &bytes);
    let response = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    let kind = response.headers().get(header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().ends_with(b"json")) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if let Ok(body) = serde_json::from_slice::<Value>(&bytes) {
        let recording = Recording { method, path, status: parts.status.as_u16(), asked, body };
        recorder.0.lock().unwrap_or_else(PoisonError::into_inner).push(recording);
    }
    Response::from_parts(parts, Body::from(bytes))
}

impl Recorder {
    /// Asks for what the story did not, and writes all of it, a recording a line.
    pub async fn finish(&self, story: &Story<'_>, public: &str, file: &Path) -> Result<(), Failure> {
        let (agent, approver) = (story.agent.server(), &story.approver);
        let get = async |path: &str| agent.get(path).await.map_err(unexpected);
        let post = async |path: &str, body: &Value| agent.post(path, body).await.map_err(unexpected);
        for path in [
            "/.well-known/agent.json",
            "/availability",
            "/input_schema",
            "/v1/authority/CFO?mandate_id=M-001",
            "/v1/mandates/M-001",
            "/v1/metrics?mandate_id=M-001",
        ] {
            get(path).await?;
        }
        let listed = get("/v1/runs?mandate_id=M-001").await?;
        let listed: Value = serde_json::from_slice(&listed).map_err(Failure::unusable_by)?;
        let runs = listed.get("runs").and_then(Value::as_array).cloned().unwrap_or_default();
        for run in &runs {
            let id = run.get("run_id").and_then(Value::as_str).unwrap_or_default();
            get(&format!("/v1/runs/{id}/log")).await?;
        }
        for id in ["AP-1", "AP-2", "AP-3"] {
            approver.get(&format!("/v1/approvals/{id}")).await.map_err(unexpected)?;
        }
        approver.get("/v1/approvals?status=pending").await.map_err(unexpected)?;
        let opening = json!({ "mandate_id": "M-001", "goal": "Pay the bills" });
        post("/v1/runs", &opening).await?;
        let first = runs.last().and_then(|run| run.get("run_id")?.as_str()).unwrap_or_default();
        post(&format!("/v1/runs/{first}/share"), &json!({})).await?;
        post(&format!("/v1/runs/{first}/finish"), &json!({})).await?;
        get(&format!("/v1/runs/{first}/log")).await?;
        self.receipts(story).await?;
        get(&format!("/v1/mandates/M-001/runs/{first}/proof")).await?;
        get("/v1/mandates/M-001/proof").await?;
        self.write(public, file)
    }

    /// Every receipt that an answer named.
    async fn receipts(&self, story: &Story<'_>) -> Result<(), Failure> {
        let mut named: Vec<String> = Vec::new();
        for one in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let id = one.body.get("receipt_id").and_then(Value::as_str);
            named.extend(id.map(str::to_owned).filter(|id| !named.contains(id)));
        }
        for id in named {
            story.agent.server().get(&format!("/v1/receipts/{id}")).await.map_err(unexpected)?;
        }
        Ok(())
    }

    fn write(&self, public: &str, file: &Path) -> Result<(), Failure> {
        let recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut lines, mut proven) = (Vec::new(), false);
        for (at, one) in recorded.iter().enumerate() {
            // Of what is read again and again, the last answer stands.
            let again = |other: &&Recording| (&other.method, &other.path) == (&one.method, &one.path);
            if one.method == "GET" && recorded.iter().skip(at + 1).any(|other| again(&other)) {
                continue;
            }
            // One proof of a receipt is enough: each holds the whole log.
            if one.path.starts_with("/v1/receipts/")
                && one.path.ends_with("/proof")
                && std::mem::replace(&mut proven, true)
            {
                continue;
            }
            let text = serde_json::to_string(one).map_err(Failure::unusable_by)?;
            lines.push(text.replace(public, ORIGIN));
        }
        let text = format!("[\n{}\n]\n", lines.join(",\n"));
        std::fs::write(file, text).map_err(|error| Failure::unusable(format!("{}: {error}", file.display())))
    }
}
