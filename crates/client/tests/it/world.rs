//! A server with one mandate on the embedded ledger, its people, and a line that loses what it is told to lose.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use chain::wallet::sign_tx;
use chain::{Anchor, Asset, Built, Chain, LedgerChain, Treasury, Value};
use client::{Agent, Ask, Credential, Pace, Purse, Server};
use env::Source;
use fetch::Policy;
use keys::{Algorithm, PublicKey, Signer, SoftwareSigner};
use mandate::issue::ChainName;
use mandate::price::{BondAsset, Tariff};
use mandate::text::{Ed25519Key, KeyHash};
use mandate::{Address, Credential as Owner, Mandate, Network, Vault};
use serde_json::{Value as Json, json};
use server::mandates::{Setup, Unverified};
use server::{App, Parts};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

pub const NETWORK: ChainName = ChainName::Preprod;
pub const BOND: u64 = 5_000_000;

/// Keys by their seeds: engine 1, delegate 2, fee wallet 3, approver 5, principal 6, the agent's wallet 10.
pub fn key(seed: u8) -> Arc<SoftwareSigner> {
    Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap())
}

pub fn public(signer: &dyn Signer) -> keys::ed25519::PublicKey {
    match signer.public() {
        PublicKey::Ed25519(key) => key,
        PublicKey::P256(_) => panic!("an ed25519 key"),
    }
}

pub fn named(signer: &dyn Signer) -> String {
    Ed25519Key::from_bytes(*public(signer).as_bytes()).to_string()
}

pub fn address(seed: u8) -> Address {
    Address::new(Network::Test, Owner::Key(KeyHash::of_key(&public(key(seed).as_ref()))), None)
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Passes,
    /// The server never sees it.
    RequestLost,
    /// The server acts, and its answer is lost.
    AnswerLost,
}

#[derive(Debug, Default)]
pub struct Line {
    fates: Mutex<VecDeque<Fate>>,
    /// Method and path of each request.
    pub seen: Mutex<Vec<String>>,
}

async fn carry(State(line): State<Arc<Line>>, request: Request, next: Next) -> Response {
    line.seen.lock().unwrap().push(format!("{} {}", request.method(), request.uri().path()));
    let fate = line.fates.lock().unwrap().pop_front().unwrap_or(Fate::Passes);
    let broken = || {
        let end = futures::stream::once(async { Err::<bytes::Bytes, _>(std::io::Error::other("lost")) });
        Response::new(Body::from_stream(end))
    };
    match fate {
        Fate::RequestLost => broken(),
        Fate::Passes => next.run(request).await,
        Fate::AnswerLost => {
            next.run(request).await;
            broken()
        }
    }
}

pub struct World {
    pub chain: Arc<LedgerChain>,
    pub treasury: Arc<Treasury>,
    pub vault: Vault,
    pub line: Arc<Line>,
    pub origin: String,
    pub folder: TempDir,
}

pub fn mandate() -> Json {
    let hash = |seed: u8| KeyHash::of_key(&public(key(seed).as_ref())).to_string();
    json!({
        "schema": "mandate/v0.1", "id": "M-001", "version": 1, "status": "active",
        "principal": { "type": "organization", "id": "acme", "name": "Acme", "cardano_key_hash": hash(6) },
        "delegate": { "type": "agent", "id": "agent", "public_key": named(key(2).as_ref()) },
        "approvers": [{ "role": "CFO", "cardano_key_hash": hash(5) }],
        "authority_engine": { "public_key": named(key(1).as_ref()) },
        "asset": { "symbol": "USDM", "decimals": 6 },
        "validity": { "starts_at": "2020-01-01T00:00:00Z", "expires_at": "2100-01-01T00:00:00Z" },
        "delegation": { "allowed": false },
        "interrupt_budget": { "per_day": 10 },
        "constraints": [
            { "id": "purpose", "kind": "purpose_in", "values": ["invoice_payment"], "on_violation": "DENY" },
            { "id": "autonomous", "kind": "amount_lte", "value": "10000000", "on_violation": "ESCALATE", "approver": "CFO" },
            { "id": "hard_cap", "kind": "amount_lte", "value": "50000000", "on_violation": "DENY" },
            { "id": "daily", "kind": "daily_spend_lte", "value": "200000000", "on_violation": "DENY" },
            { "id": "floor", "kind": "balance_after_gte", "value": "100000000", "on_violation": "DENY" }
        ]
    })
}

pub fn action(id: &str, usdm: u64) -> Json {
    json!({
        "schema": "action-ir/v0.1", "id": id, "mandate_id": "M-001", "actor": "agent", "type": "pay_invoice",
        "purpose": "invoice_payment", "counterparty": { "id": "aws", "display": "AWS" },
        "amount": { "value": (usdm * 1_000_000).to_string(), "asset": "USDM" },
        "recipient": { "chain": "cardano", "address": address(99).as_str() },
        "source": { "vault": "treasury" },
        "reference": { "invoice_id": format!("in_{id}"), "invoice_number": format!("INV-{id}") },
        "rationale": "It is due.", "created_at": "2026-10-07T03:00:00Z",
    })
}

pub fn ask(id: &str, usdm: u64) -> Ask {
    Ask::sign(action(id, usdm).to_string().as_bytes(), key(2).as_ref(), true, None).unwrap()
}

impl World {
    pub async fn start() -> Self {
        let source: Arc<dyn Source> = Arc::new(env::System);
        let chain = Arc::new(LedgerChain::open(None, Arc::clone(&source), NETWORK).unwrap());
        let treasury = Arc::new(Treasury::new(chain.clone(), NETWORK, key(3), Arc::clone(&source)).unwrap());
        let asset: Asset = ("ee".repeat(28).parse().unwrap(), "745553444d".parse().unwrap());
        for _ in 0..12 {
            chain.fund(&address(3), Value::of(200_000_000)).unwrap();
            chain.fund(&address(10), Value::of(20_000_000)).unwrap();
        }
        chain.fund(&address(6), Value::of(5_000_000).with(asset.clone(), 500_000_000)).unwrap();
        let document = mandate().to_string().into_bytes();
        let read = Mandate::read(&document).unwrap();
        let anchoring = treasury.anchor(&Anchor::of(&read, asset).unwrap()).await.unwrap();
        signed(&treasury, &anchoring.built).await;
        let opening = treasury.open_vault(anchoring.mandate_ref).await.unwrap();
        signed(&treasury, &opening.built).await;
        let deposit = treasury.deposit(&opening.vault, &address(6), 500_000_000).await.unwrap();
        signed(&treasury, &deposit).await;

        let folder = tempfile::tempdir().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let app = app(&folder, &origin, &source, &treasury);
        app.anchor_mandate(&document, opening.vault.clone(), None).await.unwrap();
        let line = Arc::new(Line::default());
        let routes = server::router(&app);
        let routes = routes.layer(axum::middleware::from_fn_with_state(line.clone(), carry));
        tokio::spawn(async move { server::serve(&app, routes, listener, std::future::pending()).await });
        Self { chain, treasury, vault: opening.vault, line, origin, folder }
    }

    /// What becomes of the next requests.
    pub fn loses(&self, fates: &[Fate]) {
        self.line.fates.lock().unwrap().extend(fates);
    }

    pub fn server(&self, seed: u8) -> Server {
        let host = self.origin.strip_prefix("http://").unwrap().parse().unwrap();
        let client = fetch::Client::new(Policy { allow: vec![host], ..Policy::default() }).unwrap();
        Server::new(&self.origin, client, Credential::Key(key(seed)), Arc::new(env::System)).unwrap()
    }

    /// The agent, its purse on this chain.
    pub fn agent_on(&self, chain: Arc<dyn Chain>) -> Agent {
        let bonds = self.folder.path().join("bonds");
        let purse = Purse::new(chain, NETWORK, key(10), Arc::new(env::System), &bonds, BOND).unwrap();
        Agent::new(self.server(2), Arc::new(env::System))
            .with_purse(purse)
            .with_pace(Pace { look: Duration::from_millis(10), answer: Duration::from_secs(20) })
    }

    pub fn agent(&self) -> Agent {
        self.agent_on(self.chain.clone())
    }

    /// Bonds at the escrow.
    pub async fn locked(&self) -> usize {
        self.chain.utxos(self.treasury.escrow().as_str()).await.unwrap().len()
    }

    async fn by_approver(&self, path: &str, body: &Json) -> Json {
        let answer = self.server(5).post(path, body).await.unwrap();
        serde_json::from_slice(&answer).unwrap()
    }

    pub async fn inbox(&self) -> usize {
        let answer = self.server(5).get("/v1/approvals?status=pending").await.unwrap();
        let answer: Json = serde_json::from_slice(&answer).unwrap();
        answer["approvals"].as_array().unwrap().len()
    }

    pub async fn approve(&self, id: &str) {
        let path = format!("/v1/approvals/{id}/approve");
        let draft = self.by_approver(&path, &json!({})).await;
        let digest = &draft["authorization_digest"];
        let approved =
            self.by_approver(&path, &json!({ "authorization_digest": digest, "signed": by(&draft) })).await;
        let witness = witness(approved["unsigned_tx_cbor"].as_str().unwrap());
        let body = json!({ "approval_id": id, "authorization_digest": digest, "cfo_witness_cbor": witness });
        self.by_approver("/v1/executions", &body).await;
    }

    pub async fn decline(&self, id: &str, reason: &str, comment: &str) {
        let asked = json!({ "reason": reason, "comment": comment });
        let shown = self.by_approver(&format!("/v1/approvals/{id}/statement"), &asked).await;
        let body = json!({ "reason": reason, "comment": comment, "signed": by(&shown) });
        self.by_approver(&format!("/v1/approvals/{id}/decline"), &body).await;
    }
}

/// The approver's signature over what is shown.
fn by(shown: &Json) -> Json {
    let statement: canon::Digest = shown["statement_hash"].as_str().unwrap().parse().unwrap();
    let signature = key(5).sign(statement.as_bytes()).unwrap().base64url();
    let thumbprint = key(5).public().thumbprint().to_string();
    json!({ "key": named(key(5).as_ref()), "nonce": shown["statement"]["nonce"],
        "evidence": { "kind": "ed25519", "signature": signature, "thumbprint": thumbprint } })
}

fn witness(tx: &str) -> String {
    hex::encode(sign_tx(&hex::decode(tx).unwrap(), key(5).as_ref()).unwrap())
}

async fn signed(treasury: &Treasury, built: &Built) {
    let witness = sign_tx(&built.tx, key(6).as_ref()).unwrap();
    let hash = KeyHash::of_key(&public(key(6).as_ref()));
    treasury.submit(&treasury.witness(&built.tx, &witness, hash).unwrap()).await.unwrap();
}

fn app(folder: &TempDir, origin: &str, source: &Arc<dyn Source>, treasury: &Arc<Treasury>) -> App {
    let mut config = server::Config { public_url: origin.parse().unwrap(), ..server::Config::default() };
    config.limits.address_per_minute = 0;
    config.limits.credential_per_minute = 0;
    let server_key = store::ServerKey::open(&folder.path().join("store.key")).unwrap();
    let journal = store::Sqlite::open(&folder.path().join("journal.db"), server_key).unwrap();
    let asset =
        BondAsset { asset_name: "".parse().unwrap(), policy_id: None, symbol: "ADA".parse().unwrap() };
    let setup = Setup {
        engine: key(1),
        rail: treasury.clone(),
        verifier: Arc::new(Unverified),
        tariff: Tariff {
            amount: BOND.try_into().unwrap(),
            asset,
            escrow_address: treasury.escrow().clone(),
            held_ms: 3_600_000,
        },
        sink: treasury.sink().as_str().parse().unwrap(),
        callers: Vec::new(),
        approvers: Vec::new(),
        principals: Vec::new(),
        model: None,
        reading: env::Duration::from_millis(0),
        facilitator: None,
        masumi: None,
    };
    App::new(Parts {
        config,
        journal: Arc::new(journal),
        source: Arc::clone(source),
        signer: key(20),
        log: None,
        fetch: fetch::Client::new(Policy::default()).unwrap(),
        notifier: Arc::new(server::Silent),
        mandates: Some(setup),
    })
    .unwrap()
}
