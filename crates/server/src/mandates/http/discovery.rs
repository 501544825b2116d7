//! What a stranger's agent reads first (spec 1.14).

use super::super::refused::Refused;
use super::answer;
use crate::App;
use ::http::{HeaderValue, header};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use mandate::brief;
use serde_json::{Value, json};

/// The agent card.
#[utoipa::path(get, path = "/.well-known/agent.json", tag = "authority", operation_id = "agent_card", responses((status = 200)))]
pub(crate) async fn agent(State(app): State<App>) -> Result<Response, Refused> {
    let setup = &app.mandates()?.setup;
    let link = |path: &str| app.config().link(path);
    let endpoint = |method: &str, path: &str| json!({ "method": method, "url": link(path) });
    let tariff = &setup.tariff;
    let display = match &tariff.asset.policy_id {
        None => format!("{} {}", brief::amount(tariff.amount.get(), 6), tariff.asset.symbol),
        Some(_) => format!("{} {}", tariff.amount, tariff.asset.symbol),
    };
    let mut card = json!({
        "name": "Human Authority Endpoint",
        "description": "Agents propose, a mandate decides, and what exceeds it waits for a person who alone can sign.",
        "url": link("/"),
        "documentation": { "summary": link("/llms.txt"), "protocol": link("/llms-full.txt"), "human": link("/openapi.json") },
        "network": network(&app),
        "mode": "live",
        "endpoints": {
            "check": endpoint("POST", "/v1/authority/check"),
            "authority": endpoint("GET", "/v1/authority/{role}?mandate_id={mandate_id}"),
            "metrics": endpoint("GET", "/v1/metrics?mandate_id={mandate_id}"),
        },
        "pricing": {
            "interruption_bond": {
                "amount": tariff.amount.to_string(),
                "asset": tariff.asset.symbol.as_str(),
                "unit": tariff.asset.unit(),
                "display": display,
                "scheme": "cardano-escrow",
                "transport": "x402 v2",
                "refund": "approved, declined as legitimate, or after the lock's end",
                "capture": "declined as frivolous: it goes to a script that never spends",
            },
        },
        "outcomes": ["ALLOW", "ESCALATE", "DENY"],
        "schemas": ["action-ir/v0.1", "mandate/v0.1", "escalation-price/v0.1", "bond/v0.1", "brief/v0.1", "receipt/v0.1"],
    });
    if let Some(selling) = &setup.masumi
        && let Some(pricing) = card.get_mut("pricing").and_then(Value::as_object_mut)
    {
        let fee = json!({
            "amount": selling.price.amount,
            "asset": selling.price.unit,
            "per": "job",
            "listing": selling.agent_identifier,
            "marketplace": "Masumi",
            "standard": "MIP-003",
            "endpoints": {
                "availability": endpoint("GET", "/availability"),
                "input_schema": endpoint("GET", "/input_schema"),
                "start_job": endpoint("POST", "/start_job"),
                "status": endpoint("GET", "/status?job_id={job_id}"),
            },
        });
        pricing.insert("masumi_fee".to_owned(), fee);
    }
    answer(&card)
}

fn network(app: &App) -> &'static str {
    let mandates = app.mandates();
    let test = mandates.is_ok_and(|m| m.setup.tariff.escrow_address.network() == mandate::Network::Test);
    if test { "cardano-preprod" } else { "cardano-mainnet" }
}

/// A summary for language models.
#[utoipa::path(get, path = "/llms.txt", tag = "authority", operation_id = "llms", responses((status = 200, body = String, content_type = "text/plain")))]
pub(crate) async fn llms(State(app): State<App>) -> Result<Response, Refused> {
    app.mandates()?;
    Ok(summary())
}

/// The whole protocol for language models.
#[utoipa::path(get, path = "/llms-full.txt", tag = "authority", operation_id = "llms_full", responses((status = 200, body = String, content_type = "text/plain")))]
pub(crate) async fn llms_full(State(app): State<App>) -> Result<Response, Refused> {
    app.mandates()?;
    Ok(protocol())
}

pub(in crate::mandates) fn summary() -> Response {
    plain(SUMMARY)
}

pub(in crate::mandates) fn protocol() -> Response {
    plain(PROTOCOL)
}

fn plain(text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))], text).into_response()
}

const SUMMARY: &str = "\
# Human Authority Endpoint

Give your agents an allowance, not your keys. A mandate says what an agent may pay by itself. Above that it pays a bond to ask a
person, and only that person's signature moves the money.

## Protocol
- [The whole protocol](/llms-full.txt)
- [Agent card](/.well-known/agent.json)
- [OpenAPI](/openapi.json)

## Endpoints
- POST /v1/authority/check: a signed action, judged; 402 with the price where a person must be asked
- GET /v1/authority/{role}?mandate_id=: what it costs to ask this person, and how much attention is left today
- GET /v1/metrics?mandate_id=: figures from the log
- GET /v1/approvals/{id}, POST /v1/approvals/{id}/approve, POST /v1/approvals/{id}/decline: the approver's, by their own key
- GET /v1/receipts/{id}, GET /v1/runs/{id}/log, GET /v1/runs/{id}/events: for the parties, and with the pass in events_url
- GET /v1/receipts/{id}/proof: a receipt with its whole log, which anyone can verify offline

## Masumi (MIP-003)
- GET /availability, GET /input_schema, POST /start_job, GET /status?job_id=: a judgement as a paid job
- GET /v1/jobs/{id}/proof: what was asked and delivered, under its MIP-004 hashes
- GET /demo: a recorded job

## Live
- POST /v1/authority/check with \"execute\": false costs nothing and moves nothing
- [A recorded run, replayed](/live?mode=replay)
- /api/fixture: recorded answers of every endpoint, with no key and no chain
";

const PROTOCOL: &str = concat!(
    include_str!("../../../../../docs/authority-api.md"),
    "\n",
    include_str!("../../../../../docs/mandates.md"),
    "\n",
    include_str!("../../../../../docs/masumi.md")
);
