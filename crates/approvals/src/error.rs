use crate::{EvidenceKind, Suspicion};
use ledger::{Coded, Who};

/// Why this crate refuses. One stable code a variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    // Text.
    #[error("a name is empty")]
    NameEmpty { place: &'static str },
    #[error("longer than {max} characters")]
    TooLong { place: &'static str, max: usize },
    #[error("the name is not plain: {}", why.as_str())]
    NameSuspicious { place: &'static str, why: Suspicion },
    #[error("not spelled as an id")]
    BadId { place: &'static str },

    // Answers.
    #[error("the answer is to another ask")]
    WrongAsk,
    #[error("the ask has expired")]
    AskExpired,
    #[error("the nonce is not 16 to 64 characters of base64url")]
    BadNonce,
    #[error("the answer's body is not canonical json: {code} at {at}")]
    BodyNotCanonical { code: &'static str, at: String },
    #[error("this person may not answer this ask")]
    WrongPerson,
    #[error("this ask does not accept {} evidence", kind.as_str())]
    EvidenceNotAccepted { kind: EvidenceKind },
    #[error("{} evidence is not supported yet", kind.as_str())]
    EvidenceNotSupported { kind: EvidenceKind },
    #[error("no such credential of this person")]
    UnknownCredential,
    #[error("the credential was revoked")]
    CredentialRevoked,
    #[error("the evidence proves nothing: {code}: {detail}")]
    BadEvidence { code: &'static str, detail: String },

    // The organization.
    #[error("no such organization")]
    NoOrganization,
    #[error("the organization exists")]
    AlreadyFounded,
    #[error("the person lacks the role for this")]
    MayNot,
    #[error("no such member")]
    NoMember,
    #[error("a member has at least one role")]
    NoRoles,
    #[error("an organization keeps at least one owner")]
    LastOwner,
    #[error("this is the person's last passkey and there is no recovery code left")]
    LastPasskey,
    #[error("the link is not known")]
    InviteUnknown,
    #[error("the link was used")]
    InviteUsed,
    #[error("the link has expired")]
    InviteExpired,
    #[error("the person has enrolled before: use a passkey, a recovery code or the organization's admins")]
    NeedsRecovery,
    #[error("the passkey is enrolled already")]
    CredentialTaken,
    #[error("the recovery code is not known")]
    CodeUnknown,
    #[error("this person has vouched already")]
    AlreadyVouched,
    #[error("an owner may vouch from the seventh day on")]
    OwnerTooNew,
    #[error("a delegation goes to another active member, ends within 90 days and after now")]
    BadDelegation,
    #[error("there is no such delegation")]
    NoDelegation,
    #[error("quiet hours are two different minutes of a day and an offset of at most 14 hours")]
    BadQuietHours,
    #[error("at most {max} {what}")]
    TooMany { what: &'static str, max: usize },
    #[error("no such agent key")]
    NoAgentKey,
    #[error("the agent key is not known")]
    AgentKeyUnknown,
    #[error("the agent key was idle for 90 days")]
    AgentKeyIdle,
    #[error("paused already")]
    AlreadyPaused,
    #[error("not paused")]
    NotPaused,
    #[error("paused by a person")]
    Paused,
    #[error("the session was ended")]
    SessionEnded,
    #[error("not a notification target: {why}")]
    BadNotifyTarget { why: &'static str },
}

impl Refusal {
    const fn parts(&self) -> (&'static str, Who) {
        match self {
            Self::NameEmpty { .. } => ("name_empty", Who::Caller),
            Self::TooLong { .. } => ("too_long", Who::Caller),
            Self::NameSuspicious { .. } => ("name_suspicious", Who::Caller),
            Self::BadId { .. } => ("bad_id", Who::Caller),
            Self::WrongAsk => ("wrong_ask", Who::Caller),
            Self::AskExpired => ("ask_expired", Who::Conflict),
            Self::BadNonce => ("bad_nonce", Who::Caller),
            Self::BodyNotCanonical { .. } => ("body_not_canonical", Who::Caller),
            Self::WrongPerson => ("wrong_person", Who::Forbidden),
            Self::EvidenceNotAccepted { .. } => ("evidence_not_accepted", Who::Forbidden),
            Self::EvidenceNotSupported { .. } => ("evidence_not_supported", Who::Forbidden),
            Self::UnknownCredential => ("unknown_credential", Who::Unauthenticated),
            Self::CredentialRevoked => ("credential_revoked", Who::Unauthenticated),
            Self::BadEvidence { .. } => ("bad_evidence", Who::Unauthenticated),
            Self::NoOrganization => ("no_organization", Who::Missing),
            Self::AlreadyFounded => ("organization_exists", Who::Conflict),
            Self::MayNot => ("role_missing", Who::Forbidden),
            Self::NoMember => ("no_member", Who::Missing),
            Self::NoRoles => ("roles_empty", Who::Caller),
            Self::LastOwner => ("last_owner", Who::Conflict),
            Self::LastPasskey => ("last_passkey", Who::Conflict),
            Self::InviteUnknown => ("invite_unknown", Who::Unauthenticated),
            Self::InviteUsed => ("invite_used", Who::Forbidden),
            Self::InviteExpired => ("invite_expired", Who::Forbidden),
            Self::NeedsRecovery => ("needs_recovery", Who::Forbidden),
            Self::CredentialTaken => ("credential_taken", Who::Conflict),
            Self::CodeUnknown => ("code_unknown", Who::Unauthenticated),
            Self::AlreadyVouched => ("already_vouched", Who::Conflict),
            Self::OwnerTooNew => ("owner_too_new", Who::Forbidden),
            Self::BadDelegation => ("bad_delegation", Who::Caller),
            Self::NoDelegation => ("no_delegation", Who::Missing),
            Self::BadQuietHours => ("bad_quiet_hours", Who::Caller),
            Self::TooMany { .. } => ("too_many", Who::Conflict),
            Self::NoAgentKey => ("no_agent_key", Who::Missing),
            Self::AgentKeyUnknown => ("agent_key_unknown", Who::Unauthenticated),
            Self::AgentKeyIdle => ("agent_key_idle", Who::Unauthenticated),
            Self::AlreadyPaused => ("already_paused", Who::Conflict),
            Self::NotPaused => ("not_paused", Who::Conflict),
            Self::Paused => ("paused", Who::Conflict),
            Self::SessionEnded => ("session_ended", Who::Unauthenticated),
            Self::BadNotifyTarget { .. } => ("bad_notify_target", Who::Caller),
        }
    }
}

impl Coded for Refusal {
    fn code(&self) -> &'static str {
        self.parts().0
    }

    fn who(&self) -> Who {
        self.parts().1
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::NameEmpty { place }
            | Self::TooLong { place, .. }
            | Self::NameSuspicious { place, .. }
            | Self::BadId { place } => Some((*place).to_owned()),
            Self::WrongAsk => Some("/ask_id".to_owned()),
            Self::BadNonce => Some("/nonce".to_owned()),
            Self::BodyNotCanonical { .. } => Some("/body".to_owned()),
            Self::BadEvidence { .. }
            | Self::EvidenceNotAccepted { .. }
            | Self::EvidenceNotSupported { .. } => Some("/evidence".to_owned()),
            _ => None,
        }
    }
}
