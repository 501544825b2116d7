use ledger::{Coded, Who};

/// Why the gateway cannot do its work. What it refuses is a [`crate::Decision`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the signer cannot be reached: {0}")]
    SignerDown(String),
    /// The signer's own code and words.
    #[error("the signer refuses: {message}")]
    Signer { code: String, message: String },
    #[error("{what}: {why}")]
    State { what: String, why: String },
    #[error("the configuration cannot be used: {0}")]
    Config(String),
    #[error("{name}: {why}")]
    Upstream { name: String, why: String },
    #[error(transparent)]
    Fetch(#[from] fetch::Error),
}

impl From<signer::Fault> for Error {
    fn from(fault: signer::Fault) -> Self {
        match fault.code {
            signer::FaultCode::Unavailable => Self::SignerDown(fault.message),
            code => Self::Signer { code: code.as_str().to_owned(), message: fault.message },
        }
    }
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::SignerDown(_) => "signer_unavailable",
            Self::Signer { .. } => "signer_refused",
            Self::State { .. } => "wrap_state",
            Self::Config(_) => "bad_config",
            Self::Upstream { .. } => "upstream_down",
            Self::Fetch(error) => error.code(),
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::SignerDown(_) | Self::Upstream { .. } => Who::Unavailable,
            Self::Signer { .. } => Who::Forbidden,
            Self::State { .. } => Who::Unavailable,
            Self::Config(_) => Who::Caller,
            Self::Fetch(error) => error.who(),
        }
    }
}
