//! Envelopes, claims, reviews and proposals (spec 2.4).

use super::{Side, Via};
use canon::Digest;
use serde::{Deserialize, Serialize};

/// One proxy message as it was applied. Its hash covers every member but `answer` and `answer_via`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Always `"0"`.
    pub pxp: String,
    pub room: String,
    /// Counts the messages of both seats from 1.
    pub seq: u64,
    pub from: From,
    pub intent_hash: Digest,
    pub message: String,
    pub claims: Vec<Claim>,
    pub reviews: Vec<Review>,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
    /// SHA-256 of the canonical array of terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_hash: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Accepts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_flags: Option<Vec<String>>,
    /// The principal's answer to this escalation, added later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_via: Option<Via>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct From {
    pub seat: Side,
    pub principal: String,
    /// Always `"proxy"`.
    pub speaker: String,
    /// The agent's label, for an external seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Continue,
    Agree,
    Escalate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Stated,
    Sourced,
    Assumed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Accept,
    Challenge,
    Conflict,
}

/// A claim as its envelope carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// `<seat><seq>.<k>`, where k counts the claims as they were sent.
    pub id: String,
    pub text: String,
    pub origin: Origin,
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    pub claim_id: String,
    pub verdict: Verdict,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    pub terms: Vec<String>,
    pub depends_on: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepts {
    pub seq: u64,
    pub proposal_hash: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    pub question: String,
    /// May be empty.
    pub reason: String,
}

/// A claim as the room keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Registered {
    #[serde(flatten)]
    pub claim: Claim,
    pub seat: Side,
    pub seq: u64,
    /// Whether the origin was not `assumed`. It never changes.
    pub verified: bool,
    pub reviews: Vec<Landed>,
}

/// A review as it stands on its claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Landed {
    pub by: Side,
    pub verdict: Verdict,
    pub reason: String,
    pub seq: u64,
}

impl Envelope {
    /// `envelope_hash` of the ledger.
    pub fn hash(&self) -> Digest {
        let sent = Self { answer: None, answer_via: None, ..self.clone() };
        // INVARIANT: texts and small numbers always have a canonical form.
        canon::to_vec(&sent).map_or(Digest::ZERO, |bytes| Digest::of(&bytes))
    }
}

impl Proposal {
    /// `proposal_hash`: the terms alone.
    pub fn hash(&self) -> Digest {
        canon::to_vec(&self.terms).map_or(Digest::ZERO, |bytes| Digest::of(&bytes))
    }
}

impl Claim {
    pub fn register(&self, seat: Side, seq: u64) -> Registered {
        let verified = self.origin != Origin::Assumed;
        Registered { claim: self.clone(), seat, seq, verified, reviews: Vec::new() }
    }
}
