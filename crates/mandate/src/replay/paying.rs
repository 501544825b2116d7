//! Authorizations, and what became of them on chain.

use super::{Check, Last, Replay, hold};
use crate::authorization::AuthorizationDigest;
use crate::engine::{Inputs, Proposal};
use crate::issue::{self, Consent};
use crate::log::{ApprovalId, Built, Event, Issued, Phase, Rejected};
use crate::state::{Authorization, AuthorizationStatus, GRACE_MS, Holder};
use crate::text::TxHash;
use crate::time::Millis;
use crate::transaction::Transaction;
use crate::{Outcome, Refusal};

impl Replay {
    pub(super) fn issued(&mut self, event: &Event, issued: &Issued, now: Millis) -> Check {
        const CODE: &str = "bad_authorization";
        let record = &issued.authorization;
        match record.verify() {
            Ok(()) => {}
            Err(Refusal::Keys(_)) => return Err("bad_engine_signature"),
            Err(_) => return Err(CODE),
        }
        let anchored = self.state.anchored.as_ref().ok_or(CODE)?;
        let engine = anchored.mandate.authority_engine.public_key.hex();
        hold(record.engine_public_key == engine && !issued.compromised_engine, "engine_key_mismatch")?;
        // A judgement is good for one authorization.
        let last = self.last.take().filter(|last| last.run == event.run_id).ok_or(CODE)?;
        let action = last.judged.action.as_ref().ok_or(CODE)?;
        hold(matches!(self.state.holder(action, now), Holder::Nobody), "double_authorization")?;
        hold(last.judged.evaluation.evaluated_at_ms == now, "bad_time")?;
        match (&issued.approval_id, last.phase) {
            (None, Phase::Check) => {
                let allowed = last.judged.evaluation.outcome == Outcome::Allow;
                hold(allowed && self.is_proposed(action.hash()), CODE)?;
                hold(record.fields.nonce.get() > self.state.last_nonce, "bad_nonce")?;
                let fresh = self.fields(&last, record.fields.nonce.get(), Consent::None, now)?;
                hold(fresh == record.fields, CODE)
            }
            (Some(id), Phase::Approval) => self.consented(id, &last, issued, now),
            _ => Err(CODE),
        }
    }

    /// What the engine signed is what the approvers had signed, and there were enough of them.
    fn consented(&self, id: &ApprovalId, last: &Last, issued: &Issued, now: Millis) -> Check {
        const CODE: &str = "bad_authorization";
        let approval = self.pending(id)?;
        let evaluation = &last.judged.evaluation;
        hold(evaluation.action_hash == Some(approval.action.hash()), "bad_approval")?;
        hold(evaluation.outcome == Outcome::Escalate && evaluation.signed, CODE)?;
        let record = &issued.authorization;
        hold(approval.draft.as_ref() == Some(&record.fields), "draft_mismatch")?;
        hold(now < record.fields.valid_until, "draft_mismatch")?;
        let roles = evaluation.approvals_required.iter().map(|required| &required.approver);
        hold(issue::enough(self.mandate()?, &approval.signers, roles), "quorum_missing")?;
        let nonce = record.fields.nonce.get();
        let consent = crate::Approval {
            action_hash: approval.action.hash(),
            at: now,
            signers: approval.signers.clone(),
        };
        let fresh = self.fields(last, nonce, Consent::Given(&consent), now)?;
        hold(issue::alike(&fresh, &record.fields), "draft_mismatch")
    }

    fn fields(
        &self,
        last: &Last,
        nonce: u64,
        consent: Consent<'_>,
        now: Millis,
    ) -> Check<crate::authorization::Fields> {
        let anchored = self.state.anchored.as_ref().ok_or("bad_authorization")?;
        let proposal = Proposal { action: &[], agent_signature: None };
        let mandate = &anchored.mandate;
        let inputs = Inputs { mandate, proposal, state: &last.snapshot, evidence: None, now };
        issue::fields(&last.judged, &inputs, &anchored.vault, u128::from(nonce), consent)
            .map_err(|_| "bad_authorization")
    }

    pub(super) fn built(&self, built: &Built) -> Check {
        let held = self.unused(&built.digest)?;
        hold(self.has(&built.log_head), "bad_log_head")?;
        let transaction = Transaction::read_hex(&built.tx_body_cbor).ok_or("bad_transaction")?;
        hold(transaction.hash == built.tx_hash, "bad_transaction")?;
        let Some(note) = &transaction.note else { return Ok(()) };
        hold(note.fits(held, &built.log_head), "log_head_mismatch")
    }

    pub(super) fn rejected(&self, rejected: &Rejected, now: Millis) -> Check {
        if !rejected.reservation_released {
            return self.execution(&rejected.digest);
        }
        let held = self.unused(&rejected.digest)?;
        hold(now > held.record.fields.valid_until.plus(GRACE_MS), "bad_execution")
    }

    pub(super) fn confirmed(&self, digest: &AuthorizationDigest, tx_hash: &TxHash) -> Check {
        let held = self.state.authorization(digest).ok_or("bad_execution")?;
        let other = held.status == AuthorizationStatus::Settled && held.tx_hash != Some(*tx_hash);
        hold(!other, "bad_execution")
    }

    /// The authorization is known.
    pub(super) fn execution(&self, digest: &AuthorizationDigest) -> Check {
        hold(self.state.authorization(digest).is_some(), "bad_execution")
    }

    /// The authorization is known, and not over.
    fn unused(&self, digest: &AuthorizationDigest) -> Check<&Authorization> {
        let held = self.state.authorization(digest).ok_or("bad_execution")?;
        let over = matches!(held.status, AuthorizationStatus::Settled | AuthorizationStatus::Released);
        hold(!over, "bad_execution").map(|()| held)
    }
}
