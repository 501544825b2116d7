use chain::ChainError;
use ledger::{Coded, Who};
use mandate::Refusal;
use std::time::Duration;

/// Why a proposal came to no decision.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// What is proposed is no action.
    #[error("not an action: {0}")]
    Action(Refusal),
    #[error(transparent)]
    Key(keys::Error),
    /// The request was not made, and nothing happened.
    #[error("the server was not asked: {0}")]
    Unreached(fetch::Error),
    /// The answer was lost: the server may have acted. Asking again tells, and pays nothing twice.
    #[error("it is not known what the server did: {0}")]
    Unknown(String),
    /// The server's own refusal, by its code.
    #[error("the server refuses: {code}: {detail}")]
    Refused { status: u16, code: String, detail: String, again: Option<Duration> },
    /// It answered, and not to what was asked.
    #[error("the server's answer is of no use: {0}")]
    Answer(String),
    /// A price that this agent does not pay.
    #[error("the price is not paid: {why}")]
    Price { code: &'static str, why: String },
    /// The server does not take the bond for it.
    #[error("the bond does not pay the price: {code}")]
    BondRefused { code: String },
    /// Nothing is there to pay with.
    #[error("no wallet is set up to lock a bond with")]
    NoPurse,
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The folder of bonds.
    #[error("{path}: {detail}")]
    Folder { path: String, detail: String },
    /// The receipt's proof does not hold.
    #[error("the receipt does not hold: {code}{}", .place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default())]
    Proof { code: String, place: Option<String> },
}

impl Error {
    /// Whether and when the same request may be made again. Never where something was answered for good.
    pub fn again(&self) -> Option<Duration> {
        match self {
            Self::Refused { again, .. } => *again,
            Self::Unknown(_) | Self::Chain(ChainError::Unavailable(_)) => Some(Duration::ZERO),
            Self::Unreached(error) if error.retryable() => Some(Duration::ZERO),
            _ => None,
        }
    }
}

impl From<fetch::Error> for Error {
    fn from(error: fetch::Error) -> Self {
        if error.is_ambiguous() { Self::Unknown(error.to_string()) } else { Self::Unreached(error) }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Action(refusal)
    }
}

impl From<keys::Error> for Error {
    fn from(error: keys::Error) -> Self {
        Self::Key(error)
    }
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Action(refusal) => refusal.code(),
            Self::Key(error) => error.code.as_str(),
            Self::Unreached(error) => error.code(),
            Self::Unknown(_) => "answer_unknown",
            Self::Refused { .. } => "server_refuses",
            Self::Answer(_) => "bad_answer",
            Self::Price { code, .. } => code,
            Self::BondRefused { .. } => "bond_refused",
            Self::NoPurse => "no_wallet",
            Self::Chain(error) => error.code(),
            Self::Folder { .. } => "bonds_folder",
            Self::Proof { .. } => "receipt_refused",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Action(refusal) => refusal.who(),
            Self::Key(_) | Self::NoPurse | Self::Folder { .. } => Who::Caller,
            Self::Unreached(error) => error.who(),
            Self::Unknown(_) => Who::Unavailable,
            Self::Refused { status, .. } if *status >= 500 => Who::Unavailable,
            Self::Refused { .. } | Self::BondRefused { .. } | Self::Price { .. } => Who::Conflict,
            Self::Answer(_) | Self::Proof { .. } => Who::Unavailable,
            Self::Chain(error) => error.who(),
        }
    }
}
