//! The chain as a mandate needs it: what is read of vault, anchor and escrow, and the transactions that move money.

use async_trait::async_trait;
use chain::Treasury;
pub use chain::{Built, ChainError, Found, Release};
use mandate::Vault;
use mandate::authorization::Record;
use mandate::command::Observed;
use mandate::price::{Locked, OutRef};
use mandate::text::{KeyHash, TxHash};

/// Every call may fail as [`ChainError::Unavailable`] (nothing happened), and every submission as [`ChainError::Unknown`] (its
/// answer was lost, it may have landed).
#[async_trait]
pub trait Rail: Send + Sync + std::fmt::Debug + 'static {
    /// The vault and its anchor as they stand.
    async fn observe(&self, vault: &Vault) -> Result<Observed, ChainError>;

    /// The bond at exactly this output (W6). `None`: spent, never there, or no bond.
    async fn bond(&self, at: OutRef) -> Result<Option<Locked>, ChainError>;

    /// The hash of a transaction. Refuses what is none.
    fn hash_of(&self, tx: &[u8]) -> Result<TxHash, ChainError>;

    /// Submits an agent's own signed lock (x402 `exact`). One that has landed already gives its hash.
    async fn lock_by(&self, tx: &[u8]) -> Result<TxHash, ChainError>;

    /// The transaction that releases what an authorization allows, signed by the fee wallet. Where it needs
    /// approvers, the witnesses of `signers` are still missing, and `bond` goes back in the same transaction (W7).
    async fn release(&self, release: &Release<'_>) -> Result<Built, ChainError>;

    /// Gives a bond back: signed by the approver and, of a quorum, the first others (D38), or after its time by nobody.
    async fn refund(&self, bond: OutRef, approver: Option<KeyHash>) -> Result<Built, ChainError>;

    /// Sends a bond to the sink; the witnesses of the same approvers are missing.
    async fn capture(&self, bond: OutRef, approver: KeyHash) -> Result<Built, ChainError>;

    /// Adds a wallet's witness after checking it: this key, over this very body (W9).
    fn witness(&self, tx: &[u8], witness_set: &[u8], key: KeyHash) -> Result<Vec<u8>, ChainError>;

    /// Submits. The same transaction twice is once.
    async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError>;

    /// The transaction that paid this authorization, if there is one in a block.
    async fn find(&self, record: &Record) -> Result<Option<Found>, ChainError>;

    /// The block a transaction is in, if it is in one.
    async fn confirmed(&self, tx: TxHash) -> Result<Option<u64>, ChainError>;

    /// What builds a principal's transactions, where there is one.
    fn treasury(&self) -> Option<&Treasury> {
        None
    }
}

#[async_trait]
impl Rail for Treasury {
    async fn observe(&self, vault: &Vault) -> Result<Observed, ChainError> {
        Self::observe(self, vault).await
    }

    async fn bond(&self, at: OutRef) -> Result<Option<Locked>, ChainError> {
        Self::bond(self, at).await
    }

    fn hash_of(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        Ok(chain::transaction::Transaction::read(tx)?.hash())
    }

    async fn lock_by(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        Self::lock_by(self, tx).await
    }

    async fn release(&self, release: &Release<'_>) -> Result<Built, ChainError> {
        Self::release(self, release).await
    }

    async fn refund(&self, bond: OutRef, approver: Option<KeyHash>) -> Result<Built, ChainError> {
        Self::refund(self, bond, approver).await
    }

    async fn capture(&self, bond: OutRef, approver: KeyHash) -> Result<Built, ChainError> {
        Self::capture(self, bond, approver).await
    }

    fn witness(&self, tx: &[u8], witness_set: &[u8], key: KeyHash) -> Result<Vec<u8>, ChainError> {
        Self::witness(self, tx, witness_set, key)
    }

    async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        Self::submit(self, tx).await
    }

    async fn find(&self, record: &Record) -> Result<Option<Found>, ChainError> {
        Self::find(self, record).await
    }

    async fn confirmed(&self, tx: TxHash) -> Result<Option<u64>, ChainError> {
        Self::confirmed(self, tx).await
    }

    fn treasury(&self) -> Option<&Treasury> {
        Some(self)
    }
}
