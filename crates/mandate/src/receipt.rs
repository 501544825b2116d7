//! Receipts (spec 1.12): one page that binds action, mandate, facts, brief, decision and settlement, and names the
//! entries of the log that say so.

use crate::action::HashedAction;
use crate::authorization::{AuthorizationDigest, Record};
use crate::evaluation::{Evaluation, Outcome, Row};
use crate::issue::ChainName;
use crate::mandate::Mandate;
use crate::price::BondStatus;
use crate::reason::Reason;
use crate::report::Verified;
use crate::state::{Approval, State};
use crate::text::{Hex, Id, KeyHash, PositiveUnits, Text, TxHash};
use crate::time::Millis;
use crate::{Hashed, Refusal};
use canon::Digest;
use serde::{Deserialize, Serialize};

/// `receipt/v0.1`. Members in the order of the canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    pub action: ReceiptAction,
    pub approval: Option<ReceiptApproval>,
    pub authorization: Option<ReceiptAuthorization>,
    pub delegate: Text<1, 128>,
    pub evaluation: ReceiptEvaluation,
    pub evidence: Entries,
    pub mandate: ReceiptMandate,
    /// Always null: a Masumi job names its receipt, not the other way round.
    pub masumi: Option<Nothing>,
    pub principal: Text<1, 128>,
    pub schema: ReceiptSchema,
    pub settlement: Option<Settlement>,
    pub verification: Option<ReceiptVerification>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReceiptSchema {
    #[serde(rename = "receipt/v0.1")]
    V01,
}

/// No value at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Nothing {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptAction {
    pub agent_signature: Option<Text<0, 256>>,
    pub hash: Option<Digest>,
    pub ir: Option<HashedAction>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptApproval {
    pub bond: Option<ReceiptBond>,
    pub brief_hash: Option<Digest>,
    /// Who signed: the first, where several did.
    pub cfo_key_hash: Option<KeyHash>,
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptBond {
    pub outcome_tx_hash: Option<TxHash>,
    pub status: BondStatus,
    pub tx_hash: Option<TxHash>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptAuthorization {
    pub digest: AuthorizationDigest,
    pub engine_public_key: Hex<32>,
    pub id: Id,
    pub nonce: PositiveUnits,
    pub signature: Hex<64>,
    pub valid_until: Millis,
    /// The report the signed bytes name, even where there is a later one.
    pub verification_id: Option<Id>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptEvaluation {
    pub checks: Vec<Row>,
    pub outcome: Outcome,
    pub reason: Option<Reason>,
}

/// The first and the last entry of the log that are about this decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entries {
    pub first_event_hash: Digest,
    pub last_event_hash: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptMandate {
    /// The policy of its anchor.
    pub anchor: KeyHash,
    pub hash: Digest,
    pub id: Id,
    pub version: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settlement {
    pub block: u64,
    pub chain: ChainName,
    pub tx_hash: TxHash,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptVerification {
    pub id: Id,
    pub report_hash: Digest,
    pub result: Verified,
    pub sepolia_tx: Option<Text<1, 100>>,
}

/// What a receipt is made of.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    pub mandate: &'a Hashed<Mandate>,
    pub anchor: KeyHash,
    pub action: Option<&'a HashedAction>,
    pub agent_signature: Option<&'a Text<0, 256>>,
    pub evaluation: &'a Evaluation,
    pub verification: Option<(Digest, Verified, Option<&'a Text<1, 100>>)>,
    pub approval: Option<&'a Approval>,
    pub authorization: Option<&'a Record>,
    pub settlement: Option<&'a Settlement>,
    pub evidence: Entries,
}

/// What the log says of one decision, beside the state that its last entry leaves.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    pub mandate: &'a Hashed<Mandate>,
    pub anchor: KeyHash,
    pub action: Option<&'a HashedAction>,
    pub agent_signature: Option<&'a Text<0, 256>>,
    pub evaluation: &'a Evaluation,
    pub verification: Option<(Digest, Verified, Option<&'a Text<1, 100>>)>,
    pub settlement: Option<&'a Settlement>,
    pub evidence: Entries,
}

impl Receipt {
    /// The receipt as of its last entry, and the authorization that this very decision gave: a later one of the same action
    /// has it no more.
    pub fn told<'s>(
        state: &'s State,
        told: &Told<'_>,
    ) -> Result<(Hashed<Self>, Option<&'s Record>), Refusal> {
        let evaluation = told.evaluation;
        let hash = evaluation.action_hash.filter(|_| evaluation.signed);
        let approval = hash.and_then(|hash| state.approval_of(&hash));
        let held = hash.and_then(|hash| state.authorization_of(&hash));
        let held = held.filter(|held| match evaluation.outcome {
            Outcome::Allow => held.approval.is_none(),
            Outcome::Escalate => approval.is_some_and(|approval| approval.nonce == Some(held.nonce)),
            Outcome::Deny | Outcome::Delay | Outcome::NeedsVerification => false,
        });
        let authorization = held.map(|held| &held.record);
        let receipt = Self::of(&Parts {
            mandate: told.mandate,
            anchor: told.anchor,
            action: told.action,
            agent_signature: told.agent_signature,
            evaluation,
            verification: told.verification,
            approval,
            authorization,
            settlement: told.settlement.filter(|_| authorization.is_some()),
            evidence: told.evidence,
        })?;
        Ok((receipt, authorization))
    }

    /// The receipt of a decision, or of its settlement. Refuses parts that are not of one decision.
    pub fn of(parts: &Parts<'_>) -> Result<Hashed<Self>, Refusal> {
        let evaluation = parts.evaluation;
        let bug = |error: crate::text::TextError| Refusal::Bug(error.to_string());
        let wrong = |place: &str| Err(Refusal::BadValue { place: place.to_owned() });
        if evaluation.mandate_hash != parts.mandate.hash() {
            return wrong("/mandate/hash");
        }
        if evaluation.action_hash != parts.action.map(HashedAction::hash) {
            return wrong("/action/hash");
        }
        let fields = parts.authorization.map(|record| &record.fields);
        if fields.is_some_and(|fields| Some(fields.action_hash) != evaluation.action_hash) {
            return wrong("/authorization/digest");
        }
        let verification_id =
            fields.and_then(|fields| fields.verification_ref).map(|hash| report_id(&hash)).transpose();
        let verification_id = verification_id.map_err(bug)?;
        let authorization = parts
            .authorization
            .map(|record| {
                Ok(ReceiptAuthorization {
                    digest: record.digest_hex,
                    engine_public_key: record.engine_public_key,
                    id: format!("Z-{:0>4}", record.fields.nonce).parse()?,
                    nonce: record.fields.nonce,
                    signature: record.signature_hex,
                    valid_until: record.fields.valid_until,
                    verification_id: verification_id.clone(),
                })
            })
            .transpose()
            .map_err(bug)?;
        let verification = parts
            .verification
            .map(|(report_hash, result, tx)| {
                let id = report_id(&report_hash)?;
                Ok(ReceiptVerification { id, report_hash, result, sepolia_tx: tx.cloned() })
            })
            .transpose()
            .map_err(bug)?;
        let receipt = Self {
            action: ReceiptAction {
                agent_signature: parts.agent_signature.cloned(),
                hash: evaluation.action_hash,
                ir: parts.action.cloned(),
            },
            approval: parts.approval.map(|approval| ReceiptApproval {
                bond: approval.bond.as_ref().map(|bond| ReceiptBond {
                    outcome_tx_hash: bond.outcome_tx,
                    status: bond.status,
                    tx_hash: Some(bond.at.tx_hash),
                }),
                brief_hash: approval.brief.as_ref().map(Hashed::hash),
                cfo_key_hash: approval
                    .signers
                    .first()
                    .copied()
                    .or(approval.declined.as_ref().map(|declined| declined.cfo_key_hash)),
                required: true,
            }),
            authorization,
            delegate: parts.mandate.delegate.id.as_str().parse().map_err(bug)?,
            evaluation: ReceiptEvaluation {
                checks: evaluation.checks.clone(),
                outcome: evaluation.outcome,
                reason: evaluation.reason,
            },
            evidence: parts.evidence,
            mandate: ReceiptMandate {
                anchor: parts.anchor,
                hash: parts.mandate.hash(),
                id: parts.mandate.id.clone(),
                version: parts.mandate.version,
            },
            masumi: None,
            principal: parts.mandate.principal.name.clone(),
            schema: ReceiptSchema::V01,
            settlement: parts.settlement.cloned(),
            verification,
        };
        Ok(Hashed::of(receipt)?)
    }
}

/// `V-` and the first twelve hex digits of the report's hash.
fn report_id(hash: &Digest) -> Result<Id, crate::text::TextError> {
    let digits = hash.to_string();
    format!("V-{}", digits.get(..12).unwrap_or_default()).parse()
}
