//! A transaction told in parts, read back from its own bytes: what somebody is about to sign, not what was meant.

use super::Treasury;
use crate::scripts::{ANCHOR_TOKEN, VAULT_TOKEN};
use crate::transaction::Transaction;
use crate::{ChainError, Output};
use mandate::Credential;
use mandate::issue::ChainName;
use mandate::text::{AssetName, KeyHash, PolicyId, TxHash, Units};
use serde::Serialize;

/// What a transaction does. Its inputs are not told: whatever they hold is in the outputs, or is the fee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    pub fee_lovelace: Units,
    pub network: ChainName,
    pub outputs: Vec<Paid>,
    /// Who must sign beside the fee wallet.
    pub signers: Vec<KeyHash>,
    pub tx_hash: TxHash,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Paid {
    pub address: String,
    pub lovelace: Units,
    pub tokens: Vec<Held>,
    pub what: What,
}

/// So much of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Held {
    pub asset_name: AssetName,
    pub asset_policy: PolicyId,
    pub quantity: Units,
}

/// What an output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Anchor,
    Vault,
    /// The vault's script, for releases to refer to.
    Script,
    /// What is left to the fee wallet.
    Change,
    Payment,
}

impl Treasury {
    /// Tells a transaction.
    pub fn told(&self, tx: &[u8]) -> Result<Told, ChainError> {
        let read = Transaction::read(tx)?;
        let unread = || ChainError::malformed("a transaction of another shape");
        let outputs = read.outputs().ok_or_else(unread)?;
        let outputs = outputs.into_iter().map(Output::from_cbor).collect::<Option<Vec<_>>>();
        Ok(Told {
            fee_lovelace: Units::new(read.fee().ok_or_else(unread)?),
            network: self.scripts.network(),
            outputs: outputs.ok_or_else(unread)?.iter().map(|output| self.paid(output)).collect(),
            signers: read.signers().ok_or_else(unread)?,
            tx_hash: read.hash(),
        })
    }

    /// Who must sign a transaction beside the fee wallet, and has not.
    pub fn unsigned(&self, tx: &[u8]) -> Result<Vec<KeyHash>, ChainError> {
        let read = Transaction::read(tx)?;
        let unread = || ChainError::malformed("a transaction of another shape");
        let (mut missing, keys) = (read.signers().ok_or_else(unread)?, read.vkeys().ok_or_else(unread)?);
        missing.retain(|signer| !keys.iter().any(|key| key.hash() == *signer));
        Ok(missing)
    }

    /// Whether all that a transaction spends is unspent: one that is neither in a block nor able to come into one has lost.
    pub async fn is_spendable(&self, tx: &[u8]) -> Result<bool, ChainError> {
        for at in Transaction::read(tx)?.inputs().unwrap_or_default() {
            if self.chain.utxo(at).await?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn paid(&self, output: &Output) -> Paid {
        let holds = |name: &[u8]| {
            let own = output.address.payment().hash();
            let is = |(policy, token): &(PolicyId, AssetName)| policy == own && token.as_bytes() == name;
            matches!(output.address.payment(), Credential::Script(_)) && output.value.tokens.keys().any(is)
        };
        let what = if holds(ANCHOR_TOKEN) {
            What::Anchor
        } else if holds(VAULT_TOKEN) {
            What::Vault
        } else if output.script.is_some() {
            What::Script
        } else if output.address == *self.wallet.address() {
            What::Change
        } else {
            What::Payment
        };
        let tokens = output.value.tokens.iter().map(|((policy, name), quantity)| Held {
            asset_name: name.clone(),
            asset_policy: *policy,
            quantity: Units::new(*quantity),
        });
        Paid {
            address: output.address.to_string(),
            lovelace: Units::new(output.value.lovelace),
            tokens: tokens.collect(),
            what,
        }
    }
}
