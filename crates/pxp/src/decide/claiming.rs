//! Claims that become verified, or are said to be wrong (seed section 3 rule 3, W-07).

use super::Draft;
use super::answering::check_direct;
use crate::Refusal;
use crate::command::{AttachSource, ConfirmClaim, Reply};
use crate::envelope::Speaker;
use crate::event::{Body, ClaimConfirmed, SourceAttached};
use approvals::Decided;

pub(crate) fn confirm(draft: &mut Draft<'_>, confirm: &ConfirmClaim) -> Result<Reply, Refusal> {
    let by = draft.principal(&confirm.actor, confirm.seat)?;
    draft.going_on()?;
    let claim = draft.state.claim(&confirm.claim).ok_or_else(|| unknown(&confirm.claim))?;
    // One principal's word stands until they change it themselves; an answer is a principal's word already.
    let other = claim
        .settled
        .as_ref()
        .is_some_and(|settled| settled.seat != confirm.seat || settled.accept == confirm.accept);
    if other || claim.speaker == Speaker::Principal {
        return Err(Refusal::ClaimSettled);
    }
    let decided = if confirm.accept { Decided::Approve } else { Decided::Decline };
    let ask = draft.state.claim_ask(confirm.seat, &confirm.claim)?;
    check_direct(draft, confirm.seat, &by, &confirm.proof, &ask, decided, None)?;
    draft.push(
        ClaimConfirmed {
            seat: confirm.seat,
            claim_id: confirm.claim.clone(),
            accept: confirm.accept,
            by,
            evidence: confirm.proof.evidence.kind(),
            payload: None,
        },
        Some(Body::Proof(Box::new(confirm.proof.clone()))),
    )?;
    Ok(Reply::Done)
}

pub(crate) fn attach(draft: &mut Draft<'_>, attach: &AttachSource) -> Result<Reply, Refusal> {
    draft.hand(&attach.actor, attach.seat)?;
    draft.going_on()?;
    attach.source.check("/source")?;
    let claim = draft.state.claim(&attach.claim).ok_or_else(|| unknown(&attach.claim))?;
    if claim.seat != attach.seat {
        return Err(Refusal::NotPermitted);
    }
    if claim.source.is_some() || claim.speaker == Speaker::Principal {
        return Err(Refusal::ClaimSettled);
    }
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

fn unknown(claim: &crate::ClaimId) -> Refusal {
    Refusal::UnknownClaim { place: "/claim_id".into(), id: claim.to_string() }
}
