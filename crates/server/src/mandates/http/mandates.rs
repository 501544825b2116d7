//! What is public of a mandate, and what its parties read.

use super::super::refused::Refused;
use super::super::view::reads_run;
use super::super::who::{Role, Who};
use super::super::{Known, unknown};
use super::{Reads, answer};
use crate::App;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use canon::Digest;
use mandate::authorization::Record;
use mandate::brief::Budget;
use mandate::mandate::Status;
use mandate::text::{AssetSymbol, Id, KeyHash, PositiveUnits, TxHash, Units};
use mandate::{Hashed, Limits, Mandate, Receipt};
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize)]
pub(crate) struct OfMandate {
    #[serde(default)]
    pub mandate_id: Option<String>,
    #[serde(default)]
    pub token: Option<String>,
}

impl OfMandate {
    /// The mandate that must be named.
    fn named(&self) -> Result<Id, Refused> {
        let id = self.mandate_id.as_deref();
        let id =
            id.ok_or_else(|| Refused::bad("mandate_id_missing", "/mandate_id", "mandate_id is needed"))?;
        id.parse().map_err(|_| unknown())
    }

    /// The mandate that may be named.
    pub fn maybe(&self) -> Result<Option<Id>, Refused> {
        self.mandate_id.as_deref().map(|id| id.parse().map_err(|_| unknown())).transpose()
    }
}

#[derive(Debug, Serialize)]
struct AuthorityShown<'a> {
    approver: &'a str,
    approver_key_hash: KeyHash,
    availability: &'static str,
    escalations_today: u32,
    interrupt_budget: Budget,
    mandate_id: &'a Id,
    price: PriceShown<'a>,
}

#[derive(Debug, Serialize)]
struct PriceShown<'a> {
    amount: PositiveUnits,
    asset: &'a AssetSymbol,
}

/// What it costs to interrupt an approver, and how much of their attention is left today. Public.
#[utoipa::path(get, path = "/v1/authority/{role}", tag = "authority", operation_id = "authority_price",
    params(("role" = String, Path), ("mandate_id" = String, Query)), responses((status = 200)))]
pub(crate) async fn authority(
    State(app): State<App>,
    Path(role): Path<String>,
    Query(of): Query<OfMandate>,
) -> Result<Response, Refused> {
    app.mandates()?;
    let known = app.mandate(&of.named()?).await?;
    let mandate = &known.anchored.mandate;
    let approver = mandate.approvers.iter().find(|approver| approver.role.as_str() == role);
    let approver = approver.ok_or_else(|| Refused::missing("role_unknown", "no such approver"))?;
    let (used, per_day) = (known.state.paged(app.millis()?), mandate.interrupt_budget.per_day);
    let tariff = &known.anchored.tariff;
    answer(&AuthorityShown {
        approver: approver.role.as_str(),
        approver_key_hash: approver.cardano_key_hash,
        availability: if used < per_day { "open" } else { "budget_exhausted" },
        escalations_today: used,
        interrupt_budget: Budget { per_day, used },
        mandate_id: &mandate.id,
        price: PriceShown { amount: tariff.amount, asset: &tariff.asset.symbol },
    })
}

/// A mandate's figures, from its log alone. Public.
#[utoipa::path(get, path = "/v1/metrics", tag = "authority", operation_id = "authority_metrics",
    params(("mandate_id" = String, Query)), responses((status = 200)))]
pub(crate) async fn metrics(
    State(app): State<App>,
    Query(of): Query<OfMandate>,
) -> Result<Response, Refused> {
    app.mandates()?;
    answer(&app.metrics_of(&of.named()?).await?)
}

#[derive(Debug, Serialize)]
struct MandateShown<'a> {
    anchor: AnchorShown,
    limits: Limits,
    mandate: &'a Hashed<Mandate>,
    mandate_hash: Digest,
    paused: bool,
    vault: VaultShown,
}

#[derive(Debug, Serialize)]
struct AnchorShown {
    mandate_ref: KeyHash,
    status: Status,
    /// The transaction that made it what it is.
    tx_hash: Option<TxHash>,
    version: u32,
}

#[derive(Debug, Serialize)]
struct VaultShown {
    balance: Units,
    day_index: u64,
    last_nonce: Units,
    /// 0 once the day has passed.
    spent_today: Units,
    tx_hash: Option<TxHash>,
    vault_hash: KeyHash,
}

/// A mandate with its anchor and its vault. For its parties.
#[utoipa::path(get, path = "/v1/mandates/{id}", tag = "authority", operation_id = "authority_mandate",
    params(("id" = String, Path)), responses((status = 200)))]
pub(crate) async fn mandate(
    State(app): State<App>,
    Path(id): Path<String>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    let known = for_party(&app, &who, &id).await?;
    let observed = app.reading(&known).await?;
    let standing = app.standing(&known.anchored.vault).await?;
    let anchored = &known.anchored;
    let passed = observed.day_index < app.millis()?.day();
    answer(&MandateShown {
        anchor: AnchorShown {
            mandate_ref: anchored.vault.mandate_ref,
            status: observed.anchor_status,
            tx_hash: standing.map(|(anchor, _)| anchor),
            version: observed.anchor_version,
        },
        limits: anchored.mandate.limits(),
        mandate: &anchored.mandate,
        mandate_hash: anchored.mandate.hash(),
        paused: known.state.is_paused(),
        vault: VaultShown {
            balance: observed.vault_balance,
            day_index: observed.day_index,
            last_nonce: observed.last_nonce,
            spent_today: if passed { Units::ZERO } else { observed.spent_today },
            tx_hash: standing.map(|(_, vault)| vault),
            vault_hash: anchored.vault.vault_hash,
        },
    })
}

/// The mandate, for one of its parties; for others it is not there.
pub(super) async fn for_party(app: &App, who: &Who, id: &str) -> Result<Known, Refused> {
    if matches!(who, Who::Nobody) {
        return Err(Refused::nobody());
    }
    let known = app.mandate(&id.parse().map_err(|_| unknown())?).await?;
    if who.role(&known.anchored.mandate).reads() { Ok(known) } else { Err(unknown()) }
}

#[derive(Debug, Serialize)]
struct ReceiptShown<'a> {
    authorization: &'a Option<Record>,
    mandate: &'a Hashed<Mandate>,
    receipt: &'a Hashed<Receipt>,
    receipt_hash: Digest,
}

/// A receipt. For the mandate's parties, and for whoever has a pass to its run.
#[utoipa::path(get, path = "/v1/receipts/{id}", tag = "authority", operation_id = "authority_receipt",
    params(("id" = String, Path), ("token" = Option<String>, Query)), responses((status = 200)))]
pub(crate) async fn receipt(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(of): Query<OfMandate>,
    Reads(who): Reads,
) -> Result<Response, Refused> {
    let pass = of.token.as_deref().and_then(|token| app.opened(token));
    if matches!(who, Who::Nobody) && pass.is_none() {
        return Err(Refused::nobody());
    }
    let made = app.receipt(&id).await?;
    let passed = pass.is_some_and(|pass| pass.run == made.run && pass.mandate == made.mandate.id);
    let missing = || Refused::missing("receipt_unknown", "no such receipt");
    if !passed {
        let role = who.role(&made.mandate);
        let theirs = reads_run(role)
            || (role == Role::Masumi
                && app.run_for(&who, &made.run, Some(&made.mandate.id), None).await.is_ok());
        if !theirs {
            return Err(missing());
        }
    }
    answer(&ReceiptShown {
        authorization: &made.authorization,
        mandate: &made.mandate,
        receipt: &made.receipt,
        receipt_hash: made.receipt.hash(),
    })
}
