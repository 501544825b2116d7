//! Cases 38 to 44 of spec 3.2: the signing path trusts nothing that was said before.

use crate::fixture::{Case, NOW, engine_key};
use mandate::text::KeyHash;
use mandate::{Approval, Millis, Refusal, Unissued, Vault};
use serde_json::{Value, json};

pub fn vault() -> Vault {
    canon::from_slice(
        json!({"network": "cardano-preprod", "vault_hash": "aa".repeat(28), "mandate_ref": "bb".repeat(28),
            "asset_policy": "ee".repeat(28), "asset_name": "745553444d"})
        .to_string()
        .as_bytes(),
    )
    .unwrap()
}

fn issue(case: &Case, nonce: u128, approval: Option<&Approval>) -> Result<Value, Unissued> {
    match case.with(|inputs| mandate::issue(inputs, &vault(), nonce, approval)) {
        Ok(fields) => Ok(serde_json::from_slice(&canon::to_vec(&fields).unwrap()).unwrap()),
        Err(Refusal::Unissued(unissued)) => Err(unissued),
        Err(other) => panic!("{other}"),
    }
}

fn approval(case: &Case, at: u64) -> Approval {
    Approval {
        action_hash: case.run().action_hash.unwrap(),
        at: Millis::try_from(at).unwrap(),
        signers: vec![KeyHash::from_bytes([0x55; 28])],
    }
}

#[test]
fn an_allowed_action_is_authorized() {
    let case = Case::new();
    let fields = issue(&case, 1, None).unwrap();
    assert_eq!(fields["requires_principal"], false);
    let report = case.evidence.as_ref().unwrap().report_hash.to_string();
    assert_eq!(fields["verification_ref"], report);
    assert_eq!(fields["valid_until"], NOW + 600_000);
    assert_eq!(fields["action_type"], 1);
    let mut short = Case::new();
    short.mandate["validity"]["expires_at"] = json!("2026-10-07T03:05:00Z");
    assert_eq!(issue(&short, 1, None).unwrap()["valid_until"], NOW + 300_000);
    let record = case.with(|inputs| mandate::issue(inputs, &vault(), 1, None)).unwrap();
    let record = record.sign(&engine_key()).unwrap();
    assert_eq!(record.verify(), Ok(()));
    let mut raised = record.clone();
    raised.fields.requires_principal = true;
    assert!(raised.verify().is_err());
}

#[test]
fn what_was_not_allowed_is_not_authorized() {
    let check = |case: &Case, nonce: u128, approval: Option<&Approval>, expected: Unissued| {
        assert_eq!(issue(case, nonce, approval), Err(expected));
    };
    let mut unsigned = Case::new();
    unsigned.signature = None;
    check(&unsigned, 1, None, Unissued::UnsignedProposal);
    check(&Case::amount(6000), 1, None, Unissued::NotAuthorizable);
    check(&Case::new().unverified(), 1, None, Unissued::NotAuthorizable);
    let case = Case::new().state("last_nonce", json!("7"));
    for nonce in [0, 7, 1 << 64] {
        check(&case, nonce, None, Unissued::InvalidNonce);
    }
    assert_eq!(issue(&case, u128::from(u64::MAX), None).unwrap()["nonce"], u64::MAX.to_string());
    let mut elsewhere = vault();
    elsewhere.network = mandate::issue::ChainName::Mainnet;
    let refused = Case::new().with(|inputs| mandate::issue(inputs, &elsewhere, 1, None));
    assert_eq!(refused, Err(Refusal::Unissued(Unissued::RecipientUnencodable)));
}

#[test]
fn an_escalated_action_needs_a_fresh_approval_of_itself() {
    let case = Case::amount(1800);
    assert_eq!(issue(&case, 1, Some(&approval(&case, NOW))).unwrap()["requires_principal"], true);
    assert!(issue(&case, 1, Some(&approval(&case, NOW - 60_000))).is_ok());
    for approval in [
        None,
        Some(approval(&case, NOW - 60_001)),
        Some(approval(&case, NOW + 1)),
        Some(approval(&Case::amount(1801), NOW)),
        Some(Approval { signers: vec![], ..approval(&case, NOW) }),
        Some(Approval { signers: vec![KeyHash::from_bytes([0x66; 28])], ..approval(&case, NOW) }),
    ] {
        assert_eq!(issue(&case, 1, approval.as_ref()), Err(Unissued::ApprovalMissing), "{approval:?}");
    }
}

#[test]
fn a_quorum_is_of_distinct_listed_approvers_with_the_roles_asked() {
    let mut case = Case::amount(1800);
    case.mandate["schema"] = json!("mandate/v0.2");
    case.mandate["quorum"] = json!({"required": 2});
    case.mandate["approvers"] = json!([
        {"role": "CFO", "cardano_key_hash": "55".repeat(28)},
        {"role": "CEO", "cardano_key_hash": "66".repeat(28)},
        {"role": "CEO", "cardano_key_hash": "77".repeat(28)},
    ]);
    let check = |signers: &[u8], good: bool| {
        let signers: Vec<_> = signers.iter().map(|&byte| KeyHash::from_bytes([byte; 28])).collect();
        let approval = Approval { signers, ..approval(&case, NOW) };
        assert_eq!(issue(&case, 1, Some(&approval)).is_ok(), good, "{approval:?}");
    };
    check(&[0x55, 0x66], true);
    check(&[0x77, 0x55], true);
    check(&[0x55], false);
    check(&[0x55, 0x55], false);
    check(&[0x55, 0x99], false);
    // Two of three, but not the one the constraint names.
    check(&[0x66, 0x77], false);
}
