//! The four cases in which a seat must ask (seed section 5, D27), each a reason with a name. A reason that the principal
//! has allowed for the same matter is none any more.

use super::Sight;
use crate::brief::granting;
use crate::envelope::{Flag, Review};
use crate::event::Reason;
use crate::limit::{Reading, TermValue};
use crate::state::{Claim, State};
use crate::wire::{Cited, Origin, Ruling, Verdict};
use crate::{Card, ClaimId, ClauseRef, List, SeatId};
use canon::Digest;

/// What the seat would be bound to.
pub(super) struct Subject<'a> {
    pub terms: usize,
    pub values: &'a [TermValue],
    pub depends_on: &'a [ClaimId],
    pub authority: &'a [Cited],
    pub matter: Digest,
    /// Another seat's offer, which this one would make final; else its own.
    pub accepting: bool,
}

pub(super) fn reasons(
    state: &State,
    seat: SeatId,
    card: Sight<'_>,
    subject: &Subject<'_>,
    reviews: &[Review],
) -> Vec<Reason> {
    let mut reasons = card.card.map(|card| limits(card, subject)).unwrap_or_default();
    reasons.extend(uncited(subject));
    if subject.accepting {
        reasons.extend(assumptions(state, seat, subject, reviews));
    }
    // What a question allowed is in its words; where they are withheld the record says what was.
    let unknown = card.told.is_some()
        && state.ruled(seat, subject.matter, Ruling::Allow).any(|question| question.body.is_none());
    let allowed = state.allowed(seat, subject.matter);
    reasons.retain(|reason| {
        !allowed.iter().any(|other| other.code == reason.code && other.subject == reason.subject)
            && (!unknown || card.flagged(&flag(reason)))
    });
    if card.card.is_none() {
        reasons.splice(0..0, told(card));
    }
    // Only a ruling that names the claim clears a dispute, whatever else it allows (W-06).
    reasons.extend(disputes(state, seat, subject, reviews));
    reasons
}

/// The public side of a reason: what happened, without what the card says.
pub(super) fn flag(reason: &Reason) -> Flag {
    let message = match reason.code.as_str() {
        "limit_crossed" => "a term is outside a typed limit of the seat's card".to_owned(),
        "limit_unreadable" => "a typed limit of the seat's card cannot be read against the offer".to_owned(),
        "escalate_when" => "a typed condition to ask the principal is met".to_owned(),
        "term_uncited" => format!("{} cites no clause that allows it", reason.subject),
        "conflict_unresolved" => format!("the seat holds {} to be in conflict with its card", reason.subject),
        "disputed_dependency" => format!("the offer depends on {}, which the seat disputes", reason.subject),
        _ => format!("the offer depends on {}, an assumption that touches a must-have", reason.subject),
    };
    Flag::new(&reason.code, message)
}

fn limits(card: &Card, subject: &Subject<'_>) -> Vec<Reason> {
    let of = |limit: &crate::limit::Limit| {
        let (code, detail) = match limit.read(subject.values) {
            Reading::Holds => return None,
            Reading::Crossed => ("limit_crossed", "the offer is outside this limit"),
            Reading::Triggered => ("escalate_when", "the offer meets this condition"),
            Reading::Unreadable => {
                ("limit_unreadable", "the offer has no value that this limit can be read against")
            }
        };
        Some(reason(code, limit.describe(), detail))
    };
    card.limits.iter().filter_map(of).collect()
}

/// The reasons of limits that the record gives.
fn told(card: Sight<'_>) -> Vec<Reason> {
    let codes = ["limit_crossed", "limit_unreadable", "escalate_when"];
    let flags = card.flags().iter().filter(|flag| codes.contains(&flag.code.as_str()));
    flags.map(|flag| reason(&flag.code, String::new(), "")).collect()
}

fn uncited(subject: &Subject<'_>) -> Vec<Reason> {
    (0..subject.terms)
        .filter(|term| granting(subject.authority, *term).is_empty())
        .map(|term| {
            reason(
                "term_uncited",
                format!("term {}", term + 1),
                "no must-have, concession or answer covers it",
            )
        })
        .collect()
}

/// An own conflict stands in the way of any agreement, and of an offer that depends on the claim; a challenge in the way
/// of agreeing to what depends on the claim.
fn disputes(state: &State, seat: SeatId, subject: &Subject<'_>, reviews: &[Review]) -> Vec<Reason> {
    let old = state.disputes(seat).map(|(claim, review)| (&claim.id, review.verdict));
    let new = reviews.iter().map(|review| (&review.claim_id, review.verdict));
    let mut reasons: Vec<Reason> = Vec::new();
    for (claim, verdict) in old.chain(new) {
        let depends = subject.depends_on.contains(claim);
        let found = match verdict {
            Verdict::Conflict if subject.accepting || depends => reason(
                "conflict_unresolved",
                claim.to_string(),
                "your agent found it in conflict with your card",
            ),
            Verdict::Challenge if subject.accepting && depends => {
                reason("disputed_dependency", claim.to_string(), "your agent could not verify it")
            }
            _ => continue,
        };
        if !reasons.contains(&found) {
            reasons.push(found);
        }
    }
    reasons
}

/// A source that an agent attaches clears nothing here: only a principal's word does (D27).
fn assumptions(state: &State, seat: SeatId, subject: &Subject<'_>, reviews: &[Review]) -> Vec<Reason> {
    let links = |claim: &Claim| {
        let earlier =
            claim.reviews.iter().filter(|review| review.by == seat).flat_map(|review| &review.touches);
        let now =
            reviews.iter().filter(|review| review.claim_id == claim.id).flat_map(|review| &review.touches);
        let own = claim.touches.iter().chain(&claim.reference).filter(|_| claim.seat == seat);
        earlier.chain(now).chain(own).any(|clause| must_have(clause))
    };
    subject
        .depends_on
        .iter()
        .filter_map(|id| state.claim(id))
        .filter(|claim| claim.origin == Origin::Assumed && !state.is_confirmed(claim) && links(claim))
        .map(|claim| {
            reason("assumed_must_have", claim.id.to_string(), "it is assumed, and a must-have rests on it")
        })
        .collect()
}

fn must_have(clause: &str) -> bool {
    clause.parse::<ClauseRef>().is_ok_and(|clause| clause.list == List::MustHaves)
}

fn reason(code: &str, subject: String, detail: &str) -> Reason {
    Reason { code: code.to_owned(), subject, detail: detail.to_owned() }
}
