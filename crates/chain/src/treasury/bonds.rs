//! Bonds: read, given back, captured (seed, "Bond rules"). All of what an escrow output holds goes to the agent or to the sink,
//! never to whoever builds the transaction.

use super::{Built, Treasury};
use crate::build::Plan;
use crate::{ChainError, Output, Utxo, data};
use mandate::price::{BondDatum, Locked, OutRef, Signatories};
use mandate::text::{KeyHash, Units};
use mandate::{Address, Credential};

/// How long a refund by time, or a capture, is valid once it is built.
const VALID_MS: u64 = 3_600_000;

impl Treasury {
    /// The bond at exactly this output (W6). None where nothing is, where its datum is not a bond's, and where it holds another
    /// asset than bonds are paid in: the escrow would count that one.
    pub async fn bond(&self, at: OutRef) -> Result<Option<Locked>, ChainError> {
        let Some(utxo) = self.chain.utxo(at).await? else { return Ok(None) };
        let Some((datum, value)) = self.read(&utxo) else { return Ok(None) };
        let address = utxo.output.address.as_str().parse();
        let address = address.map_err(|_| ChainError::Bug("an address of any length".to_owned()))?;
        Ok(Some(Locked { address, at, datum, value: Units::new(value) }))
    }

    /// Gives a bond back. With an approver, their signature is still missing, and those of the first others where there is a
    /// quorum (D38); without one it is the time branch, complete, and refused while the bond is locked.
    pub async fn refund(&self, bond: OutRef, approver: Option<KeyHash>) -> Result<Built, ChainError> {
        let mut plan = Plan::default();
        let Some(key) = approver else {
            let (utxo, datum) = self.locked(bond).await?;
            let now = self.now()?;
            let from = self.slots.from(datum.locked_until_ms.plus(1));
            if self.slots.time(from) > now {
                let error = format!("the bond is locked until {}", datum.locked_until_ms.timestamp());
                return Err(ChainError::Rejected { invariant: Some("b2".to_owned()), error });
            }
            plan.from = Some(from);
            plan.until = Some(self.slots.at(now.plus(VALID_MS)));
            self.give_back(&mut plan, utxo, &datum);
            return self.wallet.complete(plan).await;
        };
        let (utxo, datum) = self.locked(bond).await?;
        plan.signers.extend(with_approver(&datum, key)?);
        self.give_back(&mut plan, utxo, &datum);
        self.wallet.complete(plan).await
    }

    /// Sends a bond to the sink. The approver's signature is still missing, as for a refund.
    pub async fn capture(&self, bond: OutRef, approver: KeyHash) -> Result<Built, ChainError> {
        let (utxo, datum) = self.locked(bond).await?;
        let mut plan = Plan::default();
        plan.signers.extend(with_approver(&datum, approver)?);
        plan.outputs.push(Output::new(self.sink.clone(), utxo.output.value.clone()));
        plan.scripts.push(self.scripts.bond().clone());
        plan.spend(utxo, data::CAPTURE);
        self.wallet.complete(plan).await
    }

    /// Adds to a plan that a bond is given back by those who sign already, or else by its approvers.
    pub(super) async fn refund_in(&self, plan: &mut Plan, bond: OutRef) -> Result<(), ChainError> {
        let (utxo, datum) = self.locked(bond).await?;
        let Signatories { keys, required } = &datum.approvers;
        if !datum.approvers.are_among(&plan.signers) {
            plan.signers.extend(keys.iter().take(usize::from(*required)));
        }
        self.give_back(plan, utxo, &datum);
        Ok(())
    }

    fn give_back(&self, plan: &mut Plan, utxo: Utxo, datum: &BondDatum) {
        let stake = datum.agent_stake.map(Credential::Key);
        let network = self.scripts.network().network();
        let agent = Address::new(network, Credential::Key(datum.agent_key_hash), stake);
        plan.outputs.push(Output::new(agent, utxo.output.value.clone()));
        plan.scripts.push(self.scripts.bond().clone());
        plan.spend(utxo, data::REFUND);
    }

    async fn locked(&self, at: OutRef) -> Result<(Utxo, BondDatum), ChainError> {
        let spent = || ChainError::Contention("the bond is spent".to_owned());
        let utxo = self.chain.utxo(at).await?.ok_or_else(spent)?;
        if utxo.output.address != self.escrow {
            return Err(ChainError::malformed("not an output of the escrow"));
        }
        let (datum, _) = self.read(&utxo).ok_or_else(|| ChainError::malformed("not a bond"))?;
        Ok((utxo, datum))
    }

    /// The datum, and how much of the bonds' asset there is. The escrow takes the only token for the asset, or lovelace.
    fn read(&self, utxo: &Utxo) -> Option<(BondDatum, u64)> {
        let datum = utxo.output.datum.as_inline().and_then(|datum| BondDatum::from_cbor(datum).ok())?;
        let value = &utxo.output.value;
        let mut tokens = value.tokens.iter();
        match (&self.bond_asset, tokens.next(), tokens.next()) {
            (None, None, None) => Some((datum, value.lovelace)),
            (Some(asset), Some((token, amount)), None) if token == asset => Some((datum, *amount)),
            _ => None,
        }
    }
}

/// Who signs, with this approver among them.
fn with_approver(datum: &BondDatum, key: KeyHash) -> Result<Vec<KeyHash>, ChainError> {
    let signers = datum.approvers.with(&key);
    signers.ok_or_else(|| ChainError::malformed("the bond names another approver"))
}
