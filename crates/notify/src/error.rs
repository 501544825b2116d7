use ledger::{Coded, Who};

/// Why a person was not told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("not a notification target: {why}")]
    BadTarget { why: &'static str },
    #[error("not a message: {why}")]
    BadMessage { why: &'static str },
    #[error("{channel} is not configured")]
    NotConfigured { channel: &'static str },
    /// The subscription or mailbox is no more: the target should be removed.
    #[error("the receiver is gone")]
    Gone,
    #[error("the receiver refuses: {status}")]
    Refused { status: u16 },
    /// Too many requests, or an error of the receiver's own.
    #[error("the receiver cannot now: {status}")]
    Busy { status: u16, retry_after: Option<env::Duration> },
    #[error("the address is refused or does not answer: {0}")]
    Call(fetch::Error),
    #[error("the mail server cannot now: {detail}")]
    Mail { detail: String },
    #[error("cannot be set up: {detail}")]
    Setup { detail: String },
}

impl Error {
    /// Whether another attempt is useless.
    pub fn is_permanent(&self) -> bool {
        !self.retryable()
    }

    /// Reads an HTTP answer: any 2xx is success.
    pub(crate) fn of_answer(answer: &fetch::Response) -> Result<(), Self> {
        let status = answer.status.as_u16();
        match status {
            200..=299 => Ok(()),
            410 => Err(Self::Gone),
            408 | 425 | 429 | 500..=599 => {
                let wait = answer.headers.get(http::header::RETRY_AFTER);
                let secs = wait.and_then(|wait| wait.to_str().ok()).and_then(|wait| wait.parse().ok());
                Err(Self::Busy { status, retry_after: secs.map(env::Duration::from_secs) })
            }
            _ => Err(Self::Refused { status }),
        }
    }
}

impl From<fetch::Error> for Error {
    fn from(error: fetch::Error) -> Self {
        Self::Call(error)
    }
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::BadTarget { .. } => "bad_notify_target",
            Self::BadMessage { .. } => "bad_message",
            Self::NotConfigured { .. } => "not_configured",
            Self::Gone => "receiver_gone",
            Self::Refused { .. } => "receiver_refuses",
            Self::Busy { .. } => "receiver_busy",
            Self::Call(error) => error.code(),
            Self::Mail { .. } => "mail_unavailable",
            Self::Setup { .. } => "notify_setup",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::BadTarget { .. } | Self::BadMessage { .. } | Self::Gone | Self::Refused { .. } => {
                Who::Caller
            }
            Self::NotConfigured { .. } | Self::Busy { .. } | Self::Mail { .. } => Who::Unavailable,
            Self::Call(error) => error.who(),
            Self::Setup { .. } => Who::Bug,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Mail { .. } => true,
            Self::Call(error) => error.retryable(),
            _ => false,
        }
    }
}
