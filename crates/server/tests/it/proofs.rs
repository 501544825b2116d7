//! The proofs that a room gives out, by both verifiers.

use crate::support::{Server, agree, refused, secret};
use reqwest::Method;
use serde_json::{Value, json};
use std::process::Command;
use verify::{Kind, Verdict};

/// A proof as it comes over HTTP.
async fn fetched(server: &Server, path: &str, secret: &str, kind: &str) -> Vec<u8> {
    let response = server.send(Method::GET, path, Some(secret), None).await;
    assert_eq!(response.status(), 200, "{path}");
    assert_eq!(response.headers()["content-type"], kind, "{path}");
    assert_eq!(response.headers()["cache-control"], "no-store", "{path}");
    response.bytes().await.unwrap().to_vec()
}

/// What the second verifier says of a file.
fn second(file: &[u8]) -> Value {
    let folder = crate::support::folder();
    let path = folder.path().join("proof");
    std::fs::write(&path, file).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../verifier-js/cli.mjs");
    let output = Command::new("node").arg(script).arg(&path).output().expect("node runs the second verifier");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn check(name: &str, file: &[u8], kind: Kind) {
    let report = verify::verify(file, None);
    assert_eq!((report.verdict, report.kind, report.code), (Verdict::Valid, Some(kind), None), "{name}");
    assert_eq!(second(file)["verdict"], "valid", "{name}");
    let text = String::from_utf8(file.to_vec()).unwrap();
    let forged = text.replacen("The hall on Monday", "The hall on Sunday", 1).replacen(
        "agent_joined",
        "agent_jained",
        1,
    );
    assert_ne!(text, forged, "{name}");
    let report = verify::verify(forged.as_bytes(), None);
    assert_eq!(report.verdict, Verdict::Refused, "{name}");
    assert_eq!(second(forged.as_bytes())["code"], report.code.unwrap(), "{name}");
}

#[tokio::test]
async fn a_brief_and_a_ledger_are_files_that_both_verifiers_accept() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let early = server.send(Method::GET, &room.path("/brief/proof"), Some(&room.a), None).await;
    assert_eq!(refused(early).await, (reqwest::StatusCode::CONFLICT, "no_brief".to_owned()));
    agree(&server, &room).await;
    let share = server.post(&room.path("/shares"), &room.a, json!({ "scope": "brief" })).await;
    let brief =
        fetched(&server, &room.path("/brief/proof"), &secret(&share["link"]), "application/json").await;
    check("brief", &brief, Kind::Brief);
    assert!(!String::from_utf8_lossy(&brief).contains("agent_joined"), "only from the brief's entry on");
    let ledger = fetched(&server, &room.path("/ledger/export"), &room.b, "application/jsonl").await;
    check("ledger", &ledger, Kind::LedgerExport);
    let head = server.get(&room.path("/ledger"), &room.b).await["head"]["n"].as_u64().unwrap();
    assert_eq!(
        ledger.split(|byte| *byte == b'\n').count() as u64,
        head + 2,
        "a header, every entry, the last line end"
    );
}

/// More entries than one page of the store.
#[tokio::test]
async fn a_long_ledger_is_sent_whole() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    for _ in 0..300 {
        let made = server.post(&room.path("/shares"), &room.a, json!({ "scope": "brief" })).await;
        let share = room.path(&format!("/shares/{}", made["id"].as_str().unwrap()));
        assert_eq!(server.send(Method::DELETE, &share, Some(&room.a), None).await.status(), 204);
    }
    let ledger = fetched(&server, &room.path("/ledger/export"), &room.a, "application/jsonl").await;
    let report = verify::verify(&ledger, None);
    assert_eq!((report.verdict, report.code), (Verdict::Valid, None));
    assert!(ledger.split(|byte| *byte == b'\n').count() > 600);
}
