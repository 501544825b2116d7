//! The log of a mandate (spec 1.12, D30): one hash chain, whose entries are what happened to its proposals. The chain's
//! `seq` is the log's; runs are named in the entries.

use crate::action::HashedAction;
use crate::authorization::{AuthorizationDigest, Fields, Record};
use crate::brief::Brief;
use crate::engine::SignatureForm;
use crate::evaluation::{Evaluation, Required};
use crate::issue::Vault;
use crate::mandate::{Limits, Mandate};
use crate::price::{Bond, OutRef, Price, Tariff};
use crate::proof::Signed;
use crate::reason::Reason;
use crate::report::Evidence;
use crate::snapshot::Snapshot;
use crate::text::{AssetSymbol, Hex, Id, KeyHash, PositiveUnits, Text, TxHash, Units, present};
use crate::time::Millis;
use crate::{Hashed, Refusal};
use canon::Digest;
use env::Timestamp;
use ledger::{Entry, Fault, Head};
use serde::{Deserialize, Serialize};

/// The name of a run: one sitting of an agent. The log's own entries are of the run `mandate`.
pub type RunId = Text<1, 64>;
/// How an approval is called: `AP-` and its number.
pub type ApprovalId = Text<1, 64>;

/// One entry: what happened, when, in which run, about which action.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub run_id: RunId,
    pub action_id: Option<Id>,
    pub at: Timestamp,
    pub fact: Fact,
}

/// The types of spec 1.12, and after them our own. `ReceiptProven` is none: a receipt is what the log says up to one entry, and
/// an entry that repeats it would prove nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "payload")]
pub enum Fact {
    RunStarted(Box<RunStarted>),
    ActionProposed(Box<ActionProposed>),
    AuthorityEvaluationStarted {},
    AuthorityEvaluated(Box<AuthorityEvaluated>),
    CREVerificationStarted {
        invoice_id: Text<1, 64>,
    },
    CREVerificationCompleted(Box<VerificationCompleted>),
    ActionDenied {
        /// Where the invoice has another number: what the verifiers signed who say so.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        evidence: Option<Box<Evidence>>,
        layer: Layer,
        reason: Reason,
    },
    BondRequired {
        approval_id: ApprovalId,
        price: Box<Price>,
    },
    BondLocked(Box<BondLocked>),
    ApprovalRequested(Box<ApprovalRequested>),
    CFOApproved(Box<Approved>),
    CFODeclined(Box<Declined>),
    BondRefunded {
        approval_id: ApprovalId,
        reason: Refund,
        tx_hash: TxHash,
    },
    BondCaptured {
        approval_id: ApprovalId,
        sink_address: Text<1, 200>,
        tx_hash: TxHash,
    },
    AuthorizationIssued(Box<Issued>),
    TransactionBuilt(Box<Built>),
    TransactionSubmitted {
        digest: AuthorizationDigest,
        tx_hash: TxHash,
    },
    TransactionRejected(Box<Rejected>),
    TransactionConfirmed {
        block_height: u64,
        digest: AuthorizationDigest,
        tx_hash: TxHash,
    },
    RunCompleted {},
    MandateUpdated(Box<Updated>),
    MandateRevoked {
        version: u32,
    },
    MandatePaused {
        reason: Text<0, 300>,
    },
    MandateResumed {},
    /// The approver's draft: what their signature will be over.
    AuthorizationDrafted {
        approval_id: ApprovalId,
        digest: AuthorizationDigest,
        fields: Box<Fields>,
    },
    ApprovalClosed {
        approval_id: ApprovalId,
        reason: Option<Reason>,
    },
    ApprovalExpired {
        approval_id: ApprovalId,
    },
    ActionDelayed {
        action_hash: Digest,
        since_ms: Millis,
        until_ms: Millis,
    },
    DelayVetoed {
        action_hash: Digest,
        signed: Box<Signed>,
    },
    /// The answer of a submission was lost, or a block that held it was rolled back.
    SettlementUnknown {
        digest: AuthorizationDigest,
    },
    /// A block that held the spending of a bond was rolled back: the bond is locked again.
    BondUnknown {
        approval_id: ApprovalId,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStarted {
    pub agent_public_key: Hex<32>,
    pub delegate: Text<1, 128>,
    pub engine_public_key: Hex<32>,
    pub goal: Text<0, 2000>,
    pub kind: Text<1, 32>,
    pub limits: ShownLimits,
    pub mandate_id: Id,
    pub mandate_version: u32,
    pub principal: Text<1, 128>,
    pub vault: ShownVault,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShownLimits {
    pub autonomous_limit: Units,
    pub daily_cap: Units,
    pub decimals: u8,
    pub hard_cap: Units,
    pub symbol: AssetSymbol,
    pub treasury_minimum: Units,
}

impl ShownLimits {
    pub fn of(mandate: &Mandate) -> Self {
        let Limits { autonomous_limit, daily_cap, hard_cap, treasury_minimum } = mandate.limits();
        let (decimals, symbol) = (mandate.asset.decimals, mandate.asset.symbol.clone());
        Self { autonomous_limit, daily_cap, decimals, hard_cap, symbol, treasury_minimum }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShownVault {
    pub balance: Units,
    pub spent_today: Units,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionProposed {
    /// Null where the proposal was no action.
    pub action: Option<HashedAction>,
    pub action_hash: Option<Digest>,
    pub agent_signature: Option<Text<0, 256>>,
    /// Which bytes the signature is over, where it holds (C1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_form: Option<SignatureForm>,
}

/// A judgement with everything it depends on but the mandate and the action: anyone can judge again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthorityEvaluated {
    pub decision_hash: Digest,
    pub evaluation: Evaluation,
    pub phase: Phase,
    pub state: Snapshot,
}

/// Whether an agent asked, or an approver is about to sign. Only the first is the agent's decision (W15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Check,
    Approval,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerificationCompleted {
    pub evidence: Evidence,
    pub sepolia_tx: Option<Text<1, 100>>,
}

/// Who denied: the engine, or the verifier's facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    Engine,
    Cre,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BondLocked {
    pub amount: PositiveUnits,
    pub approval_id: ApprovalId,
    pub asset: AssetSymbol,
    pub output_index: u32,
    pub tx_hash: TxHash,
}

impl BondLocked {
    pub const fn at(&self) -> OutRef {
        OutRef { output_index: self.output_index, tx_hash: self.tx_hash }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequested {
    pub approval_id: ApprovalId,
    pub approvals_required: Vec<Required>,
    pub bond: Bond,
    pub brief: Hashed<Brief>,
    pub brief_hash: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approved {
    pub approval_id: ApprovalId,
    pub brief_hash: Digest,
    pub cfo_key_hash: KeyHash,
    pub digest: AuthorizationDigest,
    pub signed: Signed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declined {
    pub approval_id: ApprovalId,
    pub brief_hash: Digest,
    pub cfo_key_hash: KeyHash,
    /// For the agent to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<Text<1, 1000>>,
    pub reason: DeclineReason,
    pub signed: Signed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeclineReason {
    /// It was right to ask: the bond goes back.
    Legitimate,
    /// It was not: the bond goes to the sink.
    Frivolous,
}

/// Why a bond went back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refund {
    Approved,
    DeclinedLegitimate,
    Expired,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issued {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    pub authorization: Record,
    pub compromised_engine: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Built {
    pub digest: AuthorizationDigest,
    /// The head that the transaction commits to, before this entry.
    pub log_head: LogHead,
    pub tx_body_cbor: String,
    pub tx_hash: TxHash,
}

/// A place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogHead {
    pub hash: Digest,
    pub seq: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    pub digest: AuthorizationDigest,
    pub error: Text<0, 2000>,
    /// The vault's rule, or `EXPIRED`.
    pub invariant: Option<Text<1, 32>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reservation_released: bool,
    pub tx_body_cbor: Option<String>,
    pub tx_hash: Option<TxHash>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Updated {
    pub mandate: Hashed<Mandate>,
    pub mandate_hash: Digest,
    pub tariff: Tariff,
    pub vault: Vault,
    /// The name under which actions must name the vault, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault_name: Option<Id>,
}

#[derive(Serialize, Deserialize)]
struct Body<A = Option<Id>, F = Fact, R = RunId> {
    action_id: A,
    created_at: Timestamp,
    #[serde(flatten)]
    fact: F,
    run_id: R,
    seq: u64,
}

/// The chain rule: SHA-256(the 32 bytes of the previous hash ‖ canonical body).
pub fn link(prev: &Digest, body: &[u8]) -> Digest {
    Digest::of_parts(&[prev.as_bytes(), body])
}

impl Event {
    /// The canonical body of the entry with this number.
    pub fn body(&self, seq: u64) -> Result<Vec<u8>, Refusal> {
        let body = Body {
            action_id: &self.action_id,
            created_at: self.at,
            fact: &self.fact,
            run_id: &self.run_id,
            seq,
        };
        Ok(canon::to_vec(&body)?)
    }

    pub fn seal(&self, prev: Head) -> Result<Entry, Fault> {
        let seq = prev.seq.saturating_add(1);
        let bytes = self.body(seq).map_err(|_| Fault::new("bad_data", format!("entry {seq}")))?;
        Ok(Entry { seq, prev: prev.hash, hash: link(&prev.hash, &bytes), bytes, payload: None })
    }

    /// The entry with this body, and the number in it, if the body is spelled as we write it.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, u64)> {
        let body: Body = canon::from_slice(bytes).ok()?;
        if canon::to_vec(&body).ok()? != bytes {
            return None;
        }
        let Body { action_id, created_at: at, fact, run_id, seq } = body;
        Some((Self { run_id, action_id, at, fact }, seq))
    }

    /// Reads an entry at its place. Refuses a number, link or hash that the rule does not give, and every spelling of the
    /// body but the one we write.
    pub fn open(entry: &Entry, prev: Head) -> Result<Self, Fault> {
        let fault = |code| Fault::new(code, format!("entry {}", prev.seq.saturating_add(1)));
        if Some(entry.seq) != prev.seq.checked_add(1) {
            return Err(fault("bad_number"));
        }
        if entry.prev != prev.hash {
            return Err(fault("bad_prev"));
        }
        if link(&entry.prev, &entry.bytes) != entry.hash {
            return Err(fault("bad_hash"));
        }
        if entry.payload.is_some() {
            return Err(fault("bad_payload"));
        }
        let body: Body = canon::from_slice(&entry.bytes).map_err(|_| fault("bad_body"))?;
        if body.seq != entry.seq {
            return Err(fault("bad_number"));
        }
        if canon::to_vec(&body).ok().as_ref() != Some(&entry.bytes) {
            return Err(fault("not_canonical"));
        }
        let Body { action_id, created_at: at, fact, run_id, .. } = body;
        Ok(Self { run_id, action_id, at, fact })
    }
}

/// What the engine signs when a run has finished: `EVIDENCE_ANCHOR_V1`, the run, the number and hash of its last entry.
pub fn closing_bytes(run_id: &RunId, head: &LogHead) -> Vec<u8> {
    let run = run_id.as_str().as_bytes();
    [b"EVIDENCE_ANCHOR_V1".as_slice(), run, &head.seq.to_be_bytes(), head.hash.as_bytes()].concat()
}
