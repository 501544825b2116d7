//! Paying out of a vault (spec 2.4).

use super::{Built, Treasury};
use crate::build::{Plan, label_1694};
use crate::scripts::VAULT_TOKEN;
use crate::{Anchor, ChainError, Datum, Output, Script, Utxo, Value, VaultState, data};
use canon::Digest;
use mandate::authorization::{Fields, Record};
use mandate::issue::Vault;
use mandate::log::LogHead;
use mandate::price::{OutRef, Signatories};
use mandate::text::KeyHash;
use mandate::{Credential, Millis};

/// How far before now a transaction is valid, so that a node whose clock is behind takes it.
const BEFORE_MS: u64 = 60_000;
/// How long a transaction is valid that needs nobody else.
const SOON_MS: u64 = 300_000;
/// The longest that a vault accepts.
const LONGEST_MS: u64 = 600_000;
/// With less than that left, nothing is built any more.
const TOO_LATE_MS: u64 = 60_000;

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
    /// Given back in the same transaction, under the same signatures (W7).
    pub bond: Option<OutRef>,
    /// Which approvers will sign, where one must; empty: the first of the anchor's, as many as must.
    pub signers: &'a [KeyHash],
}

impl Treasury {
    /// The transaction that an authorization authorizes: the vault pays the exact amount to the exact recipient, and says so under
    /// label 1694. It is signed by the fee wallet; where the authorization requires a principal, the approvers' signatures
    /// are still missing, and the transaction is valid as long as it can be.
    ///
    /// Refuses a recipient that is a script (it could not spend the output), signers who are not enough (D38), `EXPIRED` with less
    /// than a minute left, and [`ChainError::Contention`] where the bond is spent.
    pub async fn release(&self, release: &Release<'_>) -> Result<Built, ChainError> {
        let plan = self.plan_release(release).await?;
        self.wallet.complete(plan).await
    }

    /// What [`release`](Self::release) builds, before it is balanced.
    pub async fn plan_release(&self, release: &Release<'_>) -> Result<Plan, ChainError> {
        let Release { vault, record, action_hash, mandate, log_head, bond, signers } = *release;
        let fields = &record.fields;
        if fields.action_hash != action_hash {
            return Err(ChainError::malformed("the authorization is for another action"));
        }
        if matches!(fields.recipient.payment(), Credential::Script(_)) {
            return Err(ChainError::malformed("a script cannot spend what a release pays"));
        }
        if !mandate.is_ascii() {
            return Err(ChainError::malformed("a mandate's label is ASCII"));
        }
        let (anchor, anchor_utxo) = self.anchored(vault.mandate_ref).await?;
        let (state, vault_utxo) = self.vault(vault.vault_hash).await?;
        let (from, until) = self.window(&state, &anchor, fields)?;
        let mut plan = Plan {
            references: vec![anchor_utxo.at],
            referred: anchor_utxo.output.script.as_ref().map_or(0, size),
            from: Some(from),
            until: Some(until),
            metadata: Some(label_1694(
                &record.digest_hex.to_string(),
                &action_hash.to_string(),
                mandate,
                log_head.seq,
                &log_head.hash.to_string(),
            )),
            ..Plan::default()
        };
        let next = state.after(fields.nonce.get(), fields.amount.get(), self.slots.time(from));
        plan.outputs = paid(&vault_utxo, &next, record)?;
        self.vault_script(&mut plan, vault.vault_hash).await?;
        plan.spend(vault_utxo, data::release(record));
        if fields.requires_principal {
            plan.signers.extend(signing(&anchor.approvers, signers)?);
        }
        if let Some(at) = bond {
            self.refund_in(&mut plan, at).await?;
        }
        Ok(plan)
    }

    /// The slots in which the release is valid. The day it counts for is that of the first: just after midnight that is today.
    fn window(&self, state: &VaultState, anchor: &Anchor, fields: &Fields) -> Result<(u64, u64), ChainError> {
        let now = self.now()?;
        let start_of = |day: u64| Millis::default().plus(day.saturating_mul(Millis::DAY));
        let before = Millis::default().plus(now.get().saturating_sub(BEFORE_MS));
        let from = self.slots.from(before.max(start_of(state.day_index)).max(start_of(now.day())));
        let longest = self.slots.time(from).plus(LONGEST_MS);
        let wanted = if fields.requires_principal { longest } else { now.plus(SOON_MS).min(longest) };
        let end = wanted.min(fields.valid_until).min(anchor.valid_until);
        if end < now.plus(TOO_LATE_MS) {
            return Err(ChainError::expired("less than a minute is left of the authorization"));
        }
        Ok((from, self.slots.at(end)))
    }

    /// Refers to the vault's script where an output at the vault holds it, and brings it along otherwise.
    pub(super) async fn vault_script(&self, plan: &mut Plan, hash: KeyHash) -> Result<(), ChainError> {
        let utxos = self.chain.utxos(self.at_script(hash).as_str()).await?;
        let holds = |utxo: &&Utxo| utxo.output.script.as_ref().is_some_and(|script| script.hash() == hash);
        if let Some(utxo) = utxos.iter().find(holds) {
            plan.references.push(utxo.at);
            plan.referred = plan.referred.saturating_add(utxo.output.script.as_ref().map_or(0, size));
            return Ok(());
        }
        let token = super::token(hash, VAULT_TOKEN)?;
        let script = self.recovered(hash, &token, |scripts, seed, references| {
            references.iter().filter_map(|reference| scripts.vault(*reference, seed).ok()).collect()
        });
        plan.scripts.push(script.await?);
        Ok(())
    }
}

/// Who signs: these, if they are enough of the approvers.
fn signing(approvers: &Signatories, signers: &[KeyHash]) -> Result<Vec<KeyHash>, ChainError> {
    if signers.is_empty() {
        return Ok(approvers.keys.iter().take(usize::from(approvers.required)).copied().collect());
    }
    if !approvers.are_among(signers) {
        return Err(ChainError::malformed("these are not enough of the anchor's approvers"));
    }
    Ok(signers.iter().filter(|key| approvers.keys.contains(key)).copied().collect())
}

/// The vault with so much less, and the recipient with so much, marked with the digest.
fn paid(vault: &Utxo, next: &VaultState, record: &Record) -> Result<Vec<Output>, ChainError> {
    let fields = &record.fields;
    let amount = Value::default().with((fields.asset_policy, fields.asset_name.clone()), fields.amount.get());
    let rest = vault.output.value.minus(&amount);
    let rest = rest.ok_or_else(|| ChainError::Insufficient {
        needed: fields.amount.get(),
        available: vault.output.value.quantity(&(fields.asset_policy, fields.asset_name.clone())),
        of: "of the vault's asset".to_owned(),
    })?;
    let digest = mandate::plutus::Data::bytes(record.digest_hex.as_bytes());
    Ok(vec![
        Output::new(vault.output.address.clone(), rest).with(Datum::inline(&next.to_data())),
        Output::new(fields.recipient.clone(), amount).with(Datum::inline(&digest)),
    ])
}

pub(super) fn size(script: &Script) -> u64 {
    u64::try_from(script.as_bytes().len()).unwrap_or(u64::MAX)
}
