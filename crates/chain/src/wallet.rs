//! A wallet of one key: it pays, and signs what it pays for.

use crate::build::{self, Plan, Purse};
use crate::transaction::{VKey, hash};
use crate::{Asset, Built, Chain, ChainError, Datum, Output, Utxo, Value};
use env::Source;
use keys::{PublicKey, Signer};
use mandate::issue::ChainName;
use mandate::price::{BondDatum, OutRef, Price};
use mandate::text::{KeyHash, TxHash};
use mandate::{Address, Credential, Millis};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// An Ed25519 key, and the enterprise address that is its own.
pub struct Wallet {
    chain: Arc<dyn Chain>,
    signer: Arc<dyn Signer>,
    clock: Arc<dyn Source>,
    key: [u8; 32],
    address: Address,
    /// What transactions were built on, and until when that is left alone.
    promised: Mutex<BTreeMap<OutRef, (Promised, Millis)>>,
}

/// What an output was promised for. One that was only collateral is the sooner used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Promised {
    Collateral,
    Input,
}

/// How long an output is left alone after a transaction was built on it.
const PROMISED_MS: u64 = 600_000;

impl Wallet {
    /// Refuses a key that is not Ed25519.
    pub fn new(
        chain: Arc<dyn Chain>,
        network: ChainName,
        signer: Arc<dyn Signer>,
        clock: Arc<dyn Source>,
    ) -> Result<Self, ChainError> {
        let PublicKey::Ed25519(key) = signer.public() else {
            return Err(ChainError::malformed("a wallet's key is Ed25519"));
        };
        let address = Address::new(network.network(), Credential::Key(KeyHash::of_key(&key)), None);
        let promised = Mutex::default();
        Ok(Self { chain, signer, clock, key: *key.as_bytes(), address, promised })
    }

    pub const fn address(&self) -> &Address {
        &self.address
    }

    pub const fn key_hash(&self) -> &KeyHash {
        self.address.payment().hash()
    }

    /// Its signature over a body.
    pub fn sign(&self, body: &[u8]) -> Result<VKey, ChainError> {
        let signature = self.signer.sign(hash(body).as_bytes());
        let signature =
            signature.map_err(|error| ChainError::Unavailable(format!("the wallet's key: {error}")))?;
        Ok(VKey { key: self.key, signature: *signature.as_bytes() })
    }

    /// A signed transaction that makes these outputs.
    pub async fn pay(&self, outputs: Vec<Output>) -> Result<Built, ChainError> {
        self.complete(Plan { outputs, ..Plan::default() }).await
    }

    /// A signed transaction that locks the bond of a price, as its first output, to be refunded to this wallet.
    pub async fn lock(&self, price: &Price, mandate_ref: KeyHash) -> Result<Built, ChainError> {
        let datum = BondDatum::paying(price, mandate_ref, *self.key_hash(), None);
        let escrow = price.escrow_address.as_str().parse::<Address>();
        let escrow = escrow.map_err(|_| ChainError::malformed("the escrow is no address"))?;
        let value = match price.asset.policy_id {
            None => Value::of(price.amount.get()),
            Some(policy) => {
                Value::default().with((policy, price.asset.asset_name.clone()), price.amount.get())
            }
        };
        self.pay(vec![Output::new(escrow, value).with(Datum::inline(&datum.to_data()))]).await
    }

    /// How much of a token it holds.
    pub async fn holds(&self, asset: &Asset) -> Result<u64, ChainError> {
        let utxos = self.chain.utxos(self.address.as_str()).await?;
        Ok(utxos.iter().fold(0, |sum, utxo| utxo.output.value.quantity(asset).saturating_add(sum)))
    }

    /// Completes a plan with its own money and signature.
    pub async fn complete(&self, plan: Plan) -> Result<Built, ChainError> {
        let parameters = self.chain.parameters().await?;
        let until = self.now()?.plus(PROMISED_MS);
        let named: Vec<OutRef> = plan.inputs.iter().map(|input| input.utxo.at).collect();
        let unsigned = build::complete(plan, &self.purse().await?, &parameters, self.chain.as_ref()).await?;
        let own = self.sign(&unsigned.body)?;
        let mut promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = unsigned.collateral {
            promised.entry(at).or_insert((Promised::Collateral, until));
        }
        promised.extend(unsigned.taken.iter().chain(&named).map(|at| (*at, (Promised::Input, until))));
        drop(promised);
        Ok(Built { tx: unsigned.with(&[own]), tx_hash: hash(&unsigned.body), body: unsigned.body })
    }

    /// What it can pay with: plain outputs, what nothing else is built on first, lovelace alone before tokens, the largest first.
    pub(crate) async fn purse(&self) -> Result<Purse, ChainError> {
        let now = self.now()?;
        let mut utxos: Vec<Utxo> = self.chain.utxos(self.address.as_str()).await?;
        utxos.retain(|utxo| build::is_plain(&utxo.output));
        let mut promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        promised.retain(|_, (_, until)| *until > now);
        utxos.sort_by_key(|utxo| {
            let value = &utxo.output.value;
            let last = u64::MAX - value.lovelace;
            let promise = promised.get(&utxo.at).map(|(promise, _)| *promise);
            (promise, !value.tokens.is_empty(), last, utxo.at)
        });
        Ok(Purse { change: self.address.clone(), utxos })
    }

    fn now(&self) -> Result<Millis, ChainError> {
        now(self.clock.as_ref())
    }

    /// Its outputs are free again: what was built on them is dropped, or was refused.
    pub(crate) fn forget(&self, spent: &[OutRef]) {
        let mut promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        promised.retain(|at, _| !spent.contains(at));
    }
}

impl fmt::Debug for Wallet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wallet").field(&self.address).finish()
    }
}

pub(crate) fn now(clock: &dyn Source) -> Result<Millis, ChainError> {
    Millis::try_from(clock.now()).map_err(|_| ChainError::Bug("the clock is before 1970".to_owned()))
}

/// The witness set with which this key signs a transaction: CIP-30's `signTx`, for a test wallet or a signer without a browser.
pub fn sign_tx(tx: &[u8], signer: &dyn Signer) -> Result<Vec<u8>, ChainError> {
    let PublicKey::Ed25519(key) = signer.public() else {
        return Err(ChainError::malformed("a wallet's key is Ed25519"));
    };
    let hash: TxHash = crate::transaction::Transaction::read(tx)?.hash();
    let signature = signer.sign(hash.as_bytes());
    let signature =
        signature.map_err(|error| ChainError::Unavailable(format!("the wallet's key: {error}")))?;
    Ok(crate::transaction::witness_set(&[VKey { key: *key.as_bytes(), signature: *signature.as_bytes() }]))
}
