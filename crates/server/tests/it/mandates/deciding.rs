//! Deciding: what approvers read, sign and submit (cases 57 to 67, 69).

use super::desk::{Desk, action, evidence_of, key, key_hash, signed_approval, statement_of, told};
use super::till::Till;
use keys::Signer;
use mandate::state::ApprovalStatus;
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

#[tokio::test]
async fn an_approved_release_pays_and_gives_the_bond_back() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let approved = desk.release(&id).await;
    assert_eq!((&approved["signed"], &approved["required"]), (&json!(1), &json!(1)));
    assert_eq!(approved["authorization"]["fields"]["requires_principal"], true);
    assert!(approved["bond_tx"].is_null());
    let approval = id.parse().unwrap();
    desk.until("the bond is back", |state| state.open().count() == 0).await;
    let state = desk.state().await;
    let found = state.approval(&approval).unwrap();
    assert_eq!(found.bond.as_ref().unwrap().status, mandate::price::BondStatus::Refunded);
    // One transaction did both.
    let outcome = found.bond.as_ref().unwrap().outcome_tx.unwrap().to_string();
    assert_eq!(outcome, approved["tx_hash"].as_str().unwrap());
    assert!(desk.inbox().await.is_empty());
    let types = desk.types(found.run.as_str()).await;
    let tail = types.iter().skip_while(|kind| *kind != "AuthorizationDrafted").cloned().collect::<Vec<_>>();
    let expected = [
        "AuthorizationDrafted",
        "CFOApproved",
        "CREVerificationCompleted",
        "AuthorityEvaluationStarted",
        "AuthorityEvaluated",
        "AuthorizationIssued",
        "TransactionBuilt",
        "TransactionSubmitted",
        "TransactionConfirmed",
        "BondRefunded",
    ];
    assert_eq!(tail, expected);
}

#[tokio::test]
async fn case_57_the_last_of_the_budget_can_be_approved() {
    let desk = Desk::start().await;
    let mut last = String::new();
    for n in 0..3 {
        last = desk.ask(&action(&format!("A{n}"), 1101)).await;
    }
    assert_eq!(desk.approve(&last).await.0, 200);
}

#[tokio::test]
async fn case_59_approving_twice_is_approving_once() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let (_, draft) = desk.draft(&id).await;
    let body = signed_approval(&draft, &key(5));
    let path = format!("/v1/approvals/{id}/approve");
    let (one, two) = (desk.post(&path, &body).await, desk.post(&path, &body).await);
    assert_eq!(one.0, 200, "{}", one.1);
    assert_eq!(one, two);
    assert_eq!(one.1["authorization"]["digest_hex"], draft["authorization_digest"]);
    assert_eq!(desk.state().await.authorizations().len(), 1);
    // Key and digest are known to many; the release is for whoever signed.
    let signature = |value: &str| {
        let mut forged = body.clone();
        forged["signed"]["evidence"]["signature"] = json!(value);
        forged
    };
    let good = body["signed"]["evidence"]["signature"].as_str().unwrap();
    let other = evidence_of(&statement_of(&draft), &key(8))["evidence"]["signature"].clone();
    for forged in [signature(&"A".repeat(good.len())), signature(other.as_str().unwrap())] {
        let (status, refused) = desk.post(&path, &forged).await;
        assert_eq!((status, refused.get("unsigned_tx_cbor")), (401, None), "{refused}");
    }
    let mut renamed = body.clone();
    renamed["signed"]["nonce"] = json!("another-nonce-0123");
    assert_eq!(desk.post(&path, &renamed).await.0, 401);
}

#[tokio::test]
async fn case_60_what_no_longer_fits_is_closed() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    desk.till.edit(|books| books.balance = 110_000_000);
    let (status, body) = desk.draft(&id).await;
    assert_eq!((status, &body["code"]), (409, &json!("TREASURY_FLOOR_VIOLATION")), "{body}");
    assert_eq!(body["evaluation"]["outcome"], "DENY");
    let state = desk.state().await;
    assert_eq!(state.approval(&id.parse().unwrap()).unwrap().status, ApprovalStatus::Closed);
    assert!(state.authorizations().is_empty());
}

#[tokio::test]
async fn case_61_62_a_log_that_was_changed_signs_nothing() {
    // The recipient, the judgement, the brief: each is an entry of one chain.
    for (from, to) in
        [("18000000", "19000000"), ("\"ESCALATE\"", "\"ALLOW\""), ("addr_test1vzs6", "addr_test1vzs7")]
    {
        let desk = Desk::start().await;
        let id = desk.ask(&action("A1", 1800)).await;
        let desk = desk
            .restart_after(|folder| {
                let store = rusqlite::Connection::open(folder.join("store.sqlite")).unwrap();
                let changed = store
                    .execute(
                        "UPDATE entry SET bytes = CAST(replace(CAST(bytes AS TEXT), ?1, ?2) AS BLOB)
                         WHERE instr(CAST(bytes AS TEXT), ?1) > 0",
                        (from, to),
                    )
                    .unwrap();
                assert!(changed > 0, "{from}");
            })
            .await;
        assert_eq!(desk.draft(&id).await.0, 500, "{from}");
        assert_eq!(told(desk.check(&action("A2", 842)).await).await.0, 500, "{from}");
        assert!(desk.till.edit(|books| books.built) == 0, "{from}");
    }
}

#[tokio::test]
async fn case_63_an_outage_closes_nothing() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    // The report that was found when it was priced has grown old.
    desk.server.later(700);
    desk.facts.down.store(true, Ordering::SeqCst);
    assert_eq!(desk.draft(&id).await.0, 503);
    assert_eq!(desk.inbox().await.len(), 1);
    desk.facts.down.store(false, Ordering::SeqCst);
    desk.till.edit(|books| books.down = true);
    assert_eq!(desk.draft(&id).await.0, 503);
    desk.till.edit(|books| books.down = false);
    assert_eq!(desk.inbox().await.len(), 1);
    assert_eq!(desk.approve(&id).await.0, 200);
}

#[tokio::test]
async fn case_64_w9_an_execution_is_of_this_release_and_once() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let (_, approved) = desk.approve(&id).await;
    let tx_hash = approved["tx_hash"].as_str().unwrap();
    let digest = &approved["authorization"]["digest_hex"];
    let send = |digest: &Value, witness: String| {
        let body = json!({ "approval_id": id, "authorization_digest": digest, "cfo_witness_cbor": witness });
        let desk = &desk;
        async move { desk.post("/v1/executions", &body).await }
    };
    let good = Till::witness_of(tx_hash, &key(5));
    assert_eq!(send(&json!("00".repeat(32)), good.clone()).await.0, 409);
    // A witness of another key, and one over another body (W9).
    for bad in [Till::witness_of(tx_hash, &key(6)), Till::witness_of("other", &key(5)), "00".to_owned()] {
        let (status, body) = send(digest, bad).await;
        assert_eq!((status, &body["code"]), (401, &json!("bad_witness")));
    }
    assert_eq!(desk.till.payments().len(), 0);
    let (status, body) = send(digest, good.clone()).await;
    assert_eq!((status, &body["tx_hash"]), (200, &json!(tx_hash)), "{body}");
    assert_eq!(send(digest, good).await.0, 409);
    desk.until("released", |state| state.unsettled().count() == 0).await;
    assert_eq!(desk.till.payments().len(), 1);
}

#[tokio::test]
async fn case_65_a_decline_is_signed_for_this_and_nothing_else() {
    let desk = Desk::start().await;
    let one = desk.ask(&action("A1", 1800)).await;
    let two = desk.ask(&action("A2", 1900)).await;
    let path = format!("/v1/approvals/{one}/decline");
    let statement = |id: &str, reason: &str| {
        let (desk, path, asked) =
            (&desk, format!("/v1/approvals/{id}/statement"), json!({ "reason": reason }));
        async move { statement_of(&told(desk.signed(&key(5), Method::POST, &path, Some(&asked)).await).await.1) }
    };
    let mine = statement(&one, "legitimate").await;
    let others = statement(&two, "legitimate").await;
    for (body, why) in [
        (json!({}), "empty"),
        (json!({ "reason": "legitimate" }), "unsigned"),
        (json!({ "reason": "legitimate", "signed": evidence_of(&others, &key(5)) }), "another approval's"),
        (json!({ "reason": "legitimate", "signed": evidence_of(&mine, &key(6)) }), "the principal's"),
        (json!({ "reason": "legitimate", "signed": evidence_of(&mine, &key(8)) }), "a stranger's"),
        (json!({ "reason": "frivolous", "signed": evidence_of(&mine, &key(5)) }), "another reason"),
        (
            json!({ "reason": "legitimate", "comment": "x", "signed": evidence_of(&mine, &key(5)) }),
            "a comment",
        ),
        (json!({ "reason": "legitimate", "signature": "00", "key": "00" }), "no wallet"),
        (json!({ "reason": "other", "signed": evidence_of(&mine, &key(5)) }), "no reason"),
    ] {
        let (status, refused) = desk.post(&path, &body).await;
        assert_eq!(status, 401, "{why}: {refused}");
    }
    // Nor does it approve.
    let (_, draft) = desk.draft(&one).await;
    let body = json!({ "authorization_digest": draft["authorization_digest"], "signed": evidence_of(&mine, &key(5)) });
    assert_eq!(desk.post(&format!("/v1/approvals/{one}/approve"), &body).await.0, 401);
    assert_eq!(desk.inbox().await.len(), 2);
    let body = json!({ "reason": "legitimate", "signed": evidence_of(&mine, &key(5)) });
    assert_eq!(desk.post(&path, &body).await.0, 200);
    assert_eq!(desk.post(&path, &body).await.0, 409);
}

#[tokio::test]
async fn an_older_decline_of_a_wallet_is_taken() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let message = mandate::proof::decline_message(&id, mandate::log::DeclineReason::Legitimate).unwrap();
    let (sign1, cose_key) = wallet(5, &message);
    let path = format!("/v1/approvals/{id}/decline");
    let body = json!({ "reason": "frivolous", "signature": sign1, "key": cose_key });
    assert_eq!(desk.post(&path, &body).await.0, 401);
    let body = json!({ "reason": "legitimate", "comment": "x", "signature": sign1, "key": cose_key });
    assert_eq!(desk.post(&path, &body).await.0, 401);
    let body = json!({ "reason": "legitimate", "signature": sign1, "key": cose_key });
    let (status, body) = desk.post(&path, &body).await;
    assert_eq!((status, &body["ok"]), (200, &json!(true)), "{body}");
}

/// COSE_Sign1 and COSE_Key of a wallet whose payment key this is, in hex.
fn wallet(seed: u8, message: &[u8]) -> (String, String) {
    let signer = key(seed);
    let mut address = vec![0x60];
    address.extend_from_slice(key_hash(&signer).as_bytes());
    let mut protected = vec![0xa2, 0x01, 0x27, 0x67];
    protected.extend_from_slice(b"address");
    protected.extend_from_slice(&[0x58, 29]);
    protected.extend_from_slice(&address);
    let bytes = |bytes: &[u8]| [vec![0x58, u8::try_from(bytes.len()).unwrap()], bytes.to_vec()].concat();
    let signature = signer.sign(&mandate::cose::signed_bytes(&protected, message)).unwrap();
    let sign1 =
        [vec![0x84], bytes(&protected), vec![0xa0], bytes(message), bytes(signature.as_bytes())].concat();
    let keys::PublicKey::Ed25519(public) = signer.public() else { panic!("an ed25519 key") };
    let cose_key = [vec![0xa3, 0x01, 0x01, 0x20, 0x06, 0x21], bytes(public.as_bytes())].concat();
    (hex::encode(sign1), hex::encode(cose_key))
}

#[tokio::test]
async fn case_66_the_approver_is_the_anchors() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let (_, draft) = desk.draft(&id).await;
    desk.till.edit(|books| books.approvers = vec![key_hash(&key(8))]);
    let path = format!("/v1/approvals/{id}/approve");
    assert_eq!(desk.post(&path, &signed_approval(&draft, &key(5))).await.0, 401);
    assert_eq!(desk.post(&path, &signed_approval(&draft, &key(8))).await.0, 401);
    assert!(desk.state().await.authorizations().is_empty());
}

#[tokio::test]
async fn case_67_a_bond_goes_where_the_approver_said() {
    let desk = Desk::start().await;
    for (name, reason, status) in [("A1", "legitimate", "refunded"), ("A2", "frivolous", "captured")] {
        let action = action(name, 1800);
        let id = desk.ask(&action).await;
        let (code, declined) = desk.decline(&id, reason).await;
        assert_eq!((code, &declined["reason"]), (200, &json!(reason)), "{declined}");
        let tx_hash = declined["bond_tx"]["tx_hash"].as_str().unwrap();
        let path = format!("/v1/approvals/{id}/bond-submit");
        let submit = |tx_hash: &str, seed: u8| {
            let witness = Till::witness_of(tx_hash, &key(seed));
            let body = json!({ "tx_hash": tx_hash, "cfo_witness_cbor": witness });
            let (desk, path) = (&desk, path.clone());
            async move { desk.post(&path, &body).await }
        };
        assert_eq!(submit(&"00".repeat(32), 5).await.0, 409);
        assert_eq!(submit(tx_hash, 6).await.0, 401);
        let (code, spent) = submit(tx_hash, 5).await;
        assert_eq!((code, &spent["bond"]["status"]), (200, &json!(status)), "{spent}");
        assert_eq!(spent["bond"]["outcome_tx_hash"], tx_hash);
        assert_eq!(submit(tx_hash, 5).await.0, 409);
        // The agent is told, and nothing is paid.
        let (code, body) = told(desk.check(&action).await).await;
        assert_eq!((code, &body["evaluation"]["reason"]), (200, &json!("PRINCIPAL_DECLINED")), "{body}");
    }
    assert!(desk.till.payments().is_empty());
}

#[tokio::test]
async fn a_comment_reaches_the_agent() {
    let desk = Desk::start().await;
    let action = action("A1", 1800);
    let id = desk.ask(&action).await;
    let asked = json!({ "reason": "legitimate", "comment": "Ask in January." });
    let path = format!("/v1/approvals/{id}/statement");
    let shown = told(desk.signed(&key(5), Method::POST, &path, Some(&asked)).await).await.1;
    let signed = evidence_of(&statement_of(&shown), &key(5));
    let body = json!({ "reason": "legitimate", "comment": "Ask in January.", "signed": signed });
    assert_eq!(desk.post(&format!("/v1/approvals/{id}/decline"), &body).await.0, 200);
    let (_, body) = told(desk.check(&action).await).await;
    assert_eq!(body["comment"], "Ask in January.");
}

#[tokio::test]
async fn case_69_the_figures_of_a_day() {
    let desk = Desk::start().await;
    desk.check(&action("allowed", 842)).await;
    desk.check(&action("denied", 6000)).await;
    desk.price(&action("unpaid", 1800)).await;
    let approved = desk.ask(&action("approved", 1100)).await;
    desk.release(&approved).await;
    desk.until("released", |state| state.open().count() == 1).await;
    let frivolous = desk.ask(&action("frivolous", 1200)).await;
    let (_, declined) = desk.decline(&frivolous, "frivolous").await;
    let tx_hash = declined["bond_tx"]["tx_hash"].as_str().unwrap();
    let body = json!({ "tx_hash": tx_hash, "cfo_witness_cbor": Till::witness_of(tx_hash, &key(5)) });
    assert_eq!(desk.post(&format!("/v1/approvals/{frivolous}/bond-submit"), &body).await.0, 200);
    let response =
        desk.server.http.get(desk.server.url("/v1/metrics?mandate_id=M-001")).send().await.unwrap();
    let (_, mut figures) = told(response).await;
    assert!(figures["median_decision_ms"].is_u64());
    figures.as_object_mut().unwrap().remove("median_decision_ms");
    assert_eq!(
        figures,
        json!({ "actions_evaluated": 5, "allow": 1, "deny": 1, "escalate": 3, "interruptions_per_100_actions": 40,
            "bonds": { "required": 3, "locked": 2, "refunded": 1, "captured": 1 }, "budget_exhausted": 0,
            "fees": { "releases": 2, "bond_spends": 1, "lovelace": 0 } })
    );
}

#[tokio::test]
async fn a_seed_shaped_approval_is_told_what_is_missing() {
    let desk = Desk::start().await;
    let id = desk.ask(&action("A1", 1800)).await;
    let path = format!("/v1/approvals/{id}/approve");
    let response = desk.server.http.post(desk.server.url(&path)).send().await.unwrap();
    let (status, body) = told(response).await;
    assert_eq!((status, &body["code"]), (401, &json!("approver_signature_required")));
    assert!(desk.state().await.authorizations().is_empty());
}
