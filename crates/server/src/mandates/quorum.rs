//! A report by quorum (spec 1.6): every verifier is asked at once, and what enough of them say in the same bytes is the
//! report. Fewer is no report: nothing is priced, nobody is asked.

use super::registry::{Entry, Recorded, Registry};
use super::verifier::{Appraised, Verifier};
use crate::Error;
use async_trait::async_trait;
use canon::Digest;
use env::Source;
use fetch::{Client, Destination, Request};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::{Method, StatusCode, header};
use mandate::basis::{Basis, BasisLimits, Quote};
use mandate::command::Verification;
use mandate::statement::{Agreed, Asked, Attested, Panel, evidence};
use mandate::text::{Id, Text};
use mandate::{Evidence, HashedAction, Millis};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A verifier, and how it is asked.
#[derive(Clone)]
pub struct Peer {
    pub name: Id,
    to: Destination,
    authorization: header::HeaderValue,
}

impl Peer {
    /// `url` is the prefix before `/v1/verify`; `secret` is sent as a bearer key. Refuses what is neither.
    pub fn new(name: Id, url: &str, secret: &str) -> Result<Self, Error> {
        let bad = |text: String| Error::Bug(format!("verifier {name}: {text}"));
        let to = Destination::parse(url.trim_end_matches('/')).map_err(|error| bad(error.to_string()))?;
        let value = header::HeaderValue::from_str(&format!("Bearer {secret}"));
        let mut authorization = value.map_err(|_| bad("its secret is no bearer key".to_owned()))?;
        authorization.set_sensitive(true);
        Ok(Self { name, to, authorization })
    }

    async fn ask(&self, client: &Client, path: &str, body: Vec<u8>) -> Result<Vec<u8>, String> {
        let url = format!("{}{path}", self.to.as_str().trim_end_matches('/'));
        let to = Destination::parse(&url).map_err(|error| error.to_string())?;
        let mut request = Request { body: body.into(), ..Request::new(Method::POST, to) };
        request.headers.insert(header::AUTHORIZATION, self.authorization.clone());
        request.headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        let answer = client.send(request).await.map_err(|error| error.to_string())?;
        match answer.status {
            StatusCode::OK => Ok(answer.body.to_vec()),
            status => Err(format!("status {status}")),
        }
    }
}

/// The verifiers of a server.
pub struct Quorum {
    panel: Panel,
    peers: Vec<Peer>,
    client: Client,
    source: Arc<dyn Source>,
    patience: Duration,
    registry: Arc<dyn Registry>,
    limits: BasisLimits,
    found: Mutex<HashMap<Digest, Found>>,
}

/// A report by its action.
#[derive(Debug, Clone)]
struct Found {
    evidence: Evidence,
    trigger_id: Text<1, 64>,
    standing: Standing,
}

#[derive(Debug, Clone)]
enum Standing {
    /// Agreed on, and not yet known to be recorded.
    Agreed,
    Recorded {
        tx: Option<Text<1, 100>>,
    },
}

#[derive(Serialize)]
struct Question<'a> {
    action: &'a HashedAction,
    trigger_id: &'a Text<1, 64>,
}

#[derive(Serialize)]
struct OfQuote<'a> {
    limits: BasisLimits,
    quote: &'a Quote,
    trigger_id: &'a Text<1, 64>,
}

/// How long a report is of use (spec 1.6).
const FRESH_MS: u64 = 600_000;
/// How long an agreed report may take to be recorded before the source is read anew.
const RECORDING_MS: u64 = 300_000;
/// How long the others are waited for once enough agree: what they say otherwise is to be seen.
const GRACE: Duration = Duration::from_millis(250);

impl Quorum {
    /// Each seat of the panel is asked through the peer of its name. `patience`: how long a check waits for a report.
    pub fn new(
        panel: Panel,
        peers: Vec<Peer>,
        client: Client,
        source: Arc<dyn Source>,
        patience: Duration,
        registry: Arc<dyn Registry>,
    ) -> Self {
        let limits = BasisLimits { max_age_seconds: 3600, tolerance_bps: 50 };
        Self { panel, peers, client, source, patience, registry, limits, found: Mutex::default() }
    }

    /// With other limits of what is on market.
    pub fn with_limits(self, limits: BasisLimits) -> Self {
        Self { limits, ..self }
    }

    fn trigger(&self) -> Option<Text<1, 64>> {
        let random: String = self.source.env().bytes16().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("trg-{random}").parse().ok()
    }

    /// Asks everyone the same, and hands each answer to `take`; until all have answered, or enough agree and the others have
    /// had their time.
    async fn answers(
        &self,
        path: &str,
        body: &[u8],
        take: impl Fn(&Id, &[u8]) -> Result<Attested, mandate::Refusal>,
    ) -> Vec<Attested> {
        let ask = |peer: &Peer| {
            let (peer, client, body) = (peer.clone(), self.client.clone(), body.to_vec());
            let path = path.to_owned();
            async move { (peer.ask(&client, &path, body).await, peer.name) }
        };
        let mut waiting: FuturesUnordered<_> = self.peers.iter().map(ask).collect();
        let mut until = Instant::now() + self.patience;
        let mut taken = Vec::new();
        while let Ok(Some((answer, name))) = tokio::time::timeout_at(until, waiting.next()).await {
            let read = answer.and_then(|answer| take(&name, &answer).map_err(|error| error.to_string()));
            match read {
                Ok(attested) => taken.push(attested),
                Err(error) => tracing::warn!(verifier = %name, error, "a verifier's answer does not count"),
            }
            if self.panel.camp(&taken).is_some() {
                until = until.min(Instant::now() + GRACE);
            }
        }
        taken
    }

    async fn agree(&self, action: &HashedAction, now: Millis) -> Option<(Agreed, Text<1, 64>)> {
        let trigger_id = self.trigger()?;
        let body = canon::to_vec(&Question { action, trigger_id: &trigger_id }).ok()?;
        let take = |name: &Id, answer: &[u8]| {
            let now = Millis::try_from(self.source.now()).unwrap_or(now);
            self.panel.take(name, answer, &Asked { action, trigger_id: &trigger_id, now })
        };
        let taken = self.answers("/v1/verify", &body, take).await;
        let agreed = self.panel.tally(&taken, action);
        if agreed.is_none() {
            tracing::warn!(action = %action.hash(), usable = taken.len(), "the verifiers do not agree, or are too few");
        }
        agreed.map(|agreed| (agreed, trigger_id))
    }

    fn of(&self, action: &Digest) -> Option<Found> {
        let now = Millis::try_from(self.source.now()).ok()?;
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.get(action).filter(|found| now.since(found.evidence.block_time_ms) <= FRESH_MS).cloned()
    }

    fn keep(&self, action: Digest, new: Found) {
        let now = Millis::try_from(self.source.now()).unwrap_or_default();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|_, found| now.since(found.evidence.block_time_ms) <= FRESH_MS);
        found.insert(action, new);
    }

    /// The report that is agreed on, now or a short while ago.
    async fn agreed(&self, action: &HashedAction) -> Result<Found, Verification> {
        let now = Millis::try_from(self.source.now()).map_err(|_| Verification::Unavailable)?;
        let young = |found: &Found| now.since(found.evidence.block_time_ms) <= RECORDING_MS;
        if let Some(found) = self.of(&action.hash()).filter(young) {
            return Ok(found);
        }
        match self.agree(action, now).await {
            Some((Agreed::On(evidence), trigger_id)) => {
                let found = Found { evidence, trigger_id, standing: Standing::Agreed };
                self.keep(action.hash(), found.clone());
                Ok(found)
            }
            Some((Agreed::Number { on_record, evidence }, _)) => {
                Err(Verification::NumberDiffers { on_record, evidence: Some(evidence) })
            }
            None => Err(Verification::Unavailable),
        }
    }
}

#[async_trait]
impl Verifier for Quorum {
    async fn known(&self, action: &HashedAction) -> Verification {
        match self.of(&action.hash()) {
            Some(Found { evidence, standing: Standing::Recorded { tx }, .. }) => {
                Verification::Reported { evidence, registry_tx: tx }
            }
            _ => Verification::NotTried,
        }
    }

    async fn verify(&self, action: &HashedAction) -> Verification {
        let mut found = match self.agreed(action).await {
            Ok(found) => found,
            Err(other) => return other,
        };
        let entry = Entry {
            trigger_id: found.trigger_id.as_str(),
            subject: action.hash(),
            report: found.evidence.report_hash,
        };
        match tokio::time::timeout(self.patience, self.registry.record(&entry)).await {
            Ok(Ok(recorded)) => {
                let tx = recorded.map(|Recorded { at, tx }| {
                    found.evidence.block_time_ms = at;
                    tx
                });
                found.standing = Standing::Recorded { tx: tx.clone() };
                self.keep(action.hash(), found.clone());
                Verification::Reported { evidence: found.evidence, registry_tx: tx }
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "a report is not recorded yet");
                Verification::Unavailable
            }
            Err(_) => Verification::Unavailable,
        }
    }

    async fn appraise(&self, quote: &Quote) -> Option<Appraised> {
        let trigger_id = self.trigger()?;
        let asked = OfQuote { limits: self.limits, quote, trigger_id: &trigger_id };
        let take = |name: &Id, answer: &[u8]| {
            let now = Millis::try_from(self.source.now()).unwrap_or_default();
            let (attested, basis) = self.panel.about(name, answer, now, Basis::read)?;
            let same = basis.quote == *quote && basis.limits == self.limits && basis.trigger_id == trigger_id;
            let read = attested.signed.statement.observed_at_ms;
            if same && basis.follows(read) && attested.signed.statement.invoice_number.is_none() {
                Ok(attested)
            } else {
                Err(mandate::Refusal::Statement("an answer to another question"))
            }
        };
        let taken = self.answers("/v1/quote", &canon::to_vec(&asked).ok()?, take).await;
        let (same, dissent) = self.panel.camp(&taken)?;
        let mut evidence = evidence(same, dissent)?;
        let subject = Digest::of(&canon::to_vec(quote).ok()?);
        let entry = Entry { trigger_id: trigger_id.as_str(), subject, report: evidence.report_hash };
        let recorded = tokio::time::timeout(self.patience, self.registry.record(&entry)).await.ok()?;
        let recorded =
            recorded.inspect_err(|error| tracing::warn!(%error, "a quote's report is not recorded"));
        let registry_tx = recorded.ok()?.map(|Recorded { at, tx }| {
            evidence.block_time_ms = at;
            tx
        });
        Some(Appraised { evidence, registry_tx })
    }
}

impl std::fmt::Debug for Quorum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quorum")
            .field("panel", &self.panel)
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer")
            .field("name", &self.name)
            .field("to", &self.to.origin())
            .finish_non_exhaustive()
    }
}
