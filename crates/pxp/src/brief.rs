//! The decision brief (seed section 7): a pure function of what every seat may see, so that all seats hold the same
//! brief, and anyone with the envelopes can recompute it. What is private to a side is added by its own view.

mod flags;
mod text;
mod told;
mod words;

pub use text::text;
pub use told::{Group, Known, Line, Part, Term, Told, VERIFIED, tell};

use crate::command::Standing;
use crate::envelope::Speaker;
use crate::limit::TermValue;
use crate::state::{Answered, Asked, Claim, Offer, Outcome, Phase, State};
use crate::wire::{Cited, Origin, Ruling, Verdict};
use crate::{ClaimId, QuestionId, Refusal, RoomId, SeatId};
use approvals::{Audience, EvidenceKind};
use canon::Digest;
use env::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Explains an outcome without the transcript. Its hash is in the room's `brief` entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Brief {
    /// `urn:countersign:pxp-brief:1`.
    #[serde(rename = "type")]
    pub kind: String,
    pub room: RoomId,
    pub topic: String,
    /// `agreed`, `stalled` or `withdrawn`.
    pub outcome: String,
    /// Why it stalled: `turns`, `turn_deadline`, `escalation_deadline`; why a side left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who left, or who was waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<SeatId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<AgreementLine>,
    /// On whose authority each agreed term rests, seat by seat.
    pub authority: Vec<TermAuthority>,
    /// The claims the agreed offer names as what it depends on.
    pub depends_on: Vec<ClaimLine>,
    pub unverified_dependencies: Vec<ClaimLine>,
    pub unverified_in_record: Vec<ClaimLine>,
    /// Every challenge and conflict there ever was.
    pub disputed: Vec<DisputeLine>,
    pub escalations: Vec<EscalationLine>,
    pub protocol_flags: Vec<FlagLine>,
    pub parties: Vec<PartyLine>,
    /// What a reader must know about the strength of this record, in sentences.
    pub notes: Vec<String>,
    /// Envelopes that were no escalation.
    pub turns: u32,
    /// The chain up to the end this brief describes.
    pub ledger_head: HeadLine,
    #[schemars(with = "String")]
    pub generated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgreementLine {
    pub terms: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<TermValue>,
    #[schemars(with = "String")]
    pub offer_hash: Digest,
    #[schemars(with = "String")]
    pub proposal_hash: Digest,
    pub proposed_by: SeatId,
    pub proposed_seq: u64,
    pub accepted_by: Vec<AcceptedLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptedLine {
    pub seat: SeatId,
    pub seq: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TermAuthority {
    pub term: String,
    pub seats: Vec<SeatAuthority>,
}

/// What one side's agreement to a term rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeatAuthority {
    pub seat: SeatId,
    /// `clause`, `answer` or `none`.
    pub basis: String,
    /// Clauses of that side's card, by name: their words are private to it.
    pub clauses: Vec<String>,
    /// The questions by which its principal allowed exactly this offer.
    pub answers: Vec<QuestionId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimLine {
    pub id: ClaimId,
    pub seat: SeatId,
    pub text: String,
    pub origin: Origin,
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    pub verified: bool,
    /// A principal has said that it is wrong.
    #[serde(default, skip_serializing_if = "is_false")]
    pub denied: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisputeLine {
    pub claim: ClaimId,
    pub text: String,
    pub by: SeatId,
    pub verdict: Verdict,
    pub reason: String,
    /// A ruling let the negotiation go on despite it.
    pub cleared: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalationLine {
    pub question_id: QuestionId,
    pub seat: SeatId,
    pub principal: String,
    /// The server asked, because the proxy must not decide it alone.
    pub forced: bool,
    pub claims: Vec<ClaimId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruling: Option<Ruling>,
    pub clears: Vec<ClaimId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_summary: Option<String>,
    /// `direct`, `relayed`, `confirmed`; absent while unanswered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<String>,
    /// How the answer is known to be the principal's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The member who answered, where an organization did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlagLine {
    pub seq: u64,
    pub seat: SeatId,
    pub code: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartyLine {
    pub seat: SeatId,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub card_hash: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The RFC 7638 thumbprint of the key that signed every envelope of this seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// Who answers for it.
    pub principal: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeadLine {
    pub n: u64,
    #[schemars(with = "String")]
    pub hash: Digest,
}

impl Brief {
    pub const TYPE: &'static str = "urn:countersign:pxp-brief:1";

    /// SHA-256 of the canonical form: what the `brief` entry names.
    pub fn hash(&self) -> Result<Digest, Refusal> {
        Ok(Digest::of(&canon::to_vec(self)?))
    }
}

/// The brief of an ended room, whose last entry is its end. `None` while it goes on.
pub fn compute(state: &State, at: Timestamp) -> Option<Brief> {
    let Phase::Ended(outcome) = state.phase else { return None };
    let room = state.room.as_ref()?;
    let agreed = state.agreement.as_ref().and_then(|agreement| state.offer(agreement.offer_hash));
    let depends_on: Vec<ClaimLine> = agreed
        .into_iter()
        .flat_map(|offer| &offer.depends_on)
        .filter_map(|id| state.claim(id))
        .map(|claim| line(state, claim))
        .collect();
    Some(Brief {
        kind: Brief::TYPE.to_owned(),
        room: room.id.clone(),
        topic: room.topic.clone(),
        outcome: outcome.word().to_owned(),
        reason: reason(state, outcome),
        seat: match outcome {
            Outcome::Agreed | Outcome::TurnsSpent => None,
            Outcome::Stalled(_) => state.turn,
            Outcome::Withdrawn => state.left.as_ref().map(|left| left.seat),
        },
        agreement: agreed.map(agreement),
        authority: agreed.map(|offer| authority(state, offer)).unwrap_or_default(),
        unverified_dependencies: depends_on.iter().filter(|claim| !claim.verified).cloned().collect(),
        depends_on,
        unverified_in_record: state
            .claims
            .iter()
            .map(|claim| line(state, claim))
            .filter(|claim| !claim.verified)
            .collect(),
        disputed: disputed(state),
        escalations: state.questions.iter().map(|question| escalation(state, question)).collect(),
        protocol_flags: state
            .flags()
            .map(|(envelope, flag)| FlagLine {
                seq: envelope.seq,
                seat: envelope.from.seat,
                code: flag.code.clone(),
                message: flag.message.clone(),
            })
            .collect(),
        parties: parties(state),
        notes: notes(state, agreed),
        turns: state.turns,
        ledger_head: HeadLine { n: state.head().seq, hash: state.head().hash },
        generated_at: at.to_millis(),
    })
}

/// The clauses a seat cites for a term that can be authority for it.
pub(crate) fn granting(cited: &[Cited], term: usize) -> Vec<String> {
    cited
        .iter()
        .filter(|one| usize::from(one.term) == term)
        .flat_map(|one| &one.clauses)
        .filter(|clause| clause.parse::<crate::ClauseRef>().is_ok_and(|clause| clause.list.grants()))
        .cloned()
        .collect()
}

fn reason(state: &State, outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Withdrawn => {
            state.left.as_ref().map(|left| left.reason.clone()).filter(|reason| !reason.is_empty())
        }
        other => other.reason().map(str::to_owned),
    }
}

fn agreement(offer: &Offer) -> AgreementLine {
    AgreementLine {
        terms: offer.terms.clone(),
        values: offer.values.clone(),
        offer_hash: offer.hash,
        proposal_hash: offer.proposal_hash,
        proposed_by: offer.seat,
        proposed_seq: offer.seq,
        accepted_by: offer.accepted.iter().map(|one| AcceptedLine { seat: one.seat, seq: one.seq }).collect(),
    }
}

fn authority(state: &State, offer: &Offer) -> Vec<TermAuthority> {
    let of = |seat: SeatId, cited: &[Cited], term: usize| {
        let clauses = granting(cited, term);
        let answers: Vec<QuestionId> =
            state.ruled(seat, offer.matter, Ruling::Allow).map(|question| question.id.clone()).collect();
        let basis = match (clauses.is_empty(), answers.is_empty()) {
            (false, _) => "clause",
            (true, false) => "answer",
            (true, true) => "none",
        };
        SeatAuthority { seat, basis: basis.to_owned(), clauses, answers }
    };
    offer
        .terms
        .iter()
        .enumerate()
        .map(|(term, text)| TermAuthority {
            term: text.clone(),
            seats: std::iter::once(of(offer.seat, &offer.authority, term))
                .chain(offer.accepted.iter().map(|one| of(one.seat, &one.authority, term)))
                .collect(),
        })
        .collect()
}

fn line(state: &State, claim: &Claim) -> ClaimLine {
    ClaimLine {
        id: claim.id.clone(),
        seat: claim.seat,
        text: claim.text.clone(),
        origin: claim.origin,
        reference: claim.reference.clone(),
        verified: state.is_verified(claim),
        denied: claim.settled.as_ref().is_some_and(|settled| !settled.accept),
    }
}

fn disputed(state: &State) -> Vec<DisputeLine> {
    let of = |claim: &Claim| {
        let disputes = claim.reviews.iter().filter(|review| review.verdict != Verdict::Accept);
        disputes
            .map(|review| DisputeLine {
                claim: claim.id.clone(),
                text: claim.text.clone(),
                by: review.by,
                verdict: review.verdict,
                reason: review.reason.clone(),
                cleared: review.cleared,
            })
            .collect::<Vec<_>>()
    };
    state.claims.iter().flat_map(of).collect()
}

fn escalation(state: &State, question: &crate::state::Question) -> EscalationLine {
    let answered = match &question.state {
        Asked::Answered(answered) => Some(answered.as_ref()),
        Asked::Open | Asked::Held(_) => None,
    };
    EscalationLine {
        question_id: question.id.clone(),
        seat: question.seat,
        principal: state.seat(question.seat).map(|seat| seat.name.clone()).unwrap_or_default(),
        forced: question.forced,
        claims: question.claims.clone(),
        ruling: answered.map(|answered| answered.ruling),
        clears: answered.map(|answered| answered.clears.clone()).unwrap_or_default(),
        public_summary: answered.and_then(|answered| answered.public_summary.clone()),
        standing: answered.map(|answered| standing(answered.standing).to_owned()),
        evidence: answered.map(|answered| answered.evidence.as_str().to_owned()),
        answered_by: answered.and_then(member),
    }
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Direct => "direct",
        Standing::Relayed => "relayed",
        Standing::Confirmed => "confirmed",
    }
}

fn member(answered: &Answered) -> Option<String> {
    match &answered.by {
        crate::By::Member { org, member, acting_for: None } => Some(format!("{org}/{member}")),
        crate::By::Member { org, member, acting_for: Some(from) } => {
            Some(format!("{org}/{member} for {from}"))
        }
        crate::By::Holder => None,
    }
}

fn parties(state: &State) -> Vec<PartyLine> {
    state
        .seats
        .iter()
        .map(|seat| PartyLine {
            seat: seat.id,
            name: seat.name.clone(),
            card_hash: seat.card_hash,
            agent: seat.agent.clone(),
            signed_by: seat.key.map(|key| key.thumbprint().to_string()),
            principal: match &seat.principal.audience {
                None => "nobody has enrolled".to_owned(),
                Some(Audience::Member { org, member }) => format!("member {org}/{member}"),
                Some(Audience::Approvers { org }) => format!("approvers of {org}"),
                Some(Audience::Holder { .. }) => "holder of the seat's principal credential".to_owned(),
            },
        })
        .collect()
}

fn notes(state: &State, agreed: Option<&Offer>) -> Vec<String> {
    let mut notes = Vec::new();
    for seat in state.seats.iter().filter(|seat| seat.key.is_none()) {
        notes.push(format!(
            "Seat {} does not sign its messages: this server attests what it received.",
            seat.id
        ));
    }
    for question in &state.questions {
        let Asked::Answered(answered) = &question.state else {
            notes.push(format!("Question {} was not answered.", question.id));
            continue;
        };
        if answered.standing == Standing::Relayed {
            notes.push(format!(
                "The answer to {} was passed on by the agent of seat {} and not confirmed by its principal.",
                question.id, question.seat
            ));
        } else if answered.evidence == EvidenceKind::Session {
            notes.push(format!("The answer to {} rests on a signed-in session, not on a key.", question.id));
        }
    }
    if let Some(offer) = agreed {
        for (term, authority) in authority(state, offer).into_iter().enumerate() {
            for seat in authority.seats.iter().filter(|seat| seat.basis == "none") {
                notes.push(format!(
                    "Term {} has no stated authority on the side of seat {}.",
                    term + 1,
                    seat.seat
                ));
            }
        }
        if offer.depends_on.is_empty() {
            notes.push("The agreed offer names no claim that it depends on.".to_owned());
        }
    }
    if state.claims.iter().any(|claim| claim.speaker == Speaker::Principal) {
        notes.push(
            "The words of principals' answers are private; their rulings and summaries are not.".to_owned(),
        );
    }
    notes
}

fn is_false(value: &bool) -> bool {
    !value
}
