//! Checks sold as Masumi jobs (MIP-003, spec 1.13). A stranger starts a job, pays into the payment service's escrow, and reads
//! the result; its MIP-004 hash goes to the chain with the payment. A job asks as one caller of kind `masumi`, so it has
//! evaluations only.
//!
//! A job is a row for each step it has reached, each written once: ordered, quoted, paid, judged, ended. Whatever is cut
//! begins again after the last of them: the payment is looked for before another is asked for, the result is kept before its
//! hash is submitted, and a hash that the service has is not submitted again.

mod local;
mod service;
mod work;

pub use local::Local;
pub use service::{Deadlines, Funds, Node, Payment, Payments, Standing, Terms, Trouble};

use super::kept::Shelf;
use super::who::{CallerKey, Role, Who};
use super::{Refused, bug, mandate_stream};
use crate::App;
use crate::once::Once;
use ::http::StatusCode;
use canon::{Digest, Raw};
use mandate::job::Job;
use mandate::log::RunId;
use mandate::text::{Id, Text};
use mandate::{Millis, mip004};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a server sells, and how it is paid.
#[derive(Clone)]
pub struct Selling {
    /// Who asks for every job; its mandates are those that are sold.
    pub caller: CallerKey,
    /// The agent as it is registered.
    pub agent_identifier: String,
    /// Hash of the key of the wallet that sells, in hex.
    pub seller_vkey: String,
    /// `Preprod` or `Mainnet`.
    pub network: String,
    pub price: Funds,
    /// Which of the agent's payment sources, by its place in the registry.
    pub source_index: u8,
    pub payments: Arc<dyn Payments>,
}

/// The body of `POST /start_job`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartBody {
    pub identifier_from_purchaser: String,
    pub input_data: Raw,
}

/// What is asked. Forms send empty texts for what was left out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    mandate_id: Id,
    /// Taken, and without effect.
    #[serde(default, rename = "mode")]
    _mode: Option<Text<0, 32>>,
    #[serde(default)]
    proposal: Option<Raw>,
    #[serde(default)]
    request_text: Option<Text<0, 2000>>,
}

/// What a job asks for.
#[derive(Debug)]
enum Asked {
    Proposal(super::check::ProposalBody),
    Text(Text<1, 2000>),
}

/// The terms of a started job, as MIP-003 names them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Started {
    agent_identifier: String,
    blockchain_identifier: String,
    external_dispute_unlock_time: Millis,
    id: RunId,
    identifier_from_purchaser: String,
    #[serde(rename = "input_hash")]
    input_hash: Digest,
    #[serde(rename = "job_id")]
    job_id: RunId,
    pay_by_time: Millis,
    payment_source_type: &'static str,
    #[serde(rename = "sellerVKey")]
    seller_vkey: String,
    status: &'static str,
    submit_result_time: Millis,
    supported_payment_source_index: u8,
    unlock_time: Millis,
}

/// `GET /status`.
#[derive(Debug, Serialize)]
pub(crate) struct StatusShown {
    id: RunId,
    input_hash: Digest,
    job_id: RunId,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_hash: Option<Digest>,
    status: &'static str,
}

/// An order, by the purchaser's identifier in lower case.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    at: Millis,
    id: RunId,
    input: Raw,
    mandate_id: Id,
    terms: Terms,
}

/// The payment that was asked for, by job.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quote {
    payment: Text<1, 8000>,
}

/// How a job ended, by job.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    delivered: bool,
    why: String,
}

/// The longest input, in bytes of its canonical form.
const LONGEST_INPUT: usize = 16 * 1024;
/// When a payment must have come, a result be submitted, funds be free, disputes be over: milliseconds from the start.
const TIMES: [u64; 4] = [600_000, 1_500_000, 2_700_000, 3_900_000];
/// When to ask again for a quote, in seconds.
const AGAIN: u64 = 5;

impl App {
    /// What is sold here; refused where nothing is.
    pub(crate) fn selling(&self) -> Result<&Selling, Refused> {
        self.mandates()?.setup.masumi.as_ref().ok_or_else(|| {
            let text = "this server sells nothing through Masumi";
            Refused::new(StatusCode::SERVICE_UNAVAILABLE, "masumi_off", text)
        })
    }

    /// Starts a job, or gives the terms of the one that was started with this identifier for the same input.
    pub(crate) async fn start_job(&self, body: StartBody) -> Result<Started, Refused> {
        let selling = self.selling()?;
        let buyer = body.identifier_from_purchaser;
        let name = identifier(&buyer)?;
        if body.input_data.as_bytes().len() > LONGEST_INPUT {
            return Err(crate::Error::TooLarge { limit: LONGEST_INPUT }.into());
        }
        let once = Once::new("masumi".to_owned(), name.clone(), body.input_data.digest());
        let Some(_running) = self.mandates()?.running.enter(&once) else {
            let text = "a job with this identifier is being started";
            return Err(Refused::new(StatusCode::CONFLICT, "job_starting", text).after(AGAIN));
        };
        let known = self.kept::<Order>(Shelf::JobOrder, &name).await?;
        let was_asked_for = known.is_some();
        let order = match known {
            Some(order) => order,
            None => self.order(selling, &name, buyer, body.input_data.clone()).await?,
        };
        if order.input != body.input_data {
            let text = "this identifier was used for another input";
            return Err(Refused::new(StatusCode::CONFLICT, "job_identifier_used", text));
        }
        self.keep(Shelf::JobName, order.id.as_str(), &name, None).await?;
        let quote = match self.kept::<Quote>(Shelf::JobQuote, order.id.as_str()).await? {
            Some(quote) => quote,
            None => self.quote(selling, &order, was_asked_for).await?,
        };
        Ok(started(&order, quote))
    }

    /// Takes an order that can be served, before anything is charged for it.
    async fn order(
        &self,
        selling: &Selling,
        name: &str,
        buyer: String,
        input: Raw,
    ) -> Result<Order, Refused> {
        let (mandate_id, asked) = asked(&input)?;
        let known = self.mandate(&mandate_id).await?;
        if Who::Holder(selling.caller.clone()).role(&known.anchored.mandate) != Role::Masumi {
            return Err(super::unknown());
        }
        if matches!(asked, Asked::Text(_)) {
            super::interpret::model(self)?;
        }
        let at = self.millis()?;
        let [pay_by, submit_result, unlock, external_dispute_unlock] = TIMES.map(|time| at.plus(time));
        let id = self.fresh_run()?;
        let terms = Terms {
            agent_identifier: selling.agent_identifier.clone(),
            deadlines: Deadlines { external_dispute_unlock, pay_by, submit_result, unlock },
            input_hash: mip004::input_hash(&buyer, input.as_bytes())?,
            identifier_from_purchaser: buyer,
            job: id.to_string(),
            network: selling.network.clone(),
            price: selling.price.clone(),
            seller_vkey: selling.seller_vkey.clone(),
            source_index: selling.source_index,
        };
        let order = Order { at, id, input, mandate_id, terms };
        if self.keep(Shelf::JobOrder, name, &order, None).await? {
            return Ok(order);
        }
        // Another process was faster.
        self.kept(Shelf::JobOrder, name).await?.ok_or_else(|| bug("an order is gone"))
    }

    /// Asks for the payment of an order, or finds the one that was asked for, and has it watched.
    async fn quote(&self, selling: &Selling, order: &Order, was_asked_for: bool) -> Result<Quote, Refused> {
        if self.millis()? >= order.terms.deadlines.pay_by {
            let text = "the time to pay for this job is over: start one with another identifier";
            return Err(Refused::new(StatusCode::CONFLICT, "job_over", text));
        }
        let found = if was_asked_for { selling.payments.of_job(&order.terms).await? } else { None };
        let payment = match found {
            Some(payment) => payment,
            None => selling.payments.request(&order.terms).await?,
        };
        if let Some(member) = payment.differs(&order.terms) {
            tracing::error!(member, job = %order.id, "the payment service quoted something else");
            let text = format!("the payment service quoted another {member}");
            return Err(Refused::new(StatusCode::BAD_GATEWAY, "payment_differs", text));
        }
        let quote = Quote { payment: payment.id.parse().map_err(bug)? };
        let stream = mandate_stream(&order.mandate_id)?;
        let then = Some((&stream, work::row(&order.id)));
        if self.keep(Shelf::JobQuote, order.id.as_str(), &quote, then).await? {
            return Ok(quote);
        }
        self.kept(Shelf::JobQuote, order.id.as_str()).await?.ok_or_else(|| bug("a quote is gone"))
    }

    pub(crate) async fn job_status(&self, id: &str) -> Result<StatusShown, Refused> {
        self.mandates()?;
        let order = self.job_order(&job_id(id)?).await?;
        let name = order.id.as_str();
        let end = self.kept::<End>(Shelf::JobEnd, name).await?;
        let result = self.kept::<String>(Shelf::JobResult, name).await?;
        let status = match (&end, &result) {
            (Some(End { delivered: true, .. }), Some(_)) => "completed",
            (Some(_), _) => "failed",
            (None, Some(_)) => "running",
            (None, None) if self.kept::<Millis>(Shelf::JobPaid, name).await?.is_some() => "running",
            (None, None) => "awaiting_payment",
        };
        let result = result.filter(|_| status == "completed");
        let buyer = &order.terms.identifier_from_purchaser;
        Ok(StatusShown {
            result_hash: result.as_deref().map(|text| mip004::result_hash(buyer, text)).transpose()?,
            result,
            status,
            input_hash: order.terms.input_hash,
            id: order.id.clone(),
            job_id: order.id,
        })
    }

    /// A delivered job as a file. Its id is what its buyer was given.
    pub(crate) async fn job_file(&self, id: &str) -> Result<Job, Refused> {
        self.mandates()?;
        let order = self.job_order(&job_id(id)?).await?;
        let name = order.id.as_str();
        let end = self.kept::<End>(Shelf::JobEnd, name).await?;
        let result = self.kept::<String>(Shelf::JobResult, name).await?;
        let quote = self.kept::<Quote>(Shelf::JobQuote, name).await?;
        match (end, result, quote) {
            (Some(End { delivered: true, .. }), Some(result), Some(quote)) => {
                let buyer = order.terms.identifier_from_purchaser.parse().map_err(bug)?;
                Ok(Job::of(quote.payment, buyer, order.input, result)?)
            }
            _ => Err(Refused::new(StatusCode::CONFLICT, "job_not_completed", "the job has no result yet")),
        }
    }

    async fn job_order(&self, id: &RunId) -> Result<Order, Refused> {
        let missing = || Refused::missing("job_unknown", "no such job");
        let name = self.kept::<String>(Shelf::JobName, id.as_str()).await?.ok_or_else(missing)?;
        self.kept(Shelf::JobOrder, &name).await?.ok_or_else(missing)
    }
}

/// 14 to 26 hex digits, an even number of them; as it is kept, in lower case.
fn identifier(text: &str) -> Result<String, Refused> {
    let right = (14..=26).contains(&text.len())
        && text.len().is_multiple_of(2)
        && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if right {
        return Ok(text.to_ascii_lowercase());
    }
    let text = "an identifier is 14 to 26 hex digits, an even number of them";
    Err(Refused::bad("bad_identifier", "/identifier_from_purchaser", text))
}

fn job_id(text: &str) -> Result<RunId, Refused> {
    super::check::run_id(text).map_err(|_| Refused::bad("bad_job_id", "/job_id", "a job is named by a uuid"))
}

/// The mandate and what is asked of it: exactly one of a proposal, as an object or as its text, and plain English.
fn asked(input: &Raw) -> Result<(Id, Asked), Refused> {
    let within = |error: canon::Error| {
        let place = format!("/input_data{}", error.place);
        Refused::bad(error.code.as_str(), &place, error.detail)
    };
    let read: Input = canon::from_slice(input.as_bytes()).map_err(within)?;
    let proposal = match read.proposal.as_ref().map(Raw::value) {
        Some(canon::Value::String(text)) if text.trim().is_empty() => None,
        Some(canon::Value::String(text)) => Some(canon::from_slice(text.as_bytes()).map_err(within)?),
        Some(canon::Value::Null) | None => None,
        Some(other) => Some(canon::from_value(other).map_err(within)?),
    };
    let text = read.request_text.and_then(|text| text.as_str().parse().ok());
    match (proposal, text) {
        (Some(proposal), None) => Ok((read.mandate_id, Asked::Proposal(proposal))),
        (None, Some(text)) => Ok((read.mandate_id, Asked::Text(text))),
        _ => Err(Refused::bad("bad_check", "/input_data", "exactly one of proposal and request_text")),
    }
}

fn started(order: &Order, quote: Quote) -> Started {
    let Terms { deadlines, .. } = &order.terms;
    Started {
        agent_identifier: order.terms.agent_identifier.clone(),
        blockchain_identifier: quote.payment.to_string(),
        external_dispute_unlock_time: deadlines.external_dispute_unlock,
        id: order.id.clone(),
        identifier_from_purchaser: order.terms.identifier_from_purchaser.clone(),
        input_hash: order.terms.input_hash,
        job_id: order.id.clone(),
        pay_by_time: deadlines.pay_by,
        payment_source_type: service::SOURCE,
        seller_vkey: order.terms.seller_vkey.clone(),
        status: "success",
        submit_result_time: deadlines.submit_result,
        supported_payment_source_index: order.terms.source_index,
        unlock_time: deadlines.unlock,
    }
}

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        // What the service says of itself goes to the log only.
        tracing::warn!(%trouble, "the payment service did not do what was asked");
        let text = "the payment service did not answer with a payment; ask again with the same identifier";
        Self::new(StatusCode::BAD_GATEWAY, "payment_service_failed", text).after(AGAIN)
    }
}

impl std::fmt::Debug for Selling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Selling").field("agent", &self.agent_identifier).finish_non_exhaustive()
    }
}
