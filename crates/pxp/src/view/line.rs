//! One line of a view each.

use crate::command::{Driver, Scope};
use crate::limit::TermValue;
use crate::state::{Asked, Claim, Disclosure, Offer, OfferStanding, Question, Seat, ShareLink, State};
use crate::wire::{Cited, Origin, Source, Verdict};
use crate::{
    Card, ClaimId, ClauseOpening, Envelope, Flag, QuestionId, Ruling, SeatId, ShareId, Speaker, Status,
};
use approvals::Audience;
use canon::Digest;
use env::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// A seat, as every seat sees it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SeatView {
    pub seat: SeatId,
    pub principal: String,
    /// The agent's label; absent before it joins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    pub built_in: bool,
    pub card_sealed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub card_hash: Option<Digest>,
    /// The thumbprint of the key that signs its envelopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signs_with: Option<String>,
    /// `nobody`, `member`, `approvers` or `holder`.
    pub answered_by: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShareView {
    pub id: ShareId,
    #[schemars(with = "String")]
    pub scope: Scope,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub expires_at: Option<Timestamp>,
    pub live: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClaimView {
    pub id: ClaimId,
    pub seat: SeatId,
    pub speaker: Speaker,
    pub text: String,
    pub origin: Origin,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restates: Option<ClaimId>,
    pub verified: bool,
    /// A principal has said that it is wrong.
    pub denied: bool,
    pub reviews: Vec<ReviewView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReviewView {
    pub by: SeatId,
    pub verdict: Verdict,
    pub reason: String,
    pub seq: u64,
    pub cleared: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OfferView {
    #[schemars(with = "String")]
    pub offer_hash: Digest,
    pub seq: u64,
    pub seat: SeatId,
    pub terms: Vec<String>,
    pub values: Vec<TermValue>,
    pub depends_on: Vec<ClaimId>,
    #[schemars(with = "String")]
    pub standing: OfferStanding,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub expires_at: Option<Timestamp>,
    pub accepted_by: Vec<SeatId>,
}

/// An envelope, compact (spec 2.5).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EnvelopeView {
    pub seq: u64,
    pub seat: SeatId,
    /// `A (Ana's proxy, Agent A)`.
    pub from: String,
    pub status: Status,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimLine>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<crate::Review>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ProposalView>,
    /// The offer hash that this envelope accepts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub accepts: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation: Option<EscalationView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocol_flags: Vec<Flag>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClaimLine {
    pub id: ClaimId,
    pub origin: Origin,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProposalView {
    pub terms: Vec<String>,
    pub depends_on: Vec<ClaimId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<TermValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authority: Vec<Cited>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub offer_hash: Option<Digest>,
}

/// An escalation; its words only for the side that asked.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EscalationView {
    pub question_id: QuestionId,
    pub forced: bool,
    pub claims: Vec<ClaimId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ruling: Option<Ruling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_summary: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DisclosureView {
    pub from: SeatId,
    pub to: SeatId,
    #[schemars(with = "String")]
    pub at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clause: Option<ClauseOpening>,
    /// Checked against the hash or root that the other side's `card_sealed` published.
    pub verified: bool,
}

pub(super) fn seat(_state: &State, seat: &Seat) -> SeatView {
    SeatView {
        seat: seat.id,
        principal: seat.name.clone(),
        proxy: seat.agent.clone(),
        built_in: seat.driver == Driver::BuiltIn,
        card_sealed: seat.card_hash.is_some(),
        card_hash: seat.card_hash,
        signs_with: seat.key.map(|key| key.thumbprint().to_string()),
        answered_by: match seat.principal.audience {
            None => "nobody",
            Some(Audience::Member { .. }) => "member",
            Some(Audience::Approvers { .. }) => "approvers",
            Some(Audience::Holder { .. }) => "holder",
        },
    }
}

pub(super) fn share(share: &ShareLink, now: Timestamp) -> ShareView {
    ShareView {
        id: share.id.clone(),
        scope: share.scope,
        expires_at: share.expires_at,
        live: share.is_live(now),
    }
}

pub(super) fn claim(state: &State, claim: &Claim) -> ClaimView {
    ClaimView {
        id: claim.id.clone(),
        seat: claim.seat,
        speaker: claim.speaker,
        text: claim.text.clone(),
        origin: claim.origin,
        reference: claim.reference.clone(),
        source: claim.source.clone(),
        restates: claim.restates.clone(),
        verified: state.is_verified(claim),
        denied: claim.settled.as_ref().is_some_and(|settled| !settled.accept),
        reviews: claim
            .reviews
            .iter()
            .map(|review| ReviewView {
                by: review.by,
                verdict: review.verdict,
                reason: review.reason.clone(),
                seq: review.seq,
                cleared: review.cleared,
            })
            .collect(),
    }
}

pub(super) fn offer(offer: &Offer, now: Timestamp) -> OfferView {
    let lapsed = offer.standing == OfferStanding::Open && !offer.is_open(now);
    OfferView {
        offer_hash: offer.hash,
        seq: offer.seq,
        seat: offer.seat,
        terms: offer.terms.clone(),
        values: offer.values.clone(),
        depends_on: offer.depends_on.clone(),
        standing: if lapsed { OfferStanding::Expired } else { offer.standing },
        expires_at: offer.expires_at,
        accepted_by: offer.accepted.iter().map(|one| one.seat).collect(),
    }
}

pub(super) fn envelope(state: &State, envelope: &Envelope, viewer: Option<SeatId>) -> EnvelopeView {
    let from = &envelope.from;
    let agent = from.agent.as_ref().map(|agent| format!(", {agent}")).unwrap_or_default();
    EnvelopeView {
        seq: envelope.seq,
        seat: from.seat,
        from: format!("{} ({}'s proxy{agent})", from.seat, from.principal),
        status: envelope.status,
        message: envelope.message.clone(),
        claims: envelope
            .claims
            .iter()
            .map(|claim| ClaimLine {
                id: claim.id.clone(),
                origin: claim.origin,
                reference: claim.reference.clone(),
                text: claim.text.clone(),
            })
            .collect(),
        reviews: envelope.reviews.clone(),
        proposal: envelope.proposal.as_ref().map(|proposal| ProposalView {
            terms: proposal.terms.clone(),
            depends_on: proposal.depends_on.clone(),
            values: proposal.values.clone(),
            authority: proposal.authority.clone(),
            offer_hash: envelope.offer_hash,
        }),
        accepts: envelope.accepts.as_ref().and_then(|accepts| accepts.offer_hash),
        escalation: envelope
            .escalation
            .as_ref()
            .and_then(|escalation| state.question(&escalation.id))
            .map(|question| escalation(question, viewer == Some(question.seat))),
        protocol_flags: envelope.protocol_flags.clone(),
    }
}

fn escalation(question: &Question, own: bool) -> EscalationView {
    let answered = match &question.state {
        Asked::Answered(answered) => Some(answered.as_ref()),
        Asked::Open | Asked::Held(_) => None,
    };
    let words = super::question(question).filter(|_| own);
    EscalationView {
        question_id: question.id.clone(),
        forced: question.forced,
        claims: question.claims.clone(),
        question: words.as_ref().map(|words| words.question.clone()),
        answer: words.and_then(|words| words.answer),
        ruling: answered.map(|answered| answered.ruling),
        public_summary: answered.and_then(|answered| answered.public_summary.clone()),
    }
}

pub(super) fn disclosure(shown: &Disclosure) -> DisclosureView {
    let card = shown.card.as_ref().is_some_and(|card| card.hash().is_ok_and(|hash| hash == shown.card_hash));
    let clause = match (&shown.clause, shown.clause_root) {
        (Some(clause), Some(root)) => clause.is_of(root).unwrap_or(false),
        _ => false,
    };
    DisclosureView {
        from: shown.from,
        to: shown.to,
        at: shown.at,
        card: shown.card.clone(),
        clause: shown.clause.clone(),
        verified: card || clause,
    }
}
