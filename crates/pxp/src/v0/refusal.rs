//! Every way a `v0` room refuses: one sentence for the caller, a stable code, and whose fault it is.

use super::Side;
use ledger::{Coded, Who};

/// Why a command was refused. Nothing was recorded. The sentences are shown as they are, to people and agents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("There is no such room.")]
    NoRoom,
    #[error("That room exists already.")]
    Exists,
    #[error("The seat must be A or B.")]
    NoSeat,
    #[error("The seat link is not valid for that seat.")]
    WrongToken,
    #[error("{0}")]
    BadCard(String),
    #[error("The card of this seat is sealed already.")]
    Sealed,
    #[error("The answer is empty.")]
    BlankAnswer,
    #[error("The demo takes one of its own answers, chosen on its page.")]
    DemoAnswer,
    #[error("Drafting is not part of the demo.")]
    DemoDraft,
    #[error("The text to draft from is empty.")]
    BlankDraft,
    #[error("This seat has used its five drafts.")]
    DraftsUsed,
    #[error("No question waits for the principal of this seat.")]
    NothingPending,
    #[error("This room does not need to be resumed.")]
    NothingToResume,
    #[error("Both cards must be sealed before the proxies talk.")]
    Drafting,
    #[error("The room is paused: the principal of seat {0} has been asked and has not answered yet.")]
    Paused(Side),
    #[error("The room is paused.")]
    Interrupted,
    #[error("It is not the turn of this seat.")]
    NotYourTurn,
    #[error("The room has ended.")]
    Ended,
    #[error("The room stopped on an error and must be resumed on its page.")]
    Stopped,
    #[error("This seat is played by the built-in proxy.")]
    BuiltIn,
    #[error("This seat is played by an agent of its own.")]
    External,
    #[error("A built-in seat can be taken over only before the cards are sealed.")]
    TooLateToJoin,
    #[error("This seat has changed its agent too often.")]
    TooManyLabels,
}

impl Coded for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Self::NoRoom => "no_room",
            Self::Exists => "room_exists",
            Self::NoSeat => "no_seat",
            Self::WrongToken => "wrong_token",
            Self::BadCard(_) => "bad_card",
            Self::Sealed => "sealed",
            Self::BlankAnswer => "blank_answer",
            Self::DemoAnswer => "demo_answer",
            Self::DemoDraft => "demo_draft",
            Self::BlankDraft => "blank_draft",
            Self::DraftsUsed => "drafts_used",
            Self::NothingPending => "nothing_pending",
            Self::NothingToResume => "nothing_to_resume",
            Self::Drafting => "drafting",
            Self::Paused(_) => "paused",
            Self::Interrupted => "interrupted",
            Self::NotYourTurn => "not_your_turn",
            Self::Ended => "ended",
            Self::Stopped => "stopped",
            Self::BuiltIn => "built_in",
            Self::External => "external",
            Self::TooLateToJoin => "too_late_to_join",
            Self::TooManyLabels => "too_many_labels",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::NoRoom => Who::Missing,
            Self::NoSeat
            | Self::BadCard(_)
            | Self::BlankAnswer
            | Self::BlankDraft
            | Self::DemoAnswer
            | Self::DemoDraft => Who::Caller,
            Self::WrongToken => Who::Forbidden,
            Self::DraftsUsed | Self::TooManyLabels => Who::Limit,
            Self::Exists
            | Self::Sealed
            | Self::NothingPending
            | Self::NothingToResume
            | Self::Drafting
            | Self::Paused(_)
            | Self::Interrupted
            | Self::NotYourTurn
            | Self::Ended
            | Self::Stopped
            | Self::BuiltIn
            | Self::External
            | Self::TooLateToJoin => Who::Conflict,
        }
    }
}
