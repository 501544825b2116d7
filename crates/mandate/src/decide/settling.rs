//! What the chain did, and what it is asked to do: releases, bonds, expiries (spec 1.8, 1.10).

use super::Draft;
use crate::authorization::AuthorizationDigest;
use crate::command::{BondSpent, Execution, Owed, Reply};
use crate::log::{ApprovalId, Built, Fact, Refund, Rejected};
use crate::price::BondStatus;
use crate::state::{Approval, ApprovalStatus, AuthorizationStatus, GRACE_MS};
use crate::{Refusal, text::Text};
use std::sync::Arc;

/// How often what is owed is asked for again.
const AGAIN_MS: u64 = 60_000;

pub(super) fn execution(
    draft: &mut Draft<'_>,
    digest: &AuthorizationDigest,
    what: &Execution,
) -> Result<Reply, Refusal> {
    let held = draft.state.authorization(digest).ok_or(Refusal::AuthorizationUnknown)?;
    let (status, tx) = (held.status, held.tx_hash);
    let over = held.record.fields.valid_until.plus(GRACE_MS);
    let (run, action_id) = (held.run.clone(), held.action.id.clone());
    draft.run = run;
    draft.action_id = Some(action_id);
    let digest = *digest;
    let done = matches!(status, AuthorizationStatus::Settled | AuthorizationStatus::Released);
    match what {
        Execution::Confirmed { tx_hash, .. } if status == AuthorizationStatus::Settled => {
            if tx != Some(*tx_hash) {
                return Err(Refusal::SettledOtherwise);
            }
        }
        Execution::Confirmed { tx_hash, block_height } => {
            draft.push(Fact::TransactionConfirmed { block_height: *block_height, digest, tx_hash: *tx_hash })
        }
        Execution::Unknown if status == AuthorizationStatus::Unknown => {}
        Execution::Unknown if status != AuthorizationStatus::Released => {
            draft.push(Fact::SettlementUnknown { digest });
        }
        _ if done => return Err(Refusal::AuthorizationOver),
        Execution::Unknown => return Err(Refusal::AuthorizationOver),
        Execution::Built { tx_hash, tx_body_cbor, log_head } => {
            draft.push(Fact::TransactionBuilt(Box::new(Built {
                digest,
                log_head: *log_head,
                tx_body_cbor: tx_body_cbor.clone(),
                tx_hash: *tx_hash,
            })));
        }
        Execution::Submitted { tx_hash } => {
            draft.push(Fact::TransactionSubmitted { digest, tx_hash: *tx_hash });
        }
        Execution::Rejected { tx_hash, invariant, error } => {
            draft.push(Fact::TransactionRejected(Box::new(Rejected {
                digest,
                error: error.clone(),
                invariant: invariant.clone(),
                reservation_released: false,
                tx_body_cbor: None,
                tx_hash: *tx_hash,
            })));
        }
        // Before that it could still be used.
        Execution::NotFound if draft.now <= over => return Err(Refusal::ReservationEnding),
        Execution::NotFound => draft.push(Fact::TransactionRejected(Box::new(Rejected {
            digest,
            error: "not on chain".parse::<Text<0, 2000>>().map_err(|e| Refusal::Bug(e.to_string()))?,
            invariant: "EXPIRED".parse().ok(),
            reservation_released: true,
            tx_body_cbor: None,
            tx_hash: tx,
        }))),
    }
    Ok(Reply::Done)
}

pub(super) fn bond_spent(draft: &mut Draft<'_>, id: &ApprovalId, how: &BondSpent) -> Result<Reply, Refusal> {
    let approval = draft.state.approval(id).ok_or(Refusal::ApprovalUnknown)?.clone();
    let bond = approval.bond.as_ref().ok_or(Refusal::BondNotLocked)?;
    let outcome = match how {
        BondSpent::Refunded { tx_hash } | BondSpent::Captured { tx_hash, .. } => Some(*tx_hash),
        BondSpent::Undone => None,
    };
    if bond.outcome_tx == outcome {
        return Ok(Reply::Done);
    }
    if bond.status != BondStatus::Locked && outcome.is_some() {
        return Err(Refusal::BondNotLocked);
    }
    draft.run = approval.run.clone();
    draft.action_id = Some(approval.action.id.clone());
    let approval_id = approval.id();
    draft.push(match how {
        BondSpent::Undone => Fact::BondUnknown { approval_id },
        BondSpent::Refunded { tx_hash } => {
            let reason = match approval.owed() {
                Some(Owed::Refund(reason)) => reason,
                Some(Owed::Capture) | None => Refund::Expired,
            };
            Fact::BondRefunded { approval_id, reason, tx_hash: *tx_hash }
        }
        BondSpent::Captured { tx_hash, sink_address } => {
            Fact::BondCaptured { approval_id, sink_address: sink_address.clone(), tx_hash: *tx_hash }
        }
    });
    if *how == BondSpent::Undone {
        ask_for_bond(draft, id);
        draft.wake(draft.now.plus(AGAIN_MS));
    }
    Ok(Reply::Done)
}

/// What time alone brings: prices and approvals that nobody used expire, bonds that are owed are asked for until they are
/// spent, authorizations whose end has passed are looked for.
pub(super) fn tick(draft: &mut Draft<'_>) -> Reply {
    let now = draft.now;
    let open: Vec<_> =
        draft.state.open.iter().filter_map(|number| draft.state.approvals.get(number)).cloned().collect();
    let mut waits = false;
    for approval in open {
        let live = matches!(approval.status, ApprovalStatus::AwaitingBond | ApprovalStatus::Pending);
        if live && now >= approval.price.locked_until_ms {
            expire(draft, &approval);
            waits = true;
        } else if approval.owed().is_some() {
            ask_for_bond(draft, &approval.id());
            waits = true;
        }
    }
    let overdue: Vec<_> = draft
        .state
        .unsettled
        .iter()
        .filter_map(|nonce| draft.state.authorizations.get(nonce))
        .filter(|held| now > held.record.fields.valid_until.plus(GRACE_MS))
        .map(|held| held.record.digest_hex)
        .collect();
    for digest in &overdue {
        draft.submit(format!(r#"{{"digest":"{digest}","kind":"reconcile"}}"#));
    }
    let ends = draft.state.unsettled.iter().filter_map(|nonce| draft.state.authorizations.get(nonce));
    let ends = ends.map(|held| held.record.fields.valid_until.plus(GRACE_MS + 1));
    if let Some(next) = ends.filter(|end| *end > now).min() {
        draft.wake(next);
    }
    if waits || !overdue.is_empty() {
        draft.wake(now.plus(AGAIN_MS));
    }
    Reply::Done
}

/// Its time is over: nobody is asked any more, and a bond that was locked goes back.
pub(super) fn expire(draft: &mut Draft<'_>, approval: &Arc<Approval>) {
    let (run, action_id) = (draft.run.clone(), draft.action_id.clone());
    draft.run = approval.run.clone();
    draft.action_id = Some(approval.action.id.clone());
    draft.push(Fact::ApprovalExpired { approval_id: approval.id() });
    draft.clear(approval);
    ask_for_bond(draft, &approval.id());
    (draft.run, draft.action_id) = (run, action_id);
}

/// Asks the rail to spend the bond as it is owed. Asking twice spends it once: an output is spent once.
pub(super) fn ask_for_bond(draft: &mut Draft<'_>, id: &ApprovalId) {
    let owed = draft.state.approval(id).and_then(Approval::owed);
    let kind = match owed {
        None => return,
        Some(Owed::Capture) => "capture",
        Some(Owed::Refund(_)) => "refund",
    };
    draft.submit(format!(r#"{{"approval_id":"{id}","kind":"{kind}"}}"#));
}
