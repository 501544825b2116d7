//! Withdrawing an offer, leaving, the pause switch, and what the clock does (W-08, W-17, D8, D29).

use super::Draft;
use crate::command::{Actor, Leave, Pause, Reply, Resume, WithdrawOffer};
use crate::event::{OfferExpired, OfferWithdrawn, RoomPaused, RoomResumed, Stalled, Withdrawn};
use crate::state::{Offer, OfferStanding, State};
use crate::wire::{self, most};
use crate::{Refusal, SeatId};
use env::Timestamp;

pub(crate) fn withdraw(draft: &mut Draft<'_>, withdraw: &WithdrawOffer) -> Result<Reply, Refusal> {
    let hand = draft.hand(&withdraw.actor, withdraw.seat)?;
    draft.going_on()?;
    draft.push(
        OfferWithdrawn {
            seat: withdraw.seat,
            offer_hash: withdraw.offer_hash,
            by_principal: hand.is_principal(),
            reason: withdraw.reason.clone(),
            payload: None,
        },
        None,
    )?;
    Ok(Reply::Done)
}

pub(crate) fn leave(draft: &mut Draft<'_>, leave: &Leave) -> Result<Reply, Refusal> {
    let hand = draft.hand(&leave.actor, leave.seat)?;
    draft.going_on()?;
    draft.end(Withdrawn {
        seat: leave.seat,
        by_principal: hand.is_principal(),
        reason: leave.reason.clone(),
        payload: None,
    })?;
    Ok(Reply::Done)
}

pub(crate) fn pause(draft: &mut Draft<'_>, pause: &Pause) -> Result<Reply, Refusal> {
    switch(draft, &pause.actor)?;
    draft.going_on()?;
    draft.push(RoomPaused { reason: pause.reason.clone(), payload: None }, None)?;
    Ok(Reply::Done)
}

pub(crate) fn resume(draft: &mut Draft<'_>, resume: &Resume) -> Result<Reply, Refusal> {
    switch(draft, &resume.actor)?;
    if draft.state.paused.is_none() {
        return Ok(Reply::Done);
    }
    draft.push(RoomResumed { payload: None }, None)?;
    draft.schedule();
    Ok(Reply::Done)
}

/// Ends a room whose deadline has passed, and marks offers that have lapsed. Nothing due changes nothing.
pub(crate) fn tick(draft: &mut Draft<'_>) -> Result<Reply, Refusal> {
    if draft.state.is_ended() || draft.state.paused.is_some() {
        return Ok(Reply::Done);
    }
    let now = draft.now();
    let lapsed: Vec<OfferExpired> = draft
        .state
        .offers
        .iter()
        .filter(|offer| offer.standing == OfferStanding::Open && !offer.is_open(now))
        .map(|offer| OfferExpired { seat: offer.seat, offer_hash: offer.hash, payload: None })
        .collect();
    for offer in lapsed {
        draft.push(offer, None)?;
    }
    if let (Some((at, reason)), Some(seat)) = (draft.state.deadline(), draft.state.turn)
        && now >= at
    {
        draft.end(Stalled { reason, seat, payload: None })?;
    }
    Ok(Reply::Done)
}

/// The seat that made an open offer takes it back.
pub(super) fn may_withdraw(state: &State, data: &OfferWithdrawn, at: Timestamp) -> Result<(), Refusal> {
    wire::bounded("/reason", &data.reason, most::REASON)?;
    let offer = state.offer(data.offer_hash).ok_or(Refusal::OfferUnknown)?;
    if offer.seat != data.seat {
        return Err(Refusal::NotPermitted);
    }
    is_hand(state, data.seat, data.by_principal)?;
    open_offer(offer.standing, offer.expires_at.is_some_and(|end| at >= end))
}

/// An open offer lapses at its expiry, not before.
pub(super) fn may_expire(state: &State, data: &OfferExpired, at: Timestamp) -> Result<(), Refusal> {
    let offer = state.offer(data.offer_hash).ok_or(Refusal::OfferUnknown)?;
    if offer.seat != data.seat || offer.standing != OfferStanding::Open || offer.is_open(at) {
        return Err(Refusal::NotPermitted);
    }
    Ok(())
}

pub(super) fn may_leave(state: &State, data: &Withdrawn) -> Result<(), Refusal> {
    wire::bounded("/reason", &data.reason, most::REASON)?;
    is_hand(state, data.seat, data.by_principal)
}

/// A room ends by its deadline once that has come, and once the offers that have lapsed are marked.
pub(super) fn may_stall(state: &State, data: &Stalled, at: Timestamp) -> Result<(), Refusal> {
    let due = state.deadline().is_some_and(|(due, reason)| at >= due && reason == data.reason);
    let lapsed = |offer: &Offer| offer.standing == OfferStanding::Open && !offer.is_open(at);
    if due && state.turn == Some(data.seat) && !state.offers.iter().any(lapsed) {
        Ok(())
    } else {
        Err(Refusal::NotPermitted)
    }
}

/// The seat is there, and somebody answers for it where its principal is said to have acted.
fn is_hand(state: &State, seat: SeatId, by_principal: bool) -> Result<(), Refusal> {
    let found = state.seat(seat).ok_or(Refusal::SeatUnknown { seat })?;
    if by_principal && found.principal.audience.is_none() { Err(Refusal::WrongPerson) } else { Ok(()) }
}

/// Refuses an offer that no longer, or never, bound.
pub(crate) fn open_offer(standing: OfferStanding, past: bool) -> Result<(), Refusal> {
    match standing {
        OfferStanding::Open if past => Err(Refusal::OfferExpired),
        OfferStanding::Open => Ok(()),
        OfferStanding::Draft => Err(Refusal::OfferDraft),
        OfferStanding::Superseded => Err(Refusal::OfferSuperseded),
        OfferStanding::Withdrawn => Err(Refusal::OfferWithdrawn),
        OfferStanding::Expired => Err(Refusal::OfferExpired),
        OfferStanding::Agreed => Err(Refusal::RoomEnded { outcome: "agreed".to_owned() }),
    }
}

/// The switch is in the hands of this server, which checks its operators, and of the opener's principal.
fn switch(draft: &Draft<'_>, actor: &Actor) -> Result<(), Refusal> {
    match actor {
        Actor::Server => Ok(()),
        other => draft.principal(other, SeatId::A).map(|_| ()),
    }
}
