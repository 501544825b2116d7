//! Cardano, as mandates need it (spec 2): a chain behind one trait, the ledger of this process behind it, and the treasury, which
//! reads vaults and bonds and builds every transaction that touches them.
//!
//! Nothing here decides. What may be paid was decided and signed before; the validators judge it again on chain.

pub mod blockfrost;
pub mod build;
mod cbor;
mod connect;
pub mod data;
mod error;
pub mod faulty;
mod flat;
pub mod ledger;
pub mod ogmios;
mod parameters;
mod patient;
mod refusal;
mod scripts;
mod slots;
pub mod transaction;
pub mod treasury;
mod value;
pub mod wallet;

pub use connect::connect;
pub use data::{Anchor, VaultState};
pub use error::ChainError;
pub use faulty::Faulty;
pub use ledger::LedgerChain;
pub use parameters::{Parameters, Ratio};
pub use scripts::{Script, Scripts};
pub use slots::Slots;
pub use treasury::{Anchoring, Built, Found, Opening, Release, Told, Treasury};
pub use value::{Asset, Datum, Output, Utxo, Value};
pub use wallet::Wallet;

use async_trait::async_trait;
use mandate::Millis;
use mandate::price::OutRef;
use mandate::text::TxHash;
use std::sync::Arc;

/// A chain, seen through a node or an indexer. An error says what happened: see [`ChainError`].
#[async_trait]
pub trait Chain: Send + Sync + std::fmt::Debug {
    /// The newest block.
    async fn tip(&self) -> Result<Tip, ChainError>;

    /// The protocol parameters in force.
    async fn parameters(&self) -> Result<Arc<Parameters>, ChainError>;

    /// The unspent outputs at an address in bech32, in no promised order.
    async fn utxos(&self, address: &str) -> Result<Vec<Utxo>, ChainError>;

    /// The unspent output at an address that holds exactly one of a token. Whoever sends other outputs there, however many, does
    /// not change the answer.
    async fn holder(&self, address: &str, token: &Asset) -> Result<Option<Utxo>, ChainError> {
        let utxos = self.utxos(address).await?;
        Ok(utxos.into_iter().find(|utxo| utxo.output.value.quantity(token) == 1))
    }

    /// One output. None where it was spent, or never was.
    async fn utxo(&self, at: OutRef) -> Result<Option<Utxo>, ChainError>;

    /// Hands in a signed transaction. [`ChainError::Unknown`] where it may have landed all the same.
    async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError>;

    /// A transaction in a block of the chain as it stands. None where it is in none, or in none any more.
    async fn transaction(&self, hash: TxHash) -> Result<Option<Confirmed>, ChainError>;

    /// What the scripts of a transaction use, in the order of its redeemers. Its signatures and declared units do not matter.
    async fn evaluate(&self, tx: &[u8]) -> Result<Vec<ExUnits>, ChainError>;
}

/// The newest block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    pub slot: u64,
    pub height: u64,
    pub time: Millis,
}

/// A transaction in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    pub height: u64,
    pub time: Millis,
    /// The whole transaction in CBOR.
    pub tx: Vec<u8>,
}

/// What running a script costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExUnits {
    pub memory: u64,
    pub steps: u64,
}

#[async_trait]
impl<C: Chain + ?Sized> Chain for Arc<C> {
    async fn tip(&self) -> Result<Tip, ChainError> {
        (**self).tip().await
    }
    async fn parameters(&self) -> Result<Arc<Parameters>, ChainError> {
        (**self).parameters().await
    }
    async fn utxos(&self, address: &str) -> Result<Vec<Utxo>, ChainError> {
        (**self).utxos(address).await
    }
    async fn holder(&self, address: &str, token: &Asset) -> Result<Option<Utxo>, ChainError> {
        (**self).holder(address, token).await
    }
    async fn utxo(&self, at: OutRef) -> Result<Option<Utxo>, ChainError> {
        (**self).utxo(at).await
    }
    async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        (**self).submit(tx).await
    }
    async fn transaction(&self, hash: TxHash) -> Result<Option<Confirmed>, ChainError> {
        (**self).transaction(hash).await
    }
    async fn evaluate(&self, tx: &[u8]) -> Result<Vec<ExUnits>, ChainError> {
        (**self).evaluate(tx).await
    }
}
