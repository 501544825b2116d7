use crate::{Accepts, Evidence, Statement};
use canon::Digest;
use env::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An organization: whose people answer, and between which nothing is shared. `[a-z0-9-]{1,40}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OrgId(pub String);

impl OrgId {
    /// Whether the id is spelled as ids are.
    pub fn is_valid(&self) -> bool {
        (1..=40).contains(&self.0.len())
            && self.0.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    }
}

impl fmt::Display for OrgId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A person in an organization. `[a-z0-9]{1,40}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberId(pub String);

impl MemberId {
    /// Whether the id is spelled as ids are.
    pub fn is_valid(&self) -> bool {
        (1..=40).contains(&self.0.len())
            && self.0.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who may answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Audience {
    /// Exactly this person (or whom they have delegated to).
    Member { org: OrgId, member: MemberId },
    /// Any member of the organization with the approver role (or whom such a member has delegated to).
    Approvers { org: OrgId },
    /// Whoever holds a one-time credential of the stream itself (a room's principal link, for people without an account).
    Holder { stream: String, role: String },
}

impl Audience {
    /// The organization whose people these are.
    pub const fn org(&self) -> Option<&OrgId> {
        match self {
            Self::Member { org, .. } | Self::Approvers { org } => Some(org),
            Self::Holder { .. } => None,
        }
    }
}

/// A question to a person about exactly one act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    pub id: String,
    pub stream: String,
    /// `pxp`, `mandate`, `vxp`, `aauth`, `pcm`.
    pub protocol: String,
    /// What would happen, as a hash of its canonical bytes.
    pub action_hash: Digest,
    pub brief: Brief,
    pub audience: Audience,
    pub accepts: Accepts,
    pub asked_at: Timestamp,
    /// The first instant at which no answer is taken any more.
    pub expires_at: Option<Timestamp>,
}

impl Ask {
    /// SHA-256 of the brief's canonical bytes: what the person was shown.
    pub fn brief_hash(&self) -> Digest {
        self.brief.hash()
    }

    /// What a person's key signs to give this decision, this body and this nonce as the answer to this ask.
    pub fn statement(&self, decision: Decided, body: Option<&str>, nonce: &str) -> Statement {
        Statement {
            v: Statement::VERSION,
            ask_id: self.id.clone(),
            action_hash: self.action_hash,
            brief_hash: self.brief_hash(),
            decision,
            answer_hash: body.map(|body| Digest::of(body.as_bytes())),
            nonce: nonce.to_owned(),
        }
    }

    /// No answer is taken from `expires_at` on.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }
}

/// What the person reads, built by a pure function. Its hash is what they sign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    pub title: String,
    /// The one concrete question.
    pub question: String,
    pub sections: Vec<Section>,
    /// Look-alikes, hidden characters, unverified facts: shown above everything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Brief {
    /// SHA-256 of the canonical bytes.
    pub fn hash(&self) -> Digest {
        digest(self)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub heading: String,
    pub items: Vec<Item>,
}

/// One line of a brief, and how much it may be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub text: String,
    pub standing: Standing,
}

/// Where a line of a brief comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Checked by this server: a rule, a count, a hash.
    Checked,
    /// Said by a principal.
    Stated,
    /// Taken from a named source.
    Sourced,
    /// Only an agent's claim.
    Claimed,
}

/// The person's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decided {
    Approve,
    Decline,
}

/// A person's answer to one ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub ask_id: String,
    pub decision: Decided,
    /// Whatever else the protocol takes as part of the answer (reason, comment, ruling), canonical JSON: `answer_hash`
    /// is SHA-256 of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Chosen for this one answer: 16 to 64 characters of `[A-Za-z0-9_-]`.
    pub nonce: String,
    /// The member who answers; `None` for the holder of a stream's own credential.
    pub by: Option<MemberId>,
    pub evidence: Evidence,
}

/// SHA-256 of the canonical bytes of a value that holds nothing but texts, digests, small integers and lists.
pub(crate) fn digest<T: Serialize>(value: &T) -> Digest {
    // INVARIANT: such a value always has a canonical form, so this does not fail.
    #[expect(clippy::expect_used, reason = "texts and digests always have a canonical form")]
    let bytes = canon::to_vec(value).expect("a value of texts has a canonical form");
    Digest::of(&bytes)
}
