//! A principal's answer: direct, relayed, confirmed or disowned (W-02, W-06, W-11, W-22).

use super::Draft;
use crate::command::{Answer, By, Confirm, Proof, Reply, Standing};
use crate::event::{AnswerBody, AnswerDisowned, AnswerRelayed, Body, PrincipalAnswer};
use crate::state::{Asked, Principal, Question};
use crate::wire::{AnswerInput, Ruling};
use crate::{Amendment, Refusal, SeatId, answer_commitment};
use approvals::{Ask, Credentials, Decided, Evidence, EvidenceKind, Passkey, Person, PlainKey};
use canon::{Digest, Salt};
use env::Timestamp;

pub(crate) fn answer(draft: &mut Draft<'_>, answer: &Answer) -> Result<Reply, Refusal> {
    let hand = draft.hand(&answer.actor, answer.seat)?;
    draft.going_on()?;
    let question = open_question(draft, answer.seat, &answer.answer.question_id)?;
    answer.answer.check()?;
    for (index, claim) in answer.answer.clears.iter().enumerate() {
        if !question.claims.contains(claim) {
            return Err(Refusal::UnknownClaim { place: format!("/clears/{index}"), id: claim.to_string() });
        }
    }
    let body = answer.answer.body()?;
    let salt = Salt::from_bytes(draft.env.bytes32());
    let record = AnswerBody { body, salt, proof: answer.proof.clone(), confirmation: None };
    let relayed = answer.proof.evidence.kind() == EvidenceKind::Relayed;
    match hand {
        super::Hand::Principal(by) => {
            let ask = draft.state.question_ask(&question).ok_or_else(erased)?;
            let decided = decided(answer.answer.ruling);
            check_direct(draft, answer.seat, &by, &answer.proof, &ask, decided, Some(&record.body))?;
            take_effect(draft, &question, &answer.answer, record, Standing::Direct, by)
        }
        super::Hand::Agent if !relayed => Err(Refusal::EvidenceNotAccepted),
        super::Hand::Agent if draft.state.room.as_ref().is_some_and(|room| room.policy.holds_relayed()) => {
            if matches!(question.state, Asked::Held(_)) {
                return Err(Refusal::AwaitingAnswer { seat: answer.seat });
            }
            // Refused now rather than when the principal confirms it.
            amended(draft, &question, &answer.answer)?;
            hold(draft, &question, record)
        }
        super::Hand::Agent => {
            let by = answer.proof.by.clone();
            take_effect(draft, &question, &answer.answer, record, Standing::Relayed, by)
        }
    }
}

pub(crate) fn confirm(draft: &mut Draft<'_>, confirm: &Confirm) -> Result<Reply, Refusal> {
    let by = draft.principal(&confirm.actor, confirm.seat)?;
    draft.going_on()?;
    let question = open_question(draft, confirm.seat, &confirm.question)?;
    let Asked::Held(held) = &question.state else { return Err(Refusal::NothingToConfirm) };
    let record = held.body.clone().ok_or_else(erased)?;
    let ask = draft.state.confirm_ask(&question).ok_or_else(erased)?;
    let decided = if confirm.accept { Decided::Approve } else { Decided::Decline };
    check_direct(draft, confirm.seat, &by, &confirm.proof, &ask, decided, None)?;
    if !confirm.accept {
        draft.push(
            AnswerDisowned { seat: confirm.seat, question_id: confirm.question.clone(), by, payload: None },
            Some(Body::Proof(Box::new(confirm.proof.clone()))),
        )?;
        return Ok(Reply::Done);
    }
    let input: AnswerInput = canon::from_slice(record.body.as_bytes())?;
    let record = AnswerBody { confirmation: Some(confirm.proof.clone()), ..record };
    take_effect(draft, &question, &input, record, Standing::Confirmed, by)
}

/// Checks evidence that is the principal's own: a kind the room takes, by the one who acts, and, where it signs, over
/// exactly this statement. Whoever enrolled a passkey or a key answers with it: the credential beside it only reads.
pub(crate) fn check_direct(
    draft: &Draft<'_>,
    seat: SeatId,
    by: &By,
    proof: &Proof,
    ask: &Ask,
    decided: Decided,
    body: Option<&str>,
) -> Result<(), Refusal> {
    let kinds = draft.state.room.as_ref().map(|room| room.policy.evidence.as_slice()).unwrap_or_default();
    if !kinds.contains(&proof.evidence.kind()) {
        return Err(Refusal::EvidenceNotAccepted);
    }
    if proof.by != *by {
        return Err(Refusal::WrongPerson);
    }
    let principal = &draft.seat(seat)?.principal;
    if proof.evidence.kind() == EvidenceKind::Session && *by == By::Holder && principal.has_key() {
        return Err(Refusal::EvidenceNotAccepted);
    }
    let statement = ask.statement(decided, body, &proof.nonce).hash();
    verify(proof, statement, principal, draft.now())
}

/// Verifies evidence that signs, under the key it came with; a holder's key must be the one they enrolled.
pub(crate) fn verify(
    proof: &Proof,
    statement: Digest,
    principal: &Principal,
    at: Timestamp,
) -> Result<(), Refusal> {
    match &proof.evidence {
        Evidence::Session { .. } | Evidence::Relayed { .. } => return Ok(()),
        Evidence::Wallet { .. } => return Err(Refusal::EvidenceNotAccepted),
        Evidence::Passkey { .. } | Evidence::Ed25519 { .. } => {}
    }
    if proof.statement != Some(statement) {
        return Err(Refusal::StatementMismatch);
    }
    let key = proof.key.ok_or(Refusal::BadSignature)?;
    if proof.by == By::Holder {
        let enrolled = match &proof.evidence {
            Evidence::Passkey { credential_id, .. } => principal
                .passkey
                .as_ref()
                .is_some_and(|passkey| passkey.credential_id == *credential_id && passkey.key == key),
            _ => principal.key == Some(key),
        };
        if !enrolled {
            return Err(Refusal::WrongPerson);
        }
    }
    // Whom the key belongs to was settled above and by the caller; what is left is the signature.
    let mut keys = Credentials::of(Person::Holder { stream: String::new(), role: String::new() });
    keys.site = proof.site.clone();
    keys.plain_keys = vec![PlainKey { key, since: Timestamp::EPOCH, until: None }];
    if let Evidence::Passkey { credential_id, .. } = &proof.evidence {
        keys.passkeys =
            vec![Passkey { credential_id: credential_id.clone(), key, since: Timestamp::EPOCH, until: None }];
    }
    approvals::proves(&proof.evidence, &statement, &keys, at).map(|_| ()).map_err(|_| Refusal::BadSignature)
}

pub(crate) const fn decided(ruling: Ruling) -> Decided {
    match ruling {
        Ruling::Allow | Ruling::Amend => Decided::Approve,
        Ruling::Deny => Decided::Decline,
    }
}

fn open_question(draft: &Draft<'_>, seat: SeatId, id: &crate::QuestionId) -> Result<Question, Refusal> {
    let question = draft.state.question(id).ok_or(Refusal::QuestionUnknown)?;
    if question.seat != seat {
        return Err(Refusal::WrongPerson);
    }
    match question.state {
        Asked::Answered(_) => Err(Refusal::QuestionAnswered),
        Asked::Open | Asked::Held(_) => Ok(question.clone()),
    }
}

/// The answer becomes an amendment of the card and a `stated` claim, and the room goes on.
fn take_effect(
    draft: &mut Draft<'_>,
    question: &Question,
    input: &AnswerInput,
    record: AnswerBody,
    standing: Standing,
    by: By,
) -> Result<Reply, Refusal> {
    let card = amended(draft, question, input)?;
    let last = record.confirmation.as_ref().unwrap_or(&record.proof);
    let (evidence, card_hash) = (last.evidence.kind(), card.hash()?);
    draft.push(
        PrincipalAnswer {
            seat: question.seat,
            speaker: "principal".to_owned(),
            via: if evidence == EvidenceKind::Relayed {
                crate::event::Via::Mcp
            } else {
                crate::event::Via::Web
            },
            question_id: question.id.clone(),
            ruling: input.ruling,
            clears: input.clears.clone(),
            public_summary: input.public_summary.clone(),
            answer_commitment: answer_commitment(&record.salt, &record.body),
            standing,
            evidence,
            by,
            card_hash,
            clause_root: card.clause_root()?,
            payload: None,
        },
        Some(Body::Answer(Box::new(record))),
    )?;
    draft.unask(question);
    draft.schedule();
    Ok(Reply::Answered { question_id: question.id.clone(), standing, card_hash: Some(card_hash) })
}

fn amended(draft: &Draft<'_>, question: &Question, input: &AnswerInput) -> Result<crate::Card, Refusal> {
    let card = draft.seat(question.seat)?.card.as_ref().ok_or_else(erased)?;
    let asked = question.body.as_ref().ok_or_else(erased)?;
    let amendment =
        Amendment { question: asked.question.clone(), answer: input.text.clone(), at: draft.now() };
    card.amended(amendment, &input.limits)
}

fn hold(draft: &mut Draft<'_>, question: &Question, record: AnswerBody) -> Result<Reply, Refusal> {
    let agent = match &record.proof.evidence {
        Evidence::Relayed { agent } => agent.clone(),
        _ => String::new(),
    };
    draft.push(
        AnswerRelayed {
            seat: question.seat,
            question_id: question.id.clone(),
            answer_commitment: answer_commitment(&record.salt, &record.body),
            agent,
            payload: None,
        },
        Some(Body::Answer(Box::new(record))),
    )?;
    draft.ask(&question.id, question.seat, format!("{}.confirm", question.id));
    Ok(Reply::Answered { question_id: question.id.clone(), standing: Standing::Relayed, card_hash: None })
}

fn erased() -> Refusal {
    Refusal::Bug("the room's private part is gone".to_owned())
}
