//! Showing a card or a clause, share links, and replacing a seat's secret (W-10).

use super::Draft;
use crate::command::{Bearer, Disclose, Disclosed as What, Reply, Rotate, Share, Unshare};
use crate::event::{Body, Disclosed, DisclosureBody, SeatRotated, Shared, Unshared};
use crate::wire::most;
use crate::{Refusal, ShareId};

/// Only the principal shows what is theirs; the words go to one seat.
pub(crate) fn disclose(draft: &mut Draft<'_>, disclose: &Disclose) -> Result<Reply, Refusal> {
    draft.principal(&disclose.actor, disclose.seat)?;
    draft.seat(disclose.to)?;
    if disclose.to == disclose.seat {
        return Err(Refusal::BadValue { place: "/to".into(), detail: "that is the own seat".into() });
    }
    if draft.state.disclosures.len() >= most::DISCLOSURES {
        return Err(Refusal::RoomLimit { limit: most::DISCLOSURES });
    }
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
    let now = draft.now();
    if share.expires_at.is_some_and(|end| end <= now) {
        return Err(Refusal::BadValue {
            place: "/expires_at".into(),
            detail: "that instant has passed".into(),
        });
    }
    if draft.state.shares.iter().filter(|link| link.is_live(now)).count() >= most::SHARES
        || draft.state.shares.len() >= most::SHARES * 10
    {
        return Err(Refusal::RoomLimit { limit: most::SHARES });
    }
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
    if draft.seat(rotate.seat)?.secret.is_none() {
        return Err(Refusal::NotJoined);
    }
    let secret = Bearer::fresh(draft.env);
    draft.push(SeatRotated { seat: rotate.seat, secret_hash: secret.hash(), payload: None }, None)?;
    Ok(Reply::Rotated { seat: rotate.seat, seat_secret: secret })
}
