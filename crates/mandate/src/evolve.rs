//! Folds one entry into a mandate's state. Total: an entry that does not fit changes what it can; the rules are
//! `decide`'s.

use crate::authorization::AuthorizationDigest;
use crate::log::{AuthorityEvaluated, BondLocked, Event, Fact, Issued, Phase, RunId, Updated};
use crate::price::{BondStatus, Price};
use crate::snapshot::{Delay, Spend};
use crate::state::{
    Anchored, Approval, ApprovalStatus, Authorization, AuthorizationStatus, Decided, GRACE_MS, InFlight,
    LockedBond, Reserved, Run, SETTLES_MS, State, Wait, reserved_invoice,
};
use crate::text::{PositiveUnits, Text, TxHash};
use crate::time::Millis;
use crate::{HashedAction, Outcome};
use ledger::Head;
use std::sync::Arc;

pub(crate) fn evolve(state: &mut State, event: &Event, at: Head) {
    state.head = Some(at);
    let now = Millis::try_from(event.at).unwrap_or_else(|_| Millis::default());
    belongs(state, &event.fact, at);
    match &event.fact {
        Fact::RunStarted(_) => drop(state.runs.insert(event.run_id.clone(), Run::default())),
        Fact::RunCompleted {} => edit_run(state, &event.run_id, |run| run.finished = true),
        Fact::ActionProposed(proposed) => {
            state.proposed = proposed.action.clone().map(|action| (action, proposed.agent_signature.clone()));
            if let Some(action) = proposed.action.as_ref().filter(|one| state.begun.get(&one.id).is_none()) {
                state.begun.insert(action.id.clone(), at.seq);
            }
        }
        Fact::AuthorityEvaluated(data) => evaluated(state, &event.run_id, data),
        Fact::BondRequired { price, .. } => priced(state, event, price),
        Fact::BondLocked(bond) => bond_locked(state, bond),
        Fact::ApprovalRequested(requested) => {
            let day = now.day();
            *state.paged.entry(day).or_insert(0) += 1;
            state.paged.retain(|kept, _| kept.saturating_add(2) > day);
            edit(state, &requested.approval_id, |approval| {
                approval.status = ApprovalStatus::Pending;
                approval.brief = Some(requested.brief.clone());
                approval.paged_on = Some(day);
                approval.requested_at = Some(now);
            });
        }
        Fact::AuthorizationDrafted { approval_id, fields, .. } => {
            state.last_nonce = state.last_nonce.max(fields.nonce.get());
            edit(state, approval_id, |approval| {
                approval.draft = Some(fields.as_ref().clone());
                approval.signers.clear();
            });
        }
        Fact::CFOApproved(approved) => {
            edit(state, &approved.approval_id, |approval| approval.signers.push(approved.cfo_key_hash));
        }
        Fact::CFODeclined(declined) => {
            edit(state, &declined.approval_id, |approval| {
                approval.status = ApprovalStatus::Declined;
                approval.declined = Some(declined.as_ref().clone());
            });
        }
        Fact::ApprovalClosed { approval_id, .. } => {
            edit(state, approval_id, |approval| approval.status = ApprovalStatus::Closed);
        }
        Fact::ApprovalExpired { approval_id } => {
            edit(state, approval_id, |approval| approval.status = ApprovalStatus::Expired);
        }
        Fact::BondRefunded { approval_id, tx_hash, .. } => {
            bond_spent(state, approval_id, (BondStatus::Refunded, *tx_hash), now);
        }
        Fact::BondCaptured { approval_id, tx_hash, .. } => {
            bond_spent(state, approval_id, (BondStatus::Captured, *tx_hash), now);
        }
        Fact::BondUnknown { approval_id } => {
            edit(state, approval_id, |approval| {
                if let Some(bond) = &mut approval.bond {
                    (bond.status, bond.outcome_tx) = (BondStatus::Locked, None);
                }
            });
        }
        Fact::AuthorizationIssued(issued) => authorization(state, &event.run_id, issued, now),
        Fact::TransactionBuilt(built) => {
            edit_authorization(state, &built.digest, |held| held.tx_hash = Some(built.tx_hash));
        }
        Fact::TransactionSubmitted { digest, tx_hash } => edit_authorization(state, digest, |held| {
            held.status = AuthorizationStatus::Submitted;
            held.tx_hash = Some(*tx_hash);
        }),
        Fact::SettlementUnknown { digest } => unknown(state, digest),
        Fact::TransactionRejected(rejected) => {
            let status = if rejected.reservation_released {
                AuthorizationStatus::Released
            } else {
                AuthorizationStatus::Issued
            };
            // Nothing of it is under way any more.
            edit_authorization(state, &rejected.digest, |held| (held.status, held.tx_hash) = (status, None));
            if rejected.reservation_released {
                forget(state, &rejected.digest);
            }
        }
        Fact::TransactionConfirmed { digest, tx_hash, .. } => confirmed(state, digest, *tx_hash),
        Fact::MandateUpdated(updated) => {
            state.versions.push(at.seq);
            anchored(state, updated);
        }
        Fact::MandateRevoked { version } => {
            if let Some(anchored) = &mut state.anchored {
                Arc::make_mut(anchored).revoked = Some(*version);
            }
        }
        Fact::MandatePaused { .. } => state.paused = true,
        Fact::MandateResumed {} => state.paused = false,
        Fact::ActionDelayed { action_hash, since_ms, until_ms } => {
            state.delays.insert(*action_hash, Delay { since_ms: *since_ms, vetoed: false });
            waits(state, event, (*since_ms, *until_ms));
        }
        Fact::DelayVetoed { action_hash, .. } => {
            let since_ms = state.delays.get(action_hash).map_or(now, |delay| delay.since_ms);
            state.delays.insert(*action_hash, Delay { since_ms, vetoed: true });
            state.waits.remove(action_hash);
        }
        Fact::AuthorityEvaluationStarted {}
        | Fact::CREVerificationStarted { .. }
        | Fact::CREVerificationCompleted(_)
        | Fact::ActionDenied { .. } => {}
    }
    settle(state, now);
}

/// Keeps where the log tells of the decision that the entry belongs to.
fn belongs(state: &mut State, fact: &Fact, at: Head) {
    let hash = match fact {
        Fact::ActionProposed(_) => {
            state.proposal = Some(at);
            state.judged = None;
            return;
        }
        Fact::AuthorityEvaluated(data) => {
            state.judged = data.evaluation.action_hash;
            let Some(hash) = state.judged else { return };
            let first = match data.phase {
                Phase::Check => state.proposal,
                Phase::Approval => state.decisions.get(&hash).map(|known| known.first),
            };
            let decided =
                Decided { first: first.unwrap_or(at), last: at, at: data.evaluation.evaluated_at_ms };
            state.decisions.insert(hash, decided);
            return;
        }
        Fact::ActionDenied { .. }
        | Fact::BondRequired { .. }
        | Fact::BondLocked(_)
        | Fact::ApprovalRequested(_)
        | Fact::AuthorizationIssued(_)
        | Fact::ApprovalClosed { .. }
        | Fact::ActionDelayed { .. } => state.judged,
        // Nothing that comes later is part of it.
        _ => state.judged.take().and(None),
    };
    if let Some((hash, known)) = hash.and_then(|hash| Some((hash, *state.decisions.get(&hash)?))) {
        state.decisions.insert(hash, Decided { last: at, ..known });
    }
}

/// Drops from what is under way, oldest first, whatever chain readings already count, and whatever can no longer happen.
fn settle(state: &mut State, now: Millis) {
    while let Some((nonce, flight)) = state.in_flight.get_min() {
        let nonce = *nonce;
        if nonce > state.seen_nonce && (flight.settled || now <= flight.valid_until.plus(GRACE_MS)) {
            break;
        }
        state.in_flight.remove(&nonce);
    }
}

fn anchored(state: &mut State, updated: &Updated) {
    let window = updated.mandate.longest_window();
    if window == 0 {
        state.history.clear();
    }
    state.anchored = Some(Arc::new(Anchored {
        mandate: updated.mandate.clone(),
        tariff: updated.tariff.clone(),
        vault: updated.vault.clone(),
        vault_name: updated.vault_name.clone(),
        revoked: None,
    }));
}

/// The last proposal waits; what has waited long enough is forgotten.
fn waits(state: &mut State, event: &Event, (since, until): (Millis, Millis)) {
    let Some((action, _)) = state.proposed.clone() else { return };
    state.waits =
        std::mem::take(&mut state.waits).into_iter().filter(|(_, wait)| since < wait.until).collect();
    let wait = Wait { action, run: event.run_id.clone(), since, until };
    state.waits.insert(wait.action.hash(), Arc::new(wait));
}

fn evaluated(state: &mut State, run: &RunId, data: &AuthorityEvaluated) {
    state.seen_nonce = state.seen_nonce.max(data.state.last_nonce.get());
    if data.phase == Phase::Check {
        let waits = data.evaluation.outcome == Outcome::NeedsVerification;
        let verifying = data.evaluation.action_hash.filter(|_| waits);
        edit_run(state, run, |run| run.verifying = verifying);
    }
}

fn priced(state: &mut State, event: &Event, price: &Price) {
    let Some((action, agent_signature)) = state.proposed.clone() else { return };
    // It is the one after the last, unless the fold is of some entries alone.
    let told = price.approval_id.as_str().strip_prefix("AP-").and_then(|number| number.parse().ok());
    let number = told.unwrap_or_else(|| state.last_approval.saturating_add(1));
    state.last_approval = number;
    state.by_action.insert(price.action_hash, number);
    state.open.insert(number);
    let approval = Approval {
        number,
        run: event.run_id.clone(),
        action,
        agent_signature,
        price: price.clone(),
        status: ApprovalStatus::AwaitingBond,
        bond: None,
        brief: None,
        paged_on: None,
        requested_at: None,
        draft: None,
        signers: Vec::new(),
        nonce: None,
        declined: None,
    };
    state.approvals.insert(number, Arc::new(approval));
}

fn bond_locked(state: &mut State, locked: &BondLocked) {
    let number = edit(state, &locked.approval_id, |approval| {
        approval.bond = Some(LockedBond { at: locked.at(), status: BondStatus::Locked, outcome_tx: None });
    });
    if let Some(number) = number {
        state.bonds.insert(locked.at(), number);
    }
}

fn bond_spent(state: &mut State, approval: &Text<1, 64>, spent: (BondStatus, TxHash), now: Millis) {
    let number = edit(state, approval, |approval| {
        if let Some(bond) = &mut approval.bond {
            (bond.status, bond.outcome_tx) = (spent.0, Some(spent.1));
        }
    });
    state.spent.retain(|_, at| now.since(*at) <= SETTLES_MS);
    state.spent.extend(number.map(|number| (number, now)));
}

fn authorization(state: &mut State, run: &RunId, issued: &Issued, now: Millis) {
    let fields = &issued.authorization.fields;
    let nonce = fields.nonce.get();
    let approval = issued.approval_id.as_ref().and_then(|id| state.approval(id)).map(|a| a.number);
    let action = match approval.and_then(|number| state.approvals.get(&number)) {
        Some(approval) => Some(approval.action.clone()),
        None => state.proposed.as_ref().map(|(action, _)| action.clone()),
    };
    let Some(action) = action.filter(|action| action.hash() == fields.action_hash) else { return };
    state.last_nonce = state.last_nonce.max(nonce);
    for key in [Some(Reserved::Action(action.hash())), reserved_invoice(&action)].into_iter().flatten() {
        state.reserved.insert(key, nonce);
    }
    let flight = InFlight {
        amount: fields.amount.get(),
        action: action.hash(),
        valid_until: fields.valid_until,
        settled: false,
    };
    state.in_flight.insert(nonce, flight);
    remember(state, nonce, &action, fields.amount, now);
    state.unsettled.insert(nonce);
    state.by_digest.insert(issued.authorization.digest_hex, nonce);
    state.authorizations.insert(
        nonce,
        Arc::new(Authorization {
            nonce,
            action,
            approval,
            run: run.clone(),
            record: issued.authorization.clone(),
            status: AuthorizationStatus::Issued,
            tx_hash: None,
        }),
    );
    if let Some(id) = &issued.approval_id {
        edit(state, id, |approval| {
            approval.status = ApprovalStatus::Authorized;
            approval.nonce = Some(nonce);
        });
    }
}

/// Keeps the payment for the windows of the mandate, and forgets what has left the longest.
fn remember(state: &mut State, nonce: u64, action: &HashedAction, amount: PositiveUnits, now: Millis) {
    let window = state.anchored.as_ref().map_or(0, |anchored| anchored.mandate.longest_window());
    if window > 0 {
        state.history.retain(|(_, spend)| now.since(spend.at_ms) < window);
        let spend = Spend { amount, at_ms: now, counterparty: action.counterparty.id.clone() };
        state.history.push((nonce, spend));
    }
}

/// An authorization that was never used takes nothing from anybody.
fn forget(state: &mut State, digest: &AuthorizationDigest) {
    if let Some(&nonce) = state.by_digest.get(digest) {
        state.in_flight.remove(&nonce);
        state.history.retain(|(kept, _)| *kept != nonce);
    }
}

fn confirmed(state: &mut State, digest: &AuthorizationDigest, tx_hash: TxHash) {
    edit_authorization(state, digest, |held| {
        held.status = AuthorizationStatus::Settled;
        held.tx_hash = Some(tx_hash);
    });
    put_in_flight(state, digest, true);
}

/// It counts again until the chain shows it, or its time is over; what was read before the rollback is not known any more.
fn unknown(state: &mut State, digest: &AuthorizationDigest) {
    let Some(nonce) = state.authorization(digest).map(|held| held.nonce) else { return };
    edit_authorization(state, digest, |held| held.status = AuthorizationStatus::Unknown);
    if state.seen_nonce >= nonce {
        // Whatever came after it on chain is gone from there as well.
        state.seen_nonce = nonce.saturating_sub(1);
    }
    let later: Vec<_> = state
        .authorizations()
        .into_iter()
        .filter(|held| held.nonce > nonce && held.status == AuthorizationStatus::Settled)
        .map(|held| held.record.digest_hex)
        .collect();
    later.iter().for_each(|digest| put_in_flight(state, digest, true));
    put_in_flight(state, digest, false);
}

fn put_in_flight(state: &mut State, digest: &AuthorizationDigest, settled: bool) {
    let Some(held) = state.by_digest.get(digest).and_then(|nonce| state.authorizations.get(nonce)) else {
        return;
    };
    let fields = &held.record.fields;
    let flight = InFlight {
        amount: fields.amount.get(),
        action: held.action.hash(),
        valid_until: fields.valid_until,
        settled,
    };
    state.in_flight.insert(held.nonce, flight);
}

fn edit_run(state: &mut State, id: &RunId, change: impl FnOnce(&mut Run)) {
    let mut run = state.runs.get(id).cloned().unwrap_or_default();
    let before = run.clone();
    change(&mut run);
    if run != before {
        state.runs.insert(id.clone(), run);
    }
}

/// Changes an approval, and keeps the list of those that are not over.
fn edit(state: &mut State, id: &Text<1, 64>, change: impl FnOnce(&mut Approval)) -> Option<u64> {
    let mut approval = state.approval(id)?.clone();
    change(&mut approval);
    let number = approval.number;
    let over = !matches!(approval.status, ApprovalStatus::AwaitingBond | ApprovalStatus::Pending);
    if over && approval.owed().is_none() {
        state.open.remove(&number);
    } else {
        state.open.insert(number);
    }
    state.approvals.insert(number, Arc::new(approval));
    Some(number)
}

fn edit_authorization(
    state: &mut State,
    digest: &AuthorizationDigest,
    change: impl FnOnce(&mut Authorization),
) {
    let Some(held) = state.authorization(digest) else { return };
    let mut held = held.clone();
    change(&mut held);
    if matches!(held.status, AuthorizationStatus::Settled | AuthorizationStatus::Released) {
        state.unsettled.remove(&held.nonce);
    } else {
        state.unsettled.insert(held.nonce);
    }
    state.authorizations.insert(held.nonce, Arc::new(held));
}
