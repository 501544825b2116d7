//! What a verifier answers over HTTP: `POST /v1/verify` and `POST /v1/quote` to those who have its bearer key, and
//! `GET /v1/verifier`, its name and key, to everyone.

use crate::{Error, Found, Stripe};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use canon::Raw;
use env::Source;
use evm::Feed;
use http::{HeaderMap, HeaderValue, header};
use keys::{SecretHash, Signer};
use mandate::basis::{Basis, BasisLimits, FeedRound, Pair, Quote};
use mandate::invoice::Question;
use mandate::statement::{Attested, Statement, StatementSchema};
use mandate::text::{Ed25519Key, Id, Text, Units};
use mandate::{HashedAction, Millis};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A verifier, and what it stands on.
pub struct Desk {
    pub name: Id,
    pub signer: Arc<dyn Signer>,
    pub clock: Arc<dyn Source>,
    /// Who may ask.
    pub callers: Vec<SecretHash>,
    pub billing: Stripe,
    /// The payer that the billing source has to name, by mandate.
    pub customers: HashMap<Id, Text<1, 64>>,
    /// By pair, where its price is read.
    pub feeds: HashMap<Pair, Feed>,
}

/// Bytes of a question.
const MAX_BODY: usize = 64 << 10;

/// All its routes.
pub fn router(desk: Arc<Desk>) -> Router {
    Router::new()
        .route("/v1/verify", post(verify))
        .route("/v1/quote", post(quote))
        .route("/v1/verifier", get(introduce))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(desk)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    action: Raw,
    trigger_id: Text<1, 64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quoted {
    limits: BasisLimits,
    quote: Quote,
    trigger_id: Text<1, 64>,
}

#[derive(Debug, Serialize)]
struct Introduced {
    key: Ed25519Key,
    verifier: Id,
}

async fn verify(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: Bytes) -> Result<Response, Error> {
    desk.admit(&headers)?;
    let asked: Asked = canon::from_slice(&body)?;
    let action = HashedAction::read(asked.action.as_bytes()).map_err(Error::BadAction)?;
    answer(&desk.attest(&action, &asked.trigger_id).await?)
}

async fn quote(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: Bytes) -> Result<Response, Error> {
    desk.admit(&headers)?;
    let asked: Quoted = canon::from_slice(&body)?;
    answer(&desk.appraise(asked.quote, asked.limits, asked.trigger_id).await?)
}

async fn introduce(State(desk): State<Arc<Desk>>) -> Result<Response, Error> {
    answer(&Introduced { key: desk.key()?, verifier: desk.name.clone() })
}

impl Desk {
    /// The key it signs with.
    pub fn key(&self) -> Result<Ed25519Key, Error> {
        match self.signer.public() {
            keys::PublicKey::Ed25519(key) => Ok(Ed25519Key::from_bytes(*key.as_bytes())),
            keys::PublicKey::P256(_) => Err(Error::Bug("the verifier's key is not Ed25519".to_owned())),
        }
    }

    /// Reads the invoice that an action names and signs what is there.
    pub async fn attest(&self, action: &HashedAction, trigger_id: &Text<1, 64>) -> Result<Attested, Error> {
        let reference = action.reference.as_ref().ok_or(Error::NoInvoice)?;
        let customer = self.customers.get(&action.mandate_id);
        let customer = customer.ok_or_else(|| Error::MandateUnknown(action.mandate_id.to_string()))?;
        let found = self.billing.invoice(reference.invoice_id.as_str()).await?;
        let Found { invoice, number } = found.unwrap_or_default();
        let question = Question { action, reference, customer: customer.as_str(), trigger_id };
        let report = invoice.report(&question).map_err(|error| Error::Bug(error.to_string()))?;
        self.sign(Raw::of(&report)?, number)
    }

    /// Reads the price of a pair and signs how a quote compares to it.
    pub async fn appraise(
        &self,
        quote: Quote,
        limits: BasisLimits,
        trigger_id: Text<1, 64>,
    ) -> Result<Attested, Error> {
        let feed = self.feeds.get(&quote.pair).ok_or_else(|| Error::PairUnknown(quote.pair.to_string()))?;
        let round =
            feed.latest().await.map_err(|error| Error::FeedUnavailable { detail: error.to_string() })?;
        let bug = |error: &dyn fmt::Display| Error::Bug(error.to_string());
        let feed = FeedRound {
            chain_id: feed.chain_id(),
            contract: feed.contract().to_string().parse().map_err(|error| bug(&error))?,
            decimals: round.decimals,
            price: round.price.map(Units::new),
            round_id: round.round_id.to_string().parse().map_err(|error| bug(&error))?,
            updated_at_ms: Millis::try_from(round.updated_at.saturating_mul(1000))
                .map_err(|error| bug(&error))?,
        };
        let now = Millis::try_from(self.clock.now()).map_err(|error| bug(&error))?;
        let basis = Basis::of(quote, feed, limits, trigger_id, now).map_err(|error| bug(&error))?;
        self.sign_at(Raw::of(&basis)?, None, now)
    }

    fn sign(&self, report: Raw, invoice_number: Option<Text<0, 64>>) -> Result<Attested, Error> {
        let now = Millis::try_from(self.clock.now()).map_err(|error| Error::Bug(error.to_string()))?;
        self.sign_at(report, invoice_number, now)
    }

    fn sign_at(
        &self,
        report: Raw,
        invoice_number: Option<Text<0, 64>>,
        now: Millis,
    ) -> Result<Attested, Error> {
        let statement = Statement {
            invoice_number,
            observed_at_ms: now,
            report_hash: report.digest(),
            schema: StatementSchema::V01,
            verifier: self.name.clone(),
        };
        let signed = statement.sign(self.signer.as_ref()).map_err(|error| Error::Bug(error.to_string()))?;
        Ok(Attested { report, signed })
    }

    fn admit(&self, headers: &HeaderMap) -> Result<(), Error> {
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let secret = shown.and_then(|value| value.strip_prefix("Bearer ")).ok_or(Error::Unauthenticated)?;
        let hash = SecretHash::of(secret);
        // All are compared: how long it takes says nothing.
        let known = self.callers.iter().fold(false, |known, caller| known | (*caller == hash));
        if known { Ok(()) } else { Err(Error::Unauthenticated) }
    }
}

fn answer(value: &impl Serialize) -> Result<Response, Error> {
    let mut response = canon::to_vec(value)?.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk")
            .field("name", &self.name)
            .field("billing", &self.billing)
            .finish_non_exhaustive()
    }
}
