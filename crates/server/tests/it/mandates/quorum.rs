//! Facts by a quorum of verifiers: whoever lies, is late, repeats or is somebody else, counts for nothing.

use super::desk::{Desk, action, key, proposal, report_json, told};
use async_trait::async_trait;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use canon::{Digest, Raw};
use env::Source;
use fetch::{Client, HostPort, Policy};
use keys::{PublicKey, Signer};
use mandate::statement::{Attested, Panel, Seat, Statement, StatementSchema};
use mandate::text::Ed25519Key;
use mandate::{HashedAction, Millis};
use serde_json::{Value, json};
use server::mandates::{Embedded, Entry, Peer, Quorum, Recorded, Registry, RegistryError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a verifier answers.
#[derive(Debug, Clone, Default)]
enum Says {
    #[default]
    Truth,
    Lies(&'static str),
    /// The invoice's number at the source.
    Number(Option<&'static str>),
    /// So much ago.
    Ago(u64),
    /// With another key.
    Key(u8),
    /// As another.
    Name(&'static str),
    /// What it said before.
    Again,
    Unavailable,
    Never,
}

struct Verifier {
    name: &'static str,
    seed: u8,
    says: Mutex<Says>,
    asked: AtomicUsize,
    last: Mutex<Vec<u8>>,
}

async fn verify(State(verifier): State<Arc<Verifier>>, body: Bytes) -> Response {
    verifier.asked.fetch_add(1, Ordering::SeqCst);
    let says = verifier.says.lock().unwrap().clone();
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let action = HashedAction::read(asked["action"].to_string().as_bytes()).unwrap();
    let mut report = report_json(&action);
    report["trigger_id"] = asked["trigger_id"].clone();
    let mut now = Millis::try_from(env::System.now()).unwrap();
    let (mut seed, mut name) = (verifier.seed, verifier.name);
    let mut number = action.reference.as_ref().map(|reference| reference.invoice_number.as_str().to_owned());
    match says {
        Says::Truth => {}
        Says::Lies(status) => {
            report["status"] = json!(status);
            report["facts"]["status_open"] = json!(false);
            report["result"] = json!("MISMATCH");
            report["reason"] = json!("INVOICE_NOT_OPEN");
        }
        Says::Number(other) => number = other.map(str::to_owned),
        Says::Ago(millis) => now = Millis::try_from(now.get() - millis).unwrap(),
        Says::Key(other) => seed = other,
        Says::Name(other) => name = other,
        Says::Again => return verifier.last.lock().unwrap().clone().into_response(),
        Says::Unavailable => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Says::Never => return std::future::pending().await,
    }
    let report = Raw::from_slice(report.to_string().as_bytes()).unwrap();
    let statement = Statement {
        invoice_number: number.map(|number| number.parse().unwrap()),
        observed_at_ms: now,
        report_hash: report.digest(),
        schema: StatementSchema::V01,
        verifier: name.parse().unwrap(),
    };
    let attested = Attested { report, signed: statement.sign(&key(seed)).unwrap() };
    let answer = canon::to_vec(&attested).unwrap();
    *verifier.last.lock().unwrap() = answer.clone();
    answer.into_response()
}

/// A server with three verifiers, two of whom are needed.
struct House {
    desk: Desk,
    verifiers: Vec<Arc<Verifier>>,
}

const NAMES: [&str; 3] = ["north", "south", "west"];

impl House {
    async fn open() -> Self {
        Self::with(Arc::new(Embedded)).await
    }

    async fn with(registry: Arc<dyn Registry>) -> Self {
        let (mut verifiers, mut allow, mut seats, mut peers) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (seed, name) in (31..).zip(NAMES) {
            let verifier = Verifier {
                name,
                seed,
                says: Mutex::default(),
                asked: AtomicUsize::new(0),
                last: Mutex::default(),
            };
            let verifier = Arc::new(verifier);
            let router = Router::new().route("/v1/verify", post(verify)).with_state(verifier.clone());
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let at = listener.local_addr().unwrap().to_string();
            tokio::spawn(async move { axum::serve(listener, router).await });
            let PublicKey::Ed25519(public) = key(seed).public() else { panic!("an ed25519 key") };
            let name: mandate::text::Id = name.parse().unwrap();
            seats.push(Seat { name: name.clone(), key: Ed25519Key::from_bytes(*public.as_bytes()) });
            peers.push(Peer::new(name, &format!("http://{at}/"), "a-secret").unwrap());
            allow.push(at.parse::<HostPort>().unwrap());
            verifiers.push(verifier);
        }
        let client = Client::new(Policy { allow, ..Policy::default() }).unwrap();
        let quorum = Quorum::new(
            Panel::new(seats, 2).unwrap(),
            peers,
            client,
            Arc::new(env::System),
            Duration::from_millis(1500),
            registry,
        );
        let desk = Desk::configured(|_| {}, |_| {}, |setup| setup.verifier = Arc::new(quorum)).await;
        Self { desk, verifiers }
    }

    fn say(&self, says: [Says; 3]) {
        for (verifier, says) in self.verifiers.iter().zip(says) {
            *verifier.says.lock().unwrap() = says;
        }
    }

    /// Status, and outcome with reason or code. Nothing is executed: the till of these tests makes no transactions of Cardano,
    /// which the log is judged by.
    async fn check(&self, name: &str) -> (u16, String, Value) {
        let (status, body) = told(self.desk.send(&proposal(&action(name, 100), false)).await).await;
        let said = match body["evaluation"]["outcome"].as_str() {
            Some(outcome) => match body["evaluation"]["reason"].as_str() {
                Some(reason) => format!("{outcome} {reason}"),
                None => outcome.to_owned(),
            },
            None => body["code"].as_str().unwrap().to_owned(),
        };
        (status, said, body)
    }
}

#[tokio::test]
async fn two_of_three_carry_a_report() {
    use Says::{Again, Ago, Key, Lies, Name, Never, Number, Truth, Unavailable};
    let house = House::open().await;
    let none = (503, "VERIFICATION_UNAVAILABLE");
    let rows = [
        ("all", [Truth, Truth, Truth], (200, "ALLOW"), 3, 0),
        ("stopped", [Truth, Unavailable, Truth], (200, "ALLOW"), 2, 0),
        ("silent", [Never, Truth, Truth], (200, "ALLOW"), 2, 0),
        ("liar", [Truth, Lies("void"), Truth], (200, "ALLOW"), 2, 1),
        ("two liars", [Lies("paid"), Truth, Lies("paid")], (200, "DENY INVOICE_NOT_OPEN"), 2, 1),
        ("two that differ", [Lies("paid"), Truth, Lies("void")], none, 0, 0),
        ("alone", [Truth, Unavailable, Unavailable], none, 0, 0),
        ("nobody", [Unavailable, Unavailable, Unavailable], none, 0, 0),
        ("stale", [Truth, Ago(61_000), Unavailable], none, 0, 0),
        ("unknown key", [Truth, Key(40), Unavailable], none, 0, 0),
        // The first, under the name of the second.
        ("two names", [Truth, Key(31), Unavailable], none, 0, 0),
        ("a borrowed name", [Truth, Name("west"), Unavailable], none, 0, 0),
        ("repeated", [Truth, Again, Again], none, 0, 0),
        (
            "another number",
            [Number(Some("X")), Number(Some("X")), Truth],
            (200, "DENY INVOICE_NOT_FOUND"),
            0,
            0,
        ),
        ("no number", [Number(None), Number(None), Truth], (200, "DENY INVOICE_NOT_FOUND"), 0, 0),
    ];
    for (name, says, expected, statements, dissent) in rows {
        house.say(says.clone());
        let (status, said, body) = house.check(&name.replace(' ', "-")).await;
        assert_eq!((status, said.as_str()), expected, "{name}: {body}");
        let count = |member: &str| body["verification"][member].as_array().map_or(0, Vec::len);
        assert_eq!((count("statements"), count("dissent")), (statements, dissent), "{name}: {body}");
    }
    // Nothing of it is priced, and the record is one that anybody can read.
    assert!(house.desk.inbox().await.is_empty());
    let (status, proof) = house.desk.get("/v1/mandates/M-001/proof").await;
    assert_eq!(status, 200, "{proof}");
    // Of another number, and of none, two of three signed each time; the third said otherwise.
    let denials = proof["entries"].as_array().unwrap().iter().filter(|entry| entry["type"] == "ActionDenied");
    let many =
        |entry: &Value, member: &str| entry["payload"]["evidence"][member].as_array().map_or(0, Vec::len);
    let said = |entry: &Value| (many(entry, "statements"), many(entry, "dissent"));
    assert_eq!(denials.filter(|entry| said(entry) == (2, 1)).count(), 2);
    let report = verify::verify(proof.to_string().as_bytes(), None);
    assert_eq!(report.verdict, verify::Verdict::Valid, "{report:?}");
    let key = |seed| {
        let PublicKey::Ed25519(key) = key(seed).public() else { panic!("an ed25519 key") };
        Ed25519Key::from_bytes(*key.as_bytes()).to_string()
    };
    let trust = json!({ "servers": [proof["export"]["key"]], "verifiers": [key(31), key(32), key(33)],
        "verifiers_required": 2 });
    let trust = verify::Trust::parse(trust.to_string().as_bytes()).unwrap();
    let report = verify::verify(proof.to_string().as_bytes(), Some(&trust));
    assert_eq!(report.verdict, verify::Verdict::Valid, "{report:?}");
}

#[tokio::test]
async fn who_reads_otherwise_is_shown_beside_the_brief() {
    let house = House::open().await;
    house.say([Says::Truth, Says::Lies("void"), Says::Truth]);
    let id = house.desk.ask(&action("big", 1800)).await;
    let response =
        house.desk.signed(&key(5), reqwest::Method::GET, &format!("/v1/approvals/{id}"), None).await;
    let (status, item) = told(response).await;
    let verification = &item["verification"];
    assert_eq!(status, 200, "{item}");
    assert_eq!(verification["report_hash"], item["brief"]["verified"]["report_hash"]);
    assert_eq!(verification["statements"].as_array().unwrap().len(), 2, "{verification}");
    assert_eq!(verification["dissent"][0]["signed"]["statement"]["verifier"], "south");
    assert_eq!(verification["dissent"][0]["report"]["status"], "void");
}

#[tokio::test]
async fn a_report_is_asked_for_once_while_it_is_fresh() {
    let house = House::open().await;
    assert_eq!(house.check("A1").await.1, "ALLOW");
    assert_eq!(house.check("A1").await.1, "ALLOW");
    for verifier in &house.verifiers {
        assert_eq!(verifier.asked.load(Ordering::SeqCst), 1);
    }
}

/// A registry that is not there at first, and then records.
#[derive(Debug, Default)]
struct Slow {
    calls: Mutex<Vec<(String, Digest, Digest)>>,
}

#[async_trait]
impl Registry for Slow {
    async fn record(&self, entry: &Entry<'_>) -> Result<Option<Recorded>, RegistryError> {
        let mut calls = self.calls.lock().unwrap();
        calls.push((entry.trigger_id.to_owned(), entry.subject, entry.report));
        if calls.len() < 3 {
            return Err(RegistryError("no block yet".to_owned()));
        }
        let at = Millis::try_from(env::System.now()).unwrap();
        Ok(Some(Recorded { at, tx: "0xabc".parse().unwrap() }))
    }
}

#[tokio::test]
async fn a_report_counts_once_it_is_recorded() {
    let slow = Arc::new(Slow::default());
    let house = House::with(slow.clone()).await;
    for _ in 0..2 {
        assert_eq!(house.check("A1").await.1, "VERIFICATION_UNAVAILABLE");
    }
    let (_, said, body) = house.check("A1").await;
    assert_eq!((said.as_str(), &body["verification"]["sepolia_tx"]), ("ALLOW", &json!("0xabc")), "{body}");
    // The same report each time: the source was read once.
    let calls = slow.calls.lock().unwrap();
    assert!(calls.iter().all(|call| *call == calls[0]), "{calls:?}");
    assert_eq!(body["verification"]["report_hash"], calls[0].2.to_string());
    assert_eq!(house.verifiers[0].asked.load(Ordering::SeqCst), 1);
}
