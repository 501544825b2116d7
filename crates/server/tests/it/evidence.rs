//! The signer of a server: its calls over HTTP, its log, and a call that a person approves with a passkey.

use crate::people::Person;
use crate::support::{Server, good, refused};
use canon::Digest;
use http::HeaderMap;
use keys::{Algorithm, SoftwareSigner};
use pcm::bundle::{self, Alone, Outcome};
use pcm::signer::{Identity, Policy};
use reqwest::Method;
use serde_json::{Value, json};
use server::evidence::Attesting;
use server::{Caller, EvidenceInput, Session};
use signer::{Service, Setup, stream};
use std::sync::Arc;
use store::Log;

const TOKEN: &str = "a-token-of-at-least-thirty-two-characters";

async fn attested() -> Server {
    let server = Server::start().await;
    let key = |seed: u8| Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap());
    let journal = Arc::clone(server.app.journal());
    let source = Arc::clone(server.app.runtime().source());
    let log =
        Log::new(Arc::clone(&journal), Arc::clone(&source), key(8), "test.example/evidence".parse().unwrap());
    let policy: Policy = canon::from_slice(
        br#"{"default":"allow","rule":[{"id":"R-REFUND","tools":["refund"],"then":"ask"}]}"#,
    )
    .unwrap();
    let service = Service::open(Setup {
        journal,
        source,
        key: key(9),
        log: log.of_stream(stream()),
        policy,
        secret: [1; 32],
        org: "home".to_owned(),
        asks: server.app.config().link("/asks/evidence/"),
        approval_lasts: env::Duration::from_secs(3600),
        reads_only: false,
    })
    .await
    .unwrap();
    let who = Identity {
        name: "token:agent".to_owned(),
        tenant: "acme".to_owned(),
        gateway: false,
        observer: false,
        operator: false,
        person: None,
        rate: None,
    };
    server.app.attest(Attesting { service, tokens: [(Digest::of(TOKEN.as_bytes()), who)].into() });
    server
}

async fn call(server: &Server, body: Value) -> Value {
    good(server.send(Method::POST, "/v1/evidence", Some(TOKEN), Some(body)).await).await
}

async fn session(server: &Server, person: &Person) -> Session {
    let mut headers = HeaderMap::new();
    headers.insert("cookie", person.cookie.parse().unwrap());
    match server.app.authenticate(&headers, None).await.unwrap() {
        Caller::Member { session, .. } => session,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves_a_call_and_the_run_is_verified() {
    let server = attested().await;
    let mut person = Person::enrol(&server).await;
    let told =
        call(&server, json!({"method": "register_run", "request_id": "r", "agent": {"name": "a"}})).await;
    let with = |mut body: Value| {
        body["run_id"] = told["run_id"].clone();
        body["run_token"] = told["run_token"].clone();
        body
    };
    let refund = json!({"order": 81, "note": "for Ana"});
    let decided = call(
        &server,
        with(json!({"method": "decide", "request_id": "d", "stream": "s", "client_seq": 0,
        "tool_call_id": "refund-81", "tool": "refund", "args_source": "parsed", "args": refund})),
    )
    .await;
    assert_eq!(decided["decision"], "ask");
    let asked = call(
        &server,
        with(json!({"method": "approval_request", "request_id": "q", "tool_call_id": "refund-81"})),
    )
    .await;
    let id = asked["approval_id"].as_str().unwrap().to_owned();
    assert!(asked["url"].as_str().unwrap().ends_with(&format!("/asks/evidence/{id}")), "{asked}");

    // It is in the one inbox, with the exact call.
    let inbox = good(person.send(&server, Method::GET, "/api/inbox", None).await).await;
    let waiting = &inbox["waiting"][0];
    assert!(waiting["link"].as_str().unwrap().ends_with(&format!("/asks/evidence/{id}")), "{inbox}");
    let shown = waiting["ask"]["brief"].to_string();
    assert!(shown.contains("refund") && shown.contains("81") && shown.contains("for Ana"), "{shown}");

    // What is signed is this answer and no other.
    let session = session(&server, &person).await;
    let prepared = server.app.prepare_evidence(&session, &id, true, None).await.unwrap();
    let assertion = person.passkey.assert(&prepared.challenge.parse().unwrap()).unwrap();
    let mut evidence = serde_json::to_value(assertion).unwrap();
    evidence["kind"] = json!("passkey");
    let evidence: EvidenceInput = serde_json::from_value(evidence).unwrap();
    let answer = |approve: bool| {
        server.app.answer_evidence(&session, &id, (approve, None), prepared.nonce.clone(), evidence.clone())
    };
    assert!(answer(false).await.is_err(), "an approval signs no rejection");
    let weaker = server.app.answer_evidence(
        &session,
        &id,
        (true, None),
        prepared.nonce.clone(),
        EvidenceInput::Session {},
    );
    assert!(weaker.await.is_err(), "a session alone approves nothing");
    answer(true).await.unwrap();
    assert!(answer(true).await.is_err(), "answered once");
    let inbox = good(person.send(&server, Method::GET, "/api/inbox", None).await).await;
    assert_eq!(inbox["waiting"], json!([]));

    let consume = with(
        json!({"method": "approval_consume", "request_id": "c", "tool_call_id": "refund-81", "tool": "refund",
        "args_source": "parsed", "args": refund}),
    );
    assert_eq!(call(&server, consume).await["ok"], true);
    call(&server, with(json!({"method": "close_run", "request_id": "x"}))).await;
    let run = told["run_id"].as_str().unwrap();
    let service = server.app.signer_service().unwrap();
    let bytes = service.export(run).await.unwrap();
    let keys::PublicKey::Ed25519(public) = service.log().public() else { panic!() };
    let log =
        ledger::note::VerifierKey::new(service.log().origin().clone(), ledger::note::KeyType::Log, public);
    let trust = pcm::Trust::parse(format!(r#"{{"logs":["{log}"],"algs":["ed25519"]}}"#).as_bytes()).unwrap();
    let report = bundle::verify(&bytes, &trust, &Alone);
    assert_eq!(report.outcome, Outcome::Verified, "{:?}", report.first_failure());
    let note = server.send(Method::GET, "/evidence/log/checkpoint", None, None).await.text().await.unwrap();
    assert!(note.starts_with("test.example/evidence\n"), "{note}");
    let entries = server.send(Method::GET, "/evidence/log/tile/0/000.p/2", None, None).await;
    assert_eq!(entries.bytes().await.unwrap().len(), 64);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_token_is_nobody_and_faults_have_their_status() {
    let server = attested().await;
    let status = json!({"method": "status"});
    for token in [None, Some("another-token-of-at-least-thirty-two-characters")] {
        let found =
            refused(server.send(Method::POST, "/v1/evidence", token, Some(status.clone())).await).await;
        assert_eq!(found, (http::StatusCode::UNAUTHORIZED, "credential_required".to_owned()));
    }
    assert_eq!(call(&server, status).await["identity"]["subject"], "agent");
    let check = async |body: Value, code: u16, fault: &str| {
        let response = server.send(Method::POST, "/v1/evidence", Some(TOKEN), Some(body)).await;
        assert_eq!(response.status().as_u16(), code, "{fault}");
        assert_eq!(response.json::<Value>().await.unwrap()["error"]["code"], fault);
    };
    check(json!({"method": "fly"}), 400, "invalid_request").await;
    check(json!({"method": "approval_get", "approval_id": "apr-0"}), 404, "unknown_approval").await;
    check(json!({"method": "reveal", "run_id": "r"}), 403, "forbidden").await;
    let bare = Server::start().await;
    let found = refused(
        bare.send(Method::POST, "/v1/evidence", Some(TOKEN), Some(json!({"method": "status"}))).await,
    )
    .await;
    assert_eq!(found.0, http::StatusCode::NOT_FOUND);
}
