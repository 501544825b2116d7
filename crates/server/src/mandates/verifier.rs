//! Whoever verifies the facts of an invoice (spec 1.6). What is found is judged by the engine; nothing here is believed.

use super::refused::Refused;
use async_trait::async_trait;
use canon::{Digest, Raw};
use env::{Source, Timestamp};
use http::StatusCode;
use keys::{PublicKey, Signature};
use mandate::command::Verification;
use mandate::{Evidence, HashedAction, Millis, Report};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

#[async_trait]
pub trait Verifier: Send + Sync + std::fmt::Debug + 'static {
    /// What is known of the action without asking anybody; [`Verification::NotTried`] for nothing.
    async fn known(&self, action: &HashedAction) -> Verification;

    /// Has the facts verified.
    async fn verify(&self, action: &HashedAction) -> Verification;

    /// Takes a report that a verifier brings by itself.
    fn take(&self, report: &[u8], signed: &SignedReport<'_>) -> Result<Digest, Refused>;
}

/// Whose report it is.
#[derive(Debug, Clone, Copy)]
pub struct SignedReport<'a> {
    pub key: PublicKey,
    /// Over [`report_bytes`], in hex.
    pub signature: &'a str,
}

/// What a verifier signs: `VERIFICATION_REPORT_V1` and the 32 bytes of the report's hash.
pub fn report_bytes(report_hash: &Digest) -> Vec<u8> {
    [b"VERIFICATION_REPORT_V1".as_slice(), report_hash.as_bytes()].concat()
}

/// No verifier: facts are never verified.
#[derive(Debug, Clone, Copy)]
pub struct Unverified;

#[async_trait]
impl Verifier for Unverified {
    async fn known(&self, _: &HashedAction) -> Verification {
        Verification::NotTried
    }

    async fn verify(&self, _: &HashedAction) -> Verification {
        Verification::Unavailable
    }

    fn take(&self, _: &[u8], _: &SignedReport<'_>) -> Result<Digest, Refused> {
        Err(Refused::missing("no_verifiers", "no verifier is registered here"))
    }
}

/// Reports that registered verifiers bring, each for ten minutes. Whoever needs one waits for it a while.
pub struct Reports {
    verifiers: Vec<PublicKey>,
    source: Arc<dyn Source>,
    patience: Duration,
    found: Mutex<HashMap<Digest, Reported>>,
    came: Notify,
}

struct Reported {
    evidence: Evidence,
    at: Timestamp,
}

/// How long a report is of use (spec 1.6).
const FRESH: env::Duration = env::Duration::from_millis(600_000);

impl Reports {
    /// `patience`: how long a check waits for a report.
    pub fn new(verifiers: Vec<PublicKey>, source: Arc<dyn Source>, patience: Duration) -> Self {
        Self { verifiers, source, patience, found: Mutex::default(), came: Notify::new() }
    }

    fn of(&self, action: &Digest) -> Option<Verification> {
        let now = self.source.now();
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let reported = found.get(action).filter(|reported| now.since(reported.at) <= FRESH)?;
        Some(Verification::Reported { evidence: reported.evidence.clone(), registry_tx: None })
    }
}

#[async_trait]
impl Verifier for Reports {
    async fn known(&self, action: &HashedAction) -> Verification {
        self.of(&action.hash()).unwrap_or(Verification::NotTried)
    }

    async fn verify(&self, action: &HashedAction) -> Verification {
        let hash = action.hash();
        let wait = async {
            loop {
                let came = self.came.notified();
                if let Some(found) = self.of(&hash) {
                    return found;
                }
                came.await;
            }
        };
        tokio::time::timeout(self.patience, wait).await.unwrap_or(Verification::Unavailable)
    }

    fn take(&self, report: &[u8], signed: &SignedReport<'_>) -> Result<Digest, Refused> {
        if !self.verifiers.contains(&signed.key) {
            return Err(Refused::nobody());
        }
        let read = Report::read(report).map_err(Refused::from)?;
        let bad = || Refused::new(StatusCode::UNAUTHORIZED, "bad_signature", "not this verifier's signature");
        let signature: mandate::text::Hex<64> = signed.signature.parse().map_err(|_| bad())?;
        let signature = Signature::from_bytes(*signature.as_bytes());
        signed.key.verify(&report_bytes(&read.hash()), &signature).map_err(|_| bad())?;
        let at = self.source.now();
        let block_time_ms = Millis::try_from(at)
            .map_err(|_| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", ""))?;
        let evidence = Evidence { block_time_ms, report: Raw::from_slice(report)?, report_hash: read.hash() };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|_, reported| at.since(reported.at) <= FRESH);
        found.insert(read.action_hash, Reported { evidence, at });
        drop(found);
        self.came.notify_waiters();
        Ok(read.hash())
    }
}

impl std::fmt::Debug for Reports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reports").field("verifiers", &self.verifiers.len()).finish_non_exhaustive()
    }
}
