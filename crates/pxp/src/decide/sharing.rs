//! Showing a card or a clause, share links, and replacing a seat's secret (W-10).

use super::Draft;
use crate::command::{Bearer, Disclose, Disclosed as What, Reply, Rotate, Share, Unshare};
use crate::event::{Body, Disclosed, DisclosureBody, SeatRotated, Shared, Unshared};
use crate::state::State;
use crate::wire::most;
use crate::{Refusal, ShareId};
use env::Timestamp;

/// Only the principal shows what is theirs; the words go to one seat.
pub(crate) fn disclose(draft: &mut Draft<'_>, disclose: &Disclose) -> Result<Reply, Refusal> {
    draft.principal(&disclose.actor, disclose.seat)?;
    let nothing = |what: &str| Refusal::NothingToDisclose { place: "/what".into(), what: what.to_owned() };
    let seat = draft.seat(disclose.seat)?;
    let (Some(card), Some(card_hash)) = (&seat.card, seat.card_hash) else { return Err(nothing("card")) };
    let (reference, body) = match disclose.what {
        What::Card => (None, DisclosureBody { card: Some(card.clone()), clause: None }),
        What::Clause(at) => {
            let clause = card.open_clause(at)?.ok_or_else(|| nothing(&at.to_string()))?;
            (Some(at), DisclosureBody { card: None, clause: Some(clause) })
        }
    };
    draft.push(
        Disclosed { seat: disclose.seat, to: disclose.to, reference, card_hash, payload: None },
        Some(Body::Disclosure(Box::new(body))),
    )?;
    Ok(Reply::Done)
}

pub(crate) fn share(draft: &mut Draft<'_>, share: &Share) -> Result<Reply, Refusal> {
    draft.hand(&share.actor, share.seat)?;
    let id = ShareId::nth(draft.state.shares.len() + 1);
    let secret = Bearer::fresh(draft.env);
    draft.push(
        Shared {
            seat: share.seat,
            id: id.clone(),
            scope: share.scope,
            secret_hash: secret.hash(),
            expires_at: share.expires_at.map(env::Timestamp::to_millis),
            payload: None,
        },
        None,
    )?;
    Ok(Reply::Shared { id, secret })
}

pub(crate) fn unshare(draft: &mut Draft<'_>, unshare: &Unshare) -> Result<Reply, Refusal> {
    draft.hand(&unshare.actor, unshare.seat)?;
    let link = draft.state.shares.iter().find(|link| link.id == unshare.share && link.seat == unshare.seat);
    match link {
        None => Err(Refusal::ShareUnknown),
        Some(link) if link.revoked => Ok(Reply::Done),
        Some(_) => {
            draft.push(Unshared { seat: unshare.seat, id: unshare.share.clone(), payload: None }, None)?;
            Ok(Reply::Done)
        }
    }
}

pub(crate) fn rotate(draft: &mut Draft<'_>, rotate: &Rotate) -> Result<Reply, Refusal> {
    draft.hand(&rotate.actor, rotate.seat)?;
    let secret = Bearer::fresh(draft.env);
    draft.push(SeatRotated { seat: rotate.seat, secret_hash: secret.hash(), payload: None }, None)?;
    Ok(Reply::Rotated { seat: rotate.seat, seat_secret: secret })
}

/// What a principal shows goes to another seat.
pub(super) fn may_disclose(state: &State, data: &Disclosed) -> Result<(), Refusal> {
    let seat = state.seat(data.seat).ok_or(Refusal::SeatUnknown { seat: data.seat })?;
    state.seat(data.to).ok_or(Refusal::SeatUnknown { seat: data.to })?;
    if data.to == data.seat {
        return Err(Refusal::BadValue { place: "/to".into(), detail: "that is the own seat".into() });
    }
    if state.disclosures.len() >= most::DISCLOSURES {
        return Err(Refusal::RoomLimit { limit: most::DISCLOSURES });
    }
    if seat.principal.audience.is_none() || seat.card_hash != Some(data.card_hash) {
        return Err(Refusal::WrongPerson);
    }
    Ok(())
}

/// Links are numbered, end later than now, and are not without number.
pub(super) fn may_share(state: &State, data: &Shared, at: Timestamp) -> Result<(), Refusal> {
    state.seat(data.seat).ok_or(Refusal::SeatUnknown { seat: data.seat })?;
    if data.expires_at.is_some_and(|end| end <= at) {
        return Err(Refusal::BadValue {
            place: "/expires_at".into(),
            detail: "that instant has passed".into(),
        });
    }
    if state.shares.iter().filter(|link| link.is_live(at)).count() >= most::SHARES
        || state.shares.len() >= most::SHARES * 10
    {
        return Err(Refusal::RoomLimit { limit: most::SHARES });
    }
    if data.id == ShareId::nth(state.shares.len() + 1) { Ok(()) } else { Err(Refusal::ShareUnknown) }
}

pub(super) fn may_unshare(state: &State, data: &Unshared) -> Result<(), Refusal> {
    let own = |link: &&crate::state::ShareLink| link.id == data.id && link.seat == data.seat && !link.revoked;
    state.shares.iter().find(own).map(|_| ()).ok_or(Refusal::ShareUnknown)
}

pub(super) fn may_rotate(state: &State, data: &SeatRotated) -> Result<(), Refusal> {
    let seat = state.seat(data.seat).ok_or(Refusal::SeatUnknown { seat: data.seat })?;
    if seat.secret.is_some() { Ok(()) } else { Err(Refusal::NotJoined) }
}
