//! What approvers read and decide.

use super::super::approve::bad_decline;
use super::super::refused::Refused;
use super::super::shapes::{ApproveAsked, BondSubmit, DeclineAsked, ExecutionAsked, StatementAsked};
use super::mandates::OfMandate;
use super::{Reads, Writes, answer};
use crate::App;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use mandate::log::ApprovalId;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    status: Option<String>,
}

#[derive(Debug, Serialize)]
struct Inbox<T> {
    approvals: T,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Approvals of one page.
const PAGE: usize = 200;

/// What waits for the approver who asks: by mandate, the oldest of each first.
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals", operation_id = "approvals",
    params(("status" = String, Query, description = "pending"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<usize>, Query, description = "1 to 200; 200 without it")), responses((status = 200)))]
pub(crate) async fn list(
    State(app): State<App>,
    Query(listed): Query<Listed>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    let limit = listed.limit.unwrap_or(PAGE).clamp(1, PAGE);
    let (approvals, next) = app.approvals_pending(&who, listed.after.as_deref(), limit).await?;
    if listed.status.as_deref() != Some("pending") {
        return Err(Refused::bad("bad_status", "/status", "only status=pending is listed"));
    }
    answer(&Inbox { approvals, next })
}

/// One approval, for its approver.
#[utoipa::path(get, path = "/v1/approvals/{id}", tag = "approvals", operation_id = "approval",
    params(("id" = String, Path), ("mandate_id" = Option<String>, Query)), responses((status = 200)))]
pub(crate) async fn one(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(of): Query<OfMandate>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    answer(&app.approval_shown(&who, &named(&id)?, of.maybe()?.as_ref()).await?)
}

/// Without a body: what the approver is to sign. Signed: approves, and gives the release for the approver's wallet.
#[utoipa::path(post, path = "/v1/approvals/{id}/approve", tag = "approvals", operation_id = "approve",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn approve(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Writes,
) -> Result<Response, Refused> {
    let body: ApproveAsked = asked.json()?;
    answer(&app.approve(&asked.who, &named(&id)?, body).await?)
}

/// What the approver is to sign for declining.
#[utoipa::path(post, path = "/v1/approvals/{id}/statement", tag = "approvals", operation_id = "decline_statement",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn statement(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Writes,
) -> Result<Response, Refused> {
    let body: StatementAsked = asked.json()?;
    answer(&app.statement(&asked.who, &named(&id)?, body).await?)
}

/// Takes the approver's witness over a release and sends it.
#[utoipa::path(post, path = "/v1/executions", tag = "approvals", operation_id = "execute", responses((status = 200)))]
pub(crate) async fn executions(State(app): State<App>, asked: Writes) -> Result<Response, Refused> {
    let body: ExecutionAsked = asked.json()?;
    answer(&app.execute_release(body).await?)
}

/// Declines, and gives the bond's spending for the approver's wallet. Whatever is not the approver's signed decline is 401.
#[utoipa::path(post, path = "/v1/approvals/{id}/decline", tag = "approvals", operation_id = "decline",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn decline(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Writes,
) -> Result<Response, Refused> {
    let id = named(&id).map_err(|_| bad_decline())?;
    let body: DeclineAsked = asked.json().map_err(|_| bad_decline())?;
    answer(&app.decline(&id, body).await?)
}

/// Takes the approver's witness over a bond's spending and submits it.
#[utoipa::path(post, path = "/v1/approvals/{id}/bond-submit", tag = "approvals", operation_id = "bond_submit",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn bond_submit(
    State(app): State<App>,
    Path(id): Path<String>,
    asked: Writes,
) -> Result<Response, Refused> {
    let body: BondSubmit = asked.json()?;
    answer(&app.submit_bond(&named(&id)?, body).await?)
}

fn named(id: &str) -> Result<ApprovalId, Refused> {
    id.parse().map_err(|_| Refused::missing("approval_unknown", "no such approval"))
}
