//! What a judgement leads to: an authorization, a price, a person, a wait (spec 1.7 to 1.9).

use super::Draft;
use super::checking::{Case, answer, checked, deny, log};
use crate::brief::{Brief, Budget};
use crate::command::{Next, Reply, Verification};
use crate::engine::Inputs;
use crate::evaluation::{Detail, Details};
use crate::issue::{self, Consent};
use crate::log::{ApprovalRequested, BondLocked, Fact, Issued};
use crate::price::{BadBond, Locked, Price, PriceSchema};
use crate::reason::Reason;
use crate::state::{Anchored, Approval, ApprovalStatus, Authorization, AuthorizationStatus, Holder};
use crate::text::Text;
use crate::{Hashed, HashedAction, Outcome, Refusal};
use ledger::Effect;
use std::sync::Arc;

/// Priced and unpaid escalations of one mandate at a time.
const MAX_PRICED: usize = 200;
/// What a price is called that nobody owes.
const QUOTE: &str = "quote";

/// Outside the mandate. A bond that was paid in good faith is recorded, so that it goes back (W4).
pub(super) fn denied(draft: &mut Draft<'_>, case: Case<'_>) -> Result<Reply, Refusal> {
    let approval = case.judged.action.as_ref().and_then(|action| draft.state.newest(&action.hash())).cloned();
    let approval = approval.filter(|_| case.judged.evaluation.signed);
    log(draft, &case);
    let anchored = draft.anchored()?;
    if let (Some(approval), Some(bond)) = (&approval, &case.check.bond)
        && paid(draft, &anchored, approval, bond).is_ok()
    {
        lock(draft, approval, bond);
    }
    deny(draft, &case);
    let mut checked = checked(&case, Next::Nothing);
    if let Some(approval) = approval.and_then(|approval| draft.state.approval(&approval.id()).cloned())
        && approval.bond.is_some()
    {
        checked.bond = Some(approval.bond(&anchored.mandate));
        checked.approval_id = Some(approval.id());
    }
    Ok(Reply::Checked(Box::new(checked)))
}

/// Inside the agent's own limits and signed: one authorization, the same one as long as it is good.
pub(super) fn allowed(draft: &mut Draft<'_>, mut case: Case<'_>) -> Result<Reply, Refusal> {
    let action = action(&case)?;
    if let Some(held) = reservation(draft, &mut case, &action)? {
        return match held {
            Held::Same(held) => Ok(authorized(draft, &case, &held)),
            Held::Denied => denied(draft, case),
        };
    }
    let anchored = draft.anchored()?;
    let nonce = u128::from(draft.state.last_nonce.max(case.check.observed.last_nonce.get())) + 1;
    let proposal = crate::Proposal { action: &case.check.action, agent_signature: None };
    let inputs = Inputs {
        mandate: &anchored.mandate,
        proposal,
        state: &case.snapshot,
        evidence: None,
        now: draft.now,
    };
    let fields = issue::fields(&case.judged, &inputs, &anchored.vault, nonce, Consent::None);
    let record = fields.map_err(Refusal::Unissued)?.sign(case.check.engine.0.as_ref())?;
    log(draft, &case);
    let ends = record.fields.valid_until;
    draft.push(Fact::AuthorizationIssued(Box::new(Issued {
        approval_id: None,
        authorization: record.clone(),
        compromised_engine: false,
    })));
    if case.check.execute {
        draft.release(&record.digest_hex);
    }
    draft.watch(ends);
    let mut checked = checked(&case, Next::Authorized);
    checked.authorization = Some(record);
    Ok(Reply::Checked(Box::new(checked)))
}

/// What it would cost to ask: nothing is recorded but the judgement, nothing is owed.
pub(super) fn quoted(draft: &mut Draft<'_>, case: Case<'_>) -> Result<Reply, Refusal> {
    let action = action(&case)?;
    let price = price(draft, &case, &action, QUOTE)?;
    let brief = brief(draft, &case, &price)?;
    log(draft, &case);
    let mut checked = checked(&case, Next::Quoted(Box::new(price)));
    checked.brief = Some(brief);
    Ok(Reply::Checked(Box::new(checked)))
}

/// What the approver would read at this price.
fn brief(draft: &Draft<'_>, case: &Case<'_>, price: &Price) -> Result<Hashed<Brief>, Refusal> {
    let registry_tx = match &case.check.verification {
        Verification::Reported { registry_tx, .. } => registry_tx.clone(),
        _ => None,
    };
    Brief::of(&case.judged, &draft.anchored()?.mandate, price, registry_tx)
}

/// A person must sign: it is priced, then paid, then asked.
pub(super) fn escalated(draft: &mut Draft<'_>, mut case: Case<'_>) -> Result<Reply, Refusal> {
    let action = action(&case)?;
    let known = draft.state.newest(&action.hash()).cloned();
    if let Some(approval) = &known
        && approval.status == ApprovalStatus::Declined
    {
        case.judged.evaluation.overrule(
            Reason::PrincipalDeclined,
            Details::default().with("approval_id", approval.price.approval_id.as_str()),
        );
        let comment = approval.declined.as_ref().and_then(|declined| declined.comment.clone());
        return match denied(draft, case)? {
            Reply::Checked(checked) => {
                Ok(Reply::Checked(Box::new(crate::command::Checked { comment, ..*checked })))
            }
            other => Ok(other),
        };
    }
    if let Some(held) = reservation(draft, &mut case, &action)? {
        return match held {
            Held::Same(held) => Ok(authorized(draft, &case, &held)),
            Held::Denied => denied(draft, case),
        };
    }
    match known {
        Some(approval)
            if approval.status == ApprovalStatus::Pending && draft.now < approval.price.locked_until_ms =>
        {
            let anchored = draft.anchored()?;
            Ok(waiting(&case, &approval, &anchored))
        }
        Some(approval)
            if approval.status == ApprovalStatus::AwaitingBond
                && draft.now < approval.price.locked_until_ms =>
        {
            offered(draft, case, &approval)
        }
        Some(approval)
            if matches!(approval.status, ApprovalStatus::AwaitingBond | ApprovalStatus::Pending) =>
        {
            // A price whose lock time has passed is not offered again (W5).
            super::settling::expire(draft, &approval);
            priced(draft, case, &action)
        }
        _ => priced(draft, case, &action),
    }
}

/// Allowed later, unless the approver objects (`mandate/v0.2`).
pub(super) fn delayed(draft: &mut Draft<'_>, case: Case<'_>) -> Result<Reply, Refusal> {
    let action = action(&case)?;
    let until = case.judged.evaluation.delayed_until_ms.unwrap_or(draft.now);
    if draft.state.delay(&action.hash()).is_none() {
        log(draft, &case);
        draft.push(Fact::ActionDelayed { action_hash: action.hash(), since_ms: draft.now, until_ms: until });
        if let Some(stream) = draft.stream() {
            draft.effect(Effect::Ask { ask: crate::proof::veto_ask(&action.hash()), stream });
        }
    }
    Ok(answer(&case, Next::Delayed))
}

/// A price stands; does the bond that was shown pay it?
fn offered(draft: &mut Draft<'_>, case: Case<'_>, approval: &Arc<Approval>) -> Result<Reply, Refusal> {
    let anchored = draft.anchored()?;
    let price = Box::new(approval.price.clone());
    // A bond that was recorded while nobody could be asked is good for asking now.
    if approval.bond.is_none() {
        let refused = match &case.check.bond {
            None => Err(None),
            Some(bond) => paid(draft, &anchored, approval, bond).map_err(Some),
        };
        if let Err(refused) = refused {
            return Ok(payable(&case, approval, &anchored, Next::Priced { price, refused }));
        }
    }
    let brief = brief(draft, &case, &approval.price)?;
    log(draft, &case);
    if let (None, Some(bond)) = (&approval.bond, &case.check.bond) {
        lock(draft, approval, bond);
    }
    let shown = draft.state.approval(&approval.id()).map(|approval| approval.bond(&anchored.mandate));
    let bond = shown.ok_or_else(|| Refusal::Bug("the bond was not recorded".to_owned()))?;
    draft.push(Fact::ApprovalRequested(Box::new(ApprovalRequested {
        approval_id: approval.id(),
        approvals_required: case.judged.evaluation.approvals_required.clone(),
        bond,
        brief_hash: brief.hash(),
        brief,
    })));
    draft.list(approval);
    if let Some(stream) = draft.stream() {
        draft.effect(Effect::Ask { ask: approval.price.approval_id.to_string(), stream });
    }
    let approval = draft.state.newest(&approval.action.hash()).cloned();
    let approval = approval.ok_or_else(|| Refusal::Bug("the approval is gone".to_owned()))?;
    Ok(waiting(&case, &approval, &anchored))
}

fn priced(draft: &mut Draft<'_>, case: Case<'_>, action: &HashedAction) -> Result<Reply, Refusal> {
    let unpaid = draft.state.open().filter(|approval| approval.status == ApprovalStatus::AwaitingBond);
    if unpaid.count() >= MAX_PRICED {
        return Err(Refusal::TooManyPriced { max: MAX_PRICED });
    }
    let id = format!("AP-{}", draft.state.last_approval.saturating_add(1));
    let price = price(draft, &case, action, &id)?;
    log(draft, &case);
    let ends = price.locked_until_ms;
    draft.push(Fact::BondRequired { approval_id: price.approval_id.clone(), price: Box::new(price.clone()) });
    draft.wake(ends);
    let anchored = draft.anchored()?;
    let approval = draft.state.newest(&action.hash()).cloned();
    let approval = approval.ok_or_else(|| Refusal::Bug("the price was not recorded".to_owned()))?;
    let refused = case.check.bond.as_ref().map(|_| BadBond::Approval);
    Ok(payable(&case, &approval, &anchored, Next::Priced { price: Box::new(price), refused }))
}

/// The price of asking now, by the tariff; the approver's key is the anchor's (case 66).
fn price(
    draft: &Draft<'_>,
    case: &Case<'_>,
    action: &HashedAction,
    approval_id: &str,
) -> Result<Price, Refusal> {
    let anchored = draft.anchored()?;
    let (mandate, tariff) = (&anchored.mandate, &anchored.tariff);
    let role = case.judged.evaluation.approvals_required.first().map(|required| &required.approver);
    let keys = &case.check.observed.approvers;
    let approver = mandate
        .approvers
        .iter()
        .find(|approver| Some(&approver.role) == role && keys.contains(&approver.cardano_key_hash))
        .ok_or(Refusal::AnchorDiffers)?;
    let bug = |error: crate::text::TextError| Refusal::Bug(error.to_string());
    let row = case.judged.evaluation.checks.last();
    let used = row.and_then(|row| row.detail.get("used")).and_then(Detail::as_number).unwrap_or(0);
    Ok(Price {
        action_hash: action.hash(),
        amount: tariff.amount,
        approval_id: approval_id.parse().map_err(bug)?,
        approver_key_hash: approver.cardano_key_hash,
        approvers: Some(mandate.signatories()).filter(|all| all.only().is_none()),
        asset: tariff.asset.clone(),
        escrow_address: tariff.escrow_address.as_str().parse().map_err(bug)?,
        interrupt_budget: Budget {
            per_day: mandate.interrupt_budget.per_day,
            used: u32::try_from(used).unwrap_or(u32::MAX),
        },
        locked_until_ms: draft.now.plus(tariff.held_ms),
        network: anchored.vault.network,
        schema: PriceSchema::V01,
    })
}

/// Whether this output pays this price, and no other.
fn paid(draft: &Draft<'_>, anchored: &Anchored, approval: &Approval, bond: &Locked) -> Result<(), BadBond> {
    bond.pays(&approval.price, &anchored.vault.mandate_ref)?;
    if approval.bond.is_some() || draft.state.bonds.get(&bond.at).is_some() {
        return Err(BadBond::Spent);
    }
    Ok(())
}

fn lock(draft: &mut Draft<'_>, approval: &Approval, bond: &Locked) {
    draft.push(Fact::BondLocked(Box::new(BondLocked {
        amount: bond.datum.amount,
        approval_id: approval.id(),
        asset: approval.price.asset.symbol.clone(),
        output_index: bond.at.output_index,
        tx_hash: bond.at.tx_hash,
    })));
}

enum Held {
    Same(Arc<Authorization>),
    Denied,
}

/// Whether the action or its invoice is taken; if by another, the judgement is overruled.
fn reservation(
    draft: &Draft<'_>,
    case: &mut Case<'_>,
    action: &HashedAction,
) -> Result<Option<Held>, Refusal> {
    match draft.state.holder(action, draft.now) {
        Holder::Nobody => Ok(None),
        Holder::Same(held) => Ok(Some(Held::Same(held))),
        Holder::Wait => Err(Refusal::ReservationEnding),
        Holder::Unclear(digest) => Err(Refusal::ReservationUnclear { digest }),
        Holder::Taken { nonce, how } => {
            let detail = Details::default()
                .with("authorization_id", format!("Z-{nonce:04}").as_str())
                .with("holder", how)
                .with("source", "reservation");
            case.judged.evaluation.overrule(Reason::InvoiceNotOpen, detail);
            Ok(Some(Held::Denied))
        }
    }
}

fn action(case: &Case<'_>) -> Result<HashedAction, Refusal> {
    debug_assert_ne!(case.judged.evaluation.outcome, Outcome::Deny);
    case.judged.action.clone().ok_or_else(|| Refusal::Bug("no action was read".to_owned()))
}

/// The authorization that is out already. One that nobody has submitted yet is released now, if that is asked and needs
/// nobody else.
fn authorized(draft: &mut Draft<'_>, case: &Case<'_>, held: &Authorization) -> Reply {
    let unused = held.status == AuthorizationStatus::Issued && held.tx_hash.is_none();
    if case.check.execute && unused && !held.record.fields.requires_principal {
        draft.release(&held.record.digest_hex);
    }
    let mut checked = checked(case, Next::Authorized);
    checked.authorization = Some(held.record.clone());
    checked.approval_id = held.approval.and_then(|number| format!("AP-{number}").parse::<Text<1, 64>>().ok());
    Reply::Checked(Box::new(checked))
}

fn waiting(case: &Case<'_>, approval: &Approval, anchored: &Anchored) -> Reply {
    let mut checked = checked(case, Next::Waiting);
    checked.approval_id = Some(approval.id());
    checked.brief = approval.brief.clone();
    checked.bond = Some(approval.bond(&anchored.mandate));
    Reply::Checked(Box::new(checked))
}

fn payable(case: &Case<'_>, approval: &Approval, anchored: &Anchored, next: Next) -> Reply {
    let mut checked = checked(case, next);
    checked.approval_id = Some(approval.id());
    checked.bond = Some(approval.bond(&anchored.mandate));
    Reply::Checked(Box::new(checked))
}
