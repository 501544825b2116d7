//! What is done after a while unless an approver objects: one page each, and the objection, signed.

use super::brief::fours;
use super::{Denied, page as shown_page, shell, somebody};
use crate::page::{Shell, done};
use crate::visitor::{Posted, Visitor};
use crate::words::{shown, when};
use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use server::mandates::desk::Reader;
use server::mandates::{Refused, Waits};

#[derive(Template)]
#[template(path = "mandates/veto.html")]
struct Veto {
    shell: Shell,
    mandate: String,
    action_hash: String,
    amount: String,
    units: String,
    to: String,
    to_id: String,
    recipient: Vec<String>,
    invoice: Option<String>,
    why: String,
    by: String,
    since: String,
    until: String,
    keys: String,
    /// The command that signs the objection.
    command: String,
    hash: Vec<String>,
    path: String,
}

/// A line of the inbox.
#[derive(Debug)]
pub(crate) struct Line {
    pub link: String,
    pub amount: String,
    pub to: String,
    pub until: String,
    pub mandate: String,
}

pub(crate) async fn page(
    Path((mandate, action)): Path<(String, String)>,
    visitor: Visitor,
) -> Result<Response, Denied> {
    let reader = somebody(&visitor).await?;
    let found = visitor.app.waits_read(&reader).await?.into_iter();
    let missing =
        || Refused::missing("delay_unknown", "nothing waits under this name: it was stopped, or is done");
    let mut found = found.filter(|one| one.mandate.id.as_str() == mandate);
    let waits = found.find(|one| one.wait.action.hash().to_string() == action).ok_or_else(missing)?;
    let draft = visitor.app.veto_draft(&reader, &mandate, &action).await?;
    let statement = draft.get("statement").map(super::brief::canonical).unwrap_or_default();
    let hash = draft.get("statement_hash").and_then(serde_json::Value::as_str).unwrap_or_default();
    let told = &waits.wait.action;
    let keys = waits.mandate.approvers.iter().map(|one| one.cardano_key_hash.to_string());
    Ok(shown_page(&Veto {
        amount: amount(&waits),
        units: told.amount.value.to_string(),
        to: shown(told.counterparty.display.as_str()),
        to_id: told.counterparty.id.to_string(),
        recipient: fours(told.recipient.address.as_str()),
        invoice: told.reference.as_ref().map(|reference| shown(reference.invoice_number.as_str())),
        why: shown(told.rationale.as_str()),
        by: told.actor.to_string(),
        since: when(waits.wait.since.timestamp()),
        until: when(waits.wait.until.timestamp()),
        keys: keys.collect::<Vec<_>>().join(" "),
        command: format!("countersign mandate sign {} --key approver.jwk", super::entry::quoted(&statement)),
        hash: super::brief::hash_groups(hash),
        path: format!("/delays/{mandate}/{action}"),
        shell: shell(&visitor, "Stop it?").await?,
        action_hash: action,
        mandate,
    }))
}

pub(crate) async fn stop(
    Path((mandate, action)): Path<(String, String)>,
    posted: Posted,
) -> Result<Response, Denied> {
    let signature = posted.fields.one("signature");
    let stopped = posted.visitor.app.veto_signed(&mandate, &action, signature).await;
    stopped.map_err(|refused| Denied::from(refused).back_to(format!("/delays/{mandate}/{action}")))?;
    Ok(done("/approvals", "vetoed"))
}

/// What waits for a reader.
pub(crate) async fn lines(visitor: &Visitor, reader: &Reader) -> Result<Vec<Line>, Denied> {
    let line = |waits: Waits| Line {
        link: format!("/delays/{}/{}", waits.mandate.id, waits.wait.action.hash()),
        amount: amount(&waits),
        to: shown(waits.wait.action.counterparty.display.as_str()),
        until: when(waits.wait.until.timestamp()),
        mandate: waits.mandate.id.to_string(),
    };
    Ok(visitor.app.waits_read(reader).await?.into_iter().map(line).collect())
}

fn amount(waits: &Waits) -> String {
    let asset = &waits.mandate.asset;
    super::brief::money(waits.wait.action.amount.value.get(), asset.decimals, &waits.wait.action.amount.asset)
}
