//! Everything the chain is asked for goes wrong once, in each of four ways, on every way that money takes: what is allowed, what a
//! person signs, what is captured, what nobody answers. Whatever fails, each is paid once, no bond is lost, and nobody was asked
//! who was not paid for.

use super::cardano::{Coast, witness};
use super::desk::{Signs, action, evidence_of, key, paid, signed_approval, statement_of, told};
use chain::Chain;
use chain::faulty::{Call, Fault};
use mandate::price::{BondStatus, OutRef, Price};
use mandate::state::AuthorizationStatus;
use reqwest::Method;
use serde_json::{Value as Json, json};
use std::time::Duration;

const CALLS: [Call; 7] =
    [Call::Tip, Call::Parameters, Call::Utxos, Call::Utxo, Call::Submit, Call::Transaction, Call::Evaluate];
const FAULTS: [Fault; 4] =
    [Fault::FailsClean, Fault::FailsAfterLanding, Fault::NeverAnswers, Fault::LandsAndNeverAnswers];

/// What becomes of a question.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Allowed,
    Approved,
    Frivolous,
    NobodyAnswers,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_what_is_allowed_is_paid_once() {
    all(Way::Allowed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_what_a_person_signs_is_paid_once_and_the_bond_goes_back() {
    all(Way::Approved).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_a_frivolous_bond_is_captured() {
    all(Way::Frivolous).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_a_bond_that_nobody_answered_goes_back() {
    all(Way::NobodyAnswers).await;
}

async fn all(way: Way) {
    let coast = Coast::of(|mandate| {
        mandate["interrupt_budget"]["per_day"] = json!(1000);
        for constraint in mandate["constraints"].as_array_mut().unwrap() {
            if constraint["kind"] == "daily_spend_lte" {
                constraint["value"] = json!("1000000000000");
            }
        }
    })
    .await;
    let cents = if way == Way::Allowed { 100 } else { 1100 };
    let mut played = 0;
    for call in CALLS {
        for fault in FAULTS {
            let case = format!("{way:?} {call:?} {fault:?}");
            played += 1;
            let action = action(&format!("F{played}"), cents);
            let play = async {
                match way {
                    Way::Allowed => allowed(&coast, &action, (call, fault)).await,
                    Way::Approved => approved(&coast, &action, (call, fault)).await,
                    Way::Frivolous => frivolous(&coast, &action, (call, fault)).await,
                    Way::NobodyAnswers => unanswered(&coast, &action, (call, fault)).await,
                }
            };
            assert!(
                tokio::time::timeout(Duration::from_secs(90), play).await.is_ok(),
                "{case}: it never ends"
            );
            coast.faulty.heal();
            let pays = matches!(way, Way::Allowed | Way::Approved);
            let expected = if pays { played * cents * 10_000 } else { 0 };
            assert_eq!(
                (coast.received().await, coast.balance().await),
                (expected, 500_000_000 - expected),
                "{case}"
            );
            let escrow = coast.ledger.utxos(coast.treasury.escrow().as_str()).await.unwrap();
            assert!(escrow.is_empty(), "{case}: a bond stays");
            let sink = coast.ledger.utxos(coast.treasury.sink().as_str()).await.unwrap();
            let sunk: u64 = sink.iter().map(|utxo| utxo.output.value.lovelace).sum();
            assert_eq!(sunk, if way == Way::Frivolous { played * 5_000_000 } else { 0 }, "{case}");
        }
    }
    let state = coast.state().await;
    for number in 1..=played {
        let Some(approval) = state.approval(&format!("AP-{number}").parse().unwrap()) else { continue };
        assert!(approval.paged_on.is_none() || approval.bond.is_some(), "an unpaid page");
    }
}

async fn allowed(coast: &Coast, action: &Json, (call, fault): (Call, Fault)) {
    coast.faulty.next(call, fault);
    let body = until_answered(async || coast.check(action, None).await).await;
    let digest = body["authorization"]["digest_hex"].as_str().unwrap().parse().unwrap();
    let settled =
        |state: &mandate::State| state.authorization(&digest).unwrap().status == AuthorizationStatus::Settled;
    coast.until("settled", 1, settled).await;
}

async fn approved(coast: &Coast, action: &Json, (call, fault): (Call, Fault)) {
    let id = ask(coast, action).await;
    coast.faulty.next(call, fault);
    let path = format!("/v1/approvals/{id}/approve");
    let desk = Signs { server: &coast.server };
    let approved = loop {
        let draft = until_answered(async || {
            told(desk.signed(&key(5), Method::POST, &path, Some(&json!({}))).await).await
        });
        let body = signed_approval(&draft.await, &key(5));
        let (status, approved) = coast.post(&path, &body).await;
        if status == 200 {
            break approved;
        }
        assert!(status >= 500, "{approved}");
        // It may be authorized by now: then it is asked for again with the same signature.
        let (status, approved) = coast.post(&path, &body).await;
        if status == 200 {
            break approved;
        }
    };
    let body = json!({ "approval_id": id, "authorization_digest": approved["authorization"]["digest_hex"],
        "cfo_witness_cbor": witness(approved["unsigned_tx_cbor"].as_str().unwrap(), &key(5)) });
    until_answered(async || coast.post("/v1/executions", &body).await).await;
    coast
        .until("paid, and the bond is back", 1, |state| over(state, &id) == Some(BondStatus::Refunded))
        .await;
}

async fn frivolous(coast: &Coast, action: &Json, (call, fault): (Call, Fault)) {
    let id = ask(coast, action).await;
    coast.faulty.next(call, fault);
    let desk = Signs { server: &coast.server };
    let path = format!("/v1/approvals/{id}");
    let asked = json!({ "reason": "frivolous" });
    let shown = until_answered(async || {
        told(desk.signed(&key(5), Method::POST, &format!("{path}/statement"), Some(&asked)).await).await
    });
    let body = json!({ "reason": "frivolous", "signed": evidence_of(&statement_of(&shown.await), &key(5)) });
    until_answered(async || coast.post(&format!("{path}/decline"), &body).await).await;
    // What is to be signed is on the approver's page, whatever became of the answer.
    let reader = coast.reader(5).await;
    while over(coast.state().await.as_ref(), &id) != Some(BondStatus::Captured) {
        let asked = coast.server.app.approval_asked(&reader, "M-001", &id).await.unwrap();
        let Some(to_sign) = asked.to_sign else { continue };
        let set = witness(&to_sign.tx, &key(5));
        let body = json!({ "tx_hash": to_sign.tx_hash, "cfo_witness_cbor": set });
        coast.post(&format!("{path}/bond-submit"), &body).await;
    }
}

async fn unanswered(coast: &Coast, action: &Json, (call, fault): (Call, Fault)) {
    let id = ask(coast, action).await;
    coast.faulty.next(call, fault);
    coast.server.later(3_700);
    coast.until("the bond is back", 61, |state| over(state, &id) == Some(BondStatus::Refunded)).await;
}

/// What became of an approval's bond.
fn over(state: &mandate::State, id: &str) -> Option<BondStatus> {
    state.approval(&id.parse().unwrap())?.bond.as_ref().map(|bond| bond.status)
}

/// Asks until the answer is no outage, as clients do.
async fn until_answered(ask: impl AsyncFn() -> (u16, Json)) -> Json {
    loop {
        let (status, body) = ask().await;
        if status < 500 {
            assert_eq!(status, 200, "{body}");
            return body;
        }
    }
}

/// Priced, locked by the agent on the ledger itself, paid. Gives the approval's id.
async fn ask(coast: &Coast, action: &Json) -> String {
    let (status, required) = coast.check(action, None).await;
    assert_eq!(status, 402, "{required}");
    let price: Price = canon::from_slice(required["accepts"][0]["extra"].to_string().as_bytes()).unwrap();
    let lock = coast.agent.lock(&price, coast.vault.mandate_ref).await.unwrap();
    coast.ledger.submit(&lock.tx).await.unwrap();
    let at = OutRef { output_index: 0, tx_hash: lock.tx_hash };
    let (status, body) = coast.check(action, Some(&paid(&required, &at))).await;
    assert_eq!(status, 200, "{body}");
    body["approval_id"].as_str().unwrap().to_owned()
}
