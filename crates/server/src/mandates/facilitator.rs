//! An x402 facilitator: a service that checks and submits the transactions that agents hand over (spec 1.9). What it says is
//! not believed: whether the bond is locked, the chain says.

use super::Refused;
use crate::App;
use ::http::{Method, StatusCode, header};
use canon::Raw;
use fetch::{Destination, Request};
use mandate::text::TxHash;
use mandate::x402::Entry;
use serde::{Deserialize, Serialize};

/// Where a facilitator is.
#[derive(Debug, Clone)]
pub struct Facilitator {
    verify: Destination,
    settle: Destination,
}

impl Facilitator {
    /// At an address such as `https://facilitator.example`, under which it has `/verify` and `/settle`.
    pub fn new(base: &str) -> Result<Self, fetch::Error> {
        let at = |path: &str| Destination::parse(&format!("{}{path}", base.trim_end_matches('/')));
        Ok(Self { verify: at("/verify")?, settle: at("/settle")? })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    payment_payload: &'a Raw,
    payment_requirements: &'a Entry,
    #[serde(rename = "x402Version")]
    version: u8,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Verified {
    is_valid: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settled {
    success: bool,
    #[serde(default)]
    error_reason: Option<String>,
    #[serde(default)]
    transaction: Option<String>,
}

/// It was submitted, and is in no block yet.
const PENDING: &str = "settlement_pending";

impl App {
    /// Has a payment verified, and if it is good settled. Gives the transaction that it says it submitted; `None` where it
    /// refuses, and where its answer to the submission was lost.
    pub(crate) async fn facilitated(
        &self,
        facilitator: &Facilitator,
        payment: &Raw,
        entry: &Entry,
    ) -> Result<Option<TxHash>, Refused> {
        let asked = Asked { payment_payload: payment, payment_requirements: entry, version: 2 };
        let body = canon::to_vec(&asked)?;
        let unavailable = || {
            let text = "the facilitator does not answer right now";
            Refused::new(StatusCode::SERVICE_UNAVAILABLE, "facilitator_unavailable", text).after(AGAIN)
        };
        let verified = self.post_to(&facilitator.verify, &body).await.map_err(|_| unavailable())?;
        let verified: Verified = canon::from_slice(&verified).map_err(|_| unavailable())?;
        if !verified.is_valid {
            return Ok(None);
        }
        let settled = match self.post_to(&facilitator.settle, &body).await {
            Ok(settled) => settled,
            // Whether it went out shows on chain when the agent asks again.
            Err(error) => {
                tracing::warn!(error, "a facilitator's settlement is not known");
                return Ok(None);
            }
        };
        let settled: Option<Settled> = canon::from_slice(&settled).ok();
        let out = settled
            .filter(|settled| settled.success || settled.error_reason.as_deref() == Some(PENDING))
            .and_then(|settled| settled.transaction?.parse().ok());
        Ok(out)
    }

    async fn post_to(&self, to: &Destination, body: &[u8]) -> Result<Vec<u8>, String> {
        let request = Request { body: body.to_vec().into(), ..Request::new(Method::POST, to.clone()) };
        let request = request.header(header::CONTENT_TYPE, "application/json").map_err(|e| e.to_string())?;
        let answer = self.fetch().send(request).await.map_err(|error| error.to_string())?;
        match answer.status {
            // A refusal may come with any of these; what it says is in the body.
            StatusCode::OK | StatusCode::BAD_REQUEST | StatusCode::PAYMENT_REQUIRED => {
                Ok(answer.body.to_vec())
            }
            status => Err(format!("status {status}")),
        }
    }
}

/// Seconds.
const AGAIN: u64 = 10;
