//! What becomes of a job once its payment was asked for: an outbox row that looks again until the job has ended.

use super::super::answer::CheckAnswer;
use super::super::check::{CheckBody, Told};
use super::super::kept::Shelf;
use super::super::who::Who;
use super::super::{Refused, bug, unexpected};
use super::service::{Payment, Standing};
use super::{Asked, End, Order, Quote, Selling};
use crate::App;
use canon::Raw;
use env::Duration;
use keys::Signer as _;
use mandate::job::{Delivered, DeliveredReceipt};
use mandate::log::RunId;
use mandate::{Outcome, mip004};
use store::Failed;

/// How soon a job is looked at again while it is young, and later.
const SOON: Duration = Duration::from_secs(2);
const LATER: Duration = Duration::from_secs(10);
const YOUNG_MS: u64 = 60_000;
/// A job that is not judged by then, before its result is due, is given up: the result could come too late.
const MARGIN_MS: u64 = 120_000;

/// The row of a job in the outbox.
pub(super) fn row(id: &RunId) -> String {
    format!(r#"{{"id":"{id}","kind":"job"}}"#)
}

/// What is to be done next.
enum Step {
    Done,
    Look(&'static str),
}

impl App {
    /// Runs the row of a job.
    pub(crate) async fn work_on_job(&self, id: &RunId) -> Result<(), Failed> {
        let looked = match self.job_order(id).await {
            Ok(order) => {
                let young = self.millis().is_ok_and(|now| now.since(order.at) < YOUNG_MS);
                (self.advance(&order).await, if young { SOON } else { LATER })
            }
            Err(refused) => (Err(refused), LATER),
        };
        let why = match looked.0 {
            Ok(Step::Done) => return Ok(()),
            Ok(Step::Look(why)) => why.to_owned(),
            // Its deadlines are near: it is tried again soon, however often it failed.
            Err(refused) => format!("{}: {}", refused.code, refused.text),
        };
        Err(Failed::NotBefore { due: self.now() + looked.1, why })
    }

    async fn advance(&self, order: &Order) -> Result<Step, Refused> {
        let name = order.id.as_str();
        if self.kept::<End>(Shelf::JobEnd, name).await?.is_some() {
            return Ok(Step::Done);
        }
        let selling = self.selling()?;
        let quote = self.kept::<Quote>(Shelf::JobQuote, name).await?.ok_or_else(|| bug("a quote is gone"))?;
        let payment = match selling.payments.payment(&order.terms, quote.payment.as_str()).await {
            Ok(Some(payment)) if payment.differs(&order.terms).is_none() => Ok(payment),
            Ok(_) => Err("the payment service does not know this payment as it was asked for".to_owned()),
            Err(trouble) => Err(trouble.to_string()),
        };
        let result = self.kept::<String>(Shelf::JobResult, name).await?;
        match (result, payment) {
            (Some(result), Ok(payment)) => self.deliver_job(order, selling, &result, payment).await,
            (None, Ok(payment)) => self.judge(order, selling, payment).await,
            (result, Err(why)) => {
                tracing::warn!(job = %order.id, why, "a payment could not be looked up");
                self.unless_over(order, result.is_some(), "its payment is not known").await
            }
        }
    }

    /// Judges what was paid for, once.
    async fn judge(&self, order: &Order, selling: &Selling, payment: Payment) -> Result<Step, Refused> {
        match payment.standing {
            Standing::Unpaid => return self.unless_over(order, false, "it is not paid").await,
            Standing::Over(state) => {
                return self.end_job(order, false, &format!("its payment is {state}")).await;
            }
            Standing::Submitted(_) => return self.end_job(order, false, "a result that is not ours").await,
            Standing::Locked => {}
        }
        let name = order.id.as_str();
        self.keep(Shelf::JobPaid, name, &self.millis()?, None).await?;
        if self.is_over(order, false)? {
            return self.end_job(order, false, "there is no time left for a result").await;
        }
        let result = match self.sold(order, selling).await {
            Ok(result) => result,
            Err(refused) if refused.retry_after.is_some() || refused.status.is_server_error() => {
                tracing::info!(job = name, code = %refused.code, "a job is judged later");
                return Ok(Step::Look("it cannot be judged now"));
            }
            Err(refused) => return self.end_job(order, false, &refused.code).await,
        };
        self.keep(Shelf::JobResult, name, &result, None).await?;
        Ok(Step::Look("its result is to be submitted"))
    }

    /// Has the hash of the result submitted, unless it was.
    async fn deliver_job(
        &self,
        order: &Order,
        selling: &Selling,
        result: &str,
        payment: Payment,
    ) -> Result<Step, Refused> {
        let hash = mip004::result_hash(&order.terms.identifier_from_purchaser, result)?;
        match payment.standing {
            Standing::Submitted(there) if there == hash.to_string() => {
                return self.end_job(order, true, "").await;
            }
            Standing::Submitted(_) => return self.end_job(order, false, "a result that is not ours").await,
            _ if self.is_over(order, true)? => {
                return self.end_job(order, false, "its result was not taken in time").await;
            }
            _ => {}
        }
        match selling.payments.submit(&order.terms, &payment.id, &hash).await {
            Ok(taken) if taken.standing == Standing::Submitted(hash.to_string()) => {
                self.end_job(order, true, "").await
            }
            _ => Ok(Step::Look("whether the result was taken is looked up")),
        }
    }

    /// The result of a paid job: the check as the caller of kind `masumi` would have it.
    async fn sold(&self, order: &Order, selling: &Selling) -> Result<String, Refused> {
        let (mandate_id, asked) = super::asked(&order.input)?;
        let (proposal, request_text) = match asked {
            Asked::Proposal(proposal) => (Some(proposal), None),
            Asked::Text(text) => (None, Some(text)),
        };
        let body = CheckBody {
            mandate_id,
            proposal,
            request_text,
            execute: false,
            run_id: None,
            bond_refund_address: None,
            job: Some(order.id.clone()),
        };
        let Told::Decided { answer, .. } =
            self.check(&Who::Holder(selling.caller.clone()), body, None).await?
        else {
            return Err(unexpected());
        };
        let delivered = self.delivered(order, *answer).await?;
        let engine = self.mandates()?.engine();
        let ours = delivered.authorization.as_ref().is_none_or(|record| {
            matches!(engine.0.public(), keys::PublicKey::Ed25519(key)
                if key.as_bytes() == record.engine_public_key.as_bytes())
        });
        match delivered.check() {
            Ok(()) if ours => Ok(delivered.text()?),
            Ok(()) => Err(bug("an authorization of another engine is not sold")),
            Err(code) => Err(bug(format!("a result that does not fit is not sold: {code}"))),
        }
    }

    async fn delivered(&self, order: &Order, answer: CheckAnswer) -> Result<Delivered, Refused> {
        let receipt = self.receipt(&answer.receipt_id).await?;
        let evaluation = answer.evaluation;
        let version = format!("{}@{}", order.mandate_id, evaluation.mandate_version);
        let reason = evaluation.reason.map(mandate::Reason::as_str).unwrap_or_default();
        let summary = match (evaluation.outcome, evaluation.signed) {
            (Outcome::Allow, true) => {
                format!("ALLOW under {version}: the engine has signed an authorization.")
            }
            (Outcome::Allow, false) => {
                format!("ALLOW under {version}: evaluation only, because the proposal is unsigned.")
            }
            (Outcome::Escalate, _) => format!("ESCALATE under {version}: a person must sign."),
            (Outcome::Delay, _) => {
                format!("DELAY under {version}: it may be done later, unless the approver objects.")
            }
            (Outcome::Deny | Outcome::NeedsVerification, _) => format!("DENY under {version}: {reason}."),
        };
        Ok(Delivered {
            authorization: answer.authorization,
            brief: Raw::of(&answer.brief)?,
            checks: evaluation.checks.clone(),
            decision: evaluation.outcome,
            decision_hash: answer.decision_hash,
            escalation: Raw::of(&answer.escalation)?,
            interpreted_action: Raw::of(&answer.interpreted_action)?,
            notice: answer.notice.map(str::to_owned),
            reason: evaluation.reason,
            receipt: DeliveredReceipt {
                receipt: receipt.receipt.clone(),
                receipt_hash: answer.receipt_hash,
                receipt_id: answer.receipt_id,
            },
            summary,
            verification: Raw::of(&answer.verification)?,
            evaluation,
        })
    }

    fn is_over(&self, order: &Order, judged: bool) -> Result<bool, Refused> {
        let due = order.terms.deadlines.submit_result;
        let now = self.millis()?;
        Ok(if judged { now > due } else { now.plus(MARGIN_MS) >= due })
    }

    async fn unless_over(&self, order: &Order, judged: bool, why: &'static str) -> Result<Step, Refused> {
        if self.is_over(order, judged)? { self.end_job(order, false, why).await } else { Ok(Step::Look(why)) }
    }

    async fn end_job(&self, order: &Order, delivered: bool, why: &str) -> Result<Step, Refused> {
        tracing::info!(job = %order.id, delivered, why, "a job has ended");
        let end = End { delivered, why: why.to_owned() };
        self.keep(Shelf::JobEnd, order.id.as_str(), &end, None).await?;
        Ok(Step::Done)
    }
}
