//! Judgements, made again from what they say they were made from.

use super::{Case, Check, Last, Replay, hold};
use crate::command::Observed;
use crate::decide::hash_of;
use crate::engine::{Inputs, Judged, Proposal, judge_action};
use crate::evaluation::{Detail, Details, Evaluation, facts_row};
use crate::log::{ActionProposed, AuthorityEvaluated, Event, Layer, Phase};
use crate::reason::Reason;
use crate::report::{Evidence, Report};
use crate::snapshot::Snapshot;
use crate::state::{ApprovalStatus, Holder};
use crate::statement::SignedStatement;
use crate::text::Text;
use crate::time::Millis;
use crate::{HashedAction, Outcome};
use canon::Digest;

impl Replay {
    pub(super) fn proposed(&self, event: &Event, proposed: &ActionProposed) -> Check {
        self.running(&event.run_id)?;
        hold(!self.state.paused, "paused")?;
        hold(proposed.action_hash == proposed.action.as_ref().map(HashedAction::hash), "bad_action_hash")?;
        hold(event.action_id.as_ref() == proposed.action.as_ref().map(|action| &action.id), "bad_action_id")
    }

    pub(super) fn verifying(&self, event: &Event, invoice_id: &Text<1, 64>) -> Check {
        let last = self.follows(event, Phase::Check, "bad_verification")?;
        let named = last.judged.action.as_ref().and_then(|action| action.reference.as_ref());
        let waits = last.judged.evaluation.outcome == Outcome::NeedsVerification;
        hold(waits && named.is_some_and(|named| named.invoice_id == *invoice_id), "bad_verification")
    }

    pub(super) fn evaluated(&mut self, event: &Event, data: &AuthorityEvaluated, now: Millis) -> Check {
        hold(self.started, "bad_order")?;
        let (action, signature, form) = match data.phase {
            Phase::Check => {
                self.running(&event.run_id)?;
                hold(!self.state.paused, "paused")?;
                let case = self.cases.get(&event.run_id).ok_or("bad_order")?;
                let Case { action, signature, form, fresh } = case.clone();
                (action, signature, Some(form).filter(|_| fresh))
            }
            Phase::Approval => {
                let newest = data.evaluation.action_hash.and_then(|hash| self.state.newest(&hash));
                let pending = |status| status == ApprovalStatus::Pending;
                let approval = newest.filter(|approval| pending(approval.status)).ok_or("bad_approval")?;
                hold(approval.run == event.run_id, "bad_approval")?;
                (Some(approval.action.clone()), approval.agent_signature.clone(), None)
            }
        };
        hold(event.action_id.as_ref() == action.as_ref().map(|action| &action.id), "bad_action_id")?;
        hold(data.evaluation.evaluated_at_ms == now, "bad_time")?;
        let mandate = self.mandate()?;
        self.counted(&data.state, action.as_ref().map(HashedAction::hash), now)?;
        let proposal = Proposal { action: &[], agent_signature: signature.as_ref().map(Text::as_str) };
        let evidence = self.evidence.as_ref().map(|completed| &completed.evidence);
        let inputs = Inputs { mandate, proposal, state: &data.state, evidence, now };
        let mut judged = judge_action(&inputs, action);
        if let (Some(_), Some(evidence)) = (&judged.report, evidence) {
            let reference = judged.action.as_ref().and_then(|action| action.reference.as_ref());
            let number = reference.map(|reference| reference.invoice_number.as_str());
            let same = |signed: &SignedStatement| {
                signed.statement.invoice_number.as_ref().map(Text::as_str) == number
            };
            // Whatever does not exist has no number to differ.
            let exists = judged.report.as_ref().is_some_and(|report| report.facts.exists);
            hold(!exists || evidence.statements.iter().all(same), "bad_statement")?;
        }
        if judged.evaluation != data.evaluation {
            self.overruled(&mut judged, &data.evaluation, data.phase, now).ok_or("bad_evaluation")?;
            hold(judged.evaluation == data.evaluation, "bad_evaluation")?;
        }
        hold(form.is_none_or(|form| form == judged.form), "bad_signature_form")?;
        hold(hash_of(&judged) == data.decision_hash, "bad_decision_hash")?;
        self.last = Some(Last {
            run: event.run_id.clone(),
            phase: data.phase,
            judged,
            snapshot: data.state.clone(),
            registry_tx: self.evidence.as_ref().and_then(|completed| completed.sepolia_tx.clone()),
        });
        Ok(())
    }

    /// What the engine was told of this log is what the log comes to; what it was told of the chain is not older than
    /// what it was told before.
    fn counted(&self, told: &Snapshot, action: Option<Digest>, now: Millis) -> Check {
        hold(told.last_nonce.get() >= self.state.seen_nonce, "bad_snapshot")?;
        let observed = Observed {
            anchor_status: told.anchor_status,
            anchor_version: told.anchor_version,
            mandate_hash: Digest::ZERO,
            approvers: Vec::new(),
            day_index: told.day_index,
            last_nonce: told.last_nonce,
            slot: told.observed_at_slot,
            spent_today: told.spent_today,
            vault_balance: told.vault_balance,
        };
        hold(self.state.snapshot(&observed, now, action.as_ref()) == *told, "bad_snapshot")
    }

    /// Denies what the engine did not, where this log gives the reason.
    fn overruled(&self, judged: &mut Judged, recorded: &Evaluation, phase: Phase, now: Millis) -> Option<()> {
        let reason = recorded.reason?;
        let detail = recorded.checks.get(facts_row(&recorded.checks))?.detail.clone();
        let action = judged.action.as_ref()?;
        let signed = judged.evaluation.signed;
        let none = Details::default();
        let stripe = || Details::default().with("source", "stripe");
        let expected = match (judged.evaluation.outcome, reason, phase) {
            (Outcome::NeedsVerification, Reason::VerificationUnavailable, Phase::Check) => {
                if action.reference.is_none() { none } else { stripe() }
            }
            (Outcome::NeedsVerification, Reason::InvoiceNotFound, Phase::Check) => {
                let reference = action.reference.as_ref()?;
                let on_record = detail.get("on_record")?.clone();
                let other = match &on_record {
                    Detail::Null => true,
                    Detail::Text(text) => **text != *reference.invoice_number.as_str(),
                    _ => false,
                };
                other.then_some(())?;
                stripe()
                    .with("invoice_id", reference.invoice_id.as_str())
                    .with("invoice_number", reference.invoice_number.as_str())
                    .with("on_record", on_record)
            }
            (Outcome::Escalate, Reason::PrincipalDeclined, Phase::Check) if signed => {
                let declined = |status| status == ApprovalStatus::Declined;
                let newest = self.state.newest(&action.hash()).filter(|newest| declined(newest.status))?;
                none.with("approval_id", newest.price.approval_id.as_str())
            }
            (Outcome::Allow | Outcome::Escalate, Reason::InvoiceNotOpen, Phase::Check) if signed => {
                let Holder::Taken { nonce, how } = self.state.holder(action, now) else { return None };
                none.with("authorization_id", format!("Z-{nonce:04}").as_str())
                    .with("holder", how)
                    .with("source", "reservation")
            }
            (Outcome::Escalate, Reason::InvoiceNotOpen, Phase::Approval) if signed => {
                match self.state.holder(action, now) {
                    Holder::Same(_) | Holder::Taken { .. } => none.with("source", "reservation"),
                    Holder::Nobody | Holder::Wait | Holder::Unclear(_) => return None,
                }
            }
            _ => return None,
        };
        judged.evaluation.overrule(reason, expected);
        Some(())
    }

    pub(super) fn denied(&self, event: &Event, layer: Layer, reason: Reason) -> Check {
        let last = self.last.as_ref().filter(|last| last.run == event.run_id).ok_or("bad_denial")?;
        let evaluation = &last.judged.evaluation;
        let theirs = last.phase == Phase::Check
            && (reason == Reason::VerificationUnavailable || evaluation.denied_by_report());
        let expected = if theirs { Layer::Cre } else { Layer::Engine };
        hold(evaluation.reason == Some(reason) && layer == expected, "bad_denial")
    }

    /// What is signed is that this action's invoice has the number on record, which is not the action's (spec 1.7 step 6).
    pub(super) fn differs(&self, reason: Reason, evidence: &Evidence) -> Check {
        const CODE: &str = "bad_statement";
        let judged = self.last.as_ref().map(|last| &last.judged).ok_or(CODE)?;
        let checks = &judged.evaluation.checks;
        let on_record =
            checks.get(facts_row(checks)).and_then(|row| row.detail.get("on_record")).ok_or(CODE)?;
        let action = judged.action.as_ref().ok_or(CODE)?;
        let report = Report::read(evidence.report.as_bytes()).map_err(|_| CODE)?;
        let same = |signed: &SignedStatement| match (&signed.statement.invoice_number, on_record) {
            (None, Detail::Null) => true,
            (Some(number), Detail::Text(text)) => *number.as_str() == **text,
            _ => false,
        };
        let said =
            !evidence.statements.is_empty() && evidence.is_sound() && evidence.statements.iter().all(same);
        let about = report.action_hash == action.hash()
            && report.facts.exists
            && report.hash() == evidence.report_hash
            && action.reference.as_ref().map(|reference| &reference.invoice_id) == Some(&report.invoice_id);
        hold(said && about && judged.report.is_none() && reason == Reason::InvoiceNotFound, CODE)
    }

    /// The last judgement, if it was made in this run and phase.
    pub(super) fn follows(&self, event: &Event, phase: Phase, code: &'static str) -> Check<&Last> {
        self.last.as_ref().filter(|last| last.run == event.run_id && last.phase == phase).ok_or(code)
    }
}
