use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use ledger::{Coded, Who};

/// Why a verifier says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("a bearer key of this verifier is needed")]
    Unauthenticated,
    #[error("not strict json of this shape: {0}")]
    BadRequest(canon::Error),
    #[error("not an action: {0}")]
    BadAction(mandate::Refusal),
    #[error("the action names no invoice")]
    NoInvoice,
    #[error("this verifier knows no customer for mandate {0:?}")]
    MandateUnknown(String),
    #[error("this verifier reads no price of {0:?}")]
    PairUnknown(String),
    #[error("the price feed cannot be read: {detail}")]
    FeedUnavailable { detail: String },
    /// The key is refused, or it may not read invoices.
    #[error("the billing source refuses this verifier's key ({status})")]
    SourceRefused { status: u16 },
    #[error("the billing source has been asked too much")]
    SourceBusy { after: u64 },
    #[error("the billing source cannot be read: {detail}")]
    SourceUnavailable { detail: String },
    #[error("what the billing source answers is no invoice: {detail}")]
    SourceMalformed { detail: String },
    #[error("internal: {0}")]
    Bug(String),
}

/// Seconds, where the source does not say.
const AGAIN: u64 = 10;

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::BadRequest(error) => error.code.as_str(),
            Self::BadAction(_) => "bad_action",
            Self::NoInvoice => "no_invoice",
            Self::MandateUnknown(_) => "mandate_unknown",
            Self::PairUnknown(_) => "pair_unknown",
            Self::FeedUnavailable { .. } => "feed_unavailable",
            Self::SourceRefused { .. } => "source_refused",
            Self::SourceBusy { .. } => "source_busy",
            Self::SourceUnavailable { .. } => "source_unavailable",
            Self::SourceMalformed { .. } => "source_malformed",
            Self::Bug(_) => "internal",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Unauthenticated => Who::Unauthenticated,
            Self::BadRequest(_) | Self::BadAction(_) | Self::NoInvoice => Who::Caller,
            Self::MandateUnknown(_) | Self::PairUnknown(_) => Who::Missing,
            Self::FeedUnavailable { .. }
            | Self::SourceRefused { .. }
            | Self::SourceBusy { .. }
            | Self::SourceUnavailable { .. }
            | Self::SourceMalformed { .. } => Who::Unavailable,
            Self::Bug(_) => Who::Bug,
        }
    }

    fn retryable(&self) -> bool {
        self.who() == Who::Unavailable
    }
}

impl From<canon::Error> for Error {
    fn from(error: canon::Error) -> Self {
        Self::BadRequest(error)
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        tracing::info!(code = self.code(), error = %self, "no statement");
        let status = match self.who() {
            Who::Unauthenticated => StatusCode::UNAUTHORIZED,
            Who::Missing => StatusCode::NOT_FOUND,
            Who::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Who::Bug => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        // What the source said of itself is for the log.
        let detail = match &self {
            Self::SourceUnavailable { .. } => "the billing source cannot be read right now".to_owned(),
            Self::FeedUnavailable { .. } => "the price feed cannot be read right now".to_owned(),
            Self::SourceMalformed { .. } => "what the billing source answers is no invoice".to_owned(),
            Self::Bug(_) => "something went wrong in this verifier".to_owned(),
            other => other.to_string(),
        };
        let problem = serde_json::json!({
            "type": format!("urn:countersign:problem:{}", self.code()), "title": status.canonical_reason(),
            "status": status.as_u16(), "detail": detail, "code": self.code(), "retryable": self.retryable(),
        });
        let mut response = (status, problem.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.retryable() {
            let after = if let Self::SourceBusy { after } = self { after } else { AGAIN };
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
