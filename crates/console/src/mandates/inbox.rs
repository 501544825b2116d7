//! What waits for an approver: priced, so many at a time.

use super::brief::{bond_money, outcome};
use super::{Denied, page as shown_page, shell, somebody};
use crate::page::Shell;
use crate::visitor::Visitor;
use crate::words::{shown, when};
use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use mandate::Outcome;
use serde::Deserialize;
use server::mandates::desk::{COUNTED, Line};

#[derive(Template)]
#[template(path = "mandates/inbox.html")]
struct Inbox {
    shell: Shell,
    rows: Vec<Row>,
    total: usize,
    /// More than are counted.
    many: bool,
    next: Option<String>,
    first: bool,
    keys: Vec<String>,
    mandates: Vec<(String, String)>,
    /// What is done by itself unless they object.
    waits: Vec<super::veto::Line>,
    /// They may open mandates here.
    opens: bool,
}

#[derive(Debug)]
struct Row {
    link: String,
    amount: String,
    to: String,
    invoice: Option<String>,
    mandate: String,
    asked_by: String,
    asked: String,
    until: String,
    bond: String,
    reason: &'static str,
    signed: usize,
    required: usize,
}

#[derive(Debug, Deserialize)]
pub(crate) struct From {
    #[serde(default)]
    after: Option<String>,
}

/// Lines of one page.
const PAGE: usize = 50;

pub(crate) async fn page(Query(from): Query<From>, visitor: Visitor) -> Result<Response, Denied> {
    let reader = somebody(&visitor).await?;
    let waiting = visitor.app.approvals_waiting(&reader, from.after.as_deref(), PAGE).await?;
    let mandates = visitor.app.mandates_read(&reader).await?;
    Ok(shown_page(&Inbox {
        rows: waiting.lines.iter().filter_map(row).collect(),
        total: waiting.total,
        many: waiting.total > COUNTED,
        next: waiting.next,
        first: from.after.is_none(),
        waits: super::veto::lines(&visitor, &reader).await?,
        opens: !visitor.app.opening_keys(&reader)?.is_empty(),
        keys: reader.keys().iter().map(ToString::to_string).collect(),
        mandates: mandates
            .iter()
            .map(|mandate| (mandate.id.to_string(), shown(mandate.principal.name.as_str())))
            .collect(),
        shell: shell(&visitor, "Approvals").await?,
    }))
}

fn row(line: &Line) -> Option<Row> {
    let Line { mandate, tariff, approval } = line;
    let brief = approval.brief.as_ref()?;
    Some(Row {
        link: format!("/approvals/{}/{}", mandate.id, approval.price.approval_id),
        amount: shown(&brief.what.amount.display),
        to: shown(brief.what.counterparty.display.as_str()),
        invoice: brief.what.reference.as_ref().map(|reference| shown(reference.invoice_number.as_str())),
        mandate: mandate.id.to_string(),
        asked_by: brief.requested_by.to_string(),
        asked: approval.requested_at.map(|at| when(at.timestamp())).unwrap_or_default(),
        until: when(brief.expires_at_ms.timestamp()),
        bond: format!(
            "{} {}",
            bond_money(brief.cost.bond.amount.get(), tariff).display,
            brief.cost.bond.asset
        ),
        reason: brief.engine.reason.map_or(outcome(Outcome::Escalate), super::brief::reason),
        signed: approval.signers.len(),
        required: mandate.required(),
    })
}
