//! Where a report is recorded besides the mandate's own log.

use async_trait::async_trait;
use canon::Digest;
use mandate::Millis;
use mandate::text::Text;

/// Where reports are recorded for others to find. What is recorded once, under a trigger, stays.
#[async_trait]
pub trait Registry: Send + Sync + std::fmt::Debug + 'static {
    /// Records a report, or finds it recorded, and answers once it is there to stay. Asked again for the same, it goes on
    /// where it was: nothing is recorded twice.
    async fn record(&self, entry: &Entry<'_>) -> Result<Option<Recorded>, RegistryError>;
}

/// What is recorded.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub trigger_id: &'a str,
    /// What the report is about: an action's hash, a quote's.
    pub subject: Digest,
    pub report: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The time of its block.
    pub at: Millis,
    pub tx: Text<1, 100>,
}

/// Why it is not known to be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the registry: {0}")]
pub struct RegistryError(pub String);

/// No other registry than the mandate's own log, which holds the report with its statements and is itself in the server's
/// log of all streams.
#[derive(Debug, Clone, Copy)]
pub struct Embedded;

#[async_trait]
impl Registry for Embedded {
    async fn record(&self, _: &Entry<'_>) -> Result<Option<Recorded>, RegistryError> {
        Ok(None)
    }
}

/// The contract of an EVM chain.
#[async_trait]
impl Registry for evm::Registry {
    async fn record(&self, entry: &Entry<'_>) -> Result<Option<Recorded>, RegistryError> {
        let entry = evm::Entry {
            trigger: *Digest::of(entry.trigger_id.as_bytes()).as_bytes(),
            subject: *entry.subject.as_bytes(),
            report: *entry.report.as_bytes(),
        };
        let wrong = |error: &dyn std::fmt::Display| RegistryError(error.to_string());
        let recorded = Self::record(self, &entry).await.map_err(|error| wrong(&error))?;
        let at = Millis::try_from(recorded.at.saturating_mul(1000)).map_err(|error| wrong(&error))?;
        let tx = recorded.tx.to_string().parse().map_err(|error| wrong(&error))?;
        Ok(Some(Recorded { at, tx }))
    }
}
