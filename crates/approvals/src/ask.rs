use crate::{Accepts, Evidence};
use canon::Digest;
use env::Timestamp;
use serde::{Deserialize, Serialize};

/// An organization: whose people answer, and between which nothing is shared. `[a-z0-9-]{1,40}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OrgId(pub String);

/// A person in an organization. `[a-z0-9]{1,40}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberId(pub String);

/// Who may answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Audience {
    /// Exactly this person (or whom they have delegated to).
    Member { org: OrgId, member: MemberId },
    /// Any member of the organization with the approver role.
    Approvers { org: OrgId },
    /// Whoever holds a one-time credential of the stream itself (a room's principal link, for people without an account).
    Holder { stream: String, role: String },
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
    pub expires_at: Option<Timestamp>,
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
    pub nonce: String,
    pub by: Option<MemberId>,
    pub evidence: Evidence,
}
