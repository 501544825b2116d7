//! Every way this crate refuses: a stable code, whose fault, and the place.

use crate::authorization::AuthorizationDigest;
use crate::issue::Unissued;
use ledger::{Coded, Who};

/// Why a document or a command was refused. Nothing was recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    // Documents.
    #[error("not strict json of this shape: {0}")]
    Document(canon::Error),
    #[error("{place} has a value that does not fit the rest")]
    BadValue { place: String },
    #[error("the mandate breaks its rules: {}", problems.join("; "))]
    MandateRules { problems: Vec<String> },

    // Authorizations.
    #[error("authorization refused: {}", .0.as_str())]
    Unissued(Unissued),
    #[error("the engine's key is not the one the mandate names")]
    EngineKey,
    #[error(transparent)]
    Keys(keys::Error),

    // Who decides.
    #[error("the key is no approver's of this mandate")]
    NotTheApprover,
    #[error("the signature is for another statement")]
    OtherStatement,
    #[error("this evidence of a decision is not accepted")]
    EvidenceNotAccepted,
    #[error("the signature is not the approver's")]
    BadApproverSignature,

    // The state of the mandate.
    #[error("no such mandate")]
    MandateUnknown,
    #[error("the mandate is paused")]
    Paused,
    #[error("the mandate is not paused")]
    NotPaused,
    #[error("the anchor does not name this mandate and these approvers")]
    AnchorDiffers,
    #[error("the version must be above {known}")]
    VersionMustGrow { known: u32 },
    #[error("the chain was read before what is known already")]
    StaleReading,
    #[error("no such run")]
    RunUnknown,
    #[error("the run has finished")]
    RunFinished,
    #[error("no such approval")]
    ApprovalUnknown,
    #[error("the approval is {status}")]
    NotPending { status: &'static str },
    #[error("what was signed is not what would be authorized now: open the approval again")]
    DraftDiffers,
    #[error("the facts must be verified first")]
    VerificationNeeded,
    #[error("no such delay")]
    NoDelay,
    #[error("no bond of this approval is locked")]
    BondNotLocked,
    #[error("no such authorization")]
    AuthorizationUnknown,
    #[error("the authorization was used or has expired")]
    AuthorizationOver,
    #[error("the authorization was settled by another transaction")]
    SettledOtherwise,
    #[error("an authorization for this has just expired and may still settle")]
    ReservationEnding,
    #[error("it must be looked up whether {digest} was used")]
    ReservationUnclear { digest: AuthorizationDigest },
    // Verifiers.
    #[error("the verifiers' panel is refused: {0}")]
    Panel(&'static str),
    #[error("a verifier's answer is of no use: {0}")]
    Statement(&'static str),

    #[error("at most {max} unpaid escalations at a time")]
    TooManyPriced { max: usize },

    #[error("internal: {0}")]
    Bug(String),
}

impl Refusal {
    const fn parts(&self) -> (&'static str, Who) {
        match self {
            Self::Document(error) => (error.code.as_str(), Who::Caller),
            Self::BadValue { .. } => ("bad_value", Who::Caller),
            Self::MandateRules { .. } => ("mandate_rules", Who::Caller),
            Self::Unissued(unissued) => (unissued.as_str(), Who::Conflict),
            Self::EngineKey => ("engine_key", Who::Unavailable),
            Self::Keys(error) => (error.code.as_str(), Who::Unavailable),
            Self::NotTheApprover => ("not_the_approver", Who::Unauthenticated),
            Self::OtherStatement => ("statement_mismatch", Who::Unauthenticated),
            Self::EvidenceNotAccepted => ("evidence_not_accepted", Who::Unauthenticated),
            Self::BadApproverSignature => ("bad_signature", Who::Unauthenticated),
            Self::MandateUnknown => ("mandate_unknown", Who::Missing),
            Self::Paused => ("paused", Who::Conflict),
            Self::NotPaused => ("not_paused", Who::Conflict),
            Self::AnchorDiffers => ("anchor_mismatch", Who::Bug),
            Self::VersionMustGrow { .. } => ("version_must_grow", Who::Conflict),
            Self::StaleReading => ("stale_reading", Who::Unavailable),
            Self::RunUnknown => ("run_unknown", Who::Missing),
            Self::RunFinished => ("run_finished", Who::Conflict),
            Self::ApprovalUnknown => ("approval_unknown", Who::Missing),
            Self::NotPending { .. } => ("approval_not_pending", Who::Conflict),
            Self::DraftDiffers => ("draft_mismatch", Who::Conflict),
            Self::VerificationNeeded => ("verification_unavailable", Who::Unavailable),
            Self::NoDelay => ("delay_unknown", Who::Missing),
            Self::BondNotLocked => ("bond_not_locked", Who::Conflict),
            Self::AuthorizationUnknown => ("authorization_unknown", Who::Missing),
            Self::AuthorizationOver => ("authorization_over", Who::Conflict),
            Self::SettledOtherwise => ("settled_otherwise", Who::Conflict),
            Self::ReservationEnding => ("reservation_ending", Who::Limit),
            Self::ReservationUnclear { .. } => ("reservation_unclear", Who::Unavailable),
            Self::Panel(_) => ("bad_panel", Who::Caller),
            Self::Statement(_) => ("bad_statement", Who::Unavailable),
            Self::TooManyPriced { .. } => ("too_many_priced", Who::Limit),
            Self::Bug(_) => ("internal", Who::Bug),
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
            Self::Document(error) => (!error.place.is_empty()).then(|| error.place.clone()),
            Self::BadValue { place } => Some(place.clone()),
            _ => None,
        }
    }
}

impl From<canon::Error> for Refusal {
    fn from(error: canon::Error) -> Self {
        Self::Document(error)
    }
}

impl From<ledger::Fault> for Refusal {
    fn from(fault: ledger::Fault) -> Self {
        Self::Bug(fault.to_string())
    }
}
