//! The agent's money for bonds: which prices it pays, and how a lock is made once.

use crate::{Bonds, Error, Kept, MandateShown};
use chain::{Chain, ChainError, Treasury};
use env::Source;
use keys::Signer;
use mandate::issue::ChainName;
use mandate::text::TxHash;
use mandate::{Address, Millis, Price};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A wallet of one key, and the locks it has made.
#[derive(Debug)]
pub struct Purse {
    treasury: Treasury,
    bonds: Bonds,
    network: ChainName,
    /// The most that a bond may be, in lovelace.
    most: u64,
}

/// Where a bond is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// At the escrow.
    Locked,
    /// Given back, or taken.
    Spent,
    /// On no block that the chain knows.
    Absent,
}

/// The longest a bond is locked.
const LONGEST_MS: u64 = 24 * 3_600_000;
/// Locks that are made because something else was faster.
const TRIES: u8 = 3;

impl Purse {
    /// A wallet on a chain, which pays bonds of at most so much lovelace. Its locks are kept in the folder.
    pub fn new(
        chain: Arc<dyn Chain>,
        network: ChainName,
        wallet: Arc<dyn Signer>,
        source: Arc<dyn Source>,
        folder: &Path,
        most: u64,
    ) -> Result<Self, Error> {
        let treasury = Treasury::new(chain, network, wallet, source)?;
        Ok(Self { treasury, bonds: Bonds::open(folder)?, network, most })
    }

    pub const fn address(&self) -> &Address {
        self.treasury.wallet().address()
    }

    pub const fn bonds(&self) -> &Bonds {
        &self.bonds
    }

    /// Lovelace that it holds.
    pub async fn lovelace(&self) -> Result<u64, Error> {
        let utxos = self.treasury.chain().utxos(self.address().as_str()).await?;
        Ok(utxos.iter().fold(0, |sum, utxo| utxo.output.value.lovelace.saturating_add(sum)))
    }

    /// Whether this price is paid. Refused is one on another network, to another escrow than the chain's, above the most, in
    /// another asset, for another time than an hour or so, and one whose approver the mandate does not name: that key could
    /// take the bond.
    pub fn accepts(&self, price: &Price, shown: &MandateShown, now: Millis) -> Result<(), Error> {
        let until = price.locked_until_ms;
        let approver = |key: &mandate::mandate::Approver| key.cardano_key_hash == price.approver_key_hash;
        for (holds, code, why) in [
            (price.network == self.network, "price_network", "it is on another network"),
            (
                price.escrow_address.as_str() == self.treasury.escrow().as_str(),
                "price_escrow",
                "it is not to be locked at the escrow that this program knows",
            ),
            (price.asset.policy_id.is_none(), "price_asset", "it is not in lovelace"),
            (price.amount.get() <= self.most, "price_amount", "it is more than this agent pays"),
            (
                until > now && until.since(now) <= LONGEST_MS,
                "price_time",
                "its time is over, or over a day away",
            ),
            (
                shown.mandate.approvers.iter().any(approver),
                "price_approver",
                "the mandate names no such approver",
            ),
        ] {
            if !holds {
                return Err(Error::Price { code, why: why.to_owned() });
            }
        }
        Ok(())
    }

    /// The signed transaction that pays a price, kept; not submitted. The same one each time.
    pub async fn prepare(&self, price: &Price, shown: &MandateShown) -> Result<Kept, Error> {
        Ok(self.prepared(price, shown).await?.0)
    }

    /// Locks the bond of a price: made, kept, submitted. Asked again, the same transaction goes out again, which is once. One
    /// that was never out before and lost its inputs to another is made anew.
    pub async fn lock(&self, price: &Price, shown: &MandateShown) -> Result<Kept, Error> {
        let mut tries = TRIES;
        loop {
            let (kept, fresh) = self.prepared(price, shown).await?;
            tries -= 1;
            match self.submit(&kept).await {
                Err(Error::Chain(ChainError::Contention(_))) if fresh && tries > 0 => {
                    self.bonds.forget(&kept)?
                }
                done => return done.map(|()| kept),
            }
        }
    }

    /// And whether it was made just now, by us.
    async fn prepared(&self, price: &Price, shown: &MandateShown) -> Result<(Kept, bool), Error> {
        if let Some(kept) = self.bonds.of(price)? {
            return Ok((kept, false));
        }
        let made = self.made(price, shown).await?;
        let hash = made.tx_hash;
        let kept = self.bonds.keep(made)?;
        let fresh = kept.tx_hash == hash;
        Ok((kept, fresh))
    }

    /// Hands in a kept lock. One that has landed already is done.
    pub async fn submit(&self, kept: &Kept) -> Result<(), Error> {
        match self.treasury.submit(&kept.bytes()?).await {
            Ok(_) => Ok(()),
            Err(ChainError::Unknown(text)) => Err(Error::Unknown(text)),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the chain shows the bond.
    pub async fn landed(&self, kept: &Kept, pace: Duration, patience: Duration) -> Result<(), Error> {
        let there = async {
            while self.standing(kept).await? != Standing::Locked {
                tokio::time::sleep(pace).await;
            }
            Ok(())
        };
        let late = || Error::Unknown("the lock is in no block yet".to_owned());
        tokio::time::timeout(patience, there).await.map_err(|_| late())?
    }

    pub async fn standing(&self, kept: &Kept) -> Result<Standing, Error> {
        if self.treasury.chain().utxo(kept.at()).await?.is_some() {
            return Ok(Standing::Locked);
        }
        let found = self.treasury.chain().transaction(kept.tx_hash).await?;
        Ok(if found.is_some() { Standing::Spent } else { Standing::Absent })
    }

    /// Takes a bond back whose time is over. The wallet pays the fee.
    pub async fn recover(&self, kept: &Kept) -> Result<TxHash, Error> {
        let refund = self.treasury.refund(kept.at(), None).await?;
        match self.treasury.submit(&refund.tx).await {
            Err(ChainError::Unknown(text)) => Err(Error::Unknown(text)),
            done => Ok(done?),
        }
    }

    async fn made(&self, price: &Price, shown: &MandateShown) -> Result<Kept, Error> {
        let mandate_ref = shown.anchor.mandate_ref;
        // The escrow believes what the datum says: what it names must be the mandate that is anchored.
        let (anchor, _) = self.treasury.anchored(mandate_ref).await?;
        if anchor.mandate_hash != shown.mandate.hash() {
            let why = "the mandate that the server shows is not the anchored one".to_owned();
            return Err(Error::Price { code: "price_mandate", why });
        }
        let built = self.treasury.wallet().lock(price, mandate_ref).await?;
        Ok(Kept {
            mandate_id: shown.mandate.id.clone(),
            mandate_ref,
            price: price.clone(),
            tx: hex::encode(&built.tx),
            tx_hash: built.tx_hash,
        })
    }
}
