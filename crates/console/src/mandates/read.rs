//! Receipts and runs, as they can be checked elsewhere.

use super::brief::{Money, canonical, check_kind, fours, outcome, reason, result};
use super::{Denied, page, shell};
use crate::page::Shell;
use crate::visitor::Visitor;
use crate::words::{groups, shown, when};
use askama::Template;
use axum::extract::{Path, Query};
use axum::response::Response;
use mandate::price::BondStatus;
use mandate::report::Verified;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(crate) struct Pass {
    #[serde(default)]
    token: Option<String>,
}

#[derive(Template)]
#[template(path = "mandates/receipt.html")]
struct ReceiptPage {
    shell: Shell,
    id: String,
    principal: String,
    delegate: String,
    mandate: String,
    version: u32,
    mandate_hash: String,
    anchor: String,
    action: Option<Action>,
    action_hash: Option<String>,
    outcome: &'static str,
    reason: Option<&'static str>,
    checks: Vec<(&'static str, String, &'static str, &'static str)>,
    verified: Option<(bool, String)>,
    authorization: Option<Authorization>,
    approval: Option<Approval>,
    settlement: Option<(String, u64)>,
    entries: (String, String),
    hash: Vec<String>,
    canonical: String,
    run: String,
    query: String,
}

#[derive(Debug)]
struct Action {
    amount: Money,
    asset: String,
    to: String,
    recipient: Vec<String>,
    invoice: Option<String>,
    why: String,
}

#[derive(Debug)]
struct Authorization {
    digest: String,
    nonce: String,
    until: String,
}

#[derive(Debug)]
struct Approval {
    required: bool,
    key: Option<String>,
    brief_hash: Option<String>,
    bond: Option<&'static str>,
}

pub(crate) async fn receipt(
    Path(id): Path<String>,
    Query(pass): Query<Pass>,
    visitor: Visitor,
) -> Result<Response, Denied> {
    let reader = visitor.app.reader(visitor.headers()).await?;
    let told = visitor.app.receipt_told(&reader, &id, pass.token.as_deref()).await?;
    let receipt = &told.receipt;
    let decimals = told.mandate.asset.decimals;
    let action = receipt.action.ir.as_ref().map(|action| Action {
        amount: Money::of(action.amount.value.get(), decimals),
        asset: action.amount.asset.to_string(),
        to: shown(action.counterparty.display.as_str()),
        recipient: fours(action.recipient.address.as_str()),
        invoice: action.reference.as_ref().map(|reference| shown(reference.invoice_number.as_str())),
        why: shown(action.rationale.as_str()),
    });
    let checks = receipt.evaluation.checks.iter().map(|row| {
        let (word, class) = result(row.result);
        (check_kind(&row.kind), shown(&row.id), word, class)
    });
    Ok(page(&ReceiptPage {
        principal: shown(receipt.principal.as_str()),
        delegate: shown(receipt.delegate.as_str()),
        mandate: receipt.mandate.id.to_string(),
        version: receipt.mandate.version,
        mandate_hash: receipt.mandate.hash.to_string(),
        anchor: receipt.mandate.anchor.to_string(),
        action,
        action_hash: receipt.action.hash.map(|hash| hash.to_string()),
        outcome: outcome(receipt.evaluation.outcome),
        reason: receipt.evaluation.reason.map(reason),
        checks: checks.collect(),
        verified: receipt.verification.as_ref().map(|verification| {
            (verification.result == Verified::Verified, verification.report_hash.to_string())
        }),
        authorization: receipt.authorization.as_ref().map(|authorization| Authorization {
            digest: authorization.digest.to_string(),
            nonce: authorization.nonce.to_string(),
            until: when(authorization.valid_until.timestamp()),
        }),
        approval: receipt.approval.as_ref().map(|approval| Approval {
            required: approval.required,
            key: approval.cfo_key_hash.map(|key| key.to_string()),
            brief_hash: approval.brief_hash.map(|hash| hash.to_string()),
            bond: approval.bond.as_ref().map(|bond| bond_word(bond.status)),
        }),
        settlement: receipt.settlement.as_ref().map(|settled| (settled.tx_hash.to_string(), settled.block)),
        entries: (
            receipt.evidence.first_event_hash.to_string(),
            receipt.evidence.last_event_hash.to_string(),
        ),
        hash: groups(&receipt.hash()),
        canonical: canonical(receipt),
        run: told.run.to_string(),
        query: query(pass.token.as_deref()),
        shell: shell(&visitor, &format!("Receipt {id}")).await?,
        id,
    }))
}

const fn bond_word(status: BondStatus) -> &'static str {
    match status {
        BondStatus::Required => "asked for",
        BondStatus::Locked => "locked",
        BondStatus::Refunded => "given back",
        BondStatus::Captured => "lost to the agent",
        BondStatus::Expired => "never paid",
    }
}

#[derive(Template)]
#[template(path = "mandates/run.html")]
struct RunPage {
    shell: Shell,
    id: String,
    mandate: String,
    goal: String,
    started: String,
    finished: bool,
    closed: bool,
    anchored: Option<String>,
    entries: Vec<Entry>,
    last: u64,
    query: String,
    /// Whether the mandate's own page may be read, too.
    party: bool,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub seq: u64,
    pub title: &'static str,
    pub kind: String,
    pub at: String,
    pub action: Option<String>,
    pub hash: String,
    pub prev: String,
    pub data: String,
}

/// A run's log. With scripts it grows as it is read; without, it is as long as when it was loaded.
pub(crate) async fn run(
    Path(id): Path<String>,
    Query(pass): Query<Pass>,
    visitor: Visitor,
) -> Result<Response, Denied> {
    let reader = visitor.app.reader(visitor.headers()).await?;
    let told = visitor.app.run_told(&reader, &id, pass.token.as_deref()).await?;
    let entries: Vec<Entry> = told.events.iter().filter_map(entry).collect();
    Ok(page(&RunPage {
        mandate: told.mandate.to_string(),
        goal: shown(&told.run.goal),
        started: when(told.run.started_at),
        finished: told.run.finished,
        closed: told.closed,
        anchored: told.anchored_in.map(|tx| tx.to_string()),
        last: entries.last().map_or(0, |entry| entry.seq),
        entries,
        query: query(pass.token.as_deref()),
        party: reader.is_somebody(),
        shell: shell(&visitor, "A run").await?,
        id,
    }))
}

pub(crate) fn entry(raw: &canon::Raw) -> Option<Entry> {
    let body = canon::parse(raw.as_bytes()).ok()?;
    let text = |member: &str| body.get(member).and_then(canon::Value::as_str).map(str::to_owned);
    let kind = text("type")?;
    let at = text("created_at")?;
    let data = body.get("payload").and_then(|payload| canon::to_vec(payload).ok()).unwrap_or_default();
    Some(Entry {
        seq: body.get("seq").and_then(canon::Value::as_u64)?,
        title: event(&kind),
        at: at.parse().map(when).unwrap_or(at),
        kind,
        action: text("action_id"),
        hash: text("hash")?,
        prev: text("prev_hash")?,
        data: shown(&String::from_utf8_lossy(&data)),
    })
}

/// What an entry of a mandate's log tells.
pub(crate) fn event(kind: &str) -> &'static str {
    match kind {
        "RunStarted" => "The agent began",
        "ActionProposed" => "The agent proposed an act",
        "AuthorityEvaluationStarted" => "The engine began to judge",
        "AuthorityEvaluated" => "The engine judged",
        "CREVerificationStarted" => "The verifiers were asked",
        "CREVerificationCompleted" => "The verifiers answered",
        "ActionDenied" => "It was denied",
        "BondRequired" => "The price of asking a person was named",
        "BondLocked" => "The bond was locked",
        "ApprovalRequested" => "A person was asked",
        "CFOApproved" => "An approver signed",
        "CFODeclined" => "An approver declined",
        "BondRefunded" => "The bond went back",
        "BondCaptured" => "The bond was lost",
        "AuthorizationIssued" => "The engine authorized it",
        "TransactionBuilt" => "The transaction was built",
        "TransactionSubmitted" => "The transaction was sent",
        "TransactionRejected" => "The chain refused the transaction",
        "TransactionConfirmed" => "The transaction is in a block",
        "RunCompleted" => "The run ended",
        "MandateUpdated" => "The mandate was replaced",
        "MandateRevoked" => "The mandate was revoked",
        "MandatePaused" => "The mandate was stopped",
        "MandateResumed" => "The mandate went on",
        "AuthorizationDrafted" => "What an approver would sign was drafted",
        "ApprovalClosed" => "The question was closed",
        "ApprovalExpired" => "Nobody decided in time",
        "ActionDelayed" => "It waits, and may be stopped",
        "DelayVetoed" => "It was stopped while it waited",
        "BondUnknown" => "A block is gone in which the bond was spent: it is locked again",
        "SettlementUnknown" => "It is not known whether the chain took it",
        _ => "Another entry",
    }
}

/// Passes on the pass.
fn query(token: Option<&str>) -> String {
    let plain =
        |token: &&str| token.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    token.filter(plain).map(|token| format!("?token={token}")).unwrap_or_default()
}
