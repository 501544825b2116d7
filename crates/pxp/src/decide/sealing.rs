//! Sealing a card, and sealing it anew while drafting (W-27).

use super::Draft;
use crate::command::{Reply, Seal};
use crate::event::{Body, CardSealed, CardSuperseded};
use crate::state::Phase;
use crate::wire::are_alike;
use crate::{Card, Refusal};
use canon::Salt;

pub(crate) fn seal(draft: &mut Draft<'_>, seal: &Seal) -> Result<Reply, Refusal> {
    let hand = draft.hand(&seal.actor, seal.seat)?;
    draft.going_on()?;
    if draft.state.phase != Phase::Drafting {
        return Err(Refusal::Sealed);
    }
    let card = Card::seal(&seal.card, Salt::from_bytes(draft.env.bytes32()))?;
    let name = &card.principal.name;
    let alike = |other: &&crate::state::Seat| other.id != seal.seat && are_alike(name, &other.name);
    if let Some(twin) = draft.state.seats.iter().find(alike) {
        return Err(Refusal::NameAlike { place: "/principal/name".into(), seat: twin.id });
    }
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
