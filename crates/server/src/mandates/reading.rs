//! What the chain says of a mandate: read once for many checks, read anew for every approval, and what follows where it says
//! less than it said before.

use super::{ChainError, Known, Refused};
use crate::App;
use env::Timestamp;
use ledger::StreamId;
use mandate::Command;
use mandate::command::{BondSpent, Execution, Observed};
use mandate::state::{AuthorizationStatus, GRACE_MS};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The last reading of each mandate.
#[derive(Debug, Default)]
pub(crate) struct Readings(Mutex<HashMap<StreamId, (Observed, Timestamp)>>);

impl Readings {
    fn of(&self, known: &Known) -> Option<(Observed, Timestamp)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&known.stream).cloned()
    }

    fn keep(&self, known: &Known, observed: Observed, at: Timestamp) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(known.stream.clone(), (observed, at));
    }

    pub fn forget(&self, stream: &StreamId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(stream);
    }
}

impl App {
    /// A reading that is recent enough for a check: what this server has authorized since counts besides.
    pub(crate) async fn reading(&self, known: &Known) -> Result<Observed, Refused> {
        let mandates = self.mandates()?;
        match mandates.readings.of(known) {
            Some((observed, at)) if self.now().since(at) < mandates.setup.reading => Ok(observed),
            _ => self.fresh_reading(known).await,
        }
    }

    /// Reads vault and anchor now, and sees to it where blocks are gone.
    pub(crate) async fn fresh_reading(&self, known: &Known) -> Result<Observed, Refused> {
        let mandates = self.mandates()?;
        let at = self.now();
        let observed = mandates.setup.rail.observe(&known.anchored.vault).await.map_err(unreadable)?;
        mandates.readings.keep(known, observed.clone(), at);
        if known.state.is_behind(observed.last_nonce.get()) {
            self.rolled_back(known, &observed).await?;
        }
        Ok(observed)
    }

    /// The chain shows less than it did: what was in blocks that are gone is unknown again, and is asked for again.
    async fn rolled_back(&self, known: &Known, observed: &Observed) -> Result<(), Refused> {
        let gone = |status| matches!(status, AuthorizationStatus::Settled | AuthorizationStatus::Submitted);
        let suspects: Vec<_> = known
            .state
            .authorizations()
            .into_iter()
            .filter(|held| held.nonce > observed.last_nonce.get() && gone(held.status))
            .filter_map(|held| Some((held.record.digest_hex, held.tx_hash?)))
            .collect();
        for (digest, tx) in suspects {
            if self.mandates()?.setup.rail.confirmed(tx).await?.is_some() {
                continue;
            }
            tracing::warn!(stream = %known.stream, %digest, "a release is not in the chain any more");
            let command = Command::Execution { digest, what: Execution::Unknown };
            self.authority(&known.stream, &command).await?;
            self.ask_rail(&known.stream, format!(r#"{{"digest":"{digest}","kind":"release"}}"#)).await?;
        }
        Ok(())
    }

    /// Looks at every mandate, whether or not anybody asks: blocks that are gone are found here, and authorizations that have
    /// ended unnoticed.
    pub async fn sweep_mandates(&self) -> Result<(), Refused> {
        let mut failed = Ok(());
        for known in self.all_mandates().await? {
            // One that cannot be read keeps no other from being looked at.
            if let Err(refused) = self.sweep(&known).await {
                failed = Err(refused);
            }
        }
        failed
    }

    /// A bond that was spent in a block that is gone is locked again, and asked for again.
    async fn sweep_bonds(&self, known: &Known) -> Result<(), Refused> {
        for approval in known.state.spent(self.millis()?) {
            let outcome = approval.bond.as_ref().and_then(|bond| bond.outcome_tx);
            let Some(tx) = outcome else { continue };
            if self.mandates()?.setup.rail.confirmed(tx).await?.is_none() {
                let id = approval.id();
                tracing::warn!(stream = %known.stream, %id, "what spent a bond is not in the chain any more");
                let command = Command::BondSpent { approval_id: id, how: BondSpent::Undone };
                self.authority(&known.stream, &command).await?;
            }
        }
        Ok(())
    }

    async fn sweep(&self, known: &Known) -> Result<(), Refused> {
        let observed = self.fresh_reading(known).await?;
        let now = self.millis()?;
        let overdue =
            known.state.unsettled().filter(|held| now > held.record.fields.valid_until.plus(GRACE_MS));
        let overdue: Vec<_> = overdue.map(|held| held.record.digest_hex).collect();
        for digest in overdue {
            self.reconcile(&known.stream, &digest).await?;
        }
        self.sweep_bonds(known).await?;
        self.sweep_acts(known, &observed).await
    }
}

/// A vault or an anchor that is not there, or is none, is as bad as a chain that does not answer (spec 1.7 step 3).
pub(super) fn unreadable(error: ChainError) -> Refused {
    match error {
        ChainError::Missing(_) | ChainError::Malformed(_) | ChainError::Bug(_) => {
            ChainError::Unavailable(error.to_string()).into()
        }
        other => other.into(),
    }
}
