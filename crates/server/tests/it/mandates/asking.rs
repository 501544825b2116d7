//! Asking: what an agent sends, what it is told, what it pays (cases 46 to 56, 70 to 74).

use super::desk::{AGENT, Desk, MASUMI, action, decoded, key, locked, paid, proposal, told, tx};
use super::till::Till;
use crate::proxies::{Stub, endpoint};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use canon::Digest;
use mandate::price::{BondDatum, OutRef};
use reqwest::Method;
use serde_json::{Value, json};
use server::config::Proxy;
use server::mandates::Unverified;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test]
async fn an_allowed_action_is_authorized_and_released() {
    let desk = Desk::start().await;
    let action = action("A1", 842);
    let (status, body) = told(desk.check(&action).await).await;
    assert_eq!((status, &body["evaluation"]["outcome"]), (200, &json!("ALLOW")), "{body}");
    let record: mandate::authorization::Record =
        canon::from_slice(body["authorization"].to_string().as_bytes()).unwrap();
    record.verify().unwrap();
    assert_eq!(body["verification"]["report_hash"], body["evaluation"]["verification_hash"]);
    for absent in ["brief", "bond", "escalation", "notice", "price"] {
        assert!(body.get(absent).is_none(), "{absent}");
    }
    desk.until("settled", |state| {
        let held = state.authorization(&record.digest_hex).unwrap();
        held.status == mandate::state::AuthorizationStatus::Settled
    })
    .await;
    assert_eq!(desk.till.payments()[&record.digest_hex], 1);
    let types = desk.types(body["run_id"].as_str().unwrap()).await;
    let expected = [
        "RunStarted",
        "ActionProposed",
        "AuthorityEvaluationStarted",
        "AuthorityEvaluated",
        "CREVerificationStarted",
        "CREVerificationCompleted",
        "AuthorityEvaluationStarted",
        "AuthorityEvaluated",
        "AuthorizationIssued",
        "TransactionBuilt",
        "TransactionSubmitted",
        "TransactionConfirmed",
    ];
    assert_eq!(types, expected);
}

#[tokio::test]
async fn case_46_47_an_escalation_is_priced_once() {
    let desk = Desk::start().await;
    let action = action("A1", 1800);
    let response = desk.check(&action).await;
    let header = decoded(&response, "payment-required");
    let (status, body) = told(response).await;
    assert_eq!(status, 402);
    assert_eq!(header, body);
    assert_eq!(body["x402Version"], 2);
    assert_eq!(body["accepts"][0]["network"], "cardano-preprod");
    assert_eq!(body["accepts"][1]["network"], "cardano:preprod");
    assert_eq!(body["accepts"][0]["extra"], body["accepts"][1]["extra"]["escalation"]);
    assert!(desk.inbox().await.is_empty());
    let again = desk.price(&action).await;
    let keyed = desk.bearer(Method::POST, "/v1/authority/check", AGENT).header("idempotency-key", "k:1");
    let (_, keyed) = told(keyed.json(&proposal(&action, true)).send().await.unwrap()).await;
    let price = &body["accepts"][0]["extra"];
    for other in [&again, &keyed] {
        assert_eq!(&other["accepts"][0]["extra"], price);
    }
    let run = desk
        .state()
        .await
        .approval(&price["approval_id"].as_str().unwrap().parse().unwrap())
        .unwrap()
        .run
        .clone();
    let types = desk.types(run.as_str()).await;
    assert_eq!(types.iter().filter(|kind| *kind == "BondRequired").count(), 1);
}

#[tokio::test]
async fn case_48_what_does_not_pay_is_402_at_the_same_price() {
    let desk = Desk::start().await;
    let action = action("A1", 1800);
    let required = desk.price(&action).await;
    let price = &required["accepts"][0]["extra"];
    let other = desk.price(&super::desk::action("A2", 1900)).await;
    let lock = |n: u32, edit: &dyn Fn(&mut BondDatum)| {
        let mut locked = locked(price, n);
        edit(&mut locked.datum);
        let at = locked.at;
        desk.till.edit(|books| books.bonds.insert(at, locked));
        at
    };
    let early = lock(1, &|datum| {
        datum.locked_until_ms = mandate::Millis::try_from(datum.locked_until_ms.get() - 1).unwrap();
    });
    let poor = lock(2, &|datum| datum.amount = 4_999_999_u64.try_into().unwrap());
    let zeros = lock(3, &|datum| datum.mandate_ref = mandate::text::KeyHash::from_bytes([0; 28]));
    let foreign = lock(4, &|datum| datum.action_hash = Digest::ZERO);
    let good = desk.lock(&required);
    let elsewhere = OutRef { output_index: 9, tx_hash: tx("nowhere") };
    for (payment, why) in [
        (paid(&required, &elsewhere), None),
        (paid(&required, &early), Some("bond_locked_until")),
        (paid(&required, &poor), Some("bond_amount")),
        (paid(&required, &zeros), Some("bond_mandate")),
        (paid(&required, &foreign), Some("bond_action")),
        (paid(&other, &good), None),
        ("garbage".to_owned(), None),
        (STANDARD.encode("{}"), None),
    ] {
        let response = desk.pay(&action, &payment).await;
        let refused = response
            .headers()
            .get("countersign-bond-refused")
            .map(|value| value.to_str().unwrap().to_owned());
        let (status, body) = told(response).await;
        assert_eq!((status, &body["accepts"][0]["extra"]), (402, price), "{why:?}");
        assert_eq!(refused.as_deref(), why);
    }
    assert!(desk.inbox().await.is_empty());
}

#[tokio::test]
async fn case_49_a_paid_price_asks_the_person() {
    let desk = Desk::start().await;
    let action = action("A1", 1800);
    let required = desk.price(&action).await;
    let at = desk.lock(&required);
    let response = desk.pay(&action, &paid(&required, &at)).await;
    let settled = decoded(&response, "payment-response");
    assert_eq!(
        settled,
        json!({ "success": true, "network": "cardano-preprod", "transaction": at.tx_hash.to_string() })
    );
    let (_, body) = told(response).await;
    assert_eq!(body["brief"]["schema"], "brief/v0.1");
    assert_eq!(body["bond"]["status"], "locked");
    assert!(body.get("escalation").is_none());
    let inbox = desk.inbox().await;
    assert_eq!(inbox.len(), 1);
    let brief = canon::canonicalize(inbox[0]["brief"].to_string().as_bytes()).unwrap();
    assert_eq!(inbox[0]["brief_hash"], Digest::of(&brief).to_string());
    assert_eq!(inbox[0]["brief"], body["brief"]);
    let types = desk.types(body["run_id"].as_str().unwrap()).await;
    let tail: Vec<_> = types.iter().rev().take(2).rev().collect();
    assert_eq!(tail, ["BondLocked", "ApprovalRequested"]);
}

#[tokio::test]
async fn case_50_a_refund_address_gives_the_datum() {
    let desk = Desk::start().await;
    let action = action("A1", 1800);
    let mut body = proposal(&action, true);
    body["bond_refund_address"] = json!(super::desk::RECIPIENT);
    let (status, required) = told(desk.send(&body).await).await;
    assert_eq!(status, 402);
    let datum = hex::decode(required["accepts"][1]["extra"]["datum"].as_str().unwrap()).unwrap();
    let datum = BondDatum::from_cbor(&datum).unwrap();
    let price = required["accepts"][0]["extra"].to_string();
    let price: mandate::price::Price = canon::from_slice(price.as_bytes()).unwrap();
    assert_eq!(
        datum,
        BondDatum::paying(&price, super::desk::vault().mandate_ref, datum.agent_key_hash, None)
    );
    for bad in
        [super::desk::SINK, "addr1nonsense", "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8"]
    {
        body["bond_refund_address"] = json!(bad);
        let (status, refused) = told(desk.send(&body).await).await;
        assert_eq!((status, &refused["code"]), (400, &json!("bad_refund_address")), "{bad}");
        assert_eq!(refused["error"], refused["detail"]);
    }
}

#[tokio::test]
async fn case_51_a_signed_lock_is_submitted_for_the_agent() {
    let desk = Desk::start().await;
    let action = action("A1", 1800);
    let required = desk.price(&action).await;
    let lock = locked(&required["accepts"][0]["extra"], 1);
    let payment = json!({ "x402Version": 2, "accepted": required["accepts"][1],
        "payload": { "transaction": STANDARD.encode(Till::lock_tx(&lock)), "nonce": format!("{}#0", tx("input")) } });
    let payment = STANDARD.encode(payment.to_string());
    // The answer of the submission is lost: still the price, and the next retry finds the lock.
    desk.till.script([super::till::Fate::LostLanded]);
    let (status, again) = told(desk.pay(&action, &payment).await).await;
    assert_eq!((status, &again["accepts"][0]["extra"]), (402, &required["accepts"][0]["extra"]));
    let response = desk.pay(&action, &payment).await;
    let settled = decoded(&response, "payment-response");
    let hash = Till::lock_hash(&lock).to_string();
    assert_eq!(settled, json!({ "success": true, "network": "cardano:preprod", "transaction": hash }));
    assert_eq!(told(response).await.0, 200);
    assert_eq!(desk.inbox().await.len(), 1);
}

#[tokio::test]
async fn case_53_55_56_only_those_who_were_asked_count() {
    let desk = Desk::start().await;
    let view = "/v1/authority/CFO?mandate_id=M-001";
    for n in 0..3 {
        desk.price(&action(&format!("unpaid{n}"), 1800)).await;
    }
    assert_eq!(desk.get(view).await.1["interrupt_budget"], json!({ "used": 0, "per_day": 3 }));
    // Their hour passes: still nobody was asked.
    desk.server.later(3_700);
    desk.until("expired", |state| state.open().count() == 0).await;
    let (_, shown) = desk.get(view).await;
    assert_eq!((&shown["escalations_today"], &shown["availability"]), (&json!(0), &json!("open")));
    for n in 0..3 {
        desk.ask(&action(&format!("paid{n}"), 1101)).await;
    }
    let (status, denied) = told(desk.check(&action("fourth", 1101)).await).await;
    assert_eq!((status, &denied["evaluation"]["reason"]), (200, &json!("INTERRUPT_BUDGET_EXHAUSTED")));
    let (_, shown) = desk.get(view).await;
    assert_eq!(
        (&shown["escalations_today"], &shown["availability"]),
        (&json!(3), &json!("budget_exhausted"))
    );
    assert_eq!(desk.inbox().await.len(), 3);
    desk.server.later(86_400);
    assert_eq!(desk.get(view).await.1["availability"], "open");
    desk.price(&action("tomorrow", 1101)).await;
}

#[tokio::test]
async fn case_54_the_last_interruption_is_sold_once() {
    let desk = Desk::with(|mandate| mandate["interrupt_budget"]["per_day"] = json!(1)).await;
    let (one, two) = (action("one", 1800), action("two", 1900));
    let (first, second) = (desk.price(&one).await, desk.price(&two).await);
    let (a, b) = (desk.lock(&first), desk.lock(&second));
    let (paid_a, paid_b) = (paid(&first, &a), paid(&second, &b));
    let (one, two) = tokio::join!(desk.pay(&one, &paid_a), desk.pay(&two, &paid_b));
    let (one, two) = (told(one).await, told(two).await);
    assert_eq!((one.0, two.0), (200, 200));
    let (asked, late) = if one.1.get("brief").is_some() { (one.1, two.1) } else { (two.1, one.1) };
    assert_eq!(asked["bond"]["status"], "locked");
    assert_eq!(late["evaluation"]["reason"], "INTERRUPT_BUDGET_EXHAUSTED");
    assert_eq!(late["bond"]["status"], "locked");
    assert_eq!(desk.inbox().await.len(), 1);
    // Nobody opens anything: both bonds go back by time.
    desk.server.later(3_700);
    desk.until("refunded", |state| state.open().count() == 0).await;
    assert!(desk.till.edit(|books| books.bonds.is_empty()));
}

#[tokio::test]
async fn case_58_what_is_not_there() {
    let desk = Desk::start().await;
    for (path, status) in [
        ("/v1/authority/CEO?mandate_id=M-001", 404),
        ("/v1/authority/CFO?mandate_id=M-999", 404),
        ("/v1/authority/CFO", 400),
        ("/v1/metrics", 400),
        ("/v1/metrics?mandate_id=M-999", 404),
    ] {
        assert_eq!(desk.get(path).await.0, status, "{path}");
    }
    let mut unknown = proposal(&action("A1", 842), true);
    unknown["mandate_id"] = json!("M-999");
    assert_eq!(told(desk.send(&unknown).await).await.0, 404);
}

#[tokio::test]
async fn case_70_one_invoice_is_paid_once() {
    let desk = Desk::start().await;
    let mut actions: Vec<_> = (0..5).map(|n| action(&format!("A{n}"), 842)).collect();
    for action in &mut actions {
        action["reference"] = json!({ "invoice_id": "in_same", "invoice_number": "INV-1" });
    }
    let answers = futures::future::join_all(actions.iter().map(|action| desk.check(action))).await;
    let mut outcomes = Vec::new();
    for answer in answers {
        let (status, body) = told(answer).await;
        assert_eq!(status, 200, "{body}");
        outcomes.push((body["evaluation"]["reason"].clone(), body["authorization"].is_null()));
    }
    let issued = outcomes.iter().filter(|(reason, none)| reason.is_null() && !none).count();
    let denied = outcomes.iter().filter(|(reason, none)| reason == "INVOICE_NOT_OPEN" && *none).count();
    assert_eq!((issued, denied), (1, 4), "{outcomes:?}");
}

#[tokio::test]
async fn case_71_another_number_is_not_verified() {
    let desk = Desk::start().await;
    desk.facts.differs.store(true, Ordering::SeqCst);
    let (status, body) = told(desk.check(&action("A1", 842)).await).await;
    assert_eq!((status, &body["evaluation"]["reason"]), (200, &json!("INVOICE_NOT_FOUND")), "{body}");
    assert_eq!(desk.facts.asked.load(Ordering::SeqCst), 0);
    let (_, log) = desk.get(&format!("/v1/runs/{}/log", body["run_id"].as_str().unwrap())).await;
    let denied = log["events"].as_array().unwrap().last().unwrap();
    assert_eq!(denied["payload"], json!({ "layer": "engine", "reason": "INVOICE_NOT_FOUND" }));
}

#[tokio::test]
async fn an_outage_is_no_decision() {
    let desk = Desk::start().await;
    desk.facts.down.store(true, Ordering::SeqCst);
    let response = desk.check(&action("A1", 842)).await;
    assert_eq!(response.headers()["retry-after"], "30");
    assert_eq!(told(response).await.0, 503);
    let mut nameless = action("A2", 842);
    nameless.as_object_mut().unwrap().remove("reference");
    let (status, body) = told(desk.check(&nameless).await).await;
    assert_eq!((status, &body["code"]), (422, &json!("VERIFICATION_UNAVAILABLE")));
    desk.till.edit(|books| books.down = true);
    let response = desk.check(&action("A3", 842)).await;
    assert_eq!(response.headers()["retry-after"], "10");
    assert_eq!(told(response).await, {
        let text = "the chain cannot be read right now";
        (
            503,
            json!({ "type": "urn:countersign:problem:chain_unavailable", "title": "Service Unavailable", "status": 503,
            "detail": text, "error": text, "code": "chain_unavailable", "retryable": true }),
        )
    });
    // Another document under the anchored version: nothing is evaluated.
    desk.till.edit(|books| {
        books.down = false;
        let mut other = super::desk::mandate_json();
        other["principal"]["name"] = json!("Other");
        books.mandate = mandate::Mandate::read(other.to_string().as_bytes()).unwrap();
    });
    desk.facts.down.store(false, Ordering::SeqCst);
    let (status, body) = told(desk.check(&action("A4", 842)).await).await;
    assert_eq!((status, &body["code"]), (500, &json!("anchor_mismatch")));
}

#[tokio::test]
async fn case_72_masumi_has_nothing_executed() {
    let desk = Desk::start().await;
    let ask = |body: Value| desk.bearer(Method::POST, "/v1/authority/check", MASUMI).json(&body).send();
    let action = action("A1", 1800);
    assert_eq!(told(ask(proposal(&action, true)).await.unwrap()).await.0, 403);
    let mut named = proposal(&action, false);
    named["run_id"] = json!("6f0c3b0e-3b44-4f8e-9d3c-0a4d5e6f7a8b");
    assert_eq!(told(ask(named).await.unwrap()).await.0, 403);
    let (status, body) = told(ask(proposal(&action, false)).await.unwrap()).await;
    assert_eq!((status, &body["price"]["approval_id"]), (200, &json!("quote")), "{body}");
    assert_eq!(body["escalation"]["price"], body["price"]);
    assert!(body["escalation"]["approval_endpoint"].as_str().unwrap().ends_with("/v1/authority/check"));
    assert!(body["approval_id"].is_null());
    // It reads its own run, and no other.
    let run = body["run_id"].as_str().unwrap();
    let path = format!("/v1/runs/{run}/log");
    assert_eq!(desk.bearer(Method::GET, &path, MASUMI).send().await.unwrap().status(), 200);
    let (_, other) = told(desk.check(&super::desk::action("A2", 842)).await).await;
    let path = format!("/v1/runs/{}/log", other["run_id"].as_str().unwrap());
    assert_eq!(desk.bearer(Method::GET, &path, MASUMI).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn case_73_plain_english_is_nobodys_word() {
    let desk = Desk::start().await;
    let body =
        json!({ "mandate_id": "M-001", "request_text": "Pay AWS 8.42 USDM for INV-A1", "execute": true });
    let (status, refused) = told(desk.send(&body).await).await;
    assert_eq!((status, &refused["code"]), (501, &json!("model_not_configured")));
    let said = action("A1", 842);
    let (stub, port) = Stub::start(&[&format!("Here it is: {said}"), "I would rather not"]).await;
    let desk = Desk::configured(
        |_| {},
        |config| {
            config.fetch_allow = vec![format!("127.0.0.1:{port}")];
            let model = Proxy::Openai(endpoint(format!("http://127.0.0.1:{port}/v1")));
            config.proxies.insert("reader".to_owned(), model);
        },
        |setup| setup.model = Some("reader".to_owned()),
    )
    .await;
    let (status, answer) = told(desk.send(&body).await).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["interpreted_action"], said);
    assert_eq!(answer["evaluation"]["outcome"], "ALLOW");
    assert_eq!(answer["notice"], "unsigned: evaluation only");
    assert!(answer["authorization"].is_null());
    assert!(stub.asked.lock().unwrap()[0].0.to_string().contains("8.42 USDM"));
    assert_eq!(told(desk.send(&body).await).await.0, 502);
}

#[tokio::test]
async fn case_74_idempotency() {
    let desk = Desk::start().await;
    let ask = |key: &str, body: &Value| {
        let request =
            desk.bearer(Method::POST, "/v1/authority/check", AGENT).header("idempotency-key", key.to_owned());
        request.json(body).send()
    };
    let allowed = proposal(&action("A1", 842), true);
    let first = told(ask("one", &allowed).await.unwrap()).await;
    assert_eq!(first.0, 200);
    assert_eq!(told(ask("one", &allowed).await.unwrap()).await, first);
    let (status, body) = told(ask("one", &proposal(&action("A2", 842), true)).await.unwrap()).await;
    assert_eq!((status, &body["code"]), (422, &json!("idempotency_key_reused")));
    // A price is not kept: the same key pays it.
    let escalated = action("A3", 1800);
    let (status, required) = told(ask("two", &proposal(&escalated, true)).await.unwrap()).await;
    assert_eq!(status, 402);
    let at = desk.lock(&required);
    let request = desk.bearer(Method::POST, "/v1/authority/check", AGENT).header("idempotency-key", "two");
    let paid = request.header("payment-signature", paid(&required, &at)).json(&proposal(&escalated, true));
    assert_eq!(paid.send().await.unwrap().status(), 200);
    for bad in ["", "has blank", &"x".repeat(201)] {
        let request = ask(bad, &allowed).await.unwrap();
        assert_eq!(told(request).await.1["code"], "bad_idempotency_key", "{bad:?}");
    }
}

#[tokio::test]
async fn shapes_and_limits() {
    let desk = Desk::start().await;
    let action = action("A1", 842);
    let good = proposal(&action, false);
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut body = good.clone();
        edit(&mut body);
        body
    };
    for (body, status, code) in [
        (edited(&|body| body["extra"] = json!(1)), 400, "bad_shape"),
        (edited(&|body| body["request_text"] = json!("pay")), 400, "bad_check"),
        (json!({ "mandate_id": "M-001" }), 400, "bad_check"),
        (edited(&|body| body["run_id"] = json!("run-1")), 400, "bad_run_id"),
        (edited(&|body| body["mandate_id"] = json!("M 1")), 400, "bad_shape"),
        (edited(&|body| body["proposal"]["agent_signature"] = json!("a".repeat(257))), 400, "bad_shape"),
    ] {
        let (got, refused) = told(desk.send(&body).await).await;
        assert_eq!(got, status, "{refused}");
        if code != "bad_shape" {
            assert_eq!(refused["code"], code);
        }
    }
    let post = |kind: &str, body: String| {
        let request =
            desk.bearer(Method::POST, "/v1/authority/check", AGENT).header("content-type", kind.to_owned());
        request.body(body).send()
    };
    assert_eq!(post("text/plain", good.to_string()).await.unwrap().status(), 415);
    assert_eq!(post("application/json", "{".to_owned()).await.unwrap().status(), 400);
    assert_eq!(post("application/json", "x".repeat(65_537)).await.unwrap().status(), 413);
    // What is no action is judged, and is on record.
    let (status, body) =
        told(desk.send(&edited(&|body| body["proposal"]["action"] = json!({ "nope": true }))).await).await;
    assert_eq!((status, &body["evaluation"]["reason"]), (200, &json!("INVALID_PROPOSAL")), "{body}");
    assert!(body["evaluation"]["action_hash"].is_null());
}

#[tokio::test]
async fn a_signed_request_is_the_delegates_and_good_once() {
    let desk = Desk::start().await;
    let body = proposal(&action("A1", 842), false);
    let path = "/v1/authority/check";
    let send = |seed: u8, nonce: &'static str| {
        let (desk, body) = (&desk, &body);
        async move { told(desk.signed_with(&key(seed), Method::POST, path, Some(body), nonce).await).await }
    };
    let (status, answer) = send(2, "nonce-1").await;
    assert_eq!((status, &answer["evaluation"]["outcome"]), (200, &json!("ALLOW")), "{answer}");
    let (status, again) = send(2, "nonce-1").await;
    assert_eq!((status, &again["code"]), (401, &json!("nonce_used")));
    assert_eq!(send(2, "nonce-2").await.0, 200);
    for (seed, nonce) in [(5, "nonce-3"), (6, "nonce-4"), (8, "nonce-5")] {
        assert_eq!(send(seed, nonce).await.0, 403, "{seed}");
    }
    // Another body under the same signature.
    let other = proposal(&action("A2", 842), false);
    let response = desk.signed(&key(2), Method::POST, path, Some(&body)).await;
    assert_eq!(response.status(), 200);
    let request = desk.server.http.post(desk.server.url(path)).json(&other);
    let forged =
        request.header("signature-input", "sig=()").header("signature", "sig=::").send().await.unwrap();
    assert_eq!(forged.status(), 401);
}

#[tokio::test]
async fn fifty_retries_of_one_bond_are_one_approval() {
    let desk = Desk::start().await;
    let action = action("A1", 1800);
    let required = desk.price(&action).await;
    let payment = paid(&required, &desk.lock(&required));
    let retries = futures::future::join_all((0..50).map(|_| desk.pay(&action, &payment))).await;
    for retry in retries {
        let (status, body) = told(retry).await;
        assert_eq!(
            (status, &body["approval_id"]),
            (200, &required["accepts"][0]["extra"]["approval_id"]),
            "{body}"
        );
    }
    assert_eq!(desk.inbox().await.len(), 1);
    let used = &desk.get("/v1/authority/CFO?mandate_id=M-001").await.1["interrupt_budget"]["used"];
    assert_eq!(used, 1);
}

#[tokio::test]
async fn a_thousand_checks_at_once_exceed_nothing() {
    let desk = Desk::start().await;
    // Of every ten, nine ask for 8 USDM within the agent's limit, one for 11 beyond it, which is paid for.
    let actions: Vec<_> =
        (0..1000).map(|n| action(&format!("A{n}"), if n % 10 == 9 { 1100 } else { 800 })).collect();
    let answers = futures::future::join_all(actions.iter().map(|action| async {
        let (status, body) = surely(&desk, action, None).await;
        match status {
            402 => surely(&desk, action, Some(&paid(&body, &desk.lock(&body)))).await,
            _ => (status, body),
        }
    }))
    .await;
    let (mut authorized, mut asked) = (0_u64, 0);
    for (status, body) in &answers {
        assert_eq!(*status, 200, "{body}");
        if !body["authorization"].is_null() {
            authorized += body["authorization"]["fields"]["amount"].as_str().unwrap().parse::<u64>().unwrap();
        }
        asked += usize::from(body.get("brief").is_some());
    }
    assert!((48_000_000..=50_000_000).contains(&authorized), "{authorized}");
    assert!(asked <= 3, "{asked}");
    assert_eq!(desk.inbox().await.len(), asked);
}

/// A check under a key of its own: where a thousand share a busy machine some connection ends without an answer, and what was
/// sent on it is asked for again.
async fn surely(desk: &Desk, action: &Value, payment: Option<&str>) -> (u16, Value) {
    let key = format!("{}:{}", action["id"].as_str().unwrap(), payment.is_some());
    loop {
        let request = desk.bearer(Method::POST, "/v1/authority/check", AGENT).header("idempotency-key", &key);
        let request = request.json(&proposal(action, true));
        let paid =
            payment.into_iter().fold(request, |request, paid| request.header("payment-signature", paid));
        let Ok(response) = paid.send().await else { continue };
        let status = response.status().as_u16();
        let Ok(text) = response.text().await else { continue };
        let body: Value = serde_json::from_str(&text).unwrap();
        if body["code"] != "idempotency_in_flight" {
            return (status, body);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn without_a_verifier_nothing_is_verified() {
    let desk = Desk::configured(|_| {}, |_| {}, |setup| setup.verifier = Arc::new(Unverified)).await;
    assert_eq!(told(desk.check(&action("A1", 842)).await).await.0, 503);
}
