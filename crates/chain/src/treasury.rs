//! Everything a mandate server needs of the chain: vaults and bonds read, releases and refunds built, and what became of them.
//!
//! Whatever is built here is signed by the fee wallet, and by nobody else: whose signature it still lacks, each function says.
//! No step of it is remembered, so a process that dies anywhere builds again from what is on chain.

mod bonds;
mod history;
mod principal;
mod release;
mod told;

pub use principal::{Anchoring, Opening};
pub use release::Release;
pub use told::{Held, Paid, Told, What};

use crate::patient::Patient;
use crate::scripts::{ANCHOR_TOKEN, VAULT_TOKEN};
use crate::transaction::{Transaction, vkeys};
use crate::value::asset_name;
use crate::{Anchor, Asset, Chain, ChainError, Output, Scripts, Slots, Utxo, VaultState, Wallet};
use env::Source;
use keys::Signer;
use mandate::authorization::Record;
use mandate::command::Observed;
use mandate::issue::{ChainName, Vault};
use mandate::text::{KeyHash, TxHash, Units};
use mandate::{Address, Credential, Millis};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A transaction that was built: the whole of it with the fee wallet's signature, its hash, and its body, which is what everybody signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    pub tx: Vec<u8>,
    pub tx_hash: TxHash,
    pub body: Vec<u8>,
}

/// Where an authorization was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub tx_hash: TxHash,
    pub block_height: u64,
}

pub struct Treasury {
    chain: Arc<dyn Chain>,
    scripts: Scripts,
    slots: Slots,
    wallet: Wallet,
    clock: Arc<dyn Source>,
    escrow: Address,
    sink: Address,
    /// What bonds are paid in; lovelace where there is none.
    bond_asset: Option<Asset>,
}

/// How long a chain is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

impl Treasury {
    /// Over a chain of this network, with the fee wallet's key. Bonds are in lovelace.
    pub fn new(
        chain: Arc<dyn Chain>,
        network: ChainName,
        wallet: Arc<dyn Signer>,
        clock: Arc<dyn Source>,
    ) -> Result<Self, ChainError> {
        Self::with_patience(chain, network, wallet, clock, PATIENCE)
    }

    /// As [`new`](Self::new), waiting so long for each answer of the chain.
    pub fn with_patience(
        chain: Arc<dyn Chain>,
        network: ChainName,
        wallet: Arc<dyn Signer>,
        clock: Arc<dyn Source>,
        patience: Duration,
    ) -> Result<Self, ChainError> {
        let chain: Arc<dyn Chain> = Arc::new(Patient { chain, patience });
        let scripts = Scripts::embedded(network)?;
        Ok(Self {
            wallet: Wallet::new(Arc::clone(&chain), network, wallet, Arc::clone(&clock))?,
            slots: Slots::of(network),
            escrow: scripts.bond().address(network),
            sink: scripts.sink().address(network),
            chain,
            scripts,
            clock,
            bond_asset: None,
        })
    }

    /// Bonds are in this token.
    #[must_use]
    pub fn with_bond_asset(mut self, asset: Asset) -> Self {
        self.bond_asset = Some(asset);
        self
    }

    pub fn chain(&self) -> &Arc<dyn Chain> {
        &self.chain
    }
    pub const fn scripts(&self) -> &Scripts {
        &self.scripts
    }
    /// Where bonds are locked.
    pub const fn escrow(&self) -> &Address {
        &self.escrow
    }
    /// Where frivolous bonds go, for ever.
    pub const fn sink(&self) -> &Address {
        &self.sink
    }
    /// The fee wallet.
    pub const fn wallet(&self) -> &Wallet {
        &self.wallet
    }

    /// The vault and its anchor as they are now. [`ChainError::Missing`] where one is not on chain,
    /// [`ChainError::Malformed`] where its datum is none.
    pub async fn observe(&self, vault: &Vault) -> Result<Observed, ChainError> {
        let tip = self.chain.tip().await?;
        let (anchor, _) = self.anchored(vault.mandate_ref).await?;
        let (state, utxo) = self.vault(vault.vault_hash).await?;
        let asset = (vault.asset_policy, vault.asset_name.clone());
        Ok(Observed {
            anchor_status: anchor.status,
            anchor_version: anchor.version,
            mandate_hash: anchor.mandate_hash,
            approvers: anchor.approvers.keys,
            day_index: state.day_index,
            last_nonce: Units::new(state.last_nonce),
            slot: tip.slot,
            spent_today: Units::new(state.spent_today),
            vault_balance: Units::new(utxo.output.value.quantity(&asset)),
        })
    }

    /// Hands in a signed transaction. One that is on chain already is its hash.
    pub async fn submit(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        let hash = Transaction::read(tx)?.hash();
        let refused = match self.chain.submit(tx).await {
            Ok(_) => return Ok(hash),
            Err(refused) => refused,
        };
        // It may have landed before, or its answer was lost.
        if matches!(refused, ChainError::Contention(_) | ChainError::Unknown(_))
            && let Ok(Some(_)) = self.chain.transaction(hash).await
        {
            return Ok(hash);
        }
        if matches!(refused, ChainError::Rejected { .. } | ChainError::Malformed(_)) {
            let inputs = Transaction::read(tx)?.inputs().unwrap_or_default();
            self.wallet.forget(&inputs);
        }
        Err(refused)
    }

    /// Submits an agent's signed lock (x402 `exact`). One that has landed already is its hash. Refuses a transaction that locks
    /// nothing at the escrow: this is no door to the chain for whatever a stranger signs.
    pub async fn lock_by(&self, tx: &[u8]) -> Result<TxHash, ChainError> {
        let read = Transaction::read(tx)?;
        let outputs = read.outputs().unwrap_or_default();
        let locks = |raw: &&[u8]| Output::from_cbor(raw).is_some_and(|output| output.address == self.escrow);
        if !outputs.iter().any(locks) {
            return Err(ChainError::malformed("it locks nothing at the escrow"));
        }
        self.submit(tx).await
    }

    /// The height of the block it is in; none where it is in none, or in none any more.
    pub async fn confirmed(&self, tx: TxHash) -> Result<Option<u64>, ChainError> {
        Ok(self.chain.transaction(tx).await?.map(|confirmed| confirmed.height))
    }

    /// Adds a signature that a wallet gave back as a witness set (CIP-30 `signTx`), after checking it: it is there, of this key,
    /// over this very body (W9). Nothing else of the set is taken, and no byte of the body changes.
    pub fn witness(&self, tx: &[u8], witness_set: &[u8], key: KeyHash) -> Result<Vec<u8>, ChainError> {
        let read = Transaction::read(tx)?;
        let bad = |why: &str| ChainError::BadWitness(why.to_owned());
        let keys = vkeys(witness_set).ok_or_else(|| bad("not a witness set"))?;
        let own = keys.iter().find(|vkey| vkey.hash() == key).ok_or_else(|| bad("it is another key's"))?;
        own.verify(&read.hash()).map_err(|_| bad("it does not sign this transaction"))?;
        read.with(own).ok_or_else(|| ChainError::malformed("not a transaction"))
    }

    /// Where an authorization was used: the transaction of its vault that carried it. None where none did, up to now.
    pub async fn find(&self, record: &Record) -> Result<Option<Found>, ChainError> {
        self.used(record).await
    }

    /// The anchor in force under a `mandate_ref`, and its output.
    pub async fn anchored(&self, mandate_ref: KeyHash) -> Result<(Anchor, Utxo), ChainError> {
        let utxo = self.holder(mandate_ref, ANCHOR_TOKEN, "the anchor").await?;
        let anchor = utxo.output.datum.as_inline().and_then(Anchor::from_cbor);
        Ok((anchor.ok_or_else(|| ChainError::malformed("the anchor's datum"))?, utxo))
    }

    /// The state of a vault, and its output.
    pub async fn vault(&self, vault_hash: KeyHash) -> Result<(VaultState, Utxo), ChainError> {
        let utxo = self.holder(vault_hash, VAULT_TOKEN, "the vault").await?;
        let state = utxo.output.datum.as_inline().and_then(VaultState::from_cbor);
        Ok((state.ok_or_else(|| ChainError::malformed("the vault's datum"))?, utxo))
    }

    /// The output at a script that holds the script's own token.
    async fn holder(&self, hash: KeyHash, name: &[u8], what: &str) -> Result<Utxo, ChainError> {
        let asset = token(hash, name)?;
        let held = self.chain.holder(self.at_script(hash).as_str(), &asset).await?;
        held.ok_or_else(|| ChainError::Missing(what.to_owned()))
    }

    fn at_script(&self, hash: KeyHash) -> Address {
        Address::new(self.scripts.network().network(), Credential::Script(hash), None)
    }

    fn now(&self) -> Result<Millis, ChainError> {
        crate::wallet::now(self.clock.as_ref())
    }
}

fn token(policy: KeyHash, name: &[u8]) -> Result<Asset, ChainError> {
    let name = asset_name(name).ok_or_else(|| ChainError::Bug("a token's name".to_owned()))?;
    Ok((policy, name))
}

impl fmt::Debug for Treasury {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Treasury")
            .field("chain", &self.chain)
            .field("wallet", &self.wallet)
            .finish_non_exhaustive()
    }
}
