//! Signatures over one transaction, of several people, each in their own time: kept one by one, put together once all are there.

use super::kept::Shelf;
use super::{ChainError, Refused, bug};
use crate::App;
use chain::transaction::Transaction;
use mandate::text::KeyHash;

/// What is there of a transaction's signatures.
pub(super) struct Witnessed {
    pub signed: Vec<KeyHash>,
    /// With all of them.
    pub whole: Option<Vec<u8>>,
}

impl App {
    /// Takes from a witness set the signatures of those who must sign. Refused where it has none of theirs (W9).
    pub(super) async fn witnessed(
        &self,
        tx: &[u8],
        tx_hash: &str,
        signers: &[KeyHash],
        set: &[u8],
    ) -> Result<Witnessed, Refused> {
        let rail = &self.mandates()?.setup.rail;
        let mut refused = ChainError::BadWitness("nobody else must sign".to_owned());
        let mut taken = false;
        for key in signers {
            match rail.witness(tx, set, *key) {
                Ok(_) => {
                    let name = format!("{tx_hash} {key}");
                    self.keep(Shelf::Witness, &name, &::hex::encode(set), None).await?;
                    taken = true;
                }
                Err(error) => refused = error,
            }
        }
        if !taken {
            return Err(refused.into());
        }
        let mut whole = tx.to_vec();
        let signed = self.signed_of(tx_hash, signers).await?;
        for key in &signed {
            let set = self.kept::<String>(Shelf::Witness, &format!("{tx_hash} {key}")).await?;
            let set = ::hex::decode(set.unwrap_or_default()).map_err(bug)?;
            whole = rail.witness(&whole, &set, *key)?;
        }
        Ok(Witnessed { whole: (signed.len() == signers.len()).then_some(whole), signed })
    }

    /// Who of them has signed.
    pub(super) async fn signed_of(
        &self,
        tx_hash: &str,
        signers: &[KeyHash],
    ) -> Result<Vec<KeyHash>, Refused> {
        let mut signed = Vec::new();
        for key in signers {
            if self.kept::<String>(Shelf::Witness, &format!("{tx_hash} {key}")).await?.is_some() {
                signed.push(*key);
            }
        }
        Ok(signed)
    }
}

/// Who must sign a transaction beside the fee wallet; `approver` where it names nobody.
pub(super) fn signers_of(tx: &[u8], approver: KeyHash) -> Vec<KeyHash> {
    let named = Transaction::read(tx).ok().and_then(|read| read.signers()).unwrap_or_default();
    if named.is_empty() { vec![approver] } else { named }
}
