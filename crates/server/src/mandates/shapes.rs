//! The shapes of what approvers read and send (spec 1.10).

use super::answer::Verified;
use approvals::{Evidence, Statement};
use canon::Digest;
use env::Timestamp;
use mandate::authorization::{AuthorizationDigest, Fields, Record};
use mandate::brief::Brief;
use mandate::log::{ApprovalId, DeclineReason, RunId};
use mandate::price::Bond;
use mandate::text::{Ed25519Key, Id, Text, TxHash};
use mandate::{Action, Evaluation, Hashed};
use serde::{Deserialize, Serialize};

/// A line of the inbox.
#[derive(Debug, Serialize)]
pub(crate) struct Item {
    pub action: Hashed<Action>,
    pub action_hash: Digest,
    pub approval_id: ApprovalId,
    pub bond: Bond,
    pub brief: Option<Hashed<Brief>>,
    pub brief_hash: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    pub mandate_id: Id,
    pub requested_at: Option<Timestamp>,
    pub run_id: RunId,
    pub status: &'static str,
    /// Who verified the facts, and who read something else: beside the brief, which has the report's hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verified>,
}

/// The body of an approval. Empty: the draft to sign is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApproveAsked {
    #[serde(default)]
    pub mandate_id: Option<Id>,
    #[serde(default)]
    pub authorization_digest: Option<AuthorizationDigest>,
    #[serde(default)]
    pub signed: Option<SignedBody>,
}

/// An approver's decision as it was signed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignedBody {
    pub evidence: Evidence,
    /// `ed25519:` and the approver's key in hex.
    pub key: Ed25519Key,
    pub nonce: Text<16, 64>,
}

/// What an approver is about to sign.
#[derive(Debug, Serialize)]
pub(crate) struct DraftShown {
    pub approval_id: ApprovalId,
    pub authorization_digest: AuthorizationDigest,
    pub brief_hash: Digest,
    pub fields: Fields,
    pub mandate_id: Id,
    pub statement: Statement,
    /// What is signed: SHA-256 of the statement's canonical form.
    pub statement_hash: Digest,
    pub status: &'static str,
}

#[derive(Debug, Serialize)]
pub(crate) struct Approved {
    pub approval_id: ApprovalId,
    pub authorization: Option<Record>,
    /// Always null: the bond goes back in the release itself (W7).
    pub bond_tx: Option<()>,
    pub required: usize,
    pub signed: usize,
    pub tx_hash: Option<TxHash>,
    pub unsigned_tx_cbor: Option<String>,
}

/// The body of a decline: the seed's, with a wallet's older signature, or ours.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeclineAsked {
    pub reason: DeclineReason,
    #[serde(default)]
    pub comment: Option<Text<1, 1000>>,
    #[serde(default)]
    pub mandate_id: Option<Id>,
    /// COSE_Sign1 and COSE_Key in hex.
    #[serde(default)]
    pub signature: Option<Text<2, 8192>>,
    #[serde(default)]
    pub key: Option<Text<2, 1024>>,
    #[serde(default)]
    pub signed: Option<SignedBody>,
}

#[derive(Debug, Serialize)]
pub(crate) struct DeclinedShown {
    pub bond: Bond,
    pub bond_tx: Option<Unsigned>,
    pub ok: bool,
    pub reason: DeclineReason,
}

#[derive(Debug, Serialize)]
pub(crate) struct Unsigned {
    pub tx_hash: TxHash,
    pub unsigned_tx_cbor: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecutionAsked {
    pub approval_id: ApprovalId,
    pub authorization_digest: AuthorizationDigest,
    pub cfo_witness_cbor: Text<2, 8192>,
    #[serde(default)]
    pub mandate_id: Option<Id>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BondSubmit {
    pub cfo_witness_cbor: Text<2, 8192>,
    #[serde(default)]
    pub mandate_id: Option<Id>,
    pub tx_hash: TxHash,
}

/// A wallet's witness set over an act.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WitnessAsked {
    pub witness_cbor: Text<2, 8192>,
}

#[derive(Debug, Serialize)]
pub(crate) struct BondSubmitted {
    pub bond: Bond,
    pub ok: bool,
    /// Of several approvers: how many must sign, and how many have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed: Option<usize>,
    pub tx_hash: TxHash,
}

impl BondSubmitted {
    pub fn of(bond: Bond, tx_hash: TxHash, count: Option<(usize, usize)>) -> Self {
        let (signed, required) = count.unzip();
        Self { bond, ok: true, required, signed, tx_hash }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfMandateAsked {
    #[serde(default)]
    pub mandate_id: Option<Id>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VetoAsked {
    #[serde(default)]
    pub mandate_id: Option<Id>,
    pub signed: SignedBody,
}

/// What a page signs for a decision, made here so that it need not know how.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatementAsked {
    pub reason: DeclineReason,
    #[serde(default)]
    pub comment: Option<Text<1, 1000>>,
    #[serde(default)]
    pub mandate_id: Option<Id>,
}

#[derive(Debug, Serialize)]
pub(crate) struct StatementShown {
    pub statement: Statement,
    pub statement_hash: Digest,
}
