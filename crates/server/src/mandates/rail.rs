//! The chain as a mandate needs it: what is read of vault, anchor and escrow, and the transactions that move money.

use async_trait::async_trait;
use canon::Digest;
use ledger::{Coded, Who};
use mandate::Vault;
use mandate::authorization::Record;
use mandate::command::Observed;
use mandate::log::LogHead;
use mandate::price::{Locked, OutRef};
use mandate::text::{KeyHash, TxHash};

/// Every call may fail as [`Trouble::Unavailable`] (nothing happened), and every submission as [`Trouble::Unknown`] (its
/// answer was lost, it may have landed).
#[async_trait]
pub trait Rail: Send + Sync + std::fmt::Debug + 'static {
    /// The vault and its anchor as they stand.
    async fn observe(&self, vault: &Vault) -> Result<Observed, Trouble>;

    /// The bond at exactly this output (W6). `None`: spent, never there, or no bond.
    async fn bond(&self, at: OutRef) -> Result<Option<Locked>, Trouble>;

    /// Submits an agent's own signed lock (x402 `exact`). One that has landed already gives its hash.
    async fn lock_by(&self, tx: &[u8]) -> Result<TxHash, Trouble>;

    /// The transaction that releases what an authorization allows, signed by the fee wallet. Where it needs the
    /// approver, their witness is still missing, and `bond` goes back in the same transaction (W7).
    async fn release(&self, release: &Release<'_>) -> Result<Built, Trouble>;

    /// Gives a bond back: signed by the approver, or after its time by nobody.
    async fn refund(&self, bond: OutRef, approver: Option<KeyHash>) -> Result<Built, Trouble>;

    /// Sends a bond to the sink; the approver's witness is missing.
    async fn capture(&self, bond: OutRef, approver: KeyHash) -> Result<Built, Trouble>;

    /// Adds a wallet's witness after checking it: this key, over this very body (W9).
    fn witness(&self, tx: &[u8], witness_set: &[u8], key: KeyHash) -> Result<Vec<u8>, Trouble>;

    /// Submits. The same transaction twice is once.
    async fn submit(&self, tx: &[u8]) -> Result<TxHash, Trouble>;

    /// The transaction that paid this authorization, if there is one in a block.
    async fn find(&self, record: &Record) -> Result<Option<Found>, Trouble>;

    /// The block a transaction is in, if it is in one.
    async fn confirmed(&self, tx: TxHash) -> Result<Option<u64>, Trouble>;
}

/// What a release is built of.
#[derive(Debug, Clone, Copy)]
pub struct Release<'a> {
    pub vault: &'a Vault,
    pub record: &'a Record,
    pub action_hash: Digest,
    /// `M-001@3`.
    pub mandate: &'a str,
    /// Committed to under label 1694 (spec 2.4).
    pub log_head: LogHead,
    pub bond: Option<OutRef>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    pub tx: Vec<u8>,
    pub tx_hash: TxHash,
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub tx_hash: TxHash,
    pub block_height: u64,
}

/// Why the chain did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Nothing happened.
    #[error("the chain does not answer: {0}")]
    Unavailable(String),
    /// It may have happened.
    #[error("the answer of a submission was lost: {0}")]
    Unknown(String),
    /// A rule of the ledger or of a script says no; `invariant` names the script's (R6, b4).
    #[error("refused by the chain: {error}")]
    Rejected { invariant: Option<String>, error: String },
    /// An input was spent meanwhile: build again.
    #[error("an input was spent meanwhile: {0}")]
    Contention(String),
    #[error("{0}")]
    Malformed(String),
    #[error("{0}")]
    BadWitness(String),
    /// The wallet that pays fees holds too little.
    #[error("too little to pay with: {0}")]
    Insufficient(String),
}

impl Coded for Trouble {
    fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "chain_unavailable",
            Self::Unknown(_) => "chain_outcome_unknown",
            Self::Rejected { .. } => "chain_rejected",
            Self::Contention(_) => "chain_contention",
            Self::Malformed(_) => "bad_transaction",
            Self::BadWitness(_) => "bad_witness",
            Self::Insufficient(_) => "fee_wallet_empty",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Unavailable(_) | Self::Unknown(_) | Self::Insufficient(_) => Who::Unavailable,
            Self::Rejected { .. } | Self::Contention(_) => Who::Conflict,
            Self::Malformed(_) => Who::Caller,
            Self::BadWitness(_) => Who::Unauthenticated,
        }
    }
}
