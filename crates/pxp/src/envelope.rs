//! Envelopes as applied and recorded (spec 2.4), and the hashes of what they offer (spec 1.2, D24).

use crate::limit::TermValue;
use crate::wire::{Cited, EnvelopeInput, Origin, Source, Status, Verdict};
use crate::{ClaimId, QuestionId, Refusal, RoomId, SeatId};
use canon::{Digest, Salt};
use env::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One message of a proxy after enforcement. Never changed once recorded (W-24). Members that v0 does not have are
/// left out where they are empty, so an envelope that uses none of them is the v0 envelope, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Always `"0"`.
    pub pxp: String,
    pub room: RoomId,
    /// From 1, over all seats.
    pub seq: u64,
    pub from: From,
    /// The card it was written under, with all its amendments.
    #[schemars(with = "String")]
    pub intent_hash: Digest,
    pub message: String,
    pub claims: Vec<EnvelopeClaim>,
    pub reviews: Vec<Review>,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub proposal_hash: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub offer_hash: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Accepts>,
    /// The accepting seat's clauses for each term.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority: Vec<Cited>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocol_flags: Vec<Flag>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct From {
    pub seat: SeatId,
    /// The principal's display name.
    pub principal: String,
    pub speaker: Speaker,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    Proxy,
    Principal,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeClaim {
    pub id: ClaimId,
    pub text: String,
    pub origin: Origin,
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// The other seat's claim that this one repeats: its standing is that claim's, unless it has a source of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restates: Option<ClaimId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Review {
    pub claim_id: ClaimId,
    pub verdict: Verdict,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    pub terms: Vec<String>,
    pub depends_on: Vec<ClaimId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<TermValue>,
    /// The proposer's clauses for each term.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority: Vec<Cited>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub expires_at: Option<Timestamp>,
}

/// The offer an envelope accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accepts {
    pub seq: u64,
    #[schemars(with = "String")]
    pub proposal_hash: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub offer_hash: Option<Digest>,
}

/// A question to the principal, as the other seats see it: its words are private (W-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    pub id: QuestionId,
    #[schemars(with = "String")]
    pub commitment: Digest,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub offer_hash: Option<Digest>,
    /// Whether the server asked because the proxy must not decide this alone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forced: bool,
}

/// Something the server found in an envelope: a stable code beside the sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    pub code: String,
    pub message: String,
}

impl Flag {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }
}

impl Envelope {
    /// SHA-256 of the canonical form.
    pub fn hash(&self) -> Result<Digest, Refusal> {
        Ok(Digest::of(&canon::to_vec(self)?))
    }
}

impl Proposal {
    /// SHA-256 of the canonical terms, as v0 has it.
    pub fn proposal_hash(&self) -> Result<Digest, Refusal> {
        Ok(Digest::of(&canon::to_vec(&self.terms)?))
    }

    /// Exactly this offer, of this seat, at this place in this room (D24).
    pub fn offer_hash(
        &self,
        room: &RoomId,
        seq: u64,
        seat: SeatId,
        intent_hash: Digest,
    ) -> Result<Digest, Refusal> {
        #[derive(Serialize)]
        struct Offer<'a> {
            room: &'a RoomId,
            seq: u64,
            seat: SeatId,
            terms: &'a [String],
            depends_on: &'a [ClaimId],
            intent_hash: Digest,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            values: &'a [TermValue],
        }
        let offer = Offer {
            room,
            seq,
            seat,
            terms: &self.terms,
            depends_on: &self.depends_on,
            intent_hash,
            values: &self.values,
        };
        Ok(Digest::of(&canon::to_vec(&offer)?))
    }

    /// What a principal rules about: the content of an offer, wherever it is made again.
    pub fn matter(&self, seat: SeatId) -> Result<Digest, Refusal> {
        #[derive(Serialize)]
        struct Matter<'a> {
            seat: SeatId,
            terms: &'a [String],
            depends_on: &'a [ClaimId],
            values: &'a [TermValue],
        }
        let matter = Matter { seat, terms: &self.terms, depends_on: &self.depends_on, values: &self.values };
        Ok(Digest::of(&canon::to_vec(&matter)?))
    }
}

/// The commitment to a question's words: HMAC over `{question, reason}` (D24).
pub fn question_commitment(salt: &Salt, question: &str, reason: &str) -> Result<Digest, Refusal> {
    #[derive(Serialize)]
    struct Words<'a> {
        question: &'a str,
        reason: &'a str,
    }
    Ok(canon::commit(salt, "pxp.question.v1", &canon::to_vec(&Words { question, reason })?))
}

/// The commitment to an answer: HMAC over its body.
pub fn answer_commitment(salt: &Salt, body: &str) -> Digest {
    canon::commit(salt, "pxp.answer.v1", body.as_bytes())
}

/// An input as it is signed and published: the words of a question are replaced by their commitment, so that every seat
/// can check the signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommittedInput {
    pub message: String,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<crate::wire::ClaimInput>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<crate::wire::ReviewInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<crate::wire::ProposalInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Digest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authority: Vec<Cited>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<CommittedQuestion>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommittedQuestion {
    pub commitment: Digest,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer_hash: Option<Digest>,
}

impl CommittedInput {
    /// The committed form; `salt` hides the words of the question, where there is one.
    pub fn of(input: &EnvelopeInput, salt: &Salt) -> Result<Self, Refusal> {
        let escalation = match &input.escalation {
            None => None,
            Some(asked) => Some(CommittedQuestion {
                commitment: question_commitment(salt, &asked.question, &asked.reason)?,
                claims: asked.claims.clone(),
                offer_hash: asked.offer_hash,
            }),
        };
        Ok(Self {
            message: input.message.clone(),
            status: input.status,
            claims: input.claims.clone(),
            reviews: input.reviews.clone(),
            proposal: input.proposal.clone(),
            accepts: input.accepts,
            authority: input.authority.clone(),
            escalation,
        })
    }

    /// The 32 bytes that a seat's key signs: SHA-256 of the canonical `{room, seat, msg_id, envelope}` (D22).
    pub fn signing_hash(&self, room: &RoomId, seat: SeatId, msg_id: &str) -> Result<Digest, Refusal> {
        #[derive(Serialize)]
        struct Signed<'a> {
            room: &'a RoomId,
            seat: SeatId,
            msg_id: &'a str,
            envelope: &'a CommittedInput,
        }
        Ok(Digest::of(&canon::to_vec(&Signed { room, seat, msg_id, envelope: self })?))
    }
}

/// What a seat signs for an envelope it is about to send. A question needs its own `salt`.
pub fn signing_bytes(
    room: &RoomId,
    seat: SeatId,
    msg_id: &str,
    input: &EnvelopeInput,
) -> Result<Digest, Refusal> {
    let salt = match &input.escalation {
        None => Salt::from_bytes([0; 32]),
        Some(asked) => asked.salt.ok_or(Refusal::SaltRequired)?,
    };
    CommittedInput::of(input, &salt)?.signing_hash(room, seat, msg_id)
}

fn is_false(value: &bool) -> bool {
    !value
}
