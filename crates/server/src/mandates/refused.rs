//! Refusals of the Authority API: problem documents as everywhere, with the seed's `error` beside them (D10).

use super::rail::ChainError;
use crate::Error;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use ledger::{Coded, Who};
use mandate::Refusal;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Why a request of the Authority API was not served.
#[derive(Debug)]
pub struct Refused {
    pub status: StatusCode,
    pub code: Cow<'static, str>,
    pub text: String,
    pub place: Option<String>,
    /// Seconds after which the same request may succeed.
    pub retry_after: Option<u64>,
    /// A further member of the problem.
    pub more: Option<Box<(&'static str, Value)>>,
}

impl Refused {
    pub fn new(status: StatusCode, code: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        let (code, text) = (code.into(), text.into());
        Self { status, code, text, place: None, retry_after: None, more: None }
    }

    pub fn bad(code: &'static str, place: &str, text: impl Into<String>) -> Self {
        Self { place: Some(place.to_owned()), ..Self::new(StatusCode::BAD_REQUEST, code, text) }
    }

    pub fn missing(code: &'static str, text: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, text)
    }

    pub fn nobody() -> Self {
        Error::Unauthenticated.into()
    }

    pub fn forbidden(code: &'static str, text: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, text)
    }

    pub fn after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    pub fn with(self, name: &'static str, value: Value) -> Self {
        Self { more: Some(Box::new((name, value))), ..self }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        if error.who() == Who::Bug {
            tracing::error!(%error, "request failed");
        }
        Self {
            status: crate::problem::status(&error),
            code: error.code().into(),
            text: error.shown(),
            place: error.place(),
            retry_after: error.retry_after(),
            more: None,
        }
    }
}

impl From<canon::Error> for Refused {
    fn from(error: canon::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<store::StoreError> for Refused {
    fn from(error: store::StoreError) -> Self {
        Error::from(error).into()
    }
}

impl From<ChainError> for Refused {
    fn from(trouble: ChainError) -> Self {
        tracing::warn!(code = trouble.code(), error = %trouble, "the chain did not do what was asked");
        let status = match trouble {
            // The witness is the credential.
            ChainError::BadWitness(_) => StatusCode::UNAUTHORIZED,
            _ => status(trouble.who()),
        };
        let refused = Self::new(status, trouble.code(), shown(&trouble));
        if trouble.retryable() { refused.after(CHAIN_AGAIN) } else { refused }
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        let own = |status, text: &str| Self::new(status, refusal.code(), text);
        match &refusal {
            Refusal::Unissued(_) => own(StatusCode::UNPROCESSABLE_ENTITY, &refusal.to_string()),
            Refusal::ReservationEnding => {
                own(StatusCode::TOO_MANY_REQUESTS, &refusal.to_string()).after(RESERVATION_AGAIN)
            }
            Refusal::TooManyPriced { .. } => {
                own(StatusCode::TOO_MANY_REQUESTS, &refusal.to_string()).after(PRICED_AGAIN)
            }
            Refusal::StaleReading | Refusal::ReservationUnclear { .. } => {
                own(StatusCode::SERVICE_UNAVAILABLE, &refusal.to_string()).after(CHAIN_AGAIN)
            }
            Refusal::VerificationNeeded => Self::unverified(),
            Refusal::AnchorDiffers => {
                tracing::error!(error = %refusal, "a mandate is not the anchored one");
                let text = "the stored mandate is not the anchored one: nothing is evaluated";
                own(StatusCode::INTERNAL_SERVER_ERROR, text)
            }
            _ => Error::of(&refusal).into(),
        }
    }
}

impl From<store::Error<Refusal>> for Refused {
    fn from(error: store::Error<Refusal>) -> Self {
        match error {
            store::Error::Refused(refusal) => refusal.into(),
            other => Error::from(other).into(),
        }
    }
}

impl Refused {
    /// The facts cannot be verified now (spec 1.7 step 6).
    pub fn unverified() -> Self {
        let text = "the facts cannot be verified right now";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "VERIFICATION_UNAVAILABLE", text).after(VERIFY_AGAIN)
    }

    /// As a JSON document, with the status as a number.
    pub fn document(&self) -> Value {
        let mut members = Map::new();
        members.insert("type".to_owned(), format!("urn:countersign:problem:{}", self.code).into());
        members.insert("title".to_owned(), self.status.canonical_reason().unwrap_or("Error").into());
        members.insert("status".to_owned(), self.status.as_u16().into());
        members.insert("detail".to_owned(), json!(self.text));
        members.insert("error".to_owned(), json!(self.text));
        members.insert("code".to_owned(), json!(self.code));
        if let Some(place) = &self.place {
            members.insert("place".to_owned(), json!(place));
        }
        members.insert("retryable".to_owned(), self.retry_after.is_some().into());
        if let Some((name, value)) = self.more.as_deref() {
            members.insert((*name).to_owned(), value.clone());
        }
        Value::Object(members)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        tracing::debug!(code = %self.code, place = ?self.place, "request refused");
        let mut response = (self.status, self.document().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Seconds (spec 1.7, 1.8).
const CHAIN_AGAIN: u64 = 10;
const VERIFY_AGAIN: u64 = 30;
const RESERVATION_AGAIN: u64 = 120;
const PRICED_AGAIN: u64 = 60;

const fn status(who: Who) -> StatusCode {
    match who {
        Who::Caller => StatusCode::BAD_REQUEST,
        Who::Unauthenticated => StatusCode::UNAUTHORIZED,
        Who::Forbidden => StatusCode::FORBIDDEN,
        Who::Missing => StatusCode::NOT_FOUND,
        Who::Conflict => StatusCode::CONFLICT,
        Who::Limit => StatusCode::TOO_MANY_REQUESTS,
        Who::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Who::Bug => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// What a caller may read of it: not what a node says of itself.
fn shown(trouble: &ChainError) -> String {
    match trouble {
        ChainError::Unavailable(_) => "the chain cannot be read right now".to_owned(),
        ChainError::Unknown(_) => "it is not known yet whether the chain took it".to_owned(),
        ChainError::Insufficient { .. } => "the wallet that pays fees holds too little".to_owned(),
        ChainError::Bug(_) => "something went wrong on this server".to_owned(),
        other => other.to_string(),
    }
}
