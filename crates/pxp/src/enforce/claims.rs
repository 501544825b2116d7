//! Claims get their ids and their true origin; reviews must be of others' claims, and complete.

use super::sight::{Clause, Sight};
use crate::envelope::{CommittedInput, EnvelopeClaim, Flag, Review};
use crate::state::{Claim, State};
use crate::wire::{ClaimInput, Origin, Status};
use crate::{ClaimId, Refusal, SeatId};

/// Reviews of this envelope. Refused: a claim that does not exist or is the seat's own, two reviews of one claim, and,
/// unless the seat only asks its principal, a claim of the others left without one (W-23).
pub(super) fn review(
    state: &State,
    seat: SeatId,
    card: Sight<'_>,
    input: &CommittedInput,
) -> Result<Vec<Review>, Refusal> {
    let mut reviews: Vec<Review> = Vec::new();
    for (index, review) in input.reviews.iter().enumerate() {
        let place = format!("/reviews/{index}/claim_id");
        let id = resolve(state, &[], &review.claim_id, place.clone())?;
        if state.claim(&id).is_some_and(|claim| claim.seat == seat) {
            return Err(Refusal::OwnClaim { place, id });
        }
        if reviews.iter().any(|other| other.claim_id == id) {
            return Err(Refusal::BadValue { place, detail: "reviewed twice".into() });
        }
        let touches = touching(card, &review.touches, &format!("/reviews/{index}/touches"))?;
        reviews.push(Review {
            claim_id: id,
            verdict: review.verdict,
            reason: review.reason.clone(),
            touches,
        });
    }
    if input.status != Status::Escalate {
        let missing = |claim: &&Claim| !reviews.iter().any(|review| review.claim_id == claim.id);
        let ids: Vec<ClaimId> =
            state.to_review(seat).into_iter().filter(missing).map(|claim| claim.id.clone()).collect();
        if !ids.is_empty() {
            return Err(Refusal::UnreviewedClaims { ids });
        }
    }
    Ok(reviews)
}

/// Claims with ids `<seat><seq>.<k>` and the origin that holds (W-05).
pub(super) fn make(
    state: &State,
    seat: SeatId,
    card: Sight<'_>,
    seq: u64,
    inputs: &[ClaimInput],
    flags: &mut Vec<Flag>,
) -> Result<Vec<EnvelopeClaim>, Refusal> {
    let mut made = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        let id = ClaimId::of_envelope(seat, seq, index + 1);
        let touches = touching(card, &input.touches, &format!("/claims/{index}/touches"))?;
        let restated = restated(state, seat, input);
        let (origin, flag) = origin(state, card, &id, input, restated);
        if let Some((code, why)) = flag {
            flags.push(Flag::new(code, format!("{id} is {}: {why}", word(origin))));
        }
        made.push(EnvelopeClaim {
            id,
            text: input.text.clone(),
            origin,
            reference: input.reference.clone().filter(|reference| !reference.trim().is_empty()),
            quote: input.quote.clone(),
            source: input.source.clone(),
            touches,
            restates: restated.map(|claim| claim.id.clone()),
        });
    }
    Ok(made)
}

/// A claim id, or `new<k>` for the k-th of `new`. Refuses one that the room does not have.
pub(super) fn resolve(
    state: &State,
    new: &[EnvelopeClaim],
    id: &str,
    place: String,
) -> Result<ClaimId, Refusal> {
    let unknown = || Refusal::UnknownClaim { place: place.clone(), id: id.to_owned() };
    if let Some(k) = id.strip_prefix("new").and_then(|k| k.parse::<usize>().ok()) {
        return k.checked_sub(1).and_then(|k| new.get(k)).map(|claim| claim.id.clone()).ok_or_else(unknown);
    }
    let parsed: ClaimId = id.parse().map_err(|_| unknown())?;
    let known = state.claim(&parsed).is_some() || new.iter().any(|claim| claim.id == parsed);
    if known { Ok(parsed) } else { Err(unknown()) }
}

/// Clause names that bear on a claim: each must be on the seat's card.
fn touching(card: Sight<'_>, touches: &[String], place: &str) -> Result<Vec<String>, Refusal> {
    for (index, clause) in touches.iter().enumerate() {
        if !card.has(clause) {
            return Err(Refusal::UnknownClause { place: format!("{place}/{index}"), clause: clause.clone() });
        }
    }
    Ok(touches.to_vec())
}

/// The other side's claim that this one repeats: the one it cites, or the first with the same words, unless the seat
/// itself said so first.
fn restated<'a>(state: &'a State, seat: SeatId, input: &ClaimInput) -> Option<&'a Claim> {
    let cited = input.reference.as_deref().and_then(|reference| reference.trim().parse::<ClaimId>().ok());
    if let Some(cited) = cited.and_then(|id| state.claim(&id)).filter(|claim| claim.seat != seat) {
        return Some(cited);
    }
    state.said.first(&input.text).and_then(|at| state.claims.get(at)).filter(|first| first.seat != seat)
}

fn origin(
    state: &State,
    card: Sight<'_>,
    id: &ClaimId,
    input: &ClaimInput,
    restated: Option<&Claim>,
) -> (Origin, Option<(&'static str, String)>) {
    let assumed = |code, why: &str| (Origin::Assumed, Some((code, why.to_owned())));
    if let Some(first) = restated {
        if input.source.is_some() {
            return (Origin::Sourced, None);
        }
        if first.origin == input.origin {
            return (first.origin, None);
        }
        let why = format!("it repeats {} of seat {} and keeps that claim's origin", first.id, first.seat);
        return (first.origin, Some(("restated_claim", why)));
    }
    let reference = input.reference.as_deref().map(str::trim).filter(|reference| !reference.is_empty());
    match (input.origin, reference) {
        (Origin::Assumed, _) => (Origin::Assumed, None),
        (Origin::Sourced, None) if input.source.is_none() => {
            assumed("claim_without_ref", "a sourced claim names its source")
        }
        (Origin::Sourced, _) => (Origin::Sourced, None),
        (Origin::Stated, None) => assumed("claim_without_ref", "a stated claim names a clause"),
        (Origin::Stated, Some(reference)) => match card.states(id, reference, input.quote.as_deref()) {
            Clause::Says => (Origin::Stated, None),
            Clause::SaysOtherwise => assumed("quote_not_in_clause", "the words quoted are not in the clause"),
            Clause::Missing if names_a_claim(state, reference) => {
                assumed("claim_cites_claim", "a stated claim names a clause, not a claim")
            }
            Clause::Missing => assumed("ref_unresolved", "the seat's card has no such clause"),
        },
    }
}

fn names_a_claim(state: &State, reference: &str) -> bool {
    reference.parse::<ClaimId>().is_ok_and(|id| state.claim(&id).is_some())
}

pub(super) fn quotes(clause: &str, quote: &str) -> bool {
    let quote = normal(quote);
    !quote.is_empty() && normal(clause).contains(&quote)
}

/// Words as compared: case, spacing and closing punctuation aside.
pub(crate) fn normal(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ").trim_end_matches(['.', '!', '?', ',', ';', ':']).to_owned()
}

const fn word(origin: Origin) -> &'static str {
    match origin {
        Origin::Stated => "stated",
        Origin::Sourced => "sourced",
        Origin::Assumed => "assumed",
    }
}
