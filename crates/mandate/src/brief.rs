//! The decision brief (seed, "Decision Brief"; spec 1.11): what a person reads before signing, built by rules alone.

use crate::action::{ActionType, Counterparty, HashedAction, Reference};
use crate::engine::Judged;
use crate::evaluation::{Checked, Outcome};
use crate::mandate::{Limits, Mandate, RoleName};
use crate::price::Price;
use crate::reason::Reason;
use crate::report::{Facts, Report, Verified};
use crate::text::{AssetSymbol, Id, PositiveUnits, Text};
use crate::time::Millis;
use crate::{Address, Hashed, Refusal};
use canon::Digest;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use std::borrow::Cow;

/// `brief/v0.1`. Members in the order of the canonical form; its hash is what the approver signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Brief {
    pub action_hash: Digest,
    pub action_id: Id,
    pub cost: Cost,
    pub engine: EngineSaid,
    pub escalation: Option<Escalation>,
    pub expires_at_ms: Millis,
    pub limits: Limits,
    pub mandate: MandateNamed,
    pub requested_by: Id,
    pub schema: BriefSchema,
    pub verified: Option<VerifiedFacts>,
    pub what: What,
    /// The agent's claim, verbatim.
    pub why: Text<0, 2000>,
    pub will_happen: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BriefSchema {
    #[serde(rename = "brief/v0.1")]
    V01,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    pub bond: BondCost,
    pub interrupt_budget: Budget,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BondCost {
    pub amount: PositiveUnits,
    pub asset: AssetSymbol,
}

/// Escalations of a day, counted and allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub per_day: u32,
    pub used: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSaid {
    pub checks: Vec<Check>,
    pub outcome: Outcome,
    /// The first reason for which a person is asked, or for which it was denied.
    pub reason: Option<Reason>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub id: SmolStr,
    pub kind: Cow<'static, str>,
    pub reason: Option<Reason>,
    pub result: Checked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    pub approver: RoleName,
    pub because: Vec<Because>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Because {
    pub constraint: Id,
    pub reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MandateNamed {
    pub hash: Digest,
    pub id: Id,
    pub version: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifiedFacts {
    pub facts: Facts,
    pub report_hash: Digest,
    pub result: Verified,
    /// The registry transaction, where there is one.
    pub sepolia_tx: Option<Text<1, 100>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct What {
    pub amount: ShownAmount,
    pub counterparty: Counterparty,
    pub recipient: Address,
    pub reference: Option<Reference>,
    #[serde(rename = "type")]
    pub kind: ActionType,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShownAmount {
    pub asset: AssetSymbol,
    pub display: String,
    pub value: PositiveUnits,
}

impl Brief {
    /// The brief of an escalation at its price. Refuses an evaluation of another action or mandate.
    pub fn of(
        judged: &Judged,
        mandate: &Hashed<Mandate>,
        price: &Price,
        registry_tx: Option<Text<1, 100>>,
    ) -> Result<Hashed<Self>, Refusal> {
        let evaluation = &judged.evaluation;
        let wrong = |place: &str| Refusal::BadValue { place: place.to_owned() };
        let action = judged.action.as_ref().ok_or_else(|| wrong("/action_hash"))?;
        if evaluation.action_hash != Some(action.hash()) || price.action_hash != action.hash() {
            return Err(wrong("/action_hash"));
        }
        if evaluation.mandate_hash != mandate.hash() || evaluation.mandate_version != mandate.version {
            return Err(wrong("/mandate_hash"));
        }
        if price.locked_until_ms.get() == 0 {
            return Err(wrong("/expires_at_ms"));
        }
        let required = &evaluation.approvals_required;
        let checks = evaluation.checks.iter().map(|row| Check {
            id: row.id.clone(),
            kind: row.kind.clone(),
            reason: row.reason,
            result: row.result,
        });
        let brief = Self {
            action_hash: action.hash(),
            action_id: action.id.clone(),
            cost: Cost {
                bond: BondCost { amount: price.amount, asset: price.asset.symbol.clone() },
                interrupt_budget: budget(judged, mandate),
            },
            engine: EngineSaid {
                checks: checks.collect(),
                outcome: evaluation.outcome,
                reason: evaluation.reason.or_else(|| required.first().map(|required| required.reason)),
            },
            escalation: required.first().map(|first| Escalation {
                approver: first.approver.clone(),
                because: required
                    .iter()
                    .map(|r| Because { constraint: r.constraint.clone(), reason: r.reason })
                    .collect(),
            }),
            expires_at_ms: price.locked_until_ms,
            limits: mandate.limits(),
            mandate: MandateNamed { hash: mandate.hash(), id: mandate.id.clone(), version: mandate.version },
            requested_by: action.actor.clone(),
            schema: BriefSchema::V01,
            verified: judged.report.as_ref().map(|report| verified(report, registry_tx)),
            what: What {
                amount: ShownAmount {
                    asset: action.amount.asset.clone(),
                    display: display(action, mandate.asset.decimals),
                    value: action.amount.value,
                },
                counterparty: action.counterparty.clone(),
                recipient: action.recipient.address.clone(),
                reference: action.reference.clone(),
                kind: action.kind,
            },
            why: action.rationale.clone(),
            will_happen: will_happen(action, mandate.asset.decimals),
        };
        Ok(Hashed::of(brief)?)
    }
}

/// Base units divided by 10^decimals, without zeros at the end; exact.
pub fn amount(units: u64, decimals: u8) -> String {
    let decimals = usize::from(decimals);
    let digits = format!("{units:0>width$}", width = decimals.saturating_add(1));
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(decimals));
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

fn display(action: &HashedAction, decimals: u8) -> String {
    format!("{} {}", amount(action.amount.value.get(), decimals), action.amount.asset)
}

fn will_happen(action: &HashedAction, decimals: u8) -> String {
    let invoice = action.reference.as_ref().map_or_else(String::new, |reference| {
        format!(" for invoice {} ({})", reference.invoice_number, reference.invoice_id)
    });
    format!(
        "Release {} from vault {} to {} for {}{invoice}. Nothing else is authorized by this signature.",
        display(action, decimals),
        action.source.vault,
        action.recipient.address,
        action.counterparty.display,
    )
}

fn verified(report: &Hashed<Report>, sepolia_tx: Option<Text<1, 100>>) -> VerifiedFacts {
    VerifiedFacts { facts: report.facts, report_hash: report.hash(), result: report.result, sepolia_tx }
}

fn budget(judged: &Judged, mandate: &Mandate) -> Budget {
    let row = judged.evaluation.checks.last();
    let used = row.and_then(|row| row.detail.get("used")).and_then(crate::evaluation::Detail::as_number);
    let used = used.and_then(|used| u32::try_from(used).ok()).unwrap_or(0);
    Budget { per_day: mandate.interrupt_budget.per_day, used }
}
