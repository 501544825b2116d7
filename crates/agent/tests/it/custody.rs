//! The gate before a real signer, whose journal is in memory.

use agent::{Asked, Call, Client, Custody, Decision, Gate, Outcome, Ticket};
use canon::Value;
use env::{Duration, Source, System};
use keys::{Algorithm, SoftwareSigner};
use pcm::signer::{Answered, Identity, Person, Policy};
use pcm::{Event, Unverified};
use signer::{Seat, Service, Setup, stream};
use std::path::Path;
use std::sync::Arc;
use store::{Journal, Log};
use testkit::MemoryJournal;

async fn service() -> Service {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let source: Arc<dyn Source> = Arc::new(System);
    let key = |seed: u8| Arc::new(SoftwareSigner::from_seed(Algorithm::Ed25519, &[seed; 32]).unwrap());
    let log = Log::new(Arc::clone(&journal), Arc::clone(&source), key(9), "test.local/log".parse().unwrap());
    let policy: Policy = canon::from_slice(
        br#"{"default":"allow","rule":[
            {"id":"R-ASK","tools":["mcp:one/ask"],"then":"ask"},
            {"id":"R-DENY","tools":["mcp:one/deny"],"then":"deny","why":"never"}]}"#,
    )
    .unwrap();
    Service::open(Setup {
        journal,
        source,
        key: key(1),
        log: log.of_stream(stream()),
        policy,
        secret: [5; 32],
        org: "home".to_owned(),
        asks: "https://sign.example/asks/".to_owned(),
        approval_lasts: Duration::from_secs(3600),
        reads_only: false,
    })
    .await
    .unwrap()
}

fn seat(service: &Service, gateway: bool) -> Arc<Seat> {
    let who = Identity {
        name: "uid:1000".to_owned(),
        tenant: "home".to_owned(),
        gateway,
        observer: false,
        operator: true,
        person: None,
        rate: None,
    };
    Arc::new(Seat { service: service.clone(), who })
}

async fn open(service: &Service, folder: &Path) -> Custody {
    let client = Client { agent: "one".to_owned(), caller: "harness:host".to_owned() };
    Custody::open(seat(service, true), folder, &client).await.unwrap()
}

fn call(tool: &str, arguments: &str) -> Call {
    Call { tool: format!("mcp:one/{tool}"), arguments: arguments.to_owned(), state: None }
}

fn allowed(decision: Decision) -> Ticket {
    match decision {
        Decision::Allow(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

fn asked(decision: Decision) -> Asked {
    match decision {
        Decision::Ask(asked) => asked,
        other => panic!("{other:?}"),
    }
}

fn code(decision: Decision) -> String {
    match decision {
        Decision::Deny(denial) => denial.code,
        other => panic!("{other:?}"),
    }
}

async fn answer(service: &Service, approval: &str, approve: bool) {
    service
        .answer(Answered {
            approval_id: approval.to_owned(),
            approve,
            by: Person { identity: "token:ana".to_owned(), name: "ana".to_owned() },
            channel: "rpc",
            reason: None,
            passkey: None,
            evidence: Value::Null,
        })
        .await
        .unwrap();
}

/// The types of the run's records, their tiers, and whether results went well.
async fn records(service: &Service, gate: &Custody) -> Vec<String> {
    let story = service.story(gate.run()).await.unwrap();
    let told = |bytes: &[u8]| {
        let record = Unverified::parse(bytes).unwrap();
        let event = Event::read(record.event()).unwrap();
        let tier = event.value().get("tier").and_then(Value::as_str).unwrap_or("-");
        let ok = event
            .data()
            .get("ok")
            .and_then(Value::as_bool)
            .map_or("", |ok| if ok { " ok" } else { " failed" });
        format!("{} {tier}{ok}", event.kind())
    };
    story.records.iter().map(|entry| told(&entry.bytes)).collect()
}

const DONE: &str = r#"{"result":{"content":[]}}"#;

fn done() -> Outcome {
    Outcome::Answered { content: DONE.to_owned(), ok: true }
}

#[tokio::test]
async fn a_call_is_two_records_of_a_gateway() {
    let (service, folder) = (service().await, tempfile::tempdir().unwrap());
    let gate = open(&service, folder.path()).await;
    let ticket = allowed(gate.decide(&call("t", r#"{"a":1}"#)).await.unwrap());
    gate.complete(&ticket, &done()).await.unwrap();
    gate.observe("mcp:one/file:///a", r#"{"result":{}}"#).await.unwrap();
    assert_eq!(code(gate.decide(&call("deny", "{}")).await.unwrap()), "R-DENY");
    assert_eq!(
        records(&service, &gate).await,
        [
            "run.registered -",
            "policy.decision T2",
            "tool.result T2 ok",
            "input.observed T2",
            "policy.decision T2"
        ]
    );
    gate.close().await;
    assert!(std::fs::read_to_string(folder.path().join("0.jsonl")).unwrap().is_empty());
}

#[tokio::test]
async fn whoever_is_no_gateway_records_as_the_agent() {
    let (service, folder) = (service().await, tempfile::tempdir().unwrap());
    let client = Client { agent: "one".to_owned(), caller: "harness:host".to_owned() };
    let gate = Custody::open(seat(&service, false), folder.path(), &client).await.unwrap();
    assert!(!gate.is_gateway());
    let ticket = allowed(gate.decide(&call("t", "{}")).await.unwrap());
    gate.complete(&ticket, &done()).await.unwrap();
}

#[tokio::test]
async fn an_approval_is_used_once_by_the_same_call() {
    let (service, folder) = (service().await, tempfile::tempdir().unwrap());
    let gate = open(&service, folder.path()).await;
    let first = asked(gate.decide(&call("ask", r#"{"n":1}"#)).await.unwrap());
    assert!(first.url.as_ref().unwrap().starts_with("https://sign.example/asks/"));
    answer(&service, &first.approval, true).await;
    // Other arguments ask anew; the same ones, however they are spelled, use the answer.
    let other = asked(gate.decide(&call("ask", r#"{"n":2}"#)).await.unwrap());
    assert_ne!(other.approval, first.approval);
    let ticket = allowed(gate.decide(&call("ask", r#"{ "n" : 1 }"#)).await.unwrap());
    assert_eq!(ticket.approval.as_ref(), Some(&first.approval));
    gate.complete(&ticket, &done()).await.unwrap();
    let again = asked(gate.decide(&call("ask", r#"{"n":1}"#)).await.unwrap());
    assert_ne!(again.approval, first.approval);
    answer(&service, &other.approval, false).await;
    assert_eq!(code(gate.decide(&call("ask", r#"{"n":2}"#)).await.unwrap()), "TK-APPROVAL-REJECTED");
}

#[tokio::test]
async fn an_approval_outlives_a_gateway_that_was_killed_or_has_ended() {
    let (service, folder) = (service().await, tempfile::tempdir().unwrap());
    let gate = open(&service, folder.path()).await;
    let first = asked(gate.decide(&call("ask", "{}")).await.unwrap());
    gate.close().await;
    drop(gate);
    answer(&service, &first.approval, true).await;
    let gate = open(&service, folder.path()).await;
    let ticket = allowed(gate.decide(&call("ask", "{}")).await.unwrap());
    assert_eq!(ticket.approval, Some(first.approval));
}

#[tokio::test]
async fn a_call_of_a_gateway_that_was_killed_is_unknown_and_told_once() {
    let (service, folder) = (service().await, tempfile::tempdir().unwrap());
    let gate = open(&service, folder.path()).await;
    let held = asked(gate.decide(&call("ask", "{}")).await.unwrap());
    allowed(gate.decide(&call("t", r#"{"a":1}"#)).await.unwrap());
    drop(gate);
    let gate = open(&service, folder.path()).await;
    let told = records(&service, &gate).await;
    assert_eq!(told.last().unwrap(), "tool.result T2 failed", "{told:?}");
    drop(gate);
    // Even where that gateway was killed before anybody asked.
    let gate = open(&service, folder.path()).await;
    assert_eq!(code(gate.decide(&call("t", r#"{"a":1}"#)).await.unwrap()), "unknown");
    allowed(gate.decide(&call("t", r#"{"a":1}"#)).await.unwrap());
    assert_eq!(asked(gate.decide(&call("ask", "{}")).await.unwrap()).approval, held.approval);
}
