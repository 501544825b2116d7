//! Withdrawing an offer, leaving, the pause switch, and what the clock does (W-08, W-17, D8, D29).

use super::Draft;
use crate::command::{Actor, Leave, Pause, Reply, Resume, WithdrawOffer};
use crate::event::{OfferExpired, OfferWithdrawn, RoomPaused, RoomResumed, Stalled, Withdrawn};
use crate::state::OfferStanding;
use crate::wire::{self, most};
use crate::{Refusal, SeatId};

pub(crate) fn withdraw(draft: &mut Draft<'_>, withdraw: &WithdrawOffer) -> Result<Reply, Refusal> {
    let hand = draft.hand(&withdraw.actor, withdraw.seat)?;
    draft.going_on()?;
    wire::bounded("/reason", &withdraw.reason, most::REASON)?;
    let now = draft.now();
    let offer = draft.state.offer(withdraw.offer_hash).ok_or(Refusal::OfferUnknown)?;
    if offer.seat != withdraw.seat {
        return Err(Refusal::NotPermitted);
    }
    open_offer(offer.standing, offer.expires_at.is_some_and(|end| now >= end))?;
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
    wire::bounded("/reason", &leave.reason, most::REASON)?;
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
    wire::bounded("/reason", &pause.reason, most::REASON)?;
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
