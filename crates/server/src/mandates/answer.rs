//! The answer to a check, as the seed has it (C5, C6).

use canon::{Digest, Raw};
use mandate::authorization::Record;
use mandate::brief::Brief;
use mandate::command::{Checked, Next, Verification};
use mandate::log::{ApprovalId, RunId};
use mandate::price::{Bond, Price};
use mandate::report::Facts;
use mandate::statement::{Attested, SignedStatement};
use mandate::text::Text;
use mandate::{Evaluation, Evidence, Hashed, Report};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct CheckAnswer {
    pub approval_id: Option<ApprovalId>,
    pub authorization: Option<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bond: Option<Bond>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<Hashed<Brief>>,
    /// What the approver wrote when declining.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<Text<1, 1000>>,
    pub decision_hash: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    pub evaluation: Evaluation,
    pub events_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreted_action: Option<Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    pub receipt_hash: Digest,
    pub receipt_id: String,
    pub run_id: RunId,
    pub verification: Option<Verified>,
}

/// Where a quoted escalation is asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Escalation {
    pub approval_endpoint: String,
    pub price: Price,
}

/// A report, and who says so.
#[derive(Debug, Clone, Serialize)]
pub struct Verified {
    /// What other verifiers read instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dissent: Vec<Attested>,
    pub facts: Facts,
    pub report_hash: Digest,
    pub sepolia_tx: Option<Text<1, 100>>,
    /// Whose report it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<SignedStatement>,
}

pub(crate) const UNSIGNED: &str = "unsigned: evaluation only";

impl CheckAnswer {
    pub fn of(checked: Checked, said: Said) -> Self {
        let price = match checked.next {
            Next::Quoted(price) => Some(*price),
            _ => None,
        };
        let endpoint = said.approval_endpoint;
        Self {
            approval_id: checked.approval_id,
            authorization: checked.authorization,
            bond: checked.bond,
            brief: checked.brief,
            comment: checked.comment,
            decision_hash: checked.decision_hash,
            escalation: price.clone().map(|price| Escalation { approval_endpoint: endpoint, price }),
            notice: (!checked.evaluation.signed).then_some(UNSIGNED),
            evaluation: checked.evaluation,
            events_url: said.events_url,
            interpreted_action: said.interpreted,
            price,
            receipt_hash: said.receipt.1,
            receipt_id: said.receipt.0,
            run_id: checked.run,
            verification: said.verified,
        }
    }
}

/// What the edge adds to a decision.
#[derive(Debug)]
pub(crate) struct Said {
    pub approval_endpoint: String,
    pub events_url: String,
    pub interpreted: Option<Raw>,
    pub receipt: (String, Digest),
    pub verified: Option<Verified>,
}

/// The report that the decision rests on, where it rests on one.
pub(crate) fn verified(evaluation: &Evaluation, verification: &Verification) -> Option<Verified> {
    let Verification::Reported { evidence, registry_tx } = verification else { return None };
    evaluation.verification_hash.filter(|hash| *hash == evidence.report_hash)?;
    Verified::of(evidence, registry_tx.clone())
}

impl Verified {
    /// What is said beside a brief of the report it names.
    pub fn of(evidence: &Evidence, sepolia_tx: Option<Text<1, 100>>) -> Option<Self> {
        let report = Report::read(evidence.report.as_bytes()).ok()?;
        let (dissent, statements) = (evidence.dissent.clone(), evidence.statements.clone());
        Some(Self { dissent, facts: report.facts, report_hash: evidence.report_hash, sepolia_tx, statements })
    }
}
