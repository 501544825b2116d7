use crate::Remembered;
use ledger::{Coded, Fault, Head, StreamId, Who};

/// Why a journal did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The stream has moved on: reload, decide again.
    #[error("stream {stream} is at entry {}, not where this was decided", actual.seq)]
    Stale { stream: StreamId, actual: Head },
    /// The key was used before, with this answer.
    #[error("idempotency key used before")]
    Repeated(Remembered),
    /// The append itself breaks the chain's rules: a bug above.
    #[error("broken append: {0}")]
    Broken(&'static str),
    /// The lease this rests on was lost to another holder.
    #[error("lease '{0}' was lost")]
    Fenced(String),
    /// Refused before anything was written.
    #[error("store unavailable: {0}")]
    Unavailable(String),
    /// The answer was lost: it may have been written. Reload to learn.
    #[error("append outcome unknown: {0}")]
    Unknown(String),
    /// What is stored is not what was written.
    #[error("store corrupt: {0}")]
    Corrupt(String),
    /// Another server key sealed this store.
    #[error("the server key is not the one this store was sealed with")]
    WrongKey,
    /// A restore that would take back what the log has published.
    #[error("restore refused: the log has published {published} leaves, the backup has {backup}")]
    RollBack { published: u64, backup: u64 },
}

impl Coded for StoreError {
    fn code(&self) -> &'static str {
        match self {
            Self::Stale { .. } => "stale",
            Self::Repeated(_) => "idempotency_key_used",
            Self::Broken(_) => "broken_append",
            Self::Fenced(_) => "lease_lost",
            Self::Unavailable(_) => "store_unavailable",
            Self::Unknown(_) => "outcome_unknown",
            Self::Corrupt(_) => "store_corrupt",
            Self::WrongKey => "wrong_server_key",
            Self::RollBack { .. } => "log_roll_back",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Stale { .. } | Self::Repeated(_) | Self::RollBack { .. } => Who::Conflict,
            Self::Fenced(_) | Self::Unavailable(_) | Self::Unknown(_) | Self::WrongKey => Who::Unavailable,
            Self::Broken(_) | Self::Corrupt(_) => Who::Bug,
        }
    }
}

/// Why a command was not executed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error<R: Coded> {
    /// The protocol says no.
    #[error("{0}")]
    Refused(R),
    /// The idempotency key was used before, for another request.
    #[error("the idempotency key was used before for another request")]
    KeyReused,
    /// Others kept moving the stream.
    #[error("stream {0} is too busy")]
    Busy(StreamId),
    /// The evaluator failed, or the stored chain does not open: nothing was done.
    #[error("{0}")]
    Fault(Fault),
    #[error("{0}")]
    Store(StoreError),
}

impl<R: Coded> Coded for Error<R> {
    fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::KeyReused => "idempotency_key_reused",
            Self::Busy(_) => "stream_busy",
            Self::Fault(fault) => fault.code,
            Self::Store(error) => error.code(),
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Refused(refusal) => refusal.who(),
            Self::KeyReused => Who::Conflict,
            Self::Busy(_) => Who::Limit,
            Self::Fault(_) => Who::Bug,
            Self::Store(error) => error.who(),
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => refusal.place(),
            Self::Fault(fault) => Some(fault.place.clone()),
            Self::KeyReused | Self::Busy(_) | Self::Store(_) => None,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.retryable(),
            Self::Store(error) => error.retryable(),
            Self::Busy(_) => true,
            Self::KeyReused | Self::Fault(_) => false,
        }
    }
}

impl<R: Coded> From<StoreError> for Error<R> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
