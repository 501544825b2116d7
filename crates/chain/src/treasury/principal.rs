//! What the principal does: anchor a mandate, open a vault, put money in and take it out, change the mandate, revoke it. The fee
//! wallet pays and signs; the principal's signature is missing in each, and who else's, each function says.

use super::{Built, Treasury};
use crate::build::Plan;
use crate::scripts::{ANCHOR_TOKEN, VAULT_TOKEN};
use crate::{Anchor, Asset, ChainError, Datum, Output, Script, Utxo, Value, VaultState, data};
use mandate::issue::Vault;
use mandate::text::KeyHash;
use mandate::{Address, Credential, Status};

/// A mandate's anchor being minted.
#[derive(Debug, Clone)]
pub struct Anchoring {
    pub built: Built,
    /// What everything else calls the mandate from now on.
    pub mandate_ref: KeyHash,
}

/// A vault being opened.
#[derive(Debug, Clone)]
pub struct Opening {
    pub built: Built,
    pub vault: Vault,
}

impl Treasury {
    /// Mints the anchor of a mandate. Only an active one is anchored.
    pub async fn anchor(&self, anchor: &Anchor) -> Result<Anchoring, ChainError> {
        let mut plan = Plan::default();
        let script = self.scripts.anchor(&self.seed(&mut plan).await?.at)?;
        let mandate_ref = script.hash();
        let token = super::token(mandate_ref, ANCHOR_TOKEN)?;
        plan.outputs.push(
            Output::new(self.at_script(mandate_ref), Value::default().with(token.clone(), 1))
                .with(Datum::inline(&anchor.to_data())),
        );
        plan.mint.push((token, 1));
        plan.scripts.push(script);
        plan.sign(anchor.principal);
        Ok(Anchoring { built: self.wallet.complete(plan).await?, mandate_ref })
    }

    /// Opens an empty vault for an anchored mandate. Its script is left beside it for every release to refer to; the principal can
    /// take that back too.
    pub async fn open_vault(&self, mandate_ref: KeyHash) -> Result<Opening, ChainError> {
        let (anchor, anchor_utxo) = self.anchored(mandate_ref).await?;
        let mut plan = Plan::default();
        let script = self.scripts.vault(mandate_ref, &self.seed(&mut plan).await?.at)?;
        let vault_hash = script.hash();
        let token = super::token(vault_hash, VAULT_TOKEN)?;
        let address = self.at_script(vault_hash);
        plan.outputs.push(
            Output::new(address.clone(), Value::default().with(token.clone(), 1))
                .with(Datum::inline(&VaultState::default().to_data())),
        );
        let shelf = Output { script: Some(script.clone()), ..Output::new(address, Value::default()) };
        plan.outputs.push(shelf);
        plan.mint.push((token, 1));
        plan.scripts.push(script);
        plan.references.push(anchor_utxo.at);
        plan.sign(anchor.principal);
        let built = self.wallet.complete(plan).await?;
        let (asset_policy, asset_name) = anchor.asset;
        let network = self.scripts.network();
        Ok(Opening { built, vault: Vault { asset_name, asset_policy, mandate_ref, network, vault_hash } })
    }

    /// Puts money into a vault, from an address whose key signs. The principal need not.
    pub async fn deposit(&self, vault: &Vault, from: &Address, amount: u64) -> Result<Built, ChainError> {
        let Credential::Key(payer) = *from.payment() else {
            return Err(ChainError::malformed("money comes from a key's address"));
        };
        let asset = (vault.asset_policy, vault.asset_name.clone());
        let mut plan = Plan::default();
        let (_, anchor_utxo) = self.anchored(vault.mandate_ref).await?;
        plan.references.push(anchor_utxo.at);
        self.vault_script(&mut plan, vault.vault_hash).await?;
        let (_, vault_utxo) = self.vault(vault.vault_hash).await?;
        let added = Value::default().with(asset.clone(), amount);
        let full = vault_utxo.output.value.plus(&added);
        let full = full.ok_or_else(|| ChainError::malformed("amounts beyond 2^64"))?;
        plan.outputs.push(Output { value: full, ..vault_utxo.output.clone() });
        let rest = self.pick(&mut plan, from, &asset, amount).await?;
        if rest != Value::default() {
            plan.outputs.push(Output::new(from.clone(), rest));
        }
        plan.spend(vault_utxo, data::DEPOSIT);
        plan.sign(payer);
        self.wallet.complete(plan).await
    }

    /// Takes money out of a vault.
    pub async fn withdraw(&self, vault: &Vault, amount: u64, to: &Address) -> Result<Built, ChainError> {
        let (anchor, anchor_utxo) = self.anchored(vault.mandate_ref).await?;
        let mut plan = Plan::default();
        plan.references.push(anchor_utxo.at);
        self.vault_script(&mut plan, vault.vault_hash).await?;
        let (_, vault_utxo) = self.vault(vault.vault_hash).await?;
        let asset = (vault.asset_policy, vault.asset_name.clone());
        let taken = Value::default().with(asset.clone(), amount);
        let rest = vault_utxo.output.value.minus(&taken).ok_or_else(|| ChainError::Insufficient {
            needed: amount,
            available: vault_utxo.output.value.quantity(&asset),
            of: "of the vault's asset".to_owned(),
        })?;
        plan.outputs.push(Output { value: rest, ..vault_utxo.output.clone() });
        plan.outputs.push(Output::new(to.clone(), taken));
        plan.spend(vault_utxo, data::WITHDRAW);
        plan.sign(anchor.principal);
        self.wallet.complete(plan).await
    }

    /// Replaces what an anchor says. Its version must grow. Where the principal changes, the new one signs as well.
    pub async fn update(&self, mandate_ref: KeyHash, next: &Anchor) -> Result<Built, ChainError> {
        let (anchor, utxo) = self.anchored(mandate_ref).await?;
        let mut plan = Plan::default();
        plan.sign(anchor.principal);
        plan.sign(next.principal);
        plan.outputs.push(utxo.output.clone().with(Datum::inline(&next.to_data())));
        plan.scripts.push(self.anchor_script(mandate_ref).await?);
        plan.spend(utxo, data::update(next));
        self.wallet.complete(plan).await
    }

    /// Revokes the mandate: nothing is released any more. The version grows by one.
    pub async fn revoke(&self, mandate_ref: KeyHash) -> Result<Built, ChainError> {
        let (anchor, utxo) = self.anchored(mandate_ref).await?;
        let version = anchor.version.checked_add(1);
        let version = version.ok_or_else(|| ChainError::malformed("versions end at 2^32"))?;
        let next = Anchor { status: Status::Revoked, version, ..anchor.clone() };
        let mut plan = Plan::default();
        plan.sign(anchor.principal);
        plan.outputs.push(utxo.output.clone().with(Datum::inline(&next.to_data())));
        plan.scripts.push(self.anchor_script(mandate_ref).await?);
        plan.spend(utxo, data::REVOKE);
        self.wallet.complete(plan).await
    }

    /// An output of the fee wallet, spent by the plan: it can be spent once, so the token it seeds is minted once.
    async fn seed(&self, plan: &mut Plan) -> Result<Utxo, ChainError> {
        let purse = self.wallet.purse().await?;
        let none = ChainError::Insufficient { needed: 1, available: 0, of: "outputs".to_owned() };
        let seed = purse.utxos.into_iter().next().ok_or(none)?;
        plan.inputs.push(crate::build::Spent { utxo: seed.clone(), redeemer: None });
        Ok(seed)
    }

    /// Spends enough of a token from an address, and gives what is too much.
    async fn pick(
        &self,
        plan: &mut Plan,
        from: &Address,
        asset: &Asset,
        amount: u64,
    ) -> Result<Value, ChainError> {
        let mut held = Value::default();
        let mut utxos = self.chain.utxos(from.as_str()).await?;
        utxos.retain(|utxo| utxo.output.value.quantity(asset) > 0);
        utxos.sort_by_key(|utxo| (u64::MAX - utxo.output.value.quantity(asset), utxo.at));
        for utxo in utxos {
            if held.quantity(asset) >= amount {
                break;
            }
            held =
                held.plus(&utxo.output.value).ok_or_else(|| ChainError::malformed("amounts beyond 2^64"))?;
            plan.inputs.push(crate::build::Spent { utxo, redeemer: None });
        }
        let available = held.quantity(asset);
        held.minus(&Value::default().with(asset.clone(), amount)).ok_or(ChainError::Insufficient {
            needed: amount,
            available,
            of: "of the vault's asset".to_owned(),
        })
    }

    async fn anchor_script(&self, mandate_ref: KeyHash) -> Result<Script, ChainError> {
        let token = super::token(mandate_ref, ANCHOR_TOKEN)?;
        self.recovered(mandate_ref, &token, |scripts, seed, _| scripts.anchor(seed).into_iter().collect())
            .await
    }
}
