//! The published schemas say what the readers say, as far as a schema can.

use crate::desk::{Desk, action};
use crate::fixture::{action_json, mandate_json, report_json};
use mandate::basis::{Basis, BasisLimits};
use mandate::brief::Brief;
use mandate::log::Fact;
use mandate::price::{Bond, Price};
use mandate::proofs::receipt;
use mandate::statement::{SignedStatement, Statement};
use mandate::{Hashed, HashedAction, Mandate, Millis, Receipt, Report, authorization::Record};
use serde::Serialize;
use serde_json::{Value, json};

type Reader = fn(&[u8]) -> bool;

/// A name of a schema, a document, its reader, and a reader of its shape alone.
fn documents() -> Vec<(&'static str, Value, Reader, Reader)> {
    fn json<T: Serialize>(document: &T) -> Value {
        serde_json::from_slice(&canon::to_vec(document).unwrap()).unwrap()
    }
    fn reads<T: for<'de> serde::Deserialize<'de>>(bytes: &[u8]) -> bool {
        canon::from_slice::<T>(bytes).is_ok()
    }
    /// Read, and written again as it was.
    fn whole<T: for<'de> serde::Deserialize<'de> + Serialize>(bytes: &[u8]) -> bool {
        let canonical = canon::canonicalize(bytes).unwrap();
        canon::from_slice::<T>(bytes).is_ok_and(|read| canon::to_vec(&read).unwrap() == canonical)
    }
    let mut desk = Desk::new();
    desk.ask(&action("one", 1800));
    desk.approve("AP-1").unwrap();
    let events = desk.events();
    let find =
        |wanted: fn(&Fact) -> Option<Value>| events.iter().find_map(|event| wanted(&event.fact)).unwrap();
    let brief = find(|fact| match fact {
        Fact::ApprovalRequested(requested) => Some(json(&requested.brief)),
        _ => None,
    });
    let bond = find(|fact| match fact {
        Fact::ApprovalRequested(requested) => Some(json(&requested.bond)),
        _ => None,
    });
    let price = find(|fact| match fact {
        Fact::BondRequired { price, .. } => Some(json(price)),
        _ => None,
    });
    let record = find(|fact| match fact {
        Fact::AuthorizationIssued(issued) => Some(json(&issued.authorization)),
        _ => None,
    });
    let proposed = events.iter().position(|event| matches!(event.fact, Fact::ActionProposed(_))).unwrap();
    let receipt = json(&receipt(&desk.entries, &desk.entries[proposed].hash).unwrap().receipt);
    let mandate: Reader = |bytes| Mandate::read(bytes).is_ok();
    vec![
        ("action-ir", action_json(), |bytes| HashedAction::read(bytes).is_ok(), reads::<HashedAction>),
        ("mandate-v0.1", mandate_json(), mandate, reads::<Mandate>),
        ("mandate-v0.2", second(), mandate, reads::<Mandate>),
        (
            "verification",
            report_json(),
            |bytes| Report::read(bytes).is_ok(),
            |bytes| Report::read(bytes).is_ok(),
        ),
        ("escalation-price", price, whole::<Price>, reads::<Price>),
        ("bond", bond, whole::<Bond>, reads::<Bond>),
        ("mandate-brief", brief, whole::<Brief>, reads::<Brief>),
        (
            "authorization",
            record,
            |bytes| canon::from_slice::<Record>(bytes).is_ok_and(|record| record.verify().is_ok()),
            reads::<Record>,
        ),
        ("receipt", receipt, whole::<Receipt>, reads::<Receipt>),
        (
            "verification-statement",
            json(&statement()),
            |bytes| canon::from_slice::<SignedStatement>(bytes).is_ok_and(|signed| signed.holds()),
            reads::<SignedStatement>,
        ),
        ("fx-basis", json(&basis()), |bytes| Basis::read(bytes).is_ok(), |bytes| Basis::read(bytes).is_ok()),
    ]
}

fn statement() -> SignedStatement {
    let json = json!({ "invoice_number": "INV-1", "observed_at_ms": 1_791_342_000_000_u64, "report_hash": "0b".repeat(32),
        "schema": "verification-statement/v0.1", "verifier": "north" });
    let statement: Statement = canon::from_slice(json.to_string().as_bytes()).unwrap();
    let key = keys::SoftwareSigner::from_seed(keys::Algorithm::Ed25519, &[4; 32]).unwrap();
    statement.sign(&key).unwrap()
}

fn basis() -> Hashed<Basis> {
    let now = Millis::try_from(1_791_342_000_000_u64).unwrap();
    let feed = json!({ "chain_id": 1, "contract": "0x971E8F1B779A5F1C36e1cd7ef44Ba1Cc2F5EeE0f", "decimals": 8,
        "price": "18340000", "round_id": "7", "updated_at_ms": now });
    let quote = json!({ "pair": "BRL/USD", "rate": "0.1834" });
    let limits = BasisLimits { max_age_seconds: 3600, tolerance_bps: 50 };
    let read = |json: Value| json.to_string().into_bytes();
    let (quote, feed) = (canon::from_slice(&read(quote)).unwrap(), canon::from_slice(&read(feed)).unwrap());
    Basis::of(quote, feed, limits, "t".parse().unwrap(), now).unwrap()
}

fn second() -> Value {
    let mut json = mandate_json();
    json["schema"] = json!("mandate/v0.2");
    json["quorum"] = json!({"required": 1});
    json["constraints"].as_array_mut().unwrap().extend([
        json!({"id": "w", "kind": "rolling_spend_lte", "value": "1", "window_seconds": 60, "on_violation": "DENY"}),
        json!({"id": "c", "kind": "counterparty_spend_lte", "value": "1", "window_seconds": 60, "counterparty": "aws",
            "on_violation": "ESCALATE", "approver": "CFO"}),
        json!({"id": "d", "kind": "amount_lte", "value": "1", "delay_seconds": 60, "on_violation": "DELAY",
            "approver": "CFO"}),
    ]);
    json
}

#[test]
fn schemas_are_published_for_every_document() {
    for (name, _, _, _) in documents() {
        let (_, text) =
            mandate::schemas().into_iter().find(|(file, _)| *file == format!("{name}.schema.json")).unwrap();
        let schema: Value = serde_json::from_str(text).unwrap();
        assert_eq!(schema["$id"], format!("urn:countersign:schema:{name}"));
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
    }
    assert_eq!(documents().len(), mandate::schemas().len());
}

/// Whatever a reader takes fits the schema; whatever fits the schema is of the reader's shape.
#[test]
fn readers_and_schemas_agree() {
    let mut refused = 0;
    for (name, document, reader, shape) in documents() {
        let (_, text) =
            mandate::schemas().into_iter().find(|(file, _)| *file == format!("{name}.schema.json")).unwrap();
        let validator = jsonschema::draft202012::new(&serde_json::from_str(text).unwrap()).unwrap();
        let mut check = |changed: &Value, what: &str| {
            let bytes = changed.to_string().into_bytes();
            let fits = validator.is_valid(changed);
            assert!(fits || !reader(&bytes), "{name}: read, and does not fit: {what}");
            assert!(!fits || shape(&bytes), "{name}: fits, and is not read: {what}");
            refused += usize::from(!fits);
        };
        check(&document, "itself");
        assert!(validator.is_valid(&document) && reader(document.to_string().as_bytes()), "{name}");
        for pointer in pointers(&document, "") {
            for value in
                [json!(null), json!(1), json!(-1), json!(true), json!(""), json!("x y"), json!([]), json!({})]
            {
                let mut changed = document.clone();
                *changed.pointer_mut(&pointer).unwrap() = value.clone();
                check(&changed, &format!("{pointer} is {value}"));
            }
            let (parent, last) = pointer.rsplit_once('/').unwrap();
            let mut lost = document.clone();
            let mut joined = document.clone();
            if let Some(Value::Object(members)) = lost.pointer_mut(parent) {
                members.remove(last);
                check(&lost, &format!("without {pointer}"));
            }
            if let Some(Value::Object(members)) = joined.pointer_mut(&pointer) {
                members.insert("surplus".into(), json!(1));
                check(&joined, &format!("more in {pointer}"));
            }
        }
    }
    assert!(refused > 800, "{refused}");
}

fn pointers(value: &Value, at: &str) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (format!("{at}/{name}"), value)).collect()
        }
        Value::Array(values) => {
            values.iter().enumerate().map(|(index, value)| (format!("{at}/{index}"), value)).collect()
        }
        _ => Vec::new(),
    };
    children
        .into_iter()
        .flat_map(|(pointer, value)| {
            let below = pointers(value, &pointer);
            std::iter::once(pointer).chain(below)
        })
        .collect()
}
