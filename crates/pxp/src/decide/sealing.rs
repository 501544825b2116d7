//! Sealing a card, and sealing it anew while drafting (W-27).

use super::Draft;
use crate::command::{Driver, Reply, Seal};
use crate::event::{Body, CardSealed, CardSuperseded, Via};
use crate::state::{Phase, State};
use crate::wire::are_alike;
use crate::{Card, Refusal};
use canon::Salt;

pub(crate) fn seal(draft: &mut Draft<'_>, seal: &Seal) -> Result<Reply, Refusal> {
    let hand = draft.hand(&seal.actor, seal.seat)?;
    draft.going_on()?;
    may_draft(&draft.state)?;
    let card = Card::seal(&seal.card, Salt::from_bytes(draft.env.bytes32()))?;
    if let Some(card_hash) = draft.seat(seal.seat)?.card_hash {
        draft.push(CardSuperseded { seat: seal.seat, card_hash, payload: None }, None)?;
    }
    let card_hash = card.hash()?;
    draft.push(
        CardSealed {
            seat: seal.seat,
            principal: card.principal.name.clone(),
            card_hash,
            clause_root: card.clause_root()?,
            via: hand.via(),
            payload: None,
        },
        Some(Body::Card(Box::new(card))),
    )?;
    let negotiating = draft.state.phase == Phase::Negotiating;
    if negotiating {
        draft.schedule();
    }
    Ok(Reply::Sealed { seat: seal.seat, card_hash, negotiating })
}

/// A card is sealed while some seat has none, under a name that nobody takes for another seat's.
pub(super) fn may_seal(state: &State, data: &CardSealed) -> Result<(), Refusal> {
    may_draft(state)?;
    let seat = state.seat(data.seat).ok_or(Refusal::SeatUnknown { seat: data.seat })?;
    if seat.card_hash.is_some() {
        return Err(Refusal::Sealed);
    }
    let alike =
        |other: &&crate::state::Seat| other.id != data.seat && are_alike(&data.principal, &other.name);
    if let Some(twin) = state.seats.iter().find(alike) {
        return Err(Refusal::NameAlike { place: "/principal/name".into(), seat: twin.id });
    }
    // The agent's hand, or that of whoever answers for the seat.
    let by = match data.via {
        Via::Mcp => seat.agent.is_some() || seat.driver == Driver::BuiltIn,
        Via::Web => seat.principal.audience.is_some(),
    };
    if by { Ok(()) } else { Err(Refusal::NotJoined) }
}

pub(super) fn may_supersede(state: &State, data: &CardSuperseded) -> Result<(), Refusal> {
    may_draft(state)?;
    match state.seat(data.seat) {
        Some(seat) if seat.card_hash == Some(data.card_hash) => Ok(()),
        _ => Err(Refusal::Sealed),
    }
}

fn may_draft(state: &State) -> Result<(), Refusal> {
    if state.phase == Phase::Drafting { Ok(()) } else { Err(Refusal::Sealed) }
}
