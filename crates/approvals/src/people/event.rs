use super::wire::{NotifyTarget, Quiet, Target};
use crate::{MemberId, OrgId, Role};
use canon::{Digest, Salt};
use env::Timestamp;
use keys::{PublicKey, SecretHash};
use ledger::{Entry, Fault, Head, Payload};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Whoever runs the server, at its command line, or the server by itself.
    Server,
    Member(MemberId),
}

/// One entry of an organization's chain: what happened, when, and the private words beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub at: Timestamp,
    pub fact: Fact,
    /// `None` where the fact has no private part, or where it was erased.
    pub private: Option<Private>,
}

/// What an entry only names by hash: names of people, addresses. Salted, so that the hash tells nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Private {
    pub salt: Salt,
    /// A person's name, an agent key's label, a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<NotifyTarget>,
}

impl Private {
    pub(super) fn payload(&self) -> Result<Payload, Fault> {
        let bytes = canon::to_vec(self).map_err(|error| Fault::new(error.code.as_str(), error.place))?;
        Ok(Payload::new(bytes))
    }
}

/// The entry types of an organization. `sealed` is SHA-256 of the entry's private part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Fact {
    Founded {
        by: By,
        org: OrgId,
        name: String,
    },
    MemberAdded {
        by: By,
        member: MemberId,
        roles: BTreeSet<Role>,
        sealed: Digest,
    },
    MemberRemoved {
        by: By,
        member: MemberId,
    },
    RolesSet {
        by: By,
        member: MemberId,
        roles: BTreeSet<Role>,
    },
    /// Voids the member's earlier links.
    Invited {
        by: By,
        member: MemberId,
        secret: SecretHash,
        expires_at: Timestamp,
        recovery: bool,
    },
    /// `invite` names the link that was used up; without one a signed-in member added a further passkey. When `recovery`,
    /// every earlier passkey and session of the member ends here.
    PasskeyEnrolled {
        member: MemberId,
        credential_id: String,
        key: PublicKey,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invite: Option<SecretHash>,
        recovery: bool,
    },
    PasskeyRevoked {
        by: By,
        member: MemberId,
        credential_id: String,
    },
    /// Replaces the member's earlier codes.
    CodesIssued {
        member: MemberId,
        codes: Vec<SecretHash>,
    },
    CodeSpent {
        member: MemberId,
        code: SecretHash,
    },
    RecoveryVouched {
        by: MemberId,
        member: MemberId,
    },
    Delegated {
        member: MemberId,
        to: MemberId,
        until: Timestamp,
    },
    DelegationEnded {
        by: By,
        member: MemberId,
    },
    QuietSet {
        member: MemberId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quiet: Option<Quiet>,
    },
    AgentKeyIssued {
        member: MemberId,
        key: String,
        secret: SecretHash,
        last4: String,
        sealed: Digest,
    },
    AgentKeyRevoked {
        by: By,
        key: String,
    },
    /// At most one a day and key.
    AgentKeyUsed {
        key: String,
    },
    Paused {
        by: By,
        target: Target,
        sealed: Digest,
    },
    Resumed {
        by: By,
        target: Target,
    },
    SessionsRevoked {
        by: By,
        member: MemberId,
        epoch: u32,
    },
    NotifySet {
        /// Absent: the member.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<By>,
        member: MemberId,
        sealed: Digest,
    },
}

impl Fact {
    pub(super) const fn sealed(&self) -> Option<Digest> {
        match self {
            Self::MemberAdded { sealed, .. }
            | Self::AgentKeyIssued { sealed, .. }
            | Self::Paused { sealed, .. }
            | Self::NotifySet { sealed, .. } => Some(*sealed),
            _ => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Wire {
    n: u64,
    at: Timestamp,
    #[serde(flatten)]
    fact: Fact,
}

/// `hash` = SHA-256(the 32 bytes of `prev` ‖ canonical `{n, type, at, data}`).
pub(super) fn seal(event: &Event, prev: Head) -> Result<Entry, Fault> {
    let seq = prev.seq.saturating_add(1);
    let bytes = canon::to_vec(&Wire { n: seq, at: event.at, fact: event.fact.clone() })
        .map_err(|error| Fault::new(error.code.as_str(), error.place))?;
    let payload = event.private.as_ref().map(Private::payload).transpose()?;
    if let Some(payload) = &payload
        && event.fact.sealed() != Some(payload.digest)
    {
        return Err(Fault::new("payload_mismatch", seq));
    }
    Ok(Entry {
        seq,
        prev: prev.hash,
        hash: Digest::of_parts(&[prev.hash.as_bytes(), &bytes]),
        bytes,
        payload,
    })
}

pub(super) fn open(entry: &Entry, prev: Head) -> Result<Event, Fault> {
    let seq = prev.seq.saturating_add(1);
    if entry.seq != seq {
        return Err(Fault::new("entry_number", entry.seq));
    }
    if entry.prev != prev.hash {
        return Err(Fault::new("entry_link", seq));
    }
    if entry.hash != Digest::of_parts(&[prev.hash.as_bytes(), &entry.bytes]) {
        return Err(Fault::new("entry_hash", seq));
    }
    let wire: Wire = canon::from_slice(&entry.bytes)
        .map_err(|error| Fault::new(error.code.as_str(), format!("{seq}{}", error.place)))?;
    let private = match (&entry.payload, wire.fact.sealed()) {
        (None, _) => None,
        (Some(payload), Some(sealed)) if payload.digest == sealed && Digest::of(&payload.bytes) == sealed => {
            Some(canon::from_slice(&payload.bytes).map_err(|error| Fault::new(error.code.as_str(), seq))?)
        }
        (Some(_), _) => return Err(Fault::new("payload_mismatch", seq)),
    };
    let event = Event { at: wire.at, fact: wire.fact, private };
    // Unknown members, another order or another number would not come out the same.
    if wire.n == seq && seal(&event, prev)? == *entry {
        Ok(event)
    } else {
        Err(Fault::new("entry_form", seq))
    }
}
