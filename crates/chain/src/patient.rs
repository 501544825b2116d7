//! A chain that is waited for only so long.

use crate::{Asset, Chain, ChainError, Confirmed, ExUnits, Parameters, Tip, Utxo};
use async_trait::async_trait;
use mandate::price::OutRef;
use mandate::text::TxHash;
use std::sync::Arc;
use std::time::Duration;

/// After that time a reading is [`ChainError::Unavailable`] and a submission [`ChainError::Unknown`].
#[derive(Debug)]
pub(crate) struct Patient {
    pub chain: Arc<dyn Chain>,
    pub patience: Duration,
}

impl Patient {
    async fn read<T>(&self, answer: impl Future<Output = Result<T, ChainError>>) -> Result<T, ChainError> {
        let waited = tokio::time::timeout(self.patience, answer).await;
        waited.unwrap_or_else(|_| Err(ChainError::Unavailable("no answer in time".to_owned())))
    }
}

#[async_trait]
impl Chain for Patient {
    async fn tip(&self) -> Result<Tip, ChainError> {
        self.read(self.chain.tip()).await
    }
    async fn parameters(&self) -> Result<Arc<Parameters>, ChainError> {
        self.read(self.chain.parameters()).await
    }
    async fn utxos(&self, address: &str) -> Result<Vec<Utxo>, ChainError> {
        self.read(self.chain.utxos(address)).await
    }
    async fn holder(&self, address: &str, token: &Asset) -> Result<Option<Utxo>, ChainError> {
        self.read(self.chain.holder(address, token)).await
    }
    async fn utxo(&self, at: OutRef) -> Result<Option<Utxo>, ChainError> {
        self.read(self.chain.utxo(at)).await
    }
    async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        let waited = tokio::time::timeout(self.patience, self.chain.submit(tx)).await;
        waited.unwrap_or_else(|_| Err(ChainError::Unknown("no answer in time".to_owned())))
    }
    async fn transaction(&self, hash: TxHash) -> Result<Option<Confirmed>, ChainError> {
        self.read(self.chain.transaction(hash)).await
    }
    async fn evaluate(&self, tx: &[u8]) -> Result<Vec<ExUnits>, ChainError> {
        self.read(self.chain.evaluate(tx)).await
    }
}
