//! The 402 document as the seed prints it, and what counts as an answer to it.

use crate::authorizing::vault;
use crate::desk::{Desk, action, tx};
use mandate::price::BondDatum;
use mandate::text::KeyHash;
use mandate::x402::{Payment, payment, required};
use serde_json::{Value, json};

#[test]
fn the_document_has_both_entries() {
    let mut desk = Desk::new();
    let price = desk.price(&action("one", 1800));
    let escrow: KeyHash = "03fb014855114c2e0def436d15bb36c2ffadefa59da6afabad8a4137".parse().unwrap();
    let datum = BondDatum::paying(&price, vault().mandate_ref, KeyHash::from_bytes([0xad; 28]), None);
    let read = |datum: Option<&BondDatum>| -> Value {
        let document = required(&price, "one", "https://api.example/v1/authority/check", escrow, 3600, datum);
        serde_json::from_slice(&canon::to_vec(&document).unwrap()).unwrap()
    };
    let shown: Value = serde_json::from_slice(&canon::to_vec(&price).unwrap()).unwrap();
    let entry = |scheme: &str, network: &str, extra: Value| {
        json!({"scheme": scheme, "network": network, "amount": "5000000", "asset": "lovelace",
            "payTo": "addr_test1wqplkq2g25g5ctsdaapk69dmxmp0lt005kw6dtat4k9yzdclx093f", "maxTimeoutSeconds": 3600,
            "extra": extra})
    };
    let exact = |datum: Option<String>| {
        let mut extra = json!({"assetTransferMethod": "script", "scriptHash": escrow.to_string(),
            "confirmationPolicy": {"l1Confirmations": 0}, "escalation": shown});
        if let Some(datum) = datum {
            extra["datum"] = json!(datum);
        }
        entry("exact", "cardano:preprod", extra)
    };
    assert_eq!(
        read(None),
        json!({"x402Version": 2, "error": "escalation requires a bond",
            "resource": {"url": "https://api.example/v1/authority/check",
                "description": "Human authority for action one"},
            "accepts": [entry("cardano-escrow", "cardano-preprod", shown.clone()), exact(None)]})
    );
    let cbor: String = datum.to_data().to_cbor().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(read(Some(&datum))["accepts"][1], exact(Some(cbor)));
}

#[test]
fn only_two_forms_are_an_answer() {
    let hash = tx("t").to_string();
    let locked = json!({"x402Version": 2, "accepted": {}, "payload": {"approval_id": "AP-1", "tx_hash": hash,
        "output_index": 0}});
    let handed = json!({"x402Version": 2, "accepted": {"scheme": "exact", "extra": {"escalation": {"approval_id":
        "AP-1"}}}, "payload": {"transaction": "hKQA", "nonce": format!("{hash}#7")}});
    let read = |json: &Value| payment(json.to_string().as_bytes());
    assert!(matches!(read(&locked), Some(Payment::Locked { at, .. }) if at.output_index == 0));
    assert!(matches!(read(&handed), Some(Payment::Transaction { nonce, .. }) if nonce.output_index == 7));
    for (document, pointer, value) in [
        (&locked, "/x402Version", json!(1)),
        (&locked, "/payload/output_index", json!(-1)),
        (&locked, "/payload/output_index", json!("0")),
        (&locked, "/payload/tx_hash", json!(hash.to_uppercase())),
        (&locked, "/payload/approval_id", json!("")),
        (&locked, "/payload", json!({"approval_id": "AP-1", "tx_hash": hash, "output_index": 0, "more": 1})),
        (&handed, "/payload/nonce", json!(hash)),
        (&handed, "/payload/nonce", json!(format!("{hash}#x"))),
        (&handed, "/payload/transaction", json!("")),
        (&handed, "/accepted/extra", json!({})),
        (&handed, "/accepted/scheme", json!("other")),
    ] {
        let mut bent = document.clone();
        *bent.pointer_mut(pointer).unwrap() = value.clone();
        assert_eq!(read(&bent), None, "{pointer} {value}");
    }
    assert_eq!(payment(b"not json"), None);
}
