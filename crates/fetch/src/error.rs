use ledger::{Coded, Who};

/// Why a call was not made, or came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the address is refused: {why}")]
    BadUrl { why: &'static str },
    #[error("the scheme is refused: https only")]
    SchemeRefused,
    /// The host is, or resolves to, an address that is not public and not listed.
    #[error("{host:?} is not at a public address")]
    AddressRefused { host: String },
    #[error("the header {name:?} is not the caller's to set")]
    HeaderRefused { name: String },
    #[error("answered {status} with a redirect, which is not followed")]
    RedirectRefused { status: u16 },
    #[error("the answer is longer than {max} bytes")]
    TooLarge { max: usize },
    #[error("no answer within the time allowed")]
    Timeout,
    #[error("cannot be reached: {detail}")]
    Unreachable { detail: String },
    /// The connection broke after the request may have been taken.
    #[error("the answer was lost: {detail}")]
    Broken { detail: String },
    #[error("the http client cannot be set up: {detail}")]
    Setup { detail: String },
}

impl Error {
    /// Whether the request may have had an effect all the same.
    pub const fn is_ambiguous(&self) -> bool {
        matches!(self, Self::Timeout | Self::Broken { .. } | Self::TooLarge { .. })
    }
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::BadUrl { .. } => "bad_url",
            Self::SchemeRefused => "scheme_refused",
            Self::AddressRefused { .. } => "address_refused",
            Self::HeaderRefused { .. } => "header_refused",
            Self::RedirectRefused { .. } => "redirect_refused",
            Self::TooLarge { .. } => "answer_too_large",
            Self::Timeout => "timeout",
            Self::Unreachable { .. } => "unreachable",
            Self::Broken { .. } => "answer_lost",
            Self::Setup { .. } => "http_client_setup",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::BadUrl { .. } | Self::SchemeRefused | Self::HeaderRefused { .. } => Who::Caller,
            Self::AddressRefused { .. } | Self::RedirectRefused { .. } => Who::Forbidden,
            Self::TooLarge { .. } | Self::Timeout | Self::Unreachable { .. } | Self::Broken { .. } => {
                Who::Unavailable
            }
            Self::Setup { .. } => Who::Bug,
        }
    }

    fn retryable(&self) -> bool {
        matches!(self, Self::Timeout | Self::Unreachable { .. } | Self::Broken { .. })
    }
}
