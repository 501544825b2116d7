//! What this edge refuses, and how the refusals of the floors below reach it.

use ledger::{Coded, Who};

/// Why a request was not served. One value for HTTP, MCP and the console; [`crate::problem`] and [`crate::mcp`] spell it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No credential, or one that is not known here. The same words whether or not the thing asked for exists.
    #[error("a valid credential is needed")]
    Unauthenticated,
    /// Nothing of that name for this caller.
    #[error("not found")]
    Missing,
    /// The caller is known and may not.
    #[error("{text}")]
    Forbidden { code: &'static str, text: String },
    /// The request is malformed.
    #[error("{text}")]
    Malformed { code: &'static str, place: Option<String>, text: String },
    /// The body is larger than this route takes.
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// Not in this state.
    #[error("{text}")]
    Conflict { code: &'static str, text: String },
    /// Too often.
    #[error("too many requests")]
    RateLimited { code: &'static str, retry_after: u64 },
    /// Another request with the same idempotency key is still running.
    #[error("a request with this idempotency key is still running")]
    InFlight,
    /// The idempotency key was used before for another request.
    #[error("the idempotency key was used before for another request")]
    KeyReused,
    /// Not configured, or something this server needs does not answer.
    #[error("{text}")]
    Unavailable { code: &'static str, text: String },
    /// The other side of a call this server made failed.
    #[error("{text}")]
    Upstream { code: &'static str, text: String },
    /// A refusal of a protocol, said in its own words.
    #[error("{text}")]
    Refused { code: &'static str, who: Who, place: Option<String>, text: String, retryable: bool },
    /// Ours. The text goes to the log only.
    #[error("{0}")]
    Bug(String),
}

impl Error {
    /// A malformed request at `place`, a JSON Pointer.
    pub fn malformed(code: &'static str, place: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Malformed { code, place: Some(place.into()), text: text.into() }
    }

    /// The same refusal, its place spelled as the request spells it: there a member may be called otherwise than in the
    /// command that refused it.
    pub(crate) fn placed(mut self, spell: impl FnOnce(&str) -> String) -> Self {
        if let Self::Malformed { place: Some(place), .. } | Self::Refused { place: Some(place), .. } =
            &mut self
        {
            *place = spell(place);
        }
        self
    }

    /// The same refusal, with the member that the command calls `of_command` under the request's name for it.
    pub(crate) fn renamed(self, of_command: &str, of_request: &str) -> Self {
        self.placed(|place| match place.strip_prefix(of_command) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{of_request}{rest}"),
            _ => place.to_owned(),
        })
    }

    /// Carries a refusal of a lower floor with its code, place and words.
    pub fn of<E: Coded>(error: &E) -> Self {
        match error.who() {
            Who::Bug => Self::Bug(format!("{}: {error}", error.code())),
            who => Self::Refused {
                code: error.code(),
                who,
                place: error.place(),
                text: error.to_string(),
                retryable: error.retryable(),
            },
        }
    }

    /// The words a caller may read. Faults of ours say nothing about themselves.
    pub fn shown(&self) -> String {
        match self {
            Self::Bug(_) => "something went wrong on this server".to_owned(),
            Self::Refused { who: Who::Unavailable, .. } => {
                "this server cannot do that right now; try again".to_owned()
            }
            other => other.to_string(),
        }
    }

    /// Seconds after which the same request may succeed.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after, .. } => Some(*retry_after),
            Self::InFlight => Some(1),
            other => other.retryable().then_some(1),
        }
    }
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Unauthenticated => "credential_required",
            Self::Missing => "not_found",
            Self::TooLarge { .. } => "too_large",
            Self::InFlight => "idempotency_in_flight",
            Self::KeyReused => "idempotency_key_reused",
            Self::Bug(_) => "internal",
            Self::Forbidden { code, .. }
            | Self::Malformed { code, .. }
            | Self::Conflict { code, .. }
            | Self::RateLimited { code, .. }
            | Self::Unavailable { code, .. }
            | Self::Upstream { code, .. }
            | Self::Refused { code, .. } => code,
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Unauthenticated => Who::Unauthenticated,
            Self::Missing => Who::Missing,
            Self::Forbidden { .. } => Who::Forbidden,
            Self::Malformed { .. } | Self::TooLarge { .. } | Self::KeyReused => Who::Caller,
            Self::Conflict { .. } | Self::InFlight => Who::Conflict,
            Self::RateLimited { .. } => Who::Limit,
            Self::Unavailable { .. } | Self::Upstream { .. } => Who::Unavailable,
            Self::Refused { who, .. } => *who,
            Self::Bug(_) => Who::Bug,
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Malformed { place, .. } | Self::Refused { place, .. } => place.clone(),
            _ => None,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::InFlight | Self::RateLimited { .. } | Self::Upstream { .. } => true,
            Self::Refused { retryable, .. } => *retryable,
            // What is not configured stays so.
            _ => false,
        }
    }
}

impl From<canon::Error> for Error {
    fn from(error: canon::Error) -> Self {
        Self::Malformed { code: error.code.as_str(), place: Some(error.place), text: error.detail }
    }
}

impl From<store::StoreError> for Error {
    fn from(error: store::StoreError) -> Self {
        Self::of(&error)
    }
}

impl<R: Coded> From<store::Error<R>> for Error {
    fn from(error: store::Error<R>) -> Self {
        match error {
            store::Error::KeyReused => Self::KeyReused,
            other => Self::of(&other),
        }
    }
}
