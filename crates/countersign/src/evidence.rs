//! The signer of this house: its settings, its keys on disk, who may call it.

use crate::commands::Failure;
use crate::config::Config;
use canon::Digest;
use env::{Duration, Source};
use keys::{Algorithm, PublicKey, Ring, Signer, SoftwareSigner};
use ledger::note::{KeyName, KeyType, VerifierKey};
use pcm::signer::{Identity, Policy};
use serde::Deserialize;
use server::evidence::Attesting;
use signer::{Service, Setup, socket};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use store::{Journal, Log};

/// The signer's settings; with `[evidence]` there, `serve` runs one.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Evidence {
    /// Its Unix socket; without it `signer.sock` in the data folder.
    pub socket: Option<PathBuf>,
    /// Every user of this machine may connect. Those who are no identity are refused all the same.
    pub shared: bool,
    /// The log's name in its checkpoints; without it the host of `server.public_url`, and `/evidence/log`.
    pub origin: Option<String>,
    /// The tenant of runs, unless their identity names another.
    pub tenant: String,
    /// The organization whose approvers are asked; without it the first.
    pub organization: Option<String>,
    /// How long an approval may be answered and used.
    pub approval_seconds: u64,
    /// Who may call. Whoever runs this process may, as a gateway and an operator, unless it is listed otherwise.
    #[serde(rename = "identity")]
    pub identities: Vec<Caller>,
    pub policy: Policy,
}

/// Somebody who may call the signer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// `uid:1001` for a user of this machine, `token:name` for whoever has the token.
    pub name: String,
    /// A file that holds the bearer token of a `token:` identity; read at start, mode 0600.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    #[serde(default)]
    pub tenant: Option<String>,
    /// It calls for others, whom it has authenticated; what it runs is T2.
    #[serde(default)]
    pub gateway: bool,
    #[serde(default)]
    pub observer: bool,
    #[serde(default)]
    pub operator: bool,
    /// The person it belongs to, as `organization/member`: they never answer what it asks.
    #[serde(default)]
    pub person: Option<String>,
    /// Calls a second that change something, twice as many at once; 0 for as many as come. Without it 200, and no limit for a gateway.
    #[serde(default)]
    pub events_per_second: Option<u32>,
}

/// Of an identity that is no gateway (spec 3.16).
const RATE: u32 = 200;

impl Default for Evidence {
    fn default() -> Self {
        Self {
            socket: None,
            shared: false,
            origin: None,
            tenant: "local".to_owned(),
            organization: None,
            approval_seconds: 3600,
            identities: Vec::new(),
            policy: Policy::default(),
        }
    }
}

impl Evidence {
    /// Refuses what has the right type and cannot be, by its key.
    pub fn check(&self, config: &Config) -> Result<(), (String, String)> {
        let bad = |key: &str, why: &str| Err((format!("evidence.{key}"), why.to_owned()));
        if pcm::signer::rpc::Id::new(self.tenant.clone()).is_none() {
            return bad("tenant", "not 1 to 128 of [A-Za-z0-9._:-]");
        }
        if !(60..=30 * 86_400).contains(&self.approval_seconds) {
            return bad("approval_seconds", "expected 60 to 2592000");
        }
        if self.origin.as_ref().is_some_and(|origin| origin.parse::<KeyName>().is_err()) {
            return bad("origin", "not the name of a log");
        }
        if let Some(org) = &self.organization
            && !config.server.organizations.contains(org)
        {
            return bad("organization", "not one of server.organizations");
        }
        for (at, caller) in self.identities.iter().enumerate() {
            let key = format!("identity.{at}");
            match caller.name.split_once(':') {
                Some(("uid", uid)) if uid.parse::<u32>().is_ok() && caller.token_file.is_none() => {}
                Some(("token", name)) if !name.is_empty() && caller.token_file.is_some() => {}
                Some(("token", _)) => return bad(&key, "a token: identity needs its token_file"),
                _ => return bad(&key, "expected uid:<number>, or token:<name> with a token_file"),
            }
            if self.identities.iter().take(at).any(|other| other.name == caller.name) {
                return bad(&key, "named twice");
            }
        }
        self.policy.check().map_err(|error| ("evidence.policy".to_owned(), error.to_string()))
    }

    fn identity(&self, caller: &Caller) -> Identity {
        Identity {
            name: caller.name.clone(),
            tenant: caller.tenant.clone().unwrap_or_else(|| self.tenant.clone()),
            gateway: caller.gateway,
            observer: caller.observer,
            operator: caller.operator,
            person: caller.person.clone(),
            rate: match caller.events_per_second {
                Some(0) => None,
                None if caller.gateway => None,
                rate => Some(rate.unwrap_or(RATE)),
            },
        }
    }

    /// By user id. Whoever owns the data folder runs this.
    fn peers(&self, own: u32) -> socket::Peers {
        let mut known: HashMap<String, Identity> = HashMap::new();
        let us = Caller {
            name: format!("uid:{own}"),
            token_file: None,
            tenant: None,
            gateway: true,
            observer: true,
            operator: true,
            person: None,
            events_per_second: None,
        };
        for caller in std::iter::once(&us).chain(&self.identities) {
            known.insert(caller.name.clone(), self.identity(caller));
        }
        Arc::new(move |uid| known.get(&format!("uid:{uid}")).cloned())
    }

    fn tokens(&self) -> Result<HashMap<Digest, Identity>, Failure> {
        let mut tokens = HashMap::new();
        for caller in &self.identities {
            let Some(file) = &caller.token_file else { continue };
            let failed = |why: &dyn std::fmt::Display| {
                Failure::unusable(format!("{}: {}: {why}", caller.name, file.display()))
            };
            let about = std::fs::metadata(file).map_err(|error| failed(&error))?;
            if about.mode() & 0o077 != 0 {
                return Err(failed(&"it is open to others: chmod 600"));
            }
            let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
            let token = text.trim();
            if token.len() < 32 {
                return Err(failed(&"a token has at least 32 characters"));
            }
            if tokens.insert(Digest::of(token.as_bytes()), self.identity(caller)).is_some() {
                return Err(failed(&"another identity has this token"));
            }
        }
        Ok(tokens)
    }
}

/// The signer, its socket, and who may use it.
pub struct Opened {
    pub attesting: Attesting,
    pub listener: tokio::net::UnixListener,
    pub peers: socket::Peers,
    pub path: PathBuf,
}

/// Opens the signer of the house, made where there is none. `None`: the configuration has none.
pub async fn open(config: &Config, journal: &Arc<dyn Journal>) -> Result<Option<Opened>, Failure> {
    let Some(own) = &config.evidence else { return Ok(None) };
    let service = service(config, own, journal, false).await?;
    let path = socket_path(config);
    let uid = std::fs::metadata(&config.data).map_err(Failure::unusable_by)?.uid();
    let listener = socket::bind(&path, own.shared)
        .map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
    let attesting = Attesting { service, tokens: own.tokens()? };
    Ok(Some(Opened { attesting, listener, peers: own.peers(uid), path }))
}

/// The signer alone, without its socket.
pub async fn service(
    config: &Config,
    own: &Evidence,
    journal: &Arc<dyn Journal>,
    reads_only: bool,
) -> Result<Service, Failure> {
    let source: Arc<dyn Source> = Arc::new(env::System);
    let ring = Ring::open_or_create(&ring_folder(config), Algorithm::Ed25519, &mut source.env())
        .map_err(Failure::unusable_by)?;
    let log_key =
        SoftwareSigner::open_or_create(&log_key_file(config), Algorithm::Ed25519, &mut source.env())
            .map_err(Failure::unusable_by)?;
    let secret = secret(&log_key)?;
    let origin = origin(config, own).parse().map_err(Failure::unusable_by)?;
    let log = Log::new(Arc::clone(journal), Arc::clone(&source), Arc::new(log_key), origin)
        .of_stream(signer::stream())
        .with_witnesses(crate::notifier::witnesses(config)?);
    let org = own.organization.clone().or_else(|| config.server.organizations.first().cloned());
    Service::open(Setup {
        journal: Arc::clone(journal),
        source,
        key: Arc::new(ring.into_signer()),
        log,
        policy: own.policy.clone(),
        secret,
        org: org.unwrap_or_default(),
        asks: config.server.link("/asks/evidence/"),
        approval_lasts: Duration::from_secs(own.approval_seconds),
        reads_only,
    })
    .await
    .map_err(Failure::unusable_by)
}

/// Ed25519 signatures are a function of key and message, so this is the same at every start, and only who holds the key knows it.
/// The key never changes; no checkpoint is this message.
fn secret(log_key: &SoftwareSigner) -> Result<[u8; 32], Failure> {
    let signature = log_key.sign(b"countersign.evidence.secret.v1").map_err(Failure::unusable_by)?;
    Ok(*Digest::of_parts(&[b"countersign.evidence.secret.v1\0", signature.as_bytes()]).as_bytes())
}

/// Whatever `[evidence]` says of it, or what it would be.
pub fn socket_path(config: &Config) -> PathBuf {
    let named = config.evidence.as_ref().and_then(|own| own.socket.clone());
    named.unwrap_or_else(|| config.data.join("signer.sock"))
}

/// The signer's keys: those of its records in a ring, that of its log, which is never rotated.
pub fn folder(config: &Config) -> PathBuf {
    config.data.join("evidence")
}
pub fn ring_folder(config: &Config) -> PathBuf {
    folder(config).join("keys")
}
pub fn log_key_file(config: &Config) -> PathBuf {
    folder(config).join("log.jwk")
}

fn origin(config: &Config, own: &Evidence) -> String {
    own.origin.clone().unwrap_or_else(|| {
        let url = &config.server.public_url;
        let host = url.host_str().unwrap_or("localhost");
        url.port()
            .map_or_else(|| format!("{host}/evidence/log"), |port| format!("{host}:{port}/evidence/log"))
    })
}

/// The key of the evidence log, as verifiers pin it.
pub fn log_key(config: &Config, own: &Evidence) -> Result<VerifierKey, Failure> {
    let signer = SoftwareSigner::open(&log_key_file(config)).map_err(Failure::unusable_by)?;
    let PublicKey::Ed25519(public) = signer.public() else {
        return Err(Failure::unusable("the evidence log's key is not Ed25519"));
    };
    let name = origin(config, own).parse().map_err(Failure::unusable_by)?;
    Ok(VerifierKey::new(name, KeyType::Log, public))
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("path", &self.path).finish_non_exhaustive()
    }
}
