//! Receipts bind the parts of one decision and no others.

use crate::authorizing::vault;
use crate::desk::{Desk, action, tx};
use crate::fixture::approver;
use mandate::log::{DeclineReason, Fact};
use mandate::receipt::{Entries, Parts, Receipt, Settlement};
use mandate::report::Verified;
use mandate::{Refusal, issue::ChainName};
use serde_json::{Value, json};

fn entries(desk: &Desk, of: &str) -> Entries {
    let about: Vec<_> = desk
        .events()
        .iter()
        .zip(&desk.entries)
        .filter(|(event, _)| event.action_id.as_ref().is_some_and(|id| id.as_str() == of))
        .map(|(_, entry)| entry.hash)
        .collect();
    Entries { first_event_hash: about[0], last_event_hash: about[about.len() - 1] }
}

fn read(receipt: &Receipt) -> Value {
    serde_json::from_slice(&canon::to_vec(receipt).unwrap()).unwrap()
}

#[test]
fn of_an_allowed_action_and_its_settlement() {
    let mut desk = Desk::new();
    let checked = desk.check(&action("one", 842));
    let record = checked.authorization.as_ref().unwrap();
    let held = desk.state.authorization(&record.digest_hex).unwrap();
    let settlement = Settlement { block: 9, chain: ChainName::Preprod, tx_hash: tx("t") };
    let parts = Parts {
        mandate: &desk.mandate,
        anchor: vault().mandate_ref,
        action: Some(&held.action),
        agent_signature: None,
        evaluation: &checked.evaluation,
        verification: checked.evaluation.verification_hash.map(|hash| (hash, Verified::Verified, None)),
        approval: None,
        authorization: Some(record),
        settlement: Some(&settlement),
        evidence: entries(&desk, "one"),
    };
    let receipt = Receipt::of(&parts).unwrap();
    assert_eq!(receipt.hash(), canon::Digest::of(&canon::to_vec(&receipt).unwrap()));
    let json = read(&receipt);
    assert_eq!(json["authorization"]["id"], "Z-0001");
    let report = checked.evaluation.verification_hash.unwrap().to_string();
    assert_eq!(json["authorization"]["verification_id"], format!("V-{}", &report[..12]));
    assert_eq!(json["verification"]["report_hash"], report);
    assert_eq!(
        json["settlement"],
        json!({"block": 9, "chain": "cardano-preprod", "tx_hash": tx("t").to_string()})
    );
    assert_eq!((&json["masumi"], &json["approval"]), (&Value::Null, &Value::Null));
    assert_eq!(json["evaluation"]["checks"][0]["id"], "proposal");
    let again: Receipt = canon::from_slice(&canon::to_vec(&receipt).unwrap()).unwrap();
    assert_eq!(read(&again), json);
    // Parts of another decision.
    let other = desk.mandate.clone();
    let mut wrong = checked.evaluation.clone();
    wrong.mandate_hash = canon::Digest::ZERO;
    let refused = Receipt::of(&Parts { evaluation: &wrong, mandate: &other, ..parts });
    assert_eq!(refused.err(), Some(Refusal::BadValue { place: "/mandate/hash".to_owned() }));
    let refused = Receipt::of(&Parts { action: None, ..parts });
    assert_eq!(refused.err(), Some(Refusal::BadValue { place: "/action/hash".to_owned() }));
    let mut wrong = record.clone();
    wrong.fields.action_hash = canon::Digest::ZERO;
    let refused = Receipt::of(&Parts { authorization: Some(&wrong), ..parts });
    assert_eq!(refused.err(), Some(Refusal::BadValue { place: "/authorization/digest".to_owned() }));
}

#[test]
fn of_a_declined_escalation() {
    let mut desk = Desk::new();
    let id = desk.ask(&action("one", 1800));
    desk.decline(&id, DeclineReason::Frivolous).unwrap();
    let evaluation = desk.events().into_iter().rev().find_map(|event| match event.fact {
        Fact::AuthorityEvaluated(data) => Some(data.evaluation),
        _ => None,
    });
    let approval = desk.state.approval(&id.parse().unwrap()).unwrap();
    let receipt = Receipt::of(&Parts {
        mandate: &desk.mandate,
        anchor: vault().mandate_ref,
        action: Some(&approval.action),
        agent_signature: approval.agent_signature.as_ref(),
        evaluation: &evaluation.unwrap(),
        verification: None,
        approval: Some(approval),
        authorization: None,
        settlement: None,
        evidence: entries(&desk, "one"),
    });
    let json = read(&receipt.unwrap());
    let brief = approval.brief.as_ref().unwrap().hash().to_string();
    assert_eq!(
        json["approval"],
        json!({"required": true, "cfo_key_hash": crate::desk::key_hash(&approver()).to_string(), "brief_hash": brief,
            "bond": {"status": "locked", "tx_hash": tx(&id).to_string(), "outcome_tx_hash": null}})
    );
    assert_eq!(json["authorization"], Value::Null);
}
