//! Whether an entry may be recorded in a room. The server asks before it records, and whoever replays a room asks again:
//! one list of rules. Envelopes and what they bring about are made by enforcement ([`super::sending`]), so they are
//! compared with what it makes.

use super::{answering, claiming, leaving, opening, sealing, sharing};
use crate::Refusal;
use crate::event::{Body, Fact};
use crate::state::{Phase, State};
use crate::wire::{self, most};
use env::Timestamp;

/// `body` is the private part, where it is at hand.
pub(crate) fn may_record(
    state: &State,
    fact: &Fact,
    body: Option<&Body>,
    at: Timestamp,
) -> Result<(), Refusal> {
    may_follow(state, fact)?;
    let proof = match body {
        Some(Body::Proof(proof)) => Some(proof.as_ref()),
        _ => None,
    };
    let answer = match body {
        Some(Body::Answer(answer)) => Some(answer.as_ref()),
        _ => None,
    };
    match fact {
        Fact::RoomOpened(data) => opening::may_open(state, data),
        Fact::AgentJoined(data) => opening::may_join(state, data),
        Fact::PrincipalEnrolled(data) => opening::may_enrol(state, data),
        Fact::CardSealed(data) => sealing::may_seal(state, data),
        Fact::CardSuperseded(data) => sealing::may_supersede(state, data),
        Fact::AnswerRelayed(data) => answering::may_relay(state, data, answer, at),
        Fact::AnswerDisowned(data) => answering::may_disown(state, data, proof, at),
        Fact::PrincipalAnswer(data) => answering::may_answer(state, data, answer, at),
        Fact::ClaimConfirmed(data) => claiming::may_confirm(state, data, proof, at),
        Fact::SourceAttached(data) => claiming::may_attach(state, data),
        Fact::OfferWithdrawn(data) => leaving::may_withdraw(state, data, at),
        Fact::OfferExpired(data) => leaving::may_expire(state, data, at),
        Fact::Stalled(data) => leaving::may_stall(state, data, at),
        Fact::Withdrawn(data) => leaving::may_leave(state, data),
        Fact::Disclosed(data) => sharing::may_disclose(state, data),
        Fact::Shared(data) => sharing::may_share(state, data, at),
        Fact::Unshared(data) => sharing::may_unshare(state, data),
        Fact::SeatRotated(data) => sharing::may_rotate(state, data),
        Fact::RoomPaused(data) => wire::bounded("/reason", &data.reason, most::REASON),
        Fact::RoomResumed(_) if state.paused.is_none() => Err(Refusal::NotPermitted),
        Fact::RoomResumed(_)
        | Fact::EnvelopeSent(_)
        | Fact::Reviewed(_)
        | Fact::Escalated(_)
        | Fact::Agreement(_)
        | Fact::TurnLimit(_)
        | Fact::BriefRecorded(_) => Ok(()),
    }
}

/// First the room is opened. A pause stops all but its end and taking credentials away; what follows the end of the room
/// shows, shares, and describes it.
fn may_follow(state: &State, fact: &Fact) -> Result<(), Refusal> {
    if state.room.is_none() && !matches!(fact, Fact::RoomOpened(_)) {
        return Err(Refusal::RoomUnknown);
    }
    let takes_away = matches!(fact, Fact::RoomResumed(_) | Fact::Unshared(_) | Fact::SeatRotated(_));
    if state.paused.is_some() && !takes_away {
        return Err(Refusal::Paused);
    }
    let outlives =
        takes_away || matches!(fact, Fact::BriefRecorded(_) | Fact::Disclosed(_) | Fact::Shared(_));
    match state.phase {
        Phase::Ended(outcome) if !outlives => Err(Refusal::RoomEnded { outcome: outcome.word().to_owned() }),
        _ => Ok(()),
    }
}
