//! Claims that become verified, or are said to be wrong (seed section 3 rule 3, W-07).

use super::Draft;
use super::answering::{check_direct, is_direct};
use crate::Refusal;
use crate::command::{AttachSource, ConfirmClaim, Proof, Reply};
use crate::envelope::Speaker;
use crate::event::{Body, ClaimConfirmed, SourceAttached};
use crate::state::State;
use approvals::Decided;
use env::Timestamp;

pub(crate) fn confirm(draft: &mut Draft<'_>, confirm: &ConfirmClaim) -> Result<Reply, Refusal> {
    let by = draft.principal(&confirm.actor, confirm.seat)?;
    draft.going_on()?;
    let confirmed = ClaimConfirmed {
        seat: confirm.seat,
        claim_id: confirm.claim.clone(),
        accept: confirm.accept,
        by,
        evidence: confirm.proof.evidence.kind(),
        payload: None,
    };
    draft.push(confirmed, Some(Body::Proof(Box::new(confirm.proof.clone()))))?;
    Ok(Reply::Done)
}

/// One principal's word stands until they change it themselves; an answer is a principal's word already.
pub(super) fn may_confirm(
    state: &State,
    data: &ClaimConfirmed,
    proof: Option<&Proof>,
    at: Timestamp,
) -> Result<(), Refusal> {
    let claim = state.claim(&data.claim_id).ok_or_else(|| unknown(&data.claim_id))?;
    let other = claim
        .settled
        .as_ref()
        .is_some_and(|settled| settled.seat != data.seat || settled.accept == data.accept);
    if other || claim.speaker == Speaker::Principal {
        return Err(Refusal::ClaimSettled);
    }
    is_direct(state, data.seat, &data.by, data.evidence)?;
    let Some(proof) = proof else { return Ok(()) };
    if proof.evidence.kind() != data.evidence {
        return Err(Refusal::EvidenceNotAccepted);
    }
    let decided = if data.accept { Decided::Approve } else { Decided::Decline };
    let ask = state.claim_ask(data.seat, &data.claim_id)?;
    let statement = ask.statement(decided, None, &proof.nonce).hash();
    check_direct(state, data.seat, &data.by, proof, Some(statement), at)
}

pub(crate) fn attach(draft: &mut Draft<'_>, attach: &AttachSource) -> Result<Reply, Refusal> {
    draft.hand(&attach.actor, attach.seat)?;
    draft.going_on()?;
    draft.push(
        SourceAttached {
            seat: attach.seat,
            claim_id: attach.claim.clone(),
            source: attach.source.clone(),
            payload: None,
        },
        None,
    )?;
    Ok(Reply::Done)
}

/// The seat that made a claim names its source, once.
pub(super) fn may_attach(state: &State, data: &SourceAttached) -> Result<(), Refusal> {
    data.source.check("/source")?;
    let claim = state.claim(&data.claim_id).ok_or_else(|| unknown(&data.claim_id))?;
    if claim.seat != data.seat {
        return Err(Refusal::NotPermitted);
    }
    if claim.source.is_some() || claim.speaker == Speaker::Principal {
        return Err(Refusal::ClaimSettled);
    }
    Ok(())
}

fn unknown(claim: &crate::ClaimId) -> Refusal {
    Refusal::UnknownClaim { place: "/claim_id".into(), id: claim.to_string() }
}
