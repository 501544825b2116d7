//! Every way a room refuses (spec 7, W-14, W-21): a stable code, whose fault, and the place.

use crate::{ClaimId, SeatId};
use ledger::{Coded, Who};

/// Why a command was refused. Nothing was recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    // The request itself.
    #[error("{place} has {units} characters, the limit is {limit}")]
    TooLong { place: String, units: usize, limit: usize },
    #[error("{place} has {count} items, the limit is {limit}")]
    TooMany { place: String, count: usize, limit: usize },
    #[error("{place} is empty")]
    Empty { place: String },
    #[error("{place} holds hidden or control characters")]
    HiddenCharacters { place: String },
    #[error("{place} is not made of plain letters, digits, spaces, hyphens, underscores and dots")]
    LabelSuspicious { place: String },
    #[error("{place} is a name that may mislead. {why}")]
    NameSuspicious { place: String, why: &'static str },
    #[error("{place} could be taken for the name of seat {seat}")]
    NameAlike { place: String, seat: SeatId },
    #[error("{place}: {detail}")]
    BadValue { place: String, detail: String },
    #[error("{place} names the clause {clause:?}, which the card does not have")]
    UnknownClause { place: String, clause: String },
    #[error("{place} names the claim {id:?}, which this room does not have")]
    UnknownClaim { place: String, id: String },
    #[error("{place} reviews the seat's own claim {id}")]
    OwnClaim { place: String, id: ClaimId },
    #[error("claims not reviewed yet: {}", list(ids))]
    UnreviewedClaims { ids: Vec<ClaimId> },
    #[error("status agree needs accepts: the offer hash it accepts")]
    AcceptsMissing,
    #[error("{place} is only for status {status}")]
    Misplaced { place: String, status: &'static str },
    #[error("a signed question needs its own salt")]
    SaltRequired,

    // Who asks.
    #[error("no such room")]
    RoomUnknown,
    #[error("no seat {seat} in this room")]
    SeatUnknown { seat: SeatId },
    #[error("this credential may not do that")]
    NotPermitted,
    #[error("this invite has been used")]
    InviteUsed,
    #[error("this invite is not for that seat")]
    InviteUnknown,
    #[error("this seat signs its messages, and this one has no signature")]
    SignatureRequired,
    #[error("the signature does not verify under the seat's key")]
    BadSignature,
    #[error("not a public key this room can use: {detail}")]
    BadKey { detail: String },
    #[error("only the principal who was asked may answer")]
    WrongPerson,
    #[error("this room does not accept that evidence of an answer")]
    EvidenceNotAccepted,
    #[error("the evidence is for another statement")]
    StatementMismatch,

    // The state of the room.
    #[error("the room exists")]
    RoomExists,
    #[error("the room is paused by its owner")]
    Paused,
    #[error("the room has ended: {outcome}")]
    RoomEnded { outcome: String },
    #[error("not every seat has sealed its card")]
    Drafting,
    #[error("the negotiation has begun, the card can no longer be replaced")]
    Sealed,
    #[error("the seat has no agent yet")]
    NotJoined,
    #[error("it is the turn of seat {turn}")]
    NotYourTurn { turn: SeatId },
    #[error("the room waits for the principal of seat {seat}")]
    AwaitingAnswer { seat: SeatId },
    #[error("no offer in this room has that hash")]
    OfferUnknown,
    #[error("that is the seat's own offer")]
    OfferOwn,
    #[error("that offer was made while asking and does not bind")]
    OfferDraft,
    #[error("that offer was superseded by a newer one of its seat")]
    OfferSuperseded,
    #[error("that offer was withdrawn")]
    OfferWithdrawn,
    #[error("that offer has expired")]
    OfferExpired,
    #[error("the principal has ruled against this")]
    DeniedByPrincipal,
    #[error("no such question")]
    QuestionUnknown,
    #[error("that question has been answered")]
    QuestionAnswered,
    #[error("that question has no relayed answer to confirm")]
    NothingToConfirm,
    #[error("the principal of that seat has enrolled already")]
    PrincipalBound,
    #[error("that message id was used for another message")]
    IdempotencyConflict,
    #[error("no such share link")]
    ShareUnknown,
    #[error("{place} has no {what} to disclose")]
    NothingToDisclose { place: String, what: String },
    #[error("that claim has been settled by a principal")]
    ClaimSettled,

    // Too often.
    #[error("an agent's label may change {limit} times")]
    LabelLimit { limit: usize },
    #[error("at most {limit} of these in a room")]
    RoomLimit { limit: usize },

    #[error("internal: {0}")]
    Bug(String),
}

impl Coded for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "too_long",
            Self::TooMany { .. } => "too_many",
            Self::Empty { .. } => "empty",
            Self::HiddenCharacters { .. } => "hidden_characters",
            Self::LabelSuspicious { .. } => "label_suspicious",
            Self::NameSuspicious { .. } => "name_suspicious",
            Self::NameAlike { .. } => "name_alike",
            Self::BadValue { .. } => "bad_value",
            Self::UnknownClause { .. } => "unknown_clause",
            Self::UnknownClaim { .. } => "unknown_claim",
            Self::OwnClaim { .. } => "own_claim",
            Self::UnreviewedClaims { .. } => "unreviewed_claims",
            Self::AcceptsMissing => "accepts_missing",
            Self::Misplaced { .. } => "misplaced",
            Self::SaltRequired => "salt_required",
            Self::RoomUnknown => "room_unknown",
            Self::SeatUnknown { .. } => "seat_unknown",
            Self::NotPermitted => "not_permitted",
            Self::InviteUsed => "invite_used",
            Self::InviteUnknown => "invite_unknown",
            Self::SignatureRequired => "signature_required",
            Self::BadSignature => "bad_signature",
            Self::BadKey { .. } => "bad_key",
            Self::WrongPerson => "wrong_person",
            Self::EvidenceNotAccepted => "evidence_not_accepted",
            Self::StatementMismatch => "statement_mismatch",
            Self::RoomExists => "room_exists",
            Self::Paused => "paused",
            Self::RoomEnded { .. } => "room_ended",
            Self::Drafting => "drafting",
            Self::Sealed => "sealed",
            Self::NotJoined => "not_joined",
            Self::NotYourTurn { .. } => "not_your_turn",
            Self::AwaitingAnswer { .. } => "awaiting_answer",
            Self::OfferUnknown => "offer_unknown",
            Self::OfferOwn => "offer_own",
            Self::OfferDraft => "offer_draft",
            Self::OfferSuperseded => "offer_superseded",
            Self::OfferWithdrawn => "offer_withdrawn",
            Self::OfferExpired => "offer_expired",
            Self::DeniedByPrincipal => "denied_by_principal",
            Self::QuestionUnknown => "question_unknown",
            Self::QuestionAnswered => "question_answered",
            Self::NothingToConfirm => "nothing_to_confirm",
            Self::PrincipalBound => "principal_bound",
            Self::IdempotencyConflict => "idempotency_conflict",
            Self::ShareUnknown => "share_unknown",
            Self::NothingToDisclose { .. } => "nothing_to_disclose",
            Self::ClaimSettled => "claim_settled",
            Self::LabelLimit { .. } => "label_limit",
            Self::RoomLimit { .. } => "room_limit",
            Self::Bug(_) => "internal",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::TooLong { .. }
            | Self::TooMany { .. }
            | Self::Empty { .. }
            | Self::HiddenCharacters { .. }
            | Self::LabelSuspicious { .. }
            | Self::NameSuspicious { .. }
            | Self::NameAlike { .. }
            | Self::BadValue { .. }
            | Self::UnknownClause { .. }
            | Self::UnknownClaim { .. }
            | Self::OwnClaim { .. }
            | Self::AcceptsMissing
            | Self::Misplaced { .. }
            | Self::SaltRequired
            | Self::BadKey { .. }
            | Self::NothingToDisclose { .. } => Who::Caller,
            Self::RoomUnknown | Self::SeatUnknown { .. } | Self::QuestionUnknown | Self::ShareUnknown => {
                Who::Missing
            }
            Self::NotPermitted
            | Self::InviteUsed
            | Self::InviteUnknown
            | Self::SignatureRequired
            | Self::BadSignature
            | Self::WrongPerson
            | Self::EvidenceNotAccepted
            | Self::StatementMismatch
            | Self::DeniedByPrincipal => Who::Forbidden,
            Self::UnreviewedClaims { .. }
            | Self::RoomExists
            | Self::Paused
            | Self::RoomEnded { .. }
            | Self::Drafting
            | Self::Sealed
            | Self::NotJoined
            | Self::NotYourTurn { .. }
            | Self::AwaitingAnswer { .. }
            | Self::OfferUnknown
            | Self::OfferOwn
            | Self::OfferDraft
            | Self::OfferSuperseded
            | Self::OfferWithdrawn
            | Self::OfferExpired
            | Self::QuestionAnswered
            | Self::NothingToConfirm
            | Self::PrincipalBound
            | Self::IdempotencyConflict
            | Self::ClaimSettled => Who::Conflict,
            Self::LabelLimit { .. } | Self::RoomLimit { .. } => Who::Limit,
            Self::Bug(_) => Who::Bug,
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::TooLong { place, .. }
            | Self::TooMany { place, .. }
            | Self::Empty { place }
            | Self::HiddenCharacters { place }
            | Self::LabelSuspicious { place }
            | Self::NameSuspicious { place, .. }
            | Self::NameAlike { place, .. }
            | Self::BadValue { place, .. }
            | Self::UnknownClause { place, .. }
            | Self::UnknownClaim { place, .. }
            | Self::OwnClaim { place, .. }
            | Self::Misplaced { place, .. }
            | Self::NothingToDisclose { place, .. } => Some(place.clone()),
            Self::AcceptsMissing
            | Self::OfferUnknown
            | Self::OfferOwn
            | Self::OfferDraft
            | Self::OfferSuperseded
            | Self::OfferWithdrawn
            | Self::OfferExpired => Some("/accepts".to_owned()),
            Self::UnreviewedClaims { .. } => Some("/reviews".to_owned()),
            Self::SaltRequired => Some("/escalation/salt".to_owned()),
            _ => None,
        }
    }

    /// Nothing here gets better by waiting: a label or share limit of a room never resets.
    fn retryable(&self) -> bool {
        matches!(self, Self::NotYourTurn { .. } | Self::AwaitingAnswer { .. } | Self::Drafting | Self::Paused)
    }
}

impl From<canon::Error> for Refusal {
    fn from(error: canon::Error) -> Self {
        Self::Bug(error.to_string())
    }
}

impl From<ledger::Fault> for Refusal {
    fn from(fault: ledger::Fault) -> Self {
        Self::Bug(fault.to_string())
    }
}

fn list(ids: &[ClaimId]) -> String {
    ids.iter().map(ClaimId::as_str).collect::<Vec<_>>().join(", ")
}
