//! Cases 33 to 37 of spec 3.2, and the shapes and cross rules of spec 1.2, 1.3.

use crate::fixture::{action_json, mandate_json, report_json};
use mandate::{HashedAction, Mandate, Refusal, Report};
use serde_json::{Value, json};

fn action(edit: impl FnOnce(&mut Value)) -> Result<HashedAction, Refusal> {
    let mut json = action_json();
    edit(&mut json);
    HashedAction::read(json.to_string().as_bytes())
}

fn refused(edit: impl FnOnce(&mut Value)) -> String {
    let mut json = mandate_json();
    edit(&mut json);
    match Mandate::read(json.to_string().as_bytes()) {
        Ok(_) => String::new(),
        Err(Refusal::MandateRules { problems }) => problems.join("; "),
        Err(Refusal::Document(error)) => format!("{} {}", error.code, error.place),
        Err(other) => other.to_string(),
    }
}

#[test]
fn actions_are_read_strictly() {
    let check = |pointer: &str, value: Value, good: bool| {
        let read = action(|json| *json.pointer_mut(pointer).unwrap() = value.clone());
        match read {
            Ok(_) => assert!(good, "{pointer} {value}"),
            Err(Refusal::Document(error)) => {
                assert!(!good, "{pointer} {value}: {error}");
                assert_eq!(error.place, pointer);
            }
            Err(other) => panic!("{other}"),
        }
    };
    for bad in
        [json!(8_420_000), json!("-1"), json!("1.5"), json!("0"), json!("01"), json!("18446744073709551616")]
    {
        check("/amount/value", bad, false);
    }
    check("/amount/value", json!("18446744073709551615"), true);
    check("/amount/asset", json!("usdm"), false);
    check("/type", json!("gift"), false);
    check("/type", json!("transfer"), true);
    check("/recipient/chain", json!("solana"), false);
    check("/recipient/address", json!("addr_test1vzs6"), false);
    let upper = action_json()["recipient"]["address"].as_str().unwrap().to_uppercase();
    check("/recipient/address", json!(upper), false);
    check("/created_at", json!("2026-10-07T03:00:00+00:00"), false);
    check("/created_at", json!("2026-10-07T03:00:00.123456789Z"), true);
    check("/rationale", json!("x".repeat(2001)), false);
    check("/rationale", json!("😀".repeat(2000)), true);
    check("/rationale", json!(""), true);
    check("/counterparty/display", json!(""), false);
    check("/counterparty/display", json!("é".repeat(128)), true);
    check("/id", json!("a b"), false);
    check("/schema", json!("action-ir/v0.2"), false);
    check("/reference", Value::Null, false);
    check("/reference/invoice_id", json!(""), false);
    assert!(action(|json| json["extra"] = json!(1)).is_err());
    assert!(action(|json| json["amount"]["extra"] = json!(1)).is_err());
    assert!(action(|json| drop(json.as_object_mut().unwrap().remove("rationale"))).is_err());
    assert!(action(|json| drop(json.as_object_mut().unwrap().remove("reference"))).is_ok());
    let text = action_json().to_string();
    for broken in [
        text.replace("\"USDM\"", "\"USDM\",\"asset\":\"USDM\""),
        text.replace("AWS (", "\\ud800 ("),
        format!("{text} 1"),
    ] {
        assert!(HashedAction::read(broken.as_bytes()).is_err(), "{broken}");
    }
}

#[test]
fn a_hash_is_of_the_canonical_form() {
    let pretty = serde_json::to_string_pretty(&action_json()).unwrap();
    let read = HashedAction::read(pretty.as_bytes()).unwrap();
    assert_eq!(read.hash(), canon::Digest::of(&canon::canonicalize(pretty.as_bytes()).unwrap()));
    // Case 36: whatever the order of members.
    let mut reversed = serde_json::Map::new();
    for (key, value) in mandate_json().as_object().unwrap().iter().rev() {
        reversed.insert(key.clone(), value.clone());
    }
    let one = Mandate::read(Value::Object(reversed).to_string().as_bytes()).unwrap();
    let two = Mandate::read(mandate_json().to_string().as_bytes()).unwrap();
    assert_eq!(one.hash(), two.hash());
    assert_eq!(
        canon::to_vec(&one).unwrap(),
        canon::canonicalize(mandate_json().to_string().as_bytes()).unwrap()
    );
}

#[test]
fn mandates_are_read_strictly() {
    let check = |pointer: &str, value: Value| {
        let found = refused(|json| *json.pointer_mut(pointer).unwrap() = value.clone());
        assert!(found.starts_with("shape /"), "{pointer} {value}: {found}");
    };
    check("/delegation/allowed", json!(true));
    check("/constraints/0/kind", json!("anything_goes"));
    check("/constraints/0/values", json!([]));
    check("/constraints/4/value", json!(10));
    check("/constraints/4/approver", json!(""));
    check("/constraints/8/source", json!("paypal"));
    check("/interrupt_budget/per_day", json!(-1));
    check("/interrupt_budget/per_day", json!(10_001));
    check("/asset/decimals", json!(19));
    check("/version", json!(0));
    check("/version", json!(4_294_967_296_u64));
    check("/approvers", json!("CFO"));
    check("/principal/type", json!("person"));
    check("/status", json!("paused"));
    for key in ["55".repeat(27), "55".repeat(29), "AB".repeat(28)] {
        check("/approvers/0/cardano_key_hash", json!(key));
    }
    assert!(refused(|json| json["extra"] = json!(1)).starts_with("shape"));
    // Each kind has its own members and no other's.
    assert!(refused(|json| json["constraints"][0]["value"] = json!("1")).starts_with("shape /constraints/0"));
    assert!(
        refused(|json| json["constraints"][5]["approver"] = json!("CFO")).starts_with("shape /constraints/5")
    );
    assert!(refused(|json| json["constraints"][4]["delay_seconds"] = json!(60)).starts_with("shape"));
    assert_eq!(refused(|_| {}), "");
}

#[test]
fn mandates_keep_the_cross_rules() {
    let check = |edit: fn(&mut Value), expected: &str| assert_eq!(refused(edit), expected);
    check(|m| m["constraints"][5]["value"] = json!("9999999"), "the hard cap is below the autonomous limit");
    check(|m| m["constraints"][6]["value"] = json!("9999999"), "the daily cap is below the autonomous limit");
    check(|m| m["constraints"][4]["value"] = json!("0"), "the autonomous limit must be above zero");
    check(
        |m| m["constraints"][4]["approver"] = json!("CTO"),
        "constraint autonomous names CTO, who is no approver",
    );
    check(
        |m| m["approvers"][0]["cardano_key_hash"] = json!("44".repeat(28)),
        "approver CFO has the principal's key",
    );
    check(|m| m["constraints"][1]["id"] = json!("purpose"), "two constraints are called purpose");
    check(
        |m| drop(m["constraints"].as_array_mut().unwrap().remove(6)),
        "there must be a daily cap (daily_spend_lte, DENY); the daily cap is below the autonomous limit",
    );
    check(
        |m| m["validity"]["expires_at"] = json!("2026-10-06T00:00:00Z"),
        "validity must start before it ends",
    );
    check(
        |m| m["approvers"] = json!([]),
        "constraint counterparty names CFO, who is no approver; constraint autonomous names CFO, who is no \
         approver; mandate/v0.1 has exactly one approver; the quorum is at least one and at most all approvers",
    );
    check(
        |m| {
            let second = json!({"role": "CEO", "cardano_key_hash": "66".repeat(28)});
            m["approvers"].as_array_mut().unwrap().push(second);
        },
        "mandate/v0.1 has exactly one approver",
    );
}

#[test]
fn the_second_version_adds_kinds_and_a_quorum() {
    let window = json!({"id": "w", "kind": "rolling_spend_lte", "value": "1", "window_seconds": 60,
        "on_violation": "DENY"});
    let delay = json!({"id": "d", "kind": "amount_lte", "value": "1", "delay_seconds": 60, "on_violation": "DELAY",
        "approver": "CFO"});
    let with = |schema: &str, constraints: &[&Value], quorum: Option<u8>| {
        let (schema, quorum) = (json!(schema), quorum.map(|n| json!({"required": n})));
        refused(|m| {
            m["schema"] = schema;
            m["constraints"].as_array_mut().unwrap().extend(constraints.iter().map(|&c| c.clone()));
            if let Some(quorum) = quorum {
                m["quorum"] = quorum;
            }
        })
    };
    assert_eq!(with("mandate/v0.1", &[&window], None), "constraint w needs mandate/v0.2");
    assert_eq!(with("mandate/v0.1", &[&delay], None), "constraint d needs mandate/v0.2");
    assert_eq!(with("mandate/v0.1", &[], Some(1)), "a quorum needs mandate/v0.2");
    assert_eq!(with("mandate/v0.2", &[&window, &delay], Some(1)), "");
    for required in [0, 2] {
        assert_eq!(
            with("mandate/v0.2", &[], Some(required)),
            "the quorum is at least one and at most all approvers"
        );
    }
    assert!(with("mandate/v0.2", &[], Some(17)).starts_with("shape"));
    for (member, value) in
        [("window_seconds", json!(59)), ("window_seconds", json!(31_622_401)), ("value", json!("01"))]
    {
        let mut bad = window.clone();
        bad[member] = value;
        assert!(with("mandate/v0.2", &[&bad], None).starts_with("shape"), "{bad}");
    }
    let mut undecided = delay.clone();
    undecided.as_object_mut().unwrap().remove("approver");
    assert!(with("mandate/v0.2", &[&undecided], None).starts_with("shape"));
    // What was written keeps its hash when it is read and written again.
    let mut json = mandate_json();
    json["schema"] = json!("mandate/v0.2");
    json["constraints"].as_array_mut().unwrap().extend([window, delay]);
    let read = Mandate::read(json.to_string().as_bytes()).unwrap();
    assert_eq!(canon::to_vec(&read).unwrap(), canon::canonicalize(json.to_string().as_bytes()).unwrap());
}

/// The seed's own examples, their elided parts filled in (with "in_..." and the like as they stand).
#[test]
fn the_seeds_documents_are_accepted() {
    let action = r#"{"schema":"action-ir/v0.1","id":"A-INV-0001","mandate_id":"M-001","actor":"cfo-agent-01",
        "type":"pay_invoice","purpose":"vendor_invoice","counterparty":{"id":"aws","display":"Amazon Web Services"},
        "amount":{"value":"8420000","asset":"USDM"},"recipient":{"chain":"cardano",
        "address":"addr_test1vzs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rgdp5xs6rggfw5wvl"},
        "source":{"vault":"treasury-main"},"reference":{"invoice_id":"in_...","invoice_number":"AWS-2026-10"},
        "rationale":"October compute bill, due in 3 days.","created_at":"2026-10-07T08:00:00Z"}"#;
    assert!(HashedAction::read(action.as_bytes()).is_ok());
    let read = Mandate::read(SEED_MANDATE.as_bytes()).unwrap();
    let limits = read.limits();
    assert_eq!(
        [limits.autonomous_limit, limits.hard_cap, limits.daily_cap, limits.treasury_minimum]
            .map(|u| u.get()),
        [10_000_000, 25_000_000, 50_000_000, 100_000_000]
    );
}

pub const SEED_MANDATE: &str = r#"{"schema":"mandate/v0.1","id":"M-001","version":3,"status":"active",
    "principal":{"type":"organization","id":"acme","name":"Acme Corp",
    "cardano_key_hash":"44444444444444444444444444444444444444444444444444444444"},
    "delegate":{"type":"agent","id":"cfo-agent-01",
    "public_key":"ed25519:8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394"},
    "approvers":[{"role":"CFO","cardano_key_hash":"55555555555555555555555555555555555555555555555555555555"}],
    "authority_engine":{"public_key":"ed25519:8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"},
    "asset":{"symbol":"USDM","decimals":6},
    "validity":{"starts_at":"2026-10-01T00:00:00Z","expires_at":"2027-10-01T00:00:00Z"},
    "delegation":{"allowed":false},"interrupt_budget":{"per_day":3},"constraints":[
    {"id":"purpose","kind":"purpose_in","values":["vendor_invoice"],"on_violation":"DENY"},
    {"id":"vendors","kind":"counterparty_in","values":["aws","openai"],"on_violation":"DENY"},
    {"id":"autonomous","kind":"amount_lte","value":"10000000","on_violation":"ESCALATE","approver":"CFO"},
    {"id":"hard_cap","kind":"amount_lte","value":"25000000","on_violation":"DENY"},
    {"id":"daily","kind":"daily_spend_lte","value":"50000000","on_violation":"DENY"},
    {"id":"floor","kind":"balance_after_gte","value":"100000000","on_violation":"DENY"},
    {"id":"facts","kind":"verified_facts","source":"stripe","on_violation":"DENY"}]}"#;

#[test]
fn a_verified_report_gives_no_reason() {
    let check = |result: &str, reason: Value, good: bool| {
        let mut json = report_json();
        json["result"] = json!(result);
        json["reason"] = reason.clone();
        assert_eq!(Report::read(json.to_string().as_bytes()).is_ok(), good, "{result} {reason}");
    };
    check("VERIFIED", json!(null), true);
    check("VERIFIED", json!("AMOUNT_MISMATCH"), false);
    check("MISMATCH", json!("AMOUNT_MISMATCH"), true);
    check("MISMATCH", json!(null), false);
    check("MISMATCH", json!("DAILY_CAP_EXCEEDED"), false);
    check("MISMATCH", json!("NOT_A_REASON"), false);
}
