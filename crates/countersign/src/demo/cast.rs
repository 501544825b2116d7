//! Who takes part in the demo of a mandate, and the embedded ledger they stand on. All keys are made here and forgotten.

use super::billing::Billing;
use crate::commands::Failure;
use chain::{Anchor, Asset, Built, LedgerChain, Treasury, Value};
use env::Source;
use keys::{Algorithm, PublicKey, Signer, SoftwareSigner};
use mandate::issue::ChainName;
use mandate::text::KeyHash;
use mandate::{Address, Credential, Mandate, Network, Vault};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;

pub const NETWORK: ChainName = ChainName::Preprod;
/// What the vault holds at first, in millionths of a USDM.
pub const DEPOSIT: u64 = 150_000_000;

/// A key and its name on chain.
pub struct Person(pub Arc<SoftwareSigner>);

pub struct Cast {
    pub principal: Person,
    pub approver: Person,
    pub agent: Person,
    pub engine: Person,
    pub billing: Billing,
    pub vendor: Address,
    pub treasury: Arc<Treasury>,
}

impl Person {
    pub fn new() -> Result<Self, Failure> {
        let signer = SoftwareSigner::generate(Algorithm::Ed25519, &mut env::System.env());
        Ok(Self(Arc::new(signer.map_err(Failure::unusable_by)?)))
    }

    pub fn key_hash(&self) -> Result<KeyHash, Failure> {
        match self.0.public() {
            PublicKey::Ed25519(key) => Ok(KeyHash::of_key(&key)),
            PublicKey::P256(_) => Err(Failure::refused("an ed25519 key is needed")),
        }
    }

    /// `ed25519:` and the key in hex.
    pub fn key(&self) -> Result<String, Failure> {
        match self.0.public() {
            PublicKey::Ed25519(key) => {
                Ok(format!("ed25519:{}", mandate::text::Hex::from_bytes(*key.as_bytes())))
            }
            PublicKey::P256(_) => Err(Failure::refused("an ed25519 key is needed")),
        }
    }

    pub fn sign(&self, message: &[u8]) -> Result<keys::Signature, Failure> {
        self.0.sign(message).map_err(Failure::unusable_by)
    }
}

impl Cast {
    /// Everybody, a ledger in the folder with some money on it, and the vendor's billing with its verifiers.
    pub async fn assemble(folder: &Path) -> Result<Self, Failure> {
        let source: Arc<dyn Source> = Arc::new(env::System);
        let ledger = LedgerChain::open(Some(&folder.join("chain.db")), Arc::clone(&source), NETWORK);
        let ledger = Arc::new(ledger.map_err(Failure::unusable_by)?);
        let fees = Person::new()?;
        let treasury = Treasury::new(ledger.clone(), NETWORK, fees.0, source);
        let treasury = Arc::new(treasury.map_err(Failure::unusable_by)?);
        let (principal, agent) = (Person::new()?, Person::new()?);
        let wallet = address(agent.key_hash()?);
        let fund = |address: &Address, value: Value| {
            ledger.fund(address, value).map(drop).map_err(Failure::unusable_by)
        };
        for _ in 0..8 {
            fund(treasury.wallet().address(), Value::of(200_000_000))?;
            fund(&wallet, Value::of(20_000_000))?;
        }
        let payer = address(principal.key_hash()?);
        fund(&payer, Value::of(5_000_000).with(asset()?, DEPOSIT))?;
        let vendor = address(Person::new()?.key_hash()?);
        Ok(Self {
            principal,
            approver: Person::new()?,
            agent,
            engine: Person::new()?,
            billing: Billing::open().await?,
            vendor,
            treasury,
        })
    }

    /// The seed's M-001: 10 USDM alone, 25 with the CFO, 50 a day, never below 100, three interruptions a day.
    pub fn mandate(&self) -> Result<Json, Failure> {
        Ok(json!({
            "schema": "mandate/v0.1", "id": "M-001", "version": 3, "status": "active",
            "principal": { "type": "organization", "id": "acme", "name": "Acme Corp",
                "cardano_key_hash": self.principal.key_hash()?.to_string() },
            "delegate": { "type": "agent", "id": "cfo-agent-01", "public_key": self.agent.key()? },
            "approvers": [{ "role": "CFO", "cardano_key_hash": self.approver.key_hash()?.to_string() }],
            "authority_engine": { "public_key": self.engine.key()? },
            "asset": { "symbol": "USDM", "decimals": 6 },
            "validity": { "starts_at": "2026-10-01T00:00:00Z", "expires_at": "2099-10-01T00:00:00Z" },
            "delegation": { "allowed": false },
            "interrupt_budget": { "per_day": 3 },
            "constraints": [
                { "id": "purpose", "kind": "purpose_in", "values": ["vendor_invoice"], "on_violation": "DENY" },
                { "id": "vendors", "kind": "counterparty_in", "values": ["aws", "openai"], "on_violation": "DENY" },
                { "id": "autonomous", "kind": "amount_lte", "value": "10000000", "on_violation": "ESCALATE", "approver": "CFO" },
                { "id": "hard_cap", "kind": "amount_lte", "value": "25000000", "on_violation": "DENY" },
                { "id": "daily", "kind": "daily_spend_lte", "value": "50000000", "on_violation": "DENY" },
                { "id": "floor", "kind": "balance_after_gte", "value": "100000000", "on_violation": "DENY" },
                { "id": "facts", "kind": "verified_facts", "source": "stripe", "on_violation": "DENY" }
            ]
        }))
    }

    /// The principal anchors the mandate, opens its vault and puts the money in.
    pub async fn found(&self, document: &[u8]) -> Result<Vault, Failure> {
        let mandate = Mandate::read(document).map_err(Failure::unusable_by)?;
        let anchor = Anchor::of(&mandate, asset()?).map_err(Failure::unusable_by)?;
        let anchoring = self.treasury.anchor(&anchor).await.map_err(Failure::unusable_by)?;
        self.signed(&anchoring.built).await?;
        let opening = self.treasury.open_vault(anchoring.mandate_ref).await.map_err(Failure::unusable_by)?;
        self.signed(&opening.built).await?;
        let payer = address(self.principal.key_hash()?);
        let deposit = self.treasury.deposit(&opening.vault, &payer, DEPOSIT).await;
        self.signed(&deposit.map_err(Failure::unusable_by)?).await?;
        Ok(opening.vault)
    }

    /// With the principal's signature.
    async fn signed(&self, built: &Built) -> Result<(), Failure> {
        let set = chain::wallet::sign_tx(&built.tx, self.principal.0.as_ref());
        let set = set.map_err(Failure::unusable_by)?;
        let tx = self.treasury.witness(&built.tx, &set, self.principal.key_hash()?);
        let tx = tx.map_err(Failure::unusable_by)?;
        self.treasury.submit(&tx).await.map(drop).map_err(Failure::unusable_by)
    }
}

/// The token that plays USDM here.
fn asset() -> Result<Asset, Failure> {
    let policy = "16a55b2a349361ff88c03788f93e1e966e5d689605d044fef722ddde";
    let name = "0014df10745553444d";
    Ok((policy.parse().map_err(Failure::unusable_by)?, name.parse().map_err(Failure::unusable_by)?))
}

fn address(key: KeyHash) -> Address {
    Address::new(Network::Test, Credential::Key(key), None)
}
