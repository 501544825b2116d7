//! A room as its entries make it. Fields are read by `decide` and the views; only `evolve` writes them.

use crate::command::{Actor, By, Driver, Policy, Scope, Standing};
use crate::envelope::{CommittedInput, Envelope, Speaker};
use crate::event::{QuestionBody, Reason, StallReason, Via};
use crate::limit::TermValue;
use crate::said::Said;
use crate::wire::{Cited, Origin, Ruling, Source, Verdict};
use crate::{Brief, Card, ClaimId, ClauseOpening, Flag, QuestionId, RoomId, SeatId, ShareId};
use approvals::{Audience, EvidenceKind, Passkey};
use canon::Digest;
use env::Timestamp;
use keys::{PublicKey, SecretHash};
use ledger::Head;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A room. [`State::default`] is one that was never opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub room: Option<Opened>,
    pub phase: Phase,
    /// The switch of D8 is off: why, and since when.
    pub paused: Option<(String, Timestamp)>,
    pub seats: Vec<Seat>,
    /// Shared between a state and those folded from it.
    pub envelopes: Vec<Arc<Envelope>>,
    /// The number of the entry that recorded each of `envelopes`.
    pub(crate) recorded: Vec<u64>,
    pub claims: Vec<Claim>,
    pub offers: Vec<Offer>,
    pub questions: Vec<Question>,
    pub shares: Vec<ShareLink>,
    pub disclosures: Vec<Disclosure>,
    /// Whose turn it is while negotiating or awaiting.
    pub turn: Option<SeatId>,
    /// Envelopes that were no escalation.
    pub turns: u32,
    /// Since when the turn or the question waits.
    pub waiting_since: Option<Timestamp>,
    /// From when deadlines count: later than that by what the room was paused.
    pub(crate) counted_since: Option<Timestamp>,
    /// Messages by seat and `client_msg_id`.
    pub messages: BTreeMap<(SeatId, String), Message>,
    pub brief: Option<RecordedBrief>,
    pub agreement: Option<Agreement>,
    pub left: Option<Left>,
    /// The instant of the last entry: time does not go back in a room.
    pub(crate) at: Option<Timestamp>,
    /// Shared as `envelopes` are.
    pub(crate) said: Arc<Said>,
    pub(crate) head: At,
}

/// The head, with the empty one as its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At(pub Head);

impl Default for At {
    fn default() -> Self {
        Self(Head::EMPTY)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    pub id: RoomId,
    pub topic: String,
    pub policy: Policy,
    pub opener: Option<By>,
    pub at: Timestamp,
}

/// Where a room stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phase {
    /// Some seat has no sealed card.
    #[default]
    Drafting,
    Negotiating,
    /// A principal has been asked.
    Awaiting(QuestionId),
    Ended(Outcome),
}

/// How a room ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Agreed,
    TurnsSpent,
    Stalled(StallReason),
    Withdrawn,
}

impl Outcome {
    /// `agreed`, `stalled` or `withdrawn`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agreed => "agreed",
            Self::TurnsSpent | Self::Stalled(_) => "stalled",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Why it stalled.
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::TurnsSpent => Some("turns"),
            Self::Stalled(StallReason::TurnDeadline) => Some("turn_deadline"),
            Self::Stalled(StallReason::EscalationDeadline) => Some("escalation_deadline"),
            Self::Agreed | Self::Withdrawn => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Seat {
    pub id: SeatId,
    /// As planned; the principal's name once the card is sealed.
    pub name: String,
    /// Whom the room was opened for, whatever the card says.
    pub planned: String,
    pub driver: Driver,
    pub agent: Option<String>,
    pub label_changes: usize,
    pub invite: Option<SecretHash>,
    pub invite_used: bool,
    pub secret: Option<SecretHash>,
    /// If there is one, every envelope of the seat is signed by it.
    pub key: Option<PublicKey>,
    pub principal: Principal,
    pub card_hash: Option<Digest>,
    pub clause_root: Option<Digest>,
    pub via: Option<Via>,
    /// The claims before this place are its own or have its review.
    pub(crate) reviewed: usize,
    /// `None` where the body is withheld or erased.
    pub card: Option<Card>,
}

/// Who answers for a seat.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Principal {
    /// `None`: nobody has enrolled yet.
    pub audience: Option<Audience>,
    pub link: Option<SecretHash>,
    pub link_used: bool,
    /// The enrolled holder's own secret: a session for this room.
    pub secret: Option<SecretHash>,
    pub passkey: Option<Passkey>,
    pub key: Option<PublicKey>,
}

impl Principal {
    /// Whether the holder signs their answers.
    pub const fn has_key(&self) -> bool {
        self.passkey.is_some() || self.key.is_some()
    }
}

/// A claim in the room's registry, with what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub id: ClaimId,
    pub seat: SeatId,
    /// The envelope that made it; for an answer, the one that asked.
    pub seq: u64,
    pub speaker: Speaker,
    pub text: String,
    pub origin: Origin,
    pub reference: Option<String>,
    pub source: Option<Source>,
    pub touches: Vec<String>,
    pub restates: Option<ClaimId>,
    /// By itself; [`State::is_verified`] follows what it restates.
    pub verified: bool,
    pub reviews: Vec<ClaimReview>,
    pub settled: Option<Settled>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ClaimReview {
    pub by: SeatId,
    pub verdict: Verdict,
    pub reason: String,
    pub seq: u64,
    pub touches: Vec<String>,
    /// A ruling has cleared it; the claim stays as unverified as it was.
    pub cleared: bool,
}

/// What a principal said of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    pub seat: SeatId,
    pub accept: bool,
    pub evidence: EvidenceKind,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    pub hash: Digest,
    pub proposal_hash: Digest,
    pub matter: Digest,
    pub seq: u64,
    pub seat: SeatId,
    pub terms: Vec<String>,
    pub depends_on: Vec<ClaimId>,
    pub values: Vec<TermValue>,
    pub authority: Vec<Cited>,
    pub expires_at: Option<Timestamp>,
    pub standing: OfferStanding,
    /// Who has accepted it, with the clauses each cited.
    pub accepted: Vec<Acceptance>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Acceptance {
    pub seat: SeatId,
    pub seq: u64,
    pub authority: Vec<Cited>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferStanding {
    Open,
    /// Made while asking: binds nobody.
    Draft,
    Superseded,
    Withdrawn,
    Expired,
    Agreed,
}

/// A question to a principal.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub id: QuestionId,
    pub seat: SeatId,
    pub seq: u64,
    pub commitment: Digest,
    pub claims: Vec<ClaimId>,
    pub offer: Option<Digest>,
    pub matter: Option<Digest>,
    pub forced: bool,
    pub asked_at: Timestamp,
    /// The card it was asked under.
    pub intent_hash: Digest,
    pub body: Option<QuestionBody>,
    pub state: Asked,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    Open,
    /// Passed on by an agent, waiting for the principal.
    Held(Box<HeldAnswer>),
    Answered(Box<Answered>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct HeldAnswer {
    pub commitment: Digest,
    pub agent: String,
    pub body: Option<crate::event::AnswerBody>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub ruling: Ruling,
    pub clears: Vec<ClaimId>,
    pub public_summary: Option<String>,
    pub standing: Standing,
    pub evidence: EvidenceKind,
    pub by: By,
    pub via: Via,
    pub at: Timestamp,
    /// The clause it became.
    pub amendment: usize,
    pub body: Option<crate::event::AnswerBody>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ShareLink {
    pub id: ShareId,
    pub seat: SeatId,
    pub scope: Scope,
    pub secret: SecretHash,
    pub expires_at: Option<Timestamp>,
    pub revoked: bool,
}

/// Something one seat has shown another.
#[derive(Debug, Clone, PartialEq)]
pub struct Disclosure {
    pub from: SeatId,
    pub to: SeatId,
    pub at: Timestamp,
    /// What the discloser's chain had published at that moment.
    pub card_hash: Digest,
    pub clause_root: Option<Digest>,
    pub card: Option<Card>,
    pub clause: Option<ClauseOpening>,
}

/// A message by its `client_msg_id`.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub seq: u64,
    /// `None` where the envelope's body is withheld.
    pub input: Option<Arc<CommittedInput>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecordedBrief {
    pub hash: Digest,
    pub at: Timestamp,
    pub brief: Option<Brief>,
}

/// The side that ended the room, and what it said.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    pub seat: SeatId,
    pub by_principal: bool,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    pub offer_hash: Digest,
    pub proposal_hash: Digest,
    pub proposed_by: SeatId,
    pub proposed_seq: u64,
    pub accepted_by: Vec<SeatId>,
    pub at: Timestamp,
}

impl State {
    pub fn id(&self) -> Option<&RoomId> {
        self.room.as_ref().map(|room| &room.id)
    }

    pub fn head(&self) -> Head {
        self.head.0
    }

    pub fn seat(&self, id: SeatId) -> Option<&Seat> {
        self.seats.get(id.index())
    }

    /// Searched from the end: what is spoken of was mostly said just before.
    pub fn claim(&self, id: &ClaimId) -> Option<&Claim> {
        self.claims.iter().rev().find(|claim| claim.id == *id)
    }

    pub fn offer(&self, hash: Digest) -> Option<&Offer> {
        self.offers.iter().find(|offer| offer.hash == hash)
    }

    pub fn question(&self, id: &QuestionId) -> Option<&Question> {
        self.questions.iter().find(|question| question.id == *id)
    }

    pub fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// The question that is pending, held answers included.
    pub fn pending(&self) -> Option<&Question> {
        match &self.phase {
            Phase::Awaiting(id) => self.question(id),
            _ => None,
        }
    }

    /// Finds who holds a secret of this room, in constant time a candidate. Burned invites and links, expired and
    /// revoked shares find nobody.
    pub fn authenticate(&self, secret: &str, now: Timestamp) -> Option<Actor> {
        let presented = SecretHash::of(secret);
        let is = |kept: &Option<SecretHash>| kept.is_some_and(|kept| kept == presented);
        for seat in &self.seats {
            let id = seat.id;
            if is(&seat.secret) {
                return Some(Actor::Seat { seat: id });
            }
            if is(&seat.principal.secret) {
                return Some(Actor::Principal { seat: id, by: By::Holder });
            }
            if is(&seat.principal.link) && !seat.principal.link_used {
                return Some(Actor::Link { seat: id });
            }
            if is(&seat.invite) && !seat.invite_used {
                return Some(Actor::Invite { seat: id });
            }
        }
        self.shares
            .iter()
            .find(|share| share.secret == presented && share.is_live(now))
            .map(|share| Actor::Share { id: share.id.clone(), scope: share.scope })
    }

    /// Whether the secret was an invite or link of this room that has been used: a refusal may say so.
    pub fn is_burned(&self, secret: &str) -> bool {
        let presented = SecretHash::of(secret);
        let is = |kept: &Option<SecretHash>| kept.is_some_and(|kept| kept == presented);
        self.seats.iter().any(|seat| {
            (seat.invite_used && is(&seat.invite)) || (seat.principal.link_used && is(&seat.principal.link))
        })
    }

    /// Verified by itself, or by the earlier claim it restates. One that restates no earlier claim is not.
    pub fn is_verified(&self, claim: &Claim) -> bool {
        let mut claim = claim;
        // What is looked at comes ever earlier in the registry, so a circle that somebody forged ends too.
        let mut limit = self.claims.len();
        while claim.settled.is_none() && claim.source.is_none() {
            let Some(earlier) = &claim.restates else { break };
            let before = self.claims.iter().take(limit).enumerate();
            let Some((at, found)) = before.into_iter().find(|(_, other)| other.id == *earlier) else {
                return false;
            };
            (limit, claim) = (at, found);
        }
        claim.verified
    }

    /// Whether a principal said that it is so, of the claim itself or of an earlier one that it restates.
    pub fn is_confirmed(&self, claim: &Claim) -> bool {
        let mut claim = claim;
        let mut limit = self.claims.len();
        loop {
            if let Some(settled) = &claim.settled {
                return settled.accept;
            }
            let Some(earlier) = &claim.restates else { return false };
            let Some(at) = self.claims.iter().take(limit).position(|other| other.id == *earlier) else {
                return false;
            };
            let Some(found) = self.claims.get(at) else { return false };
            (limit, claim) = (at, found);
        }
    }

    /// Claims of the other seats that this seat has yet to review, oldest first. A principal's answer needs no review.
    pub fn to_review(&self, seat: SeatId) -> Vec<&Claim> {
        let reviewed = self.seat(seat).map_or(0, |seat| seat.reviewed);
        self.claims
            .iter()
            .skip(reviewed)
            .filter(|claim| claim.seat != seat && claim.speaker == Speaker::Proxy)
            .filter(|claim| !claim.reviews.iter().any(|review| review.by == seat))
            .collect()
    }

    /// This seat's challenges and conflicts that no ruling has cleared.
    pub fn disputes(&self, seat: SeatId) -> impl Iterator<Item = (&Claim, &ClaimReview)> {
        self.said.disputed.iter().filter_map(|at| self.claims.get(*at)).flat_map(move |claim| {
            claim
                .reviews
                .iter()
                .filter(move |review| {
                    review.by == seat && review.verdict != Verdict::Accept && !review.cleared
                })
                .map(move |review| (claim, review))
        })
    }

    /// The instant at which waiting ends the room, if nothing happens.
    pub fn deadline(&self) -> Option<(Timestamp, StallReason)> {
        let policy = &self.room.as_ref()?.policy;
        let since = self.counted_since?;
        let after = |seconds: u32| since + env::Duration::from_secs(u64::from(seconds));
        match self.phase {
            Phase::Negotiating => policy.turn_seconds.map(|s| (after(s), StallReason::TurnDeadline)),
            Phase::Awaiting(_) => policy.answer_seconds.map(|s| (after(s), StallReason::EscalationDeadline)),
            Phase::Drafting | Phase::Ended(_) => None,
        }
    }

    /// When a person who has not answered is reminded: half way to the deadline, once.
    pub fn reminder(&self) -> Option<Timestamp> {
        let seconds = self.room.as_ref()?.policy.answer_seconds.filter(|seconds| *seconds > 1)?;
        let since = self.counted_since.filter(|_| matches!(self.phase, Phase::Awaiting(_)))?;
        Some(since + env::Duration::from_secs(u64::from(seconds / 2)))
    }

    /// What a ruling has allowed a seat about a matter, as the names of reasons.
    pub(crate) fn allowed(&self, seat: SeatId, matter: Digest) -> Vec<&Reason> {
        self.ruled(seat, matter, Ruling::Allow)
            .filter_map(|question| question.body.as_ref())
            .flat_map(|body| &body.reasons)
            .collect()
    }

    /// The last ruling of the seat's principal about a matter.
    pub(crate) fn last_ruling(&self, seat: SeatId, matter: Digest) -> Option<Ruling> {
        self.questions.iter().rev().find_map(|question| match &question.state {
            Asked::Answered(answered) if question.seat == seat && question.matter == Some(matter) => {
                Some(answered.ruling)
            }
            _ => None,
        })
    }

    pub(crate) fn ruled(
        &self,
        seat: SeatId,
        matter: Digest,
        ruling: Ruling,
    ) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(move |question| {
            question.seat == seat
                && question.matter == Some(matter)
                && matches!(&question.state, Asked::Answered(answered) if answered.ruling == ruling)
        })
    }

    /// Every flag, with the envelope it stands in.
    pub fn flags(&self) -> impl Iterator<Item = (&Envelope, &Flag)> {
        self.envelopes
            .iter()
            .flat_map(|envelope| envelope.protocol_flags.iter().map(move |flag| (envelope.as_ref(), flag)))
    }
}

impl Offer {
    /// Open, and not past its expiry.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.standing == OfferStanding::Open && self.expires_at.is_none_or(|end| now < end)
    }
}

impl ShareLink {
    pub fn is_live(&self, now: Timestamp) -> bool {
        !self.revoked && self.expires_at.is_none_or(|end| now < end)
    }
}
