//! What a check is answered with, as far as an agent acts on it.

use crate::{Ask, Error};
use canon::{Raw, Value};
use http::{HeaderMap, StatusCode};
use mandate::authorization::Record;
use mandate::log::{ApprovalId, RunId};
use mandate::price::Bond;
use mandate::text::Text;
use mandate::{Brief, Evaluation, Hashed, Millis, Outcome as Judged, Price, Reason};
use serde::Deserialize;

/// The answer to a check.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Decided(Box<Decided>),
    /// 402: a person must be asked, and asking costs this.
    Priced(Box<Priced>),
}

/// A price, and the entry of the 402 that names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Priced {
    pub price: Price,
    pub(crate) accepted: Raw,
    /// Why the bond that was shown does not pay, by its code.
    pub refused: Option<String>,
}

/// What was decided, and where it is on record.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    pub outcome: Outcome,
    pub approval_id: Option<ApprovalId>,
    pub bond: Option<Bond>,
    pub evaluation: Evaluation,
    pub receipt_id: String,
    pub run_id: RunId,
}

/// What it comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Authorized by the engine: alone, or after the approver signed.
    Allowed(Box<Record>),
    /// It would be allowed, and nothing was signed, because nothing was asked to be done.
    Allowable,
    /// A person would have to be asked, for this. Nothing is owed.
    Quoted(Box<Price>),
    /// A person is asked, and reads this.
    Waiting(Box<Hashed<Brief>>),
    /// It may be done from then on, unless the approver objects.
    Delayed(Millis),
    Denied(Reason),
    /// A person said no.
    Declined {
        comment: Option<Text<1, 1000>>,
    },
}

#[derive(Deserialize)]
struct Told {
    approval_id: Option<ApprovalId>,
    authorization: Option<Record>,
    #[serde(default)]
    bond: Option<Bond>,
    #[serde(default)]
    brief: Option<Hashed<Brief>>,
    #[serde(default)]
    comment: Option<Text<1, 1000>>,
    evaluation: Evaluation,
    #[serde(default)]
    price: Option<Price>,
    receipt_id: String,
    run_id: RunId,
}

impl Answer {
    /// Reads an answer to this very question. Refuses one about another action, one whose signature does not hold, and a price
    /// for something else.
    pub(crate) fn read(
        ask: &Ask,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Self, Error> {
        match status {
            StatusCode::OK => Decided::read(ask, body).map(|decided| Self::Decided(Box::new(decided))),
            StatusCode::PAYMENT_REQUIRED => {
                let refused = headers.get("countersign-bond-refused").and_then(|code| code.to_str().ok());
                let priced = Priced::read(ask, body)?;
                Ok(Self::Priced(Box::new(Priced { refused: refused.map(str::to_owned), ..priced })))
            }
            _ => Err(refusal(status, headers, body)),
        }
    }
}

impl Priced {
    /// Of an x402 v2 document, the entry of scheme `cardano-escrow`.
    fn read(ask: &Ask, body: &[u8]) -> Result<Self, Error> {
        let other = |what: &str| Error::Answer(what.to_owned());
        let value = canon::parse(body).map_err(|error| Error::Answer(error.to_string()))?;
        if value.get("x402Version").and_then(Value::as_u64) != Some(2) {
            return Err(other("a price that is not x402 version 2"));
        }
        let entries = value.get("accepts").and_then(Value::as_array).unwrap_or_default();
        let escrow =
            |entry: &&Value<'_>| entry.get("scheme").and_then(Value::as_str) == Some("cardano-escrow");
        let entry = entries.iter().find(escrow).ok_or_else(|| other("no entry of scheme cardano-escrow"))?;
        let extra = entry.get("extra").ok_or_else(|| other("an entry without its price"))?;
        let price: Price = canon::from_value(extra.to_owned())
            .map_err(|error| Error::Answer(format!("a price: {error}")))?;
        if price.action_hash != ask.action.hash() {
            return Err(other("the price is for another action"));
        }
        let accepted = Raw::of(entry).map_err(|error| Error::Answer(error.to_string()))?;
        Ok(Self { price, accepted, refused: None })
    }
}

impl Decided {
    fn read(ask: &Ask, body: &[u8]) -> Result<Self, Error> {
        let told: Told = canon::from_slice(body).map_err(|error| Error::Answer(error.to_string()))?;
        let hash = ask.action.hash();
        let same = told.evaluation.action_hash == Some(hash)
            && told.authorization.as_ref().is_none_or(|record| record.fields.action_hash == hash)
            && told.brief.as_ref().is_none_or(|brief| brief.action_hash == hash)
            && told.price.as_ref().is_none_or(|price| price.action_hash == hash);
        if !same {
            return Err(Error::Answer("it is about another action".to_owned()));
        }
        if let Some(record) = &told.authorization {
            record.verify().map_err(|refusal| Error::Answer(format!("an authorization: {refusal}")))?;
        }
        let outcome = outcome(&told)?;
        let Told { approval_id, bond, evaluation, receipt_id, run_id, .. } = told;
        Ok(Self { outcome, approval_id, bond, evaluation, receipt_id, run_id })
    }
}

fn outcome(told: &Told) -> Result<Outcome, Error> {
    if let Some(record) = &told.authorization {
        return Ok(Outcome::Allowed(Box::new(record.clone())));
    }
    let missing = |what: &str| Error::Answer(format!("a decision without its {what}"));
    Ok(match told.evaluation.outcome {
        Judged::Allow => Outcome::Allowable,
        Judged::Delay => {
            Outcome::Delayed(told.evaluation.delayed_until_ms.ok_or_else(|| missing("delayed_until_ms"))?)
        }
        Judged::Deny => match told.evaluation.reason.ok_or_else(|| missing("reason"))? {
            Reason::PrincipalDeclined => Outcome::Declined { comment: told.comment.clone() },
            reason => Outcome::Denied(reason),
        },
        // What is only judged has a brief as well, and nothing that anybody could approve.
        Judged::Escalate => match (&told.approval_id, &told.brief, &told.price) {
            (Some(_), Some(brief), _) => Outcome::Waiting(Box::new(brief.clone())),
            (None, _, Some(price)) => Outcome::Quoted(Box::new(price.clone())),
            _ => return Err(missing("brief")),
        },
        Judged::NeedsVerification => return Err(missing("verification")),
    })
}

/// A problem document; any other body is told by its status alone.
pub(crate) fn refusal(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    let value = canon::parse(body).ok();
    let text = |name: &str| {
        let value = value.as_ref().and_then(|value| value.get(name)).and_then(Value::as_str);
        value.map(str::to_owned)
    };
    let after = headers.get(http::header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let passing = status.is_server_error()
        || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
    // Without a word on when, an answer that may pass is asked for again soon; one that says nothing of passing, never.
    let again = match after {
        Some(seconds) => Some(std::time::Duration::from_secs(seconds)),
        None if passing && value.is_none() => Some(std::time::Duration::ZERO),
        None => None,
    };
    Error::Refused {
        status: status.as_u16(),
        code: text("code").unwrap_or_else(|| format!("status_{}", status.as_u16())),
        detail: text("detail").unwrap_or_default(),
        again: again.filter(|_| passing),
    }
}
