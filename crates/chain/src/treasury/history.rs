//! What a vault or an anchor was before: its outputs, one transaction after another, back to the one that minted its token.

use super::{Found, Treasury};
use crate::scripts::VAULT_TOKEN;
use crate::transaction::Transaction;
use crate::{Asset, ChainError, Confirmed, Datum, Output, Script, Scripts, VaultState};
use mandate::authorization::Record;
use mandate::price::OutRef;
use mandate::text::{KeyHash, TxHash};

/// The most transactions that are followed.
const LONGEST: usize = 100_000;

impl Treasury {
    /// Whether and where the vault's transactions used an authorization. A vault's nonces only grow, so the search ends at the
    /// first state below it.
    pub(super) async fn used(&self, record: &Record) -> Result<Option<Found>, ChainError> {
        let fields = &record.fields;
        let token = super::token(fields.vault_hash, VAULT_TOKEN)?;
        let (mut at, mut output) = match self.vault(fields.vault_hash).await {
            Ok((_, utxo)) => (utxo.at, utxo.output),
            Err(ChainError::Missing(_)) => return self.received(record).await,
            Err(error) => return Err(error),
        };
        for _ in 0..LONGEST {
            let state = output.datum.as_inline().and_then(VaultState::from_cbor);
            if state.is_none_or(|state| state.last_nonce < fields.nonce.get()) {
                return Ok(None);
            }
            let confirmed = self.confirmed_tx(at.tx_hash).await?;
            let transaction = Transaction::read(&confirmed.tx)?;
            if outputs(&transaction)?.iter().any(|output| pays(output, record)) {
                return Ok(Some(Found { tx_hash: at.tx_hash, block_height: confirmed.height }));
            }
            match self.before(&transaction, &token).await? {
                Some(before) => (at, output) = before,
                None => return Ok(None),
            }
        }
        Err(ChainError::Unavailable("the vault's history is too long".to_owned()))
    }

    /// Where the vault is gone: an unspent output that pays the recipient and carries the digest.
    async fn received(&self, record: &Record) -> Result<Option<Found>, ChainError> {
        let utxos = self.chain.utxos(record.fields.recipient.as_str()).await?;
        let Some(utxo) = utxos.iter().find(|utxo| pays(&utxo.output, record)) else { return Ok(None) };
        let confirmed = self.confirmed_tx(utxo.at.tx_hash).await?;
        Ok(Some(Found { tx_hash: utxo.at.tx_hash, block_height: confirmed.height }))
    }

    /// A script whose seed nobody wrote down: the minting transaction spent it. `made` gives the scripts that a seed could make.
    pub(super) async fn recovered(
        &self,
        hash: KeyHash,
        token: &Asset,
        made: impl Fn(&Scripts, &OutRef, &[KeyHash]) -> Vec<Script>,
    ) -> Result<Script, ChainError> {
        let missing = || ChainError::Missing("the script".to_owned());
        let holder = self.chain.holder(self.at_script(hash).as_str(), token).await?;
        let mut at = holder.ok_or_else(missing)?.at;
        for _ in 0..LONGEST {
            let confirmed = self.confirmed_tx(at.tx_hash).await?;
            let transaction = Transaction::read(&confirmed.tx)?;
            if transaction.mints(&hash) {
                let references = self.policies_referred(&transaction).await?;
                let seeds = transaction.inputs().unwrap_or_default();
                let mut scripts = seeds.iter().flat_map(|seed| made(&self.scripts, seed, &references));
                return scripts.find(|script| script.hash() == hash).ok_or_else(missing);
            }
            at = self.before(&transaction, token).await?.ok_or_else(missing)?.0;
        }
        Err(missing())
    }

    /// The policies of the tokens in a transaction's reference inputs: a vault's mandate is one of them.
    async fn policies_referred(&self, transaction: &Transaction<'_>) -> Result<Vec<KeyHash>, ChainError> {
        let mut policies = Vec::new();
        for at in transaction.reference_inputs().unwrap_or_default() {
            if let Some(output) = self.output(at).await? {
                policies.extend(output.value.tokens.keys().map(|(policy, _)| *policy));
            }
        }
        Ok(policies)
    }

    /// The output with the token that a transaction spent.
    async fn before(
        &self,
        transaction: &Transaction<'_>,
        token: &Asset,
    ) -> Result<Option<(OutRef, Output)>, ChainError> {
        for at in transaction.inputs().unwrap_or_default() {
            if let Some(output) = self.output(at).await?
                && output.value.quantity(token) == 1
            {
                return Ok(Some((at, output)));
            }
        }
        Ok(None)
    }

    /// An output of a transaction on chain, spent or not.
    async fn output(&self, at: OutRef) -> Result<Option<Output>, ChainError> {
        let Some(confirmed) = self.chain.transaction(at.tx_hash).await? else { return Ok(None) };
        let transaction = Transaction::read(&confirmed.tx)?;
        let index = usize::try_from(at.output_index).unwrap_or(usize::MAX);
        Ok(transaction
            .outputs()
            .and_then(|outputs| outputs.get(index).and_then(|raw| Output::from_cbor(raw))))
    }

    async fn confirmed_tx(&self, hash: TxHash) -> Result<Confirmed, ChainError> {
        let found = self.chain.transaction(hash).await?;
        found.ok_or_else(|| ChainError::Unavailable("the chain moved while it was read".to_owned()))
    }
}

fn outputs(transaction: &Transaction<'_>) -> Result<Vec<Output>, ChainError> {
    let raw = transaction.outputs().ok_or_else(|| ChainError::malformed("a transaction on chain"))?;
    Ok(raw.into_iter().filter_map(Output::from_cbor).collect())
}

/// Whether an output is what an authorization pays.
fn pays(output: &Output, record: &Record) -> bool {
    let fields = &record.fields;
    let asset = (fields.asset_policy, fields.asset_name.clone());
    let digest = mandate::plutus::Data::bytes(record.digest_hex.as_bytes());
    output.address == fields.recipient
        && output.datum == Datum::inline(&digest)
        && output.value.quantity(&asset) >= fields.amount.get()
}
