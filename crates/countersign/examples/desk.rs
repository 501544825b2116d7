#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
//! The whole server with one mandate on the embedded ledger, for tests that drive a browser. Reads commands from standard
//! input and answers each on standard output, one JSON object a line:
//!
//! `{"port", "approver", "per_day"?, "opener"?, "masumi"?}` first (`opener` is the hash of a key that may open mandates), then
//! `{"sign": ACTION}` as the agent, `{"lock": PRICE}` as its wallet, `{"fund": KEY_HASH}`, 100 USDM from nothing, and
//! `{"confirmed": HASH}`. The agent's bearer key is `agent-agent-agent-agent-agent-agent`. With `masumi` it sells checks, paid
//! through a payment service at `payments`, whose key is `masumi-token`.

use async_trait::async_trait;
use canon::Raw;
use chain::wallet::sign_tx;
use chain::{Anchor, Asset, Built, LedgerChain, Treasury, Value, Wallet};
use env::Source;
use keys::{Algorithm, SecretHash, Signer, SoftwareSigner};
use mandate::command::Verification;
use mandate::issue::ChainName;
use mandate::price::{BondAsset, Price, Tariff};
use mandate::text::Hex;
use mandate::{Address, Credential, Evidence, HashedAction, Mandate, Millis, Network, Vault};
use serde_json::{Value as Json, json};
use server::mandates::masumi::{Funds, Local, Node, Selling};
use server::mandates::{CallerKey, Kind, Setup, Verifier};
use server::{App, Parts};
use std::io::{BufRead, Write};
use std::sync::Arc;

const AGENT: &str = "agent-agent-agent-agent-agent-agent";
const NETWORK: ChainName = ChainName::Preprod;

#[tokio::main]
async fn main() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let first: Json = serde_json::from_str(&line).unwrap();
    let payments = if first.get("masumi").is_some() { Some(payments().await) } else { None };
    let desk = Desk::start(&first, payments.as_deref()).await;
    answer(&json!({ "ready": true, "agent": AGENT, "recipient": recipient().as_str(), "payments": payments,
        "anchor": { "tx": desk.anchored.0, "tx_hash": desk.anchored.1 } }));
    // Standard input is read where waiting for it stops nobody else.
    let (sender, mut commands) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if sender.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    while let Some(line) = commands.recv().await {
        let command: Json = serde_json::from_str(&line).unwrap();
        answer(&desk.run(&command).await);
    }
}

fn answer(value: &Json) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}").unwrap();
    out.flush().unwrap();
}

/// Keys by their seeds: engine 1, agent 2, fee wallet 3, principal 6, the agent's wallet 10, who deposits 7.
fn key(seed: u8) -> Arc<SoftwareSigner> {
    Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap())
}

fn recipient() -> Address {
    let key = keys::ed25519::PublicKey::from_bytes(&public(&key(99))).unwrap();
    Address::new(Network::Test, Credential::Key(mandate::text::KeyHash::of_key(&key)), None)
}

fn public(signer: &SoftwareSigner) -> [u8; 32] {
    let keys::PublicKey::Ed25519(key) = signer.public() else { panic!("an ed25519 key") };
    *key.as_bytes()
}

struct Desk {
    ledger: Arc<LedgerChain>,
    treasury: Arc<Treasury>,
    agent: Wallet,
    vault: Vault,
    /// The transaction that anchored the mandate, in hex, and its hash.
    anchored: (String, String),
}

impl Desk {
    async fn start(first: &Json, payments: Option<&str>) -> Self {
        let source: Arc<dyn Source> = Arc::new(env::System);
        let ledger = Arc::new(LedgerChain::open(None, Arc::clone(&source), NETWORK).unwrap());
        let treasury = Treasury::new(ledger.clone(), NETWORK, key(3), Arc::clone(&source)).unwrap();
        let treasury = Arc::new(treasury);
        let agent = Wallet::new(ledger.clone(), NETWORK, key(10), Arc::clone(&source)).unwrap();
        for _ in 0..12 {
            ledger.fund(treasury.wallet().address(), Value::of(200_000_000)).unwrap();
            ledger.fund(agent.address(), Value::of(20_000_000)).unwrap();
        }
        let document = document(first);
        let mandate = Mandate::read(document.as_bytes()).unwrap();
        let asset: Asset = ("ee".repeat(28).parse().unwrap(), "745553444d".parse().unwrap());
        let anchoring = treasury.anchor(&Anchor::of(&mandate, asset.clone()).unwrap()).await.unwrap();
        signed_by(&treasury, &anchoring.built, 6).await;
        let opening = treasury.open_vault(anchoring.mandate_ref).await.unwrap();
        signed_by(&treasury, &opening.built, 6).await;
        let depositor = Wallet::new(ledger.clone(), NETWORK, key(7), Arc::clone(&source)).unwrap();
        ledger.fund(depositor.address(), Value::of(5_000_000).with(asset, 500_000_000)).unwrap();
        let deposit = treasury.deposit(&opening.vault, depositor.address(), 500_000_000).await.unwrap();
        signed_by(&treasury, &deposit, 7).await;
        let app = app(first, &source, &treasury, payments);
        app.anchor_mandate(document.as_bytes(), opening.vault.clone(), None).await.unwrap();
        let port = first["port"].as_u64().unwrap();
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.unwrap();
        tokio::spawn(async move {
            let routes = server::router(&app).merge(console::router());
            server::serve(&app, routes, listener, std::future::pending()).await;
        });
        let anchored = (hex::encode(&anchoring.built.tx), anchoring.built.tx_hash.to_string());
        Self { ledger, treasury, agent, vault: opening.vault, anchored }
    }

    async fn run(&self, command: &Json) -> Json {
        if let Some(action) = command.get("sign") {
            let action = HashedAction::read(action.to_string().as_bytes()).unwrap();
            let signature = key(2).sign(&mandate::signing_bytes(&action.hash())).unwrap();
            return json!({ "agent_signature": Hex::from_bytes(*signature.as_bytes()).to_string() });
        }
        if let Some(key) = command.get("fund") {
            let key = key.as_str().unwrap().parse().unwrap();
            let address = Address::new(Network::Test, Credential::Key(key), None);
            let asset = (self.vault.asset_policy, self.vault.asset_name.clone());
            self.ledger.fund(&address, Value::of(5_000_000).with(asset, 100_000_000)).unwrap();
            return json!({ "address": address.as_str() });
        }
        if let Some(hash) = command["confirmed"].as_str() {
            let height = self.treasury.confirmed(hash.parse().unwrap()).await.unwrap();
            return json!({ "height": height });
        }
        let price: Price = canon::from_slice(command["lock"].to_string().as_bytes()).unwrap();
        let lock = self.agent.lock(&price, self.vault.mandate_ref).await.unwrap();
        self.treasury.submit(&lock.tx).await.unwrap();
        json!({ "tx": hex::encode(&lock.tx), "tx_hash": lock.tx_hash.to_string(), "output_index": 0 })
    }
}

async fn signed_by(treasury: &Treasury, built: &Built, seed: u8) {
    let signer = key(seed);
    let witness = sign_tx(&built.tx, signer.as_ref()).unwrap();
    let hash =
        mandate::text::KeyHash::of_key(&keys::ed25519::PublicKey::from_bytes(&public(&signer)).unwrap());
    let tx = treasury.witness(&built.tx, &witness, hash).unwrap();
    treasury.submit(&tx).await.unwrap();
}

fn document(first: &Json) -> String {
    let text = include_str!("../../../vectors/claudia/claudia.json");
    let vectors: Json = serde_json::from_str(text).unwrap();
    let mut mandate = vectors["derived"]["mandate_fixture"]["doc"].clone();
    let principal = keys::ed25519::PublicKey::from_bytes(&public(&key(6))).unwrap();
    mandate["approvers"][0]["cardano_key_hash"] = first["approver"].clone();
    mandate["principal"]["cardano_key_hash"] = json!(mandate::text::KeyHash::of_key(&principal).to_string());
    mandate["validity"] =
        json!({ "starts_at": "2020-01-01T00:00:00Z", "expires_at": "2100-01-01T00:00:00Z" });
    if let Some(per_day) = first.get("per_day") {
        mandate["interrupt_budget"]["per_day"] = per_day.clone();
    }
    mandate.to_string()
}

fn app(first: &Json, source: &Arc<dyn Source>, treasury: &Arc<Treasury>, payments: Option<&str>) -> App {
    let port = first["port"].as_u64().unwrap();
    let mut config = server::Config {
        public_url: format!("http://localhost:{port}").parse().unwrap(),
        ..server::Config::default()
    };
    config.limits.address_per_minute = 0;
    config.limits.credential_per_minute = 0;
    let tariff = Tariff {
        amount: 5_000_000_u64.try_into().unwrap(),
        asset: BondAsset { asset_name: "".parse().unwrap(), policy_id: None, symbol: "ADA".parse().unwrap() },
        escrow_address: treasury.escrow().clone(),
        held_ms: 3_600_000,
    };
    let agent = CallerKey {
        name: "agent".to_owned(),
        kind: Kind::Agent,
        secret: SecretHash::of(AGENT),
        mandates: Vec::new(),
    };
    // Left behind; the system clears its temporary files.
    let folder = tempfile::tempdir().unwrap().keep();
    let server_key = store::ServerKey::open(&folder.join("store.key")).unwrap();
    let journal = store::Sqlite::open(&folder.join("journal.db"), server_key).unwrap();
    let setup = Setup {
        engine: key(1),
        rail: treasury.clone(),
        verifier: Arc::new(Facts(Arc::clone(source))),
        tariff,
        sink: treasury.sink().as_str().parse().unwrap(),
        callers: vec![agent],
        approvers: Vec::new(),
        principals: first
            .get("opener")
            .map(|key| key.as_str().unwrap().parse().unwrap())
            .into_iter()
            .collect(),
        model: None,
        reading: env::Duration::from_millis(0),
        masumi: payments.map(selling),
        facilitator: None,
    };
    App::new(Parts {
        config,
        journal: Arc::new(journal),
        source: Arc::clone(source),
        signer: key(20),
        log: None,
        fetch: fetch::Client::new(fetch::Policy::default()).unwrap(),
        notifier: Arc::new(server::Silent),
        mandates: Some(setup),
    })
    .unwrap()
}

const TOKEN: &str = "masumi-token";

fn price() -> Funds {
    let unit = "16a55b2a349361ff88c03788f93e1e966e5d689605d044fef722ddde0014df10745553444d";
    Funds { amount: "1000000".to_owned(), unit: unit.to_owned() }
}

/// A payment service of this process. Gives its address.
async fn payments() -> String {
    let local = Local::new(Arc::new(env::System), &"a9".repeat(40), &"5e".repeat(28), price(), TOKEN);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Arc::new(local).router()).await });
    format!("http://{at}/api/v1")
}

fn selling(payments: &str) -> Selling {
    let at = payments.trim_start_matches("http://").trim_end_matches("/api/v1");
    let policy = fetch::Policy { allow: vec![at.parse().unwrap()], ..fetch::Policy::default() };
    let client = fetch::Client::new(policy).unwrap();
    Selling {
        caller: CallerKey {
            name: "masumi".to_owned(),
            kind: Kind::Masumi,
            secret: SecretHash::of(&env::System.env().secret()),
            mandates: vec!["M-001".parse().unwrap()],
        },
        agent_identifier: "a9".repeat(40),
        seller_vkey: "5e".repeat(28),
        network: "Preprod".to_owned(),
        price: price(),
        source_index: 0,
        payments: Arc::new(Node::new(client, payments, TOKEN.to_owned()).unwrap()),
    }
}

/// Confirms of every invoice what its action says.
struct Facts(Arc<dyn Source>);

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Facts")
    }
}

#[async_trait]
impl Verifier for Facts {
    async fn known(&self, _: &HashedAction) -> Verification {
        Verification::NotTried
    }

    async fn verify(&self, action: &HashedAction) -> Verification {
        let reference = action.reference.as_ref();
        let report = json!({
            "schema": "verification/v0.1", "action_hash": action.hash().to_string(),
            "invoice_id": reference.map_or("none", |r| r.invoice_id.as_str()), "invoice_hash": "0b".repeat(32),
            "verified_amount": action.amount.value.to_string(), "verified_currency": "usd",
            "verified_recipient": action.recipient.address.as_str(), "status": "open",
            "facts": { "exists": true, "customer_match": true, "status_open": true, "amount_match": true,
                "currency_match": true, "recipient_match": true },
            "result": "VERIFIED", "reason": null, "trigger_id": format!("trg-{}", action.id),
        });
        let report = Raw::from_slice(report.to_string().as_bytes()).unwrap();
        let report_hash = report.digest();
        let block_time_ms = Millis::try_from(self.0.now()).unwrap();
        let evidence = Evidence::bare(block_time_ms, report, report_hash);
        Verification::Reported { evidence, registry_tx: None }
    }
}
