//! A server that keeps one mandate, everyone who deals with it, and small words for what they do.

use super::till::Till;
use crate::support::{Server, Told, folder};
use approvals::{Decided, Evidence as Proven, Statement};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use canon::{Digest, Raw};
use env::Source;
use keys::http::{Message, Parameters, content_digest};
use keys::{Algorithm, SecretHash, Signer, SoftwareSigner};
use mandate::command::Verification;
use mandate::price::{BondDatum, Locked, OutRef, Price, Tariff};
use mandate::text::{Hex, KeyHash, TxHash};
use mandate::{Evidence, HashedAction, Mandate, Millis, Vault};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use server::mandates::{CallerKey, Kind, Rail, SIGNATURE_TAG, Setup, Verifier, signature_profile};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tempfile::TempDir;

/// Keys by their seeds: engine 1, agent 2, approver 5, principal 6, an approver of nothing here 8.
pub fn key(seed: u8) -> SoftwareSigner {
    SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap()
}

pub fn key_hash(signer: &dyn Signer) -> KeyHash {
    match signer.public() {
        keys::PublicKey::Ed25519(key) => KeyHash::of_key(&key),
        keys::PublicKey::P256(_) => panic!("an ed25519 key"),
    }
}

pub fn ed25519(signer: &dyn Signer) -> String {
    match signer.public() {
        keys::PublicKey::Ed25519(key) => format!("ed25519:{}", hex::encode(key.as_bytes())),
        keys::PublicKey::P256(_) => panic!("an ed25519 key"),
    }
}

/// Says of every invoice what its action says; or nothing, or what it is told to.
#[derive(Debug)]
pub struct Facts {
    source: Box<dyn Clock>,
    pub down: AtomicBool,
    pub asked: AtomicUsize,
    /// Invoice numbers that the source has otherwise.
    pub differs: AtomicBool,
    known: Mutex<Vec<(Digest, Evidence)>>,
}

trait Clock: Send + Sync + std::fmt::Debug {
    fn now(&self) -> Millis;
}

struct Of(Arc<dyn Source>);

impl std::fmt::Debug for Of {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("clock")
    }
}

impl Clock for Of {
    fn now(&self) -> Millis {
        Millis::try_from(self.0.now()).unwrap()
    }
}

impl Facts {
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self {
            source: Box::new(Of(source)),
            down: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
            differs: AtomicBool::new(false),
            known: Mutex::default(),
        }
    }

    fn fresh(&self, action: &Digest) -> Option<Evidence> {
        let now = self.source.now();
        let known = self.known.lock().unwrap();
        let found = known.iter().rev().find(|(of, _)| of == action);
        found
            .map(|(_, evidence)| evidence.clone())
            .filter(|evidence| now.since(evidence.block_time_ms) <= 600_000)
    }
}

#[async_trait]
impl Verifier for Facts {
    async fn known(&self, action: &HashedAction) -> Verification {
        match self.fresh(&action.hash()) {
            Some(evidence) => Verification::Reported { evidence, registry_tx: None },
            None => Verification::NotTried,
        }
    }

    async fn verify(&self, action: &HashedAction) -> Verification {
        if self.down.load(Ordering::SeqCst) {
            return Verification::Unavailable;
        }
        if self.differs.load(Ordering::SeqCst) {
            return Verification::NumberDiffers {
                on_record: Some("OTHER-1".parse().unwrap()),
                evidence: None,
            };
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        let evidence = report_of(action, self.source.now());
        self.known.lock().unwrap().push((action.hash(), evidence.clone()));
        Verification::Reported { evidence, registry_tx: None }
    }
}

/// A report that says what the action says.
pub fn report_json(action: &HashedAction) -> Value {
    let reference = action.reference.as_ref();
    json!({
        "schema": "verification/v0.1", "action_hash": action.hash().to_string(),
        "invoice_id": reference.map_or("none", |r| r.invoice_id.as_str()), "invoice_hash": "0b".repeat(32),
        "verified_amount": action.amount.value.to_string(), "verified_currency": "usd",
        "verified_recipient": action.recipient.address.as_str(), "status": "open",
        "facts": { "exists": true, "customer_match": true, "status_open": true, "amount_match": true,
            "currency_match": true, "recipient_match": true },
        "result": "VERIFIED", "reason": null, "trigger_id": format!("trg-{}", action.id),
    })
}

fn report_of(action: &HashedAction, now: Millis) -> Evidence {
    let report = Raw::from_slice(report_json(action).to_string().as_bytes()).unwrap();
    let report_hash = report.digest();
    Evidence::bare(now, report, report_hash)
}

pub fn vault() -> Vault {
    let json = json!({ "network": "cardano-preprod", "vault_hash": "aa".repeat(28), "mandate_ref": "bb".repeat(28),
        "asset_policy": "ee".repeat(28), "asset_name": "745553444d" });
    canon::from_slice(json.to_string().as_bytes()).unwrap()
}

pub fn tariff() -> Tariff {
    let json = json!({
        "amount": "5000000", "asset": { "policy_id": "", "asset_name": "", "symbol": "ADA" }, "held_ms": 3_600_000,
        "escrow_address": "addr_test1wqplkq2g25g5ctsdaapk69dmxmp0lt005kw6dtat4k9yzdclx093f" });
    canon::from_slice(json.to_string().as_bytes()).unwrap()
}

pub const SINK: &str = "addr_test1wq3vnggra5ljl2tunqkhd4hz4agvt422cvrfswcedj8um2cwsu3l3";
pub const RECIPIENT: &str = "addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl";

pub fn mandate_json() -> Value {
    let text = include_str!("../../../../../vectors/claudia/claudia.json");
    let vectors: Value = serde_json::from_str(text).unwrap();
    let mut mandate = vectors["derived"]["mandate_fixture"]["doc"].clone();
    mandate["approvers"][0]["cardano_key_hash"] = json!(key_hash(&key(5)).to_string());
    mandate["principal"]["cardano_key_hash"] = json!(key_hash(&key(6)).to_string());
    mandate["validity"] =
        json!({ "starts_at": "2020-01-01T00:00:00Z", "expires_at": "2100-01-01T00:00:00Z" });
    mandate
}

/// An action of so many hundredths of a USDM, for an invoice of its own.
pub fn action(name: &str, cents: u64) -> Value {
    json!({
        "schema": "action-ir/v0.1", "id": name, "mandate_id": "M-001", "actor": "cfo-agent-01", "type": "pay_invoice",
        "purpose": "invoice_payment", "counterparty": { "id": "aws", "display": "AWS" },
        "amount": { "value": (cents * 10_000).to_string(), "asset": "USDM" },
        "recipient": { "chain": "cardano", "address": RECIPIENT },
        "source": { "vault": "acme-treasury" },
        "reference": { "invoice_id": format!("in_{name}"), "invoice_number": format!("INV-{name}") },
        "rationale": "It is due.", "created_at": "2026-10-07T03:00:00Z",
    })
}

pub fn agent_signature(action: &Value) -> String {
    let hash = HashedAction::read(action.to_string().as_bytes()).map_or(Digest::ZERO, |action| action.hash());
    let signature = key(2).sign(&mandate::signing_bytes(&hash)).unwrap();
    Hex::from_bytes(*signature.as_bytes()).to_string()
}

pub fn proposal(action: &Value, execute: bool) -> Value {
    json!({ "mandate_id": "M-001", "execute": execute,
        "proposal": { "action": action, "agent_signature": agent_signature(action) } })
}

/// The output that pays a price; `n` tells outputs apart.
pub fn locked(price: &Value, n: u32) -> Locked {
    let price: Price = canon::from_slice(price.to_string().as_bytes()).unwrap();
    Locked {
        address: price.escrow_address.clone(),
        at: OutRef { output_index: n, tx_hash: tx(price.approval_id.as_str()) },
        datum: BondDatum::paying(&price, vault().mandate_ref, KeyHash::from_bytes([0xad; 28]), None),
        value: price.amount.units(),
    }
}

pub fn tx(name: &str) -> TxHash {
    TxHash::from_bytes(*Digest::of(name.as_bytes()).as_bytes())
}

/// PAYMENT-SIGNATURE, form A.
pub fn paid(required: &Value, at: &OutRef) -> String {
    let price = &required["accepts"][0]["extra"];
    let payment = json!({ "x402Version": 2, "accepted": required["accepts"][0],
        "payload": { "approval_id": price["approval_id"], "tx_hash": at.tx_hash.to_string(), "output_index": at.output_index } });
    STANDARD.encode(payment.to_string())
}

pub fn decoded(response: &Response, header: &str) -> Value {
    let value = response.headers().get(header).unwrap_or_else(|| panic!("no {header}"));
    serde_json::from_slice(&STANDARD.decode(value.as_bytes()).unwrap()).unwrap()
}

/// Status and JSON.
pub async fn told(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{status} {error}: {text}"));
    (status, body)
}

pub struct Desk {
    pub server: Server,
    pub till: Arc<Till>,
    pub facts: Arc<Facts>,
    _folder: TempDir,
}

impl Desk {
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// With another mandate.
    pub async fn with(edit: impl FnOnce(&mut Value)) -> Self {
        Self::configured(edit, |_| {}, |_| {}).await
    }

    pub async fn configured(
        edit: impl FnOnce(&mut Value),
        config: impl FnOnce(&mut server::Config),
        setup: impl FnOnce(&mut Setup),
    ) -> Self {
        let folder = folder();
        let mut document = mandate_json();
        edit(&mut document);
        let bytes = document.to_string().into_bytes();
        let made = OnceLock::new();
        let server = Self::serve(folder.path(), config, |source| {
            let mandate = Mandate::read(&bytes).unwrap();
            let till = Arc::new(Till::new(Arc::clone(source), mandate));
            let facts = Arc::new(Facts::new(Arc::clone(source)));
            let mut all = setup_of(&till, &facts);
            setup(&mut all);
            let _ = made.set((till, facts));
            Some(all)
        })
        .await;
        let (till, facts) = made.into_inner().unwrap();
        server.app.anchor_mandate(&bytes, vault(), None).await.unwrap();
        Self { server, till, facts, _folder: folder }
    }

    async fn serve(
        path: &Path,
        config: impl FnOnce(&mut server::Config),
        setup: impl FnOnce(&Arc<dyn Source>) -> Option<Setup>,
    ) -> Server {
        Server::keeping(path, config, |_| Arc::new(Told::default()), setup).await
    }

    /// Stops the server and starts another on the same store and chain.
    pub async fn restart(self) -> Self {
        self.restart_after(|_| {}).await
    }

    /// The same; something is done to the store in between.
    pub async fn restart_after(self, between: impl FnOnce(&Path)) -> Self {
        self.restart_with(between, |_| {}).await
    }

    /// The same, set up otherwise.
    pub async fn restart_with(mut self, between: impl FnOnce(&Path), edit: impl FnOnce(&mut Setup)) -> Self {
        self.server.stop();
        let (till, facts, folder) = (self.till.clone(), self.facts.clone(), self._folder);
        let ahead = self.server.ahead();
        drop(self.server);
        between(folder.path());
        let setup = |_: &Arc<dyn Source>| {
            let mut setup = setup_of(&till, &facts);
            edit(&mut setup);
            Some(setup)
        };
        let server = Self::serve(folder.path(), |_| {}, setup).await;
        server.later(ahead);
        Self { server, till, facts, _folder: folder }
    }

    pub fn bearer(&self, method: Method, path: &str, secret: &str) -> RequestBuilder {
        self.server.http.request(method, self.server.url(path)).bearer_auth(secret)
    }

    /// A check by the agent's bearer key.
    pub async fn check(&self, action: &Value) -> Response {
        self.send(&proposal(action, true)).await
    }

    pub async fn send(&self, body: &Value) -> Response {
        loop {
            let sent = self.bearer(Method::POST, "/v1/authority/check", AGENT).json(body).send().await;
            // A connection that was not made has carried nothing: of a thousand at once some wait too long.
            match sent {
                Err(error) if error.is_connect() => {}
                sent => return sent.unwrap(),
            }
        }
    }

    pub async fn pay(&self, action: &Value, payment: &str) -> Response {
        loop {
            let request =
                self.bearer(Method::POST, "/v1/authority/check", AGENT).header("payment-signature", payment);
            match request.json(&proposal(action, true)).send().await {
                Err(error) if error.is_connect() => {}
                sent => return sent.unwrap(),
            }
        }
    }

    /// A 402's document.
    pub async fn price(&self, action: &Value) -> Value {
        let (status, required) = told(self.check(action).await).await;
        assert_eq!(status, 402, "{required}");
        required
    }

    /// Locks the bond that a 402 asks for.
    pub fn lock(&self, required: &Value) -> OutRef {
        let locked = locked(&required["accepts"][0]["extra"], 0);
        let at = locked.at;
        self.till.edit(|books| books.bonds.insert(at, locked));
        at
    }

    /// From a proposal to the approver's inbox. Gives the approval's id.
    pub async fn ask(&self, action: &Value) -> String {
        let required = self.price(action).await;
        let at = self.lock(&required);
        let (status, body) = told(self.pay(action, &paid(&required, &at)).await).await;
        assert_eq!((status, &body["bond"]["status"]), (200, &json!("locked")), "{body}");
        body["approval_id"].as_str().unwrap().to_owned()
    }

    /// A request signed by a key (RFC 9421).
    pub async fn signed(
        &self,
        signer: &dyn Signer,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Response {
        Signs { server: &self.server }.signed(signer, method, path, body).await
    }

    pub async fn signed_with(
        &self,
        signer: &dyn Signer,
        method: Method,
        path: &str,
        body: Option<&Value>,
        nonce: &str,
    ) -> Response {
        Signs { server: &self.server }.signed_with(signer, method, path, body, nonce).await
    }

    pub async fn inbox(&self) -> Vec<Value> {
        let response = self.signed(&key(5), Method::GET, "/v1/approvals?status=pending", None).await;
        let (status, body) = told(response).await;
        assert_eq!(status, 200, "{body}");
        body["approvals"].as_array().unwrap().clone()
    }

    pub async fn draft(&self, id: &str) -> (u16, Value) {
        let path = format!("/v1/approvals/{id}/approve");
        told(self.signed(&key(5), Method::POST, &path, Some(&json!({}))).await).await
    }

    /// Opens, signs and approves. Gives the answer.
    pub async fn approve(&self, id: &str) -> (u16, Value) {
        let (status, draft) = self.draft(id).await;
        if status != 200 {
            return (status, draft);
        }
        let body = signed_approval(&draft, &key(5));
        self.post(&format!("/v1/approvals/{id}/approve"), &body).await
    }

    /// Approves and signs the release.
    pub async fn release(&self, id: &str) -> Value {
        let (status, approved) = self.approve(id).await;
        assert_eq!(status, 200, "{approved}");
        let (status, sent) = self.execute(id, &approved).await;
        assert_eq!(status, 200, "{sent}");
        approved
    }

    pub async fn execute(&self, id: &str, approved: &Value) -> (u16, Value) {
        let witness = Till::witness_of(approved["tx_hash"].as_str().unwrap(), &key(5));
        let body = json!({ "approval_id": id, "authorization_digest": approved["authorization"]["digest_hex"],
            "cfo_witness_cbor": witness });
        self.post("/v1/executions", &body).await
    }

    pub async fn decline(&self, id: &str, reason: &str) -> (u16, Value) {
        let path = format!("/v1/approvals/{id}/statement");
        let asked = json!({ "reason": reason });
        let (status, shown) = told(self.signed(&key(5), Method::POST, &path, Some(&asked)).await).await;
        assert_eq!(status, 200, "{shown}");
        let statement = statement_of(&shown);
        assert_eq!(statement.decision, Decided::Decline);
        let body = json!({ "reason": reason, "signed": evidence_of(&statement, &key(5)) });
        self.post(&format!("/v1/approvals/{id}/decline"), &body).await
    }

    /// A request by nobody: what it carries must speak for itself.
    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        told(self.server.http.post(self.server.url(path)).json(body).send().await.unwrap()).await
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        told(self.bearer(Method::GET, path, AGENT).send().await.unwrap()).await
    }

    /// The types of a run's entries.
    pub async fn types(&self, run: &str) -> Vec<String> {
        let (status, log) = self.get(&format!("/v1/runs/{run}/log")).await;
        assert_eq!(status, 200, "{log}");
        let events = log["events"].as_array().unwrap();
        events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until something about the mandate's stream holds: looks again whenever it moves.
    pub async fn until(&self, what: &str, holds: impl Fn(&mandate::State) -> bool) {
        let stream = ledger::StreamId::new("mandate", "M-001").unwrap();
        let wait = async {
            loop {
                let (state, head) =
                    self.server.app.runtime().state::<mandate::Authority>(&stream).await.unwrap();
                if holds(&state) {
                    return;
                }
                let _ = self.server.app.runtime().moved(&stream, head.seq).await;
            }
        };
        let waited = tokio::time::timeout(std::time::Duration::from_secs(30), wait).await;
        assert!(waited.is_ok(), "never: {what}");
    }

    pub async fn state(&self) -> Arc<mandate::State> {
        let stream = ledger::StreamId::new("mandate", "M-001").unwrap();
        self.server.app.runtime().state::<mandate::Authority>(&stream).await.unwrap().0
    }
}

/// Whoever signs their requests to a server.
pub struct Signs<'a> {
    pub server: &'a Server,
}

impl Signs<'_> {
    /// A request signed by a key (RFC 9421).
    pub async fn signed(
        &self,
        signer: &dyn Signer,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Response {
        self.signed_with(signer, method, path, body, &env::System.env().secret()).await
    }

    pub async fn signed_with(
        &self,
        signer: &dyn Signer,
        method: Method,
        path: &str,
        body: Option<&Value>,
        nonce: &str,
    ) -> Response {
        let url = self.server.url(path);
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let digest = content_digest(bytes.as_bytes());
        let fields = [("content-digest", digest.as_str())];
        let message = Message::request(method.as_str(), &url, &fields, bytes.as_bytes()).unwrap();
        let parameters = Parameters {
            created: Some(self.server.app.now()),
            keyid: Some(ed25519(signer)),
            nonce: Some(nonce.to_owned()),
            tag: Some(SIGNATURE_TAG.to_owned()),
            ..Parameters::default()
        };
        let signed = keys::http::sign(signer, &message, &signature_profile(), parameters).unwrap();
        let mut request = self
            .server
            .http
            .request(method, &url)
            .header("signature-input", signed.signature_input)
            .header("signature", signed.signature);
        if body.is_some() {
            request = request
                .header("content-digest", digest)
                .header("content-type", "application/json")
                .body(bytes);
        }
        request.send().await.unwrap()
    }
}

pub const AGENT: &str = "agent-secret";
pub const MASUMI: &str = "masumi-secret";
pub const VERIFIER: &str = "verifier-secret";

fn setup_of(till: &Arc<Till>, facts: &Arc<Facts>) -> Setup {
    setup_with(till.clone(), facts.clone(), tariff())
}

pub fn setup_with(rail: Arc<dyn Rail>, verifier: Arc<dyn Verifier>, tariff: Tariff) -> Setup {
    let caller = |name: &str, kind, secret: &str| CallerKey {
        name: name.to_owned(),
        kind,
        secret: SecretHash::of(secret),
        mandates: Vec::new(),
    };
    Setup {
        engine: Arc::new(key(1)),
        rail,
        verifier,
        tariff,
        sink: SINK.parse().unwrap(),
        callers: vec![
            caller("agent", Kind::Agent, AGENT),
            caller("masumi", Kind::Masumi, MASUMI),
            caller("verifier", Kind::Verifier, VERIFIER),
        ],
        approvers: Vec::new(),
        principals: Vec::new(),
        model: None,
        reading: env::Duration::from_millis(0),
        masumi: None,
        facilitator: None,
    }
}

pub fn statement_of(shown: &Value) -> Statement {
    let statement: Statement = canon::from_slice(shown["statement"].to_string().as_bytes()).unwrap();
    assert_eq!(shown["statement_hash"], statement.hash().to_string());
    statement
}

/// `signed`: this key over this statement.
pub fn evidence_of(statement: &Statement, signer: &dyn Signer) -> Value {
    let evidence = Proven::Ed25519 {
        thumbprint: signer.public().thumbprint().to_string(),
        signature: signer.sign(statement.hash().as_bytes()).unwrap().base64url(),
    };
    json!({ "key": ed25519(signer), "nonce": statement.nonce, "evidence": evidence })
}

pub fn signed_approval(draft: &Value, signer: &dyn Signer) -> Value {
    let statement = statement_of(draft);
    json!({ "authorization_digest": draft["authorization_digest"], "signed": evidence_of(&statement, signer) })
}
