//! An envelope: who may send it, what enforcement makes of it, and what it brings about, in one append.

use super::Draft;
use crate::command::{Actor, Driver, Reply, Send, Sent};
use crate::enforce::{self, Applied, Asked, Sight};
use crate::envelope::{CommittedInput, Envelope, Escalation, From, Review, Speaker, question_commitment};
use crate::event::{
    AcceptedBy, Agreement, Body, EnvelopeSent, Escalated, Fact, QuestionBody, Recorded, Reviewed, TurnLimit,
};
use crate::state::{Phase, State};
use crate::wire::{self, Status, most};
use crate::{QuestionId, Refusal, SeatId};
use canon::{Digest, Salt};
use keys::Signature;
use std::sync::Arc;

pub(crate) fn send(draft: &mut Draft<'_>, send: &Send) -> Result<Reply, Refusal> {
    let seat = send.seat;
    may_send(draft, send)?;
    if let Some(id) = &send.msg_id {
        wire::name("/msg_id", id, most::MESSAGE_ID)?;
        if let Some(sent) = repeated(&draft.state, send, id)? {
            return Ok(Reply::Sent(sent));
        }
    }
    has_the_turn(&draft.state, seat)?;
    if let Some(words) = &send.envelope.escalation {
        words.check()?;
    }
    let salt = send.envelope.escalation.as_ref().and_then(|asked| asked.salt);
    let input = CommittedInput::of(&send.envelope, &salt.unwrap_or(Salt::from_bytes(draft.env.bytes32())))?;
    input.check()?;
    check_signature(&draft.state, send, &input)?;

    let gone = || Refusal::Bug("the seat's card is gone".to_owned());
    let card = draft.state.seat(seat).and_then(|seat| seat.card.as_ref()).ok_or_else(gone)?;
    let applied = enforce::apply(&draft.state, seat, Sight::of(card), &input, draft.now())?;
    let question = asking(draft, send, &applied, salt)?;
    let input = match &question {
        // The recorded input carries the commitment of the question as it was recorded.
        Some(question) => CommittedInput::of(&send.envelope, &question.salt)?,
        None => input,
    };
    let commitment = match &question {
        Some(QuestionBody { salt, question, reason, .. }) => {
            Some(question_commitment(salt, question, reason)?)
        }
        None => None,
    };
    let envelope = envelope(&draft.state, seat, &send.envelope.message, &applied, commitment)?;
    let follows: Vec<Fact> = follow(&envelope, applied.question.as_ref());
    record(draft, send, envelope, input)?;
    for fact in follows {
        if let Fact::Escalated(data) = fact {
            let id = data.question_id.clone();
            draft.push(*data, question.clone().map(|body| Body::Question(Box::new(body))))?;
            draft.ask(&id, seat, id.to_string());
        } else {
            draft.push(fact, None)?;
        }
    }
    match ending(&draft.state) {
        Some(end) => draft.end(end)?,
        None => draft.schedule(),
    }
    Ok(Reply::Sent(reply(&draft.state, draft.state.envelopes.last().map(AsRef::as_ref), false)?))
}

fn may_send(draft: &Draft<'_>, send: &Send) -> Result<(), Refusal> {
    let seat = draft.seat(send.seat)?;
    match (&send.actor, seat.driver) {
        (Actor::Seat { seat: own }, Driver::External) if *own == send.seat => Ok(()),
        (Actor::Server, Driver::BuiltIn) => Ok(()),
        _ => Err(Refusal::NotPermitted),
    }
}

fn has_the_turn(state: &State, seat: SeatId) -> Result<(), Refusal> {
    match &state.phase {
        Phase::Drafting => Err(Refusal::Drafting),
        Phase::Ended(outcome) => Err(Refusal::RoomEnded { outcome: outcome.word().to_owned() }),
        Phase::Awaiting(id) => {
            Err(Refusal::AwaitingAnswer { seat: state.question(id).map_or(seat, |question| question.seat) })
        }
        Phase::Negotiating => match state.turn {
            Some(turn) if turn != seat => Err(Refusal::NotYourTurn { turn }),
            _ => Ok(()),
        },
    }
}

/// The answer given before, where this seat has sent this very message before (W-21).
fn repeated(state: &State, send: &Send, id: &str) -> Result<Option<Sent>, Refusal> {
    let Some(message) = state.messages.get(&(send.seat, id.to_owned())) else { return Ok(None) };
    let asked = state.questions.iter().find(|question| question.seq == message.seq);
    let salt = asked.and_then(|question| question.body.as_ref()).map(|body| body.salt);
    let again = CommittedInput::of(&send.envelope, &salt.unwrap_or(Salt::from_bytes([0; 32])))?;
    if message.input.as_deref() != Some(&again) {
        return Err(Refusal::IdempotencyConflict);
    }
    let envelope =
        state.envelopes.iter().map(AsRef::as_ref).find(|envelope: &&Envelope| envelope.seq == message.seq);
    reply(state, envelope, true).map(Some)
}

/// D22: a seat with a key signs every envelope; a seat without one signs none.
fn check_signature(state: &State, send: &Send, input: &CommittedInput) -> Result<(), Refusal> {
    let Some(key) = state.seat(send.seat).and_then(|seat| seat.key) else {
        return match send.signature {
            None => Ok(()),
            Some(_) => Err(Refusal::BadSignature),
        };
    };
    if send.envelope.escalation.as_ref().is_some_and(|asked| asked.salt.is_none()) {
        return Err(Refusal::SaltRequired);
    }
    let (Some(signature), Some(id), Some(room)) = (&send.signature, &send.msg_id, state.id()) else {
        return Err(Refusal::SignatureRequired);
    };
    let signature = Signature::from_base64url(signature).map_err(|_| Refusal::BadSignature)?;
    let hash = input.signing_hash(room, send.seat, id)?;
    key.verify(hash.as_bytes(), &signature).map_err(|_| Refusal::BadSignature)
}

/// What the principal reads of the question that this envelope asks.
fn asking(
    draft: &mut Draft<'_>,
    send: &Send,
    applied: &Applied,
    salt: Option<Salt>,
) -> Result<Option<QuestionBody>, Refusal> {
    let Some(asked) = &applied.question else { return Ok(None) };
    let own = send.envelope.escalation.as_ref();
    let (question, reason) = match (&asked.words, own) {
        (Some(words), _) => (words.clone(), String::new()),
        (None, own) => own.map(|own| (own.question.clone(), own.reason.clone())).unwrap_or_default(),
    };
    let salt = salt.unwrap_or(Salt::from_bytes(draft.env.bytes32()));
    Ok(Some(QuestionBody { question, reason, reasons: applied.reasons.clone(), salt }))
}

/// The envelope as it is recorded. `commitment` is that of its question's words.
pub(crate) fn envelope(
    state: &State,
    id: SeatId,
    message: &str,
    applied: &Applied,
    commitment: Option<Digest>,
) -> Result<Envelope, Refusal> {
    let gone = || Refusal::Bug("a seat without room or card has the turn".to_owned());
    let seat = state.seat(id).ok_or_else(gone)?;
    let room = state.id().ok_or_else(gone)?.clone();
    let intent_hash = seat.card_hash.ok_or_else(gone)?;
    let seq = enforce::next_seq(state);
    let offer_hash = match &applied.proposal {
        Some(proposal) => Some(proposal.offer_hash(&room, seq, id, intent_hash)?),
        None => None,
    };
    let proposal_hash = applied.proposal.as_ref().map(crate::Proposal::proposal_hash).transpose()?;
    // Questions cost no turn, so they have a cap of their own.
    if applied.question.is_some() && state.questions.len() >= most::QUESTIONS_PER_ROOM {
        return Err(Refusal::RoomLimit { limit: most::QUESTIONS_PER_ROOM });
    }
    let escalation = match (commitment, &applied.question) {
        (Some(commitment), Some(asked)) => Some(Escalation {
            id: QuestionId::nth(state.questions.len() + 1),
            commitment,
            claims: asked.claims.clone(),
            offer_hash: asked.offer,
            forced: asked.forced,
        }),
        _ => None,
    };
    Ok(Envelope {
        pxp: "0".to_owned(),
        room,
        seq,
        from: From {
            seat: id,
            principal: seat.name.clone(),
            speaker: Speaker::Proxy,
            agent: seat.agent.clone(),
        },
        intent_hash,
        message: message.to_owned(),
        claims: applied.claims.clone(),
        reviews: applied.reviews.clone(),
        status: applied.status,
        proposal: applied.proposal.clone(),
        proposal_hash,
        offer_hash,
        accepts: applied.accepts.clone(),
        authority: applied.authority.clone(),
        escalation,
        protocol_flags: applied.flags.clone(),
    })
}

fn record(
    draft: &mut Draft<'_>,
    send: &Send,
    envelope: Envelope,
    input: CommittedInput,
) -> Result<(), Refusal> {
    draft.push(
        EnvelopeSent {
            seq: envelope.seq,
            seat: send.seat,
            status: envelope.status,
            envelope_hash: envelope.hash()?,
            signed: send.signature.is_some(),
            payload: None,
        },
        Some(Body::Envelope(Box::new(Recorded {
            envelope: Arc::new(envelope),
            input: Arc::new(input),
            msg_id: send.msg_id.clone(),
            signature: send.signature.clone(),
        }))),
    )
}

/// What is recorded after an envelope, in the same append: its reviews, its question. What it ends, [`ending`] says.
pub(crate) fn follow(envelope: &Envelope, asked: Option<&Asked>) -> Vec<Fact> {
    let (seq, seat) = (envelope.seq, envelope.from.seat);
    let reviewed = |review: &Review| {
        Fact::from(Reviewed {
            seq,
            seat,
            claim_id: review.claim_id.clone(),
            verdict: review.verdict,
            payload: None,
        })
    };
    let mut facts: Vec<Fact> = envelope.reviews.iter().map(reviewed).collect();
    if let (Some(told), Some(asked)) = (&envelope.escalation, asked) {
        facts.push(Fact::from(Escalated {
            seat,
            seq,
            question_id: told.id.clone(),
            question_commitment: told.commitment,
            claims: told.claims.clone(),
            offer_hash: told.offer_hash,
            matter: asked.matter,
            forced: told.forced,
            payload: None,
        }));
    }
    facts
}

/// The end that the last envelope has brought about: agreement once every other seat has accepted, or that of the turns.
pub(crate) fn ending(state: &State) -> Option<Fact> {
    let last = state.envelopes.last()?;
    if last.status == Status::Escalate {
        return None;
    }
    let others = state.seats.len().saturating_sub(1);
    if let Some(hash) = last.accepts.as_ref().and_then(|accepts| accepts.offer_hash)
        && let Some(offer) = state.offer(hash).filter(|offer| offer.accepted.len() == others)
    {
        let accepted: Vec<SeatId> = offer.accepted.iter().map(|one| one.seat).collect();
        return Some(Fact::from(Agreement {
            proposal_hash: offer.proposal_hash,
            proposed_by: offer.seat,
            accepted_by: match accepted.as_slice() {
                [one] => AcceptedBy::One(*one),
                _ => AcceptedBy::All(accepted),
            },
            offer_hash: offer.hash,
            proposed_seq: offer.seq,
            payload: None,
        }));
    }
    let most = state.room.as_ref().map_or(0, |room| room.policy.max_turns);
    (state.turns >= most).then(|| Fact::from(TurnLimit { turns: state.turns, payload: None }))
}

fn reply(state: &State, envelope: Option<&Envelope>, replayed: bool) -> Result<Sent, Refusal> {
    let envelope = envelope.ok_or_else(|| Refusal::Bug("an envelope was not recorded".to_owned()))?;
    debug_assert!(state.envelopes.iter().any(|known| known.as_ref() == envelope));
    Ok(Sent {
        seq: envelope.seq,
        status: envelope.status,
        claims: envelope.claims.iter().map(|claim| claim.id.clone()).collect(),
        offer_hash: envelope.offer_hash,
        question_id: envelope.escalation.as_ref().map(|escalation| escalation.id.clone()),
        protocol_flags: envelope.protocol_flags.clone(),
        replayed,
    })
}
