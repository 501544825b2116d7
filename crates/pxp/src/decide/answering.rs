//! A principal's answer: direct, relayed, confirmed or disowned (W-02, W-06, W-11, W-22).

use super::Draft;
use crate::command::{Answer, By, Confirm, Proof, Reply, Standing};
use crate::event::{AnswerBody, AnswerDisowned, AnswerRelayed, Body, PrincipalAnswer, Via};
use crate::state::{Asked, Principal, Question, State};
use crate::wire::{AnswerInput, Ruling};
use crate::{Amendment, ClaimId, QuestionId, Refusal, SeatId, answer_commitment};
use approvals::{Credentials, Decided, Evidence, EvidenceKind, Passkey, Person, PlainKey};
use canon::{Digest, Salt};
use env::Timestamp;

pub(crate) fn answer(draft: &mut Draft<'_>, answer: &Answer) -> Result<Reply, Refusal> {
    let hand = draft.hand(&answer.actor, answer.seat)?;
    draft.going_on()?;
    let question = open_question(draft, answer.seat, &answer.answer.question_id)?;
    let body = answer.answer.body()?;
    let salt = Salt::from_bytes(draft.env.bytes32());
    let record = AnswerBody { body, salt, proof: answer.proof.clone(), confirmation: None };
    let relayed = answer.proof.evidence.kind() == EvidenceKind::Relayed;
    match hand {
        super::Hand::Principal(by) => {
            take_effect(draft, &question, &answer.answer, record, Standing::Direct, by)
        }
        super::Hand::Agent if !relayed => Err(Refusal::EvidenceNotAccepted),
        super::Hand::Agent if draft.state.room.as_ref().is_some_and(|room| room.policy.holds_relayed()) => {
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
    draft.state.confirm_ask(&question).ok_or_else(erased)?;
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

/// An answer that an agent passes on in a room that holds it until its principal confirms it.
pub(super) fn may_relay(
    state: &State,
    data: &AnswerRelayed,
    body: Option<&AnswerBody>,
    at: Timestamp,
) -> Result<(), Refusal> {
    let question = pending(state, data.seat, &data.question_id)?;
    if matches!(question.state, Asked::Held(_)) {
        return Err(Refusal::AwaitingAnswer { seat: data.seat });
    }
    if !state.room.as_ref().is_some_and(|room| room.policy.holds_relayed()) {
        return Err(Refusal::EvidenceNotAccepted);
    }
    let Some(body) = body else { return Ok(()) };
    if body.confirmation.is_some() || body.proof.evidence != (Evidence::Relayed { agent: data.agent.clone() })
    {
        return Err(Refusal::EvidenceNotAccepted);
    }
    let input = given(question, &body.body)?;
    // Refused now rather than when the principal confirms it.
    amended(state, question, &input, at).map(|_| ())
}

/// A principal says that a relayed answer is not theirs.
pub(super) fn may_disown(
    state: &State,
    data: &AnswerDisowned,
    proof: Option<&Proof>,
    at: Timestamp,
) -> Result<(), Refusal> {
    let question = pending(state, data.seat, &data.question_id)?;
    if !matches!(question.state, Asked::Held(_)) {
        return Err(Refusal::NothingToConfirm);
    }
    let Some(proof) = proof else {
        return is_by(state, data.seat, &data.by);
    };
    is_direct(state, data.seat, &data.by, proof.evidence.kind())?;
    let ask = state.confirm_ask(question);
    let statement = ask.map(|ask| ask.statement(Decided::Decline, None, &proof.nonce).hash());
    check_direct(state, data.seat, &data.by, proof, statement, at)
}

/// An answer takes effect: by the principal's own evidence, or passed on where the room takes that.
pub(super) fn may_answer(
    state: &State,
    data: &PrincipalAnswer,
    body: Option<&AnswerBody>,
    at: Timestamp,
) -> Result<(), Refusal> {
    let question = pending(state, data.seat, &data.question_id)?;
    let relayed = data.evidence == EvidenceKind::Relayed;
    let via = if relayed { Via::Mcp } else { Via::Web };
    if data.speaker != SPEAKER || data.via != via {
        return Err(other("/via", "not the door it came in by"));
    }
    let input = match body {
        Some(body) => Some(given(question, &body.body)?),
        None => None,
    };
    let agrees = input.as_ref().is_none_or(|input| {
        input.ruling == data.ruling
            && input.clears == data.clears
            && input.public_summary == data.public_summary
    });
    if !agrees {
        return Err(other("/ruling", "not what was answered"));
    }
    clears(question, data.ruling, &data.clears)?;
    let holds = state.room.as_ref().is_some_and(|room| room.policy.holds_relayed());
    let fits = match data.standing {
        Standing::Relayed => relayed && !holds,
        Standing::Direct => !relayed,
        Standing::Confirmed => !relayed && matches!(question.state, Asked::Held(_)),
    };
    if !fits {
        return Err(Refusal::EvidenceNotAccepted);
    }
    if !relayed {
        is_direct(state, data.seat, &data.by, data.evidence)?;
    }
    if let Some(body) = body {
        let proof = body.confirmation.as_ref().unwrap_or(&body.proof);
        let confirmed = data.standing == Standing::Confirmed;
        if proof.evidence.kind() != data.evidence || body.confirmation.is_some() != confirmed {
            return Err(Refusal::EvidenceNotAccepted);
        }
        let statement = match &question.state {
            Asked::Held(held) if confirmed => {
                let passed_on = AnswerBody { confirmation: None, ..body.clone() };
                if held.commitment != data.answer_commitment
                    || held.body.as_ref().is_some_and(|held| *held != passed_on)
                {
                    return Err(other("/answer", "not what was passed on"));
                }
                state
                    .confirm_ask(question)
                    .map(|ask| ask.statement(Decided::Approve, None, &proof.nonce).hash())
            }
            _ => state
                .question_ask(question)
                .map(|ask| ask.statement(decided(data.ruling), Some(&body.body), &proof.nonce).hash()),
        };
        check_direct(state, data.seat, &data.by, proof, statement, at)?;
    }
    match input.map(|input| amended(state, question, &input, at)).transpose()?.flatten() {
        Some(card) if card.hash()? != data.card_hash || card.clause_root()? != data.clause_root => {
            Err(Refusal::Bug("not the card that the answer makes".to_owned()))
        }
        _ => Ok(()),
    }
}

/// The answer as it was given: of this question, and one that it can have.
fn given(question: &Question, body: &str) -> Result<AnswerInput, Refusal> {
    let input: AnswerInput =
        canon::from_slice(body.as_bytes()).map_err(|error| other("/answer", &error.to_string()))?;
    if input.question_id != question.id || input.body()? != body {
        return Err(Refusal::QuestionUnknown);
    }
    input.check()?;
    clears(question, input.ruling, &input.clears)?;
    Ok(input)
}

/// Only an allowance clears claims, and only those that the question names.
fn clears(question: &Question, ruling: Ruling, claims: &[ClaimId]) -> Result<(), Refusal> {
    if ruling != Ruling::Allow && !claims.is_empty() {
        return Err(Refusal::Misplaced { place: "/clears".into(), status: "allow" });
    }
    match claims.iter().position(|claim| !question.claims.contains(claim)) {
        None => Ok(()),
        Some(index) => {
            let id = claims.get(index).map(ToString::to_string).unwrap_or_default();
            Err(Refusal::UnknownClaim { place: format!("/clears/{index}"), id })
        }
    }
}

/// The question that waits for this seat's principal.
fn pending<'a>(state: &'a State, seat: SeatId, id: &QuestionId) -> Result<&'a Question, Refusal> {
    state
        .pending()
        .filter(|question| question.seat == seat && question.id == *id)
        .ok_or(Refusal::QuestionUnknown)
}

fn is_by(state: &State, seat: SeatId, by: &By) -> Result<(), Refusal> {
    let seat = state.seat(seat).ok_or(Refusal::SeatUnknown { seat })?;
    if super::is_principal(seat, by) { Ok(()) } else { Err(Refusal::WrongPerson) }
}

/// Whether the evidence is the principal's own: a kind the room takes, by whoever answers for the seat. Whoever enrolled a
/// passkey or a key answers with it: the credential beside it only reads.
pub(super) fn is_direct(state: &State, seat: SeatId, by: &By, evidence: EvidenceKind) -> Result<(), Refusal> {
    let kinds = state.room.as_ref().map(|room| room.policy.evidence.as_slice()).unwrap_or_default();
    if !kinds.contains(&evidence) {
        return Err(Refusal::EvidenceNotAccepted);
    }
    is_by(state, seat, by)?;
    let has_key = state.seat(seat).is_some_and(|seat| seat.principal.has_key());
    if evidence == EvidenceKind::Session && *by == By::Holder && has_key {
        return Err(Refusal::EvidenceNotAccepted);
    }
    Ok(())
}

/// Checks that evidence is by the one who acts, and, where it signs, over exactly this statement. `None` where what was
/// asked is withheld.
pub(super) fn check_direct(
    state: &State,
    seat: SeatId,
    by: &By,
    proof: &Proof,
    statement: Option<Digest>,
    at: Timestamp,
) -> Result<(), Refusal> {
    if proof.by != *by {
        return Err(Refusal::WrongPerson);
    }
    let Some(statement) = statement else { return Ok(()) };
    let principal = &state.seat(seat).ok_or(Refusal::SeatUnknown { seat })?.principal;
    verify(proof, statement, principal, at)
}

/// Verifies evidence that signs, under the key it came with; a holder's key must be the one they enrolled.
fn verify(proof: &Proof, statement: Digest, principal: &Principal, at: Timestamp) -> Result<(), Refusal> {
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

const fn decided(ruling: Ruling) -> Decided {
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
    let card = amended(&draft.state, question, input, draft.now())?.ok_or_else(erased)?;
    let last = record.confirmation.as_ref().unwrap_or(&record.proof);
    let (evidence, card_hash) = (last.evidence.kind(), card.hash()?);
    draft.push(
        PrincipalAnswer {
            seat: question.seat,
            speaker: SPEAKER.to_owned(),
            via: if evidence == EvidenceKind::Relayed { Via::Mcp } else { Via::Web },
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

/// The seat's card with the answer. `None` where the card or the question is withheld.
fn amended(
    state: &State,
    question: &Question,
    input: &AnswerInput,
    at: Timestamp,
) -> Result<Option<crate::Card>, Refusal> {
    let card = state.seat(question.seat).and_then(|seat| seat.card.as_ref());
    let (Some(card), Some(asked)) = (card, question.body.as_ref()) else { return Ok(None) };
    let amendment = Amendment { question: asked.question.clone(), answer: input.text.clone(), at };
    card.amended(amendment, &input.limits).map(Some)
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

fn other(place: &str, detail: &str) -> Refusal {
    Refusal::BadValue { place: place.into(), detail: detail.into() }
}

const SPEAKER: &str = "principal";

fn erased() -> Refusal {
    Refusal::Bug("the room's private part is gone".to_owned())
}
