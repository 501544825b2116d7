//! Runs what decisions asked of the world: each outbox row at least once, by one worker at a time.

use crate::StoreError;
use crate::journal::{Claimed, Journal};
use async_trait::async_trait;
use env::{Duration, Source, Timestamp};
use futures::StreamExt;
use std::sync::Arc;

/// Brings one effect about. It may run again for the same row: after a crash, a lost answer, a lost lease.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// `row.attempts` is 0 the first time, `row.id` the same for every attempt.
    async fn run(&self, row: &Claimed) -> Result<(), Failed>;
}

/// Why an effect was not brought about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// It may work later.
    #[error("{0}")]
    Later(String),
    /// Not before this instant.
    #[error("{why}")]
    NotBefore { due: Timestamp, why: String },
    /// It never will: the row is dropped.
    #[error("{0}")]
    Never(String),
}

/// A worker on a journal's outbox. Any number of them, in any number of processes, share the work.
#[derive(Clone)]
pub struct Outbox {
    journal: Arc<dyn Journal>,
    source: Arc<dyn Source>,
    handler: Arc<dyn Handler>,
}

/// How long a row is kept from others, and how long its handler may take.
const LEASE: Duration = Duration::from_secs(60);
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(45);

/// Rows claimed at once, all run at the same time.
const CLAIM: usize = 32;

/// How often the outbox is looked at unasked: rows come due by time and from other processes.
const LOOK: std::time::Duration = std::time::Duration::from_millis(200);

/// The first and the longest pause before another attempt.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(3600);

impl Outbox {
    pub fn new(journal: Arc<dyn Journal>, source: Arc<dyn Source>, handler: Arc<dyn Handler>) -> Self {
        Self { journal, source, handler }
    }

    /// Works until `shutdown` resolves; what was claimed then is finished first.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut heard = 0;
        loop {
            match self.drain().await {
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "the outbox could not be worked on"),
            }
            tokio::select! {
                () = &mut shutdown => return,
                count = self.journal.outgoing(heard) => match count {
                    Ok(count) => heard = count,
                    Err(_) => tokio::time::sleep(LOOK).await,
                },
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Runs everything that is due now. Gives how many rows were run, whether they succeeded or not.
    pub async fn drain(&self) -> Result<usize, StoreError> {
        let mut ran = 0;
        loop {
            let rows = self.journal.claim(self.source.now(), LEASE, CLAIM).await?;
            if rows.is_empty() {
                return Ok(ran);
            }
            ran += rows.len();
            let mut results = futures::stream::iter(rows).map(|row| self.one(row)).buffer_unordered(CLAIM);
            while let Some(result) = results.next().await {
                result?;
            }
        }
    }

    async fn one(&self, row: Claimed) -> Result<(), StoreError> {
        let run = tokio::time::timeout(PATIENCE, self.handler.run(&row));
        let result = run.await.unwrap_or_else(|_| Err(Failed::Later("it took too long".to_owned())));
        // A lost lease is no matter: whoever holds the row now will run it again.
        match result {
            Ok(()) => self.journal.complete(row.id, row.lease).await.map(drop),
            Err(Failed::Never(why)) => {
                tracing::warn!(stream = %row.stream, attempts = row.attempts, why, "an effect was given up");
                self.journal.complete(row.id, row.lease).await.map(drop)
            }
            Err(Failed::Later(why)) => {
                tracing::info!(stream = %row.stream, attempts = row.attempts, why, "an effect is tried later");
                let due = self.source.now() + pause(row.attempts);
                self.journal.postpone(row.id, row.lease, due).await.map(drop)
            }
            Err(Failed::NotBefore { due, why }) => {
                tracing::info!(stream = %row.stream, attempts = row.attempts, why, %due, "an effect waits");
                self.journal.postpone(row.id, row.lease, due).await.map(drop)
            }
        }
    }
}

/// Doubles with every attempt.
fn pause(attempts: u32) -> Duration {
    let pause = PAUSE.as_micros().saturating_mul(1_u64.checked_shl(attempts.min(20)).unwrap_or(u64::MAX));
    Duration::from_micros(pause.min(LONGEST.as_micros()))
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").finish_non_exhaustive()
    }
}
