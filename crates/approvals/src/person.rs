use crate::{Audience, MemberId, OrgId};
use env::Timestamp;
use keys::PublicKey;
use keys::webauthn::{Attestation, Credential, RelyingParty, Verification};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a member is in the organization. A member may be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Decides who belongs to the organization.
    Owner,
    /// Answers what is asked of the organization.
    Approver,
    /// Reads what concerns them.
    Viewer,
    /// Reads everything, changes nothing.
    Auditor,
    /// Runs agents, and stops them.
    Operator,
}

impl Role {
    pub const ALL: [Self; 5] = [Self::Owner, Self::Approver, Self::Viewer, Self::Auditor, Self::Operator];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Approver => "approver",
            Self::Viewer => "viewer",
            Self::Auditor => "auditor",
            Self::Operator => "operator",
        }
    }
}

/// What a role allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Power {
    /// Members, their roles, their links; other people's passkeys and sessions.
    ManagePeople,
    /// Answering what is asked of the organization's approvers.
    Answer,
    /// Agent keys of one's own, opening rooms with them.
    RunAgents,
    /// Other people's agent keys, pausing and resuming anything.
    Stop,
    /// Reading every stream of the organization.
    ReadAll,
}

impl Power {
    pub const ALL: [Self; 5] = [Self::ManagePeople, Self::Answer, Self::RunAgents, Self::Stop, Self::ReadAll];
}

/// Whether somebody with these roles has the power.
pub fn may(roles: &BTreeSet<Role>, power: Power) -> bool {
    let any = |allowed: &[Role]| allowed.iter().any(|role| roles.contains(role));
    match power {
        Power::ManagePeople => any(&[Role::Owner]),
        Power::Answer => any(&[Role::Approver]),
        Power::RunAgents => any(&[Role::Owner, Role::Approver, Role::Operator]),
        Power::Stop => any(&[Role::Owner, Role::Operator]),
        Power::ReadAll => any(&[Role::Owner, Role::Auditor]),
    }
}

/// Somebody who could answer, at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Person {
    Member {
        org: OrgId,
        member: MemberId,
        roles: BTreeSet<Role>,
        /// The active members whose delegation to this one is in force, with their roles.
        acts_for: Vec<(MemberId, BTreeSet<Role>)>,
    },
    /// The holder of a stream's own credential.
    Holder { stream: String, role: String },
}

/// By what right a person may answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    Own,
    /// By delegation of this member.
    For(MemberId),
}

impl Person {
    /// By what right this person may answer what is asked of the audience; `None` if they may not. Their own right goes
    /// before a delegated one.
    pub fn right(&self, audience: &Audience) -> Option<Right> {
        match (self, audience) {
            (Self::Holder { stream, role }, Audience::Holder { stream: of, role: asked }) => {
                (stream == of && role == asked).then_some(Right::Own)
            }
            (Self::Member { org, member, acts_for, .. }, Audience::Member { org: of, member: asked }) => {
                if org != of {
                    None
                } else if member == asked {
                    Some(Right::Own)
                } else {
                    acts_for.iter().find(|(from, _)| from == asked).map(|(from, _)| Right::For(from.clone()))
                }
            }
            (Self::Member { org, roles, acts_for, .. }, Audience::Approvers { org: of }) => {
                if org != of {
                    None
                } else if may(roles, Power::Answer) {
                    Some(Right::Own)
                } else {
                    let delegated = acts_for.iter().find(|(_, roles)| may(roles, Power::Answer));
                    delegated.map(|(from, _)| Right::For(from.clone()))
                }
            }
            (Self::Holder { .. }, Audience::Member { .. } | Audience::Approvers { .. })
            | (Self::Member { .. }, Audience::Holder { .. }) => None,
        }
    }

    /// The member, if it is one.
    pub const fn member(&self) -> Option<&MemberId> {
        match self {
            Self::Member { member, .. } => Some(member),
            Self::Holder { .. } => None,
        }
    }
}

/// A passkey of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passkey {
    /// Unpadded base64url.
    pub credential_id: String,
    pub key: PublicKey,
    pub since: Timestamp,
    /// From this instant on it proves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Passkey {
    pub fn is_active(&self, at: Timestamp) -> bool {
        self.since <= at && self.until.is_none_or(|until| at < until)
    }

    /// As a verifier takes it: what the authenticator said of itself at enrolment decides nothing.
    pub(crate) fn credential(&self) -> Result<Credential, keys::Error> {
        Ok(Credential {
            id: self.credential_id.parse()?,
            key: self.key,
            count: 0,
            backed_up: false,
            attestation: Attestation::None,
        })
    }
}

/// A plain key of a person, named by its RFC 7638 thumbprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlainKey {
    pub key: PublicKey,
    pub since: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl PlainKey {
    pub fn is_active(&self, at: Timestamp) -> bool {
        self.since <= at && self.until.is_none_or(|until| at < until)
    }
}

/// Who stands before us and what could prove it. Passkeys and keys that were revoked stay listed, with `until`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub person: Person,
    pub passkeys: Vec<Passkey>,
    pub plain_keys: Vec<PlainKey>,
    /// The site for which passkeys sign; without one a passkey proves nothing.
    pub site: Option<Site>,
    /// The public name of the web session the caller has just verified.
    pub session: Option<String>,
    /// The public name of the agent credential the caller has just verified.
    pub agent: Option<String>,
}

impl Credentials {
    /// A person without any credential yet.
    pub const fn of(person: Person) -> Self {
        Self { person, passkeys: Vec::new(), plain_keys: Vec::new(), site: None, session: None, agent: None }
    }
}

/// A relying party in the words of WebAuthn. Answers need an authenticator that knew who pressed its button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The relying party id: a host without a port.
    pub id: String,
    /// Exact origins, e.g. `https://countersign.example`.
    pub origins: Vec<String>,
}

impl Site {
    pub fn relying_party(&self) -> RelyingParty {
        RelyingParty {
            id: self.id.clone(),
            origins: self.origins.clone(),
            verification: Verification::Required,
        }
    }
}
