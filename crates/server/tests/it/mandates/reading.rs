//! Reading: receipts, logs, events, passes.

use super::cardano::Coast;
use super::desk::{Desk, action, key, mandate_json, told};
use canon::{Digest, Raw};
use mandate::log::{LogHead, closing_bytes, link};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

#[tokio::test]
async fn a_receipt_is_what_the_log_says() {
    let desk = Desk::start().await;
    let (_, body) = told(desk.check(&action("A1", 842)).await).await;
    let id = body["receipt_id"].as_str().unwrap();
    let (status, shown) = desk.get(&format!("/v1/receipts/{id}")).await;
    assert_eq!(status, 200, "{shown}");
    let canonical = canon::canonicalize(shown["receipt"].to_string().as_bytes()).unwrap();
    assert_eq!(shown["receipt_hash"], Digest::of(&canonical).to_string());
    assert_eq!(shown["receipt_hash"], body["receipt_hash"]);
    assert_eq!(shown["authorization"], body["authorization"]);
    let (_, log) = desk.get(&format!("/v1/runs/{}/log", body["run_id"].as_str().unwrap())).await;
    let named = |hash: &Value| {
        log["events"].as_array().unwrap().iter().find(|event| event["hash"] == *hash).unwrap()["type"].clone()
    };
    assert_eq!(named(&shown["receipt"]["evidence"]["first_event_hash"]), "ActionProposed");
    assert_eq!(named(&shown["receipt"]["evidence"]["last_event_hash"]), "AuthorizationIssued");
    // The same after a restart, from the log alone; and the same for the same check again.
    desk.until("settled", |state| state.unsettled().count() == 0).await;
    let desk = desk.restart().await;
    assert_eq!(desk.get(&format!("/v1/receipts/{id}")).await.1, shown);
    for bad in ["R-1-M-001", "R-999-M-001", "R-0", "x", "R-12-M-999"] {
        assert_eq!(desk.get(&format!("/v1/receipts/{bad}")).await.0, 404, "{bad}");
    }
}

#[tokio::test]
async fn every_decision_and_every_settlement_has_its_receipt() {
    let desk = Desk::start().await;
    let mut nope = action("A9", 842);
    nope["nope"] = json!(true);
    let denied = told(desk.check(&action("A1", 6000)).await).await.1;
    let invalid = told(desk.check(&nope).await).await.1;
    let escalated = action("A2", 1800);
    let required = desk.price(&escalated).await;
    let at = desk.lock(&required);
    let asked = told(desk.pay(&escalated, &super::desk::paid(&required, &at)).await).await.1;
    // Asked again: nothing is recorded, and the receipt is that of the decision that was.
    let again = told(desk.check(&escalated).await).await.1;
    assert_eq!(again["receipt_id"], asked["receipt_id"]);
    assert_eq!(again["receipt_hash"], asked["receipt_hash"]);
    let id = asked["approval_id"].as_str().unwrap();
    desk.release(id).await;
    desk.until("released", |state| state.open().count() == 0).await;
    let approved = told(desk.check(&escalated).await).await.1;
    assert_eq!(approved["evaluation"]["reason"], "INVOICE_NOT_OPEN", "{approved}");
    let run = asked["run_id"].as_str().unwrap();
    let (_, log) = desk.get(&format!("/v1/runs/{run}/log")).await;
    let confirmed = log["events"]
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event["type"] == "TransactionConfirmed")
        .unwrap();
    let settled = format!("R-{}-M-001", confirmed["seq"]);
    let receipts =
        [&denied, &invalid, &asked, &approved].map(|body| body["receipt_id"].as_str().unwrap().to_owned());
    let before = [denied, invalid, asked, approved].map(|body| body["receipt_hash"].clone());
    let desk = desk.restart().await;
    for (id, hash) in receipts.iter().zip(before) {
        let (status, shown) = desk.get(&format!("/v1/receipts/{id}")).await;
        assert_eq!((status, &shown["receipt_hash"]), (200, &hash), "{id}");
    }
    let (status, shown) = desk.get(&format!("/v1/receipts/{settled}")).await;
    assert_eq!(status, 200, "{shown}");
    let receipt = &shown["receipt"];
    assert_eq!(receipt["settlement"]["chain"], "cardano-preprod");
    assert_eq!(receipt["settlement"]["tx_hash"], confirmed["payload"]["tx_hash"]);
    assert_eq!(receipt["approval"]["cfo_key_hash"], super::desk::key_hash(&key(5)).to_string());
    assert_eq!(receipt["evidence"]["last_event_hash"], confirmed["hash"]);
    assert_eq!(receipt["authorization"]["digest"], shown["authorization"]["digest_hex"]);
}

#[tokio::test]
async fn a_log_is_a_chain_and_its_end_is_signed() {
    let desk = Desk::start().await;
    let opened = told(
        desk.bearer(Method::POST, "/v1/runs", super::desk::AGENT)
            .json(&json!({ "mandate_id": "M-001", "goal": "Pay what is due" }))
            .send()
            .await
            .unwrap(),
    )
    .await
    .1;
    let run = opened["run_id"].as_str().unwrap();
    assert_eq!(desk.get(&format!("/v1/runs/{run}/log")).await.0, 404);
    let mut body = super::desk::proposal(&action("A1", 842), true);
    body["run_id"] = json!(run);
    assert_eq!(told(desk.send(&body).await).await.1["run_id"], run);
    desk.until("settled", |state| state.unsettled().count() == 0).await;
    let (_, log) = desk.get(&format!("/v1/runs/{run}/log")).await;
    assert_eq!(log["run"]["goal"], "Pay what is due");
    assert!(log["closing"].is_null() && log["anchor"].is_null());
    for pair in log["events"].as_array().unwrap().windows(2) {
        assert_eq!(pair[1]["prev_hash"], pair[0]["hash"]);
        let mut stored = pair[1].clone();
        let prev: Digest = stored["prev_hash"].as_str().unwrap().parse().unwrap();
        let hash = stored["hash"].as_str().unwrap().to_owned();
        stored.as_object_mut().unwrap().retain(|name, _| name != "hash" && name != "prev_hash");
        let body = Raw::from_slice(stored.to_string().as_bytes()).unwrap();
        assert_eq!(link(&prev, body.as_bytes()).to_string(), hash);
    }
    let finish = desk
        .bearer(Method::POST, &format!("/v1/runs/{run}/finish"), super::desk::AGENT)
        .send()
        .await
        .unwrap();
    assert_eq!(finish.status(), 200);
    let (_, log) = desk.get(&format!("/v1/runs/{run}/log")).await;
    let closing = &log["closing"];
    let head = LogHead {
        hash: closing["hash"].as_str().unwrap().parse().unwrap(),
        seq: closing["seq"].as_u64().unwrap(),
    };
    let signature: mandate::text::Hex<64> = closing["signature"].as_str().unwrap().parse().unwrap();
    let signature = keys::Signature::from_bytes(*signature.as_bytes());
    use keys::Signer;
    key(1).public().verify(&closing_bytes(&run.parse().unwrap(), &head), &signature).unwrap();
    // A finished run takes no further check; a later release covers its end.
    body["proposal"] = super::desk::proposal(&action("A2", 842), true)["proposal"].clone();
    assert_eq!(told(desk.send(&body).await).await.0, 409);
    desk.check(&action("A3", 842)).await;
    desk.until("settled", |state| state.authorizations().len() == 2 && state.unsettled().count() == 0).await;
    let (_, log) = desk.get(&format!("/v1/runs/{run}/log")).await;
    assert!(log["anchor"]["seq"].as_u64().unwrap() >= head.seq, "{log}");
    let (_, runs) = desk.get("/v1/runs?mandate_id=M-001").await;
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2);
    assert_eq!(runs["runs"][1]["run_id"], run);
}

/// Reads a stream until it holds `text`.
async fn read(response: &mut reqwest::Response, into: &mut String, text: &str) {
    let wait = async {
        while !into.contains(text) {
            let chunk = response.chunk().await.unwrap().expect("the stream goes on");
            into.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), wait)
        .await
        .unwrap_or_else(|_| panic!("no {text}"));
}

#[tokio::test]
async fn events_come_once_each_and_go_on_where_they_stopped() {
    let desk = Desk::start().await;
    let (_, body) = told(desk.check(&action("A1", 1800)).await).await;
    assert_eq!(body["x402Version"], 2);
    let state = desk.state().await;
    let run = state.open().next().unwrap().run.to_string();
    let mut asked = super::desk::proposal(&action("A2", 842), false);
    asked["run_id"] = json!(run);
    let (_, body) = told(desk.send(&asked).await).await;
    let url = body["events_url"].as_str().unwrap();
    let path = url.split_once("/v1/").map(|(_, rest)| format!("/v1/{rest}")).unwrap();
    // The pass opens it without a key.
    let mut stream = desk.server.http.get(desk.server.url(&path)).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let mut heard = String::new();
    read(&mut stream, &mut heard, "AuthorizationIssued").await;
    assert!(heard.starts_with("retry: 3000\n"), "{heard}");
    assert!(!heard.contains("event:"));
    let ids: Vec<u64> =
        heard.lines().filter_map(|line| line.strip_prefix("id: ")).map(|id| id.parse().unwrap()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    let seen = ids.last().unwrap();
    asked["proposal"] = super::desk::proposal(&action("A3", 842), false)["proposal"].clone();
    told(desk.send(&asked).await).await;
    let again = desk.server.http.get(desk.server.url(&path)).header("last-event-id", seen.to_string());
    let mut stream = again.send().await.unwrap();
    let mut heard = String::new();
    read(&mut stream, &mut heard, "AuthorizationIssued").await;
    assert!(
        heard
            .lines()
            .filter_map(|line| line.strip_prefix("id: "))
            .all(|id| id.parse::<u64>().unwrap() > *seen)
    );
    let data = heard.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let event: Value = serde_json::from_str(data).unwrap();
    assert_eq!(event["run_id"], run);
    assert!(event["hash"].is_string() && event["prev_hash"].is_string());
    let missing = desk.get("/v1/runs/6f0c3b0e-3b44-4f8e-9d3c-0a4d5e6f7a8b/events").await;
    assert_eq!(missing.0, 404);
}

#[tokio::test]
async fn a_pass_opens_one_run_for_a_while() {
    let desk = Desk::start().await;
    let one = told(desk.check(&action("A1", 842)).await).await.1;
    let two = told(desk.check(&action("A2", 842)).await).await.1;
    let (run, other) = (one["run_id"].as_str().unwrap(), two["run_id"].as_str().unwrap());
    let share = json!({ "expires_in_seconds": 60 });
    let path = format!("/v1/runs/{run}/share");
    let pass = told(desk.signed(&key(5), Method::POST, &path, Some(&share)).await).await.1;
    let token = pass["token"].as_str().unwrap();
    let get = |path: String| {
        let desk = &desk;
        async move { desk.server.http.get(desk.server.url(&path)).send().await.unwrap().status() }
    };
    let receipt = one["receipt_id"].as_str().unwrap();
    assert_eq!(get(format!("/v1/runs/{run}/log?token={token}")).await, StatusCode::OK);
    assert_eq!(get(format!("/v1/receipts/{receipt}?token={token}")).await, StatusCode::OK);
    assert_eq!(get(format!("/v1/runs/{other}/log?token={token}")).await, StatusCode::UNAUTHORIZED);
    let foreign = two["receipt_id"].as_str().unwrap();
    assert_eq!(get(format!("/v1/receipts/{foreign}?token={token}")).await, StatusCode::NOT_FOUND);
    assert_eq!(get(format!("/v1/runs/{run}/log?token={token}x")).await, StatusCode::UNAUTHORIZED);
    desk.server.later(61);
    assert_eq!(get(format!("/v1/runs/{run}/log?token={token}")).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_mandate_is_shown_with_its_boundary() {
    let desk = Desk::start().await;
    desk.till.edit(|books| (books.day, books.spent) = (1, 7));
    let (status, shown) = desk.get("/v1/mandates/M-001").await;
    assert_eq!(status, 200, "{shown}");
    assert_eq!(shown["mandate"], mandate_json());
    let hash = Digest::of(&canon::canonicalize(mandate_json().to_string().as_bytes()).unwrap());
    assert_eq!(shown["mandate_hash"], hash.to_string());
    let limits = json!({ "autonomous_limit": "10000000", "hard_cap": "50000000", "daily_cap": "50000000", "treasury_minimum": "100000000" });
    assert_eq!(shown["limits"], limits);
    assert_eq!((&shown["anchor"]["version"], &shown["anchor"]["status"]), (&json!(3), &json!("active")));
    // A day that has passed counts nothing.
    assert_eq!(
        (&shown["vault"]["spent_today"], &shown["vault"]["balance"]),
        (&json!("0"), &json!("500000000"))
    );
}

#[tokio::test]
async fn what_a_stranger_reads_first() {
    let desk = Desk::start().await;
    let card =
        told(desk.server.http.get(desk.server.url("/.well-known/agent.json")).send().await.unwrap()).await.1;
    assert_eq!(card["pricing"]["interruption_bond"]["amount"], "5000000");
    assert_eq!(card["pricing"]["interruption_bond"]["display"], "5 ADA");
    assert_eq!(card["network"], "cardano-preprod");
    assert_eq!(card["outcomes"], json!(["ALLOW", "ESCALATE", "DENY"]));
    for (path, says) in [("/llms.txt", "POST /v1/authority/check"), ("/llms-full.txt", "# The Authority API")]
    {
        let response = desk.server.http.get(desk.server.url(path)).send().await.unwrap();
        assert!(response.text().await.unwrap().contains(says), "{path}");
    }
}

/// Of each decision, whatever became of it, and of each settlement; between them others' entries. After a restart all of them are
/// the same, and none takes more than the entries since its action was first proposed.
#[tokio::test]
async fn an_old_receipt_is_made_of_its_own_entries() {
    let mut coast = Coast::start().await;
    let mut receipts = BTreeMap::new();
    let mut keep = |body: Value| {
        let id = body["receipt_id"].as_str().unwrap().to_owned();
        receipts.insert(id, body["receipt_hash"].as_str().unwrap().to_owned());
    };
    let mut nope = action("A0", 842);
    nope["nope"] = json!(true);
    let id = coast.ask(&action("A1", 1800)).await;
    for n in 0..20 {
        keep(coast.check(&action(&format!("B{n}"), 6000), None).await.1);
    }
    keep(coast.check(&nope, None).await.1);
    keep(coast.check(&action("A2", 842), None).await.1);
    let approved = coast.approve(&id).await;
    coast.execute(&id, &approved).await;
    coast.until("all is settled", 1, |state| state.open().count() + state.unsettled().count() == 0).await;
    keep(coast.check(&action("A1", 1800), None).await.1);
    let log = async |coast: &Coast| {
        let path = "/v1/mandates/M-001/proof";
        let sent = coast.server.http.get(coast.server.url(path)).bearer_auth(super::desk::AGENT);
        told(sent.send().await.unwrap()).await.1
    };
    let before = log(&coast).await;
    let entries = before["entries"].as_array().unwrap().len();
    assert!(entries > 100, "{entries}");
    coast.journal.dead().store(true, Ordering::SeqCst);
    coast.revive().await;
    let get = async |coast: &Coast, path: String| {
        let sent = coast.server.http.get(coast.server.url(&path)).bearer_auth(super::desk::AGENT);
        told(sent.send().await.unwrap()).await
    };
    assert_eq!(get(&coast, "/v1/mandates/M-001".to_owned()).await.0, 200);
    let (mut longest, mut settled) = (0, 0);
    for seq in 1..=entries {
        let read = coast.journal.entries_read();
        let (status, shown) = get(&coast, format!("/v1/receipts/R-{seq}-M-001")).await;
        let (expected, id) =
            (receipts.remove(&format!("R-{seq}-M-001")), &shown["receipt"]["action"]["ir"]["id"]);
        assert!(status == 200 || expected.is_none(), "R-{seq}");
        if status != 200 {
            continue;
        }
        let read = coast.journal.entries_read() - read;
        let is_settled = !shown["receipt"]["settlement"].is_null();
        settled += usize::from(is_settled);
        longest = longest.max(if *id == "A1" { 0 } else { read });
        match expected {
            Some(expected) => assert_eq!(shown["receipt_hash"], expected, "R-{seq}"),
            None if is_settled => {}
            // As of an entry within a decision: nobody was given it.
            None => continue,
        }
        // Whoever has the whole log comes to the same.
        let (_, proof) = get(&coast, format!("/v1/receipts/R-{seq}-M-001/proof")).await;
        let proof: mandate::Proof = canon::from_slice(proof.to_string().as_bytes()).unwrap();
        let replay = proof.check().unwrap();
        assert_eq!(proof.check_claim(&replay), Ok(()), "R-{seq}");
    }
    assert!(receipts.is_empty(), "{receipts:?}");
    assert_eq!(settled, 2);
    assert!(longest <= 30, "a receipt took {longest} entries");
}
