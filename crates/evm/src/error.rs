use ledger::{Coded, Who};

/// What did not come of a call, and whether anything came of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("evm settings: {0}")]
    Settings(String),
    /// Nothing was done.
    #[error("the evm node cannot be reached: {0}")]
    Unavailable(String),
    /// The answer was lost after the call may have been taken.
    #[error("it is not known what the evm node did: {0}")]
    Unknown(String),
    /// The node's own no.
    #[error("the evm node refuses: {message} ({code})")]
    Refused { code: i64, message: String },
    #[error("what the evm node answers cannot be read: {0}")]
    Malformed(String),
    /// In a block, and the contract said no.
    #[error("the transaction {0} was reverted")]
    Reverted(String),
    /// Under this trigger something else is recorded.
    #[error("another report is recorded under this trigger")]
    Taken,
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Settings(_) => "evm_settings",
            Self::Unavailable(_) => "evm_unavailable",
            Self::Unknown(_) => "evm_unknown",
            Self::Refused { .. } => "evm_refused",
            Self::Malformed(_) => "evm_malformed",
            Self::Reverted(_) => "evm_reverted",
            Self::Taken => "evm_taken",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Settings(_) => Who::Caller,
            Self::Taken => Who::Conflict,
            _ => Who::Unavailable,
        }
    }

    fn retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Unknown(_) | Self::Malformed(_))
    }
}
