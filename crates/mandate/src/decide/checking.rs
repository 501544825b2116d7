//! An agent's check (spec 1.7): judged, recorded, and answered with what the agent can do now. A check that changes
//! nothing records nothing: the same action gets the same price, approval or authorization (402 is idempotent).

use super::{Draft, gate, hash_of};
use crate::command::{Check, Checked, Next, Reply, Verification};
use crate::engine::{Judged, Proposal};
use crate::evaluation::{Detail, Details};
use crate::log::{
    ActionProposed, Fact, Layer, Phase, RunStarted, ShownLimits, ShownVault, VerificationCompleted,
};
use crate::reason::Reason;
use crate::snapshot::Snapshot;
use crate::text::Text;
use crate::{HashedAction, Outcome, Refusal};

/// A judgement on its way to be recorded and answered.
pub(super) struct Case<'c> {
    pub check: &'c Check,
    pub judged: Judged,
    pub snapshot: Snapshot,
}

pub(super) fn check(draft: &mut Draft<'_>, check: &Check) -> Result<Reply, Refusal> {
    let anchored = draft.anchored()?;
    if check.engine.0.public() != engine_key(&anchored.mandate)? {
        return Err(Refusal::EngineKey);
    }
    if draft.state.run(&check.run).is_some_and(|run| run.finished) {
        return Err(Refusal::RunFinished);
    }
    let action = HashedAction::read(&check.action).ok();
    draft.run = check.run.clone();
    draft.action_id = action.as_ref().map(|action| action.id.clone());
    let proposal =
        Proposal { action: &check.action, agent_signature: check.agent_signature.as_ref().map(Text::as_str) };
    let (judged, snapshot) = draft.judge(proposal, action, &check.observed, &check.verification)?;
    let mut case = Case { check, judged, snapshot };
    if case.judged.evaluation.outcome == Outcome::NeedsVerification {
        unverified(&mut case);
    }
    let signed = case.judged.evaluation.signed;
    match case.judged.evaluation.outcome {
        Outcome::NeedsVerification => Ok(verify(draft, case)),
        Outcome::Deny => gate::denied(draft, case),
        Outcome::Allow if signed => gate::allowed(draft, case),
        Outcome::Escalate if signed && check.execute => gate::escalated(draft, case),
        Outcome::Escalate if !check.execute => gate::quoted(draft, case),
        Outcome::Delay if signed && check.execute => gate::delayed(draft, case),
        Outcome::Allow | Outcome::Escalate | Outcome::Delay => {
            log(draft, &case);
            Ok(answer(&case, Next::Nothing))
        }
    }
}

/// Records the proposal, what was verified, and the judgement.
pub(super) fn log(draft: &mut Draft<'_>, case: &Case<'_>) {
    let check = case.check;
    let hash = case.judged.evaluation.action_hash;
    let run = draft.state.run(&check.run).cloned();
    if run.is_none() {
        start(draft, check);
    }
    // The second half of a check that waited for its facts: the same proposal, under the same signature.
    let resumed = run.is_some_and(|run| run.verifying.is_some() && run.verifying == hash)
        && draft.state.proposed.as_ref().is_some_and(|(action, signature)| {
            Some(action.hash()) == hash && *signature == check.agent_signature
        });
    if !resumed {
        draft.push(Fact::ActionProposed(Box::new(ActionProposed {
            action: case.judged.action.clone(),
            action_hash: hash,
            agent_signature: check.agent_signature.clone(),
            signature_form: case.judged.form,
        })));
    }
    verified(draft, &check.verification);
    draft.record(&case.judged, case.snapshot.clone(), Phase::Check);
}

/// Records the report that the next judgement is made with.
pub(super) fn verified(draft: &mut Draft<'_>, verification: &Verification) {
    if let Verification::Reported { evidence, registry_tx } = verification {
        draft.push(Fact::CREVerificationCompleted(Box::new(VerificationCompleted {
            evidence: evidence.clone(),
            sepolia_tx: registry_tx.clone(),
        })));
    }
}

/// Records a denial, after the judgement.
pub(super) fn deny(draft: &mut Draft<'_>, case: &Case<'_>) {
    let Some(reason) = case.judged.evaluation.reason else { return };
    // Only what a report said is the verifiers' doing: a number that differs and a reservation are ours (spec 1.7).
    let unavailable = reason == Reason::VerificationUnavailable;
    let theirs = unavailable || case.judged.evaluation.denied_by_report();
    let layer = if theirs { Layer::Cre } else { Layer::Engine };
    // What nobody judged by says nothing here.
    let differs = case.judged.report.is_none() && reason == Reason::InvoiceNotFound;
    let evidence = match &case.check.verification {
        Verification::NumberDiffers { evidence, .. } if differs => evidence.clone(),
        _ => None,
    };
    draft.push(Fact::ActionDenied { evidence, layer, reason });
}

pub(super) fn answer(case: &Case<'_>, next: Next) -> Reply {
    Reply::Checked(Box::new(checked(case, next)))
}

pub(super) fn checked(case: &Case<'_>, next: Next) -> Checked {
    Checked {
        run: case.check.run.clone(),
        evaluation: case.judged.evaluation.clone(),
        decision_hash: hash_of(&case.judged),
        next,
        approval_id: None,
        brief: None,
        bond: None,
        authorization: None,
        comment: None,
    }
}

/// Step 6 of spec 1.7, where no report is there.
fn unverified(case: &mut Case<'_>) {
    let reference = case.judged.action.as_ref().and_then(|action| action.reference.clone());
    let denied = match (&case.check.verification, reference) {
        (_, None) => Some((Reason::VerificationUnavailable, Details::default())),
        (Verification::NumberDiffers { on_record, .. }, Some(reference)) => {
            let on_record = on_record.as_ref().map(Text::as_str);
            let detail = Details::default()
                .with("invoice_id", reference.invoice_id.as_str())
                .with("invoice_number", reference.invoice_number.as_str())
                .with("on_record", Detail::from(on_record))
                .with("source", "stripe");
            Some((Reason::InvoiceNotFound, detail))
        }
        // A report that is of no use is none.
        (Verification::Unavailable | Verification::Reported { .. }, Some(_)) => {
            Some((Reason::VerificationUnavailable, Details::default().with("source", "stripe")))
        }
        (Verification::NotTried, Some(_)) => None,
    };
    if let Some((reason, detail)) = denied {
        case.judged.evaluation.overrule(reason, detail);
    }
}

fn verify(draft: &mut Draft<'_>, case: Case<'_>) -> Reply {
    let action = case.judged.action.as_ref();
    let invoice = action.and_then(|action| action.reference.as_ref()).map(|r| r.invoice_id.clone());
    let waits = draft.state.run(&case.check.run).and_then(|run| run.verifying);
    // Asked again while it is being verified: nothing new.
    if waits.is_none() || waits != case.judged.evaluation.action_hash {
        log(draft, &case);
        if let Some(invoice_id) = invoice {
            draft.push(Fact::CREVerificationStarted { invoice_id });
        }
    }
    answer(&case, Next::Verify)
}

fn start(draft: &mut Draft<'_>, check: &Check) {
    let Ok(anchored) = draft.anchored() else { return };
    let mandate = &anchored.mandate;
    let Ok(delegate) = mandate.delegate.id.as_str().parse() else { return };
    let action_id = draft.action_id.take();
    draft.push(Fact::RunStarted(Box::new(RunStarted {
        agent_public_key: mandate.delegate.public_key.hex(),
        delegate,
        engine_public_key: mandate.authority_engine.public_key.hex(),
        goal: check.goal.clone(),
        kind: check.run_kind.clone(),
        limits: ShownLimits::of(mandate),
        mandate_id: mandate.id.clone(),
        mandate_version: mandate.version,
        principal: mandate.principal.name.clone(),
        vault: ShownVault { balance: check.observed.vault_balance, spent_today: check.observed.spent_today },
    })));
    draft.action_id = action_id;
}

pub(super) fn engine_key(mandate: &crate::Mandate) -> Result<keys::PublicKey, Refusal> {
    mandate.authority_engine.public_key.key().map(keys::PublicKey::Ed25519).map_err(|_| Refusal::EngineKey)
}
