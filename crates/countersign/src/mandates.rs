//! The section `[mandates]`: what a server that keeps mandates stands on.

use crate::commands::Failure;
use crate::config::Config;
use chain::{Chain, Treasury};
use env::Source;
use keys::{Algorithm, PublicKey, SecretHash, Signer, SoftwareSigner};
use mandate::Vault;
use mandate::issue::ChainName;
use mandate::price::{BondAsset, DEFAULT_BOND, DEFAULT_HELD_MS, Tariff};
use mandate::text::{Ed25519Key, Id, KeyHash, Text};
use serde::Deserialize;
use server::mandates::{CallerKey, Kind, Reports, Seated, Setup, Unverified, Verifier};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// `[mandates]`. Relative paths are in the data folder.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mandates {
    /// `file:PATH` or `memory:`, the ledger of this process; `https://…`, a server that speaks Blockfrost's interface;
    /// `wss://…#SLOT.HASH`, a node behind Ogmios.
    #[serde(default = "embedded")]
    pub chain: String,
    /// Holds the project id that such a server asks for.
    #[serde(default)]
    pub chain_project_file: Option<PathBuf>,
    #[serde(default = "preprod")]
    pub network: ChainName,
    /// The engine's key and the fee wallet's; made at the first start.
    #[serde(default = "engine_key")]
    pub engine_key: PathBuf,
    #[serde(default = "fee_key")]
    pub fee_key: PathBuf,
    #[serde(default = "bond")]
    pub bond_lovelace: u64,
    #[serde(default = "hour")]
    pub bond_seconds: u64,
    /// How long one reading of vault and anchor answers checks.
    #[serde(default = "two")]
    pub reading_seconds: u64,
    /// Which of `server.proxies` reads `request_text`.
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub callers: Vec<Caller>,
    #[serde(default)]
    pub approvers: Vec<Seat>,
    /// Keys of the verifiers whose reports are taken.
    #[serde(default)]
    pub verifiers: Vec<Ed25519Key>,
    /// How long a check waits for a report.
    #[serde(default = "ten")]
    pub verify_seconds: u64,
    #[serde(default)]
    pub anchored: Vec<Anchored>,
}

/// A bearer key. The file holds the secret and nothing else.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    pub name: String,
    pub kind: CallerKind,
    pub key_file: PathBuf,
    #[serde(default)]
    pub mandates: Vec<Id>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallerKind {
    Agent,
    Masumi,
}

/// A member who reads for an approver's key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seat {
    pub org: String,
    pub member: String,
    pub key_hash: KeyHash,
}

/// A mandate that is anchored on chain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchored {
    pub file: PathBuf,
    pub vault: Vault,
    /// The name by which actions must name the vault.
    #[serde(default)]
    pub vault_name: Option<Id>,
}

/// What the server's mandates stand on; `None` without the section.
pub fn setup(config: &Config, source: &Arc<dyn Source>) -> Result<Option<Setup>, Failure> {
    let Some(own) = &config.mandates else { return Ok(None) };
    let key = |path: &Path| {
        SoftwareSigner::open_or_create(&config.data.join(path), Algorithm::Ed25519, &mut source.env())
            .map(Arc::new)
            .map_err(Failure::unusable_by)
    };
    let chain = chain_of(own, config, source)?;
    let treasury = Treasury::new(chain, own.network, key(&own.fee_key)?, Arc::clone(source));
    let treasury = treasury.map_err(Failure::unusable_by)?;
    let amount = own.bond_lovelace.try_into().map_err(Failure::unusable_by)?;
    let asset = BondAsset {
        asset_name: "".parse().map_err(Failure::unusable_by)?,
        policy_id: None,
        symbol: "ADA".parse().map_err(Failure::unusable_by)?,
    };
    let escrow_address = treasury.escrow().clone();
    let held_ms = own.bond_seconds.saturating_mul(1000);
    let sink: Text<1, 200> = treasury.sink().as_str().parse().map_err(Failure::unusable_by)?;
    let engine: Arc<dyn Signer> = key(&own.engine_key)?;
    Ok(Some(Setup {
        engine,
        verifier: verifier(own, source)?,
        tariff: Tariff { amount, asset, escrow_address, held_ms },
        sink,
        callers: own.callers.iter().map(|caller| caller_key(config, caller)).collect::<Result<_, _>>()?,
        approvers: own.approvers.iter().map(seated).collect(),
        model: own.model.clone(),
        reading: env::Duration::from_secs(own.reading_seconds),
        rail: Arc::new(treasury),
    }))
}

/// Takes up the mandates that the section lists. One whose anchor cannot be read is refused, and the server does not start.
pub async fn anchor(app: &server::App, anchored: &[Anchored], data: &Path) -> Result<(), Failure> {
    for each in anchored {
        let path = data.join(&each.file);
        let shown = path.display().to_string();
        let document =
            std::fs::read(&path).map_err(|error| Failure::unusable(format!("{shown}: {error}")))?;
        app.anchor_mandate(&document, each.vault.clone(), each.vault_name.clone())
            .await
            .map_err(|refused| Failure::unusable(format!("{shown}: {}: {}", refused.code, refused.text)))?;
    }
    Ok(())
}

fn chain_of(own: &Mandates, config: &Config, source: &Arc<dyn Source>) -> Result<Arc<dyn Chain>, Failure> {
    let url = match own.chain.strip_prefix("file:").filter(|path| !path.is_empty()) {
        Some(path) => format!("file:{}", config.data.join(path).display()),
        None => own.chain.clone(),
    };
    let project = match &own.chain_project_file {
        Some(path) => secret_of(&config.data.join(path))?,
        None => String::new(),
    };
    let policy = crate::notifier::policy(config)?;
    chain::connect(&url, &project, own.network, Arc::clone(source), policy)
        .map_err(|error| Failure::unusable(format!("config: mandates.chain: {error}")))
}

/// A file that holds a secret and nothing else.
fn secret_of(path: &Path) -> Result<String, Failure> {
    let read = std::fs::read_to_string(path);
    let read = read.map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
    Ok(read.trim().to_owned())
}

fn verifier(own: &Mandates, source: &Arc<dyn Source>) -> Result<Arc<dyn Verifier>, Failure> {
    if own.verifiers.is_empty() {
        return Ok(Arc::new(Unverified));
    }
    let keys = own.verifiers.iter().map(|key| key.key().map(PublicKey::Ed25519));
    let keys = keys.collect::<Result<Vec<_>, _>>().map_err(Failure::unusable_by)?;
    Ok(Arc::new(Reports::new(keys, Arc::clone(source), Duration::from_secs(own.verify_seconds))))
}

fn caller_key(config: &Config, caller: &Caller) -> Result<CallerKey, Failure> {
    let path = config.data.join(&caller.key_file);
    let secret = secret_of(&path)?;
    if secret.len() < SHORTEST {
        let text = format!("{}: a bearer key has at least {SHORTEST} characters", path.display());
        return Err(Failure::unusable(text));
    }
    let kind = match caller.kind {
        CallerKind::Agent => Kind::Agent,
        CallerKind::Masumi => Kind::Masumi,
    };
    let mandates = caller.mandates.clone();
    Ok(CallerKey { name: caller.name.clone(), kind, secret: SecretHash::of(&secret), mandates })
}

fn seated(seat: &Seat) -> Seated {
    let member = approvals::MemberId(seat.member.clone());
    Seated { org: approvals::OrgId(seat.org.clone()), member, key: seat.key_hash }
}

/// A bearer key that nobody guesses.
const SHORTEST: usize = 32;

fn embedded() -> String {
    "file:chain.db".to_owned()
}
const fn preprod() -> ChainName {
    ChainName::Preprod
}
fn engine_key() -> PathBuf {
    "engine.jwk".into()
}
fn fee_key() -> PathBuf {
    "fees.jwk".into()
}
const fn bond() -> u64 {
    DEFAULT_BOND
}
const fn hour() -> u64 {
    DEFAULT_HELD_MS / 1000
}
const fn two() -> u64 {
    2
}
const fn ten() -> u64 {
    10
}

#[cfg(test)]
mod tests {
    use super::*;
    use figment::Figment;
    use figment::providers::{Format, Toml};

    #[test]
    fn the_section_is_read() {
        let key = |byte: &str, bytes: usize| byte.repeat(bytes);
        let text = format!(
            r#"
            model = "assistant"
            verifiers = ["ed25519:{}"]
            [[callers]]
            name = "cfo-agent"
            kind = "agent"
            key_file = "cfo-agent.secret"
            mandates = ["M-001"]
            [[approvers]]
            org = "home"
            member = "ana"
            key_hash = "{}"
            [[anchored]]
            file = "M-001.json"
            vault_name = "treasury-main"
            [anchored.vault]
            network = "cardano-preprod"
            vault_hash = "{}"
            mandate_ref = "{}"
            asset_policy = "{}"
            asset_name = "745553444d"
            "#,
            key("09", 32),
            key("55", 28),
            key("aa", 28),
            key("bb", 28),
            key("ee", 28),
        );
        let read: Mandates = Figment::from(Toml::string(&text)).extract().unwrap();
        assert_eq!(
            (read.chain.as_str(), read.bond_lovelace, read.bond_seconds),
            ("file:chain.db", 5_000_000, 3600)
        );
        assert_eq!(read.network, ChainName::Preprod);
        assert_eq!((read.callers.len(), read.approvers.len(), read.anchored.len()), (1, 1, 1));
        for wrong in ["chains = \"x\"", "network = \"cardano-nowhere\"", "verifiers = [\"x\"]"] {
            assert!(Figment::from(Toml::string(wrong)).extract::<Mandates>().is_err(), "{wrong}");
        }
    }
}
