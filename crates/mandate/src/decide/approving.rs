//! What approvers do (spec 1.10): open, approve, decline, veto. Each decision is signed by the approver's own key (W3),
//! and nothing that was said when the agent asked is trusted.

use super::Draft;
use super::checking::{engine_key, verified};
use crate::command::{self, Drafted, Observed, Reply, Verification};
use crate::engine::{Inputs, Judged, Proposal};
use crate::evaluation::Details;
use crate::issue::{self, Consent, Unissued};
use crate::log::{ApprovalId, Approved, Declined, Fact, Issued, Layer, Phase};
use crate::proof::{ApproveBody, Approvers, DeclineBody, Question, VetoBody, veto_ask};
use crate::reason::Reason;
use crate::snapshot::Snapshot;
use crate::state::{Anchored, Approval, ApprovalStatus, Authorization, AuthorizationStatus, Holder};
use crate::text::{KeyHash, Text};
use crate::{Outcome, Refusal};
use approvals::Decided;
use std::sync::Arc;

/// A draft with less time left is not signed any more.
const LEAST_MS: u64 = 60_000;

/// Drafts what the approver will sign. The same draft again, as long as it is good.
pub(super) fn draft(draft: &mut Draft<'_>, command: &command::Draft) -> Result<Reply, Refusal> {
    let approval = pending(draft, &command.approval_id)?;
    about(draft, &approval);
    let (judged, snapshot) = again(draft, &approval, &command.observed, &command.verification)?;
    if let Some(reply) = over(draft, &approval, &judged, &snapshot, &command.verification)? {
        return Ok(reply);
    }
    let anchored = draft.anchored()?;
    let nonce = u128::from(draft.state.last_nonce.max(command.observed.last_nonce.get())) + 1;
    let inputs = Inputs {
        mandate: &anchored.mandate,
        proposal: Proposal { action: &[], agent_signature: None },
        state: &snapshot,
        evidence: None,
        now: draft.now,
    };
    let fields = issue::fields(&judged, &inputs, &anchored.vault, nonce, Consent::Awaited)
        .map_err(Refusal::Unissued)?;
    let good = approval.draft.as_ref().filter(|known| {
        let same = issue::alike(known, &fields) && known.nonce.units() > command.observed.last_nonce;
        same && draft.now.plus(LEAST_MS) < known.valid_until
    });
    let fields = match good {
        Some(known) => known.clone(),
        None => {
            draft.push(Fact::AuthorizationDrafted {
                approval_id: approval.id(),
                digest: fields.digest(),
                fields: Box::new(fields.clone()),
            });
            fields
        }
    };
    Ok(Reply::Drafted(Box::new(Drafted {
        approval_id: approval.id(),
        brief_hash: brief_hash(&approval)?,
        digest: fields.digest(),
        fields,
    })))
}

pub(super) fn approve(draft: &mut Draft<'_>, command: &command::Approve) -> Result<Reply, Refusal> {
    let anchored = draft.anchored()?;
    let mandate = &anchored.mandate;
    if command.engine.0.public() != engine_key(mandate)? {
        return Err(Refusal::EngineKey);
    }
    if let Some(held) = already(draft, command)? {
        let approval = known(draft, &command.approval_id)?;
        signer(draft, &approval, &anchored, command)?;
        return Ok(Reply::Approved {
            signed: approval.signers.len(),
            required: mandate.required(),
            authorization: Some(Box::new(held.record.clone())),
        });
    }
    let approval = pending(draft, &command.approval_id)?;
    about(draft, &approval);
    let fields = approval.draft.clone().filter(|fields| fields.digest() == command.digest);
    let fields = fields.ok_or(Refusal::DraftDiffers)?;
    if draft.now.plus(LEAST_MS) >= fields.valid_until {
        return Err(Refusal::DraftDiffers);
    }
    let signer = signer(draft, &approval, &anchored, command)?;
    let mut signers = approval.signers.clone();
    let new = !signers.contains(&signer);
    if new {
        signers.push(signer);
    }
    let (judged, snapshot) = again(draft, &approval, &command.observed, &command.verification)?;
    if let Some(reply) = over(draft, &approval, &judged, &snapshot, &command.verification)? {
        return Ok(reply);
    }
    if new {
        draft.push(Fact::CFOApproved(Box::new(Approved {
            approval_id: approval.id(),
            brief_hash: brief_hash(&approval)?,
            cfo_key_hash: signer,
            digest: command.digest,
            signed: command.signed.clone(),
        })));
    }
    let (signed, required) = (signers.len(), mandate.required());
    let roles = judged.evaluation.approvals_required.iter().map(|r| &r.approver);
    if !issue::enough(mandate, &signers, roles) {
        return Ok(Reply::Approved { signed, required, authorization: None });
    }
    let inputs = Inputs {
        mandate,
        proposal: Proposal { action: &[], agent_signature: None },
        state: &snapshot,
        evidence: None,
        now: draft.now,
    };
    let consent = crate::Approval { action_hash: approval.action.hash(), at: draft.now, signers };
    let nonce = u128::from(fields.nonce.get());
    let fresh = issue::fields(&judged, &inputs, &anchored.vault, nonce, Consent::Given(&consent));
    match fresh {
        Ok(fresh) if issue::alike(&fresh, &fields) => {}
        Ok(_) | Err(Unissued::InvalidNonce) => return Err(Refusal::DraftDiffers),
        Err(unissued) => return Err(Refusal::Unissued(unissued)),
    }
    let record = fields.sign(command.engine.0.as_ref())?;
    verified(draft, &command.verification);
    draft.record(&judged, snapshot, Phase::Approval);
    draft.push(Fact::AuthorizationIssued(Box::new(Issued {
        approval_id: Some(approval.id()),
        authorization: record.clone(),
        compromised_engine: false,
    })));
    draft.clear(&approval);
    draft.watch(record.fields.valid_until);
    super::settling::ask_for_bond(draft, &approval.id());
    Ok(Reply::Approved { signed, required, authorization: Some(Box::new(record)) })
}

/// Ends it. One approver's no is enough, also of a quorum.
pub(super) fn decline(draft: &mut Draft<'_>, command: &command::Decline) -> Result<Reply, Refusal> {
    let anchored = draft.anchored()?;
    let approval = known(draft, &command.approval_id)?;
    about(draft, &approval);
    match approval.status {
        ApprovalStatus::Pending => {}
        ApprovalStatus::Authorized => {
            let held = approval.nonce.and_then(|nonce| draft.state.authorizations.get(&nonce));
            if held.is_none_or(|held| held.status != AuthorizationStatus::Issued) {
                return Err(Refusal::NotPending { status: "released" });
            }
        }
        other => return Err(Refusal::NotPending { status: other.as_str() }),
    }
    let who = approvers(&anchored, &command.approvers);
    let older = who.older_decline(approval.price.approval_id.as_str(), command.reason, &command.signed);
    let signer = match older {
        // It covers no comment, so none is taken.
        Ok(signer) if command.comment.is_none() => signer,
        _ => {
            let body = DeclineBody { comment: command.comment.clone(), reason: command.reason };
            let now = draft.env.now();
            question(&approval)?.signer(Decided::Decline, &body, &command.signed, &who, now)?
        }
    };
    draft.push(Fact::CFODeclined(Box::new(Declined {
        approval_id: approval.id(),
        brief_hash: brief_hash(&approval)?,
        cfo_key_hash: signer,
        comment: command.comment.clone(),
        reason: command.reason,
        signed: command.signed.clone(),
    })));
    draft.clear(&approval);
    super::settling::ask_for_bond(draft, &approval.id());
    let approval = known(draft, &command.approval_id)?;
    Ok(Reply::Declined { reason: command.reason, bond: Box::new(approval.bond(&anchored.mandate)) })
}

/// Ends a wait.
pub(super) fn veto(draft: &mut Draft<'_>, command: &command::Veto) -> Result<Reply, Refusal> {
    let anchored = draft.anchored()?;
    let delay = *draft.state.delay(&command.action_hash).ok_or(Refusal::NoDelay)?;
    let ask_id = veto_ask(&command.action_hash);
    Question::of_wait(&ask_id, command.action_hash).signer(
        Decided::Decline,
        &VetoBody {},
        &command.signed,
        &approvers(&anchored, &command.approvers),
        draft.env.now(),
    )?;
    if !delay.vetoed {
        draft.push(Fact::DelayVetoed {
            action_hash: command.action_hash,
            signed: Box::new(command.signed.clone()),
        });
    }
    Ok(Reply::Done)
}

/// Approving twice gives the same authorization (case 59).
fn already(draft: &Draft<'_>, command: &command::Approve) -> Result<Option<Arc<Authorization>>, Refusal> {
    let approval = known(draft, &command.approval_id)?;
    let held = approval.nonce.and_then(|nonce| draft.state.authorizations.get(&nonce));
    let same = held.filter(|held| held.record.digest_hex == command.digest);
    Ok(same.filter(|_| approval.status == ApprovalStatus::Authorized).cloned())
}

/// Which approver signed that this authorization is approved.
fn signer(
    draft: &Draft<'_>,
    approval: &Approval,
    anchored: &Anchored,
    command: &command::Approve,
) -> Result<KeyHash, Refusal> {
    let body = ApproveBody { authorization_digest: command.digest };
    let who = approvers(anchored, &command.observed.approvers);
    question(approval)?.signer(Decided::Approve, &body, &command.signed, &who, draft.env.now())
}

/// Judges the agent's proposal again, as it stands in the log, on a fresh reading.
fn again(
    draft: &Draft<'_>,
    approval: &Approval,
    observed: &Observed,
    verification: &Verification,
) -> Result<(Judged, Snapshot), Refusal> {
    let bytes = canon::to_vec(&approval.action)?;
    let proposal =
        Proposal { action: &bytes, agent_signature: approval.agent_signature.as_ref().map(Text::as_str) };
    draft.judge(proposal, Some(approval.action.clone()), observed, verification)
}

/// Closes an approval that may no longer be given. An outage closes nothing (case 63).
fn over(
    draft: &mut Draft<'_>,
    approval: &Arc<Approval>,
    judged: &Judged,
    snapshot: &Snapshot,
    verification: &Verification,
) -> Result<Option<Reply>, Refusal> {
    let mut judged = judged.clone();
    match judged.evaluation.outcome {
        Outcome::NeedsVerification => return Err(Refusal::VerificationNeeded),
        Outcome::Escalate if judged.evaluation.signed => {
            match draft.state.holder(&approval.action, draft.now) {
                Holder::Nobody => return Ok(None),
                Holder::Wait => return Err(Refusal::ReservationEnding),
                Holder::Unclear(digest) => return Err(Refusal::ReservationUnclear { digest }),
                Holder::Same(_) | Holder::Taken { .. } => {
                    let detail = Details::default().with("source", "reservation");
                    judged.evaluation.overrule(Reason::InvoiceNotOpen, detail);
                }
            }
        }
        _ => {}
    }
    let reason = judged.evaluation.reason;
    verified(draft, verification);
    draft.record(&judged, snapshot.clone(), Phase::Approval);
    if let Some(reason) = reason {
        draft.push(Fact::ActionDenied { evidence: None, layer: Layer::Engine, reason });
    }
    draft.push(Fact::ApprovalClosed { approval_id: approval.id(), reason });
    draft.clear(approval);
    super::settling::ask_for_bond(draft, &approval.id());
    Ok(Some(Reply::Closed { reason, evaluation: Some(Box::new(judged.evaluation)) }))
}

fn known(draft: &Draft<'_>, id: &ApprovalId) -> Result<Arc<Approval>, Refusal> {
    let number = draft.state.approval(id).map(|approval| approval.number);
    number.and_then(|number| draft.state.approvals.get(&number)).cloned().ok_or(Refusal::ApprovalUnknown)
}

fn pending(draft: &Draft<'_>, id: &ApprovalId) -> Result<Arc<Approval>, Refusal> {
    let approval = known(draft, id)?;
    if approval.status != ApprovalStatus::Pending {
        return Err(Refusal::NotPending { status: approval.status.as_str() });
    }
    if draft.now >= approval.price.locked_until_ms {
        return Err(Refusal::NotPending { status: ApprovalStatus::Expired.as_str() });
    }
    Ok(approval)
}

fn about(draft: &mut Draft<'_>, approval: &Approval) {
    draft.run = approval.run.clone();
    draft.action_id = Some(approval.action.id.clone());
}

fn approvers<'a>(anchored: &'a Anchored, keys: &'a [KeyHash]) -> Approvers<'a> {
    Approvers { mandate: &anchored.mandate, anchored: keys, network: anchored.vault.network.network() }
}

fn question(approval: &Approval) -> Result<Question<'_>, Refusal> {
    Ok(Question {
        ask_id: approval.price.approval_id.as_str(),
        action_hash: approval.action.hash(),
        brief_hash: brief_hash(approval)?,
    })
}

fn brief_hash(approval: &Approval) -> Result<canon::Digest, Refusal> {
    let brief = approval.brief.as_ref();
    brief.map(crate::Hashed::hash).ok_or_else(|| Refusal::Bug("a pending approval has a brief".to_owned()))
}
