//! A Masumi job (spec 1.13, C5): what it delivers, and the file that shows what was asked and delivered under the MIP-004
//! hashes that the payment carries.

use crate::authorization::{Record, decision_hash};
use crate::evaluation::{Evaluation, Outcome, Row};
use crate::reason::Reason;
use crate::text::Text;
use crate::{Hashed, Receipt, Refusal, mip004};
use canon::{Digest, Raw};
use ledger::Fault;
use serde::{Deserialize, Serialize};

/// What a job delivers, as canonical JSON. Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    pub authorization: Option<Record>,
    /// What an approver would read; null unless it escalates.
    pub brief: Raw,
    pub checks: Vec<Row>,
    pub decision: Outcome,
    pub decision_hash: Digest,
    /// `{approval_endpoint, price}`; null unless it escalates and nobody has paid for it yet.
    pub escalation: Raw,
    pub evaluation: Evaluation,
    /// What a model made of `request_text`, or null.
    pub interpreted_action: Raw,
    #[serde(default, deserialize_with = "crate::text::present", skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    pub reason: Option<Reason>,
    pub receipt: DeliveredReceipt,
    /// One sentence for a person.
    pub summary: String,
    pub verification: Raw,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveredReceipt {
    pub receipt: Hashed<Receipt>,
    pub receipt_hash: Digest,
    pub receipt_id: String,
}

/// A job, as a file that is checked alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Names the payment, at the payment service and on chain.
    pub blockchain_identifier: Text<1, 8000>,
    pub identifier_from_purchaser: Text<1, 250>,
    pub input_data: Raw,
    pub input_hash: Digest,
    pub result: String,
    /// The hash that was submitted: of the escaped result.
    pub result_hash: Digest,
    /// As the MIP's text has it.
    pub result_hash_raw: Digest,
    #[serde(rename = "type")]
    pub kind: String,
}

impl Delivered {
    pub fn text(&self) -> Result<String, Refusal> {
        String::from_utf8(canon::to_vec(self)?).map_err(|error| Refusal::Bug(error.to_string()))
    }

    /// What does not fit, if anything: a decision that is not the evaluation's, a hash of something else, an authorization that the
    /// decision does not give, or a missing one. Whose key signed it is the buyer's to know.
    pub fn check(&self) -> Result<(), &'static str> {
        let Self { authorization, decision, evaluation, receipt, .. } = self;
        let told = (*decision, &self.checks, self.reason);
        if told != (evaluation.outcome, &evaluation.checks, evaluation.reason) {
            return Err("bad_result");
        }
        let hash = decision_hash(
            evaluation.action_hash,
            Some(evaluation.mandate_hash),
            evaluation.verification_hash,
            evaluation.outcome,
        );
        if hash != self.decision_hash {
            return Err("bad_decision_hash");
        }
        if receipt.receipt_hash != receipt.receipt.hash() {
            return Err("bad_receipt_hash");
        }
        let about = (receipt.receipt.action.hash, receipt.receipt.mandate.hash);
        if about != (evaluation.action_hash, evaluation.mandate_hash) {
            return Err("bad_receipt");
        }
        let right = match authorization {
            Some(record) => {
                matches!(evaluation.outcome, Outcome::Allow | Outcome::Escalate)
                    && evaluation.signed
                    && evaluation.action_hash == Some(record.fields.action_hash)
                    && record.verify().is_ok()
            }
            None => evaluation.outcome != Outcome::Allow || !evaluation.signed,
        };
        if right { Ok(()) } else { Err("bad_authorization") }
    }
}

impl Job {
    pub const TYPE: &str = "urn:countersign:masumi-job:1";

    pub fn of(
        payment: Text<1, 8000>,
        buyer: Text<1, 250>,
        input: Raw,
        result: String,
    ) -> Result<Self, Refusal> {
        Ok(Self {
            input_hash: mip004::input_hash(buyer.as_str(), input.as_bytes())?,
            result_hash: mip004::result_hash(buyer.as_str(), &result)?,
            result_hash_raw: mip004::raw_result_hash(buyer.as_str(), &result),
            blockchain_identifier: payment,
            identifier_from_purchaser: buyer,
            input_data: input,
            result,
            kind: Self::TYPE.to_owned(),
        })
    }

    /// The hashes are those of what stands here, and the result is one that fits together. Gives the result.
    pub fn check(&self) -> Result<Delivered, Fault> {
        let internal = |_| Fault::new("internal", "");
        let again = Self::of(
            self.blockchain_identifier.clone(),
            self.identifier_from_purchaser.clone(),
            self.input_data.clone(),
            self.result.clone(),
        )
        .map_err(internal)?;
        if self.input_hash != again.input_hash {
            return Err(Fault::new("bad_input_hash", "/input_hash"));
        }
        if self.result_hash != again.result_hash {
            return Err(Fault::new("bad_result_hash", "/result_hash"));
        }
        if self.result_hash_raw != again.result_hash_raw {
            return Err(Fault::new("bad_result_hash", "/result_hash_raw"));
        }
        let bad = |code| Fault::new(code, "/result");
        let delivered: Delivered =
            canon::from_slice(self.result.as_bytes()).map_err(|_| bad("bad_result"))?;
        if delivered.text().map_err(internal)? != self.result {
            return Err(bad("bad_result"));
        }
        delivered.check().map_err(bad)?;
        Ok(delivered)
    }
}
