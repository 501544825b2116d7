//! The section `[mandates]`: what a server that keeps mandates stands on.

use crate::commands::Failure;
use crate::config::Config;
use chain::{Chain, LedgerChain, Treasury};
use env::Source;
use keys::{Algorithm, SecretHash, Signer, SoftwareSigner};
use mandate::Vault;
use mandate::basis::BasisLimits;
use mandate::issue::ChainName;
use mandate::price::{BondAsset, DEFAULT_BOND, DEFAULT_HELD_MS, Tariff};
use mandate::statement::{Panel, Seat as PanelSeat};
use mandate::text::{Ed25519Key, Id, KeyHash, Text};
use serde::Deserialize;
use server::mandates::masumi::{Funds, Node, Selling};
use server::mandates::{
    CallerKey, Embedded, Facilitator, Kind, Peer, Quorum, Registry, Seated, Setup, Unverified, Verifier,
};
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
    /// Keys that may open mandates here, by their hashes; the fee wallet pays for it.
    #[serde(default)]
    pub principals: Vec<KeyHash>,
    /// Who verifies the facts of invoices. None: they are never verified.
    #[serde(default)]
    pub verifiers: Vec<VerifierPeer>,
    /// How many of them have to say the same: more than half, which is what it is unless set.
    #[serde(default)]
    pub verifiers_required: Option<usize>,
    /// How long a check waits for a report, and again until it is recorded.
    #[serde(default = "ten")]
    pub verify_seconds: u64,
    /// What of a quote is on market.
    #[serde(default)]
    pub quotes: Option<BasisLimits>,
    /// Where reports are recorded besides the mandate's own log.
    #[serde(default)]
    pub registry: Option<ReportRegistry>,
    #[serde(default)]
    pub anchored: Vec<Anchored>,
    /// `https://…`: the x402 facilitator that submits the locks which agents hand over; without it this server does.
    #[serde(default)]
    pub facilitator: Option<String>,
    /// Checks sold as Masumi jobs; off without it.
    #[serde(default)]
    pub masumi: Option<Masumi>,
}

/// `[mandates.masumi]`: an agent that is registered with a Masumi payment service.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Masumi {
    /// The payment service, up to and without `/payment`.
    pub url: String,
    /// Holds the key that it asks for.
    pub token_file: PathBuf,
    /// The `name` of the caller of kind `masumi` whose mandates are sold.
    pub caller: String,
    pub agent_identifier: String,
    pub seller_vkey: KeyHash,
    /// Base units of a job's price, as it is registered.
    #[serde(default = "million")]
    pub price: u64,
    /// Policy and name of the price's asset, in hex; empty for lovelace.
    #[serde(default = "tusdm")]
    pub price_unit: String,
    /// Which of the agent's registered payment sources.
    #[serde(default)]
    pub source_index: u8,
}

/// The contract `ReportRegistry` on an EVM chain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportRegistry {
    /// The node, by JSON-RPC.
    pub url: String,
    pub chain_id: u64,
    pub contract: String,
    /// Holds the private key of the contract's owner in hex: it pays for each record.
    pub key_file: PathBuf,
    /// Blocks, its own included, under which a record counts as there to stay.
    #[serde(default = "three")]
    pub depth: u64,
}

/// A verifier of facts, as `countersign verifier` prints itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifierPeer {
    pub name: Id,
    /// The prefix of its address, before `/v1/verify`.
    pub url: String,
    pub key: Ed25519Key,
    /// Holds the bearer key that it knows us by.
    pub secret_file: PathBuf,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
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
    let treasury = treasury(own, config, source)?;
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
        verifier: verifier(own, config, source)?,
        tariff: Tariff { amount, asset, escrow_address, held_ms },
        sink,
        callers: own.callers.iter().map(|caller| caller_key(config, caller)).collect::<Result<_, _>>()?,
        approvers: own.approvers.iter().map(seated).collect(),
        principals: own.principals.clone(),
        model: own.model.clone(),
        reading: env::Duration::from_secs(own.reading_seconds),
        facilitator: facilitator(own, config)?,
        rail: Arc::new(treasury),
        masumi: own.masumi.as_ref().map(|masumi| selling(own, masumi, config)).transpose()?,
    }))
}

/// The chain that the section names, and the wallet that pays its fees.
pub fn treasury(own: &Mandates, config: &Config, source: &Arc<dyn Source>) -> Result<Treasury, Failure> {
    let path = config.data.join(&own.fee_key);
    let fees = SoftwareSigner::open_or_create(&path, Algorithm::Ed25519, &mut source.env());
    let fees = Arc::new(fees.map_err(Failure::unusable_by)?);
    let chain = chain_of(own, config, source)?;
    Treasury::new(chain, own.network, fees, Arc::clone(source)).map_err(Failure::unusable_by)
}

/// The embedded ledger in a file, where the section names one.
pub fn embedded_ledger(
    own: &Mandates,
    config: &Config,
    source: &Arc<dyn Source>,
) -> Result<LedgerChain, Failure> {
    let path = own.chain.strip_prefix("file:").filter(|path| !path.is_empty());
    let path =
        path.ok_or_else(|| Failure::unusable("mandates.chain is no embedded ledger in a file".to_owned()))?;
    LedgerChain::open(Some(&config.data.join(path)), Arc::clone(source), own.network)
        .map_err(Failure::unusable_by)
}

fn selling(own: &Mandates, masumi: &Masumi, config: &Config) -> Result<Selling, Failure> {
    let unusable = |text: String| Failure::unusable(format!("config: mandates.masumi: {text}"));
    let of_kind = |caller: &&Caller| caller.name == masumi.caller && caller.kind == CallerKind::Masumi;
    let caller = own.callers.iter().find(of_kind);
    let caller =
        caller.ok_or_else(|| unusable(format!("no caller of kind masumi is {:?}", masumi.caller)))?;
    if caller.mandates.is_empty() {
        return Err(unusable(format!("the caller {:?} names no mandates: say what is sold", masumi.caller)));
    }
    let token = secret_of(&config.data.join(&masumi.token_file))?;
    let client = crate::notifier::client(config)?;
    let node = Node::new(client, &masumi.url, token).map_err(|error| unusable(error.to_string()))?;
    Ok(Selling {
        caller: caller_key(config, caller)?,
        agent_identifier: masumi.agent_identifier.clone(),
        seller_vkey: masumi.seller_vkey.to_string(),
        network: if own.network == ChainName::Mainnet { "Mainnet" } else { "Preprod" }.to_owned(),
        price: Funds { amount: masumi.price.to_string(), unit: masumi.price_unit.clone() },
        source_index: masumi.source_index,
        payments: Arc::new(node),
    })
}

/// Takes up the mandates that the section lists. One whose anchor cannot be read is refused, and the server does not start.
pub async fn anchor(app: &server::App, anchored: &[Anchored], data: &Path) -> Result<(), Failure> {
    for each in anchored {
        let path = data.join(&each.file);
        let shown = path.display().to_string();
        let document =
            std::fs::read(&path).map_err(|error| Failure::unusable(format!("{shown}: {error}")))?;
        if let Ok(mandate) = mandate::Mandate::read(&document)
            && let Some(known) = app.mandate_version(&mandate.id).await
            && known > mandate.version
        {
            tracing::warn!("{shown}: version {known} of {} is anchored since", mandate.id);
            continue;
        }
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

/// A bearer key in a file, long enough that nobody guesses it.
pub fn caller_secret(path: &Path) -> Result<String, Failure> {
    let secret = secret_of(path)?;
    if secret.len() < SHORTEST {
        let text = format!("{}: a bearer key has at least {SHORTEST} characters", path.display());
        return Err(Failure::unusable(text));
    }
    Ok(secret)
}

/// One that may not be called is refused here.
fn facilitator(own: &Mandates, config: &Config) -> Result<Option<Facilitator>, Failure> {
    let Some(base) = &own.facilitator else { return Ok(None) };
    let bad = |error: fetch::Error| Failure::unusable(format!("config: mandates.facilitator: {error}"));
    crate::notifier::client(config)?.permits(&fetch::Destination::parse(base).map_err(bad)?).map_err(bad)?;
    Facilitator::new(base).map(Some).map_err(bad)
}

/// A file that holds a secret and nothing else.
pub fn secret_of(path: &Path) -> Result<String, Failure> {
    let read = std::fs::read_to_string(path);
    let read = read.map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
    Ok(read.trim().to_owned())
}

fn verifier(own: &Mandates, config: &Config, source: &Arc<dyn Source>) -> Result<Arc<dyn Verifier>, Failure> {
    if own.verifiers.is_empty() {
        return Ok(Arc::new(Unverified));
    }
    let bad = |text: String| Failure::unusable(format!("config: mandates.verifiers: {text}"));
    let seats: Vec<_> =
        own.verifiers.iter().map(|peer| PanelSeat { name: peer.name.clone(), key: peer.key }).collect();
    let required = own.verifiers_required.unwrap_or(seats.len() / 2 + 1);
    let panel = Panel::new(seats, required).map_err(|refusal| bad(refusal.to_string()))?;
    let client = crate::notifier::client(config)?;
    let peer = |peer: &VerifierPeer| {
        let to = fetch::Destination::parse(&peer.url).and_then(|to| client.permits(&to));
        to.map_err(|error| bad(format!("{}: {error}", peer.url)))?;
        let secret = caller_secret(&config.data.join(&peer.secret_file))?;
        Peer::new(peer.name.clone(), &peer.url, &secret).map_err(|error| bad(error.to_string()))
    };
    let peers = own.verifiers.iter().map(peer).collect::<Result<Vec<_>, _>>()?;
    let patience = Duration::from_secs(own.verify_seconds);
    let registry: Arc<dyn Registry> = match &own.registry {
        Some(registry) => Arc::new(evm_registry(registry, config, &client)?),
        None => Arc::new(Embedded),
    };
    let quorum = Quorum::new(panel, peers, client, Arc::clone(source), patience, registry);
    Ok(Arc::new(match own.quotes {
        Some(limits) => quorum.with_limits(limits),
        None => quorum,
    }))
}

fn evm_registry(
    own: &ReportRegistry,
    config: &Config,
    client: &fetch::Client,
) -> Result<evm::Registry, Failure> {
    let bad = |error: evm::Error| Failure::unusable(format!("config: mandates.registry: {error}"));
    let node = evm::Node::new(client.clone(), &own.url).map_err(bad)?;
    let wallet = evm::Wallet::new(&secret_of(&config.data.join(&own.key_file))?).map_err(bad)?;
    let contract = own.contract.parse().map_err(bad)?;
    Ok(evm::Registry::new(node, wallet, own.chain_id, contract, own.depth))
}

fn caller_key(config: &Config, caller: &Caller) -> Result<CallerKey, Failure> {
    let secret = caller_secret(&config.data.join(&caller.key_file))?;
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
const fn three() -> u64 {
    3
}
const fn ten() -> u64 {
    10
}
const fn million() -> u64 {
    1_000_000
}
fn tusdm() -> String {
    "16a55b2a349361ff88c03788f93e1e966e5d689605d044fef722ddde0014df10745553444d".to_owned()
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
            [[verifiers]]
            name = "north"
            url = "https://north.example.org"
            key = "ed25519:{}"
            secret_file = "north.secret"
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
            [masumi]
            url = "https://pay.example/api/v1"
            token_file = "masumi.secret"
            caller = "masumi"
            agent_identifier = "{}"
            seller_vkey = "{}"
            "#,
            key("09", 32),
            key("55", 28),
            key("aa", 28),
            key("bb", 28),
            key("ee", 28),
            key("a9", 40),
            key("5e", 28),
        );
        let read: Mandates = Figment::from(Toml::string(&text)).extract().unwrap();
        assert_eq!(
            (read.chain.as_str(), read.bond_lovelace, read.bond_seconds),
            ("file:chain.db", 5_000_000, 3600)
        );
        assert_eq!(read.network, ChainName::Preprod);
        let masumi = read.masumi.unwrap();
        assert_eq!((masumi.price, masumi.source_index), (1_000_000, 0));
        assert!(masumi.price_unit.ends_with("0014df10745553444d"));
        assert_eq!((read.callers.len(), read.approvers.len(), read.anchored.len()), (1, 1, 1));
        assert_eq!((read.verifiers.len(), read.verifiers_required), (1, None));
        for wrong in ["chains = \"x\"", "network = \"cardano-nowhere\"", "verifiers = [\"x\"]"] {
            assert!(Figment::from(Toml::string(wrong)).extract::<Mandates>().is_err(), "{wrong}");
        }
    }
}
