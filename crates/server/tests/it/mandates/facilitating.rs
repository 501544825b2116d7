//! A facilitator submits what agents hand over (case 52).

use super::desk::{Desk, action, decoded, locked, told, tx};
use super::till::Till;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mandate::price::Locked;
use serde_json::{Value, json};
use server::mandates::{Facilitator, Rail};
use std::sync::{Arc, Mutex, OnceLock};

/// What it was asked, by path; and what it says next.
#[derive(Default)]
struct Desks {
    asked: Mutex<Vec<(String, Value)>>,
    verifies: Mutex<Value>,
    settles: Mutex<Value>,
    /// Where it submits.
    till: OnceLock<Arc<Till>>,
    /// The answer to a settlement does not arrive.
    loses: Mutex<bool>,
}

async fn verify(State(desks): State<Arc<Desks>>, Json(body): Json<Value>) -> Json<Value> {
    desks.asked.lock().unwrap().push(("verify".to_owned(), body));
    Json(desks.verifies.lock().unwrap().clone())
}

async fn settle(State(desks): State<Arc<Desks>>, Json(body): Json<Value>) -> Response {
    let transaction = body["paymentPayload"]["payload"]["transaction"].as_str().unwrap().to_owned();
    desks.asked.lock().unwrap().push(("settle".to_owned(), body));
    let said = desks.settles.lock().unwrap().clone();
    if said["transaction"].is_string() {
        let tx = STANDARD.decode(transaction).unwrap();
        desks.till.get().unwrap().submit(&tx).await.unwrap();
    }
    if *desks.loses.lock().unwrap() {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    Json(said).into_response()
}

async fn facilitated() -> (Desk, Arc<Desks>) {
    let desks = Arc::new(Desks::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    let router = Router::new().route("/verify", post(verify)).route("/settle", post(settle));
    let router = router.with_state(desks.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let facilitator = Facilitator::new(&format!("http://{host}/")).unwrap();
    let desk = Desk::configured(
        |_| {},
        |config| config.fetch_allow = vec![host],
        |setup| setup.facilitator = Some(facilitator),
    )
    .await;
    desks.till.set(desk.till.clone()).unwrap_or_default();
    (desk, desks)
}

/// A payment by scheme `exact`, and the lock it hands over.
fn exact(required: &Value) -> (String, Locked) {
    let lock = locked(&required["accepts"][0]["extra"], 1);
    let payment = json!({ "x402Version": 2, "accepted": required["accepts"][1],
        "payload": { "transaction": STANDARD.encode(Till::lock_tx(&lock)), "nonce": format!("{}#0", tx("input")) } });
    (STANDARD.encode(payment.to_string()), lock)
}

#[tokio::test]
async fn case_52_what_a_facilitator_refuses_is_not_settled() {
    let (desk, desks) = facilitated().await;
    let action = action("A1", 1800);
    let required = desk.price(&action).await;
    let (payment, lock) = exact(&required);
    for refusal in
        [json!({ "isValid": false, "invalidReason": "invalid_exact_cardano_payload_amount" }), json!({})]
    {
        *desks.verifies.lock().unwrap() = refusal.clone();
        let (status, body) = told(desk.pay(&action, &payment).await).await;
        match refusal.get("isValid") {
            Some(_) => assert_eq!((status, &body["accepts"]), (402, &required["accepts"])),
            None => assert_eq!((status, &body["code"]), (503, &json!("facilitator_unavailable"))),
        }
    }
    let paths: Vec<_> = desks.asked.lock().unwrap().iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(paths, ["verify", "verify"]);
    let (_, asked) = desks.asked.lock().unwrap()[0].clone();
    let sent: Value = serde_json::from_slice(&STANDARD.decode(&payment).unwrap()).unwrap();
    assert_eq!(asked["x402Version"], 2);
    assert_eq!(asked["paymentPayload"], sent);
    assert_eq!(asked["paymentRequirements"], required["accepts"][1]);

    // A refusal to settle is none that pays; pending is submitted.
    *desks.verifies.lock().unwrap() = json!({ "isValid": true, "payer": "addr_test1" });
    *desks.settles.lock().unwrap() = json!({ "success": false, "errorReason": "unexpected_settle_error" });
    assert_eq!(told(desk.pay(&action, &payment).await).await.0, 402);
    assert!(desk.inbox().await.is_empty());
    let hash = Till::lock_hash(&lock).to_string();
    *desks.settles.lock().unwrap() = json!({ "success": false, "errorReason": "settlement_pending",
        "transaction": hash, "network": "cardano:preprod" });
    let response = desk.pay(&action, &payment).await;
    let settled = decoded(&response, "payment-response");
    assert_eq!(settled, json!({ "success": true, "network": "cardano:preprod", "transaction": hash }));
    assert_eq!(told(response).await.0, 200);
    assert_eq!(desk.inbox().await.len(), 1);
}

#[tokio::test]
async fn a_settlement_whose_answer_is_lost_is_found_on_chain_and_not_made_again() {
    let (desk, desks) = facilitated().await;
    let action = action("A1", 1800);
    let required = desk.price(&action).await;
    let (payment, lock) = exact(&required);
    *desks.verifies.lock().unwrap() = json!({ "isValid": true });
    *desks.settles.lock().unwrap() = json!({ "success": true, "transaction": Till::lock_hash(&lock).to_string(), "network": "cardano:preprod" });
    *desks.loses.lock().unwrap() = true;
    let (status, again) = told(desk.pay(&action, &payment).await).await;
    assert_eq!((status, &again["accepts"][0]["extra"]), (402, &required["accepts"][0]["extra"]));
    let asked = desks.asked.lock().unwrap().len();
    let (status, body) = told(desk.pay(&action, &payment).await).await;
    assert_eq!((status, &body["bond"]["status"]), (200, &json!("locked")));
    assert_eq!(desks.asked.lock().unwrap().len(), asked, "the chain said it");
}
