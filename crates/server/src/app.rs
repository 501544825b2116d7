//! The service layer: what HTTP, MCP, the console and the demo all call. Clones share one state.

use crate::doors::Doors;
use crate::evidence::Attesting;
use crate::guard::Names;
use crate::http::meta::Probe;
use crate::limits::Bucket;
use crate::mandates::{Mandates, Setup};
use crate::messages::Desk;
use crate::once::InFlight;
use crate::people::Spent;
use crate::session::Seals;
use crate::streams::Streams;
use crate::tell::Tell;
use crate::{Config, Error};
use canon::Digest;
use env::{Env, Source, Timestamp};
use keys::Signer;
use ledger::note::{KeyType, VerifierKey};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use store::log::Log;
use store::{Journal, Runtime};
use tokio_util::sync::CancellationToken;

/// What a server is made of.
pub struct Parts {
    pub config: Config,
    pub journal: Arc<dyn Journal>,
    pub source: Arc<dyn Source>,
    /// The server's key: signs heads, and keys what browsers carry.
    pub signer: Arc<dyn Signer>,
    /// The server's log; whoever runs the server feeds it. `None`: no log is kept.
    pub log: Option<Log>,
    /// The one way out, for built-in proxies.
    pub fetch: fetch::Client,
    /// Brings notifications out; [`crate::Silent`] for none.
    pub notifier: Arc<dyn Tell>,
    /// What mandates stand on; `None`: this server keeps none.
    pub mandates: Option<Setup>,
}

/// The server's services.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    config: Config,
    names: Names,
    runtime: Runtime,
    source: Arc<dyn Source>,
    signer: Arc<dyn Signer>,
    log: Option<Log>,
    log_key: Option<String>,
    fetch: fetch::Client,
    notifier: Arc<dyn Tell>,
    mandates: Option<Mandates>,
    desk: OnceLock<Desk>,
    seals: Seals,
    buckets: Buckets,
    in_flight: InFlight,
    streams: Streams,
    spent: Spent,
    doors: Doors,
    probe: Probe,
    stopping: CancellationToken,
    attesting: OnceLock<Attesting>,
}

/// The limits on how often.
#[derive(Debug)]
pub struct Buckets {
    pub address: Bucket<IpAddr>,
    pub credential: Bucket<Digest>,
    pub rooms_by_address: Bucket<IpAddr>,
    pub rooms_by_member: Bucket<String>,
    pub drafts: Bucket<Digest>,
    pub test_messages: Bucket<String>,
}

/// How often a minute a person may have a test message sent.
const TEST_MESSAGES: u32 = 6;

impl App {
    /// Refuses a signer that does not sign.
    pub fn new(parts: Parts) -> Result<Self, Error> {
        let Parts { config, journal, source, signer, log, fetch, notifier, mandates } = parts;
        let session_key = signer
            .sign(b"countersign.session-key.v1")
            .map(|signature| Digest::of_parts(&[b"countersign.session-key.v1\0", signature.as_bytes()]))
            .map_err(|error| Error::Bug(error.to_string()))?;
        let log_key = log.as_ref().map(vkey).transpose()?;
        let limits = &config.limits;
        let buckets = Buckets {
            address: Bucket::per_minute("rate_limited", limits.address_per_minute),
            credential: Bucket::per_minute("rate_limited", limits.credential_per_minute),
            rooms_by_address: Bucket::per_day("room_quota", limits.rooms_per_day),
            rooms_by_member: Bucket::per_day("room_quota", limits.rooms_per_day),
            drafts: Bucket::per_day("draft_quota", limits.drafts_per_day),
            test_messages: Bucket::per_minute("rate_limited", TEST_MESSAGES),
        };
        Ok(Self(Arc::new(Inner {
            names: Names::of(&config),
            runtime: Runtime::new(journal, Arc::clone(&source)),
            seals: Seals::new(*session_key.as_bytes(), &config),
            streams: Streams::new(limits),
            buckets,
            in_flight: InFlight::default(),
            spent: Spent::default(),
            doors: Doors::default(),
            probe: Probe::default(),
            stopping: CancellationToken::new(),
            attesting: OnceLock::new(),
            source,
            signer,
            log,
            log_key,
            fetch,
            notifier,
            mandates: mandates.map(Mandates::new),
            desk: OnceLock::new(),
            config,
        })))
    }

    /// Principals' links that no agent was given.
    pub fn doors(&self) -> &Doors {
        &self.0.doors
    }
    pub fn config(&self) -> &Config {
        &self.0.config
    }
    pub fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }
    pub fn journal(&self) -> &Arc<dyn Journal> {
        self.0.runtime.journal()
    }
    pub fn signer(&self) -> &Arc<dyn Signer> {
        &self.0.signer
    }
    pub fn seals(&self) -> &Seals {
        &self.0.seals
    }
    /// In whole milliseconds, as entries spell instants.
    pub fn now(&self) -> Timestamp {
        self.0.source.now().to_millis()
    }
    pub fn env(&self) -> Env {
        self.0.source.env()
    }
    pub fn log(&self) -> Option<&Log> {
        self.0.log.as_ref()
    }
    /// The log's public key, as verifiers pin it.
    pub fn log_key(&self) -> Option<&str> {
        self.0.log_key.as_deref()
    }
    /// Cancelled once the server stops: waits and streams end then.
    pub fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    pub(crate) fn attesting_cell(&self) -> &OnceLock<Attesting> {
        &self.0.attesting
    }
    pub(crate) fn names(&self) -> &Names {
        &self.0.names
    }
    pub(crate) fn buckets(&self) -> &Buckets {
        &self.0.buckets
    }
    pub(crate) fn in_flight(&self) -> &InFlight {
        &self.0.in_flight
    }
    pub(crate) fn streams(&self) -> &Streams {
        &self.0.streams
    }
    pub(crate) fn probe(&self) -> &Probe {
        &self.0.probe
    }
    pub(crate) fn spent(&self) -> &Spent {
        &self.0.spent
    }
    pub(crate) fn fetch(&self) -> &fetch::Client {
        &self.0.fetch
    }
    pub(crate) fn kept_mandates(&self) -> Option<&Mandates> {
        self.0.mandates.as_ref()
    }
    pub(crate) fn desk_cell(&self) -> &OnceLock<Desk> {
        &self.0.desk
    }
    pub(crate) fn notifier(&self) -> &dyn Tell {
        self.0.notifier.as_ref()
    }

    /// Forgets what limits no longer need. Called now and then.
    pub(crate) fn tidy(&self) {
        let buckets = &self.0.buckets;
        buckets.address.tidy();
        buckets.credential.tidy();
        buckets.rooms_by_address.tidy();
        buckets.rooms_by_member.tidy();
        buckets.drafts.tidy();
        buckets.test_messages.tidy();
    }
}

/// The log's key under its name, as verifiers pin it.
fn vkey(log: &Log) -> Result<String, Error> {
    match log.public() {
        keys::PublicKey::Ed25519(public) => {
            Ok(VerifierKey::new(log.origin().clone(), KeyType::Log, public).to_string())
        }
        keys::PublicKey::P256(_) => Err(Error::Bug("the log's key must be ed25519".to_owned())),
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("public_url", &self.0.config.public_url.as_str()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("config", &self.config).finish_non_exhaustive()
    }
}
