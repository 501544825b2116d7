//! What is done after a while unless an approver objects.

use super::desk::{Desk, action, evidence_of, key, proposal, statement_of, told};
use reqwest::Method;
use serde_json::{Value, json};

/// Payments above 5 USDM wait for an hour; others are made at once.
async fn patient() -> Desk {
    Desk::with(|mandate| {
        mandate["schema"] = json!("mandate/v0.2");
        let wait = json!({ "id": "wait", "kind": "amount_lte", "value": "5000000", "on_violation": "DELAY",
            "delay_seconds": 3600, "approver": "CFO" });
        mandate["constraints"].as_array_mut().unwrap().insert(0, wait);
    })
    .await
}

async fn outcome(desk: &Desk, action: &Value) -> (String, String) {
    let (status, body) = told(desk.send(&proposal(action, true)).await).await;
    assert_eq!(status, 200, "{body}");
    let text = |member: &str| body["evaluation"][member].as_str().unwrap_or("none").to_owned();
    (text("outcome"), text("reason"))
}

async fn waiting(desk: &Desk, seed: u8) -> Vec<Value> {
    let (status, body) = told(desk.signed(&key(seed), Method::GET, "/v1/delays", None).await).await;
    assert_eq!(status, 200, "{body}");
    body["delays"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_objection_takes_the_approvers_own_signature() {
    let desk = patient().await;
    assert_eq!(outcome(&desk, &action("A1", 842)).await.0, "DELAY");
    let lines = waiting(&desk, 5).await;
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&line["action"]["id"], &line["mandate_id"]), (&json!("A1"), &json!("M-001")));
    let path = format!("/v1/delays/{}", line["action_hash"].as_str().unwrap());
    // The delegate, the principal and an approver of nothing here see none of it.
    for seed in [2, 6, 8] {
        assert_eq!(waiting(&desk, seed).await, Vec::<Value>::new(), "{seed}");
        let asked =
            desk.signed(&key(seed), Method::POST, &format!("{path}/statement"), Some(&json!({}))).await;
        assert_eq!(told(asked).await.1["code"], "delay_unknown", "{seed}");
    }
    assert_eq!(told(desk.server.http.get(desk.server.url("/v1/delays")).send().await.unwrap()).await.0, 401);

    let asked = desk.signed(&key(5), Method::POST, &format!("{path}/statement"), Some(&json!({}))).await;
    let statement = statement_of(&told(asked).await.1);
    let veto = |seed: u8| json!({ "signed": evidence_of(&statement, &key(seed)) });
    for seed in [1, 2, 6, 8] {
        let (status, refused) = desk.post(&format!("{path}/veto"), &veto(seed)).await;
        assert_eq!((status, &refused["code"]), (401, &json!("not_the_approver")), "{seed}");
    }
    let mut forged = veto(5);
    forged["signed"]["evidence"]["signature"] = veto(8)["signed"]["evidence"]["signature"].clone();
    assert_eq!(desk.post(&format!("{path}/veto"), &forged).await.0, 401);
    assert_eq!(waiting(&desk, 5).await.len(), 1);

    assert_eq!(desk.post(&format!("{path}/veto"), &veto(5)).await.0, 200);
    assert_eq!(waiting(&desk, 5).await.len(), 0);
    desk.server.later(3601);
    assert_eq!(outcome(&desk, &action("A1", 842)).await, ("DENY".to_owned(), "VETOED".to_owned()));
}

#[tokio::test]
async fn nobody_objects_and_it_is_allowed() {
    let desk = patient().await;
    assert_eq!(outcome(&desk, &action("A1", 842)).await.0, "DELAY");
    assert_eq!(outcome(&desk, &action("A2", 300)).await.0, "ALLOW");
    desk.server.later(3601);
    assert_eq!(waiting(&desk, 5).await.len(), 0);
    assert_eq!(outcome(&desk, &action("A1", 842)).await.0, "ALLOW");
}
