//! What can be asked of a mandate's stream, and what the one who asks is told.

use crate::authorization::{AuthorizationDigest, Fields, Record};
use crate::brief::Brief;
use crate::evaluation::Evaluation;
use crate::issue::Vault;
use crate::log::{ApprovalId, DeclineReason, LogHead, Refund, RunId};
use crate::mandate::Status;
use crate::price::{BadBond, Bond, Locked, Price, Tariff};
use crate::proof::Signed;
use crate::reason::Reason;
use crate::report::Evidence;
use crate::text::{Id, KeyHash, Text, TxHash, Units};
use crate::{Hashed, Mandate};
use canon::Digest;
use keys::Signer;
use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub enum Command {
    Anchor(Box<Anchor>),
    Revoke {
        version: u32,
    },
    Check(Box<Check>),
    Draft(Box<Draft>),
    Approve(Box<Approve>),
    Decline(Box<Decline>),
    Veto(Box<Veto>),
    Execution {
        digest: AuthorizationDigest,
        what: Execution,
    },
    BondSpent {
        approval_id: ApprovalId,
        how: BondSpent,
    },
    FinishRun {
        run: RunId,
    },
    Pause {
        reason: Text<0, 300>,
    },
    Resume,
    /// The clock moved: what has expired expires, what is owed is asked for again (W4).
    Tick,
}

/// A mandate whose hash was found in its anchor, and where its money is. A later version replaces an earlier one.
#[derive(Debug, Clone)]
pub struct Anchor {
    pub mandate: Hashed<Mandate>,
    pub observed: Observed,
    pub tariff: Tariff,
    pub vault: Vault,
    pub vault_name: Option<Id>,
}

/// The vault and the anchor as the caller has just read them from chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    pub anchor_status: Status,
    pub anchor_version: u32,
    pub mandate_hash: Digest,
    /// The approvers' keys in the anchor.
    pub approvers: Vec<KeyHash>,
    pub day_index: u64,
    pub last_nonce: Units,
    pub slot: u64,
    pub spent_today: Units,
    pub vault_balance: Units,
}

/// The engine's key. It signs while deciding, which for Ed25519 is a function of what is signed.
#[derive(Clone)]
pub struct EngineKey(pub Arc<dyn Signer>);

/// A proposal to be judged, and, if it may be, acted on.
#[derive(Debug, Clone)]
pub struct Check {
    pub run: RunId,
    pub run_kind: Text<1, 32>,
    pub goal: Text<0, 2000>,
    /// The action as JSON, whatever it is.
    pub action: Arc<[u8]>,
    pub agent_signature: Option<Text<0, 256>>,
    /// Whether an escalation is priced and a delay begins; an allowed, signed action is authorized either way.
    pub execute: bool,
    pub observed: Observed,
    pub verification: Verification,
    /// The escrow output that the agent named, as it is on chain.
    pub bond: Option<Locked>,
    pub engine: EngineKey,
}

/// What the caller knows of the invoice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// Nothing yet: the answer may be that it must be verified.
    NotTried,
    /// The source has the invoice under another number, or none (spec 1.7 step 6): nothing needs to be verified.
    NumberDiffers {
        on_record: Option<Text<0, 64>>,
        /// What they signed who say so, where verifiers did.
        evidence: Option<Box<Evidence>>,
    },
    /// The verifiers or the source do not answer.
    Unavailable,
    Reported {
        evidence: Evidence,
        registry_tx: Option<Text<1, 100>>,
    },
}

/// An approver opens an approval to sign it: what they will sign is drafted on a fresh reading.
#[derive(Debug, Clone)]
pub struct Draft {
    pub approval_id: ApprovalId,
    pub observed: Observed,
    pub verification: Verification,
}

#[derive(Debug, Clone)]
pub struct Approve {
    pub approval_id: ApprovalId,
    pub digest: AuthorizationDigest,
    pub signed: Signed,
    pub observed: Observed,
    pub verification: Verification,
    pub engine: EngineKey,
}

#[derive(Debug, Clone)]
pub struct Decline {
    pub approval_id: ApprovalId,
    pub reason: DeclineReason,
    pub comment: Option<Text<1, 1000>>,
    pub signed: Signed,
    /// The approvers' keys in the anchor.
    pub approvers: Vec<KeyHash>,
}

/// An approver objects to a delayed action.
#[derive(Debug, Clone)]
pub struct Veto {
    pub action_hash: Digest,
    pub signed: Signed,
    pub approvers: Vec<KeyHash>,
}

/// What became of an authorization on chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Execution {
    Built {
        tx_hash: TxHash,
        tx_body_cbor: String,
        log_head: LogHead,
    },
    Submitted {
        tx_hash: TxHash,
    },
    /// The submission's answer was lost, or the block was rolled back.
    Unknown,
    /// Refused by the chain. The authorization stays good: whoever has it may still submit it until it expires.
    Rejected {
        tx_hash: Option<TxHash>,
        invariant: Option<Text<1, 32>>,
        error: Text<0, 2000>,
    },
    Confirmed {
        tx_hash: TxHash,
        block_height: u64,
    },
    /// Looked for on chain after it had expired, and not there.
    NotFound,
}

/// What became of a bond on chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BondSpent {
    Refunded {
        tx_hash: TxHash,
    },
    Captured {
        tx_hash: TxHash,
        sink_address: Text<1, 200>,
    },
    /// The block that held its spending was rolled back.
    Undone,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Anchored {
        hash: Digest,
        version: u32,
    },
    Checked(Box<Checked>),
    Drafted(Box<Drafted>),
    /// So many of so many have signed; with the last, the authorization.
    Approved {
        signed: usize,
        required: usize,
        authorization: Option<Box<Record>>,
    },
    /// It may no longer be approved, and is closed.
    Closed {
        reason: Option<Reason>,
        evaluation: Option<Box<Evaluation>>,
    },
    Declined {
        reason: DeclineReason,
        bond: Box<Bond>,
    },
    Done,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Drafted {
    pub approval_id: ApprovalId,
    pub brief_hash: Digest,
    pub digest: AuthorizationDigest,
    pub fields: Fields,
}

/// The answer to a check (seed, "Reply").
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub run: RunId,
    pub evaluation: Evaluation,
    pub decision_hash: Digest,
    pub next: Next,
    pub approval_id: Option<ApprovalId>,
    pub brief: Option<Hashed<Brief>>,
    pub bond: Option<Bond>,
    pub authorization: Option<Record>,
    /// What the approver wrote to the agent when declining.
    pub comment: Option<Text<1, 1000>>,
}

/// What the agent can do now.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// It is decided, and that is all.
    Nothing,
    /// The facts must be verified, then the same check is made again.
    Verify,
    /// What it would cost to ask. Nothing is owed.
    Quoted(Box<Price>),
    /// 402: it costs this. The bond that was shown, if one was, does not pay it.
    Priced { price: Box<Price>, refused: Option<BadBond> },
    /// A person is asked.
    Waiting,
    /// The authorization is there.
    Authorized,
    /// It may be done from then on, unless somebody objects.
    Delayed,
}

/// What is to be done with a bond, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owed {
    Refund(Refund),
    Capture,
}

impl fmt::Debug for EngineKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EngineKey({:?})", self.0.public())
    }
}
